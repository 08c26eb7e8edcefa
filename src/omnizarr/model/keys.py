"""Chunk keys: the name of a chunk below its array's prefix.

One table covers every format, because all of them write the grid coordinates in decimal:

=========  ======================  ===========  ============================================
name       a chunk of three axes   0-d chunk    who writes it
=========  ======================  ===========  ============================================
default    `c/1/0/2`               `c`          the final v3 specification
v2         `1.0.2`                 `0`          formats 1 and 2, the 2019 draft, final v3
draft      `c1/0/2`                `c0`         the drafts of 2020 to 2022
blosc      `1.0.2.blosc`           `0.blosc`    format 0
reversed   `2/0/1`                 `0`          N5, whose axes are numbered the other way
=========  ======================  ===========  ============================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from omnizarr.errors import MetadataError

Separator = Literal[".", "/"]
KeyName = Literal["default", "v2", "draft", "blosc", "reversed"]


@dataclass(frozen=True, slots=True)
class ChunkKeys:
    """A key encoding. `alternatives` are other spellings that careless writers used: they are
    looked up before a chunk is declared missing, and never written."""

    name: KeyName
    separator: Separator
    alternatives: tuple[ChunkKeys, ...] = ()
    scalar: str | None = None
    """What the only chunk of a 0-d array is called, if not what the table says."""

    def __post_init__(self) -> None:
        if self.separator not in (".", "/"):
            raise MetadataError(f"chunk key separator must be '.' or '/', found {self.separator!r}")

    @property
    def layout(self) -> tuple[bytes, int, bytes] | None:
        """What stands before, between and behind the coordinates of a chunk; None if these are
        in another order."""
        before, behind = self._around
        reverses = self.name == "reversed"
        return None if reverses else (before.encode(), ord(self.separator), behind.encode())

    @property
    def _around(self) -> tuple[str, str]:
        """What stands before the first and behind the last coordinate."""
        before = {"default": "c" + self.separator, "draft": "c"}.get(self.name, "")
        return before, ".blosc" if self.name == "blosc" else ""

    @property
    def _scalar(self) -> str:
        if self.scalar is not None:
            return self.scalar
        before, behind = self._around
        return "c" if self.name == "default" else f"{before}0{behind}"

    def encoder(self, ndim: int) -> Callable[[tuple[int, ...]], str]:
        """The function from grid coordinates to key, chosen once per array."""
        if ndim == 0:
            constant = self._scalar
            return lambda _: constant
        before, behind = self._around
        encode = (before + self.separator.join(["%d"] * ndim) + behind).__mod__
        if self.name == "reversed":
            return lambda coordinates: encode(coordinates[::-1])
        return encode

    def decode(self, key: str, ndim: int) -> tuple[int, ...] | None:
        """The coordinates that a key stands for, or None if it is not a chunk key."""
        if ndim == 0:
            return () if key == self._scalar else None
        before, behind = self._around
        if not (key.startswith(before) and key.endswith(behind)):
            return None
        parts = key[len(before) : len(key) - len(behind)].split(self.separator)
        if len(parts) != ndim or not all(part.isascii() and part.isdigit() for part in parts):
            return None
        if any(len(part) > 1 and part[0] == "0" for part in parts):
            return None
        if self.name == "reversed":
            parts.reverse()
        return tuple(int(part) for part in parts)
