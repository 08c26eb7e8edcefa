"""Pieces: what one factor of a selection takes from each chunk that it touches.

A selection falls into *factors* that are independent of one another: a `Run` (equally spaced
indices along one axis) or `Points` (index arrays along one axis, or along several that go
together). The chunks of the whole selection are the product of the chunks of its factors, so
each factor is cut by itself, once, and the product is taken lazily (`indexing.plan`).

A cut is an `IndexColumn` per axis: lists that run in step, one entry per touched chunk. Points are
grouped by chunk with one sort; no Python statement runs per point.

This module knows axes of grids and integers. It must not know transforms or whole grids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from math import prod
from types import EllipsisType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.model.grids import Axis, IntArray, RegularAxis, Shape

Selector = slice | IntArray | int | EllipsisType
BoolArray = npt.NDArray[np.bool_]


class Run(NamedTuple):
    """`length` indices along one axis from `start`, `step` (at least 1) apart, which go to
    consecutive places of the working array from `outer` on."""

    axis: int
    start: int
    step: int
    length: int
    outer: int


class Points(NamedTuple):
    """Index arrays of one dimension and one length, for one axis or several together."""

    axes: tuple[int, ...]
    indices: tuple[IntArray, ...]
    positions: int | IntArray
    """Where each point goes along the first of the axes; an int means from there on, in order."""


class IndexColumn(NamedTuple):
    """What a factor takes along one axis; entry by entry the chunks that it touches."""

    coordinates: Sequence[int]
    inner: Sequence[Selector]
    outer: Sequence[Selector]
    whole: Sequence[bool]
    """All indices of the chunk that are inside the array are taken."""
    direct: Sequence[bool]
    """All indices of the chunk are taken, once, in order, to consecutive places."""
    extent: Sequence[int]
    """How many indices of the chunk are inside the array."""


def cut_run(axis: Axis, extent: int, start: int, step: int, count: int, outer: int) -> IndexColumn:
    """A run of at least one index, cut at the chunks of its axis."""
    first = axis.chunk_of(start)
    begin = axis.start(first)
    size = axis.size(first)
    last_index = start + (count - 1) * step
    if last_index < begin + size:
        valid = min(size, extent - begin)
        if step == 1 or count == 1:
            inner = slice(start - begin, last_index + 1 - begin, 1)
        else:
            inner = slice(start - begin, last_index + 1 - begin, step)
        return IndexColumn(
            [first],
            [inner],
            [slice(outer, outer + count, 1)],
            [count == valid],
            [count == size],
            [valid],
        )
    if step == 1 and type(axis) is RegularAxis:
        return _cut_dense(axis.chunk, extent, start, count, outer)
    return _cut_strided(axis, extent, start, step, count, outer)


def _cut_dense(size: int, extent: int, start: int, count: int, outer: int) -> IndexColumn:
    """Consecutive indices over at least two equal chunks: only the ends are special."""
    stop = start + count
    first, head = divmod(start, size)
    last = (stop - 1) // size
    tail = stop - last * size
    between = last - first - 1
    valid = min(size, extent - last * size)
    bounds = [outer, *range(outer + size - head, outer + count, size), outer + count]
    return IndexColumn(
        range(first, last + 1),
        [slice(head, size, 1), *([slice(0, size, 1)] * between), slice(0, tail, 1)],
        list(map(slice, bounds, bounds[1:], repeat(1))),
        [head == 0, *([True] * between), tail == valid],
        [head == 0, *([True] * between), tail == size],
        [*([size] * (between + 1)), valid],
    )


def _cut_strided(
    axis: Axis, extent: int, index: int, step: int, count: int, outer: int
) -> IndexColumn:
    coordinates: list[int] = []
    inner: list[Selector] = []
    outers: list[Selector] = []
    whole: list[bool] = []
    direct: list[bool] = []
    extents: list[int] = []
    while count:
        chunk = axis.chunk_of(index)
        begin = axis.start(chunk)
        size = axis.size(chunk)
        valid = min(size, extent - begin)
        offset = index - begin
        taken = min(count, (size - offset + step - 1) // step)
        coordinates.append(chunk)
        inner.append(slice(offset, offset + (taken - 1) * step + 1, step if taken > 1 else 1))
        outers.append(slice(outer, outer + taken, 1))
        whole.append(taken == valid)
        direct.append(taken == size)
        extents.append(valid)
        index += taken * step
        outer += taken
        count -= taken
    return IndexColumn(coordinates, inner, outers, whole, direct, extents)


def count_run(axis: Axis, start: int, step: int, count: int) -> int:
    """How many chunks a run touches, without listing them."""
    first = axis.chunk_of(start)
    last = axis.chunk_of(start + (count - 1) * step)
    if type(axis) is RegularAxis:
        return count if step >= axis.chunk else last - first + 1
    if step == 1 or first == last:
        return last - first + 1
    starts = axis.starts(np.arange(first + 1, last + 1, dtype=np.intp))
    # A chunk is touched if the number of indices before its end exceeds that before its start.
    before = (starts - start + step - 1) // step
    return 1 + int(np.count_nonzero(np.diff(before, append=count)))


def split_run(run: Run, axis: Axis, limit: int) -> Iterator[Run]:
    """The run in shorter ones that share no chunk and touch about `limit` chunks each."""
    number, start, step, count, outer = run
    while count:
        chunk = axis.chunk_of(start) + limit
        taken = count
        if chunk < axis.count:
            taken = min(count, (axis.start(chunk) - start + step - 1) // step)
        yield Run(number, start, step, taken, outer)
        start += taken * step
        outer += taken
        count -= taken


class Groups(NamedTuple):
    """Points in the order of their chunks. Lists have one entry per touched chunk."""

    axes: tuple[int, ...]
    coordinates: list[list[int]]
    """Per axis."""
    extents: list[list[int]]
    """Per axis."""
    whole: list[bool]
    direct: list[bool]
    """The piece is a slice on both sides, and that of the whole chunk."""
    inner: list[IntArray]
    """Per axis, for all points: the index inside its chunk."""
    positions: int | IntArray
    bounds: list[slice]
    """Which points belong to the chunk."""
    inner_slices: list[slice | None]
    """The inner indices as a slice, where they are one (never for several axes)."""
    outer_slices: list[slice | None]

    @property
    def places(self) -> IntArray:
        if isinstance(self.positions, int):
            return np.arange(self.positions, self.positions + len(self.inner[0]), dtype=np.intp)
        return self.positions

    @property
    def basic(self) -> bool:
        """Whether slices say it all."""
        return None not in self.inner_slices and None not in self.outer_slices


def group(points: Points, axes: Sequence[Axis], extents: Shape) -> Groups:
    """The points, at least one, grouped by chunk.

    Inside a chunk they are sorted by index. The sort is stable, so of points that name one
    element the last one given stays last, and wins when it is written."""
    chunks = [axis.chunks_of(index) for axis, index in zip(axes, points.indices, strict=True)]
    begins = [axis.starts(chunk) for axis, chunk in zip(axes, chunks, strict=True)]
    inner = [index - begin for index, begin in zip(points.indices, begins, strict=True)]
    positions = points.positions
    order = _order(chunks, inner, points.indices)
    if order is not None:
        chunks = [chunk[order] for chunk in chunks]
        inner = [index[order] for index in inner]
        positions = order + positions if isinstance(positions, int) else positions[order]
    count = len(inner[0])
    new_chunk = _changes(chunks)
    new_point = new_chunk | _changes(inner)
    low = np.flatnonzero(new_chunk)
    high = np.append(low[1:], count)
    touched = [chunk[low] for chunk in chunks]
    sizes = [axis.sizes(chunk) for axis, chunk in zip(axes, touched, strict=True)]
    valid = [
        np.minimum(size, extent - axis.starts(chunk))
        for axis, chunk, size, extent in zip(axes, touched, sizes, extents, strict=True)
    ]
    distinct = np.add.reduceat(new_point.astype(np.intp), low)
    lows, highs = low.tolist(), high.tolist()
    inner_slices: list[slice | None] = [None] * len(low)
    dense = np.zeros(len(low), dtype=bool)
    if len(axes) == 1:
        begin, end = inner[0][low], inner[0][high - 1] + 1
        dense = (distinct == high - low) & (end - begin == high - low)
        inner_slices = _where(dense, begin, end)
    outer_slices: list[slice | None]
    if isinstance(positions, int):
        consecutive = np.ones(len(low), dtype=bool)
        outer_slices = _where(consecutive, low + positions, high + positions)
    else:
        broken = np.diff(positions, prepend=positions[0]) != 1
        broken[low] = False
        consecutive = np.add.reduceat(broken.astype(np.intp), low) == 0
        outer_slices = _where(consecutive, positions[low], positions[high - 1] + 1)
    # As floats: the volume of a chunk may not fit an integer, and then it is never covered.
    volume = np.prod([extent.astype(np.float64) for extent in valid], axis=0)
    return Groups(
        points.axes,
        [chunk.tolist() for chunk in touched],
        [extent.tolist() for extent in valid],
        (distinct == volume).tolist(),
        (dense & consecutive & (distinct == sizes[0])).tolist(),
        inner,
        positions,
        list(map(slice, lows, highs)),
        inner_slices,
        outer_slices,
    )


def columns(groups: Groups, rank: int, place: int) -> list[IndexColumn]:
    """The groups as columns, one per axis, in step.

    `rank` is how many factors of the selection need arrays, `place` which of them this is. The
    law `working[outer] = chunk[inner]` holds because arrays stand at the same axes on both sides
    and so move dimensions alike; a slice may stand for an array on one side only where nothing
    moves."""
    count = len(groups.whole)
    axes = groups.axes
    inner: list[list[Selector]]
    outer: list[Selector]
    if rank < 2:
        inner = [_pick(index, groups.bounds, groups.inner_slices) for index in groups.inner]
        stays = axes[0] == 0 or axes[-1] - axes[0] + 1 == len(axes)
        outer = _pick(groups.places, groups.bounds, groups.outer_slices if stays else None)
        direct = groups.direct
    else:
        before, after = (None,) * place, (None,) * (rank - 1 - place)
        mesh = [(*before, bound, *after) for bound in groups.bounds]
        inner = [[index[key] for key in mesh] for index in groups.inner]
        places = groups.places
        outer = [places[key] for key in mesh]
        direct = [False] * count
    outers = [outer]
    for _ in axes[1:]:
        outers.append([0] * count)
    return [
        IndexColumn(coordinates, selectors, others, groups.whole, direct, extents)
        for coordinates, selectors, others, extents in zip(
            groups.coordinates, inner, outers, groups.extents, strict=True
        )
    ]


def _pick(
    array: IntArray, bounds: list[slice], slices: list[slice | None] | None
) -> list[Selector]:
    """The pieces of an array, as slices where there are."""
    if slices is None:
        return [array[bound] for bound in bounds]
    return [
        array[bound] if chosen is None else chosen
        for bound, chosen in zip(bounds, slices, strict=True)
    ]


def _order(
    chunks: list[IntArray], inner: list[IntArray], indices: tuple[IntArray, ...]
) -> IntArray | None:
    """The stable order by chunk, then by index inside it; None if the points are in it."""
    if len(indices) == 1:
        key = indices[0]
    else:
        lows = [int(chunk.min()) for chunk in chunks]
        spans = [int(chunk.max()) - low + 1 for chunk, low in zip(chunks, lows, strict=True)]
        sizes = [int(index.max()) + 1 for index in inner]
        if prod(spans) * prod(sizes) > np.iinfo(np.intp).max:
            return np.lexsort((*reversed(inner), *reversed(chunks)))
        key = np.zeros(len(inner[0]), dtype=np.intp)
        for chunk, low, span in zip(chunks, lows, spans, strict=True):
            key = key * span + (chunk - low)
        for index, size in zip(inner, sizes, strict=True):
            key = key * size + index
    if bool((key[1:] >= key[:-1]).all()):
        return None
    return np.argsort(key, kind="stable")


def _changes(arrays: list[IntArray]) -> BoolArray:
    """Where any of the arrays differs from its element before; True at the start."""
    changes = np.ones(len(arrays[0]), dtype=bool)
    np.not_equal(arrays[0][1:], arrays[0][:-1], out=changes[1:])
    for array in arrays[1:]:
        changes[1:] |= array[1:] != array[:-1]
    return changes


def _where(chosen: BoolArray, begin: IntArray, end: IntArray) -> list[slice | None]:
    return [
        slice(first, last, 1) if take else None
        for take, first, last in zip(chosen.tolist(), begin.tolist(), end.tolist(), strict=True)
    ]
