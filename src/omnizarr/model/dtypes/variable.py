"""Elements of no fixed size: `string`, `bytes`, and the objects that only format 2 can hold.

Text and byte strings are stored in two ways. Practice writes each element behind its length (the
codecs `vlen-utf8` and `vlen-bytes`): `String` and `Bytes`. Document 004 writes all offsets, then
all data, as Arrow has them in memory (the codec `bytes`): `ArrowString` and `ArrowBinary`. Both
kinds have the same values; docs/design/004 has the JSON that tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import DataType, from_base64, from_byte_list, to_base64, unwrap
from omnizarr.model.json import show

_STRING = np.dtypes.StringDType()
_OBJECT = np.dtype(object)


@dataclass(frozen=True)
class String(DataType):
    """Text of any length."""

    variable: ClassVar[bool] = True
    objects: bool = False
    """Readers get Python's `str` in an array of objects, not NumPy's StringDType."""

    @property
    def name(self) -> str:
        return "string"

    @property
    def numpy(self) -> np.dtype[Any]:
        return _OBJECT if self.objects else _STRING

    def as_objects(self) -> Self:
        return replace(self, objects=True)

    @property
    def zero(self) -> Any:
        return ""

    def scalar(self, value: Any) -> Any:
        value = unwrap(value)
        if type(value) is int and value == 0:  # zarr's traditional default
            return ""
        if isinstance(value, bytes):
            value = value.decode("utf-8")
        if not isinstance(value, str):
            raise TypeError(f"{show(value)} is not a str")
        value.encode("utf-8")  # UnicodeEncodeError, a ValueError, on a lone surrogate
        return str(value)

    def fill_from_json(self, value: Json) -> Any:
        if isinstance(value, str):
            try:
                return self.scalar(value)
            except UnicodeEncodeError as error:
                raise self.bad_fill(value, "text that UTF-8 can hold") from error
        raise self.bad_fill(value, "a string")

    def fill_to_json(self, value: Any) -> Json:
        return self.scalar(value)


@dataclass(frozen=True)
class Bytes(DataType):
    """`bytes`; zarr-python calls it `variable_length_bytes`. NumPy holds them as objects."""

    variable: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "bytes"

    @property
    def numpy(self) -> np.dtype[Any]:
        return _OBJECT

    @property
    def zero(self) -> Any:
        return b""

    def scalar(self, value: Any) -> Any:
        value = unwrap(value)
        if type(value) is int and value == 0:
            return b""
        if isinstance(value, str):
            value = value.encode("utf-8")
        if not isinstance(value, bytes | bytearray | memoryview):
            raise TypeError(f"{show(value)} is not bytes")
        return bytes(value)

    def fill_from_json(self, value: Json) -> Any:
        data = from_base64(value) if isinstance(value, str) else from_byte_list(value)
        if data is None:
            raise self.bad_fill(value, "base64, or a list of byte values")
        return data

    def fill_to_json(self, value: Any) -> Json:
        return to_base64(self.scalar(value))


@dataclass(frozen=True)
class ArrowString(String):
    """`string` of document 004, or `LargeString` with offsets of 64 bits."""

    large: bool = False

    @property
    def name(self) -> str:
        return "LargeString" if self.large else "string"

    def __str__(self) -> str:
        return "arrow-large-string" if self.large else "arrow-string"

    @property
    def json(self) -> Json:
        return {"name": self.name, "fallback": self.fallback.name}

    @property
    def fallback(self) -> ArrowBinary:
        """The type of the same chunks without the check for text."""
        return ArrowBinary(self.large)

    @property
    def framed(self) -> String:
        """The type that stores the same values with a length before each."""
        return String(self.objects)


@dataclass(frozen=True)
class ArrowBinary(Bytes):
    """`binary` of document 004, or `LargeBinary` with offsets of 64 bits."""

    large: bool = False

    @property
    def name(self) -> str:
        return "LargeBinary" if self.large else "binary"

    def __str__(self) -> str:
        return "arrow-large-binary" if self.large else "arrow-binary"

    @property
    def json(self) -> Json:
        return {"name": self.name}

    @property
    def framed(self) -> Bytes:
        return Bytes()


OFFSETS = "offset_data_type"


def from_configuration(name: str, configuration: Mapping[str, Json]) -> String | Bytes:
    """The type of a `data_type` named `string`, `binary`, `LargeString` or `LargeBinary`.

    `string` is stored as practice does, unless it configures its offsets.
    """
    offsets = configuration.get(OFFSETS)
    if offsets not in (None, "int32", "int64"):
        raise MetadataError(f"{name}: {OFFSETS} must be int32 or int64, found {show(offsets)}")
    large = name.startswith("Large")
    if large and offsets == "int32":
        raise MetadataError(f"{name}: its offsets have 64 bits, but {OFFSETS} is 'int32'")
    if name == "string" and offsets is None:
        return String()
    large = large or offsets == "int64"
    return ArrowString(large=large) if name.endswith("tring") else ArrowBinary(large)


@dataclass(frozen=True)
class Object(DataType):
    """Any Python object, through an object codec; its fill value is a JSON value."""

    variable: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "object"

    @property
    def numpy(self) -> np.dtype[Any]:
        return _OBJECT

    @property
    def zero(self) -> Any:
        return None

    def scalar(self, value: Any) -> Any:
        return unwrap(value)

    def fill_from_json(self, value: Json) -> Any:
        return value

    def fill_to_json(self, value: Any) -> Json:
        return value
