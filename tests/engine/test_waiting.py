"""Stores that let one wait: many threads ask, few compute, and the values are the same."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr import limits
from omnizarr.config import config
from omnizarr.engine import threads
from omnizarr.errors import ChunkNotFoundError, DecodeError
from omnizarr.model.store import Capabilities
from omnizarr.stores import MemoryStore
from omnizarr.testing import CountingStore, FaultStore

DATA = np.random.default_rng(1).integers(0, 99, (60, 44)).astype("i4")
LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (7, 11)},
    "shards": {"chunks": (5, 11), "shards": (10, 22)},
    "raw": {"chunks": (7, 11), "compressors": None},
}


def far_away(**capabilities: Any) -> MemoryStore:
    store = MemoryStore()
    store.capabilities = Capabilities(requests=16, **capabilities)
    return store


def slices(length: int) -> st.SearchStrategy[slice]:
    ends = st.integers(-length, length) | st.none()
    return st.builds(slice, ends, ends, st.sampled_from([None, 1, 2, -1, -3, 7]))


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@given(selection=st.tuples(slices(60), slices(44)), write=st.booleans())
def test_values_are_numpys(layout: str, selection: tuple[slice, slice], write: bool) -> None:
    array = omnizarr.create_array(far_away(), data=DATA, **LAYOUTS[layout])
    expected = DATA.copy()
    if write:
        array[selection] = expected[selection] = -expected[selection]
    np.testing.assert_array_equal(array[selection], expected[selection])
    np.testing.assert_array_equal(array[...], expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_missing_chunks_and_shards(layout: str) -> None:
    store = far_away()
    array = omnizarr.create_array(store, data=DATA, fill_value=-7, **LAYOUTS[layout])
    height, width = array.shards or array.chunks
    store.delete("c/0/0")
    expected = DATA.copy()
    expected[:height, :width] = -7
    np.testing.assert_array_equal(array[...], expected)
    strict = omnizarr.open_array(store, "r", on_missing="raise")
    with pytest.raises(ChunkNotFoundError, match=r"c/0/0.*on_missing"):
        strict[...]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_damaged_chunk_is_named(layout: str) -> None:
    store = far_away()
    array = omnizarr.create_array(store, data=DATA, **LAYOUTS[layout])
    store.set("c/1/1", b"nonsense")
    with pytest.raises(DecodeError, match="c/1/1"):
        array[...]
    store.set("c/1/1", bytes(1 << 16))
    with pytest.raises(DecodeError, match="at most" if layout == "raw" else "c/1/1"):
        array[...]


@pytest.mark.parametrize("operation", ["get", "set"])
def test_a_fault_of_the_store_is_raised_and_no_thread_is_left(operation: str) -> None:
    store = FaultStore(far_away())
    array = omnizarr.create_array(store, data=DATA, chunks=(7, 11))
    store.fail(operation, OSError("the cable is cut"), at=5)
    before = set(threading.enumerate())
    with pytest.raises(OSError, match="the cable is cut"):
        if operation == "get":
            array[...]
        else:
            array[...] = DATA
    assert not set(threading.enumerate()) - before


def test_a_whole_shard_is_one_request_and_a_part_of_it_two() -> None:
    store = CountingStore(far_away(gap=1 << 20))
    array = omnizarr.create_array(store, data=DATA, chunks=(5, 11), shards=(10, 22))
    store.reset()
    array[...]
    assert store.counts == {"get": 12}
    snapshots: list[str] = []
    inner = store.store.snapshot
    store.store.snapshot = lambda key: (snapshots.append(key), inner(key))[1]  # type: ignore[method-assign]
    array[:, 0]
    assert sorted(snapshots) == [f"c/{row}/0" for row in range(6)]


def test_as_many_ask_as_the_store_gains_from_and_the_scratch_holds() -> None:
    store = far_away()
    assert threads.fetchers_for(store, 100, 1000) == (16, 64)
    assert threads.fetchers_for(store, 3, 1000) == (3, 64)
    with config.set({"requests": 2}):
        assert threads.fetchers_for(store, 100, 1000) == (2, 8)
    with limits.override(scratch_bytes=64 << 20):
        assert threads.fetchers_for(store, 100, 16 << 20) == (4, 4)
        assert threads.fetchers_for(store, 100, 1 << 30) == (1, 1)


def test_requests_wait_together() -> None:
    store = FaultStore(far_away())
    array = omnizarr.create_array(store, data=DATA, chunks=(15, 11))
    barrier = threading.Barrier(16, timeout=30)
    meet = store.before
    store.before = lambda operation, key: (barrier.wait(), meet(operation, key))[1]  # type: ignore[method-assign]
    np.testing.assert_array_equal(array[...], DATA)
    array[...] = -DATA
    store.before = meet  # type: ignore[method-assign]
    np.testing.assert_array_equal(array[...], -DATA)
