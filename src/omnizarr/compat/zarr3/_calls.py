"""omnizarr's functions with zarr-python's reading of `store`, `path` and `mode`.

This module knows which arguments say where a node is. It must not know what the functions do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from omnizarr.compat.zarr3._creation import Prepare
from omnizarr.compat.zarr3._grids import warn_of_outer_codecs
from omnizarr.compat.zarr3._nodes import made
from omnizarr.compat.zarr3.abc.store import Store
from omnizarr.compat.zarr3.storage._base import served
from omnizarr.compat.zarr3.storage._common import StorePath, read_only_view, store_of
from omnizarr.compat.zarr3.storage._utils import join_paths, normalize_path

P = ParamSpec("P")
R = TypeVar("R")


def translated(
    function: Callable[P, R], *, path: str = "path", prepare: Prepare | None = None
) -> Callable[P, R]:
    """The function, for stores of `zarr.storage`; `path` names its argument for the path, and
    `prepare` changes the other arguments."""
    names = [*inspect.signature(function).parameters]
    position = names.index("store") if "store" in names else None

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given: dict[str, Any] = dict(kwargs)
        values: list[Any] = list(args)
        if prepare is not None:
            given |= dict(zip(names, values, strict=False))
            values = []
            prepare(given)
        at = position if position is not None and position < len(values) else None
        store_like = values[at] if at is not None else given.pop("store", None)
        mode = given.get("mode")
        if mode is None and "mode" in names and names.index("mode") < len(values):
            mode = values[names.index("mode")]
        store, begin = store_of(
            store_like, mode=mode, storage_options=given.pop("storage_options", None)
        )
        store = opened(store, mode)
        inner = served(store)
        if at is not None:
            values[at] = inner
        else:
            given["store"] = inner
        where = join_paths(begin, normalize_path(given.get(path)))
        if begin or given.get(path) is not None:
            given[path] = where
        found = made(function(*values, **given))
        warn_of_outer_codecs(found)
        return cast(R, found)

    return call


def opened(store: Store, mode: str | None) -> Store:
    """The store for a mode, as `StorePath.open` gives it."""
    if mode is None:
        return store
    if store.read_only and mode != "r":
        raise ValueError(
            f"Store is read-only but mode is {mode!r}. Create a writable store or use 'r' mode."
        )
    return read_only_view(store) if mode == "r" and not store.read_only else store


def location(store_like: Any) -> StorePath:
    """The store and the path that an object means."""
    return StorePath(*store_of(store_like))
