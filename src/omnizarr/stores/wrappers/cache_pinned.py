"""Parts of one version of a value, through a cache.

This module knows what `CacheStore` keeps. It must not know where.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from omnizarr.errors import ValueChangedError
from omnizarr.model.store import Buffer, ByteRange, Read
from omnizarr.stores.wrappers.cache_entries import UNKNOWN

if TYPE_CHECKING:
    from omnizarr.stores.wrappers.cache import CacheStore


class Pinned:
    """Reads parts of one version of a value, the version of the first part. If that cannot be
    compared, a snapshot of the store itself takes over."""

    def __init__(self, cache: CacheStore, key: str, opened: ExitStack) -> None:
        self._cache = cache
        self._key = key
        self._opened = opened
        self._version: bytes | None = None
        self._inner: Read | None = None

    def read(self, byte_range: ByteRange | None) -> Buffer | None:
        try:
            return self._read(byte_range)
        except ValueChangedError:
            # One of the versions is in the cache: the next attempt must not find it.
            self._cache._entries.drop(self._cache._space + self._key)
            raise

    def _read(self, byte_range: ByteRange | None) -> Buffer | None:
        cache, key, pinned = self._cache, self._key, self._version
        if self._inner is not None:
            return self._inner(byte_range)
        if pinned is None:
            entry = cache._confirmed(key, byte_range)
        else:
            entry = cache._find(key, byte_range)
            if entry is not None and entry.version != pinned:
                entry = None
        cache._count(int(entry is not None), int(entry is None))
        if entry is not None:
            return self._agree(entry.value, entry.version)
        found = cache._fetch(key, byte_range)
        if found is not None and not found[1]:
            inner = self._uncached()
            if inner is not None:
                return inner(byte_range)
        return self._agree(*(found or (None, UNKNOWN)))

    def _uncached(self) -> Read | None:
        """The store's own snapshot; None if a part of a known version was given already."""
        opening = self._cache.store.snapshot(self._key)
        with self._cache._guard:
            if self._inner is None and self._version is None:
                self._inner = self._opened.enter_context(opening)
            return self._inner

    def _agree(self, value: Buffer | None, version: bytes) -> Buffer | None:
        # Two first reads at once may both come here with the version not yet chosen.
        with self._cache._guard:
            if self._version is None and self._inner is None:
                self._version = version
            agreed = self._version == version
        if not agreed:
            raise ValueChangedError(
                f"{self._key!r} was replaced while it was read; read it again"
            ).at(self._cache, key=self._key)
        return value
