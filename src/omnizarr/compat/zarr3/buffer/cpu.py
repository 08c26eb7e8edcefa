"""Buffers in ordinary memory."""

from omnizarr.compat.zarr3.core.buffer.cpu import (
    Buffer,
    NDBuffer,
    as_numpy_array_wrapper,
    buffer_prototype,
    numpy_buffer_prototype,
)

__all__ = [
    "Buffer",
    "NDBuffer",
    "as_numpy_array_wrapper",
    "buffer_prototype",
    "numpy_buffer_prototype",
]
