"""The chunks of one array as work: which are stored, and in what portions they are converted.

Chunks are found by listing, so that a sparse array of 10¹² chunks costs what is stored of it. A
listing is taken once, nine bytes for each chunk, and has a digest, so that a worker knows that it
is the planned one. Portions are numbered; the same listing gives the same
portions every time, so that a journal can name them. Two kinds: *copying* stored values under their
new keys, and *encoding* regions again, each aligned with what the destination writes as one value.

This module knows grids and keys. It must not read or write a chunk.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from typing import NamedTuple, TypeVar

import numpy as np

from omnizarr.engine import Source
from omnizarr.errors import StoreError, UnsupportedError
from omnizarr.jobs.conversion.regions import Region, bounds_of, count_touched, touched
from omnizarr.model.grids import Grid, RegularAxis, Shape, all_places, unravel
from omnizarr.model.keys import ChunkKeys
from omnizarr.nodes.data.stored_chunks import spelled

TASK_BYTES = 4 << 20
"""Small chunks are taken together until about this much is in one portion. It is part of what a
journal means: another number would give other portions."""
MOST_CHUNKS = 64
REGION_BYTES = 32 << 20
"""Several destination chunks are written together up to this size."""
_FITS = 1 << 62

T = TypeVar("T")


class Copying(NamedTuple):
    """Stored values, their coordinates, and the keys that they get."""

    number: int
    keys: tuple[tuple[str, Shape, str], ...]

    @property
    def units(self) -> int:
        return len(self.keys)


class Encoding(NamedTuple):
    """Regions to read and to write again."""

    number: int
    regions: tuple[Region, ...]
    stored: tuple[int, ...]
    """How many stored chunks of the source each region touches."""

    @property
    def units(self) -> int:
        return len(self.regions)


Portion = Copying | Encoding


def is_whole(portion: Portion, target: Source) -> bool:
    """Whether every chunk that a portion can write is stored at the destination. Chunks of nothing
    but fill values are not written, so a complete portion may look incomplete."""
    if isinstance(portion, Copying):
        keys: Iterable[str] = (new for _, _, new in portion.keys)
    else:
        grid = target.model.grid
        keys = (target.key(at) for region in portion.regions for at in touched(grid, region))
    return all(target.store.exists(key) for key in keys)


def stored_chunks(source: Source) -> Iterator[tuple[str, Shape, int]]:
    """Key, grid coordinates and spelling (0 for the array's own, else that of the alternatives) of
    every stored chunk, in the order of the store's listing.

    Chunks outside the grid (after a shrink) are not part of the array. Where a chunk is stored
    under two spellings of its key, the one that is read is the one that counts."""
    store, model, prefix = source.store, source.model, source.prefix
    if not store.capabilities.listable:
        raise StoreError(
            f"{store!r} cannot be listed, so its chunks are unknown; convert from a store that can"
        )
    encoders = [keys.encoder(model.ndim) for keys in (model.keys, *model.keys.alternatives)]
    for key, coordinates, number in spelled(store, prefix, model):
        inside = all(c < n for c, n in zip(coordinates, model.grid.shape, strict=True))
        preferred = (prefix + encode(coordinates) for encode in encoders[:number])
        if inside and not any(map(store.exists, preferred)):
            yield key, coordinates, number


class Listed:
    """One listing of the stored chunks of an array, in the store's order.

    `digest` is that of their keys and, where the store knows them without reading, their sizes.
    With `sized=False` sizes are never asked for: the size of a damaged value may be an error."""

    def __init__(self, source: Source, *, sized: bool = True) -> None:
        self.source = source
        self._shape = source.model.grid.shape
        self._numbers: array[int] | None = array("q") if prod(self._shape) < _FITS else None
        self._coordinates: list[Shape] = []
        self._spellings = bytearray()
        summary = hashlib.sha256()
        sized = sized and source.store.capabilities.known_sizes
        for key, coordinates, place in stored_chunks(source):
            size = source.store.size(key) if sized else None
            summary.update(f"{key}\n{size}\n".encode())
            self._spellings.append(place)
            if self._numbers is None:
                self._coordinates.append(coordinates)
            else:
                self._numbers.append(_ravel(coordinates, self._shape))
        self.digest = summary.hexdigest()

    def __len__(self) -> int:
        return len(self._spellings)

    @property
    def complete(self) -> bool:
        """Whether every chunk is stored."""
        return len(self) == prod(self._shape)

    def __iter__(self) -> Iterator[Shape]:
        if self._numbers is None:
            return iter(self._coordinates)
        return (unravel(number, self._shape) for number in self._numbers)

    def located(self) -> Iterator[tuple[str, Shape]]:
        """Each chunk's key and coordinates."""
        source, model = self.source, self.source.model
        encoders = [keys.encoder(model.ndim) for keys in (model.keys, *model.keys.alternatives)]
        for coordinates, place in zip(self, self._spellings, strict=True):
            yield source.prefix + encoders[place](coordinates), coordinates


def spelling(source: Source) -> ChunkKeys:
    """The one way in which the keys of all stored chunks are written."""
    model = source.model
    plain = replace(model.keys, alternatives=())
    if not model.keys.alternatives:
        return plain
    used: dict[ChunkKeys, str] = {}
    spellings = (plain, *model.keys.alternatives)
    for key, _, place in stored_chunks(source):
        used.setdefault(spellings[place], key)
    if len(used) > 1:
        raise UnsupportedError(
            "the keys of its chunks are spelled in two ways,"
            f" {' and '.join(repr(key) for key in used.values())}"
        ).advise("give a destination")
    return next(iter(used), plain)


@dataclass(frozen=True)
class Blocks:
    """The destination's grid, `factors` chunks of each axis taken together."""

    grid: Grid
    factors: Shape

    @property
    def shape(self) -> Shape:
        return tuple(
            -(-axis.count // factor)
            for axis, factor in zip(self.grid.axes, self.factors, strict=True)
        )

    @property
    def nbytes_factor(self) -> int:
        return prod(self.factors)

    def region(self, coordinates: Shape) -> Region:
        """What a block holds of the array."""
        last = (
            min((block + 1) * factor, axis.count) - 1
            for axis, factor, block in zip(self.grid.axes, self.factors, coordinates, strict=True)
        )
        first = (block * factor for block, factor in zip(coordinates, self.factors, strict=True))
        ends = zip(bounds_of(self.grid, first), bounds_of(self.grid, last), strict=True)
        return tuple(slice(start.start, stop.stop) for start, stop in ends)

    def touching(self, source: Grid, coordinates: Shape) -> Iterator[Shape]:
        """The blocks that share an element with a chunk of another grid over the same array."""
        return touched(self.grid, bounds_of(source, coordinates), self.factors)


def blocks_for(source: Grid, unit: Shape, target: Grid, itemsize: int) -> Blocks:
    """Blocks of up to the size of a `unit` that is written at once, where memory allows. For what
    is read from chunks of another shape, see `rechunking.planner`."""
    factors = [1] * len(target.axes)
    nbytes = prod(target.chunk_shape) * max(1, itemsize)
    if source.regular and target.regular:
        for dimension in reversed(range(len(factors))):
            axis = target.axes[dimension]
            assert isinstance(axis, RegularAxis)
            wanted = min(-(-unit[dimension] // axis.chunk), max(1, axis.count))
            room = max(1, REGION_BYTES // max(1, nbytes))
            factors[dimension] = max(1, min(wanted, room))
            nbytes *= factors[dimension]
    return Blocks(target, tuple(factors))


def stored_blocks(listed: Listed, blocks: Blocks) -> Iterator[tuple[Shape, int]]:
    """The blocks that hold anything of a stored source chunk, each once, with the number of those
    chunks."""
    grid = listed.source.model.grid
    if grid == blocks.grid and blocks.nbytes_factor == 1:
        for coordinates in listed:
            yield coordinates, 1
        return
    shape = blocks.shape
    if listed.complete:
        for block in all_places(shape):
            yield block, count_touched(grid, blocks.region(block))
        return
    found = (block for coordinates in listed for block in blocks.touching(grid, coordinates))
    if prod(shape) >= _FITS:
        yield from sorted(Counter(found).items())
        return
    numbers = np.fromiter((_ravel(block, shape) for block in found), np.int64)
    for number, count in zip(*np.unique(numbers, return_counts=True), strict=True):
        yield unravel(int(number), shape), int(count)


def count_stored_blocks(listed: Listed, blocks: Blocks) -> tuple[int, int]:
    """How many blocks hold anything of a stored source chunk, and of how many chunks they are."""
    if listed.complete:
        return prod(blocks.shape), blocks.grid.nchunks
    count = chunks = 0
    for block, _ in stored_blocks(listed, blocks):
        count += 1
        chunks += count_touched(blocks.grid, blocks.region(block))
    return count, chunks


class WrittenBlocks:
    """The blocks that the pass before has written, every chunk in them: those that hold anything of
    a stored chunk of `listed`."""

    def __init__(self, listed: Listed, blocks: Blocks) -> None:
        self._blocks = blocks
        self._written: set[Shape] | None = None
        if not listed.complete:
            self._written = {block for block, _ in stored_blocks(listed, blocks)}

    def count(self, region: Region) -> int:
        """How many written chunks a region touches."""
        grid, factors = self._blocks.grid, self._blocks.factors
        if self._written is None:
            return count_touched(grid, region)
        blocks = (
            tuple(at // n for at, n in zip(chunk, factors, strict=True))
            for chunk in touched(grid, region)
        )
        return sum(block in self._written for block in blocks)


def _ravel(coordinates: Shape, shape: Shape) -> int:
    number = 0
    for coordinate, length in zip(coordinates, shape, strict=True):
        number = number * length + coordinate
    return number


def per_portion(nbytes: int, values: int = 1) -> int:
    """How many chunks, or regions, go into one portion: of so many bytes each, and so many stored
    values that are read or written for it."""
    return max(1, min(MOST_CHUNKS // max(1, values), TASK_BYTES // max(1, nbytes)))


def copying(listed: Listed, target: Source) -> Iterator[Copying]:
    """Every stored chunk with the key that it gets."""
    chunks = ((key, coordinates, target.key(coordinates)) for key, coordinates in listed.located())
    for number, portion in enumerate(portions(chunks, per_portion(listed.source.chunk_bytes))):
        yield Copying(number, portion)


def encoding(
    listed: Listed,
    blocks: Blocks,
    size: int,
    *,
    everything: bool = False,
    before: WrittenBlocks | None = None,
) -> Iterator[Encoding]:
    """The regions that hold stored chunks, or `everything`. What is read is the listed array or,
    behind another pass, what that one has written."""
    chosen = stored_blocks(listed, blocks)
    if everything:
        stored = dict(chosen)
        chosen = ((block, stored.get(block, 0)) for block in all_places(blocks.shape))
    for number, portion in enumerate(portions(chosen, size)):
        regions = tuple(blocks.region(block) for block, _ in portion)
        counts = tuple(count for _, count in portion)
        if before is not None:
            counts = tuple(map(before.count, regions))
        yield Encoding(number, regions, counts)


def portions(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    """The items, `size` at a time."""
    iterator = iter(items)
    while portion := tuple(islice(iterator, size)):
        yield portion
