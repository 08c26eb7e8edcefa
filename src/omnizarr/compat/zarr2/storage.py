"""zarr-python 2's `zarr.storage`: its stores, and functions on stores."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import MutableMapping
from glob import glob
from typing import Any

import omnizarr
from omnizarr.compat.zarr2._defaults import (
    array_arguments,
    clear_above,
    default_compressor,
    is_array,
    translated,
)
from omnizarr.compat.zarr2._stores import (
    DictStore,
    DirectoryStore,
    FSStore,
    KVStore,
    NestedDirectoryStore,
    opened,
)
from omnizarr.compat.zarr2.context import Context
from omnizarr.compat.zarr2.meta import encode_array_metadata, encode_group_metadata
from omnizarr.compat.zarr2.util import (
    buffer_size,
    json_loads,
    normalize_chunks,
    normalize_dimension_separator,
    normalize_dtype,
    normalize_fill_value,
    normalize_order,
    normalize_shape,
    normalize_storage_path,
    retry_call,
)
from omnizarr.errors import (
    BadCompressorError,
    ContainsArrayError,
    ContainsGroupError,
    FSPathExistNotDir,
    MetadataError,
    NodeNotFoundError,
    ReadOnlyError,
    StoreError,
)
from omnizarr.stores import (
    ABSStore,
    ConsolidatedMetadataStore,
    DBMStore,
    LMDBStore,
    LRUStoreCache,
    MemoryStore,
    MongoDBStore,
    RedisStore,
    SQLiteStore,
    Store,
    StoreLike,
    TempStore,
    ZipStore,
    as_store,
)

__all__ = [
    "ABSStore",
    "BadCompressorError",
    "BaseStore",
    "ConsolidatedMetadataStore",
    "ContainsArrayError",
    "ContainsGroupError",
    "Context",
    "DBMStore",
    "DictStore",
    "DirectoryStore",
    "FSPathExistNotDir",
    "FSStore",
    "KVStore",
    "LMDBStore",
    "LRUStoreCache",
    "MemoryStore",
    "MetadataError",
    "MongoDBStore",
    "NestedDirectoryStore",
    "ReadOnlyError",
    "RedisStore",
    "SQLiteStore",
    "Store",
    "TempStore",
    "ZipStore",
    "array_meta_key",
    "atexit_rmglob",
    "atexit_rmtree",
    "attrs_key",
    "buffer_size",
    "contains_array",
    "contains_group",
    "data_root",
    "default_compressor",
    "encode_array_metadata",
    "encode_group_metadata",
    "getsize",
    "group_meta_key",
    "init_array",
    "init_group",
    "init_store",
    "json_loads",
    "listdir",
    "meta_root",
    "migrate_1to2",
    "normalize_chunks",
    "normalize_dimension_separator",
    "normalize_dtype",
    "normalize_fill_value",
    "normalize_order",
    "normalize_shape",
    "normalize_storage_path",
    "normalize_store_arg",
    "rename",
    "retry_call",
    "rmdir",
]

BaseStore = Store
array_meta_key = ".zarray"
group_meta_key = ".zgroup"
attrs_key = ".zattrs"
meta_root = "meta/root/"
data_root = "data/root/"
DEFAULT_ZARR_VERSION = 2


def normalize_store_arg(
    store: StoreLike,
    storage_options: dict[str, object] | None = None,
    mode: str = "r",
    *,
    zarr_version: int | None = None,
) -> Store:
    """Open the store that an object means.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store; None is a new store in memory.
    storage_options
        Options for the store of a URL.
    mode
        ``"w"`` may replace a file that is no store.
    zarr_version
        Version of a format; any store holds all of them.

    Returns
    -------
    Store
        The store.
    """
    if zarr_version is not None:
        omnizarr.group(zarr_format=zarr_version)  # refuses a format that is not known
    found = opened(store, mode, storage_options)
    if isinstance(found, str) and found.startswith("file://"):
        return FSStore(found, mode=mode)
    if isinstance(found, Store):
        return found
    wanted = None if mode == "r" else mode
    return as_store(found, mode=wanted, storage_options=storage_options)


def contains_array(store: StoreLike, path: str | None = None) -> bool:
    """Tell whether there is an array at a path.

    Parameters
    ----------
    store
        A store, or a mapping.
    path
        The path; the root by default.
    """
    return is_array(store, path)


def contains_group(store: StoreLike, path: str | None = None, explicit_only: bool = True) -> bool:
    """Tell whether there is a group at a path.

    Parameters
    ----------
    store
        A store, or a mapping.
    path
        The path; the root by default.
    explicit_only
        Without effect: a group has a document of its own.
    """
    try:
        return isinstance(omnizarr.open(as_store(store), "r", path=path), omnizarr.Group)
    except NodeNotFoundError:
        return False


def listdir(store: StoreLike, path: str | None = None) -> list[str]:
    """List the names directly below a path.

    Parameters
    ----------
    store
        A store, or a mapping.
    path
        The path; the root by default.
    """
    if not hasattr(store, "listdir"):
        warnings.warn(f"{type(store).__name__} has no `listdir` method", UserWarning, stacklevel=2)
    return as_store(store).listdir(path or "")


def rmdir(store: StoreLike, path: str | None = None) -> None:
    """Remove every key below a path.

    Parameters
    ----------
    store
        A store, or a mapping.
    path
        The path; the root by default.
    """
    as_store(store).rmdir(path or "")


def rename(store: StoreLike, src_path: str, dst_path: str) -> None:
    """Move a key, or every key below a path.

    Parameters
    ----------
    store
        A store, or a mapping.
    src_path, dst_path
        From where, and where to.
    """
    if not isinstance(store, MutableMapping):
        as_store(store).rename(src_path, dst_path)
        return
    source, target = normalize_storage_path(src_path), normalize_storage_path(dst_path)
    for key in [key for key in store if f"{key}/".startswith(f"{source}/")]:
        store[target + key[len(source) :]] = store.pop(key)


def getsize(store: StoreLike, path: str | None = None) -> int:
    """Tell the size of a value, or of the values directly below a path; -1 if it is not known.

    Parameters
    ----------
    store
        A store, or a mapping.
    path
        A key, or a path.
    """
    try:
        return as_store(store).getsize(path or "")
    except TypeError:
        return -1
    except StoreError as error:
        if isinstance(error.__cause__, TypeError):  # a value without a size
            return -1
        raise


def init_array(
    store: StoreLike,
    shape: Any,
    chunks: Any = True,
    dtype: Any = None,
    compressor: Any = "default",
    fill_value: Any = None,
    order: Any = "C",
    overwrite: bool = False,
    path: str | None = None,
    chunk_store: StoreLike = None,
    filters: Any = None,
    object_codec: Any = None,
    dimension_separator: Any = None,
    storage_transformers: Any = (),
) -> None:
    """Write the metadata of a new array.

    Parameters
    ----------
    store
        A store, or a mapping.
    shape, chunks, dtype, compressor, fill_value, order, filters, object_codec
        As of `omnizarr.create`.
    overwrite
        Replace what is there.
    path
        Path of the array.
    chunk_store
        Another store for the chunks.
    dimension_separator
        What is between chunk coordinates.
    storage_transformers
        None are defined.

    Raises
    ------
    NodeExistsError
        If there is a node already, and `overwrite` is False.
    """
    given = {
        "shape": shape, "chunks": chunks, "dtype": dtype, "compressor": compressor,
        "fill_value": fill_value, "order": order, "overwrite": overwrite, "path": path,
        "chunk_store": chunk_store, "filters": filters, "object_codec": object_codec,
        "dimension_separator": dimension_separator, "storage_transformers": storage_transformers,
    }  # fmt: skip
    if overwrite:
        clear_above(store, path)
    omnizarr.create(store=store, **array_arguments(given, store))


def init_group(
    store: StoreLike,
    overwrite: bool = False,
    path: str | None = None,
    chunk_store: StoreLike = None,
) -> None:
    """Write the metadata of a new group.

    Parameters
    ----------
    store
        A store, or a mapping.
    overwrite
        Replace what is there.
    path
        Path of the group.
    chunk_store
        Another store for chunks, which is emptied below `path` with `overwrite`.

    Raises
    ------
    NodeExistsError
        If there is a node already, and `overwrite` is False.
    """
    if overwrite:
        clear_above(store, path)
    omnizarr.create_group(store, path=path, overwrite=overwrite, **translated({}, store))
    if overwrite and chunk_store is not None:
        rmdir(chunk_store, path)


init_store = init_array


def migrate_1to2(store: StoreLike) -> None:
    """Turn the array of format 1 in a store into one of format 2, in place.

    Parameters
    ----------
    store
        A store, or a mapping.
    """
    backing = as_store(store)
    omnizarr.convert(backing, zarr_format=2, remove_source=True)
    backing.setdefault(attrs_key, b"{}")


def atexit_rmtree(path: str) -> None:
    """Remove a folder, if it exists.

    Parameters
    ----------
    path
        The folder.
    """
    shutil.rmtree(path, ignore_errors=True)


def atexit_rmglob(path: str) -> None:
    """Remove the files and folders whose names match a pattern.

    Parameters
    ----------
    path
        The pattern.
    """
    for found in glob(path):
        if os.path.isdir(found):
            atexit_rmtree(found)
        else:
            os.remove(found)
