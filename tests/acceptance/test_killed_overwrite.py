"""A process killed while it overwrites or deletes a node leaves the old node whole, or none."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ContainsGroupError, NodeNotFoundError
from omnizarr.stores import LocalStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")

CHUNKS = 40


def fill(root: Path, path: str, zarr_format: int) -> None:
    array = omnizarr.create_array(
        root, name=path or None, shape=(CHUNKS,), chunks=(1,), dtype="u1", fill_value=0,
        compressors=None, zarr_format=zarr_format, overwrite=True,
    )  # fmt: skip
    array[:] = 7


def kill(work: Callable[[], object], after: float) -> None:
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(after)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def check(root: Path, path: str) -> str:
    try:
        found = omnizarr.open_array(root, path=path, mode="r")
    except (NodeNotFoundError, ContainsGroupError):
        return "none"
    if found.shape == (3,):
        assert not np.any(found[:] == 7)
        return "new"
    assert np.all(found[:] == 7), "the old array is whole"
    return "old"


WAYS: dict[str, Callable[[Path, str, int], object]] = {
    "overwrite": lambda root, path, zarr_format: omnizarr.create_array(
        root, name=path or None, shape=(3,), dtype="u1", zarr_format=zarr_format, overwrite=True
    ),
    "mode w": lambda root, path, zarr_format: omnizarr.open_array(
        root, path=path, shape=(3,), dtype="u1", zarr_format=zarr_format, mode="w"
    ),
    "save": lambda root, path, zarr_format: omnizarr.save_array(
        root, np.ones(3, "u1"), path=path, zarr_format=zarr_format
    ),
    "group": lambda root, path, zarr_format: omnizarr.create_group(
        root, zarr_format=zarr_format, overwrite=True
    ),
    "del": lambda root, path, zarr_format: omnizarr.open_group(root, mode="r+").__delitem__(path),
}


@pytest.mark.slow
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    ("way", "path"),
    [(way, path) for way in WAYS for path in ("", "x") if (way, path) != ("del", "")],
)
def test_killed(way: str, path: str, zarr_format: int, tmp_path: Path) -> None:
    rng = random.Random(f"{way} {path} {zarr_format}")
    for number in range(2):
        root = tmp_path / str(number)
        fill(root, path, zarr_format)
        kill(lambda: WAYS[way](root, path, zarr_format), 0.05 * rng.random())  # noqa: B023
        check(root, path)
        LocalStore(root).sweep()
        assert not [name for name in os.listdir(root) if name.endswith((".deleted", ".lock"))]
        fill(root, path, zarr_format)
        assert check(root, path) == "old"
