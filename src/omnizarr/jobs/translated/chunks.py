"""One chunk of an array in another format: its bytes as they are stored, or encoded again.

This module knows chunks. It must not know which key was asked for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from itertools import islice
from math import prod
from typing import Any, NamedTuple

from omnizarr.codecs.conforming import conforms
from omnizarr.errors import ZarrError
from omnizarr.formats.base import Format
from omnizarr.formats.translation.chunk_bytes import same_grid
from omnizarr.jobs.conversion.regions import bounds_of, touched
from omnizarr.jobs.translated.cache import Made, Mark
from omnizarr.jobs.translated.nodes import TranslatedArray
from omnizarr.model.grids import Shape
from omnizarr.model.store import Buffer, ByteRange, Read, read_range
from omnizarr.stores import MemoryStore

LITTLE = 1 << 20
"""Of a chunk of so many bytes it is not asked beforehand whether it is stored."""
MOST_MARKS = 64
"""Of more chunks than these the versions are not asked for, to know whether they changed."""


class InMemory:
    """A value that is in memory, as a `VersionedRead`."""

    def __init__(self, value: Buffer | None, version: Hashable | None = None) -> None:
        self._value, self._version = value, version

    def __call__(self, byte_range: ByteRange | None, /) -> Buffer | None:
        return None if self._value is None else read_range(self._value, byte_range)

    @property
    def version(self) -> Hashable | None:
        if self._version is None and self._value is not None:
            self._version = Made.of(self._value).version
        return self._version

    @property
    def size(self) -> int | None:
        return None if self._value is None else len(self._value)

    def expect(self, version: Hashable, /) -> bool:
        return self.version == version


@contextmanager
def stored(array: TranslatedArray, coordinates: Shape) -> Iterator[Read | None]:
    """The stored bytes of a chunk that need not be encoded again; None where there are none, or
    where other readers would refuse their form."""
    source = array.source._source
    names = [source.key(coordinates), *source.alternative_keys(coordinates)]
    try:
        chain = source.chain_for(coordinates)
    except ZarrError:  # a codec that is not installed here may be where the bytes go
        chain = None
    if chain is None or chain.shard is not None:
        # Parts of shards are asked for, so that none is read as a whole to be looked at.
        present = len(names) == 1 and not array.filled
        name = next((name for name in names if present or source.store.exists(name)), None)
        if name is None:
            yield None
            return
        with source.store.snapshot(name) as read:
            yield read
        return
    for name in names:
        with source.store.snapshot(name) as read:
            value = read(source.most)
            if value is not None:
                source.check_length(value, name)
                sound = conforms(chain, value)
                yield InMemory(value, getattr(read, "version", None)) if sound else None
                return
    yield None


def mark(array: TranslatedArray, coordinates: Shape) -> Mark:
    """What tells whether a chunk that was encoded again is still that of the array."""
    source = array.source._source
    able = source.store.capabilities
    if not (able.versions or able.validators) or not all(source.model.shape):
        return Mark(array, None)
    region = bounds_of(array.model.grid, coordinates)
    places = list(islice(touched(source.model.grid, region), MOST_MARKS + 1))
    if len(places) > MOST_MARKS or source.model.keys.alternatives:
        return Mark(array, None)
    return Mark(array, tuple(source.store.version(source.key(place)) for place in places))


class Cost(NamedTuple):
    """What a value takes until it is sent."""

    nbytes: int
    """Of memory, about."""
    made: bool
    """It is encoded again, and not only read."""


FREE = Cost(0, False)


def cost(array: TranslatedArray, coordinates: Shape) -> Cost:
    """What a chunk costs, before any of it is read."""
    source, model = array.source._source, array.model
    decoded = prod(model.grid.shape_of(coordinates)) * model.dtype.itemsize
    nbytes = 2 * decoded  # as it is, and as it is encoded
    if not same_grid(source.model, model):
        nbytes += source.chunk_bytes
    if nbytes <= LITTLE:
        return Cost(nbytes, not array.copied)
    if array.copied:
        for name in (source.key(coordinates), *source.alternative_keys(coordinates)):
            size = source.store.size(name)
            if size is not None:
                return Cost(size, False)
    return FREE if missing(array, coordinates) else Cost(nbytes, True)


def missing(array: TranslatedArray, coordinates: Shape) -> bool:
    """Whether nothing is stored of a chunk, so that it need not be stored either."""
    source = array.source._source
    if array.filled or not all(source.model.shape):
        return False
    region = bounds_of(array.model.grid, coordinates)
    return not any(
        source.store.exists(name)
        for place in touched(source.model.grid, region)
        for name in (source.key(place), *source.alternative_keys(place))
    )


def encoded(array: TranslatedArray, path: str, target: Format, coordinates: Shape) -> Buffer | None:
    """A chunk as the target encodes it; None if it need not be stored."""
    if missing(array, coordinates):
        return None
    region: Any = bounds_of(array.model.grid, coordinates)
    scratch = MemoryStore()
    writer = array.writer(scratch, path, target)
    writer[region] = array.source.read((*region, ...))
    return scratch.get(writer._source.key(coordinates))
