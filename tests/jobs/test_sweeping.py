"""`sweep`: leftovers of killed writers; unfinished jobs are told and kept."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import ReadOnlyError
from omnizarr.stores.local.temporary_names import temporary_name


def dead_name(kind: str) -> str:
    """A temporary of a process of this machine that is gone."""
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    return temporary_name(kind).replace(f"-{os.getpid()}-", f"-{child}-")


def littered(path: Path) -> tuple[Path, list[str]]:
    zarr.create_group(path).create_array("a", data=np.arange(4), chunks=(2,))
    dead = dead_name("partial")
    (path / "a" / dead).write_bytes(b"half")
    (path / ".~zarr.json.lock").touch()
    (path / temporary_name()).write_bytes(b"of a living process")
    return path, [".~zarr.json.lock", f"a/{dead}"]


def test_only_told_at_first(tmp_path: Path) -> None:
    path, expected = littered(tmp_path / "s.zarr")
    done = zarr.sweep(path)
    assert list(done.leftovers) == expected and done.dry_run
    assert all((path / name).exists() for name in expected)
    done = zarr.sweep(path, apply=True)
    assert list(done.leftovers) == expected
    assert not any((path / name).exists() for name in expected)
    assert (path / temporary_name().rpartition("-")[0]).parent.exists()
    assert len([name for name in os.listdir(path) if name.startswith(".~")]) == 1
    assert zarr.sweep(path).leftovers == ()
    assert zarr.open_array(path / "a")[:].tolist() == [0, 1, 2, 3]


def test_unfinished_jobs_are_kept() -> None:
    store = zarr.MemoryStore({"g/.omnizarr-convert.json": b"{}", ".omnizarr-deleted/x": b""})
    done = zarr.sweep(store, apply=True)
    assert [(job.path, job.job) for job in done.jobs] == [("g", "convert, rechunk or reencode")]
    assert "run it again to finish it" in str(done) and len(store) == 2
    done = zarr.sweep(store, unfinished=True)
    assert done.journals == ("g/.omnizarr-convert.json",) and len(store) == 2
    assert zarr.sweep(store, unfinished=True, apply=True).journals == done.journals
    assert list(store) == [".omnizarr-deleted/x"]


def test_read_only() -> None:
    with pytest.raises(ReadOnlyError):
        zarr.sweep(zarr.MemoryStore(read_only=True), apply=True)
