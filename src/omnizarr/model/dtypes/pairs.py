"""Complex numbers that NumPy lacks: pairs of `float16`, `bfloat16` or a smaller float.

The v3 registry names them `complex_` and the name of their parts; the real part comes first. NumPy
has no such dtype, so an element is a record with the fields `real` and `imag`. A NumPy dtype with
these fields is a `struct`; the complex type is asked for by name, `dtype="complex_bfloat16"`.
(`complex_float32` and `complex_float64` are other names of `complex64` and `complex128`.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import DataType, by_element, join, unwrap
from omnizarr.model.dtypes.numeric import Float, parts_from_json, parts_of, parts_to_json
from omnizarr.model.dtypes.small import FLOATS, small

PREFIX = "complex_"
UNREGISTERED = "float8_e4m3fn"
NAMES = frozenset(PREFIX + part for part in ("float16", *FLOATS) if part != UNREGISTERED)


@dataclass(frozen=True)
class Pair(DataType):
    """A complex number of two small floats."""

    part: Float
    """The type of the real and of the imaginary part."""

    @property
    def name(self) -> str:
        return PREFIX + self.part.name

    @property
    def numpy(self) -> np.dtype[Any]:
        return _record(self.part.dtype)

    @property
    def native(self) -> Pair:
        return Pair(self.part.native)

    def scalar(self, value: Any) -> Any:
        value = unwrap(value)
        if isinstance(value, np.void) and value.dtype.names == ("real", "imag"):
            if value.dtype == self.numpy:
                return value
            value = value.item()
        return join(parts_of(self, self.part, value), self.numpy)

    def values(self, values: Any) -> Any:
        """Numbers, real or complex, as records; NumPy would put a number into both fields.

        Tuples and records have one value for each part, as in NumPy.
        """
        if isinstance(values, np.ndarray | np.generic) or hasattr(values, "__array__"):
            array = np.asanyarray(values)
        elif isinstance(_leaf(values), tuple | np.void):
            return values
        else:
            array = np.asarray(values)
        if array.dtype.names is not None:
            return values
        if array.dtype.kind not in "biufc" and array.dtype.isbuiltin != 2:
            return by_element(self, array)
        result = np.empty(array.shape, self.numpy)
        result["real"] = array.real
        result["imag"] = array.imag if array.dtype.kind == "c" else 0
        return result

    def fill_from_json(self, value: Json) -> Any:
        return join(parts_from_json(self, self.part, value), self.numpy)

    def fill_to_json(self, value: Any) -> Json:
        return parts_to_json(self.part, self.scalar(value))


@cache
def pair(name: str) -> Pair:
    """The type of this name, one of `NAMES`."""
    part = name.removeprefix(PREFIX)
    found = Float(np.dtype(np.float16)) if part == "float16" else small(part)
    assert isinstance(found, Float)
    return Pair(found)


@cache
def _record(part: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype([("real", part), ("imag", part)])


def _leaf(values: Any) -> Any:
    """The first element of a nested list."""
    while isinstance(values, list) and values:
        values = values[0]
    return values
