"""zarr-python 2's defaults where they differ from omnizarr's, as keywords of omnizarr's functions.

New nodes are of format 2 unless the store or the caller says otherwise, chunks are compressed with
Blosc, chunks that hold nothing but the fill value are stored too, and text reads as objects. An
existing node is opened whatever its format. Pickled objects are read where the process has allowed
numcodecs to do so (`numcodecs.pickles.ALLOW_UNSAFE_PICKLE_DECODE`), which zarr-python 2 needs too.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numcodecs import Blosc, pickles

import omnizarr
from omnizarr.stores import StoreLike, as_store

FORMAT = 2
"""Format of new nodes."""
default_compressor = Blosc()
_SPELLINGS = ("compressors", "compression", "compression_opts", "codecs", "cname", "clevel")


def translated(arguments: dict[str, Any], store: object = None) -> dict[str, Any]:
    """The keywords for a new node: `zarr_version` and the default of the format in one."""
    given = {**arguments}
    version = given.pop("zarr_version", None)
    chosen = given.get("zarr_format") or getattr(store, "preferred_format", None) or version
    given["zarr_format"] = chosen or FORMAT
    return given


def settings(arguments: dict[str, Any]) -> dict[str, Any]:
    """The keywords of an open node."""
    given = {**arguments}
    trusted = getattr(pickles, "ALLOW_UNSAFE_PICKLE_DECODE", False)  # numcodecs from 0.16.6
    defaults = {"write_empty_chunks": True, "text": "object", "allow_pickle": trusted}
    for name, value in defaults.items():
        if given.get(name) is None:
            given[name] = value
    return given


def array_arguments(arguments: dict[str, Any], store: object = None) -> dict[str, Any]:
    """The keywords of a new array."""
    given = settings(translated(arguments, store))
    compressor = given.get("compressor", "default")
    preferred = getattr(store, "preferred_format", None)
    if given.get("shape") == ():  # one value is not compressed
        compressor = given["compressor"] = None
    if isinstance(compressor, str) and compressor == "none":
        compressor = given["compressor"] = None
    if isinstance(compressor, str) and compressor == "default":
        given.pop("compressor", None)
        if preferred is None and not any(name in given for name in _SPELLINGS):
            given["compressor"] = default_compressor  # else the format chooses
    if isinstance(given.get("shuffle"), bool):  # h5py's; a compressor of Zarr has its own
        warnings.warn("ignoring keyword argument 'shuffle'", UserWarning, stacklevel=3)
        del given["shuffle"]
    if given.get("compressor") is not None:
        for name in ("compression", "compression_opts"):
            if given.pop(name, None) is not None:
                warnings.warn(f"compressor= replaces {name}=", UserWarning, stacklevel=3)
    _check_type(given, preferred)
    for name in ("shape", "chunks"):
        if name in given:
            given[name] = _whole(name, given[name])
    wanted, has = given.get("dimension_separator"), getattr(store, "dimension_separator", None)
    if wanted is not None and has not in (None, wanted):
        raise ValueError(f"dimension_separator={wanted!r}: the store has {has!r}")
    if given.get("chunks") is True:
        del given["chunks"]
    if given.get("storage_transformers") == ():
        del given["storage_transformers"]
    return given


def _check_type(given: dict[str, Any], preferred: int | str | None) -> None:
    """Refuse, or warn of, what zarr-python 2 does."""
    try:
        dtype: np.dtype[Any] = np.dtype(given.get("dtype"))
    except TypeError:  # "array:<i4" and others that NumPy does not know
        return
    if dtype.kind == "U" and isinstance(given.get("fill_value"), bytes):
        raise ValueError(f"fill_value={given['fill_value']!r}: an array of text takes a str")
    if dtype.kind in "mM" and np.datetime_data(dtype)[0] == "generic":
        raise ValueError(f"dtype={dtype}: times need a unit, as in 'M8[s]'")
    if dtype.names is not None and preferred is not None:
        raise TypeError(f"the store holds {preferred} alone, which has no records: {dtype}")
    if dtype.hasobject and given.get("filters") and given.get("object_codec") is None:
        warnings.warn("an array of objects needs object_codec=", FutureWarning, stacklevel=4)


def _whole(name: str, lengths: Any) -> Any:
    """Lengths that are given as floats, as integers."""
    if not isinstance(lengths, tuple | list) or not any(isinstance(n, float) for n in lengths):
        return lengths
    warnings.warn(f"{name}={lengths}: lengths are integers", UserWarning, stacklevel=4)
    return tuple(int(n) if isinstance(n, float) else n for n in lengths)


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
