"""`CacheStore`: keeps what was read of a slow store, and asks the store whether it is still valid.

A value is kept whole where all of it was read (the engine asks for "at most n bytes", and gets
fewer: that is the whole), else every range that was read is kept on its own. Each entry has a
version. By default every answer from the cache is confirmed first: one request that carries no
value, or on a local store one `stat`. Parts read through one `snapshot` are confirmed once and are
of one version, or `ValueChangedError` is raised.

No lock is held while the store is asked. A value that was written through this cache while it was
read is not kept. Failures are never kept. A thread inside `lock` reads from the store, whatever key
it reads: an update of metadata reads several.

Some versions equal no other: of a server that tells none, or of a file that was just written.
Values with such a version are not kept.

This module knows the interface of stores. It must not know any one store.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from omnizarr import limits
from omnizarr.errors import StoreError, ValueChangedError
from omnizarr.keywords import suggests
from omnizarr.model.paths import check_key
from omnizarr.model.store import Buffer, ByteRange, Read, Store, Versioned, read_range
from omnizarr.runtime import forks, parallel
from omnizarr.stores.wrappers.base import WrapperStore
from omnizarr.stores.wrappers.cache_entries import (
    UNKNOWN,
    WHOLE,
    CacheEntry,
    Entries,
    FolderEntries,
    MemoryEntries,
    is_whole,
    mark,
    part_name,
    space_of,
)
from omnizarr.stores.wrappers.cache_pinned import Pinned

if TYPE_CHECKING:
    from omnizarr.stores.resolve import StoreLike

Validate = Literal["always", "age", "never"]

_MOST_UNVERSIONED = 10_000
_PATIENCE = 5.0
"""Seconds for which a key without a comparable version is read as without a cache."""
_COUNTERS = 1024
_LOCKS = 64


class _Start(NamedTuple):
    """The start of a read."""

    asked: float
    """By the clock."""
    changes: tuple[int, int]
    """How many changes the cache had seen; of keys with the same counter, and of prefixes."""


class CacheStore(WrapperStore):
    """Keeps what was read from a store; the least recently used entries go first.

    Parameters
    ----------
    store
        A store, or what `as_store` takes: a URL, a path, …
    max_bytes
        Size of all entries together.
    folder
        Directory for the entries, which several processes may share; None: memory.
    validate
        When the store is asked whether an entry is still valid.

        * "always": before each use, so that no outdated value is given. The store must tell
          versions of a value apart, as object stores, HTTP and local files do.
        * "age": if `max_age` seconds have passed since it was last asked. A change that another
          program makes is seen that much later; so is a key that was missing.
        * "never": for values that do not change, or only through this cache.
    max_age
        Seconds, with `validate="age"`.

    Raises
    ------
    StoreError
        If `validate` is "always" and the store has no versions.

    Examples
    --------
    >>> store = omnizarr.stores.CacheStore(omnizarr.MemoryStore({"key": b"1"}), validate="never")
    >>> store.get("key"), store.get("key"), store.hits
    (b'1', b'1', 1)
    >>> store.invalidate()
    >>> store.get("key"), store.hits
    (b'1', 1)
    >>> store.invalidate_values()  # the same by the names of zarr-python 2
    >>> store.invalidate_keys()
    """

    @suggests
    def __init__(
        self,
        store: StoreLike,
        *,
        max_bytes: int = 256 * limits.MIB,
        folder: str | os.PathLike[str] | None = None,
        validate: Validate = "always",
        max_age: float | None = None,
    ) -> None:
        if not isinstance(store, Store):
            from omnizarr.stores.resolve import as_store

            store = as_store(store)
        super().__init__(store)
        if validate not in ("always", "age", "never"):
            raise ValueError(f"validate must be 'always', 'age' or 'never'; found {validate!r}")
        if (validate == "age") != (max_age is not None):
            raise ValueError("validate='age' needs max_age=seconds, and nothing else takes it")
        if max_bytes < 0:
            raise ValueError(f"max_bytes must not be negative, found {max_bytes}")
        known = store.capabilities
        if validate == "always" and not (known.versions or known.validators):
            raise StoreError(
                "the store does not tell versions of a value apart, so a cache cannot know what is"
                " outdated: pass validate='age', max_age=seconds if you may see values that are"
                " that old, or validate='never' if no other program changes them"
            ).at(store)
        self.max_bytes = max_bytes
        self.validate = validate
        self.max_age = max_age
        self.hits = 0
        self.misses = 0
        self.capabilities = replace(known, ranges=True)
        self._versions = known.versions and validate != "never"
        self._validators = known.validators and validate != "never" and not self._versions
        self._entries: Entries = (
            MemoryEntries(max_bytes)
            if folder is None
            else FolderEntries(os.fspath(folder), max_bytes)
        )
        self._prepare()

    def _prepare(self) -> None:
        self._space = space_of(self.store.identity)
        self._unversioned: dict[str, float] = {}
        """Keys whose versions cannot be compared, and until when that is believed."""
        self._changes = [0] * _COUNTERS
        self._prefix_changes = 0
        self._closed = False
        self._forget_threads()
        forks.in_child(self._forget_threads)

    def _forget_threads(self) -> None:
        """Forget locks, as a forked child must: it has one thread."""
        self._guard = threading.Lock()
        self._keeping = [threading.Lock() for _ in range(_LOCKS)]
        """Held while an entry is put, and while a change is counted, by hash of the key."""
        self._bypassing: dict[int, int] = {}
        """How many locks each thread holds."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r}, validate={self.validate!r})"

    def __getstate__(self) -> dict[str, Any]:
        kept = ("_versions", "_validators", "_entries")
        return {
            name: value
            for name, value in self.__dict__.items()
            if name in kept or not name.startswith("_")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def _bypassed(self) -> bool:
        """Whether this thread must see what the store has now."""
        return self._closed or self._bypassing.get(threading.get_ident(), 0) > 0

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        check_key(key)
        if self._bypassed():
            return self.store.get(key, byte_range)
        entry = self._confirmed(key, byte_range)
        if entry is not None:
            self._count(1, 0)
            return entry.value
        self._count(0, 1)
        found = self._fetch(key, byte_range)
        return None if found is None else found[0]

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        if self._bypassed():
            return self.store.get_many(requests)
        if self._versions or self._validators:
            workers = self.store.capabilities.requests
            return parallel.each(lambda request: self.get(*request), list(requests), workers)
        answers: list[Buffer | None] = [None] * len(requests)
        missing: list[int] = []
        for index, (key, byte_range) in enumerate(requests):
            entry = self._confirmed(check_key(key), byte_range)
            if entry is None:
                missing.append(index)
            else:
                answers[index] = entry.value
        self._count(len(requests) - len(missing), len(missing))
        wanted = [requests[index] for index in missing]
        starts = [self._start(key) for key, _ in wanted]
        found = self.store.get_many(wanted) if wanted else []
        for index, start, value in zip(missing, starts, found, strict=True):
            answers[index] = value
            self._keep(*requests[index], value, UNKNOWN, start)
        return answers

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        check_key(key)
        if self._bypassed() or self._is_unversioned(key):
            return self.store.snapshot(key)
        if self._versions:
            return self._pinned(key)
        if self._validators:
            return self._watched(key)
        if self.validate == "never":
            return nullcontext(lambda byte_range: self.get(key, byte_range))
        whole = self._confirmed(key, None)
        if whole is not None and (value := whole.value) is not None:
            self._count(1, 0)
            return nullcontext(lambda byte_range: read_range(value, byte_range))
        return self.store.snapshot(key)  # ranges read one by one may be of several versions

    @contextmanager
    def _pinned(self, key: str) -> Iterator[Read]:
        with ExitStack() as opened:
            yield Pinned(self, key, opened).read

    @contextmanager
    def _watched(self, key: str) -> Iterator[Read]:
        """A snapshot of a store that tells the version of what it holds, not of what it gives."""
        start = self._start(key)
        before = self.store.version(key)
        with self.store.snapshot(key) as inner:
            version = mark(before) if self.store.version(key) == before else UNKNOWN

            def read(byte_range: ByteRange | None) -> Buffer | None:
                entry = self._find(key, byte_range)
                if version and entry is not None and entry.version == version:
                    self._count(1, 0)
                    return entry.value
                self._count(0, 1)
                try:
                    value = inner(byte_range)
                except ValueChangedError:
                    self._entries.drop(self._space + key)
                    raise
                if version and value is not None:
                    self._keep(key, byte_range, value, version, start)
                return value

            yield read

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        return self.store.get_versioned(key, byte_range)  # what will be changed is read afresh

    def exists(self, key: str) -> bool:
        return self.size(key) is not None

    def size(self, key: str) -> int | None:
        check_key(key)
        if not self._bypassed() and self.validate != "always":
            entry = self._entries.get(self._space + key, WHOLE)
            if entry is not None and self._fresh(entry):
                return None if entry.value is None else len(entry.value)
        return self.store.size(key)

    # -- entries ------------------------------------------------------------------------------
    def _find(self, key: str, byte_range: ByteRange | None) -> CacheEntry | None:
        """The entry for a part, cut from the whole if that is there."""
        name = self._space + key
        entry = self._entries.get(name, WHOLE)
        if entry is None and byte_range is not None:
            return self._entries.get(name, part_name(byte_range))
        if entry is None or entry.value is None or byte_range is None:
            return entry
        value = entry.value if isinstance(entry.value, bytes) else memoryview(entry.value)
        return entry._replace(value=read_range(value, byte_range))

    def _fresh(self, entry: CacheEntry) -> bool:
        if self.max_age is None:
            return self.validate == "never"
        return 0 <= time.time() - entry.asked <= self.max_age

    def _confirmed(self, key: str, byte_range: ByteRange | None) -> CacheEntry | None:
        """The entry for a part, if it is valid."""
        entry = self._find(key, byte_range)
        if entry is None or self._fresh(entry):
            return entry
        if not self._versions and not self._validators:
            return None
        start = self._start(key)
        now = self.store.version(key)
        if now is None and entry.value is not None:
            self._entries.drop(self._space + key)
            return None if self.validate == "age" else CacheEntry(None, UNKNOWN, start.asked)
        if now is not None and not mark(now):
            self._note_unversioned(key)
        if entry.version != mark(now) or (now is not None and not entry.version):
            return None
        if self.validate == "age":
            self._keep(key, byte_range, entry.value, entry.version, start)
        return entry

    def _is_unversioned(self, key: str) -> bool:
        return bool(self._unversioned) and self._unversioned.get(key, 0.0) > time.monotonic()

    def _note_unversioned(self, key: str) -> None:
        """For a while, do not ask for the version of this key: it cannot be compared."""
        if self.validate == "always":
            self._entries.drop(self._space + key)
        with self._guard:
            if len(self._unversioned) >= _MOST_UNVERSIONED:
                self._unversioned.clear()
            self._unversioned[key] = time.monotonic() + _PATIENCE

    def _keep(
        self,
        key: str,
        byte_range: ByteRange | None,
        value: Buffer | None,
        version: bytes,
        start: _Start,
    ) -> None:
        """Keep a part, unless the key was changed through this cache since the read started."""
        if self.validate == "always" and (not version or self._is_unversioned(key)):
            return  # it could never be confirmed
        whole = value is None or byte_range is None or is_whole(byte_range, len(value))
        part = WHOLE if whole or byte_range is None else part_name(byte_range)
        entry = CacheEntry(value, version, start.asked)
        # A writer counts its change under the same lock and drops entries afterwards, so it finds
        # this one, or this finds the change.
        with self._keeping[hash(key) % _LOCKS]:
            if not self._closed and start.changes == self._seen(key):
                self._entries.put(self._space + key, part, entry)

    def _fetch(self, key: str, byte_range: ByteRange | None) -> tuple[Buffer, bytes] | None:
        """A part as the store has it now, with its version; kept if it may be."""
        start = self._start(key)
        found = self._read(key, byte_range)
        value, version = (None, UNKNOWN) if found is None else found
        if self._versions and found is not None and not version:
            self._note_unversioned(key)
        self._keep(key, byte_range, value, version, start)
        return found

    def _read(self, key: str, byte_range: ByteRange | None) -> tuple[Buffer, bytes] | None:
        if self._versions:
            found = self.store.get_versioned(key, byte_range)
            return None if found is None else (found.value, mark(found.version))
        before = self.store.version(key) if self._validators else None
        value = self.store.get(key, byte_range)
        if value is None:
            return None
        if before is None or self.store.version(key) != before:
            return value, UNKNOWN
        return value, mark(before)

    def _start(self, key: str) -> _Start:
        return _Start(time.time(), self._seen(key))

    def _seen(self, key: str) -> tuple[int, int]:
        return self._changes[hash(key) % _COUNTERS], self._prefix_changes

    @contextmanager
    def _changing(self, key: str) -> Iterator[None]:
        """Change a key in the block. Even if that fails, what was read before is outdated."""
        check_key(key)
        try:
            yield
        finally:
            with self._guard:
                self._unversioned.pop(key, None)
            with self._keeping[hash(key) % _LOCKS]:
                self._changes[hash(key) % _COUNTERS] += 1
            self._entries.drop(self._space + key)

    @contextmanager
    def _changing_prefixes(self) -> Iterator[None]:
        try:
            yield
        finally:
            with ExitStack() as held:
                for lock in self._keeping:
                    held.enter_context(lock)
                self._prefix_changes += 1
            if self.validate != "always":
                self._entries.clear()

    def _count(self, hits: int, misses: int) -> None:
        with self._guard:
            self.hits += hits
            self.misses += misses

    def invalidate(self) -> None:
        """Forget every value, with a folder also those of other processes."""
        self.invalidate_values()

    def invalidate_values(self) -> None:
        """Forget every value."""
        with self._changing_prefixes():
            self._entries.clear()

    def invalidate_keys(self) -> None:
        """Nothing to forget: listings are not kept."""

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        with self._changing(key):
            self.store.set(key, value)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        with self._changing(key):
            return self.store.set_if_absent(key, value)

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        with self._changing(key):
            return self.store.set_if_version(key, value, version)

    def delete(self, key: str) -> None:
        with self._changing(key):
            self.store.delete(key)

    def delete_prefix(self, prefix: str) -> None:
        with self._changing_prefixes():
            self.store.delete_prefix(prefix)

    def move_prefix(self, source: str, target: str) -> None:
        with self._changing_prefixes():
            self.store.move_prefix(source, target)

    @contextmanager
    def lock(self, key: str) -> Iterator[object]:
        with self.store.lock(key) as held, self.fresh_reads():
            yield held

    @contextmanager
    def fresh_reads(self) -> Iterator[object]:
        thread = threading.get_ident()
        before = self._bypassing.get(thread, 0)
        self._bypassing[thread] = before + 1
        try:
            with self.store.fresh_reads():
                yield None
        finally:
            self._bypassing[thread] = before

    def close(self) -> None:
        self._closed = True
        if isinstance(self._entries, MemoryEntries):
            self._entries.clear()
        self.store.close()


class LRUStoreCache(CacheStore):
    """`CacheStore` with the arguments of zarr-python 2, for values that no other program changes.

    It never asks the store whether a value has changed.

    Parameters
    ----------
    store
        A store, or a mapping from str to bytes.
    max_size
        Size of all entries together, in bytes; None: no bound.

    Examples
    --------
    >>> store = omnizarr.stores.LRUStoreCache({"key": b"value"}, max_size=1024)
    >>> store.get("key"), store.get("key"), store.hits
    (b'value', b'value', 1)
    """

    @suggests
    def __init__(self, store: Store | Mapping[str, bytes], max_size: int | None) -> None:
        bound = (1 << 62) if max_size is None else max_size
        super().__init__(store, max_bytes=bound, validate="never")
