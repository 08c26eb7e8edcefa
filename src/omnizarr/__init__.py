"""omnizarr: chunked, compressed N-dimensional arrays in any key/value store.

`import omnizarr as zarr` is where a user of zarr-python starts. The names below are the whole
public surface; codec classes of numcodecs (`omnizarr.Blosc`, `omnizarr.Zlib`, …) are found by
name when asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnizarr.config import config
from omnizarr.runtime import forks
from omnizarr.runtime.lazy import first_use

if TYPE_CHECKING:
    from omnizarr import codecs, errors, limits, storage, stores
    from omnizarr.api.checking import check
    from omnizarr.api.consolidating import (
        consolidate_metadata,
        open_consolidated,
        unconsolidate_metadata,
    )
    from omnizarr.api.copying import copy, copy_all
    from omnizarr.api.creating import (
        array,
        create,
        create_array,
        create_group,
        create_hierarchy,
        from_array,
        group,
    )
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
    from omnizarr.api.opening import (
        open,  # noqa: A004 - the name that every user of Zarr knows
        open_array,
        open_group,
        open_like,
        tree,
    )
    from omnizarr.api.saving import load, save, save_array, save_group
    from omnizarr.api.tasks import from_dask
    from omnizarr.jobs.appending.job import append
    from omnizarr.jobs.checksums import checksum
    from omnizarr.jobs.conversion.job import convert
    from omnizarr.jobs.deleting import delete
    from omnizarr.jobs.differences.job import diff
    from omnizarr.jobs.exporting.formats import file_formats
    from omnizarr.jobs.exporting.job import export
    from omnizarr.jobs.pyramids.job import pyramid
    from omnizarr.jobs.rechunking.job import rechunk
    from omnizarr.jobs.reencoding import reencode
    from omnizarr.jobs.store_copying import copy_store
    from omnizarr.jobs.sweeping import sweep
    from omnizarr.jobs.syncing import sync
    from omnizarr.jobs.translated.store import as_format
    from omnizarr.jobs.verification import verify
    from omnizarr.jobs.virtualization import virtualize
    from omnizarr.model.store import ByteRange, Store
    from omnizarr.nodes.array import Array
    from omnizarr.nodes.group import Group
    from omnizarr.nodes.multiscale import Multiscale
    from omnizarr.nodes.synchronizers import ProcessSynchronizer, ThreadSynchronizer
    from omnizarr.stores import (
        DictStore,
        DirectoryStore,
        KVStore,
        LocalStore,
        MemoryStore,
        NestedDirectoryStore,
        PrefixStore,
        ReadOnlyStore,
        TempStore,
        ZipStore,
    )

# `config` is imported with the package: its module has the same name, and would replace it.
_MODULES = ("codecs", "errors", "limits", "storage", "stores")
_INTERNAL = ("api", "engine", "formats", "indexing", "keywords", "model", "nodes")

_LAZY = {
    "api.checking": ("check",),
    "api.consolidating": ("consolidate_metadata", "open_consolidated", "unconsolidate_metadata"),
    "api.copying": ("copy", "copy_all"),
    "api.creating": (
        *("array", "create", "create_array", "create_group", "create_hierarchy"),
        *("from_array", "group"),
    ),
    "api.filled": (
        *("empty", "empty_like", "full", "full_like"),
        *("ones", "ones_like", "zeros", "zeros_like"),
    ),
    "api.opening": ("open", "open_array", "open_group", "open_like", "tree"),
    "api.saving": ("load", "save", "save_array", "save_group"),
    "api.tasks": ("from_dask",),
    "jobs.appending.job": ("append",),
    "jobs.translated.store": ("as_format",),
    "jobs.checksums": ("checksum",),
    "jobs.conversion.job": ("convert",),
    "jobs.deleting": ("delete",),
    "jobs.differences.job": ("diff",),
    "jobs.exporting.formats": ("file_formats",),
    "jobs.exporting.job": ("export",),
    "jobs.reencoding": ("reencode",),
    "jobs.store_copying": ("copy_store",),
    "jobs.sweeping": ("sweep",),
    "jobs.syncing": ("sync",),
    "jobs.pyramids.job": ("pyramid",),
    "jobs.rechunking.job": ("rechunk",),
    "jobs.verification": ("verify",),
    "model.store": ("ByteRange", "Store"),
    "nodes.array": ("Array",),
    "nodes.group": ("Group",),
    "nodes.multiscale": ("Multiscale",),
    "jobs.virtualization": ("virtualize",),
    "stores": (
        *("DictStore", "DirectoryStore", "KVStore", "LocalStore", "MemoryStore"),
        *("NestedDirectoryStore", "PrefixStore", "ReadOnlyStore", "TempStore", "ZipStore"),
    ),
    "nodes.synchronizers": ("ProcessSynchronizer", "ThreadSynchronizer"),
}
"""Modules that are imported when one of their names is first used: see `runtime.lazy`."""

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
    "Multiscale",
    "NestedDirectoryStore",
    "PrefixStore",
    "ProcessSynchronizer",
    "ReadOnlyStore",
    "Store",
    "TempStore",
    "ThreadSynchronizer",
    "ZipStore",
    "__version__",
    "append",
    "array",
    "as_format",
    "check",
    "checksum",
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
    "delete",
    "diff",
    "empty",
    "empty_like",
    "errors",
    "export",
    "file_formats",
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
    "pyramid",
    "rechunk",
    "reencode",
    "save",
    "save_array",
    "save_group",
    "storage",
    "stores",
    "sweep",
    "sync",
    "tree",
    "unconsolidate_metadata",
    "verify",
    "virtualize",
    "zeros",
    "zeros_like",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def _other(name: str) -> Any:
    """Modules, the rest of the stores, and numcodecs' codec classes."""
    if name in _MODULES or name in _INTERNAL:
        return import_module(f"omnizarr.{name}")
    if name[:1].isupper():
        from omnizarr import stores

        if name in stores.__all__:
            return getattr(stores, name)
    if name[:1].isupper() or name in ("get_codec", "register_codec", "codec_registry"):
        import numcodecs

        found = getattr(numcodecs, name, None)
        if found is None and name == "codec_registry":
            found = numcodecs.registry.codec_registry
        if found is not None:
            return found
    raise AttributeError(f"module 'omnizarr' has no attribute {name!r}")


_named = first_use(__name__, _LAZY, _other)


def __getattr__(name: str) -> Any:
    with forks.postponed:
        if name not in _MODULES:
            import numpy  # noqa: F401 - whole: threads that import parts at once see half of them
        return _named(name)
