"""Locks: one writer per key, whatever handle it holds, and a table that stays empty."""

from __future__ import annotations

import threading
from pathlib import Path

from omnizarr.engine import locks
from omnizarr.stores import LocalStore, MemoryStore


def test_two_handles_of_one_directory_share_a_lock(tmp_path: Path) -> None:
    one, other = LocalStore(tmp_path), LocalStore(tmp_path / "." / "x" / "..")
    order: list[str] = []
    inside = threading.Event()

    def second() -> None:
        inside.wait(10)
        with locks.exclusive(other, "a/0"):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with locks.exclusive(one, "a/0"):
        inside.set()
        thread.join(0.2)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_other_keys_are_free() -> None:
    store = MemoryStore()
    reached = threading.Event()
    with locks.exclusive(store, "a"):

        def other() -> None:
            with locks.exclusive(store, "b"):
                reached.set()

        thread = threading.Thread(target=other)
        thread.start()
        assert reached.wait(10)
        thread.join()


def test_the_table_is_empty_when_no_thread_writes() -> None:
    store = MemoryStore()
    for index in range(100):
        with locks.exclusive(store, f"k{index}"):
            pass
    assert not locks._table
