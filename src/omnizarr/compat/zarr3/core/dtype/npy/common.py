"""What the data types of NumPy share: byte orders, numbers in JSON, and their base class."""

from __future__ import annotations

import base64
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import (
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    Self,
    SupportsComplex,
    SupportsFloat,
    TypeAlias,
)
from typing import SupportsIndex as Index
from typing import SupportsInt as Int

import numpy as np

from omnizarr.compat.zarr3.core.common import for_format
from omnizarr.compat.zarr3.core.dtype.common import (
    SPECIAL_FLOAT_STRINGS,
    EndiannessStr,
    check_dtype_spec_no_object_codec_v2,
)
from omnizarr.compat.zarr3.core.dtype.problems import DataTypeValidationError
from omnizarr.compat.zarr3.core.dtype.wrapper import D, S, ZDType

IntLike: TypeAlias = Int | Index | bytes | str
FloatLike: TypeAlias = Index | SupportsFloat | bytes | str
ComplexLike: TypeAlias = SupportsFloat | Index | SupportsComplex | bytes | str | None
DATETIME_UNIT: Final = (
    "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as", "generic",
)  # fmt: skip
DateTimeUnit: TypeAlias = Literal[
    "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as", "generic",
]  # fmt: skip
NUMPY_ENDIANNESS_STR: Final = (">", "<", "=")
_ORDERS: Final[dict[str, EndiannessStr]] = {"=": sys.byteorder, "<": "little", ">": "big"}
_MARKS: Final = {"little": "<", "big": ">"}
_HEX_CODES: Final = {4: ">e", 8: ">f", 16: ">d"}
"""How the bits of a float are unpacked, by the number of hexadecimal digits."""


def endianness_from_numpy_str(endianness: str) -> EndiannessStr:
    """Return the byte order that NumPy writes as "<", ">" or "="."""
    if endianness in _ORDERS:
        return _ORDERS[endianness]
    raise ValueError(f"Invalid endianness: {endianness!r}. Expected one of {NUMPY_ENDIANNESS_STR}")


def endianness_to_numpy_str(endianness: str) -> str:
    """Return a byte order as NumPy writes it."""
    if endianness in _MARKS:
        return _MARKS[endianness]
    raise ValueError(f"Invalid endianness: {endianness!r}. Expected one of {tuple(_MARKS)} or None")


def get_endianness_from_numpy_dtype(dtype: np.dtype[Any]) -> EndiannessStr:
    """Return the byte order of a NumPy dtype."""
    if dtype.byteorder in _ORDERS:
        return _ORDERS[dtype.byteorder]
    raise ValueError(f"The dtype {dtype} has an unsupported endianness: {dtype.byteorder}")


# -- numbers in JSON ----------------------------------------------------------------------------
def float_from_json_v2(data: float | str) -> float:
    """Read a float, or one of the names of those that JSON cannot write."""
    return float(data)


def float_from_json_v3(data: float | str) -> float:
    """Read a float, a name of one, or its bits in hexadecimal digits."""
    if not isinstance(data, str) or data in SPECIAL_FLOAT_STRINGS:
        return float(data)
    digits = data.removeprefix("0x")
    if digits == data:
        raise ValueError(
            f"Invalid float value: {data!r}. Expected a string starting with the hex prefix '0x',"
            f" or one of {SPECIAL_FLOAT_STRINGS}."
        )
    if len(digits) not in _HEX_CODES:
        raise ValueError(
            f"Invalid hexadecimal float value: {data!r}. Expected the '0x' prefix to be followed by"
            " 4, 8, or 16 numeral characters"
        )
    return float(struct.unpack(_HEX_CODES[len(digits)], bytes.fromhex(digits))[0])


def float_to_json_v2(data: Any) -> float | str:
    """Write a float, by its name where JSON has no number for it."""
    if np.isnan(data):
        return "NaN"
    if np.isinf(data):
        return "Infinity" if data > 0 else "-Infinity"
    return float(data)


float_to_json_v3 = float_to_json_v2


def complex_float_to_json_v2(data: Any) -> tuple[float | str, float | str]:
    """Write a complex number as its two parts."""
    return float_to_json_v2(data.real), float_to_json_v2(data.imag)


complex_float_to_json_v3 = complex_float_to_json_v2


def complex_float_from_json_v2(data: Sequence[Any]) -> complex:
    """Read a complex number from its two parts."""
    return complex(float_from_json_v2(data[0]), float_from_json_v2(data[1]))


def complex_float_from_json_v3(data: Sequence[Any]) -> complex:
    """Read a complex number from its two parts, which may be bits."""
    return complex(float_from_json_v3(data[0]), float_from_json_v3(data[1]))


def bytes_from_json(data: str, *, zarr_format: Any) -> bytes:
    """Read bytes from base64."""
    return for_format(zarr_format, lambda: base64.b64decode(data), lambda: base64.b64decode(data))


