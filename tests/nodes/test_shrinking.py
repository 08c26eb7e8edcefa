"""Arrays that were made smaller: what was cut off does not come back, whatever went wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import StoreError
from omnizarr.stores import LocalStore, MemoryStore, ObjectStore, SQLiteStore, Store
from omnizarr.testing import FaultStore

DATA = np.arange(1, 401, dtype="i4").reshape(20, 20)


def objects(_: Path) -> Store:
    from obstore.store import MemoryStore as Objects

    return ObjectStore(Objects())


WAYS: dict[str, Callable[[Path], Store]] = {
    "memory": lambda folder: MemoryStore(),
    "local": lambda folder: LocalStore(folder / "a.zarr"),
    "sqlite": lambda folder: SQLiteStore(folder / "a.sqlite"),
    "objects": objects,
}


def expected(shape: tuple[int, int]) -> np.ndarray:
    found = np.full((20, 20), -1, "i4")
    part = tuple(slice(0, length) for length in shape)
    found[part] = DATA[part]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("operation", ["list_prefix", "delete", "set", "set_if_version"])
@pytest.mark.parametrize("shards", [None, (6, 6)])
@pytest.mark.parametrize("smaller", [(7, 20), (20, 7), (7, 8), (0, 20), (6, 6)])
def test_a_shrink_that_failed_is_finished_by_the_same_call(
    way: str,
    operation: str,
    shards: tuple[int, int] | None,
    smaller: tuple[int, int],
    tmp_path: Path,
) -> None:
    store = FaultStore(WAYS[way](tmp_path))
    array = omnizarr.create_array(
        store, shape=DATA.shape, chunks=(3, 3), shards=shards, dtype="i4", fill_value=-1
    )
    array[...] = DATA
    failed = False
    store.fail(operation, StoreError("the connection is lost"), times=None)
    try:
        array.resize(smaller)
    except StoreError as error:
        failed = True
        assert "connection is lost" in str(error)
    store.heal()
    assert failed or operation in ("delete", "set", "set_if_version")  # not all stores use all
    again = omnizarr.open_array(store)
    assert again.shape in (DATA.shape, smaller)
    again.resize(smaller)
    assert again.shape == smaller
    again.resize(DATA.shape)
    np.testing.assert_array_equal(again[...], expected(smaller))
    store.close()


@pytest.mark.parametrize("way", WAYS)
def test_a_shrink_that_failed_and_another_that_goes_further(way: str, tmp_path: Path) -> None:
    store = FaultStore(WAYS[way](tmp_path))
    array = omnizarr.create_array(store, shape=(20,), chunks=(5,), dtype="i4", fill_value=-1)
    array[...] = 7
    store.fail("list_prefix", StoreError("the connection is lost"), times=None)
    with pytest.raises(StoreError):
        array.resize(8)
    store.heal()
    again = omnizarr.open_array(store)
    again.resize(7)
    again.resize(20)
    assert again[...].tolist() == 7 * [7] + 13 * [-1]
    store.close()


@pytest.mark.parametrize("way", WAYS)
def test_the_same_shape_changes_nothing_of_a_sound_array(way: str, tmp_path: Path) -> None:
    with WAYS[way](tmp_path) as store:
        array = omnizarr.create_array(store, shape=(20,), chunks=(6,), dtype="i4", fill_value=-1)
        array[...] = np.arange(20)
        before = {key: bytes(store[key]) for key in store.list()}
        array.resize(20)
        assert array[...].tolist() == list(range(20))
        assert {key: bytes(store[key]) for key in store.list()} == before
