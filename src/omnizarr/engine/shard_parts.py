"""Reading parts of a shard: its index, then the byte ranges of the inner chunks that are wanted.

Ranges that are close together are merged and fetched at once. All ranges are of one version of the
shard; if it was replaced meanwhile, it is read anew.

The native core decodes the inner chunks of many ranges in one call. Those that it leaves, and all
of them without it, are decoded one by one.

This module knows one shard. It must not know which shards there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr import limits
from omnizarr.codecs import Scratch
from omnizarr.codecs.sharding import MISSING
from omnizarr.engine import pipeline, shard_indexes, threads
from omnizarr.engine.chunk_source import Source
from omnizarr.engine.decoding import Target, decode_part
from omnizarr.engine.native_plans import SKIPPED, Ranges, Selected
from omnizarr.engine.pipeline import Amounts
from omnizarr.errors import DecodeError, ValueChangedError, ZarrError
from omnizarr.indexing import ChunkPart, refine
from omnizarr.model.store import Buffer, ByteRange, Read
from omnizarr.runtime import parallel

Integers = npt.NDArray[np.int64]

ATTEMPTS = 12
"""How often a shard that was replaced meanwhile is read again, with growing pauses."""
FEW_ATTEMPTS = 3
"""The same for one that fits into the scratch: it is then read whole, which is one request."""


def read_parts(
    source: Source,
    part: ChunkPart,
    working: Target,
    key: str,
    native: Selected | None,
    workers: int,
) -> bool:
    """Read the inner chunks that a part needs; False if there is no such shard."""
    fits = source.chunk_bytes <= limits.current.scratch_bytes
    attempts = FEW_ATTEMPTS if fits else ATTEMPTS
    for attempt in range(attempts):
        try:
            with source.store.snapshot(key) as read:
                return _Parts(source, part, working, native, read).read(key, workers)
        except ValueChangedError:
            shard_indexes.forget(source.store, key)
            if attempt == attempts - 1:
                raise
        parallel.pause(0.001 * 2**attempt)
    raise AssertionError("unreachable")


class _Group(NamedTuple):
    """Inner chunks whose bytes are read at once."""

    start: int
    stop: int
    entries: Integers
    """Their numbers in the index, by their offset."""


class _Parts:
    """One version of a shard."""

    def __init__(
        self,
        source: Source,
        part: ChunkPart,
        working: Target,
        native: Selected | None,
        read: Read,
    ) -> None:
        shard = source.chain_for(part.coordinates).shard
        assert shard is not None
        self._source, self._part, self._working = source, part, working
        self._native, self._read, self._shard = native, read, shard
        self._table: npt.NDArray[np.uint64] = np.empty((0, 2), np.uint64)
        self._inner: dict[int, ChunkPart] = {}

    def read(self, key: str, workers: int) -> bool:
        """Read and place all that is wanted; False if there is no such shard."""
        source, shard = self._source, self._shard
        index, kept = shard_indexes.index_of(shard, source.store, key, self._read)
        if index is None:
            return False
        self._table = index.table.reshape(-1, 2)
        entries = self._wanted()
        stored = entries[self._table[entries, 0] != MISSING]
        too_long = stored[self._table[stored, 1] > shard.chain.output.limit]
        if kept and (len(too_long) or not len(stored)):
            self._read(ByteRange(0, 1))  # raises if the index is outdated
        if len(too_long):
            raise self._too_long(int(too_long[0]))
        self._put_missing(entries[self._table[entries, 0] == MISSING])
        groups = list(_merged(self._table, stored, source, threads.merged(source)))
        if len(groups) < 2 or not self._pays(groups):
            workers = 1
        workers = min(workers, max(1, len(groups)))
        amounts = Amounts(0, workers, workers, self._together(groups, workers))
        pipeline.read(groups, self._fetch, self._place, amounts)
        return True

    def _together(self, groups: list[_Group], workers: int) -> int:
        """How many groups are placed at once. The core looks at all that is wanted of the shard in
        every call, so many small groups must not be as many calls."""
        largest = max((stop - start for start, stop, _ in groups), default=0)
        fitting = threads.merged(self._source) // max(1, largest)
        return max(1, min(threads.BATCH, fitting, len(groups) // workers))

    def _pays(self, groups: list[_Group]) -> bool:
        """Whether groups are worth a thread each."""
        if self._source.store.capabilities.requests > 1:
            return True
        if self._native is not None:
            return False  # it has threads of its own
        count = sum(len(group.entries) for group in groups)
        nbytes = count * (self._shard.chain.nbytes or 0)
        return nbytes >= len(groups) * threads.WORTHWHILE_BYTES

    def _wanted(self) -> Integers:
        """The numbers of the inner chunks that are wanted, in C order."""
        shape, axes = self._shard.shape, []
        for inner, length in zip(self._part.inner, self._shard.chain.shape, strict=False):
            if type(inner) is not slice:
                return np.sort(np.array([*self._parts()], np.int64))
            indices = range(inner.start, inner.stop, inner.step)
            if inner.step <= length:
                axes.append(np.arange(indices[0] // length, indices[-1] // length + 1))
            else:
                axes.append(np.unique(np.array(indices) // length))
        numbers = np.arange(len(self._table)).reshape(shape)
        return numbers[np.ix_(*axes)].reshape(-1) if axes else numbers.reshape(-1)

    def _parts(self) -> dict[int, ChunkPart]:
        """What is wanted of each inner chunk, by its number."""
        if not self._inner:
            shape = self._shard.shape
            self._inner = {
                _number(inner.coordinates, shape): inner
                for inner in refine(self._part, self._shard.grid)
            }
        return self._inner

    def _too_long(self, entry: int) -> DecodeError:
        coordinates = tuple(map(int, np.unravel_index(entry, self._shard.shape)))
        return DecodeError(
            f"sharding_indexed: the index promises {self._table[entry, 1]} bytes for inner chunk"
            f" {coordinates}, which cannot take more than {self._shard.chain.output.limit}"
        )

    def _put_missing(self, entries: Integers) -> None:
        if len(entries) and not self._placed(entries, []):
            parts = self._parts()
            for entry in entries.tolist():
                self._source.put_fill(self._working, parts[entry].outer)

    def _placed(self, entries: Integers, ranges: list[tuple[int, Buffer]]) -> bool:
        """Have the core place these inner chunks; False if it cannot."""
        if self._native is None:
            return False
        index = np.empty_like(self._table)
        index[:] = SKIPPED
        index[entries] = self._table[entries]
        return not self._native.place([self._part], [Ranges(index, ranges)])

    def _fetch(self, groups: list[_Group]) -> list[Buffer]:
        return [self._fetch_one(start, stop) for start, stop, _ in groups]

    def _fetch_one(self, start: int, stop: int) -> Buffer:
        data = self._read(ByteRange(start, stop))
        if data is None or len(data) != stop - start:
            found = "nothing" if data is None else f"{len(data)} bytes"
            raise DecodeError(
                f"sharding_indexed: the index promises {stop - start} bytes at offset {start},"
                f" found {found}: the shard is truncated or was replaced while it was read"
            )
        return data

    def _place(self, groups: list[_Group], values: list[Buffer], scratch: Scratch) -> None:
        ranges = [(start, data) for (start, _, _), data in zip(groups, values, strict=True)]
        if self._placed(np.concatenate([group.entries for group in groups]), ranges):
            return
        for (start, data), (_, _, entries) in zip(ranges, groups, strict=True):
            self._place_each(start, entries, data, scratch)

    def _place_each(self, start: int, entries: Integers, data: Buffer, scratch: Scratch) -> None:
        view, parts, chain = memoryview(data), self._parts(), self._shard.chain
        for entry, (offset, nbytes) in zip(
            entries.tolist(), self._table[entries].tolist(), strict=True
        ):
            inner = parts[entry]
            piece = view[offset - start : offset - start + nbytes]
            try:
                decode_part(chain, piece, inner, self._working, self._source, scratch)
            except ZarrError as error:
                raise error.at(f"inner chunk {inner.coordinates}") from error


def _number(coordinates: tuple[int, ...], shape: tuple[int, ...]) -> int:
    number = 0
    for coordinate, length in zip(coordinates, shape, strict=True):
        number = number * length + coordinate
    return number


def _merged(
    table: npt.NDArray[np.uint64], entries: Integers, source: Source, most: int
) -> Iterator[_Group]:
    """Group inner chunks whose bytes are close together."""
    places = table[entries].astype(np.int64)
    order = np.argsort(places[:, 0], kind="stable")
    entries, offsets = entries[order], places[order, 0]
    # Where ranges overlap, an earlier one may end behind a later one.
    ends = np.maximum.accumulate(offsets + places[order, 1])
    breaks = np.flatnonzero(offsets[1:] > ends[:-1] + source.store.capabilities.gap) + 1
    for first, last in zip([0, *breaks.tolist()], [*breaks.tolist(), len(order)], strict=True):
        while first < last:
            start = int(offsets[first])
            fitting = int(np.searchsorted(ends[first:last], start + most, "right"))
            behind = first + max(1, fitting)
            stop = int((offsets[first:behind] + places[order[first:behind], 1]).max())
            yield _Group(start, stop, entries[first:behind])
            first = behind