def bytes_to_json(data: bytes, zarr_format: Any) -> str:
    """Write bytes as base64."""
    return base64.b64encode(data).decode("ascii")


def check_json_float_v2(data: Any) -> bool:
    """Tell whether this is a float in a document of format 2."""
    return data in SPECIAL_FLOAT_STRINGS or isinstance(data, float | int)


def check_json_float_v3(data: Any) -> bool:
    """Tell whether this is a float in a document of format 3."""
    return check_json_float_v2(data) or (isinstance(data, str) and data.startswith("0x"))


def _pair(data: Any) -> bool:
    return isinstance(data, Sequence) and not isinstance(data, str) and len(data) == 2


def check_json_complex_float_v2(data: Any) -> bool:
    """Tell whether this is a complex number in a document of format 2."""
    return _pair(data) and all(map(check_json_float_v2, data))


def check_json_complex_float_v3(data: Any) -> bool:
    """Tell whether this is a complex number in a document of format 3."""
    return _pair(data) and all(map(check_json_float_v3, data))


def check_json_int(data: Any) -> bool:
    """Tell whether this is an integer."""
    return isinstance(data, int)


def check_json_intish_float(data: Any) -> bool:
    """Tell whether this is a float without a fraction."""
    return isinstance(data, float) and data.is_integer()


def _converts(kind: type[int] | type[float], data: Any) -> bool:
    if not isinstance(data, str):
        return False
    try:
        kind(data)
    except ValueError:
        return False
    return True


def check_json_intish_str(data: Any) -> bool:
    """Tell whether this is an integer written as a string."""
    return _converts(int, data)


def check_json_floatish_str(data: Any) -> bool:
    """Tell whether this is a float written as a string."""
    return _converts(float, data)


def check_json_str(data: Any) -> bool:
    """Tell whether this is a string."""
    return isinstance(data, str)


def check_json_bool(data: Any) -> bool:
    """Tell whether this is a truth value."""
    return isinstance(data, bool)


# -- the base -----------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class NumpyDType(ZDType[D, S], Generic[D, S]):
    """A data type that is one NumPy dtype, spelled in format 2 as NumPy does."""

    _zarr_v2_names: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        """The data type of a dtype that has been checked."""
        return cls()

    @classmethod
    def from_native_dtype(cls, dtype: np.dtype[Any]) -> Self:
        if cls._check_native_dtype(dtype):
            return cls._of(dtype)
        raise DataTypeValidationError(
            f"Invalid data type: {dtype}. Expected an instance of {cls.dtype_cls}"
        )

    @classmethod
    def _check_json_v2(cls, data: Any) -> bool:
        return check_dtype_spec_no_object_codec_v2(data) and data["name"] in cls._zarr_v2_names

    @classmethod
    def _check_json_v3(cls, data: Any) -> bool:
        return bool(data == cls._zarr_v3_name)

    @classmethod
    def _from_json_v2(cls, data: Any) -> Self:
        if cls._check_json_v2(data):
            return cls._of(np.dtype(data["name"]))
        raise cls._refusal(data)

    @classmethod
    def _from_json_v3(cls, data: Any) -> Self:
        if cls._check_json_v3(data):
            return cls._configured(data["configuration"] if isinstance(data, dict) else {})
        raise cls._refusal(data)

    @classmethod
    def _configured(cls, configuration: Any) -> Self:
        """The data type with the configuration of a document of format 3."""
        return cls()

    @classmethod
    def _refusal(cls, data: Any) -> DataTypeValidationError:
        known = cls._zarr_v2_names or (cls._zarr_v3_name,)
        return DataTypeValidationError(
            f"Invalid JSON representation of {cls.__name__}. Got {data!r}, expected one of {known}."
        )

    def to_json(self, zarr_format: Any) -> Any:
        return for_format(zarr_format, self._to_json_v2, self._to_json_v3)

    def _to_json_v2(self) -> Any:
        return {"name": self.to_native_dtype().str, "object_codec_id": None}

    def _to_json_v3(self) -> Any:
        return self._zarr_v3_name

    def cast_scalar(self, data: object) -> Any:
        if self._check_scalar(data):
            return self._cast_scalar_unchecked(data)
        raise TypeError(
            f"Cannot convert object {data!r} with type {type(data)} to a scalar compatible with"
            f" the data type {self}."
        )

    def _cast_scalar_unchecked(self, data: Any) -> Any:
        return self.to_native_dtype().type(data)

    def default_scalar(self) -> Any:
        return self._cast_scalar_unchecked(0)


def configured(data: Any, name: str, members: set[str]) -> bool:
    """Tell whether a document of format 3 names a data type with these options."""
    return (
        isinstance(data, dict)
        and set(data) == {"name", "configuration"}
        and data["name"] == name
        and isinstance(data["configuration"], dict)
        and set(data["configuration"]) == members
    )
