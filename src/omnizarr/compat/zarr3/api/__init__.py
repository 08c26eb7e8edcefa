"""zarr-python's functions: `synchronous`, and awaited ones in `asynchronous`."""

from omnizarr.compat.zarr3._submodules import imports
from omnizarr.compat.zarr3.api import synchronous

__getattr__ = imports(__name__)
__all__ = ["synchronous"]
