"""Booleans, integers, floats and complex numbers (final v3, "Data types").

The same four classes carry the small types of `ml_dtypes` (see `small`), which differ in nothing
but their NumPy dtype. A float travels as its bits, never through another float type, so that NaN
payloads and signed zeros survive.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import DataType, NumpyType, element, join, native, unwrap
from omnizarr.model.json import show

_SMALL = re.compile(r"(?:u?int|float)([246])(?:_|\Z)")
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True)
class Boolean(NumpyType):
    """True or false, a byte each."""

    dtype: np.dtype[Any] = np.dtype(bool)  # noqa: RUF009 - dtypes are immutable

    @property
    def name(self) -> str:
        return "bool"

    def scalar(self, value: Any) -> Any:
        value = unwrap(value)
        if isinstance(value, bool | np.bool_ | int | float | np.number) and value in (0, 1):
            return np.bool_(value)
        raise ValueError(f"{show(value)} is not a bool")

    def fill_from_json(self, value: Json) -> Any:
        # Releases of 2016, and zarrita of 2023, wrote 0 for false.
        if isinstance(value, bool | int) and value in (0, 1):
            return np.bool_(value)
        raise self.bad_fill(value, "true or false")

    def fill_to_json(self, value: Any) -> Json:
        return bool(self.scalar(value))


class Integer(NumpyType):
    @property
    def name(self) -> str:
        return _name(self.dtype)

    def scalar(self, value: Any) -> Any:
        value = unwrap(value)
        if isinstance(value, self.dtype.type) and not isinstance(value, bool):
            return value
        if isinstance(value, str):
            value = int(value)
        integral = value
        if not isinstance(value, bool | np.bool_ | int | np.integer):
            try:
                integral = int(value)
                exact = bool(integral == value)
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"{show(value)} is not an {self.name}") from error
            if not exact:
                raise ValueError(f"{show(value)} is not an {self.name}: it has a fraction")
        low, high = bounds(self.dtype)
        if not low <= int(integral) <= high:
            raise ValueError(f"{show(value)} is outside {self.name} ({low} … {high})")
        return self.dtype.type(int(integral))

    def fill_from_json(self, value: Json) -> Any:
        low, high = bounds(self.dtype)
        if type(value) is float and value.is_integer():
            value = int(value)  # some writers print every number as a float
        if type(value) is not int or not low <= value <= high:
            raise self.bad_fill(value, f"an integer from {low} to {high}")
        return self.dtype.type(value)

    def fill_to_json(self, value: Any) -> Json:
        return int(self.scalar(value))


class Float(NumpyType):
    @property
    def name(self) -> str:
        return _name(self.dtype)

    def scalar(self, value: Any) -> Any:
        value = unwrap(value)
        if isinstance(value, self.dtype.type):
            return value
        if isinstance(value, str):
            if value.startswith("0x"):
                return self.fill_from_json(value)
            value = float(value)
        return self._round(value)

    def _round(self, value: Any) -> Any:
        try:
            number = float(value)
            with np.errstate(all="ignore"):
                result = np.float64(number).astype(self.dtype)[()]
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{show(value)} is not a {self.name}") from error
        rounded = float(result)
        lost = math.isnan(number) != math.isnan(rounded) or math.isinf(number) != math.isinf(
            rounded
        )
        if lost or _limit(self.dtype) <= abs(number) < math.inf:
            raise ValueError(f"{show(value)} is outside {self.name}")
        return result

    def fill_from_json(self, value: Json) -> Any:
        size = self.dtype.itemsize
        if type(value) is float or type(value) is int:
            number: Any = value
        elif isinstance(value, str) and value in _SPECIAL:
            number = _SPECIAL[value]
        elif isinstance(value, str) and value.startswith("0x"):
            try:
                digits = value[2:]
                if not 0 < len(digits) <= 2 * size or not digits.isalnum():
                    raise ValueError(digits)
                mask = (1 << width(self.dtype)) - 1  # unused bits are ignored
                data = (int(digits, 16) & mask).to_bytes(size, sys.byteorder)
            except ValueError as error:
                raise self.bad_fill(value, f'"0x" and {2 * size} hexadecimal digits') from error
            return element(data, native(self.dtype))
        else:
            raise self.bad_fill(
                value, 'a number, "NaN", "Infinity", "-Infinity" or "0x" and the bits'
            )
        try:
            return self._round(number)
        except ValueError as error:
            raise self.bad_fill(value, "a value of that type") from error

    def fill_to_json(self, value: Any) -> Json:
        scalar = self.scalar(value)
        number = float(scalar)
        if math.isinf(number):
            return "Infinity" if number > 0 else "-Infinity"
        if math.isnan(number):
            data = scalar.tobytes()
            if data == self._round(math.nan).tobytes():
                return "NaN"
            bits = int.from_bytes(data, sys.byteorder)
            return f"0x{bits:0{2 * len(data)}x}"
        return number


class Complex(NumpyType):
    @property
    def name(self) -> str:
        return _name(self.dtype)

    @property
    def part(self) -> Float:
        """The type of the real and of the imaginary part."""
        return Float(np.dtype(f"f{self.dtype.itemsize // 2}"))

    def scalar(self, value: Any) -> Any:
        value = unwrap(value)
        if isinstance(value, self.dtype.type):
            return value
        return join(parts_of(self, self.part, value), native(self.dtype))

    def fill_from_json(self, value: Json) -> Any:
        return join(parts_from_json(self, self.part, value), native(self.dtype))

    def fill_to_json(self, value: Any) -> Json:
        return parts_to_json(self.part, self.scalar(value))


def parts_of(data_type: DataType, part: Float, value: Any) -> list[Any]:
    """The real and the imaginary part of a user's value: a number, or two of them."""
    if isinstance(value, list | tuple) and len(value) == 2:
        return [part.scalar(each) for each in value]
    try:
        number = complex(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{show(value)} is not a {data_type.name}") from error
    return [part.scalar(number.real), part.scalar(number.imag)]


def parts_from_json(data_type: DataType, part: Float, value: Json) -> list[Any]:
    """The real and the imaginary part of a fill value, from canonical JSON."""
    if not isinstance(value, list) or len(value) != 2:
        raise data_type.bad_fill(value, "a list of the real and the imaginary part")
    parts = []
    for where, each in zip(("real", "imaginary"), value, strict=True):
        try:
            parts.append(part.fill_from_json(each))
        except MetadataError as error:
            raise error.at(f"the {where} part of {data_type.name!r}") from error
    return parts


def parts_to_json(part: Float, scalar: Any) -> Json:
    """Canonical JSON of the two halves of a complex number."""
    data = scalar.tobytes()
    half = len(data) // 2
    return [part.fill_to_json(element(each, part.dtype)) for each in (data[:half], data[half:])]


@lru_cache(maxsize=256)
def _name(dtype: np.dtype[Any]) -> str:
    return dtype.name


@lru_cache(maxsize=256)
def width(dtype: np.dtype[Any]) -> int:
    """How many bits of an element are used; types of less than 8 bits take a byte each."""
    small = _SMALL.match(dtype.name)
    return int(small[1]) if small else 8 * dtype.itemsize


@lru_cache(maxsize=256)
def bounds(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and the greatest integer."""
    signed, bits = not dtype.name.startswith("u"), width(dtype)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


@lru_cache(maxsize=256)
def _limit(dtype: np.dtype[Any]) -> float:
    """The least number that a float without infinity and NaN cannot hold.

    The greatest value is odd, so a number halfway behind it would be rounded up.
    """
    if width(dtype) >= 8:
        return math.inf
    last = (1 << (width(dtype) - 1)) - 1
    before, most = np.array([last - 1, last], np.uint8).view(dtype).astype(np.float64)
    return float(most + (most - before) / 2)
