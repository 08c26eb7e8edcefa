"""The wrappers that count, log and break calls."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from omnizarr.stores import ByteRange, MemoryStore, Store
from omnizarr.testing import CountingStore, FaultStore, LoggingStore, StoreSuite
from omnizarr.testing.store_cases import in_threads


@pytest.mark.slow
class TestCountingStore(StoreSuite):
    def make_store(self, folder: Path) -> Store:
        return CountingStore(MemoryStore())


@pytest.mark.slow
class TestFaultStoreWithoutFaults(StoreSuite):
    picklable = False  # it holds a lock

    def make_store(self, folder: Path) -> Store:
        return FaultStore(MemoryStore())


def test_counting() -> None:
    store = CountingStore(MemoryStore())
    store.set("a", b"1")
    store.get("a")
    store.get_many([("a", None), ("b", None)])
    store.list_dir("")
    assert store.counts == {"set": 1, "get": 3, "list_dir": 1}
    assert store.asked["get"] == ["a", "a", "b"]
    store.reset()
    assert not store.counts


def test_logging(caplog: pytest.LogCaptureFixture) -> None:
    lines: list[str] = []
    store = LoggingStore(LoggingStore(MemoryStore()), lines.append)
    with caplog.at_level(logging.DEBUG):
        store.set("a", b"secret value")
    assert lines == ["set 'a'"]
    assert "set 'a'" in caplog.text
    assert "secret value" not in caplog.text


def test_the_nth_call_fails_once() -> None:
    store = FaultStore(MemoryStore())
    store.fail("set", OSError("disk full"), at=2)
    store.set("a", b"1")
    with pytest.raises(OSError, match="disk full"):
        store.set("b", b"2")
    store.set("c", b"3")
    assert list(store.list()) == ["a", "c"]


def test_one_key_fails_for_ever() -> None:
    store = FaultStore(MemoryStore({"a": b"1", "b": b"2"}))
    store.fail("get", OSError("reset"), key="a", times=None)
    for _ in range(3):
        with pytest.raises(OSError, match="reset"):
            store.get_many([("b", None), ("a", None)])
        assert store.get("b") == b"2"
    store.heal()
    assert store.get("a") == b"1"


def test_every_operation_can_fail() -> None:
    store = FaultStore(MemoryStore())
    store.fail("*", OSError("gone"), times=None)
    for call in (
        lambda: store.get("a"),
        lambda: store.exists("a"),
        lambda: store.size("a"),
        lambda: store.set("a", b""),
        lambda: store.set_if_absent("a", b""),
        lambda: store.delete("a"),
        lambda: store.delete_prefix(""),
        lambda: store.move_prefix("a/", "b/"),
        lambda: store.list_prefix(""),
        lambda: store.list(),
        lambda: store.list_dir(""),
        lambda: store.lock("a"),
    ):
        with pytest.raises(OSError, match="gone"):
            call()
    with pytest.raises(ValueError, match="from 1"):
        store.fail("get", OSError(), at=0)


def test_delays() -> None:
    store = FaultStore(MemoryStore({"a": b"1"}))
    store.delay("get", 0.02)
    start = time.perf_counter()
    assert store.get("a") == b"1"
    assert time.perf_counter() - start >= 0.02


def test_a_snapshot_is_watched_read_by_read() -> None:
    store = FaultStore(CountingStore(MemoryStore({"a": b"12345"})))
    store.fail("get", OSError("reset"), at=2)
    with store.snapshot("a") as read:
        assert read(ByteRange(0, 1)) == b"1"
        with pytest.raises(OSError, match="reset"):
            read(ByteRange(1, 2))
        assert read(None) == b"12345"
    assert isinstance(store.store, CountingStore)
    assert store.store.asked == {"get": ["a", "a"]}


def test_threads_are_counted_one_by_one() -> None:
    store = CountingStore(MemoryStore())
    in_threads(lambda worker: [store.get("a") for _ in range(500)] and None, 8)
    assert store.counts["get"] == len(store.asked["get"]) == 4000
