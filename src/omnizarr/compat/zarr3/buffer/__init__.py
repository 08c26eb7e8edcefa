"""Buffers in ordinary memory."""

from omnizarr.compat.zarr3.buffer import cpu
from omnizarr.compat.zarr3.core.buffer import default_buffer_prototype

__all__ = ["cpu", "default_buffer_prototype"]
