"""Chunk keys: the name of a chunk below its array's path.

The two encodings of the final v3 specification cover every format whose chunks have one name:
"default" writes `c/1/0` (`c` for a 0-d array), "v2" writes `1.0` (`0` for a 0-d array).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from omnizarr.errors import MetadataError

Separator = Literal[".", "/"]


@dataclass(frozen=True, slots=True)
class ChunkKeys:
    """A key encoding. `alternatives` are other spellings that careless writers used: they are
    looked up before a chunk is declared missing, and never written."""

    name: Literal["default", "v2"]
    separator: Separator
    alternatives: tuple[ChunkKeys, ...] = ()

    def __post_init__(self) -> None:
        if self.separator not in (".", "/"):
            raise MetadataError(f"chunk key separator must be '.' or '/', found {self.separator!r}")

    def encoder(self, ndim: int) -> Callable[[tuple[int, ...]], str]:
        """The function from grid coordinates to key, chosen once per array."""
        separator = self.separator
        if ndim == 0:
            constant = "c" if self.name == "default" else "0"
            return lambda _: constant
        prefix = "c" + separator if self.name == "default" else ""
        template = prefix + separator.join(["%d"] * ndim)
        return template.__mod__

    def decode(self, key: str, ndim: int) -> tuple[int, ...] | None:
        """The coordinates that a key stands for, or None if it is not a chunk key."""
        if ndim == 0:
            return () if key == ("c" if self.name == "default" else "0") else None
        parts = key.split(self.separator)
        if self.name == "default":
            if parts[0] != "c":
                return None
            parts = parts[1:]
        if len(parts) != ndim or not all(part.isascii() and part.isdigit() for part in parts):
            return None
        if any(len(part) > 1 and part[0] == "0" for part in parts):
            return None
        return tuple(int(part) for part in parts)
