"""Chunk key encodings: the key of a chunk, from its place in the grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeAlias

from omnizarr.compat.zarr3.core.common import parse_named_configuration

SeparatorLiteral: TypeAlias = Literal[".", "/"]
ChunkKeyEncodingLike: TypeAlias = Any
"""An encoding, or a dictionary with its name and its separator or configuration."""


@dataclass(frozen=True)
class ChunkKeyEncoding(ABC):
    """The base of chunk key encodings."""

    name: ClassVar[str]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make an encoding of its document."""
        _, configuration = parse_named_configuration(data, require_configuration=False)
        return cls(**(configuration or {}))

    def to_dict(self) -> dict[str, Any]:
        """Return the document."""
        return {"name": self.name, "configuration": dict(self.__dict__)}

    def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
        """Return the place of the chunk that has a key."""
        raise NotImplementedError(f"{type(self).__name__} does not decode keys.")

    @abstractmethod
    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        """Return the key of the chunk at a place."""


@dataclass(frozen=True)
class _Separated(ChunkKeyEncoding):
    separator: SeparatorLiteral

    def __post_init__(self) -> None:
        if self.separator not in (".", "/"):
            raise ValueError(f"separator must be one of ('.', '/'), got {self.separator!r}")


@dataclass(frozen=True)
class DefaultChunkKeyEncoding(_Separated):
    """The encoding of format 3: `c/1/2`.

    Parameters
    ----------
    separator
        What stands between the numbers.
    """

    name: ClassVar[str] = "default"
    separator: SeparatorLiteral = "/"

    def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
        first, *numbers = chunk_key.split(self.separator)
        if first != "c":
            raise ValueError(
                f"Invalid chunk key {chunk_key!r}: expected 'c', and {self.separator!r} before each"
                " number"
            )
        return tuple(map(int, numbers))

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        return self.separator.join(map(str, ("c", *chunk_coords)))


@dataclass(frozen=True)
class V2ChunkKeyEncoding(_Separated):
    """The encoding of format 2: `1.2`.

    Parameters
    ----------
    separator
        What stands between the numbers.
    """

    name: ClassVar[str] = "v2"
    separator: SeparatorLiteral = "."

    def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
        return tuple(map(int, chunk_key.split(self.separator)))

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        return self.separator.join(map(str, chunk_coords)) or "0"


def parse_chunk_key_encoding(data: ChunkKeyEncodingLike) -> Any:
    """Return an encoding, given as one or as its document."""
    from omnizarr.compat.zarr3.registry import get_chunk_key_encoding_class

    if isinstance(data, ChunkKeyEncoding):
        return data
    if isinstance(data, str):
        data = {"name": data}
    given = dict(data)
    if "configuration" not in given and "separator" in given:
        given["configuration"] = {"separator": given.pop("separator")}
    name, _ = parse_named_configuration(given, require_configuration=False)
    encoding: Any = get_chunk_key_encoding_class(name)
    return encoding.from_dict(given)
