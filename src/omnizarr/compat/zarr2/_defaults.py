"""zarr-python 2's defaults where they differ from omnizarr's, as keywords of omnizarr's functions.

New nodes are of format 2 unless the store or the caller says otherwise, chunks are compressed with
Blosc, chunks that hold nothing but the fill value are stored too, and text reads as objects. An
existing node is opened whatever its format.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from numcodecs import Blosc

import omnizarr
from omnizarr.stores import N5Store, StoreLike, as_store

FORMAT = 2
"""Format of new nodes."""
default_compressor = Blosc()
_SPELLINGS = ("compressors", "compression", "compression_opts", "codecs", "cname", "clevel")


def translated(arguments: dict[str, Any], store: object = None) -> dict[str, Any]:
    """The keywords for a new node: `zarr_version` and the default of the format in one."""
    given = {**arguments}
    version = given.pop("zarr_version", None)
    chosen = given.get("zarr_format") or version or getattr(store, "preferred_format", None)
    given["zarr_format"] = chosen or FORMAT
    return given


def settings(arguments: dict[str, Any]) -> dict[str, Any]:
    """The keywords of an open node."""
    given = {**arguments}
    for name, value in {"write_empty_chunks": True, "text": "object"}.items():
        if given.get(name) is None:
            given[name] = value
    return given


def array_arguments(arguments: dict[str, Any], store: object = None) -> dict[str, Any]:
    """The keywords of a new array."""
    given = settings(translated(arguments, store))
    compressor = given.get("compressor", "default")
    if given.get("shape") == ():  # one value is not compressed
        compressor = given["compressor"] = None
    if isinstance(compressor, str) and compressor == "none":
        compressor = given["compressor"] = None
    if isinstance(compressor, str) and compressor == "default":
        given.pop("compressor", None)
        free = getattr(store, "preferred_format", None) is None  # else the format chooses
        if free and not any(name in given for name in _SPELLINGS):
            given["compressor"] = default_compressor
    if isinstance(given.get("shuffle"), bool):  # h5py's; a compressor of Zarr has its own
        warnings.warn("ignoring keyword argument 'shuffle'", UserWarning, stacklevel=3)
        del given["shuffle"]
    if given.get("chunks") is True:
        del given["chunks"]
    if given.get("storage_transformers") == ():
        del given["storage_transformers"]
    return given


def opened(store: StoreLike) -> StoreLike:
    """The store that is meant: a path that ends with ".n5" is one of N5."""
    if isinstance(store, str | os.PathLike):
        path = os.fspath(store)
        if path.endswith(".n5") and "://" not in path:
            return N5Store(path)
    return store


def clear_above(store: StoreLike, path: str | None) -> None:
    """Delete the array that a new node would be below; zarr-python 2 does so to overwrite."""
    backing = as_store(store)
    names = (path or "").strip("/").split("/")
    for depth in range(len(names)):
        above = "/".join(names[:depth])
        if is_array(backing, above):
            backing.rmdir(above)


def is_array(store: StoreLike, path: str | None) -> bool:
    """Whether there is an array at a path."""
    try:
        return isinstance(omnizarr.open(as_store(store), "r", path=path), omnizarr.Array)
    except omnizarr.errors.NodeNotFoundError:
        return False
