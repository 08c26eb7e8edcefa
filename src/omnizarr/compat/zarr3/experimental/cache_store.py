"""`CacheStore`: keeps what was read from a store in a second store.

Whole values are kept in the second store under their own keys, parts of values in memory. The
least recently used go first where there is a limit. A value that was written through this store
while it was read is not kept.

`omnizarr.stores.CacheStore` can do more: it asks the store whether an entry is still valid.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, NoReturn, Self, TypeAlias

from omnizarr.compat.zarr3.abc.store import ByteRequest, Store
from omnizarr.compat.zarr3.core.buffer import Buffer, BufferPrototype
from omnizarr.compat.zarr3.storage import WrapperStore

__all__ = ["CacheStore"]

_COUNTERS = 1024
Name: TypeAlias = tuple[str, ByteRequest | None]


class _Entry(NamedTuple):
    size: int
    since: float
    part: Buffer | None
    """The value, if it is part of one."""


@dataclass
class _State:
    """What the read-only and the writable handle on a cache share."""

    entries: OrderedDict[Name, _Entry] = field(default_factory=OrderedDict)
    size: int = 0
    changes: list[int] = field(default_factory=lambda: [0] * _COUNTERS)
    """How often a key changed; keys share the counters."""
    hits: int = 0
    misses: int = 0
    evictions: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _process: int = field(default_factory=os.getpid)

    @property
    def lock(self) -> threading.Lock:
        if self._process != os.getpid():  # a thread may have held it when this process was forked
            self._lock, self._process = threading.Lock(), os.getpid()
        return self._lock

    def changed(self, key: str) -> int:
        return self.changes[hash(key) % _COUNTERS]

    def add(self, name: Name, entry: _Entry, most: int | None) -> list[str]:
        """Note an entry; the keys of whole values that have to go for it."""
        evicted = []
        with self.lock:
            self._remove(name)
            while self.entries and most is not None and self.size + entry.size > most:
                old = next(iter(self.entries))
                self._remove(old)
                self.evictions += 1
                evicted += [old[0]] if old[1] is None else []
            self.entries[name] = entry
            self.size += entry.size
        return evicted

    def forget(self, key: str) -> None:
        """Drop what is known of a key that changes."""
        with self.lock:
            self.changes[hash(key) % _COUNTERS] += 1
            for name in [name for name in self.entries if name[0] == key]:
                self._remove(name)

    def clear(self) -> None:
        with self.lock:
            self.changes = [count + 1 for count in self.changes]
            self.entries.clear()
            self.size = 0

    def _remove(self, name: Name) -> None:
        entry = self.entries.pop(name, None)
        self.size -= entry.size if entry is not None else 0


class CacheStore(WrapperStore[Store]):
    """A store that keeps what was read from another one, or written to it, in a second store.

    Changes that another program makes to the first store are seen when an entry is too old.

    Parameters
    ----------
    store
        The first store.
    cache_store
        Where values are kept. It must be able to delete.
    max_age_seconds
        Seconds after which the first store is asked again; "infinity": never.
    max_size
        Bytes of all entries together; None: no limit. A larger value is not kept.
    cache_set_data
        Whether values that are written are kept too.

    Raises
    ------
    ValueError
        If `cache_store` cannot delete, or `max_age_seconds` is another text.

    Examples
    --------
    >>> import asyncio
    >>> from omnizarr.compat.zarr3.buffer.cpu import Buffer, buffer_prototype
    >>> from omnizarr.compat.zarr3.storage import MemoryStore
    >>> store = CacheStore(MemoryStore(), cache_store=MemoryStore())
    >>> asyncio.run(store.set("key", Buffer.from_bytes(b"value")))
    >>> asyncio.run(store.get("key", buffer_prototype)).to_bytes(), store.cache_stats()["hits"]
    (b'value', 1)
    """

    def __init__(
        self,
        store: Store,
        *,
        cache_store: Store,
        max_age_seconds: float | Literal["infinity"] = "infinity",
        max_size: int | None = None,
        cache_set_data: bool = True,
    ) -> None:
        super().__init__(store)
        if not cache_store.supports_deletes:
            raise ValueError(
                f"The provided cache store {cache_store} does not support deletes, which CacheStore"
                " needs: pass a MemoryStore or a LocalStore"
            )
        if isinstance(max_age_seconds, str) and max_age_seconds != "infinity":
            raise ValueError("max_age_seconds string value must be 'infinity', or pass a number")
        self._cache = cache_store
        self._state = _State()
        self.max_age_seconds = max_age_seconds
        self.max_size = max_size
        self.cache_set_data = cache_set_data

    def _with_store(self, store: Store) -> NoReturn:
        raise NotImplementedError("CacheStore does not support this operation.")

    def with_read_only(self, read_only: bool = False) -> Self:
        other = type(self)(
            self._store.with_read_only(read_only),
            cache_store=self._cache,
            max_age_seconds=self.max_age_seconds,
            max_size=self.max_size,
            cache_set_data=self.cache_set_data,
        )
        other._state = self._state
        return other

    def _synchronous(self, protocol: type, what: str) -> NoReturn:
        raise TypeError(f"Store CacheStore does not support synchronous {what}.")

    # -- reading --------------------------------------------------------------------------------
    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        state = self._state
        kept = await self._kept(key, prototype, byte_range)
        if kept is not None:
            state.hits += 1
            return kept
        state.misses += 1
        changes = state.changed(key)
        found = await super().get(key, prototype, byte_range)
        if found is not None:
            await self._keep((key, byte_range), found, changes)
        elif byte_range is None:
            await self._forget(key)
        return found

    async def _kept(
        self, key: str, prototype: BufferPrototype, part: ByteRequest | None
    ) -> Buffer | None:
        state = self._state
        with state.lock:
            entry = state.entries.get((key, part))
            if entry is not None:
                state.entries.move_to_end((key, part))
        age = math.inf if entry is None else time.monotonic() - entry.since
        if self.max_age_seconds != "infinity" and age >= self.max_age_seconds:
            return None
        if part is None:  # the second store may have values of an earlier process
            return await self._cache.get(key, prototype)
        return entry.part if entry is not None else None

    async def _keep(self, name: Name, value: Buffer, changes: int) -> None:
        state, (key, part) = self._state, name
        if self.max_size is not None and len(value) > self.max_size:
            return
        if part is None:
            await self._cache.set(key, value)
        entry = _Entry(len(value), time.monotonic(), value if part is not None else None)
        for evicted in state.add(name, entry, self.max_size):
            await self._cache.delete(evicted)
        if state.changed(key) != changes:  # it may be outdated
            await self._forget(key)

    async def _forget(self, key: str) -> None:
        self._state.forget(key)
        await self._cache.delete(key)

    # -- writing --------------------------------------------------------------------------------
    async def set(self, key: str, value: Buffer) -> None:
        changes = self._state.changed(key)
        await super().set(key, value)
        await self._forget(key)
        if self.cache_set_data:
            await self._keep((key, None), value, changes + 1)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        await super().set_if_not_exists(key, value)
        await self._forget(key)

    async def delete(self, key: str) -> None:
        await super().delete(key)
        await self._forget(key)

    async def delete_dir(self, prefix: str) -> None:
        await Store.delete_dir(self, prefix)  # key by key

    async def clear(self) -> None:
        await super().clear()
        await self.clear_cache()

    # -- the cache ------------------------------------------------------------------------------
    async def clear_cache(self) -> None:
        """Forget every entry, and empty the second store."""
        self._state.clear()
        await self._cache.clear()

    def cache_info(self) -> dict[str, Any]:
        """Return the settings and the size of the cache."""
        entries = len(self._state.entries)
        return {
            "cache_store_type": type(self._cache).__name__,
            "max_age_seconds": self.max_age_seconds,
            "max_size": self.max_size,
            "current_size": self._state.size,
            "cache_set_data": self.cache_set_data,
            "tracked_keys": entries,
            "cached_keys": entries,
        }

    def cache_stats(self) -> dict[str, Any]:
        """Return how often a value was in the cache."""
        state = self._state
        total = state.hits + state.misses
        return {
            "hits": state.hits,
            "misses": state.misses,
            "evictions": state.evictions,
            "total_requests": total,
            "hit_rate": state.hits / total if total else 0.0,
        }

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(store={self._store!r}, cache_store={self._cache!r}, "
            f"max_age_seconds={self.max_age_seconds}, max_size={self.max_size}, "
            f"current_size={self._state.size}, cached_keys={len(self._state.entries)})"
        )
