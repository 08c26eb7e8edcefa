"""Choosing how an array gets other chunks.

One pass: regions of whole write units of the destination. A region that does not end where source
chunks end reads some of them that another region reads too, so regions are made as large as the
memory allows, in the shape that costs the fewest reads. All counts are products over dimensions:
along one of them, the number of reads is that of source chunks plus that of cuts between regions
that fall inside a source chunk.

Several passes: a region of source chunks, grown towards the shape of the destination's, is written
into an intermediate array; a region of the destination's write units, grown towards the shape of
source chunks, is read from it. Chunks of the intermediate array are what the two have in common, so
each pass reads everything about once. Between the two shapes further ones can be put, in equal
ratios. Whatever is cheapest is chosen.

This module knows grids and numbers. It must not know stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, gcd, lcm, prod
from typing import NamedTuple

from omnizarr.jobs.rechunking.plan import Pass, RechunkPlan
from omnizarr.model.grids import Axis, Grid, RegularAxis, Shape, regular_grid

MOST_PASSES = 4
TASK = 128 << 10
"""What a region costs beside its bytes, in bytes that could be moved meanwhile."""
REQUEST = 64 << 10
"""What a read or a write of a value costs beside its bytes, likewise."""
FAR_REQUEST = 1 << 20
"""The same for a store that is asked over a network."""
NEGLIGIBLE = 50
"""Regions are joined until their own cost is a part in so many."""
READ_COPIES, WRITE_COPIES = 2, 3
"""A unit that is read is there encoded and decoded; one that is written is there as a copy, encoded
and, if it is a shard, assembled."""
WORTHWHILE = 0.8
"""Two tasks at once are given up for costs below this part of theirs."""
AT_ONCE = 2
"""So many units the engine has in its hands, be they larger than its scratch."""


@dataclass(frozen=True)
class Problem:
    """What is to be rechunked, and with what means."""

    shape: Shape
    itemsize: int
    source: Grid
    """What is stored as one value."""
    inner: Grid
    """What can be decoded alone: the chunks of shards, or the same as `source`."""
    target: Grid
    """What is written as one value."""
    memory: int
    """Most bytes for a task."""
    scratch: int
    """Of these, what the engine may take beside the region for chunks in flight."""
    fetched: int = 0
    """Bytes of the source that are fetched at once, if that is more than what is decoded alone."""
    request: int = REQUEST
    several: bool = True
    """Whether there may be intermediate arrays."""
    sparse: bool = False
    """Few chunks are stored. Then regions are no larger than a source chunk, for each that is read
    for another one's sake is likely to be missing, and there is one pass."""

    def hands(self, source: Grid, inner: Grid, target: Grid) -> _Hands:
        """What the engine takes between two grids."""
        read, write = (prod(grid.chunk_shape) * self.itemsize for grid in (inner, target))
        return _Hands(self.scratch, read, write, self.fetched if source is self.source else 0)


