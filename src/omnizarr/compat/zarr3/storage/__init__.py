"""The stores of zarr-python 3, over omnizarr's."""

import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

from omnizarr.compat.zarr3.storage._common import StoreLike, StorePath
from omnizarr.compat.zarr3.storage._memory import GpuMemoryStore, ManagedMemoryStore, MemoryStore
from omnizarr.compat.zarr3.storage._stores import FsspecStore, LocalStore, ObjectStore, ZipStore
from omnizarr.compat.zarr3.storage._wrapper import LoggingStore, WrapperStore
from omnizarr.errors import ZarrDeprecationWarning

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


class _Module(ModuleType):
    """This module, which says that setting zarr-python 2's default compressor has no effect."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "default_compressor":
            warnings.warn(
                "setting zarr.storage.default_compressor is deprecated and has no effect; give"
                " compressors= to the function that creates the array",
                ZarrDeprecationWarning,
                stacklevel=2,
            )
        else:
            super().__setattr__(name, value)

    def __reduce__(self) -> Any:
        return import_module, (self.__name__,)  # cloudpickle knows plain modules alone


sys.modules[__name__].__class__ = _Module
