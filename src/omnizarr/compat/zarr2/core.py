"""zarr-python 2's `zarr.core`: the array."""

from omnizarr import Array

__all__ = ["Array"]
