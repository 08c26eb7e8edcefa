"""Floats."""

from omnizarr.compat.zarr3.core.dtype.npy.numbers import (
    BaseFloat,
    Float16,
    Float32,
    Float64,
)

__all__ = ["BaseFloat", "Float16", "Float32", "Float64"]
