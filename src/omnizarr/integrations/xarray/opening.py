"""Which group a path, URL, store or group means to xarray, and whether it is consolidated.

This module knows xarray's modes and `consolidated`. It must not know variables.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import omnizarr
from omnizarr import Array, Group
from omnizarr.errors import MetadataError, NodeNotFoundError
from omnizarr.stores import StoreLike, as_store

Target: TypeAlias = StoreLike | Group | Array
"""What can be opened: whatever `omnizarr.open` takes, or a node that is open."""
Mode: TypeAlias = Literal["r", "r+", "a", "a-", "w", "w-"]


def open_node(
    target: Target,
    mode: Mode = "r",
    group: str | None = None,
    *,
    consolidated: bool | None = None,
    storage_options: Mapping[str, object] | None = None,
    zarr_format: int | str | None = None,
) -> Group | Array:
    """Open the group, or where only an array is stored, that.

    consolidated: True requires consolidated metadata, None takes them where there are some. They
    are looked for at the root of the store, where xarray writes them.
    """
    path = (group or "").strip("/")
    if isinstance(target, Group | Array):
        if mode in ("r", "r+"):
            target.refresh()  # another handle may have written since
            return target[path] if isinstance(target, Group) and path else target
        path = "/".join(filter(None, (target.path, path)))
        target = target.store
    # "a-" is xarray's own: open as with "a", and add only what has the dimension that grows.
    plain: Any = "a" if mode == "a-" else mode
    store = as_store(target, mode=plain, storage_options=storage_options)
    choices: dict[str, Any] = {} if zarr_format is None else {"zarr_format": zarr_format}
    if consolidated is not False and mode in ("r", "r+"):
        try:
            root = omnizarr.open_group(store, plain, use_consolidated=True, **choices)
            return root[path] if path else root
        except (MetadataError, NodeNotFoundError, omnizarr.errors.NodeExistsError):
            if consolidated:
                raise
    if mode in ("r", "r+"):
        return omnizarr.open(store, plain, path=path, use_consolidated=None, **choices)
    return omnizarr.open_group(store, plain, path=path, **choices)


def is_ours_to_close(target: object) -> bool:
    """Whether opening it opened a store: one that was given stays open."""
    return isinstance(target, str | os.PathLike) or target is None


def consolidates(target: object) -> bool:
    """Whether a store may hold consolidated metadata: those with versions of their own do not."""
    return bool(getattr(target, "supports_consolidated_metadata", True))
