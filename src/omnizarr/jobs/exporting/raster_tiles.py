"""The tiles of an image in the order of TIFF, read from an array in parts that fit its chunks and
the memory.

This module knows arrays and tiles. It must not know tags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from omnizarr.engine import threads
from omnizarr.model.grids import NDArray, Shape
from omnizarr.nodes.array import Array

Advance = Callable[[int, int, str], object]
USUAL_MEMORY = 256 << 20
_BUFFER = 16 << 20


class Image(NamedTuple):
    """Which axes of an array are rows and columns, and which hold the samples of a pixel."""

    array: Array
    rows: int
    columns: int
    samples: int | None = None
    """The axis of samples, where these lie together in a pixel."""

    @property
    def leading(self) -> tuple[int, ...]:
        """All other axes, of which each combination is a plane."""
        known = {self.rows, self.columns, self.samples}
        return tuple(axis for axis in range(self.array.ndim) if axis not in known)

    @property
    def size(self) -> tuple[int, int]:
        return self.array.shape[self.rows], self.array.shape[self.columns]

    @property
    def depth(self) -> int:
        """Samples that lie together."""
        return 1 if self.samples is None else self.array.shape[self.samples]

    @property
    def planes(self) -> Iterator[Shape]:
        return product(*(range(self.array.shape[axis]) for axis in self.leading))

    @property
    def plane_count(self) -> int:
        return prod(self.array.shape[axis] for axis in self.leading)

    def read(self, plane: Sequence[int], rows: slice, columns: slice) -> NDArray:
        """A part of a plane: rows, columns, and samples if there are any."""
        key: list[Any] = [slice(None)] * self.array.ndim
        for axis, index in zip(self.leading, plane, strict=True):
            key[axis] = index
        key[self.rows], key[self.columns] = rows, columns
        found = np.asarray(self.array[tuple(key)])
        kept = [axis for axis in range(self.array.ndim) if axis not in self.leading]
        order = [self.rows, self.columns, *([] if self.samples is None else [self.samples])]
        return found.transpose([kept.index(axis) for axis in order])


def steps(image: Image, tile: int, max_memory: int | None) -> tuple[int, int]:
    """Rows and columns that are read at once: whole chunks if they fit, and whole tiles."""
    width = image.size[1]
    across = -(-width // tile) * tile
    pixel = max(1, image.array.dtype.itemsize * image.depth)
    most = (max_memory or USUAL_MEMORY) // pixel
    chunk = image.array.write_chunk_sizes[image.rows]
    wanted = max(tile, -(-max(chunk, default=1) // tile) * tile)
    if tile * across > most:
        return tile, max(1, most // (tile * tile)) * tile
    return min(wanted, max(1, most // (across * tile)) * tile), across


def tiles(
    image: Image, tile: int, dtype: np.dtype[Any], advance: Advance, label: str,
    max_memory: int | None = None,
) -> Iterator[NDArray]:  # fmt: skip
    """All tiles, plane by plane, row by row; those at the edges are filled up with zeros."""
    for plane in image.planes:
        for _, _, values in parts(image, tile, plane, max_memory):
            advance(1, values.nbytes, label)  # tifffile stops after the last tile
            height, width = values.shape[:2]
            for top, left in product(range(0, height, tile), range(0, width, tile)):
                part = values[top : top + tile, left : left + tile].astype(dtype, copy=False)
                if part.shape[:2] != (tile, tile):
                    whole = np.zeros((tile, tile, *part.shape[2:]), dtype)
                    whole[: part.shape[0], : part.shape[1]] = part
                    part = whole
                yield np.ascontiguousarray(part)


def parts(
    image: Image, tile: int, plane: Shape, max_memory: int | None
) -> Iterator[tuple[slice, slice, NDArray]]:
    """A plane in parts. A part is whole rows of tiles, or a part of one row of tiles."""
    height, width = image.size
    down, across = steps(image, tile, max_memory)
    for top, left in product(range(0, height, down), range(0, width, across)):
        rows, columns = slice(top, min(top + down, height)), slice(left, min(left + across, width))
        yield rows, columns, image.read(plane, rows, columns)


def crew(compression: str | None) -> dict[str, int]:
    """How many threads of tifffile compress tiles, and how many bytes of tiles wait for them."""
    return {"maxworkers": threads.available() if compression else 1, "buffersize": _BUFFER}


def part_count(image: Image, tile: int, max_memory: int | None) -> int:
    """How many parts all planes have."""
    height, width = image.size
    down, across = steps(image, tile, max_memory)
    return image.plane_count * -(-height // down) * -(-width // across)


def unequal(
    pages: Iterable[Any], image: Image, tile: int, advance: Advance, max_memory: int | None
) -> Iterator[str]:
    """Where the tiles of pages, as tifffile reads them, are not those of an image."""
    label = image.array.path or "/"
    wanted = tiles(image, tile, image.array.dtype, advance, label, max_memory)
    count = 0
    for page in pages:
        for found, index, shape in page.segments(maxworkers=1, buffersize=_BUFFER):
            count += 1
            values = next(wanted, None)
            _, height, width = shape[:3]
            if values is None or found is None:
                yield f"{label}: a tile is missing, or is too many"
                return
            told = values[:height, :width]
            read = np.asarray(found).reshape(-1, *found.shape[1:])[0][:height, :width]
            read = read.reshape(told.shape).astype(told.dtype, copy=False)
            if not np.array_equal(read, told, equal_nan=told.dtype.kind in "fc"):
                yield f"{label}: values differ in the tile {index}"
    if next(wanted, None) is not None:
        yield f"{label}: {count} tiles, there are more in the array"
