"""The values of codecs' options, as classes whose members zarr-python gives with a warning.

A member is the string itself: `Endian.little` is ``"little"``.
"""

from __future__ import annotations

import warnings
from enum import StrEnum
from typing import Any

from omnizarr import codecs


class _Deprecated(type):
    """Gives the members of an enumeration as strings, with a warning."""

    _choices: type[StrEnum]

    def __getattr__(cls, name: str) -> Any:
        choices = type.__getattribute__(cls, "__dict__").get("_choices")
        if choices is None or name not in choices.__members__:
            raise AttributeError(name)
        value = choices[name].value
        warnings.warn(
            f"{cls.__name__}.{name} is deprecated; pass the string {value!r} instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        return value


class Endian(metaclass=_Deprecated):
    """Byte orders of `BytesCodec`."""

    _choices = codecs.Endian


class BloscShuffle(metaclass=_Deprecated):
    """Shuffles of `BloscCodec`."""

    _choices = codecs.BloscShuffle

    @classmethod
    def from_int(cls, num: int) -> str:
        """Give the shuffle that format 2 has a number for."""
        return codecs.BloscShuffle.from_int(num).value


class BloscCname(metaclass=_Deprecated):
    """Compressors of `BloscCodec`."""

    _choices = codecs.BloscCname


class ShardingCodecIndexLocation(metaclass=_Deprecated):
    """Places of the index in a shard of `ShardingCodec`."""

    _choices = codecs.ShardingCodecIndexLocation
