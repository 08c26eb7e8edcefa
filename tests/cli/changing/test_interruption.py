"""Ctrl-C in a real process: what is there stays whole, and the same command goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from tests.cli.conftest import Run

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]


def interrupted(*arguments: object, once: Callable[[], bool]) -> subprocess.CompletedProcess[str]:
    """A command that gets a Ctrl-C as soon as `once` is true."""
    command = [
        sys.executable, "-c",
        "import sys; from omnizarr.cli.entry import command; sys.exit(command())",
        *map(str, arguments),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    deadline = time.monotonic() + 60
    while not once() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "many.zarr"
    root = zarr.create_group(path)
    root.create_array("a", data=np.arange(4000), chunks=(1,), compressors=None)
    return path


@pytest.mark.parametrize("command", ["cp", "sync"])
def test_copies(run: Run, many: Path, tmp_path: Path, command: str) -> None:
    copy = tmp_path / "copy.zarr"
    done = interrupted(command, many, copy, once=lambda: (copy / "a" / "c" / "200").exists())
    assert done.returncode == 130, done.stderr
    assert "run the same command again to go on" in done.stderr
    assert "Traceback" not in done.stderr
    refused = run("tree", copy)
    assert refused.status == 2
    if command == "cp":
        assert "a copy into this place is unfinished" in refused.err
        assert "omnizarr cp" in run("sweep", copy).out
    again = run(command, many, copy, "--json").document
    assert again["unchanged"] > 0
    assert run("diff", many, copy).status == 0
    assert zarr.checksum(many).digest == zarr.checksum(copy).digest


def test_archives(run: Run, many: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"

    def begun() -> bool:
        found = [path for path in tmp_path.iterdir() if path.name.endswith(".partial")]
        return any(path.stat().st_size > 0 for path in found)

    done = interrupted("zip", many, archive, once=begun)
    assert done.returncode == 130 and "there is no new archive" in done.stderr, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.zarr"]
    assert run("zip", many, archive).status == 0


def test_rm(run: Run, many: Path) -> None:
    chunks = many / "a" / "c"
    done = interrupted("rm", many, "--yes", once=lambda: len(os.listdir(chunks)) < 3800)
    assert done.returncode == 130 and "run the same command again" in done.stderr, done.stderr
    assert chunks.exists() and not list(many.rglob("zarr.json"))
    assert run("tree", many / "a").status == 2
    assert run("rm", many, "--yes").status == 0 and not many.exists()
