"""The store that answers late."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr.stores import ByteRange, LocalStore, MemoryStore, Store
from omnizarr.testing import LatencyStore, StoreSuite
from omnizarr.testing.store_cases import in_threads


@pytest.mark.slow
class TestLatencyStore(StoreSuite):
    many_keys = 2000

    def make_store(self, folder: Path) -> Store:
        return LatencyStore(MemoryStore(), seconds=0.0)


def seconds(work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def test_every_request_waits() -> None:
    store = LatencyStore(MemoryStore({"a": b"1"}), seconds=0.02)
    with store.snapshot("a") as read:
        calls = (
            lambda: store.get("a"),
            lambda: store.size("a"),
            lambda: store.exists("b"),
            lambda: store.set("b", b"2"),
            lambda: store.list_dir(""),
            lambda: store.delete("b"),
            lambda: read(ByteRange(0, 1)),
        )
        for call in calls:
            assert seconds(call) >= 0.02
    assert store.counts == {"get": 2, "size": 1, "exists": 1, "set": 1, "list_dir": 1, "delete": 1}


def test_a_batch_waits_as_its_requests_side_by_side() -> None:
    store = LatencyStore(MemoryStore(), seconds=0.5, requests=8)
    assert 0.5 <= seconds(lambda: store.get_many([("a", None)] * 8)) < 4
    assert 1.5 <= seconds(lambda: store.get_many([("a", None)] * 17)) < 8.5
    assert store.counts == {"get": 25}
    assert 0.5 <= seconds(lambda: in_threads(lambda worker: store.get("a"), 8)) < 4  # type: ignore[func-returns-value]


def test_a_wire_is_shared() -> None:
    value = bytes(10_000)
    store = LatencyStore(MemoryStore({"a": value}), seconds=0.0, bandwidth=1_000_000)
    assert seconds(lambda: store.get("a")) >= 0.01
    assert seconds(lambda: in_threads(lambda worker: store.get("a"), 8)) >= 0.08  # type: ignore[func-returns-value]
    assert seconds(lambda: store.get_many([("a", None)] * 4)) >= 0.04
    assert seconds(lambda: store.set("b", value)) >= 0.01


def test_the_engine_reads_it_as_a_remote_store(tmp_path: Path) -> None:
    data = np.arange(4000).reshape(40, 100)
    plain = LocalStore(tmp_path)
    omnizarr.create_array(plain, shape=data.shape, chunks=(1, 100), dtype=data.dtype)[...] = data
    store = LatencyStore(plain, seconds=0.25, requests=40)
    array = omnizarr.open_array(store, mode="r")
    assert store.capabilities.requests == 40
    store.reset()
    start = time.perf_counter()
    np.testing.assert_array_equal(array[...], data)
    assert time.perf_counter() - start < 5, "one after the other takes ten seconds"
    assert store.counts["get"] == 40


@pytest.mark.parametrize("wrong", [{"seconds": -1}, {"bandwidth": 0}, {"requests": 0}])
def test_wrong_arguments(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        LatencyStore(MemoryStore(), **wrong)  # type: ignore[arg-type]
