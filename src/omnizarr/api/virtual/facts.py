"""What is known of a file: its groups, its arrays, and where the bytes of their chunks are.

A chunk is a span of a file. Small arrays are held as values instead. Codecs are those of
numcodecs, as format 2 names them, and all map bytes to bytes.

This module knows arrays and spans. It must not know kinds of files, nor documents of Zarr.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np

from omnizarr import limits
from omnizarr.errors import UnsupportedError
from omnizarr.model.codec import Json
from omnizarr.model.grids import NDArray, Shape

HELD_BYTES = limits.MIB
"""A coordinate of one dimension is held as values up to this size."""
WANTED_BYTES = limits.MIB // 16
"""The same for other arrays whose values joining needs."""
_PIECE_BYTES = 8 * limits.MIB
_MOST_PIECES = 1 << 14

Codec = Mapping[str, Json]


class Span(NamedTuple):
    """A part of a file."""

    url: str
    offset: int
    size: int


Lengths = int | tuple[int, ...]
"""Of the chunks along one axis: one for all, or one for each."""


@dataclass(frozen=True, eq=False)
class VirtualArray:
    """An array whose chunks are spans of files, or which is held as values."""

    shape: Shape
    chunks: tuple[Lengths, ...]
    dtype: np.dtype[Any]
    dimensions: tuple[str, ...]
    pieces: Mapping[Shape, Span] = field(default_factory=dict)
    """Spans by the coordinates of chunks."""
    codecs: tuple[Codec, ...] = ()
    fill_value: Any = None
    """The value that means "missing" (`_FillValue`), which is that of a chunk without a span unless
    `unwritten` is."""
    unwritten: Any = None
    """The value of a chunk without a span, if it is another one."""
    attributes: Mapping[str, Json] = field(default_factory=dict)
    values: NDArray | None = None
    """All values; there are no pieces then."""
    cut: bool = False
    """Whether `contiguous` chose the chunks: the file has none."""
    order: Literal["C", "F"] = "C"
    """Of the elements in a chunk: which axis varies fastest, the last or the first."""
    inline: Mapping[Shape, bytes] = field(default_factory=dict)
    """The bytes of whole chunks that no span has, by their coordinates."""

    @property
    def regular(self) -> bool:
        """Whether all chunks have one shape."""
        return all(isinstance(length, int) for length in self.chunks)

    def counts(self) -> Shape:
        """How many chunks there are along each axis."""
        return tuple(
            -(-length // chunk) if isinstance(chunk, int) else len(chunk)
            for length, chunk in zip(self.shape, self.chunks, strict=True)
        )


@dataclass(frozen=True, eq=False)
class VirtualFile:
    """The groups and arrays of a file by their paths; the root is the group of path ``""``."""

    source: str
    """The path or URL, as errors name it."""
    groups: Mapping[str, Mapping[str, Json]]
    """The attributes of each group."""
    arrays: Mapping[str, VirtualArray]
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What of each node is lost."""

    def below(self, group: str) -> VirtualFile:
        """What is in a group, as if it were all."""
        if not group:
            return self
        if group not in self.groups:
            known = ", ".join(map(repr, filter(None, self.groups))) or "none"
            raise UnsupportedError(f"{self.source!r} has no group {group!r}; there are: {known}")
        begin = f"{group}/"
        groups = {path[len(begin) :]: attributes for path, attributes in self.groups.items()
                  if path.startswith(begin)}  # fmt: skip
        arrays = {path[len(begin) :]: array for path, array in self.arrays.items()
                  if path.startswith(begin)}  # fmt: skip
        return VirtualFile(self.source, {"": self.groups[group], **groups}, arrays)


def held(values: NDArray, array: VirtualArray) -> VirtualArray:
    """An array with its values in place of pieces."""
    chunks = tuple(max(1, length) for length in values.shape)
    return replace(array, shape=values.shape, chunks=chunks, dtype=values.dtype, values=values,
                   pieces={}, codecs=(), order="C", inline={})  # fmt: skip


def is_coordinate(name: str, dimensions: tuple[str, ...]) -> bool:
    """Whether an array holds the coordinates of its only dimension."""
    return dimensions == (name.rpartition("/")[2],)


def contiguous(shape: Shape, itemsize: int, url: str, offset: int) -> tuple[
    tuple[int, ...], dict[Shape, Span]
]:  # fmt: skip
    """Chunks and pieces of an array that lies in one span without compression: cut along the first
    axis into equal parts of some MiB, so that a part of it can be read."""
    whole = tuple(max(1, length) for length in shape)
    size = prod(shape) * itemsize
    if not size:
        return whole, {}
    if not shape:
        return (), {(): Span(url, offset, size)}
    rows = shape[0]
    count = next(
        (n for n in divisors(rows) if size // n <= _PIECE_BYTES and n <= _MOST_PIECES), 1
    )  # the last part must be as long as the others, so their number divides the rows
    step = size // count
    rest = (0,) * (len(shape) - 1)
    pieces = {(i, *rest): Span(url, offset + i * step, step) for i in range(count)}
    return (rows // count, *whole[1:]), pieces


def divisors(number: int) -> Iterator[int]:
    """All that are at most `_MOST_PIECES`, the smallest first."""
    return (n for n in range(1, min(number, _MOST_PIECES) + 1) if number % n == 0)


def split(array: VirtualArray, axis: int, rows: int) -> VirtualArray | None:
    """The array with chunks of `rows` along the axis, if its pieces can be cut so: no codec, and
    the axis varies slowest within a chunk. None if they cannot."""
    chunk = array.chunks[axis]
    slowest = all(length == 1 for length in array.chunks[:axis])
    if array.codecs or not slowest or not isinstance(chunk, int) or chunk % rows:
        return None
    if array.order == "F" or array.inline:
        return None
    parts = chunk // rows
    most = -(-array.shape[axis] // rows)
    pieces: dict[Shape, Span] = {}
    for place, (url, offset, size) in array.pieces.items():
        step = size // parts
        for part in range(parts):
            index = place[axis] * parts + part
            if index < most:
                at = (*place[:axis], index, *place[axis + 1 :])
                pieces[at] = Span(url, offset + part * step, step)
    chunks = (*array.chunks[:axis], rows, *array.chunks[axis + 1 :])
    return replace(array, chunks=chunks, pieces=pieces)


def places(counts: Shape) -> Iterator[Shape]:
    """The coordinates of all chunks, in C order."""
    return product(*map(range, counts))


def as_json(value: Any) -> Json:
    """An attribute of NumPy as JSON has it; a list of one element is that element, as netCDF
    has it. None for what has no such form."""
    if isinstance(value, bytes | np.bytes_):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.names is not None or value.dtype.kind in "Vc":
            return None
        items = [as_json(item) if isinstance(item, bytes | str) else item
                 for item in np.asarray(value).reshape(-1).tolist()]  # fmt: skip
        if not all(isinstance(item, str | int | float) for item in items):
            return None
        return items[0] if len(items) == 1 else items
    return value if isinstance(value, str | int | float | bool) else None
