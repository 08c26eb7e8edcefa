"""Arrays, under the names that libraries import."""

from omnizarr import Array
from omnizarr.aio import AsyncArray

__all__ = ["Array", "AsyncArray"]
