"""What is stored of an array, and its regions one after another: for commands that stream.

This module knows chunk grids. It must not know what is done with the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, product
from math import prod
from typing import Any, NamedTuple

from omnizarr.runtime import parallel

MOST_BYTES = 32 << 20
"""A region is read in parts of about this many bytes where a chunk or shard is larger."""
_MOST_CHUNKS = 1000
"""And of no more values than this many chunks have."""
Region = tuple[slice, ...]


class StoredChunk(NamedTuple):
    """A chunk, or shard, as it is stored."""

    coordinates: tuple[int, ...]
    key: str
    nbytes: int


def stored_chunks(array: Any) -> list[StoredChunk]:
    """Every stored chunk (or shard) of the grid with its size, in the order of the grid."""
    grid = Grid(array)
    found = {
        coordinates: key
        for key, coordinates in array._stored_chunks()
        if all(c < n for c, n in zip(coordinates, grid.shape, strict=True))
    }
    places = sorted(found)
    store = array.chunk_store
    sizes = parallel.each(
        store.size, [found[each] for each in places], max(1, store.capabilities.requests)
    )
    return [
        StoredChunk(each, found[each], size or 0) for each, size in zip(places, sizes, strict=True)
    ]


class Grid:
    """The grid of what is stored as one value: chunks, or shards where there are shards."""

    def __init__(self, array: Any) -> None:
        self.lengths = array.shape
        self.edges = array.shards or array.chunks
        self._starts: list[tuple[int, ...] | None] = [
            (0, *accumulate(edge)) if isinstance(edge, tuple) else None for edge in self.edges
        ]
        self.shape = tuple(
            -(-n // edge) if isinstance(edge, int) else sum(s < n for s in (starts or ())[:-1])
            for n, edge, starts in zip(self.lengths, self.edges, self._starts, strict=True)
        )

    @property
    def count(self) -> int:
        return prod(self.shape)

    def region(self, coordinates: tuple[int, ...]) -> Region:
        """The part of the array that a chunk has."""
        return tuple(map(self._slice, range(len(coordinates)), coordinates))

    def _slice(self, axis: int, number: int) -> slice:
        edge, starts = self.edges[axis], self._starts[axis]
        if starts is None:
            first, last = number * edge, (number + 1) * edge
        else:
            first, last = starts[number], starts[number + 1]
        return slice(first, min(last, self.lengths[axis]))

    def all(self) -> Iterator[tuple[int, ...]]:
        """The coordinates of every chunk, one after another."""
        return _product(self.shape)

    def unravelled(self, number: int) -> tuple[int, ...]:
        """The coordinates of a chunk by its number in the order of the grid."""
        found = []
        for length in reversed(self.shape):
            number, place = divmod(number, length)
            found.append(place)
        return tuple(reversed(found))


def _product(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """As `itertools.product` of ranges, which would keep every number of each of them."""
    if not shape:
        yield ()
        return
    if max(shape) < 1 << 16:
        yield from product(*map(range, shape))
        return
    for first in range(shape[0]):
        for rest in _product(shape[1:]):
            yield (first, *rest)


def size(region: Region) -> int:
    """How many values a region has."""
    return prod(each.stop - each.start for each in region)


def parts(region: Region, itemsize: int, unit: tuple[Any, ...] = ()) -> Iterator[Region]:
    """The region in parts of some megabytes, in C order: the values of one part after another are
    those of the region. `unit`: chunk lengths that a part should have a multiple of."""
    most = max(MOST_BYTES // max(itemsize, 1), 1)
    whole = [each if isinstance(each, int) else 1 for each in unit]
    if whole:
        most = min(most, _MOST_CHUNKS * prod(whole))
    if size(region) <= most:
        yield region
        return
    axis = 0
    while size(region[axis + 1 :]) > most:
        axis += 1
    step = max(most // max(size(region[axis + 1 :]), 1), 1)
    chunk = whole[axis] if whole else 1
    step = max(step - step % chunk, 1) if step >= chunk else step
    for place in _product(tuple(each.stop - each.start for each in region[:axis])):
        before = [each.start + number for each, number in zip(region, place, strict=False)]
        for start in range(region[axis].start, region[axis].stop, step):
            yield (
                *(slice(index, index + 1) for index in before),
                slice(start, min(start + step, region[axis].stop)),
                *region[axis + 1 :],
            )


def itemsize(array: Any) -> int:
    """Bytes of one value in memory, roughly where they differ."""
    return 64 if array.dtype.kind in "OT" else int(array.dtype.itemsize)
