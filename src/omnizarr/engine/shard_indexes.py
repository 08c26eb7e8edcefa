"""Indexes of shards, kept from one read to the next.

An inner chunk cannot be read without the index of its shard, which over a network is a request of
its own. So an index is kept with the version of the value that it was read from. It is used for
that version alone: a file is compared when it is open, and a service is asked for bytes of that
version and no other (`If-Match`). If a shard was replaced, the snapshot says so, and the index is
read anew. A snapshot without versions has nothing to compare, and no index of it is kept.

Tables are kept, not arrays or stores, up to `limits.shard_index_bytes`; the least recently used
goes first.

This module knows versions of values. It must not know what is read with an index.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any, NamedTuple

from omnizarr import limits
from omnizarr.codecs.sharding import Shard, ShardIndex
from omnizarr.model.store import Read, Store
from omnizarr.runtime import forks

OVERHEAD = 1024
"""What an entry costs beside its table, in bytes."""


class _Entry(NamedTuple):
    version: Hashable
    layout: Hashable
    """How the index was decoded: two arrays may describe one value differently."""
    table: Any

    @property
    def nbytes(self) -> int:
        return int(self.table.nbytes) + OVERHEAD


class _Kept:
    """Entries by the place of their value, the most recently used last."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._entries: dict[Hashable, _Entry] = {}
        self._nbytes = 0
        forks.wait_for(self, "lock")

    def find(self, place: Hashable) -> _Entry | None:
        if not self._entries:
            return None
        with self.lock:
            entry = self._entries.pop(place, None)
            if entry is not None:
                self._entries[place] = entry
        return entry

    def put(self, place: Hashable, entry: _Entry) -> None:
        most = limits.current.shard_index_bytes
        with self.lock:
            self.drop(place)
            if entry.nbytes <= most:
                self._entries[place] = entry
                self._nbytes += entry.nbytes
            while self._nbytes > most:
                self.drop(next(iter(self._entries)))

    def drop(self, place: Hashable) -> None:
        with self.lock:
            entry = self._entries.pop(place, None)
            if entry is not None:
                self._nbytes -= entry.nbytes


_kept = _Kept()


def index_of(shard: Shard, store: Store, key: str, read: Read) -> tuple[ShardIndex | None, bool]:
    """The index of the shard that a snapshot reads, None if there is no such shard; and whether it
    is a kept one. A kept one may be outdated until something was read."""
    expect = getattr(read, "expect", None)
    if expect is None or not limits.current.shard_index_bytes:
        return shard.read_index(read), False
    place = store.locate(key)
    entry = _kept.find(place)
    if entry is not None and entry.layout == shard.index_layout and expect(entry.version):
        return ShardIndex(entry.table), True
    index = shard.read_index(read)
    version = read.version  # type: ignore[attr-defined]  # what can expect one has one
    if index is not None and version is not None:
        _kept.put(place, _Entry(version, shard.index_layout, index.table))
    return index, False


def forget(store: Store, key: str) -> None:
    """Read the index of this shard anew the next time."""
    _kept.drop(store.locate(key))
