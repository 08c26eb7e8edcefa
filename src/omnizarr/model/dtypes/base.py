"""The seam of data types.

A data type knows its canonical name and configuration (those of final v3), the NumPy dtype of
what a reader gets, and how its fill values are written in canonical JSON. How an older format
spells types and fill values is that format's business.
"""

from __future__ import annotations

import base64
import binascii
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.json import show


class DataType(ABC):
    """One data type; the implementations are frozen dataclasses, compared by value."""

    variable: ClassVar[bool] = False
    """Elements have no fixed size in a chunk (strings, bytes, objects)."""

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

    @property
    @abstractmethod
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of what a reader gets, byte order included."""

    @property
    def native(self) -> DataType:
        """The same type in the byte order of this machine, without padding."""
        return self

    @property
    @abstractmethod
    def zero(self) -> Any:
        """The value of an element when nothing was ever said about it."""

    @abstractmethod
    def scalar(self, value: Any) -> Any:
        """A user's value as a scalar of this type; ValueError or TypeError if it is none."""

    @abstractmethod
    def fill_from_json(self, value: Json) -> Any:
        """A scalar from canonical JSON; MetadataError names the value if it is none."""

    @abstractmethod
    def fill_to_json(self, value: Any) -> Json:
        """Canonical JSON of a scalar, bit for bit."""

    def bad_fill(self, value: Any, expected: str) -> MetadataError:
        """The error for a fill value that is none of this type's."""
        return MetadataError(
            f"fill value {show(value)} does not fit the data type {self.name!r}:"
            f" expected {expected}"
        )


def unwrap(value: Any) -> Any:
    """The element of a 0-d array; anything else as it is."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def element(data: bytes, dtype: np.dtype[Any]) -> Any:
    """The scalar whose bytes, in the order of `dtype`, are `data`: no conversion touches them."""
    return np.frombuffer(data, dtype=dtype, count=1)[0]


def from_base64(value: str) -> bytes | None:
    """The bytes of strict, standard base64; None if the text is not that."""
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def from_byte_list(value: Json) -> bytes | None:
    """The bytes that a list of integers 0 … 255 stands for; None if it is not that."""
    if isinstance(value, list) and all(type(item) is int and 0 <= item < 256 for item in value):
        return bytes(value)
    return None
