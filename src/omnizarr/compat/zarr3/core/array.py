"""Arrays, under the names that libraries import."""

from typing import Any, TypeAlias

from omnizarr.compat.zarr3._asynchronous import AsyncArray
from omnizarr.compat.zarr3._nodes import Array

__all__ = ["Array", "AsyncArray"]

CompressorsLike: TypeAlias = Any
FiltersLike: TypeAlias = Any
SerializerLike: TypeAlias = Any
