"""Reading many small chunks with one call of the native core for a batch of them.

Chunks that are read whole into one block of the output go to the core. It returns the numbers of
those that it could not decode, and Python decodes these one by one. Most selections of a shard are
a *box*: the positions of its inner chunks are computed as arrays, not one by one. A batch is small,
so that a call can be cancelled between two of them.

This module knows batches. It must not know where chunks come from, nor decide what is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from omnizarr.codecs import Chain
from omnizarr.codecs.blocks import BlockDecoder, Integers
from omnizarr.codecs.sharding import MISSING, Shard, ShardIndex
from omnizarr.indexing import ChunkPart, Plan, refine
from omnizarr.model.grids import Grid, RegularAxis, Shape
from omnizarr.model.store import Buffer
from omnizarr.runtime import parallel

FEW = 8
"""Below this many chunks, one by one is as fast."""
SMALL = 64
"""The same for inner chunks, whose positions cost more to find."""


def blocks_for(chain: Chain, working: Any) -> BlockDecoder | None:
    """The decoder of many chunks at a time into this array; None if there is none."""
    blocks = chain.blocks
    if blocks is None or not blocks.small or not blocks.fit(working):
        return None
    return blocks


def takes_whole(plan: Plan, chunk_shape: Shape) -> bool:
    """Whether a plan takes chunks of this shape whole, except at its edges. Then the core does
    nearly all the work, and threads pay however small the chunks are."""
    return plan.dense and all(
        length >= min(2 * chunk, most)
        for length, chunk, most in zip(plan.shape, chunk_shape, plan.grid.array_shape, strict=True)
    )


# -- chunks -----------------------------------------------------------------------------------


def decode_values(
    blocks: BlockDecoder,
    values: list[Buffer | None],
    parts: list[ChunkPart],
    most: int,
    working: Any,
) -> Sequence[int]:
    """Decode fetched chunks of at most `most` bytes; return the numbers of those not decoded."""
    direct = [
        number
        for number, (value, part) in enumerate(zip(values, parts, strict=True))
        if value is not None and part.direct and len(value) <= most
    ]
    every = range(len(parts))
    if len(direct) < FEW:
        return every
    data: list[Any] = [values[number] for number in direct]
    left = blocks.decode(data, None, _starts([parts[number] for number in direct]), working)
    if len(direct) == len(parts):
        return left
    done = set(direct) - {direct[number] for number in left}
    return [number for number in every if number not in done]


def _starts(parts: list[ChunkPart]) -> Integers:
    """Where the chunks of direct parts begin in the working array."""
    rows: list[Any] = [[selector.start for selector in part.outer] for part in parts]  # type: ignore[union-attr]
    return np.array(rows, np.int64)


# -- inner chunks of a shard ------------------------------------------------------------------


class Piece(NamedTuple):
    """An inner chunk, and the position of its bytes."""

    offset: int
    nbytes: int
    part: ChunkPart


class BatchGroup(NamedTuple):
    """Inner chunks whose bytes are read at once."""

    start: int
    stop: int
    pieces: list[Piece]
    rows: Integers | tuple[()] = ()
    """Those of a box."""


class Box:
    """The inner chunks that a part takes whole and that are stored, a row each, in C order."""

    def __init__(
        self, blocks: BlockDecoder, shard: Shard, index: ShardIndex, part: ChunkPart, cut: _Cut
    ) -> None:
        self._blocks, self._shard, self._part, self._cut = blocks, shard, part, cut
        table = index.table[cut.inside].reshape(-1, 2)
        self._stored = table[:, 0] != MISSING
        self.places: Integers = table[self._stored].astype(np.int64)
        """Offset and length."""
        mesh = np.meshgrid(*cut.starts, indexing="ij")
        self._starts = np.stack([axis.reshape(-1)[self._stored] for axis in mesh], axis=-1)

    def decode(self, rows: Integers, data: Buffer, start: int, working: Any) -> list[int]:
        """Decode these from bytes that begin at offset `start`; return which were not decoded."""
        places = self.places[rows]
        places[:, 0] -= start
        return self._blocks.decode(data, places, self._starts[rows], working)

    def batches(self, rows: Integers, workers: int = 1) -> list[Integers]:
        """The rows in batches, each for one call."""
        size = self._blocks.count
        if workers > 1:
            size = min(size, -(-len(rows) // (2 * workers)))
        return [rows[row : row + size] for row in range(0, len(rows), size)]

    def others(self, left: list[int]) -> Iterator[ChunkPart]:
        """The parts of all inner chunks outside the box, and of rows that were not decoded."""
        inside = self._cut.inside
        done = self._stored.copy()
        done[np.flatnonzero(done)[left]] = False
        if self._cut.whole and done.all():
            return iter(())
        known = np.zeros(self._shard.shape, bool)
        known[inside] = done.reshape(known[inside].shape)
        every = refine(self._part, self._shard.grid)
        return (inner for inner in every if not known[inner.coordinates])

    def piece(self, row: int) -> Piece:
        """One row as a `Piece`, to be decoded by itself."""
        shape = self._shard.chain.shape
        starts = self._starts[row].tolist()
        number = np.flatnonzero(self._stored)[row]
        lengths = tuple(len(axis) for axis in self._cut.starts)
        among = np.unravel_index(number, lengths)
        coordinates = tuple(
            part.start + int(place) for part, place in zip(self._cut.inside, among, strict=True)
        )
        inner = tuple(slice(0, length, 1) for length in shape)
        outer = tuple(slice(s, s + n, 1) for s, n in zip(starts, shape, strict=True))
        offset, nbytes = self.places[row].tolist()
        return Piece(offset, nbytes, ChunkPart(coordinates, inner, outer, True, True, shape))


class _Cut(NamedTuple):
    """The inner chunks of which a part takes all elements."""

    inside: tuple[slice, ...]
    """Their coordinates."""
    starts: list[Integers]
    """Along each axis, where they begin in the working array."""
    whole: bool
    """The part takes nothing else."""


def _cut(part: ChunkPart, grid: Grid) -> _Cut | None:
    inside: list[slice] = []
    count = 1
    for axis, inner in zip(grid.axes, part.inner, strict=False):
        if type(inner) is not slice or inner.step != 1 or type(axis) is not RegularAxis:
            return None
        first, last = -(-inner.start // axis.chunk), inner.stop // axis.chunk
        if first >= last:
            return None
        count *= last - first
        inside.append(slice(first, last))
    if count < SMALL:
        return None
    starts: list[Integers] = []
    whole = True
    for here, size, inner, outer in zip(
        inside, grid.chunk_shape, part.inner, part.outer, strict=True
    ):
        if type(inner) is not slice or type(outer) is not slice:
            return None
        whole = whole and inner.start == here.start * size and inner.stop == here.stop * size
        begins = np.arange(here.start, here.stop, dtype=np.int64) * size
        starts.append(begins + (outer.start - inner.start))
    return _Cut(tuple(inside), starts, whole)


def box_of(shard: Shard, index: ShardIndex, part: ChunkPart, working: Any) -> Box | None:
    """The inner chunks that can be decoded many at a time; None if there are few."""
    cut = _cut(part, shard.grid)
    blocks = None if cut is None else blocks_for(shard.chain, working)
    return None if cut is None or blocks is None else Box(blocks, shard, index, part, cut)


def decode_shard(
    shard: Shard, index: ShardIndex, data: Buffer, part: ChunkPart, working: Any, workers: int
) -> Iterator[ChunkPart]:
    """Decode inner chunks of a part from a whole shard; return those not decoded, in C order."""
    box = box_of(shard, index, part, working)
    if box is None:
        return refine(part, shard.grid)
    left: list[int] = []

    def run(rows: Integers, _: None) -> None:
        left.extend(rows[box.decode(rows, data, 0, working)].tolist())

    batches = box.batches(np.arange(len(box.places)), workers)
    parallel.run(run, batches, min(workers, len(batches)), lambda: None)
    return box.others(left)


def decode_group(box: Box, group: BatchGroup, data: Buffer, working: Any) -> list[Piece]:
    """Decode the rows of a group from its bytes; return all other pieces of it, by offset."""
    left: list[int] = []
    for rows in box.batches(np.asarray(group.rows)):
        parallel.check()
        left += rows[box.decode(rows, data, group.start, working)].tolist()
    if not left:
        return group.pieces
    pieces = [*map(box.piece, left), *group.pieces]
    return sorted(pieces, key=lambda piece: (piece.offset, piece.part.coordinates))


def merge(wanted: list[Piece], gap: int, most: int) -> Iterator[BatchGroup]:
    """Group inner chunks whose bytes are close together."""
    wanted.sort(key=lambda item: item.offset)
    group: list[Piece] = []
    start = stop = 0
    for item in wanted:
        end = item.offset + item.nbytes
        if group and (item.offset > stop + gap or end - start > most):
            yield BatchGroup(start, stop, group)
            group = []
        if not group:
            start = stop = item.offset
        group.append(item)
        stop = max(stop, end)
    if group:
        yield BatchGroup(start, stop, group)


def merge_box(box: Box, others: list[Piece], gap: int, most: int) -> list[BatchGroup] | None:
    """The same for those of a box and others; None if some overlap, as only in a bad index."""
    count = len(box.places)
    more = np.array([(offset, nbytes) for offset, nbytes, _ in others], np.int64).reshape(-1, 2)
    places = np.concatenate([box.places, more])
    order = np.argsort(places[:, 0], kind="stable")
    offsets = places[order, 0]
    ends = offsets + places[order, 1]
    if (ends[:-1] > offsets[1:]).any():
        return None
    breaks = np.flatnonzero(offsets[1:] > ends[:-1] + gap) + 1
    groups: list[BatchGroup] = []
    for first, last in zip([0, *breaks.tolist()], [*breaks.tolist(), len(order)], strict=True):
        while first < last:
            start = int(offsets[first])
            fitting = int(np.searchsorted(ends[first:last], start + most, "right"))
            stop = first + max(1, fitting)
            chosen = order[first:stop]
            pieces = [others[number - count] for number in chosen[chosen >= count].tolist()]
            rows = chosen[chosen < count]
            groups.append(BatchGroup(start, int(ends[stop - 1]), pieces, rows))
            first = stop
    return groups
