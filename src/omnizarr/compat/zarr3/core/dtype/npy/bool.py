"""Truth values."""

from omnizarr.compat.zarr3.core.dtype.npy.numbers import (
    Bool,
)

__all__ = ["Bool"]
