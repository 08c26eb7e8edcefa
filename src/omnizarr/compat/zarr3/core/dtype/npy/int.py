"""Integers."""

from omnizarr.compat.zarr3.core.dtype.npy.numbers import (
    BaseInt,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)

__all__ = ["BaseInt", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"]
