"""How the levels of one array are cut into work.

A *stage* makes some levels from one *base*: the array itself, or the last level of the stage
before. It is cut into *tiles*: regions of its last level that consist of whole write units (shards,
or chunks) at every level, so that tiles are independent. Within a tile the levels are made depth
first, *piece* by piece: a piece of the first level is made from what is read of the base in one go,
and as soon as the pieces under a piece of the next level are there, that one is made. So the base
is read once for all levels of a stage, and memory holds a few pieces of each level.

A stage ends where fewer tiles would be left than workers may want, or where memory ends. This
module knows lengths. It must not know arrays or stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import gcd, lcm, prod

from omnizarr.jobs.pyramids.geometry import Geometry, Region
from omnizarr.jobs.pyramids.kernels import Factors
from omnizarr.model.grids import Shape

MANY = 16
"""A stage leaves at least so many tiles, unless its base is small."""
SMALL = 32 << 20
"""A base of so few bytes is one stage to the end."""
READ = 8 << 20
"""Pieces are made so large that about this much is read in one go."""


@dataclass(frozen=True)
class Costs:
    """What an element costs while a stage is computed."""

    itemsize: int
    sums: int
    """Bytes of an element's state."""

    def piece(self, elements: int) -> int:
        """What is in memory while so many elements of the base are read and reduced: themselves,
        where they are missing, and the first sums."""
        return elements * (2 * self.itemsize + 1 + self.sums // 2)

    def buffer(self, elements: int) -> int:
        """The state and the values of so many elements of a level."""
        return elements * (self.sums + 2 * self.itemsize)


@dataclass(frozen=True)
class Stage:
    """The levels from `base` + 1 to `last`."""

    base: int
    last: int
    pieces: tuple[Shape, ...]
    """The shape of a piece at every level, that of `base` + 1 first; the last one is a tile."""
    nbytes: int
    """What one tile takes in memory."""
    tiles: Shape
    """How many tiles there are along each axis."""

    @property
    def name(self) -> str:
        """What a journal calls it: the same work has the same name."""
        tile = "x".join(map(str, self.pieces[-1]))
        return f"{self.base}>{self.last}:{tile}"

    def tile(self, at: Shape, shape: Shape) -> Region:
        """The region of the last level, whose shape is given, that a tile is."""
        return tuple(
            slice(place * size, min((place + 1) * size, length))
            for place, size, length in zip(at, self.pieces[-1], shape, strict=True)
        )


def split(region: Region, size: Shape) -> Iterator[Region]:
    """A region in pieces."""
    ranges = [
        [slice(at, min(at + step, part.stop)) for at in range(part.start, part.stop, step)]
        for part, step in zip(region, size, strict=True)
    ]
    return product(*ranges)


def stages_of(
    geometry: Geometry,
    units: tuple[Shape, ...],
    read: Shape,
    costs: Costs,
    budget: int,
    *,
    single: bool = False,
    first: int = 0,
) -> list[Stage]:
    """The stages of an array.

    `units` are the write units of level 0, 1, …; `read` is what is read of the base at once, at
    least. With `single` every stage makes one level."""
    last = len(geometry.shapes) - 1
    stages: list[Stage] = []
    base = first
    while base < last:
        cut = read if base == first else units[base]
        stages.append(_stage(geometry, units, base, cut, costs, budget, single))
        base = stages[-1].last
    return stages


def _stage(
    geometry: Geometry,
    units: tuple[Shape, ...],
    base: int,
    read: Shape,
    costs: Costs,
    budget: int,
    single: bool,
) -> Stage:
    small = prod(geometry.shapes[base]) * costs.itemsize <= SMALL
    begin = _first_piece(geometry, units, base, read, costs, budget)
    pieces: list[Shape] = [begin]
    chosen = _made(geometry, base, pieces, costs)
    while not single and chosen.last < len(geometry.shapes) - 1:
        level = chosen.last + 1
        pieces = [*pieces, _next_piece(geometry, units, level, pieces[-1])]
        further = _made(geometry, base, pieces, costs)
        if further.nbytes > max(budget, chosen.nbytes) or (
            prod(further.tiles) < MANY and not small
        ):
            break
        chosen = further
    return chosen


def _made(geometry: Geometry, base: int, pieces: list[Shape], costs: Costs) -> Stage:
    last = base + len(pieces)
    factors = geometry.factors[base:last]
    nbytes = costs.piece(_inside(_times(pieces[0], factors[0]), geometry.shapes[base]))
    for at, piece in enumerate(pieces):
        # What a piece of the next level needs of this one, or the tile itself.
        wanted = piece if at == len(pieces) - 1 else _times(pieces[at + 1], factors[at + 1])
        nbytes += costs.buffer(_inside(wanted, geometry.shapes[base + 1 + at]))
    tiles = tuple(
        -(-length // size) for length, size in zip(geometry.shapes[last], pieces[-1], strict=True)
    )
    return Stage(base, last, tuple(pieces), nbytes, tiles)


def _not_empty(shape: Shape) -> Shape:
    """The shape with 1 for an axis without elements, of which there is no tile: pieces have a
    length."""
    return tuple(max(1, length) for length in shape)


def _times(shape: Shape, factors: Factors) -> Shape:
    return tuple(length * factor for length, factor in zip(shape, factors, strict=True))


def _inside(size: Shape, shape: Shape) -> int:
    """How many elements of an array so large a region has at the most."""
    return prod(map(min, size, shape))


def _elements(piece: Shape, factors: Factors) -> int:
    return prod(_times(piece, factors))


def _first_piece(
    geometry: Geometry,
    units: tuple[Shape, ...],
    base: int,
    read: Shape,
    costs: Costs,
    budget: int,
) -> Shape:
    """Whole write units of the first level; whole chunks of the base too, and several of them where
    they are small, as far as the budget goes."""
    factors, shape = geometry.factors[base], _not_empty(geometry.shapes[base + 1])
    unit = tuple(map(min, units[base + 1], shape))
    aligned = tuple(
        min(lcm(one, chunk // gcd(chunk, factor)), length)
        for one, chunk, factor, length in zip(units[base + 1], read, factors, shape, strict=True)
    )
    piece = aligned if costs.piece(_elements(aligned, factors)) <= budget // 2 else unit
    # The last axis first: its neighbours are next to each other in memory and in most listings.
    grown = True
    while grown:
        grown = False
        for axis in reversed(range(len(piece))):
            if piece[axis] >= shape[axis]:
                continue
            # Nearly equal lengths of all axes read the least twice.
            more = list(piece)
            more[axis] *= 2
            more[axis] = min(more[axis], -(-shape[axis] // piece[axis]) * piece[axis])
            nbytes = _elements(tuple(more), factors) * costs.itemsize
            if nbytes <= READ and costs.piece(_elements(tuple(more), factors)) <= budget // 2:
                piece, grown = tuple(more), True
    return piece


def _next_piece(geometry: Geometry, units: tuple[Shape, ...], level: int, below: Shape) -> Shape:
    """Whole write units that consist of whole pieces of the level below."""
    factors, shape = geometry.factors[level - 1], _not_empty(geometry.shapes[level])
    return tuple(
        min(lcm(unit, size // gcd(size, factor)), length)
        for unit, size, factor, length in zip(units[level], below, factors, shape, strict=True)
    )
