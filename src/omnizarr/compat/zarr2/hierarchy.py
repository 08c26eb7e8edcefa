"""zarr-python 2's `zarr.hierarchy`: groups."""

from __future__ import annotations

from typing import Any

import omnizarr
from omnizarr.compat.zarr2._defaults import settings, translated
from omnizarr.compat.zarr2._nodes import Group
from omnizarr.compat.zarr2._stores import MemoryStoreV3
from omnizarr.compat.zarr2._wrapping import opens
from omnizarr.stores import StoreLike

__all__ = ["Group", "MemoryStoreV3", "group", "open_group"]


def _group_arguments(arguments: dict[str, Any], store: object = None) -> dict[str, Any]:
    return settings(translated(arguments, store))


open_group = opens(omnizarr.open_group, _group_arguments)


def group(store: StoreLike = None, overwrite: bool = False, **arguments: Any) -> Group:
    """Open a group, and create it if there is none.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store; None is a new store in memory.
    overwrite
        Replace what is there.
    **arguments
        All keywords of `omnizarr.group`.

    Returns
    -------
    Group
        The group.

    Examples
    --------
    >>> from omnizarr.compat import zarr2 as zarr
    >>> zarr.group().zarr_format
    2
    """
    found: Group = open_group(store, "w" if overwrite else "a", **arguments)
    return found
