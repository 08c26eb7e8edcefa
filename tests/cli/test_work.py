"""Options that every job has on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnizarr
from tests.cli.conftest import Run

JOBS = ("convert", "rechunk", "reencode", "pyramid", "verify", "checksum")
WRITES = JOBS[:4]


def command(job: str, tmp_path: Path) -> list[str]:
    source = tmp_path / "a.zarr"
    if not source.exists():
        omnizarr.save(source, [[1.0, 2.0], [3.0, 4.0]])
    return [job, str(source), *([str(tmp_path / f"{job}.zarr")] if job in WRITES else [])]


@pytest.mark.parametrize("job", JOBS)
def test_where_and_in_how_much_memory(job: str, run: Run, tmp_path: Path) -> None:
    work = ["--workers", "1", "--executor", "threads", "--max-memory", "1GB"]
    done = run(*command(job, tmp_path), *work)
    assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--workers", "0", "a whole number from 1 on"),
        ("--executor", "dask", "threads, processes, ray or an address"),
        ("--max-memory", "much", "a size such as 512MB"),
    ],
)
def test_what_is_none(
    job: str, option: str, value: str, told: str, run: Run, tmp_path: Path
) -> None:
    done = run(*command(job, tmp_path), option, value)
    assert done.status == 2
    assert told in done.err and option in done.err


def test_processes(run: Run, tmp_path: Path) -> None:
    done = run(*command("convert", tmp_path), "--executor", "processes", "--workers", "1")
    assert (done.status, done.err) == (0, "")
    assert omnizarr.load(tmp_path / "convert.zarr").tolist() == [[1, 2], [3, 4]]
