"""Floating-point numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from omnizarr.compat.zarr3.core.common import for_format
from omnizarr.compat.zarr3.core.dtype.npy import common as of
from omnizarr.compat.zarr3.core.dtype.npy.numbers import _Number, _Wide
from omnizarr.compat.zarr3.core.dtype.wrapper import D, S

__all__ = ["BaseFloat", "Float16", "Float32", "Float64"]


@dataclass(frozen=True, kw_only=True)
class BaseFloat(_Wide, _Number[D, S], Generic[D, S]):
    """Floating-point numbers."""

    def _check_scalar(self, data: object) -> bool:
        if isinstance(data, str):
            try:
                self._cast_scalar_unchecked(data)
            except (ValueError, OverflowError):
                return False
            return True
        return isinstance(data, of.FloatLike)

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        known, read = for_format(
            zarr_format,
            lambda: (of.check_json_float_v2(data), of.float_from_json_v2),
            lambda: (of.check_json_float_v3(data), of.float_from_json_v3),
        )
        if known:
            return self._cast_scalar_unchecked(read(data))
        if of.check_json_floatish_str(data):
            return self._cast_scalar_unchecked(float(data))
        raise TypeError(
            f"Invalid type: {data}. Expected a float or a special string encoding of a float."
        )

    def to_json_scalar(self, data: object, *, zarr_format: Any) -> Any:
        return for_format(zarr_format, *[lambda: of.float_to_json_v2(self.cast_scalar(data))] * 2)


class Float16(BaseFloat["np.dtypes.Float16DType", np.float16]):
    """Floats of 16 bits."""

    dtype_cls = np.dtypes.Float16DType


class Float32(BaseFloat["np.dtypes.Float32DType", np.float32]):
    """Floats of 32 bits."""

    dtype_cls = np.dtypes.Float32DType


class Float64(BaseFloat["np.dtypes.Float64DType", np.float64]):
    """Floats of 64 bits."""

    dtype_cls = np.dtypes.Float64DType
