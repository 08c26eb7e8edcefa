"""Plans: a selection cut at the chunks of a grid.

A plan is plain data. `parts()` gives, for every chunk that the selection touches and for no
other, a `ChunkPart` with the law

    working[part.outer] = chunk[part.inner]        when reading
    chunk[part.inner] = working[part.outer]        when writing

where `chunk` has the shape `grid.shape_of(part.coordinates)`, overhang included, and `working`
has `plan.shape`. Every chunk comes once. `refine` cuts a part again, by the inner grid of a
shard, and so on down.

The selection falls into independent factors (`indexing.layout`); each is cut alone
(`indexing.pieces`), and the product of their pieces is taken lazily, in C order as far as the
pieces of an axis fit into one block. So a plan costs the pieces of its axes, never its chunks.

This module knows transforms, grids and integers. It must not know stores, codecs or data.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from omnizarr.errors import SelectionError
from omnizarr.indexing.layout import factorise
from omnizarr.indexing.pieces import (
    Groups,
    IndexColumn,
    Points,
    Run,
    Selector,
    columns,
    count_run,
    cut_run,
    group,
    split_run,
)
from omnizarr.indexing.transform import Transform
from omnizarr.model.grids import Axis, Grid, IntArray, NDArray, RegularAxis, Shape

BLOCK = 1 << 13
"""How many pieces of one axis are held at once."""


class ChunkPart(NamedTuple):
    """What a selection takes from one chunk."""

    coordinates: tuple[int, ...]
    inner: tuple[Selector, ...]
    """Indexes the chunk. Slices have start, stop and a positive step. An Ellipsis stands alone
    for an array without dimensions, so that indexing with it gives a view too."""
    outer: tuple[Selector, ...]
    """Indexes the working array. Slices have step 1."""
    whole: bool
    """All elements of the chunk that are inside the array are selected, in any order."""
    direct: bool
    """`chunk[inner]` is the chunk, and `working[outer]` a basic view of the same shape."""
    extent: tuple[int, ...]
    """Length of the chunk inside the array, along each axis."""


# Makes a part from a tuple of its fields, without a Python frame.
_part: Callable[[tuple[object, ...]], ChunkPart] = partial(tuple.__new__, ChunkPart)


class Plan:
    """A selection over a grid; see `partition`."""

    __slots__ = ("_chosen", "_groups", "_layout", "_points", "_runs", "_transform", "grid", "shape")

    def __init__(self, transform: Transform, grid: Grid) -> None:
        if grid.array_shape != transform.source_shape:
            raise SelectionError(
                f"the selection is from an array of shape {transform.source_shape},"
                f" the grid cuts one of shape {grid.array_shape}"
            )
        self._transform = transform
        self.grid = grid
        self._runs, self._points, self._layout = factorise(transform)
        self._groups: list[Groups] | None = None
        self._chosen: frozenset[Shape] | None = None
        self.shape: Shape = self._layout.shape
        """The shape of the working array, one dimension per axis of the source."""

    def __repr__(self) -> str:
        return f"Plan({self.count} parts, result {self.target}, working array {self.shape})"

    @property
    def transform(self) -> Transform:
        """The selection that is executed."""
        return self._transform

    @property
    def target(self) -> Shape:
        """The shape of the result."""
        return self.transform.shape

    @property
    def viewable(self) -> bool:
        """Whether `working(result)` is a view whatever the strides of `result` are."""
        return not (self._layout.repeats or self._layout.merges)

    def result(self, working: NDArray) -> NDArray:
        """The working array as the caller expects it: a view of it, or a new array if a
        dimension repeats."""
        return self._layout.result(working)

    def working(self, result: NDArray) -> NDArray:
        """Values of the result's shape as a working array to write from; a view if `viewable`,
        else it may be a copy."""
        return self._layout.working(result)

    def view(self, result: NDArray) -> NDArray | None:
        """A working array that shares the memory of `result`, so that filling it fills the
        caller's array; None where there is none."""
        if self._layout.repeats:
            return None
        working = self._layout.working(result)
        if self._layout.merges and not np.may_share_memory(working, result):
            return None
        return working

    @property
    def factors(self) -> tuple[list[Run] | Shape, list[Points]] | None:
        """The independent factors of the selection, not yet cut, of a box its first indices; None
        if there are none, because the parts were given one by one."""
        return self._runs, self._points

    @property
    def dense(self) -> bool:
        """Whether the selection is a box: consecutive indices along every axis."""
        return not self._points and all(run.step == 1 for run in self._runs)

    @property
    def empty(self) -> bool:
        """Whether nothing is selected."""
        return 0 in self.target

    @property
    def count(self) -> int:
        """How many parts there are."""
        if self._chosen is not None:
            return len(self._chosen)
        if self.empty:
            return 0
        axes = self.grid.axes
        runs, groups = self._cut()
        return prod(
            [count_run(axes[run.axis], run.start, run.step, run.length) for run in runs]
            + [len(each.whole) for each in groups]
        )

    def __len__(self) -> int:
        return self.count

    def parts(self) -> Iterator[ChunkPart]:
        """The parts, lazily, each chunk once."""
        if self.empty:
            return iter(())
        parts = _parts(*self._cut(), self.grid.axes, self.grid.array_shape)
        chosen = self._chosen
        return parts if chosen is None else (part for part in parts if part.coordinates in chosen)

    def only(self, chunks: frozenset[Shape]) -> Plan:
        """The same selection, executed for some of its chunks alone."""
        plan = copy.copy(self)
        plan._chosen = chunks
        return plan

    def _cut(self) -> tuple[list[Run], list[Groups]]:
        """The factors, with the points of each chunk together."""
        if self._groups is None:  # grouping points sorts them: done once, on first use
            self._groups = _group(self._points, self.grid.axes, self.grid.array_shape)
        return self._runs, self._groups


