"""zarr-python 2's `zarr.types`: names for annotations."""

from __future__ import annotations

from typing import Any, Literal

__all__ = ["DIMENSION_SEPARATOR", "MEMORY_ORDER", "ZARR_VERSION", "PathLike"]

ZARR_VERSION = Literal[2, 3]
DIMENSION_SEPARATOR = Literal[".", "/"]
MEMORY_ORDER = Literal["C", "F"]
PathLike = str | bytes | None
MetaArray = Any
