"""zarr-python 2's defaults where they differ from omnizarr's, as keywords of omnizarr's functions.

New nodes are of format 2 unless the store or the caller says otherwise, chunks are compressed with
Blosc, and chunks that hold nothing but the fill value are stored too. An existing node is opened
whatever its format.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from numcodecs import Blosc

from omnizarr.errors import NodeNotFoundError

P = ParamSpec("P")
R = TypeVar("R")

FORMAT = 2
"""Format of new nodes."""
default_compressor = Blosc()
_COMPRESSORS = ("compressor", "compressors", "compression", "codecs", "cname", "clevel", "shuffle")


def translated(arguments: dict[str, Any], store: object = None) -> dict[str, Any]:
    """The keywords for a new node: `zarr_version` and the default of the format in one."""
    given = {**arguments}
    version = given.pop("zarr_version", None)
    chosen = given.get("zarr_format") or version or getattr(store, "preferred_format", None)
    given["zarr_format"] = chosen or FORMAT
    return given


def array_arguments(arguments: dict[str, Any], store: object = None) -> dict[str, Any]:
    """The same for a new array, with its compressor."""
    given = settings(translated(arguments, store))
    compressor = given.get("compressor", "default")
    named = any(name in given for name in _COMPRESSORS[1:])
    if isinstance(compressor, str) and compressor == "default":
        given.pop("compressor", None)
        if not named and getattr(store, "preferred_format", None) is None:
            given["compressor"] = default_compressor
    if given.get("chunks") is True:
        del given["chunks"]
    if not given.get("storage_transformers", True):
        del given["storage_transformers"]
    return given


def settings(arguments: dict[str, Any]) -> dict[str, Any]:
    """The keywords of an open node."""
    given = {**arguments}
    if given.get("write_empty_chunks") is None:
        given["write_empty_chunks"] = True
    return given


def creates(function: Callable[P, R], *, position: int | None = None) -> Callable[P, R]:
    """`function`, which creates an array, with the defaults of zarr-python 2. `position` is that of
    a store among its arguments; else it is the keyword `store`."""

    @wraps(function)
    def create(*args: P.args, **kwargs: P.kwargs) -> R:
        given: dict[str, Any] = kwargs
        store = given.get("store")
        if position is not None and len(args) > position:
            store = args[position]
        return function(*args, **array_arguments(given, store))  # type: ignore[arg-type]

    return create


def opens(function: Callable[..., R], new: Callable[..., dict[str, Any]]) -> Callable[..., R]:
    """`function`, which opens a node or creates it, with the defaults of zarr-python 2. `new` gives
    the keywords of a new node."""

    @wraps(function)
    def open_or_create(store: Any = None, mode: str = "a", **arguments: Any) -> R:
        version = arguments.pop("zarr_version", None)
        if version is not None:
            arguments["zarr_format"] = version
        if mode in ("r", "r+"):
            return function(store, mode, **settings(arguments))
        if mode == "a" and store is not None:
            try:
                return function(store, "r+", **settings(arguments))
            except NodeNotFoundError:
                pass
        return function(store, mode, **new(arguments, store))

    return open_or_create
