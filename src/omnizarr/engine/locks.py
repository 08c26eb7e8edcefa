"""Locks for read-modify-write: one per stored key.

A store whose own locks exclude processes and threads (`capabilities.locks`) is trusted with it. For
every other store there is a table here, for the threads of this process; it is keyed by the
store's identity, so that two handles on one store share a lock. A lock lives only while somebody
holds or awaits it, so the table stays as small as the number of writes in flight.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable
from contextlib import AbstractContextManager, nullcontext

from omnizarr.model.store import Store


class _Entry:
    __slots__ = ("lock", "users")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0
        """How many hold the lock or await it."""


_table: dict[tuple[Hashable, str], _Entry] = {}
_guard = threading.Lock()


def _after_fork() -> None:
    # Locks that other threads of the parent held would never be released in the child.
    global _guard
    _guard = threading.Lock()
    _table.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class _InProcess:
    """Excludes other threads of this process; written out, because every chunk write takes one."""

    __slots__ = ("_entry", "_name")

    def __init__(self, store: Store, key: str) -> None:
        self._name = store.locate(key)

    def __enter__(self) -> None:
        with _guard:
            entry = _table.get(self._name)
            if entry is None:
                entry = _table[self._name] = _Entry()
            entry.users += 1
        self._entry = entry
        entry.lock.acquire()

    def __exit__(self, *exc_info: object) -> None:
        entry = self._entry
        entry.lock.release()
        with _guard:
            entry.users -= 1
            if entry.users == 0 and _table.get(self._name) is entry:
                del _table[self._name]


def exclusive(store: Store, key: str) -> AbstractContextManager[object]:
    """Exclude everybody else from writing `key`: threads always, processes where the store can."""
    if store.capabilities.locks:
        return store.lock(key)
    return _InProcess(store, key)


def setting(store: Store, key: str) -> AbstractContextManager[object]:
    """What one `store.set` of a whole value needs to wait for those who hold `exclusive`.

    A store with locks of its own takes them in `set`."""
    return nullcontext() if store.capabilities.locks else _InProcess(store, key)
