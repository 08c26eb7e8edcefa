"""The chunks of one array as work: which are stored, and in what portions they are converted.

Chunks are found by listing, so that a sparse array of 10¹² chunks costs what is stored of it.
Portions are numbered; the same array gives the same portions every time, so that a journal can name
them. Two kinds: *copying* stored values under their new keys, and *encoding* regions again, each
aligned with what the destination writes as one value.

This module knows grids and keys. It must not read or write a chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, product
from math import prod
from typing import NamedTuple, TypeVar

import numpy as np

from omnizarr.engine import Source
from omnizarr.errors import StoreError, UnsupportedError
from omnizarr.model.grids import Grid, RegularAxis, Shape
from omnizarr.model.keys import ChunkKeys
from omnizarr.model.store import keys_at

TASK_BYTES = 4 << 20
"""Small chunks are taken together until about this much is in one portion. It is part of what a
journal means: another number would give other portions."""
MOST_CHUNKS = 64
REGION_BYTES = 32 << 20
"""Several destination chunks that lie in one source chunk are written together up to this size."""
_FITS = 1 << 62

T = TypeVar("T")
Region = tuple[slice, ...]


class Copying(NamedTuple):
    """Stored values and the keys that they get."""

    number: int
    keys: tuple[tuple[str, str], ...]

    @property
    def units(self) -> int:
        return len(self.keys)


class Encoding(NamedTuple):
    """Regions to read and to write again."""

    number: int
    regions: tuple[Region, ...]

    @property
    def units(self) -> int:
        return len(self.regions)


Portion = Copying | Encoding


def stored_chunks(source: Source) -> Iterator[tuple[str, Shape]]:
    """Key and grid coordinates of every stored chunk, in the order of the store's listing.

    What lies outside the grid (after a shrink) is not part of the array. Where a chunk is stored
    under two spellings of its key, the one that is read is the one that counts."""
    store, model, prefix = source.store, source.model, source.prefix
    if not store.capabilities.listable:
        raise StoreError(
            f"{store!r} cannot be listed, so nobody knows which chunks it holds; convert from a"
            " store that can"
        )
    spellings = (model.keys, *model.keys.alternatives)
    encoders = [keys.encoder(model.ndim) for keys in spellings]
    counts = model.grid.shape
    for key in keys_at(store, prefix):
        name = key[len(prefix) :]
        for place, keys in enumerate(spellings):
            coordinates = keys.decode(name, model.ndim)
            if coordinates is None:
                continue
            inside = all(c < n for c, n in zip(coordinates, counts, strict=True))
            if inside and not any(
                store.exists(prefix + encode(coordinates)) for encode in encoders[:place]
            ):
                yield key, coordinates
            break


def spelling(source: Source) -> ChunkKeys:
    """The one way in which the keys of all stored chunks are written."""
    model = source.model
    plain = replace(model.keys, alternatives=())
    if not model.keys.alternatives:
        return plain
    used: dict[ChunkKeys, str] = {}
    for key, _ in stored_chunks(source):
        name = key[len(source.prefix) :]
        for keys in (plain, *model.keys.alternatives):
            if keys.decode(name, model.ndim) is not None:
                used.setdefault(keys, key)
                break
    if len(used) > 1:
        raise UnsupportedError(
            "the keys of its chunks are spelled in two ways,"
            f" {' and '.join(repr(key) for key in used.values())}; give a destination"
        )
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
        bounds = []
        for axis, factor, block in zip(self.grid.axes, self.factors, coordinates, strict=True):
            last = min((block + 1) * factor, axis.count) - 1
            stop = min(axis.start(last) + axis.size(last), axis.length)
            bounds.append(slice(axis.start(block * factor), stop))
        return tuple(bounds)

    def touching(self, source: Grid, coordinates: Shape) -> Iterator[Shape]:
        """The blocks that share an element with a chunk of another grid over the same array."""
        ranges = []
        for axis, factor, other, chunk in zip(
            self.grid.axes, self.factors, source.axes, coordinates, strict=True
        ):
            start = other.start(chunk)
            stop = min(start + other.size(chunk), other.length)
            first, last = axis.chunk_of(start) // factor, axis.chunk_of(stop - 1) // factor
            ranges.append(range(first, last + 1))
        return product(*ranges)


def blocks_for(source: Grid, unit: Shape, target: Grid, itemsize: int) -> Blocks:
    """Blocks as large as what is decoded at once on the source's side (`unit`), where memory
    allows, so that no source chunk is decoded for every destination chunk in it."""
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


def stored_blocks(source: Source, blocks: Blocks) -> Iterator[Shape]:
    """The blocks that hold anything of a stored source chunk, each once."""
    grid = source.model.grid
    if grid == blocks.grid and blocks.nbytes_factor == 1:
        for _, coordinates in stored_chunks(source):
            yield coordinates
        return
    found = (
        block
        for _, coordinates in stored_chunks(source)
        for block in blocks.touching(grid, coordinates)
    )
    shape = blocks.shape
    if prod(shape) >= _FITS:
        yield from sorted(set(found))
        return
    numbers = np.fromiter((_ravel(block, shape) for block in found), np.int64)
    for number in np.unique(numbers):
        yield _unravel(int(number), shape)


def all_blocks(blocks: Blocks) -> Iterator[Shape]:
    shape = blocks.shape
    for number in range(prod(shape)):
        yield _unravel(number, shape)


def _ravel(coordinates: Shape, shape: Shape) -> int:
    number = 0
    for coordinate, length in zip(coordinates, shape, strict=True):
        number = number * length + coordinate
    return number


def _unravel(number: int, shape: Shape) -> Shape:
    coordinates = []
    for length in reversed(shape):
        number, coordinate = divmod(number, length)
        coordinates.append(coordinate)
    return tuple(reversed(coordinates))


def per_portion(nbytes: int) -> int:
    """How many chunks of this size go into one portion."""
    return max(1, min(MOST_CHUNKS, TASK_BYTES // max(1, nbytes)))


def copying(source: Source, target: Source) -> Iterator[Copying]:
    """Every stored chunk with the key that it gets."""
    pairs = ((key, target.key(coordinates)) for key, coordinates in stored_chunks(source))
    for number, portion in enumerate(_portions(pairs, per_portion(source.chunk_bytes))):
        yield Copying(number, portion)


def encoding(
    source: Source, target: Source, blocks: Blocks, *, everything: bool
) -> Iterator[Encoding]:
    """The regions that hold stored chunks, or `everything`."""
    chosen = all_blocks(blocks) if everything else stored_blocks(source, blocks)
    size = per_portion(target.chunk_bytes * blocks.nbytes_factor)
    for number, portion in enumerate(_portions(map(blocks.region, chosen), size)):
        yield Encoding(number, portion)


def _portions(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    iterator = iter(items)
    while portion := tuple(islice(iterator, size)):
        yield portion
