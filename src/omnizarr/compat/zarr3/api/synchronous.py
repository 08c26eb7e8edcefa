"""The functions of zarr-python 3."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, TypeVar

import omnizarr
from omnizarr.compat.zarr3._calls import location, translated
from omnizarr.compat.zarr3._calls import opened as opened_for
from omnizarr.compat.zarr3._creation import copied, created, legacy, like, opened
from omnizarr.compat.zarr3._nodes import described, made
from omnizarr.compat.zarr3.core.common import for_format
from omnizarr.errors import (
    ContainsGroupError,
    NodeNotFoundError,
    ZarrDeprecationWarning,
    ZarrUserWarning,
)

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

R = TypeVar("R")


def _empty_like(*args: Any, **kwargs: Any) -> omnizarr.Array:
    """Create an array like another, with its fill value."""
    source = args[0] if args else kwargs.get("a")
    if isinstance(source, omnizarr.Array):
        kwargs.setdefault("fill_value", source.fill_value)
    return omnizarr.empty_like(*args, **kwargs)


def _full_like(*args: Any, **kwargs: Any) -> omnizarr.Array:
    """Create an array like another, with its fill value unless one is given."""
    source = args[0] if args else kwargs.get("a")
    if isinstance(source, omnizarr.Array):
        kwargs.setdefault("fill_value", source.fill_value)
    return omnizarr.full_like(*args, **kwargs)


def _open(*args: Any, **kwargs: Any) -> omnizarr.Array | omnizarr.Group:
    """Open an array or a group; `config` is for arrays alone."""
    if kwargs.get("config") is not None and kwargs.get("shape") is None:
        try:
            found = omnizarr.open(kwargs.get("store"), "r", path=kwargs.get("path"))
        except NodeNotFoundError:
            found = None
        if not isinstance(found, omnizarr.Array):
            raise TypeError(
                "config is for arrays alone, and this call of open() resolves to a group"
            )
    try:
        return omnizarr.open(*args, **kwargs)
    except ContainsGroupError:  # a shape was given, which `open_group` refuses
        return omnizarr.open_group(*args, **kwargs)


def _saving(function: Callable[..., R], first: int) -> Callable[..., R]:
    """The function, which needs at least one array; `first` is the position of the first."""
    places = {"store", "path", "zarr_format", "zarr_version", "storage_options"}

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> R:
        if len(args) <= first and not set(kwargs) - places:
            raise ValueError("at least one array must be provided")
        for name, value in kwargs.items():
            if name not in places and not hasattr(value, "__array__"):
                raise TypeError(
                    f"Keyword argument {name!r} must be a numpy or other NDArrayLike array, found"
                    f" {type(value).__name__}"
                )
        place = location(args[0] if args else kwargs.get("store"))
        opened_for(place.store, "w")
        return translated(function)(*args, **kwargs)

    return call


def _consolidate(*args: Any, **kwargs: Any) -> omnizarr.Group:
    store = location(args[0] if args else kwargs.get("store")).store
    if not store.supports_consolidated_metadata:
        raise TypeError(f"The Zarr Store in use ({store}) doesn't support consolidated metadata")
    found = translated(omnizarr.consolidate_metadata)(*args, **kwargs)
    for_format(found.zarr_format, lambda: None, _warn_of_consolidated)
    return found


def _open_consolidated(*args: Any, use_consolidated: Any = True, **kwargs: Any) -> omnizarr.Group:
    if use_consolidated is not True:
        raise TypeError(
            f"'use_consolidated' must be True in 'open_consolidated', found {use_consolidated!r}"
        )
    return omnizarr.open_consolidated(*args, **kwargs)


def _warn_of_consolidated() -> None:
    warnings.warn(
        "Consolidated metadata is currently not part in the Zarr format 3 specification. It may not"
        " be supported by other zarr implementations and may change in the future.",
        ZarrUserWarning,
        stacklevel=4,
    )


def _open_like(a: Any, path: Any, **kwargs: Any) -> omnizarr.Array:
    """Open an array, or create it like another."""
    if kwargs.get("store") is None:
        found: omnizarr.Array = made(omnizarr.open_like(a, path, **kwargs))
    else:
        kwargs.setdefault("mode", "a")
        found = translated(omnizarr.open_like)(a=a, path=path, **kwargs)
    return found


def _create_hierarchy(*, nodes: Mapping[str, Any], **kwargs: Any) -> Iterator[tuple[str, Any]]:
    formats = (getattr(node, "zarr_format", None) for node in nodes.values())
    kwargs.setdefault("zarr_format", next(formats, None))
    created = translated(omnizarr.create_hierarchy)(nodes=described(nodes), **kwargs)
    return ((path, made(node)) for path, node in created)


def _tree(grp: Any, *args: Any, **kwargs: Any) -> Any:
    warnings.warn(
        "zarr.tree is deprecated. Use Group.tree instead.", ZarrDeprecationWarning, stacklevel=2
    )
    return grp.tree(*args, **kwargs)


array = translated(omnizarr.array, prepare=legacy)
consolidate_metadata = wraps(omnizarr.consolidate_metadata)(_consolidate)
copy = omnizarr.copy
copy_all = omnizarr.copy_all
copy_store = omnizarr.copy_store
create = translated(omnizarr.create, prepare=legacy)
create_array = translated(omnizarr.create_array, path="name", prepare=created)
create_group = translated(omnizarr.create_group)
create_hierarchy = wraps(omnizarr.create_hierarchy)(_create_hierarchy)
empty = translated(omnizarr.empty, prepare=legacy)
empty_like = translated(wraps(omnizarr.empty_like)(_empty_like), prepare=like)
from_array = translated(omnizarr.from_array, path="name", prepare=copied)
full = translated(omnizarr.full, prepare=legacy)
full_like = translated(wraps(omnizarr.full_like)(_full_like), prepare=like)
group = translated(omnizarr.group)
load = translated(omnizarr.load)
ones = translated(omnizarr.ones, prepare=legacy)
ones_like = translated(omnizarr.ones_like, prepare=like)
open = translated(wraps(omnizarr.open)(_open), prepare=opened)  # noqa: A001 - zarr-python's name
open_array = translated(omnizarr.open_array, prepare=opened)
open_consolidated = translated(wraps(omnizarr.open_consolidated)(_open_consolidated))
open_group = translated(omnizarr.open_group)
open_like = wraps(omnizarr.open_like)(_open_like)
save = _saving(omnizarr.save, 1)
save_array = translated(omnizarr.save_array)
save_group = _saving(omnizarr.save_group, 1)
tree = wraps(omnizarr.tree)(_tree)
zeros = translated(omnizarr.zeros, prepare=legacy)
zeros_like = translated(omnizarr.zeros_like, prepare=like)
