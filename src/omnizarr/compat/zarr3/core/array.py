"""Arrays, under the names that libraries import."""

from omnizarr import Array
from omnizarr.compat.zarr3._asynchronous import AsyncArray

__all__ = ["Array", "AsyncArray"]
