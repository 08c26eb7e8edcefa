"""What a store holds of an array: sizes of chunks and shards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omnizarr as zarr


@pytest.mark.parametrize("zarr_format", [2, 3, "3-draft2019", "n5"])
def test_sizes_are_those_of_the_store(zarr_format: Any) -> None:
    root = zarr.create_group({}, zarr_format=zarr_format)
    array = root.create_array("g/a", shape=(60, 50), chunks=(2, 5), dtype="i2")
    array[:, :45] = np.arange(45)
    found = dict(array.stored_chunk_sizes())
    assert sorted(found) == array.stored_chunks() and len(found) == 270  # more than one batch
    values = [array.store.get(key) for key in array.store.list()]
    lengths = [len(value) for value in values if value is not None]
    assert all(size in lengths for size in found.values())


def test_shards_and_what_is_outside_the_grid() -> None:
    array = zarr.create_array({}, shape=40, chunks=5, shards=20, dtype="u1")
    array[:] = 1
    array.store.set("c/7", b"left over")
    assert [chunk for chunk, _ in array.stored_chunk_sizes()] == [(0,), (1,)]


def test_it_may_be_left_at_any_time() -> None:
    array = zarr.create_array({}, shape=1000, chunks=1, dtype="u1")
    array[:] = 1
    assert len(next(array.stored_chunk_sizes())) == 2