def partition(transform: Transform, grid: Grid) -> Plan:
    """The plan that executes a selection of an array over its grid."""
    return Plan(transform, grid)


def refine(part: ChunkPart, grid: Grid) -> Iterator[ChunkPart]:
    """The same part cut by an inner grid over its chunk: coordinates, `inner`, `whole`, `direct`
    and `extent` are those of the inner chunks, `outer` stays that of the working array."""
    if not grid.axes:
        return iter((part,))
    runs: list[Run] = []
    for axis, (inner, outer) in enumerate(zip(part.inner, part.outer, strict=True)):
        if type(inner) is not slice or type(outer) is not slice:
            runs, points = _factors_of(part)
            break
        place = outer.start
        runs.append(Run(axis, inner.start, inner.step, outer.stop - place, place))
    else:
        points = []
    return _parts(runs, _group(points, grid.axes, part.extent), grid.axes, part.extent)


def _group(points: list[Points], axes: Sequence[Axis], extents: Shape) -> list[Groups]:
    return [
        group(
            factor,
            [axes[axis] for axis in factor.axes],
            tuple(extents[axis] for axis in factor.axes),
        )
        for factor in points
    ]


def _factors_of(part: ChunkPart) -> tuple[list[Run], list[Points]]:
    """A part with arrays, read back into factors by the shapes of the arrays."""
    runs: list[Run] = []
    together: dict[int, list[int]] = {}
    for axis, (inner, outer) in enumerate(zip(part.inner, part.outer, strict=True)):
        if type(inner) is slice and type(outer) is slice:
            length = outer.stop - outer.start
            runs.append(Run(axis, inner.start, inner.step, length, outer.start))
        elif isinstance(inner, np.ndarray) and inner.size > 1:
            # Arrays of one factor vary along one dimension of the mesh, those of others not.
            mesh = max(range(inner.ndim), key=inner.shape.__getitem__)
            together.setdefault(mesh, []).append(axis)
        elif isinstance(inner, np.ndarray) and not isinstance(outer, np.ndarray):
            # One point of several axes: the first says where it goes, the others are at 0.
            place = outer.start if isinstance(outer, slice) else 0
            runs.append(Run(axis, int(inner.item()), 1, 1, place))
        else:
            together[-1 - axis] = [axis]
    points = [
        Points(
            tuple(axes),
            tuple(_flat(part.inner[axis]) for axis in axes),
            _flat(part.outer[axes[0]]),
        )
        for axes in together.values()
    ]
    return runs, points


def _flat(selector: Selector) -> IntArray:
    if isinstance(selector, slice):
        return np.arange(selector.start, selector.stop, selector.step, dtype=np.intp)
    return np.asarray(selector, dtype=np.intp).reshape(-1)


