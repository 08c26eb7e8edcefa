"""Locks for read-modify-write: one per stored key.

A store whose own locks exclude processes and threads (`capabilities.locks`) is trusted with it. For
every other store there is a table here, for the threads of this process; it is keyed by the
store's identity, so that two handles on one store share a lock. A lock lives only while a thread
holds or awaits it, so the table stays as small as the number of writes in flight.

A store that has no locks but tells versions apart (`capabilities.versions`) is updated
optimistically: what was read is written back only if it is still the same, else the update begins
anew. Between processes, a store with neither is as safe as its writers are careful.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TypeVar

from omnizarr.errors import ConflictError, UncertainWriteError
from omnizarr.model.store import Buffer, ByteRange, Store
from omnizarr.runtime import forks, parallel
from omnizarr.stores import WrapperStore

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds after which an update that others keep overtaking is given up."""
LONGEST_PAUSE = 0.5


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


forks.in_child(_after_fork)


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
    """Exclude other writers of `key`: threads always, processes where the store can."""
    if store.capabilities.locks:
        return store.lock(key)
    return _InProcess(store, key)


class Optimistic(WrapperStore):
    """Remembers the version of every value that is read through it; `set` replaces that version
    and no other, or raises `ConflictError`."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.capabilities = replace(store.capabilities, deletes_any_version=True)
        self._seen: dict[str, tuple[Hashable | None, bytes | None]] = {}

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        found = self.store.get_versioned(key, byte_range)
        whole = found is not None and byte_range is None
        self._seen[key] = (
            None if found is None else found.version,
            bytes(found.value) if found is not None and whole else None,
        )
        return None if found is None else found.value

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        workers = self.capabilities.requests
        return parallel.each(lambda request: self.get(*request), list(requests), workers)

    def snapshot(self, key: str) -> AbstractContextManager[Callable[..., Buffer | None]]:
        return nullcontext(lambda byte_range: self.get(key, byte_range))

    def set(self, key: str, value: Buffer) -> None:
        if key not in self._seen:
            self.store.set(key, value)
            return
        version, before = self._seen[key]
        if before is not None and before == value:
            return  # nothing to change, so nothing to be overtaken in
        if not self.store.set_if_version(key, value, version):
            raise ConflictError(f"{key!r} was changed by another writer").at(self.store)


def update(store: Store, key: str, function: Callable[[Store], T], *, repeatable: bool = True) -> T:
    """Call `function(held)`, which reads, changes and writes back values around `key`, so that no
    concurrent change is lost. Where the store has no locks the call may be repeated.

    repeatable: whether a change may be made once more if its outcome is unknown; if not,
    `UncertainWriteError` is raised."""
    if store.capabilities.locks:

        def locked() -> T:
            with store.lock(key):
                return function(store)

        # A lock is broken when its directory is deleted, and a value that is absent may be stored
        # without one; nothing was written then.
        return _repeated(locked, (ConflictError,))
    with exclusive(store, key), store.fresh_reads():
        if not store.capabilities.versions:
            return function(store)
        kinds = (ConflictError, UncertainWriteError) if repeatable else (ConflictError,)
        return _repeated(lambda: function(Optimistic(store)), kinds)


def _repeated(attempt: Callable[[], T], kinds: tuple[type[Exception], ...]) -> T:
    deadline = time.monotonic() + PATIENCE
    pause = 0.005
    while True:
        try:
            return attempt()
        except kinds:
            if time.monotonic() > deadline:
                raise
        parallel.pause(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
