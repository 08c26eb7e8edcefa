"""Integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from omnizarr.compat.zarr3.core.dtype.npy import common as of
from omnizarr.compat.zarr3.core.dtype.npy.numbers import _Byte, _Number, _Wide
from omnizarr.compat.zarr3.core.dtype.wrapper import D, S

__all__ = ["BaseInt", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"]


@dataclass(frozen=True, kw_only=True)
class BaseInt(_Number[D, S], Generic[D, S]):
    """Integers."""

    def _check_scalar(self, data: object) -> bool:
        return isinstance(data, of.IntLike)

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        if of.check_json_int(data):
            return self._cast_scalar_unchecked(data)
        if of.check_json_intish_float(data) or of.check_json_intish_str(data):
            return self._cast_scalar_unchecked(int(data))
        raise TypeError(f"Invalid type: {data}. Expected an integer.")

    def to_json_scalar(self, data: object, *, zarr_format: Any) -> int:
        return int(self.cast_scalar(data))


class Int8(_Byte, BaseInt["np.dtypes.Int8DType", np.int8]):
    """Signed integers of 8 bits."""

    dtype_cls = np.dtypes.Int8DType


class UInt8(_Byte, BaseInt["np.dtypes.UInt8DType", np.uint8]):
    """Unsigned integers of 8 bits."""

    dtype_cls = np.dtypes.UInt8DType


class Int16(_Wide, BaseInt["np.dtypes.Int16DType", np.int16]):
    """Signed integers of 16 bits."""

    dtype_cls = np.dtypes.Int16DType


class UInt16(_Wide, BaseInt["np.dtypes.UInt16DType", np.uint16]):
    """Unsigned integers of 16 bits."""

    dtype_cls = np.dtypes.UInt16DType


class Int32(_Wide, BaseInt["np.dtypes.Int32DType", np.int32]):
    """Signed integers of 32 bits."""

    dtype_cls = np.dtypes.Int32DType


class UInt32(_Wide, BaseInt["np.dtypes.UInt32DType", np.uint32]):
    """Unsigned integers of 32 bits."""

    dtype_cls = np.dtypes.UInt32DType


class Int64(_Wide, BaseInt["np.dtypes.Int64DType", np.int64]):
    """Signed integers of 64 bits."""

    dtype_cls = np.dtypes.Int64DType


class UInt64(_Wide, BaseInt["np.dtypes.UInt64DType", np.uint64]):
    """Unsigned integers of 64 bits."""

    dtype_cls = np.dtypes.UInt64DType
