"""The seam of data types.

A data type knows its canonical name and configuration (those of final v3), the NumPy dtype of
what a reader gets, and how its fill values are written in canonical JSON. The spelling of
types and fill values in older formats is known to those formats.

A package adds a type with one class: a subclass of `DataType`, named by an entry point in the group
`omnizarr.data_types` or given to `register`. It must have `name`, `numpy`, `scalar` and
`fill_to_json`; all else has a default. docs/extending.md has an example.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.grids import NDArray
from omnizarr.model.json import show


class DataType(ABC):
    """One data type; the implementations are frozen dataclasses, compared by value."""

    variable: ClassVar[bool] = False
    """Elements have no fixed size in a chunk (strings, bytes, objects)."""

    @classmethod
    def from_configuration(cls, configuration: Mapping[str, Json]) -> DataType:
        """The type of a `data_type` member with this configuration; MetadataError if it has none.

        This is how a registered type is found by its name. By default there is nothing to
        configure: `cls()`.
        """
        if configuration:
            raise MetadataError(f"it has no configuration, found {show(configuration)}")
        return cls()

    @classmethod
    def from_numpy(cls, dtype: np.dtype[Any]) -> Self | None:
        """The type for a NumPy dtype that no built-in type takes; None if it is not this type.

        With it, `create_array(dtype=…)` and data lead to a registered type.
        """
        return None

    @property
    @abstractmethod
    def name(self) -> str:
        """The canonical name, as in `"data_type": name`."""

    @property
    def configuration(self) -> Mapping[str, Json]:
        return {}

    @property
    def json(self) -> Json:
        """The canonical `data_type` member: the name, or an object if there is a configuration."""
        configuration = self.configuration
        if not configuration:
            return self.name
        return {"name": self.name, "configuration": dict(configuration)}

    def __str__(self) -> str:
        """NumPy's name of the type, or the canonical one where NumPy has none."""
        from omnizarr.model.dtypes.registry import numpy_determines

        if self.variable or numpy_determines(self):
            return _dtype_name(self.numpy)
        options = ", ".join(f"{key}={show(value)}" for key, value in self.configuration.items())
        return f"{self.name}({options})" if options else self.name

    @property
    @abstractmethod
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of what a reader gets, byte order included."""

    @property
    def native(self) -> DataType:
        """The same type in the byte order of this machine, without padding."""
        return self

    @property
    def zero(self) -> Any:
        """The value of an element that was never written, without a fill value."""
        return element(bytes(self.numpy.itemsize), self.numpy)

    @abstractmethod
    def scalar(self, value: Any) -> Any:
        """A user's value as a scalar of this type; ValueError or TypeError if it is none."""

    def values(self, values: Any) -> Any:
        """Convert a user's values so that NumPy can assign them to an array of `numpy`.

        By default NumPy takes the values as they are.
        """
        return values

    def fill_from_json(self, value: Json) -> Any:
        """A scalar from canonical JSON; MetadataError names the value if it is none.

        By default `scalar` takes what JSON gives.
        """
        try:
            return self.scalar(value)
        except Exception as error:  # what foreign code raises on hostile data is not known here
            raise self.bad_fill(value, f"a value of that type ({error})") from error

    @abstractmethod
    def fill_to_json(self, value: Any) -> Json:
        """Canonical JSON of a scalar, bit for bit."""

    def bad_fill(self, value: Any, expected: str) -> MetadataError:
        """The error for a fill value that is none of this type's."""
        return MetadataError(
            f"fill value {show(value)} does not fit the data type {self.name!r}:"
            f" expected {expected}"
        )


@dataclass(frozen=True)
class NumpyType(DataType):
    """A data type that is one NumPy dtype."""

    dtype: np.dtype[Any]

    @property
    def numpy(self) -> np.dtype[Any]:
        return self.dtype

    @property
    def native(self) -> Self:
        return type(self)(native(self.dtype))


@lru_cache(maxsize=256)
def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same dtype in the byte order of this machine."""
    return dtype.newbyteorder("=")


def join(parts: Iterable[Any], dtype: np.dtype[Any]) -> Any:
    """The scalar that is made of other ones, bit for bit."""
    return element(b"".join(part.tobytes() for part in parts), dtype)


def unwrap(value: Any) -> Any:
    """The element of a 0-d array; anything else as it is."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def by_element(data_type: DataType, values: Any) -> NDArray:
    """An array of `data_type.scalar` of every value: what `values` of a type in Python can be."""
    given = np.asarray(values, dtype=object)
    result = np.empty(given.shape, data_type.numpy)
    for index, value in np.ndenumerate(given):
        result[index] = data_type.scalar(value)
    return result


def element(data: bytes, dtype: np.dtype[Any]) -> Any:
    """The scalar whose bytes, in the order of `dtype`, are `data`: no conversion touches them."""
    return np.frombuffer(data, dtype=dtype, count=1)[0]


def from_base64(value: str) -> bytes | None:
    """The bytes of strict, standard base64; None if the text is not that."""
    from base64 import b64decode

    try:
        return b64decode(value, validate=True)
    except ValueError:
        return None


def to_base64(data: bytes) -> str:
    from base64 import b64encode

    return b64encode(data).decode("ascii")


def from_byte_list(value: Json) -> bytes | None:
    """The bytes that a list of integers 0 … 255 stands for; None if it is not that."""
    if isinstance(value, list) and all(type(item) is int and 0 <= item < 256 for item in value):
        return bytes(value)
    return None


def _dtype_name(dtype: np.dtype[Any]) -> str:
    """
    >>> _dtype_name(np.dtype([("a", "i4"), ("b", "f8", (2,))]))
    'struct(a int32, b float64×2)'
    """
    if dtype.kind == "T":
        return "string"
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{_dtype_name(base)}×{'×'.join(map(str, shape))}"
    if dtype.fields is not None:
        fields = (f"{name} {_dtype_name(field[0])}" for name, field in dtype.fields.items())
        return f"struct({', '.join(fields)})"
    return str(dtype)
