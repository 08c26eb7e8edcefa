"""What the codec classes of this package share: omnizarr's classes, with zarr-python's manners.

A class here checks and translates the arguments; what it makes is a codec of omnizarr. The codecs
of an array that is open are of omnizarr's own classes, so those count as instances of the classes
here, and equal ones are equal.

This module knows classes. It must not know any codec.
"""

from __future__ import annotations

import warnings
from dataclasses import fields
from enum import Enum
from typing import Any, ClassVar

from omnizarr import codecs

_ClassOfProtocols: Any = type(codecs.Codec)


class _Refining(_ClassOfProtocols):  # type: ignore[misc]  # the class of protocols has no type
    """Counts the codecs of the class `refines` among its own."""

    def __instancecheck__(self, instance: Any) -> bool:
        return super().__instancecheck__(instance) or type(instance) is plain(self)

    def __subclasscheck__(self, subclass: Any) -> bool:
        return super().__subclasscheck__(subclass) or subclass is plain(self)


class Refined(metaclass=_Refining):
    """Base of the classes; `refines` is omnizarr's."""

    refines: ClassVar[Any]
    is_fixed_size: ClassVar[bool] = False
    """Whether the size of the output follows from that of the input."""

    def compute_encoded_size(self, input_byte_length: int, _chunk_spec: Any) -> int:
        """Return the size of the output; NotImplementedError if it depends on the data."""
        if not self.is_fixed_size:
            raise NotImplementedError
        return input_byte_length

    def __eq__(self, other: object) -> bool:
        if plain(type(other)) is not plain(type(self)):
            return NotImplemented
        compared = [each.name for each in fields(self.refines) if each.compare]
        return all(getattr(self, name) == getattr(other, name) for name in compared)

    def __hash__(self) -> int:
        found: int = self.refines.__hash__(self)
        return found


def plain(cls: type[Any]) -> type[Any]:
    """The class of omnizarr that a class refines; another class as it is."""
    found: type[Any] = vars(cls).get("refines", cls)
    return found


def refined(cls: type[Any]) -> type[Any]:
    """The class that refines one of omnizarr; where there is none, that class."""
    return next((each for each in Refined.__subclasses__() if plain(each) is cls), cls)


def without_enum(value: Any, parameter: str, codec: str) -> Any:
    """The value of an option; that of an enumeration's member, with a warning."""
    if not isinstance(value, Enum):
        return value
    warnings.warn(
        f"Passing an enum to {codec} is deprecated; pass {parameter}={value.value!r} instead.",
        DeprecationWarning,
        stacklevel=3,
    )
    return value.value
