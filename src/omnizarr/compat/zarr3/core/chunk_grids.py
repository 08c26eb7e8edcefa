"""`ChunkGrid`: where each chunk of an array is.

The documents of chunk grids, which have no shape of an array, are in `core.metadata.grids`.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnizarr.compat.zarr3.core.common import ShapeLike, ceildiv, parse_shapelike
from omnizarr.compat.zarr3.core.metadata.grids import (
    RectilinearChunkGridMetadata,
    RegularChunkGridMetadata,
)

__all__ = ["ChunkGrid", "ChunkSpec", "RegularChunkGrid"]

RegularChunkGrid = RegularChunkGridMetadata
"""The name of zarr-python 3.0."""


@dataclass(frozen=True)
class ChunkSpec:
    """Where a chunk is, and the shape that is stored.

    Parameters
    ----------
    slices
        The elements of the array that the chunk has.
    codec_shape
        The stored shape, which is larger where the chunk reaches beyond the array.

    Examples
    --------
    >>> ChunkSpec((slice(8, 10),), (4,)).shape
    (2,)
    """

    slices: tuple[slice, ...]
    codec_shape: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of elements of the array along each dimension."""
        return tuple(part.stop - part.start for part in self.slices)

    @property
    def is_boundary(self) -> bool:
        """Whether the chunk reaches beyond the array."""
        return self.shape != self.codec_shape


@dataclass(frozen=True)
class _Axis:
    """One dimension: the length of every chunk, or the lengths of all of them."""

    size: int | tuple[int, ...]
    extent: int
    ends: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """Where the chunks end, if their lengths differ."""

    def __post_init__(self) -> None:
        lengths = (self.size,) if isinstance(self.size, int) else self.size
        object.__setattr__(self, "ends", tuple(itertools.accumulate(lengths)))
        if not lengths:
            raise ValueError("the chunk edges must not be empty; give a length for each chunk")
        if min(lengths) < 1:
            raise ValueError(f"All edge lengths must be > 0, got {self.size}")
        if not isinstance(self.size, int) and self.extent > self.ends[-1]:
            raise ValueError(f"the extent {self.extent} exceeds sum of edges {self.ends[-1]}")

    @property
    def count(self) -> int:
        """How many chunks have an element of the array."""
        if isinstance(self.size, int):
            return ceildiv(self.extent, self.size)
        return bisect_left(self.ends, self.extent) + 1 if self.extent else 0

    def part(self, number: int) -> tuple[slice, int]:
        """The elements of a chunk, and its stored length."""
        if isinstance(self.size, int):
            start, length = number * self.size, self.size
        else:
            start, length = self.ends[number] - self.size[number], self.size[number]
        return slice(start, min(start + length, self.extent), 1), length

    def resized(self, extent: int) -> _Axis:
        """With another length of the array; edges that no longer reach its end get one more."""
        grows = not isinstance(self.size, int) and extent > self.ends[-1]
        size = (*self.size, extent - self.ends[-1]) if grows else self.size  # type: ignore[misc]
        return _Axis(size, extent)


