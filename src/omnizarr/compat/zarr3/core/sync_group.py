"""Functions on groups that libraries import."""

from __future__ import annotations

from typing import Any

from omnizarr.compat.zarr3._nodes import Array, Group
from omnizarr.compat.zarr3.api import synchronous
from omnizarr.compat.zarr3.api.synchronous import create_hierarchy

__all__ = ["create_hierarchy", "get_node"]


def get_node(store: Any, path: str, zarr_format: Any) -> Array | Group:
    """Return the array or group at a path."""
    found: Any = synchronous.open(store, mode="r+", path=path, zarr_format=zarr_format)
    return found  # type: ignore[no-any-return]
