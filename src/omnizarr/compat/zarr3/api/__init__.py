"""zarr-python's functions: `synchronous`, and awaited ones in `asynchronous`."""

from omnizarr.compat.zarr3.api import synchronous

__all__ = ["synchronous"]
