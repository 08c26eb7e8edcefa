"""The stores of zarr-python 3, over omnizarr's."""

from omnizarr.compat.zarr3.storage._common import StoreLike, StorePath
from omnizarr.compat.zarr3.storage._memory import GpuMemoryStore, ManagedMemoryStore, MemoryStore
from omnizarr.compat.zarr3.storage._stores import FsspecStore, LocalStore, ObjectStore, ZipStore
from omnizarr.compat.zarr3.storage._wrapper import LoggingStore, WrapperStore

__all__ = [
    "FsspecStore",
    "GpuMemoryStore",
    "LocalStore",
    "LoggingStore",
    "ManagedMemoryStore",
    "MemoryStore",
    "ObjectStore",
    "StoreLike",
    "StorePath",
    "WrapperStore",
    "ZipStore",
]
