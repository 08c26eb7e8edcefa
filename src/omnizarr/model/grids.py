"""Chunk grids: how an array's index space is cut into chunks.

A grid answers per dimension, with integers only, and never lists its chunks: an array of 10¹²
chunks costs as much as one of ten. `chunk_lengths`, for callers that need the list, is bounded.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr import limits
from omnizarr.errors import LimitError, MetadataError
from omnizarr.runtime.properties import cached_property

Shape = tuple[int, ...]
IntArray = npt.NDArray[np.intp]
NDArray = npt.NDArray[Any]
"""A NumPy array of any type; `omnizarr.Array` is a stored one."""

# Metadata may promise more than an index can hold; arithmetic on arrays must not overflow on it.
_LARGEST = int(np.iinfo(np.intp).max)


@dataclass(frozen=True, slots=True)
class RegularAxis:
    """One dimension of a grid, cut into equal chunks. The last one may overhang the array."""

    length: int
    chunk: int

    @property
    def count(self) -> int:
        """How many chunks cover the dimension."""
        return -(-self.length // self.chunk)

    def chunk_of(self, index: int) -> int:
        """The chunk that holds this index."""
        return index // self.chunk

    def chunks_of(self, indices: IntArray) -> IntArray:
        """The same for many indices at once."""
        return indices // min(self.chunk, _LARGEST)

    def start(self, chunk: int) -> int:
        """First index of a chunk."""
        return chunk * self.chunk

    def starts(self, chunks: IntArray) -> IntArray:
        """The same for many chunks at once."""
        return chunks * min(self.chunk, _LARGEST)

    def size(self, chunk: int) -> int:
        """Length of a chunk as it is encoded."""
        return self.chunk

    def sizes(self, chunks: IntArray) -> IntArray:
        """The same for many chunks at once."""
        return np.full(chunks.shape, min(self.chunk, _LARGEST), dtype=np.intp)


@dataclass(frozen=True)
class RectilinearAxis:
    """One dimension of a grid whose chunks have lengths of their own; see `RegularAxis`."""

    length: int
    edges: tuple[int, ...]
    """Length of each chunk."""

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """First index of each chunk, and the end of the last one."""
        return tuple(accumulate(self.edges, initial=0))

    @cached_property
    def _offset_array(self) -> IntArray:
        return np.array([min(offset, _LARGEST) for offset in self.offsets], dtype=np.intp)

    @cached_property
    def count(self) -> int:
        # Chunks that start beyond the array (after a shrink) are not part of it.
        return bisect_left(self.offsets, self.length, hi=len(self.edges))

    @cached_property
    def largest(self) -> int:
        """The longest chunk."""
        return max(self.edges, default=1)

    def chunk_of(self, index: int) -> int:
        return bisect_right(self.offsets, index) - 1

    def chunks_of(self, indices: IntArray) -> IntArray:
        return np.searchsorted(self._offset_array, indices, side="right") - 1

    def start(self, chunk: int) -> int:
        return self.offsets[chunk]

    def starts(self, chunks: IntArray) -> IntArray:
        return self._offset_array[chunks]

    def size(self, chunk: int) -> int:
        return self.edges[chunk]

    def sizes(self, chunks: IntArray) -> IntArray:
        return self._offset_array[chunks + 1] - self._offset_array[chunks]


Axis = RegularAxis | RectilinearAxis


@dataclass(frozen=True)
class Grid:
    """The grid of an array: one axis per dimension."""

    axes: tuple[Axis, ...]

    @cached_property
    def shape(self) -> Shape:
        """How many chunks there are along each dimension."""
        return tuple(axis.count for axis in self.axes)

    @cached_property
    def array_shape(self) -> Shape:
        """The shape of what the grid cuts."""
        return tuple(axis.length for axis in self.axes)

    @cached_property
    def regular(self) -> bool:
        return all(isinstance(axis, RegularAxis) for axis in self.axes)

    @cached_property
    def nchunks(self) -> int:
        return prod(self.shape)

    @cached_property
    def chunk_shape(self) -> Shape:
        """The shape that all chunks share; for a rectilinear grid, the largest of each axis."""
        return tuple(
            axis.chunk if isinstance(axis, RegularAxis) else axis.largest for axis in self.axes
        )

    @property
    def edges(self) -> tuple[int | tuple[int, ...], ...]:
        """The length of chunks along each dimension; where they differ, the lengths of all."""
        return tuple(
            axis.chunk if isinstance(axis, RegularAxis) else axis.edges for axis in self.axes
        )

    def shape_of(self, coordinates: Shape) -> Shape:
        """The shape of one chunk as it is encoded."""
        if self.regular:
            return self.chunk_shape
        return tuple(axis.size(chunk) for axis, chunk in zip(self.axes, coordinates, strict=True))

    def resized(self, shape: Shape, inner: Shape | None = None) -> Grid:
        """The same cuts over another array shape; a rectilinear axis grows by one chunk, which
        holds whole chunks of the shape `inner` where it is a shard."""
        axes: list[Axis] = []
        steps = (1,) * len(shape) if inner is None else inner
        for axis, length, step in zip(self.axes, shape, steps, strict=True):
            if isinstance(axis, RegularAxis):
                axes.append(RegularAxis(length, axis.chunk))
            else:
                missing = -(-(length - axis.offsets[-1]) // step) * step
                edges = axis.edges + ((missing,) if missing > 0 else ())
                axes.append(RectilinearAxis(length, edges))
        return Grid(tuple(axes))


def chunk_lengths(grid: Grid) -> tuple[Shape, ...]:
    """Length of every chunk along every dimension, cut at the end of the array."""
    count, most = sum(grid.shape), limits.current.max_requested_chunks
    if count > most:
        raise LimitError(
            f"an array of shape {grid.array_shape} with chunks {grid.chunk_shape} has {count} chunk"
            f" lengths to list; limits.max_requested_chunks allows {most}"
        ).advise("use larger chunks, or raise the limit if you trust the metadata")
    return tuple(map(_cut_lengths, grid.axes))


def _cut_lengths(axis: Axis) -> Shape:
    last = axis.count - 1
    if last < 0:
        return ()
    whole = (axis.chunk,) * last if isinstance(axis, RegularAxis) else axis.edges[:last]
    return (*whole, min(axis.size(last), axis.length - axis.start(last)))


def all_places(shape: Shape) -> Iterator[Shape]:
    """Every place of a grid in C order; `itertools.product` would keep all indices of each axis."""
    for number in range(prod(shape)):
        yield unravel(number, shape)


def unravel(number: int, shape: Shape) -> Shape:
    """The coordinates of a place that is counted in C order."""
    coordinates = []
    for length in reversed(shape):
        number, coordinate = divmod(number, length)
        coordinates.append(coordinate)
    return tuple(reversed(coordinates))


def same_cuts(one: Grid, other: Grid) -> bool:
    """Whether two grids cut what they both cover into the same chunks."""
    if len(one.axes) != len(other.axes):
        return False
    for a, b in zip(one.axes, other.axes, strict=True):
        if isinstance(a, RegularAxis) or isinstance(b, RegularAxis):
            if type(a) is not type(b) or a.size(0) != b.size(0):
                return False
        elif any(n != m for n, m in zip(a.edges, b.edges, strict=False)):
            return False
    return True


def regular_grid(shape: Shape, chunks: Shape) -> Grid:
    """A grid of equal chunks."""
    if len(shape) != len(chunks):
        raise MetadataError(
            f"chunk shape {chunks} has {len(chunks)} dimensions, the array {shape} has {len(shape)}"
        )
    for length in shape:
        if length < 0:
            raise MetadataError(f"array shape {shape} has a negative length")
    for length in chunks:
        if length < 1:
            raise MetadataError(f"chunk shape {chunks}: every chunk length must be at least 1")
    return Grid(tuple(map(RegularAxis, shape, chunks)))


def rectilinear_grid(shape: Shape, edges: tuple[int | tuple[int, ...], ...]) -> Grid:
    """A grid whose chunk lengths are listed per dimension; an int means equal chunks there."""
    if len(shape) != len(edges):
        raise MetadataError(f"chunk shapes for {len(edges)} dimensions, the array has {len(shape)}")
    axes: list[Axis] = []
    for dimension, (length, lengths) in enumerate(zip(shape, edges, strict=True)):
        if isinstance(lengths, int):
            axes.append(regular_grid((length,), (lengths,)).axes[0])
            continue
        if length < 0:
            raise MetadataError(f"array shape {shape} has a negative length")
        if any(edge < 1 for edge in lengths):
            raise MetadataError(f"dimension {dimension}: every chunk length must be at least 1")
        if (total := sum(lengths)) < length:
            raise MetadataError(
                f"dimension {dimension}: chunk lengths sum to {total}, the array has {length}"
            )
        axes.append(RectilinearAxis(length, tuple(lengths)))
    return Grid(tuple(axes))