@dataclass(frozen=True, repr=False)
class ChunkGrid:
    """The chunks of an array: `grid[1, 0]` is one of them, iterating gives all.

    Parameters
    ----------
    axes
        The dimensions. Use `from_sizes` or `from_metadata`, which make them.

    Examples
    --------
    >>> grid = ChunkGrid.from_sizes((10, 5), (4, (2, 3)))
    >>> grid.chunk_sizes
    ((4, 4, 2), (2, 3))
    >>> grid[2, 1].slices
    (slice(8, 10, 1), slice(2, 5, 1))
    """

    axes: tuple[_Axis, ...]

    @classmethod
    def from_sizes(
        cls, array_shape: ShapeLike, chunk_sizes: Sequence[int | Sequence[int]]
    ) -> ChunkGrid:
        """Make the grid of an array.

        Parameters
        ----------
        array_shape
            The shape of the array.
        chunk_sizes
            For each dimension the length of every chunk, or the lengths of all of them.

        Raises
        ------
        ValueError
            If they do not fit.
        """
        shape = parse_shapelike(array_shape)
        if len(shape) != len(chunk_sizes):
            raise ValueError(
                f"array_shape has {len(shape)} dimensions but chunk_sizes has"
                f" {len(chunk_sizes)} dimensions"
            )
        sizes = (size if isinstance(size, int) else tuple(size) for size in chunk_sizes)
        return cls(tuple(map(_Axis, sizes, shape)))

    @classmethod
    def from_metadata(cls, metadata: Any) -> ChunkGrid:
        """Make the grid of an array from its `metadata`."""
        grid = getattr(metadata, "chunk_grid", None)
        if grid is None:  # a document without one has chunks of one shape
            return cls.from_sizes(metadata.shape, metadata.chunks)
        if isinstance(grid, RegularChunkGridMetadata):
            return cls.from_sizes(metadata.shape, grid.chunk_shape)
        if isinstance(grid, RectilinearChunkGridMetadata):
            return cls.from_sizes(metadata.shape, grid.chunk_shapes)
        raise TypeError(f"Unknown chunk grid metadata type: {type(grid)}")

    def __repr__(self) -> str:
        sizes = ", ".join(str(axis.size) for axis in self.axes)
        shape = tuple(axis.extent for axis in self.axes)
        return f"ChunkGrid(chunk_sizes=({sizes}), array_shape={shape})"

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.axes)

    @property
    def is_regular(self) -> bool:
        """Whether all chunks have one shape."""
        return all(isinstance(axis.size, int) for axis in self.axes)

    @property
    def grid_shape(self) -> tuple[int, ...]:
        """Number of chunks along each dimension."""
        return tuple(axis.count for axis in self.axes)

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """The shape of every chunk; a ValueError where they have several."""
        sizes = tuple(axis.size for axis in self.axes if isinstance(axis.size, int))
        if len(sizes) != self.ndim:
            raise ValueError(
                "chunk_shape is only available for regular chunk grids; index the grid for the"
                " shape of one chunk"
            )
        return sizes

    @property
    def chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Number of elements of every chunk along each dimension, like Dask's `chunks`."""
        parts = ((axis.part(i)[0] for i in range(axis.count)) for axis in self.axes)
        return tuple(tuple(part.stop - part.start for part in axis) for axis in parts)

    def __getitem__(self, coords: int | tuple[int, ...]) -> ChunkSpec | None:
        place = (coords,) if isinstance(coords, int) else coords
        if len(place) != self.ndim:
            raise ValueError(
                f"Expected {self.ndim} coordinate(s) for a {self.ndim}-d chunk grid,"
                f" got {len(place)}."
            )
        if not all(0 <= i < axis.count for i, axis in zip(place, self.axes, strict=True)):
            return None
        parts = [axis.part(i) for i, axis in zip(place, self.axes, strict=True)]
        return ChunkSpec(tuple(part for part, _ in parts), tuple(length for _, length in parts))

    def __iter__(self) -> Iterator[ChunkSpec]:
        return (spec for place in self.all_chunk_coords() if (spec := self[place]) is not None)

    def all_chunk_coords(
        self, *, origin: Sequence[int] | None = None, selection_shape: Sequence[int] | None = None
    ) -> Iterator[tuple[int, ...]]:
        """Iterate over the places of chunks.

        Parameters
        ----------
        origin
            The first place.
        selection_shape
            How many chunks along each dimension; None: all from there.

        Raises
        ------
        IndexError
            If there are not so many.
        """
        first = tuple(origin) if origin is not None else (0,) * self.ndim
        rest = tuple(count - start for count, start in zip(self.grid_shape, first, strict=True))
        wanted = rest if selection_shape is None else tuple(selection_shape)
        for axis, (number, most) in enumerate(zip(wanted, rest, strict=True)):
            if number > most:
                raise IndexError(
                    f"Invalid selection shape ({number}) at axis {axis}: from {first[axis]} there"
                    f" are {most} chunks"
                )
        return itertools.product(
            *(range(start, start + number) for start, number in zip(first, wanted, strict=True))
        )

    def iter_chunk_regions(
        self, *, origin: Sequence[int] | None = None, selection_shape: Sequence[int] | None = None
    ) -> Iterator[tuple[slice, ...]]:
        """Iterate over the elements of chunks; the arguments are those of `all_chunk_coords`."""
        for place in self.all_chunk_coords(origin=origin, selection_shape=selection_shape):
            spec = self[place]
            if spec is not None:
                yield spec.slices

    def get_nchunks(self) -> int:
        """Return the number of chunks."""
        return math.prod(self.grid_shape)

    def update_shape(self, new_shape: tuple[int, ...]) -> ChunkGrid:
        """Return the grid of the array after it was resized."""
        if len(new_shape) != self.ndim:
            raise ValueError(
                f"new_shape has {len(new_shape)} dimensions but chunk grid has {self.ndim}"
                " dimensions"
            )
        resized = zip(self.axes, new_shape, strict=True)
        return ChunkGrid(tuple(axis.resized(extent) for axis, extent in resized))
