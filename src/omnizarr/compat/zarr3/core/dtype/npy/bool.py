"""Truth values."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.compat.zarr3.core.dtype.npy.numbers import _Number

__all__ = ["Bool"]


class Bool(_Number["np.dtypes.BoolDType", np.bool_]):
    """Truth values."""

    dtype_cls = np.dtypes.BoolDType

    def to_native_dtype(self) -> Any:
        return np.dtype(bool)

    def _check_scalar(self, data: object) -> bool:
        return True

    def _cast_scalar_unchecked(self, data: Any) -> Any:
        return np.bool_(data)

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        return np.bool_(data)

    def to_json_scalar(self, data: object, *, zarr_format: Any) -> bool:
        return bool(data)
