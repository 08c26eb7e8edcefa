"""omnizarr's functions as functions of zarr-python 2: other defaults, other classes.

This module knows how functions are called. `_defaults` knows the defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from omnizarr.compat.zarr2._defaults import array_arguments, clear_above, settings
from omnizarr.compat.zarr2._nodes import made
from omnizarr.compat.zarr2._stores import opened
from omnizarr.errors import NodeNotFoundError
from omnizarr.stores import Store, StoreLike

New = Callable[[dict[str, Any], object], dict[str, Any]]


def creates(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which creates an array in `store=`, with the defaults of zarr-python 2."""

    @wraps(function)
    def create(*args: Any, store: StoreLike = None, **arguments: Any) -> Any:
        store = opened(store)
        if arguments.get("overwrite"):
            clear_above(store, arguments.get("path"))
        if args and isinstance(args[0], tuple) and not args[0]:  # the shape of one value
            arguments["shape"], *rest = args
            args = tuple(rest)
        return made(function(*args, store=store, **array_arguments(arguments, store)))

    return create


def opens(function: Callable[..., Any], new: New) -> Callable[..., Any]:
    """`function`, which opens a node or creates it, with the defaults of zarr-python 2. `new` gives
    the keywords of a new node."""

    @wraps(function)
    def open_or_create(store: StoreLike = None, mode: str = "a", **arguments: Any) -> Any:
        options = arguments.get("storage_options")
        store = opened(store, mode, options)
        if isinstance(store, Store):
            arguments.pop("storage_options", None)  # it is open
        version = arguments.pop("zarr_version", None)
        if version is not None and getattr(store, "preferred_format", None) is None:
            arguments["zarr_format"] = version
        if mode in ("r", "r+"):
            return made(function(store, mode, **settings(arguments)))
        if mode == "a" and store is not None:
            try:
                return made(function(store, "r+", **settings(arguments)))
            except NodeNotFoundError:
                pass
        if mode == "w":
            clear_above(store, arguments.get("path"))
        return made(function(store, mode, **new(arguments, store)))

    return open_or_create
