"""Where bytes lie: one file per store, and wrappers around stores.

    MemoryStore           a dict (also DictStore)
    MappingStore          any mapping (also KVStore)
    LocalStore            files below a directory (also DirectoryStore, NestedDirectoryStore)
    TempStore             a LocalStore that goes away
    ZipStore              one archive
    ReadOnlyStore         the same values, unchangeable
    PrefixStore           the values below a prefix
    WrapperStore          the base of wrappers
    as_store              whatever a user calls a store, as one

Stores know bytes and keys. They must not know what the bytes mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnizarr.model.store import ByteRange, Capabilities, Listing, Store
from omnizarr.stores.local import DirectoryStore, LocalStore, NestedDirectoryStore
from omnizarr.stores.mapping import KVStore, MappingStore
from omnizarr.stores.memory import DictStore, MemoryStore
from omnizarr.stores.resolve import StoreLike, as_store
from omnizarr.stores.temp import TempStore
from omnizarr.stores.wrappers import PrefixStore, ReadOnlyStore, WrapperStore

if TYPE_CHECKING:
    from omnizarr.stores.zip import ZipStore

__all__ = [
    "ByteRange",
    "Capabilities",
    "DictStore",
    "DirectoryStore",
    "KVStore",
    "Listing",
    "LocalStore",
    "MappingStore",
    "MemoryStore",
    "NestedDirectoryStore",
    "PrefixStore",
    "ReadOnlyStore",
    "Store",
    "StoreLike",
    "TempStore",
    "WrapperStore",
    "ZipStore",
    "as_store",
]


def __getattr__(name: str) -> Any:
    if name == "ZipStore":  # imported when it is first needed
        from omnizarr.stores.zip import ZipStore

        return ZipStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
