"""Locks for read-modify-write: one per stored key.

Two handles on one directory share a lock, because the table is keyed by the store's identity.
Between processes the store's own lock is taken as well. A lock lives only while somebody holds
or awaits it, so the table stays as small as the number of writes in flight.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from omnizarr.model.store import Store

_table: dict[tuple[Hashable, str], list[object]] = {}  # [lock, how many hold or await it]
_guard = threading.Lock()


def _after_fork() -> None:
    # Locks that other threads of the parent held would never be released in the child.
    global _guard
    _guard = threading.Lock()
    _table.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def in_process(store: Store, key: str) -> Iterator[None]:
    """Exclude other threads of this process from writing `key`."""
    name = (store.identity, key)
    with _guard:
        entry = _table.setdefault(name, [threading.RLock(), 0])
        entry[1] += 1  # type: ignore[operator]  # a pair of different types, kept plain for speed
    lock: threading.RLock = entry[0]  # type: ignore[assignment]
    try:
        with lock:
            yield
    finally:
        with _guard:
            entry[1] -= 1  # type: ignore[operator]
            if entry[1] == 0 and _table.get(name) is entry:
                del _table[name]


@contextmanager
def exclusive(store: Store, key: str) -> Iterator[None]:
    """Exclude everybody else from writing `key`: threads always, processes where the store can."""
    with in_process(store, key), store.lock(key):
        yield
