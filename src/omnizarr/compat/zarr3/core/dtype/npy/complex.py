"""Complex numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from omnizarr.compat.zarr3.core.common import for_format
from omnizarr.compat.zarr3.core.dtype.npy import common as of
from omnizarr.compat.zarr3.core.dtype.npy.numbers import _Number, _Wide
from omnizarr.compat.zarr3.core.dtype.wrapper import D, S

__all__ = ["BaseComplex", "Complex64", "Complex128"]


@dataclass(frozen=True, kw_only=True)
class BaseComplex(_Wide, _Number[D, S], Generic[D, S]):
    """Complex numbers."""

    def _check_scalar(self, data: object) -> bool:
        return isinstance(data, of.ComplexLike)

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        known, read = for_format(
            zarr_format,
            lambda: (of.check_json_complex_float_v2(data), of.complex_float_from_json_v2),
            lambda: (of.check_json_complex_float_v3(data), of.complex_float_from_json_v3),
        )
        if known:
            return self._cast_scalar_unchecked(read(data))
        raise TypeError(f"Invalid type: {data}. Expected the two parts of a complex number.")

    def to_json_scalar(self, data: object, *, zarr_format: Any) -> Any:
        parts = of.complex_float_to_json_v2(self.cast_scalar(data))
        return for_format(zarr_format, lambda: parts, lambda: parts)


class Complex64(BaseComplex["np.dtypes.Complex64DType", np.complex64]):
    """Complex numbers of two floats of 32 bits."""

    dtype_cls = np.dtypes.Complex64DType


class Complex128(BaseComplex["np.dtypes.Complex128DType", np.complex128]):
    """Complex numbers of two floats of 64 bits."""

    dtype_cls = np.dtypes.Complex128DType
