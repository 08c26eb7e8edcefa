"""omnizarr: chunked, compressed N-dimensional arrays in any key/value store.

`import omnizarr as zarr` is where a user of zarr-python starts. The names below are the whole
public surface; codec classes of numcodecs (`omnizarr.Blosc`, `omnizarr.Zlib`, …) are found by
name when asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnizarr import codecs, errors, limits, storage, stores
from omnizarr.api.creating import (
    array,
    create,
    create_array,
    create_group,
    create_hierarchy,
    from_array,
    group,
)
from omnizarr.api.opening import (
    open,  # noqa: A004 - the name that every user of Zarr knows
    open_array,
    open_group,
    open_like,
    tree,
)
from omnizarr.config import config
from omnizarr.model.store import ByteRange, Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.stores import (
    DictStore,
    DirectoryStore,
    KVStore,
    LocalStore,
    MemoryStore,
    NestedDirectoryStore,
    PrefixStore,
    ReadOnlyStore,
)

if TYPE_CHECKING:
    from omnizarr.api.checking import check
    from omnizarr.api.consolidating import consolidate_metadata, open_consolidated
    from omnizarr.api.copying import copy, copy_all, copy_store
    from omnizarr.api.filled import (
        empty,
        empty_like,
        full,
        full_like,
        ones,
        ones_like,
        zeros,
        zeros_like,
    )
    from omnizarr.api.saving import load, save, save_array, save_group
    from omnizarr.api.tasks import from_dask
    from omnizarr.jobs.conversion import convert
    from omnizarr.jobs.verification import verify
    from omnizarr.nodes.synchronizers import ProcessSynchronizer, ThreadSynchronizer
    from omnizarr.stores import TempStore, ZipStore

_LAZY = {
    "api.checking": ("check",),
    "api.consolidating": ("consolidate_metadata", "open_consolidated"),
    "api.copying": ("copy", "copy_all", "copy_store"),
    "api.filled": (
        *("empty", "empty_like", "full", "full_like"),
        *("ones", "ones_like", "zeros", "zeros_like"),
    ),
    "api.saving": ("load", "save", "save_array", "save_group"),
    "api.tasks": ("from_dask",),
    "jobs.conversion": ("convert",),
    "jobs.verification": ("verify",),
    "nodes.synchronizers": ("ProcessSynchronizer", "ThreadSynchronizer"),
}
"""Modules that are imported when one of their names is first used."""

__version__ = "0.1.0.dev0"

__all__ = [
    "Array",
    "ByteRange",
    "DictStore",
    "DirectoryStore",
    "Group",
    "KVStore",
    "LocalStore",
    "MemoryStore",
    "NestedDirectoryStore",
    "PrefixStore",
    "ProcessSynchronizer",
    "ReadOnlyStore",
    "Store",
    "TempStore",
    "ThreadSynchronizer",
    "ZipStore",
    "__version__",
    "array",
    "check",
    "codecs",
    "config",
    "consolidate_metadata",
    "convert",
    "copy",
    "copy_all",
    "copy_store",
    "create",
    "create_array",
    "create_group",
    "create_hierarchy",
    "empty",
    "empty_like",
    "errors",
    "from_array",
    "from_dask",
    "full",
    "full_like",
    "group",
    "limits",
    "load",
    "ones",
    "ones_like",
    "open",
    "open_array",
    "open_consolidated",
    "open_group",
    "open_like",
    "save",
    "save_array",
    "save_group",
    "storage",
    "stores",
    "tree",
    "verify",
    "zeros",
    "zeros_like",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Names that would make the import slow: most stores, numcodecs' codec classes, `_LAZY`."""
    if name in stores.LAZY:
        return getattr(stores, name)
    for module, names in _LAZY.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"omnizarr.{module}"), name)
            return found
    if name[:1].isupper() or name in ("get_codec", "register_codec", "codec_registry"):
        import numcodecs

        found = getattr(numcodecs, name, None)
        if found is None and name == "codec_registry":
            found = numcodecs.registry.codec_registry
        if found is not None:
            return found
    raise AttributeError(f"module 'omnizarr' has no attribute {name!r}")
