"""Which tiles of a stage there are to do: those that have anything stored below them.

A *unit* is what the base of a stage stores as one: a chunk of the array, or a tile of the stage
before. Chunks are found by listing, so that a sparse array costs what is stored of it; the tiles of
later stages follow. Tiles are numbered by their place alone, so that a journal can name them.

This module knows regions. It must not read or write values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, product
from math import prod

import numpy as np
import numpy.typing as npt

from omnizarr.jobs.conversion.chunks import Listed
from omnizarr.jobs.conversion.regions import bounds_of
from omnizarr.jobs.pyramids.plan import VariablePlan
from omnizarr.jobs.pyramids.stages import Stage
from omnizarr.jobs.pyramids.work import Tile, needed, units_of
from omnizarr.model.grids import Grid, Shape, all_places, unravel


@dataclass(frozen=True, eq=False)
class Tiles:
    """The tiles of one stage."""

    stage: Stage
    units: Grid
    pairs: npt.NDArray[np.int64] | None
    """Numbers of tiles, and of units that are stored below each of them, sorted; None: all."""

    def __len__(self) -> int:
        if self.pairs is None:
            return prod(self.stage.tiles)
        return len(np.unique(self.pairs[:, 0]))

    def __iter__(self) -> Iterator[Tile]:
        if self.pairs is None:
            for number, place in enumerate(all_places(self.stage.tiles)):
                yield Tile(number, place)
            return
        for number, found in groupby(self.pairs, lambda pair: int(pair[0])):
            stored = frozenset(unravel(int(unit), self.units.shape) for _, unit in found)
            yield Tile(number, unravel(number, self.stage.tiles), stored)


def tiles_of(planned: VariablePlan) -> list[Tiles]:
    """The tiles of every stage."""
    found: list[Tiles] = []
    for stage in planned.stages:
        units = units_of(planned, stage)
        stored = _chunks(planned) if stage.base == 0 else _made(found[-1])
        pairs = None
        if stored is not None:
            numbers = (one for pair in _touched(planned, stage, units, stored) for one in pair)
            pairs = np.unique(np.fromiter(numbers, np.int64).reshape(-1, 2), axis=0)
        found.append(Tiles(stage, units, pairs))
    return found


def _chunks(planned: VariablePlan) -> Iterable[Shape] | None:
    """The stored chunks; None if all are there, or if nothing can tell."""
    source = planned.source.array(planned.options)._source
    if not source.store.capabilities.listable or source.model.grid.nchunks >= 1 << 62:
        return None
    listed = Listed(source, sized=False)
    return None if len(listed) == source.model.grid.nchunks else listed


def _made(before: Tiles) -> Iterable[Shape] | None:
    """What the stage before writes."""
    return None if before.pairs is None else (tile.place for tile in before)


def _touched(
    planned: VariablePlan, stage: Stage, units: Grid, stored: Iterable[Shape]
) -> Iterator[tuple[int, int]]:
    """Tile and unit, wherever a tile needs something of a stored unit."""
    shape = planned.geometry.shapes[stage.last]
    for unit in stored:
        # From a unit to the tiles that may need it, then from each of them back.
        factors = planned.geometry.total(stage.last, stage.base)
        near = (
            range(
                max(0, part.start // (size * factor) - 1),
                min(count, part.stop // (size * factor) + 2),
            )
            for part, size, factor, count in zip(
                bounds_of(units, unit), stage.pieces[-1], factors, stage.tiles, strict=True
            )
        )
        for place in product(*near):
            region = needed(planned, stage, stage.last, stage.tile(place, shape))
            own = bounds_of(units, unit)
            if all(a.start < b.stop and b.start < a.stop for a, b in zip(region, own, strict=True)):
                yield _ravel(place, stage.tiles), _ravel(unit, units.shape)


def _ravel(coordinates: Shape, shape: Shape) -> int:
    number = 0
    for coordinate, length in zip(coordinates, shape, strict=True):
        number = number * length + coordinate
    return number
