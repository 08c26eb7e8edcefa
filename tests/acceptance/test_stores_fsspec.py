"""What zarr-python 3 writes through fsspec, and through our stores, we read; and the reverse."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.stores import FsspecStore
from tests.acceptance import zarr_python_peer

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PYTHON = ROOT / ".peers" / "zarr3" / "bin" / "python"
count = itertools.count()


def peer(**job: Any) -> dict[str, Any]:
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} does not exist: run `make peers`")
    done = subprocess.run(
        [str(PYTHON), "-W", "ignore", str(HERE / "zarr_python_peer.py"), json.dumps(job)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def write(store: Any) -> None:
    for zarr_format in (2, 3):
        root = omnizarr.create_group(store, path=f"format{zarr_format}", zarr_format=zarr_format)
        root.attrs["title"] = "grüße"
        plain = root.create_array("a/plain", shape=(30, 40), chunks=(7, 9), dtype="i4")
        plain[...] = zarr_python_peer.data(zarr_format)
        plain[3:5] = 0
    shards = root.create_array("shards", shape=(30, 40), chunks=(5, 5), shards=(15, 20), dtype="i4")
    shards[...] = zarr_python_peer.data(9)


def read(store: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for zarr_format in (2, 3):
        root = omnizarr.open_group(store, mode="r", path=f"format{zarr_format}")
        found[f"title{zarr_format}"] = root.attrs["title"]
        found[f"plain{zarr_format}"] = np.asarray(root["a/plain"][...]).tolist()
        found[f"members{zarr_format}"] = sorted(root)
    found["shards"] = np.asarray(root["shards"][...]).tolist()
    return found


def expected() -> dict[str, Any]:
    plain = {zarr_format: zarr_python_peer.data(zarr_format) for zarr_format in (2, 3)}
    for array in plain.values():
        array[3:5] = 0
    return {
        "title2": "grüße",
        "title3": "grüße",
        "plain2": plain[2].tolist(),
        "plain3": plain[3].tolist(),
        "members2": ["a"],
        "members3": ["a", "shards"],
        "shards": zarr_python_peer.data(9).tolist(),
    }


def test_s3_through_s3fs(server: Callable[[str], Any], summary: Callable[[str], None]) -> None:
    s3 = server("s3")
    options = {
        "key": s3.options["access_key_id"],
        "secret": s3.options["secret_access_key"],
        "endpoint_url": s3.endpoint,
    }
    name = f"acceptance-fsspec{next(count)}"
    ours, theirs = s3.url(f"{name}/ours"), s3.url(f"{name}/theirs")
    write(FsspecStore(ours, storage_options=options))
    found = peer(do="read", store={"url": ours, "options": options})
    version = found.pop("zarr")
    assert found == expected()
    peer(do="write", store={"url": theirs, "options": options})
    assert read(FsspecStore(theirs, storage_options=options)) == expected()
    summary(f"fsspec        S3 (moto) through s3fs: both ways with zarr-python {version}")


@pytest.mark.parametrize("suffix", [".zarr", ".sqlite", ".zip"])
def test_our_stores_inside_zarr_python(
    suffix: str, tmp_path: Path, summary: Callable[[str], None]
) -> None:
    theirs, ours = str(tmp_path / f"theirs{suffix}"), str(tmp_path / f"ours{suffix}")
    version = peer(do="write", store={"ours": theirs})["zarr"]
    assert read(theirs) == expected()
    with omnizarr.stores.as_store(ours, mode="w") as store:
        write(store)
    found = peer(do="read", store={"ours": ours})
    del found["zarr"]
    assert found == expected()
    summary(f"as_zarr_store {suffix}: both ways with zarr-python {version}")