def only_part(runs: list[Run], axes: Sequence[Axis], extents: Shape) -> ChunkPart | None:
    """The part of a selection that stays inside one chunk, as that of one element does; None
    if it does not."""
    coordinates: list[int] = []
    inner: list[Selector] = []
    outer: list[Selector] = []
    extent: list[int] = []
    whole = direct = True
    for (number, start, step, count, place), axis in zip(runs, axes, strict=True):
        if type(axis) is RegularAxis:
            size = axis.chunk
            chunk = start // size
            begin = chunk * size
        else:
            chunk = axis.chunk_of(start)
            begin = axis.start(chunk)
            size = axis.size(chunk)
        stop = start + (count - 1) * step + 1 - begin
        if stop > size:
            return None
        valid = extents[number] - begin
        if valid > size:
            valid = size
        coordinates.append(chunk)
        inner.append(slice(start - begin, stop, step if count > 1 else 1))
        outer.append(slice(place, place + count, 1))
        extent.append(valid)
        whole = whole and count == valid
        direct = direct and count == size
    if not runs:
        return _SCALAR
    return _part((tuple(coordinates), tuple(inner), tuple(outer), whole, direct, tuple(extent)))


Loop = Callable[[], Iterator[list[tuple[int, IndexColumn]]]]


def _parts(
    runs: list[Run], groups: list[Groups], axes: Sequence[Axis], extents: Shape
) -> Iterator[ChunkPart]:
    """The product of all cuts: most are columns of a table, whose product runs in C; the rest
    (several axes in step, axes too long to list) are loops around it."""
    if not groups and (only := only_part(runs, axes, extents)) is not None:
        return iter((only,))
    table: list[IndexColumn] = [_NOTHING] * len(axes)
    loops: list[Loop] = []
    for run in runs:
        number, start, step, length, outer = run
        axis, extent = axes[number], extents[number]
        if length > BLOCK and count_run(axis, start, step, length) > BLOCK:
            loops.append(partial(_blocks, run, axis, extent))
        else:
            table[number] = cut_run(axis, extent, start, step, length, outer)
    arrays = [cut for cut in groups if not cut.basic]
    for cut in groups:
        rank, place = (0, 0) if cut.basic else (len(arrays), arrays.index(cut))
        together = columns(cut, rank, place)
        if len(together) == 1:
            table[cut.axes[0]] = together[0]
        elif len(together) == len(axes):
            return _in_step(together)
        else:
            loops.append(partial(_rows, cut.axes, together))
    return _nested(table, loops) if loops else _product(table)


_SCALAR = ChunkPart((), (...,), (...,), True, True, ())
_NOTHING = IndexColumn((), (), (), (), (), ())


def _product(table: list[IndexColumn]) -> Iterator[ChunkPart]:
    coordinates, inner, outer, whole, direct, extent = zip(*table, strict=True)
    return map(
        _part,
        zip(
            product(*coordinates),
            product(*inner),
            product(*outer),
            map(all, product(*whole)),
            map(all, product(*direct)),
            product(*extent),
            strict=False,
        ),
    )


def _in_step(table: list[IndexColumn]) -> Iterator[ChunkPart]:
    """Axes that all go together: the rows of the table are the parts."""
    coordinates, inner, outer, whole, direct, extent = zip(*table, strict=True)
    return map(
        _part,
        zip(
            zip(*coordinates, strict=True),
            zip(*inner, strict=True),
            zip(*outer, strict=True),
            whole[0],
            direct[0],
            zip(*extent, strict=True),
            strict=True,
        ),
    )


def _nested(table: list[IndexColumn], loops: list[Loop]) -> Iterator[ChunkPart]:
    for columns_ in loops[0]():
        for axis, column in columns_:
            table[axis] = column
        yield from _nested(table, loops[1:]) if loops[1:] else _product(table)


def _blocks(run: Run, axis: Axis, extent: int) -> Iterator[list[tuple[int, IndexColumn]]]:
    for number, start, step, count, outer in split_run(run, axis, BLOCK):
        yield [(number, cut_run(axis, extent, start, step, count, outer))]


def _rows(axes: Shape, table: list[IndexColumn]) -> Iterator[list[tuple[int, IndexColumn]]]:
    for row in range(len(table[0].whole)):
        here = slice(row, row + 1)
        yield [
            (axis, IndexColumn._make([entries[here] for entries in column]))
            for axis, column in zip(axes, table, strict=True)
        ]
