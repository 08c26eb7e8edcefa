"""The base classes of buffers."""

from omnizarr.compat.zarr3.core.buffer.core import (
    ArrayLike,
    Buffer,
    BufferPrototype,
    NDArrayLike,
    NDBuffer,
)

__all__ = ["ArrayLike", "Buffer", "BufferPrototype", "NDArrayLike", "NDBuffer"]
