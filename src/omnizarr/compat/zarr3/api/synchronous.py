"""The functions of zarr-python 3."""

from __future__ import annotations

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
empty_like = translated(omnizarr.empty_like)
from_array = translated(omnizarr.from_array, path="name")
full = translated(omnizarr.full)
full_like = translated(omnizarr.full_like)
group = translated(omnizarr.group)
load = translated(omnizarr.load)
ones = translated(omnizarr.ones)
ones_like = translated(omnizarr.ones_like)
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
zeros_like = translated(omnizarr.zeros_like)
