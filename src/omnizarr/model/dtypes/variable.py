"""Elements of no fixed size: `string`, `bytes`, and the objects that only format 2 can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import DataType, from_base64, from_byte_list, to_base64, unwrap
from omnizarr.model.json import show

_STRING = np.dtypes.StringDType()
_OBJECT = np.dtype(object)


@dataclass(frozen=True)
class String(DataType):
    variable: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "string"

    @property
    def numpy(self) -> np.dtype[Any]:
        return _STRING

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
