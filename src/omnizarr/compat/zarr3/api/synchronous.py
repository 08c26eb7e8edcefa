"""The functions of zarr-python 3."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import omnizarr
from omnizarr.compat.zarr3._calls import translated

__all__ = [
    "array",
    "consolidate_metadata",
    "copy",
    "copy_all",
    "copy_store",
    "create",
    "create_array",
    "create_group",
    "create_hierarchy",
    "empty",
    "empty_like",
    "from_array",
    "full",
    "full_like",
    "group",
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
    "tree",
    "zeros",
    "zeros_like",
]

P = ParamSpec("P")
R = TypeVar("R")


def _like(function: Callable[P, R]) -> Callable[P, R]:
    """A new array like another has its format, too."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        source = args[0] if args else kwargs.get("a")
        if isinstance(source, omnizarr.Array) and kwargs.get("zarr_format") is None:
            kwargs["zarr_format"] = source.zarr_format
        return function(*args, **kwargs)

    return translated(call)


def _empty_like(*args: Any, **kwargs: Any) -> omnizarr.Array:
    """Create an array like another, with its fill value."""
    if args and isinstance(args[0], omnizarr.Array):
        kwargs.setdefault("fill_value", args[0].fill_value)
    return omnizarr.empty_like(*args, **kwargs)


def _full_like(*args: Any, **kwargs: Any) -> omnizarr.Array:
    """Create an array like another, with its fill value unless one is given."""
    if args and isinstance(args[0], omnizarr.Array):
        kwargs.setdefault("fill_value", args[0].fill_value)
    return omnizarr.full_like(*args, **kwargs)


array = translated(omnizarr.array)
consolidate_metadata = translated(omnizarr.consolidate_metadata)
copy = omnizarr.copy
copy_all = omnizarr.copy_all
copy_store = omnizarr.copy_store
create = translated(omnizarr.create)
create_array = translated(omnizarr.create_array, path="name")
create_group = translated(omnizarr.create_group)
create_hierarchy = translated(omnizarr.create_hierarchy)
empty = translated(omnizarr.empty)
empty_like = _like(wraps(omnizarr.empty_like)(_empty_like))
from_array = translated(omnizarr.from_array, path="name")
full = translated(omnizarr.full)
full_like = _like(wraps(omnizarr.full_like)(_full_like))
group = translated(omnizarr.group)
load = translated(omnizarr.load)
ones = translated(omnizarr.ones)
ones_like = _like(omnizarr.ones_like)
open = translated(omnizarr.open)  # noqa: A001 - zarr-python's name
open_array = translated(omnizarr.open_array)
open_consolidated = translated(omnizarr.open_consolidated)
open_group = translated(omnizarr.open_group)
open_like = omnizarr.open_like
save = translated(omnizarr.save)
save_array = translated(omnizarr.save_array)
save_group = translated(omnizarr.save_group)
tree = omnizarr.tree
zeros = translated(omnizarr.zeros)
zeros_like = _like(omnizarr.zeros_like)
