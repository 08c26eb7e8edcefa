"""Stores: where bytes are kept; and wrappers around stores.

    MemoryStore           a dict (also DictStore)
    MappingStore          any mapping (also KVStore)
    LocalStore            files below a directory (also DirectoryStore, NestedDirectoryStore)
    TempStore             a LocalStore that is deleted at the end
    ZipStore              one archive
    ObjectStore           S3, Google Cloud Storage, Azure (also ABSStore)
    HTTPStore             files of a web server
    FsspecStore           any filesystem of fsspec (also FSStore)
    N5Store, N5FSStore    LocalStore and FSStore whose new nodes are N5
    ZarrPythonStore       any store of zarr-python, and Icechunk's sessions
    SQLiteStore, LMDBStore, DBMStore, RedisStore, MongoDBStore
    ReferenceStore        bytes in other files, as a kerchunk reference file names them

    CacheStore            keeps values that were read from a slow store (also LRUStoreCache)
    OverlayStore          changes go to one store, the rest is read from another
    ConsolidatedStore     metadata from one document (also ConsolidatedMetadataStore)
    ReadOnlyStore         the same values, unchangeable
    PrefixStore           the values below a prefix
    WrapperStore          the base of wrappers
    as_store              open a store from a path, URL, mapping or foreign object
    store_kind            which kind of store a path is opened as
    masked_url            a URL without its secrets

Stores know bytes and keys. They must not know what the bytes mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnizarr.model.store import ByteRange, Capabilities, Listing, Store, Versioned
from omnizarr.runtime.lazy import first_use

if TYPE_CHECKING:
    from omnizarr.stores.cloud.azure import ABSStore
    from omnizarr.stores.cloud.store import ObjectStore
    from omnizarr.stores.databases.dbm import DBMStore
    from omnizarr.stores.databases.lmdb import LMDBStore
    from omnizarr.stores.databases.mongodb import MongoDBStore
    from omnizarr.stores.databases.redis import RedisStore
    from omnizarr.stores.databases.sqlite import SQLiteStore
    from omnizarr.stores.fsspec.store import FsspecStore, FSStore
    from omnizarr.stores.http.store import HTTPStore
    from omnizarr.stores.kinds import store_kind
    from omnizarr.stores.local.store import DirectoryStore, LocalStore, NestedDirectoryStore
    from omnizarr.stores.local.temp import TempStore
    from omnizarr.stores.mapping import KVStore, MappingStore
    from omnizarr.stores.memory import DictStore, MemoryStore
    from omnizarr.stores.n5 import N5FSStore, N5Store
    from omnizarr.stores.references.store import ReferenceStore
    from omnizarr.stores.resolve import StoreLike, as_store
    from omnizarr.stores.secrets import masked_url
    from omnizarr.stores.wrappers.base import PrefixStore, ReadOnlyStore, WrapperStore
    from omnizarr.stores.wrappers.cache import CacheStore, LRUStoreCache
    from omnizarr.stores.wrappers.consolidated import ConsolidatedMetadataStore, ConsolidatedStore
    from omnizarr.stores.wrappers.overlay import OverlayStore
    from omnizarr.stores.zarr_python.store import ZarrPythonStore
    from omnizarr.stores.zip.store import ZipStore

_LAZY = {
    "cloud.azure": ("ABSStore",),
    "cloud.store": ("ObjectStore",),
    "databases.dbm": ("DBMStore",),
    "databases.lmdb": ("LMDBStore",),
    "databases.mongodb": ("MongoDBStore",),
    "databases.redis": ("RedisStore",),
    "databases.sqlite": ("SQLiteStore",),
    "fsspec.store": ("FSStore", "FsspecStore"),
    "http.store": ("HTTPStore",),
    "kinds": ("store_kind",),
    "local.store": ("DirectoryStore", "LocalStore", "NestedDirectoryStore"),
    "local.temp": ("TempStore",),
    "mapping": ("KVStore", "MappingStore"),
    "memory": ("DictStore", "MemoryStore"),
    "n5": ("N5FSStore", "N5Store"),
    "references.store": ("ReferenceStore",),
    "resolve": ("StoreLike", "as_store"),
    "secrets": ("masked_url",),
    "wrappers.base": ("PrefixStore", "ReadOnlyStore", "WrapperStore"),
    "wrappers.cache": ("CacheStore", "LRUStoreCache"),
    "wrappers.consolidated": ("ConsolidatedMetadataStore", "ConsolidatedStore"),
    "wrappers.overlay": ("OverlayStore",),
    "zarr_python.store": ("ZarrPythonStore",),
    "zip.store": ("ZipStore",),
}
"""Modules that are imported when one of their names is first used: see `runtime.lazy`."""

__all__ = [
    "ABSStore",
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
    "N5FSStore",
    "N5Store",
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
    "masked_url",
    "store_kind",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:
    __getattr__ = first_use(__name__, _LAZY)
