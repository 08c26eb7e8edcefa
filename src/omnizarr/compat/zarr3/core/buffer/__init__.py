"""Buffers: the bytes of a value, and the elements of a chunk, as stores and codecs pass them."""

from omnizarr.compat.zarr3.core.buffer.core import (
    ArrayLike,
    Buffer,
    BufferPrototype,
    NDArrayLike,
    NDArrayLikeOrScalar,
    NDBuffer,
    default_buffer_prototype,
)
from omnizarr.compat.zarr3.core.buffer.cpu import numpy_buffer_prototype

__all__ = [
    "ArrayLike",
    "Buffer",
    "BufferPrototype",
    "NDArrayLike",
    "NDArrayLikeOrScalar",
    "NDBuffer",
    "default_buffer_prototype",
    "numpy_buffer_prototype",
]
