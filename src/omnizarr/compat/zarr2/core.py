"""zarr-python 2's `zarr.core`: the array."""

from omnizarr.compat.zarr2._nodes import Array

__all__ = ["Array"]