class _Hands(NamedTuple):
    """What the engine takes beside a region: its scratch or, where that is more, some units."""

    scratch: int
    read: int
    """Bytes of a unit that is read."""
    write: int
    """Bytes of one that is written."""
    fetched: int

    def room(self, memory: int) -> int:
        """Bytes of the largest region of several units that this memory suffices for."""
        whole = memory - self._beside(self.fetched, AT_ONCE, AT_ONCE)
        # A region that is smaller than what could be fetched at once fetches no more than itself.
        part = memory - self._beside(0, AT_ONCE, AT_ONCE)
        return max(whole, min(part, memory // (1 + AT_ONCE * READ_COPIES)))

    def memory(self, region: int, reads: int, writes: int) -> int:
        """Bytes that a task takes for a region of so many units."""
        return region + self._beside(
            min(self.fetched, region), reads, writes, WRITE_COPIES * region
        )

    def _beside(self, fetched: int, reads: int, writes: int, most: int | None = None) -> int:
        reading = min(reads, AT_ONCE) * READ_COPIES * max(self.read, fetched)
        writing = min(writes, AT_ONCE) * WRITE_COPIES * self.write
        return max(self.scratch if most is None else min(self.scratch, most), reading, writing)


def least_memory(problem: Problem) -> int:
    """What a task takes at least: one write unit of the destination."""
    units = zip(problem.inner.axes, problem.target.axes, strict=True)
    reads = ceil(prod(touches(*axes, 1) for axes in units) / max(1, problem.target.nchunks))
    hands = problem.hands(problem.source, problem.inner, problem.target)
    return hands.memory(hands.write, reads, 1)


def make_plan(problem: Problem, at_once: int = 1) -> RechunkPlan:
    """The cheapest plan that keeps to the memory, or to `least_memory`. With `at_once`, so many
    tasks share the memory, unless it costs much less to have one after the other."""
    alone = _cheapest(problem)
    if at_once == 1 or least_memory(problem) * at_once > problem.memory:
        return alone
    memory, scratch = problem.memory // at_once, problem.scratch // at_once
    shared = _cheapest(replace(problem, memory=memory, scratch=scratch))
    costs = [_cost(plan.passes, problem.request) for plan in (alone, shared)]
    return alone if costs[0] < WORTHWHILE * costs[1] else shared


def _cheapest(problem: Problem) -> RechunkPlan:
    plans: list[tuple[Pass, ...]] = [
        (_one_pass(problem, problem.source, problem.inner, problem.target),)
    ]
    if problem.several and not problem.sparse and all(problem.shape):
        plans += _through_intermediates(problem)
    best = min(plans, key=lambda passes: (_cost(passes, problem.request), len(passes)))
    return RechunkPlan.of(problem.shape, problem.itemsize, best)


def _cost(passes: tuple[Pass, ...], request: int) -> int:
    return sum(
        each.bytes_read
        + each.bytes_written
        + request * (each.reads + each.writes)
        + TASK * each.tasks
        for each in passes
    )


# -- one pass -------------------------------------------------------------------------------------


def touches(source: Axis, target: Axis, factor: int) -> int:
    """How many pairs there are of a region (`factor` chunks of the target) and a source chunk that
    share an element, along one dimension."""
    blocks = ceil(target.count / factor)
    if blocks == 0:
        return 0
    if isinstance(source, RegularAxis) and isinstance(target, RegularAxis):
        step = factor * target.chunk
        common = (blocks - 1) // (source.chunk // gcd(source.chunk, step))
    elif isinstance(target, RegularAxis):
        step = factor * target.chunk
        common = sum(source.start(at) % step == 0 for at in range(1, source.count))
    else:
        cuts = (target.start(at) for at in range(factor, target.count, factor))
        common = sum(source.start(source.chunk_of(cut)) == cut for cut in cuts)
    return source.count + blocks - 1 - common


def extent(axis: Axis, factor: int) -> int:
    """The longest region of so many chunks along one dimension."""
    if isinstance(axis, RegularAxis):
        return min(factor * axis.chunk, axis.length)
    starts = range(0, axis.count, factor)
    ends = ((at, min(at + factor, axis.count) - 1) for at in starts)
    lengths = (axis.start(b) + axis.size(b) - axis.start(a) for a, b in ends)
    return min(max(lengths, default=0), axis.length)


class _Choice(NamedTuple):
    """Factors for the first few dimensions, and the products of what they lead to."""

    size: int
    units: int
    values: int
    factors: Shape


def _one_pass(problem: Problem, source: Grid, inner: Grid, target: Grid) -> Pass:
    itemsize = problem.itemsize
    hands = problem.hands(source, inner, target)
    room = hands.room(problem.memory) // max(1, itemsize)
    axes = list(zip(source.axes, inner.axes, target.axes, strict=True))

    def weight(choice: _Choice) -> int:
        return choice.units * hands.read + choice.values * problem.request

    # The smallest region that reads least.
    choices = [_Choice(1, 1, 1, ())]
    for dimension, (outer, unit, written) in enumerate(axes):
        rest = prod(extent(axis, 1) for _, _, axis in axes[dimension + 1 :])
        ways = _ways(outer, unit, written, problem.sparse)
        joined = [
            _Choice(done.size * size, done.units * units, done.values * values,
                    (*done.factors, factor))
            for done in choices
            for factor, size, units, values in ways
            if factor == 1 == prod(done.factors) or done.size * size * rest <= room
        ]  # fmt: skip
        choices = _undominated(joined)
    best = min(choices, key=lambda choice: (weight(choice), choice.size))
    factors = best.factors
    if source != target and not problem.sparse:
        factors = _joined(problem, axes, best, room, weight(best))
    regions = [ceil(axis.count / n) for (_, _, axis), n in zip(axes, factors, strict=True)]
    by_axis = list(zip(axes, factors, strict=True))
    region = tuple(extent(axis, factor) for (_, _, axis), factor in by_axis)
    reads = prod(touches(outer, axis, factor) for (outer, _, axis), factor in by_axis)
    units = prod(touches(unit, axis, factor) for (_, unit, axis), factor in by_axis)
    tasks = prod(regions)
    return Pass(
        inner.chunk_shape, target.chunk_shape, factors, region, tasks,
        reads, units * hands.read, target.nchunks, target.nchunks * hands.write,
        hands.memory(prod(region) * itemsize, ceil(units / max(1, tasks)), prod(factors)),
    )  # fmt: skip


def _ways(outer: Axis, unit: Axis, written: Axis, sparse: bool) -> list[tuple[int, int, int, int]]:
    """Factors along one dimension that may pay, with extent, units and values."""
    bases = {1}
    write = written.size(0) if written.count else 1
    for axis in (outer, unit):
        read = axis.size(0) if axis.count else 1
        bases |= {ceil(read / write), lcm(read, write) // write}
    count = max(1, written.count)
    if sparse:
        most = ceil((outer.size(0) if outer.count else 1) / write)
        factors = {min(base, most, count) for base in bases}
    else:
        factors = {count} | {factor for base in bases for factor in _doubled(base, count)}
    return [
        (
            factor,
            extent(written, factor),
            touches(unit, written, factor),
            touches(outer, written, factor),
        )
        for factor in sorted(factors)
    ]


def _doubled(base: int, most: int) -> Iterator[int]:
    while base <= most:
        yield base
        base *= 2


def _undominated(choices: list[_Choice]) -> list[_Choice]:
    """Without those that another one is no larger than and no dearer in either way."""
    kept: list[_Choice] = []
    for choice in sorted(choices):
        if not any(k.units <= choice.units and k.values <= choice.values for k in kept):
            kept.append(choice)
    return kept


def _joined(
    problem: Problem, axes: list[tuple[Axis, Axis, Axis]], best: _Choice, room: int, weight: int
) -> Shape:
    """Larger regions where there are so many that their number costs."""
    written = [axis for _, _, axis in axes]
    factors = list(best.factors)
    total = weight + 2 * prod(problem.shape) * problem.itemsize

    def tasks() -> int:
        return prod(ceil(axis.count / n) for axis, n in zip(written, factors, strict=True))

    while tasks() * TASK * NEGLIGIBLE > total:
        for dimension in reversed(range(len(factors))):
            larger = list(factors)
            larger[dimension] *= 2
            size = prod(map(extent, written, larger))
            if factors[dimension] < written[dimension].count and size <= room:
                factors = larger
                break
        else:
            break
    return tuple(factors)


# -- several passes -------------------------------------------------------------------------------


def _through_intermediates(problem: Problem) -> Iterator[tuple[Pass, ...]]:
    """Plans of two and more passes, with intermediate arrays of several chunk shapes."""
    shape, itemsize = problem.shape, max(1, problem.itemsize)
    first = tuple(map(min, problem.inner.chunk_shape, shape))
    last = tuple(map(min, problem.target.chunk_shape, shape))
    hands = problem.hands(problem.source, problem.inner, problem.target)
    room = hands.room(problem.memory) // itemsize
    if room < max(prod(first), prod(last)):
        return
    seen: set[tuple[Shape, ...]] = set()
    for portion in (1, 2, 4):
        reading = _grown(first, last, shape, room // portion)
        writing = _grown(last, first, shape, room // portion)
        for passes in range(2, MOST_PASSES + 1):
            regions = list(_between(reading, writing, passes))
            plain = tuple(tuple(map(min, one, other)) for one, other in pairwise(regions))
            for chunks in (plain, tuple(_dividing(each, reading, writing) for each in plain)):
                if chunks not in seen:
                    seen.add(chunks)
                    yield _passes(problem, chunks)


def _passes(problem: Problem, chunks: tuple[Shape, ...]) -> tuple[Pass, ...]:
    grids = [regular_grid(problem.shape, each) for each in chunks]
    reading = [(problem.source, problem.inner), *((grid, grid) for grid in grids)]
    return tuple(
        _one_pass(problem, source, inner, target)
        for (source, inner), target in zip(reading, [*grids, problem.target], strict=True)
    )


def _grown(unit: Shape, toward: Shape, shape: Shape, room: int) -> Shape:
    """Whole units together, towards the lengths of another shape, the farthest dimension first."""
    factors = [1] * len(unit)

    def length(dimension: int, factor: int) -> int:
        return min(unit[dimension] * factor, shape[dimension])

    def lengths() -> list[int]:
        return [length(dimension, factor) for dimension, factor in enumerate(factors)]

    growing = set(range(len(unit)))
    while growing:
        dimension = max(growing, key=lambda d: (toward[d] / length(d, factors[d]), d))
        most = ceil(toward[dimension] / unit[dimension])
        others = prod(lengths()) // length(dimension, factors[dimension])
        fitting = min(2 * factors[dimension], most, room // (others * unit[dimension]))
        if fitting <= factors[dimension]:
            growing.remove(dimension)
        else:
            factors[dimension] = fitting
    return tuple(lengths())


def _between(reading: Shape, writing: Shape, count: int) -> Iterator[Shape]:
    """So many shapes from the one to the other, in equal ratios."""
    yield reading
    for number in range(1, count - 1):
        share = number / (count - 1)
        lengths = []
        for a, b in zip(reading, writing, strict=True):
            length = int(a ** (1 - share) * b**share)
            lengths.append(max(min(a, b), length - length % min(a, b)))
        yield tuple(lengths)
    yield writing


def _dividing(chunks: Shape, reading: Shape, writing: Shape) -> Shape:
    """The same, or a little less, so that the regions of both sides are whole chunks."""
    lengths = []
    for length, a, b in zip(chunks, reading, writing, strict=True):
        larger = max(a, b)
        parts = range(ceil(larger / length), 2 * ceil(larger / length) + 1)
        whole = next((larger // n for n in parts if larger % n == 0), length)
        lengths.append(whole if whole * 2 >= length else length)
    return tuple(lengths)
