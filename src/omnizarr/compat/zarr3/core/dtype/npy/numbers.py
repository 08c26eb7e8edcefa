"""Truth values, integers, floats and complex numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Self

import numpy as np

from omnizarr.compat.zarr3.core.common import for_format
from omnizarr.compat.zarr3.core.dtype.common import HasEndianness, HasItemSize
from omnizarr.compat.zarr3.core.dtype.npy import common as of
from omnizarr.compat.zarr3.core.dtype.wrapper import D, S


@dataclass(frozen=True, kw_only=True)
class _Number(of.NumpyDType[D, S], HasItemSize, Generic[D, S]):
    """A data type whose names are NumPy's."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "dtype_cls" in cls.__dict__:
            native = cls.dtype_cls()
            orders = "|" if native.itemsize == 1 else "><"
            cls._zarr_v3_name = native.name
            cls._zarr_v2_names = tuple(order + native.str[1:] for order in orders)


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


@dataclass(frozen=True, kw_only=True)
class _Byte:
    """A number of one byte."""

    def to_native_dtype(self) -> Any:
        return self.dtype_cls()  # type: ignore[attr-defined]  # a mixin


@dataclass(frozen=True, kw_only=True)
class _Wide(HasEndianness):
    """A number of several bytes, in a byte order."""

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        return cls(endianness=of.get_endianness_from_numpy_dtype(dtype))

    def to_native_dtype(self) -> Any:
        mark = of.endianness_to_numpy_str(self.endianness)
        return self.dtype_cls().newbyteorder(mark)  # type: ignore[attr-defined]  # a mixin


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
