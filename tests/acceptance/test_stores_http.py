"""Over HTTP with others: what omnizarr wrote is read by zarr-python (fsspec) and zarrita.js
(fetch) from the same nginx, and what they wrote is read by omnizarr."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.stores import HTTPStore
from omnizarr.testing import CountingStore

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
PEERS = HERE.parent.parent / ".peers"
PYTHON = PEERS / "zarr3" / "bin" / "python"
ZARRITA = PEERS / "zarrita"
VALUES = np.arange(200.0).reshape(10, 20)


def run(*command: object) -> None:
    if not Path(str(command[0])).exists():
        pytest.fail(f"{command[0]} does not exist: run `make peers`")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]


def node() -> str:
    found = shutil.which("node")
    if found is None or not (ZARRITA / "node_modules").exists():
        pytest.skip("server zarrita.js is absent: it needs Node.js and npm (`make peers`)")
    return found


@pytest.fixture
def folder(server: Callable[[str], Any]) -> Path:
    found: Path = server("nginx").root / uuid.uuid4().hex
    return found


def write_ours(folder: Path, zarr_format: int) -> None:
    root = omnizarr.create_group(str(folder), zarr_format=zarr_format)
    root.create_array("plain", data=VALUES, chunks=(4, 6))
    shards = {"shards": (6, 12)} if zarr_format == 3 else {}
    root.create_group("deep").create_array("b", data=-VALUES, chunks=(2, 4), **shards)
    omnizarr.consolidate_metadata(str(folder))


def check(found: dict[str, Any], *paths: str) -> None:
    for path in paths:
        sign = -1 if path.endswith("b") else 1
        assert found[path]["shape"] == [10, 20]
        assert found[path]["sum"] == sign * VALUES.sum()
        assert np.ravel(found[path]["part"]).tolist() == (sign * VALUES[1:3, 1:3]).ravel().tolist()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_ours_read_by_zarr_python(
    server: Callable[[str], Any],
    summary: Callable[[str], None],
    folder: Path,
    tmp_path: Path,
    zarr_format: int,
) -> None:
    write_ours(folder, zarr_format)
    url = f"{server('nginx').urls['plain']}/{folder.name}"
    run(PYTHON, HERE / "http_peer.py", "read", url, tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    check(found, "plain", "deep/b")
    summary(
        f"HTTP (nginx): format {zarr_format} written by omnizarr, read by zarr-python"
        f" {found['zarr']} through fsspec"
    )


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("way", ["plain", "json", "html", "whole"])
def test_zarr_python_read_by_us(
    server: Callable[[str], Any],
    summary: Callable[[str], None],
    folder: Path,
    zarr_format: int,
    way: str,
) -> None:
    run(PYTHON, HERE / "http_peer.py", "write", folder, zarr_format)
    url = f"{server('nginx').urls[way]}/{folder.name}"
    group = omnizarr.open_group(url)
    assert list(group) == ["deep", "plain"] and list(group["deep"]) == ["b"]
    assert np.array_equal(group["plain"][...], VALUES)
    assert np.array_equal(group["deep/b"][1:9, 3:17], -VALUES[1:9, 3:17])
    group.store.close()
    summary(f"HTTP (nginx, {way}): format {zarr_format} written by zarr-python, read by omnizarr")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_ours_read_by_zarrita(
    server: Callable[[str], Any],
    summary: Callable[[str], None],
    folder: Path,
    tmp_path: Path,
    zarr_format: int,
) -> None:
    program = node()
    write_ours(folder, zarr_format)
    url = f"{server('nginx').urls['plain']}/{folder.name}"
    out = tmp_path / "out.json"
    run(program, HERE / "http_peer.mjs", ZARRITA, "read", url, out, "plain", "deep/b")
    check(json.loads(out.read_text()), "plain", "deep/b")
    summary(
        f"HTTP (nginx): format {zarr_format} written by omnizarr, read by zarrita.js through fetch"
    )


def test_zarrita_read_by_us(
    server: Callable[[str], Any], summary: Callable[[str], None], folder: Path
) -> None:
    run(node(), HERE / "http_peer.mjs", ZARRITA, "write", folder)
    array = omnizarr.open_array(f"{server('nginx').urls['plain']}/{folder.name}")
    assert np.array_equal(array[...], VALUES)
    array.store.close()
    summary("HTTP (nginx): format 3 written by zarrita.js, read by omnizarr")


def test_one_request_for_a_chunk(server: Callable[[str], Any], folder: Path) -> None:
    write_ours(folder, 3)
    url = f"{server('nginx').urls['plain']}/{folder.name}"
    with HTTPStore(url) as store:
        counting = CountingStore(store)
        array = omnizarr.open_array(counting, "r", path="plain")
        counting.reset()
        assert np.array_equal(array[...], VALUES)
        assert counting.counts == {"get": 12}
