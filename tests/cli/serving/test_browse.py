"""`omnizarr browse`: it prints an address, serves, and stops."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest

import omnizarr as zarr


@contextmanager
def browsing(*arguments: object) -> Iterator[tuple[dict[str, Any], subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "omnizarr", "browse", *map(str, arguments)]
    with subprocess.Popen(
        [*command, "--no-open", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            text = ""
            while not text.rstrip().endswith("}"):
                line = process.stdout.readline()
                assert line, process.stderr and process.stderr.read()
                text += line
            yield json.loads(text), process
        finally:
            process.kill()


def answer(url: str, rest: str) -> Any:
    with urlopen(url + rest, timeout=60) as response:
        return json.loads(response.read())


def test_a_store_is_shown(tmp_path: Path) -> None:
    zarr.create_group(tmp_path / "data.zarr")["a"] = np.arange(3)
    with browsing(tmp_path / "data.zarr") as (told, process):
        assert answer(told["url"], "api/node?path=a")["shape"] == [3]
        store = answer(told["url"], "api/store")
        assert eval(store["line"], {"omnizarr": zarr})["a"].shape == (3,)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130)


def test_an_array_and_a_file_of_another_format(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    zarr.create_group(tmp_path / "data.zarr")["a"] = np.arange(3)
    with browsing(tmp_path / "data.zarr", "a") as (told, _):
        assert answer(told["url"], "api/node")["shape"] == [3]
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["b"] = np.arange(4)
    with browsing(tmp_path / "data.h5") as (told, _):
        assert answer(told["url"], "api/node?path=b")["shape"] == [4]


def test_a_file_that_cannot_be_read(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not referred to `omnizarr browse`."""
    file = tmp_path / "data.h5"
    file.write_bytes(b"\x89HDF\r\n\x1a\n")
    done = run("browse", file, "--no-open")
    assert done.status == 2 and "cannot be opened as HDF5" in done.err
    assert "omnizarr browse FILE" not in done.err
    monkeypatch.setitem(sys.modules, "h5py", None)
    done = run("browse", file, "--no-open")
    assert done.status == 2 and "pip install 'omnizarr[virtual]'" in done.err


def test_what_cannot_be_shown(run: Any, tmp_path: Path) -> None:
    done = run("browse", tmp_path / "none.zarr", "--no-open")
    assert done.status == 2 and "no such file" in done.err
    zarr.create_group(tmp_path / "data.zarr")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("browse", tmp_path / "data.zarr", "--no-open", "--port", port)
    assert done.status == 2 and "--port 0" in done.err
    assert run("browse", tmp_path / "data.zarr", "--port", 70000).status == 2
