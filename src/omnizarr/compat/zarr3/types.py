"""Names of types for annotations: `zarr.types`."""

from __future__ import annotations

from typing import TypeAlias

from omnizarr.compat.zarr3._asynchronous import AsyncArray
from omnizarr.compat.zarr3._nodes import Array
from omnizarr.compat.zarr3.core.common import JSON, ZarrFormat
from omnizarr.compat.zarr3.core.dtype.common import DTypeConfig_V2, DTypeJSON

__all__ = [
    "JSON",
    "AnyArray",
    "AnyAsyncArray",
    "ArrayV2",
    "ArrayV3",
    "AsyncArrayV2",
    "AsyncArrayV3",
    "DTypeConfig_V2",
    "DTypeJSON",
    "ZarrFormat",
]

AnyArray: TypeAlias = Array
ArrayV2: TypeAlias = Array
ArrayV3: TypeAlias = Array
AnyAsyncArray: TypeAlias = AsyncArray
AsyncArrayV2: TypeAlias = AsyncArray
AsyncArrayV3: TypeAlias = AsyncArray
