"""Where bytes lie: one file per store, and wrappers around stores.

    MemoryStore           a dict (also DictStore)
    MappingStore          any mapping (also KVStore)
    LocalStore            files below a directory (also DirectoryStore, NestedDirectoryStore)
    TempStore             a LocalStore that goes away
    ZipStore              one archive
    ObjectStore           S3, Google Cloud Storage, Azure
    HTTPStore             what a web server shows
    FsspecStore           any filesystem of fsspec (also FSStore)
    ZarrPythonStore       any store of zarr-python, and Icechunk's sessions
    SQLiteStore, LMDBStore, DBMStore, RedisStore, MongoDBStore
    ReferenceStore        bytes in other files, as a kerchunk reference file names them

    CacheStore            keeps what was read of a slow store (also LRUStoreCache)
    OverlayStore          changes go to one store, the rest is read from another
    ConsolidatedStore     metadata from one document (also ConsolidatedMetadataStore)
    ReadOnlyStore         the same values, unchangeable
    PrefixStore           the values below a prefix
    WrapperStore          the base of wrappers
    as_store              whatever a user calls a store, as one

Stores know bytes and keys. They must not know what the bytes mean.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnizarr.model.store import ByteRange, Capabilities, Listing, Store, Versioned
from omnizarr.stores.local import DirectoryStore, LocalStore, NestedDirectoryStore
from omnizarr.stores.mapping import KVStore, MappingStore
from omnizarr.stores.memory import DictStore, MemoryStore
from omnizarr.stores.resolve import StoreLike, as_store
from omnizarr.stores.temp import TempStore
from omnizarr.stores.wrappers import PrefixStore, ReadOnlyStore, WrapperStore

if TYPE_CHECKING:
    from omnizarr.stores.cache import CacheStore, LRUStoreCache
    from omnizarr.stores.consolidated import ConsolidatedMetadataStore, ConsolidatedStore
    from omnizarr.stores.dbm import DBMStore
    from omnizarr.stores.fsspec import FsspecStore, FSStore
    from omnizarr.stores.http import HTTPStore
    from omnizarr.stores.lmdb import LMDBStore
    from omnizarr.stores.mongodb import MongoDBStore
    from omnizarr.stores.object import ObjectStore
    from omnizarr.stores.overlay import OverlayStore
    from omnizarr.stores.redis import RedisStore
    from omnizarr.stores.reference import ReferenceStore
    from omnizarr.stores.sqlite import SQLiteStore
    from omnizarr.stores.zarr_python import ZarrPythonStore
    from omnizarr.stores.zip import ZipStore

LAZY = {
    "CacheStore": "cache",
    "ConsolidatedMetadataStore": "consolidated",
    "ConsolidatedStore": "consolidated",
    "DBMStore": "dbm",
    "FSStore": "fsspec",
    "FsspecStore": "fsspec",
    "HTTPStore": "http",
    "LMDBStore": "lmdb",
    "LRUStoreCache": "cache",
    "MongoDBStore": "mongodb",
    "ObjectStore": "object",
    "OverlayStore": "overlay",
    "RedisStore": "redis",
    "ReferenceStore": "reference",
    "SQLiteStore": "sqlite",
    "ZarrPythonStore": "zarr_python",
    "ZipStore": "zip",
}
"""Stores whose modules are imported when they are first named."""

__all__ = [
    "ByteRange",
    "CacheStore",
    "Capabilities",
    "ConsolidatedMetadataStore",
    "ConsolidatedStore",
    "DBMStore",
    "DictStore",
    "DirectoryStore",
    "FSStore",
    "FsspecStore",
    "HTTPStore",
    "KVStore",
    "LMDBStore",
    "LRUStoreCache",
    "Listing",
    "LocalStore",
    "MappingStore",
    "MemoryStore",
    "MongoDBStore",
    "NestedDirectoryStore",
    "ObjectStore",
    "OverlayStore",
    "PrefixStore",
    "ReadOnlyStore",
    "RedisStore",
    "ReferenceStore",
    "SQLiteStore",
    "Store",
    "StoreLike",
    "TempStore",
    "Versioned",
    "WrapperStore",
    "ZarrPythonStore",
    "ZipStore",
    "as_store",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY})


def __getattr__(name: str) -> Any:
    if name in LAZY:
        return getattr(import_module(f"{__name__}.{LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
