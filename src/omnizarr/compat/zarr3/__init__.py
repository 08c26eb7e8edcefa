"""The names of zarr-python 3, over omnizarr."""

from omnizarr import Array, Group
from omnizarr.compat.zarr3 import api, buffer, codecs, dtype, errors, registry, storage  # noqa: F401  # noqa: F401
from omnizarr.compat.zarr3._asynchronous import AsyncArray, AsyncGroup
from omnizarr.compat.zarr3._debug import print_debug_info, set_format, set_log_level  # noqa: F401
from omnizarr.compat.zarr3.api.synchronous import (
    array,
    consolidate_metadata,
    copy,
    copy_all,
    copy_store,
    create,
    create_array,
    create_group,
    create_hierarchy,
    empty,
    empty_like,
    from_array,
    full,
    full_like,
    group,
    load,
    ones,
    ones_like,
    open,  # noqa: A004 - the name that every user of Zarr knows
    open_array,
    open_consolidated,
    open_group,
    open_like,
    save,
    save_array,
    save_group,
    tree,
    zeros,
    zeros_like,
)
from omnizarr.compat.zarr3.core.config import config

__version__ = "3.4.2"

__all__ = [
    "Array",
    "AsyncArray",
    "AsyncGroup",
    "Group",
    "__version__",
    "array",
    "config",
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
    "print_debug_info",
    "save",
    "save_array",
    "save_group",
    "tree",
    "zeros",
    "zeros_like",
]
