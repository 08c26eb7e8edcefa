"""The work on one tile: read the base, make every level of the stage, store what is whole.

Pieces of a tile are made depth first (see `stages`). Pieces for which nothing is stored are not
read: what they would come to follows from the fill value, and is not stored either.

This module knows arrays. It must not know journals or what runs it.
"""

from __future__ import annotations

import threading
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.errors import ChunkNotFoundError, StoreError, UnsupportedError
from omnizarr.jobs.conversion.regions import bounds_of, overlap, within
from omnizarr.jobs.pyramids.gaussian import gaussian, halo
from omnizarr.jobs.pyramids.geometry import Region, scaled
from omnizarr.jobs.pyramids.kernels import State, as_kind
from omnizarr.jobs.pyramids.plan import SUMS, VariablePlan
from omnizarr.jobs.pyramids.stages import Stage, split
from omnizarr.model.grids import Grid, Shape, regular_grid
from omnizarr.nodes.array import Array
from omnizarr.runtime import parallel
from omnizarr.runtime.properties import cached_property

UNKNOWN = np.uint32(0xFFFFFFFF)
"""The count of what no tile has written: there the fill value speaks."""


class Tile(NamedTuple):
    """One tile of a stage."""

    number: int
    place: Shape
    stored: frozenset[Shape] | None = None
    """The units of the base (see `units_of`) that are stored; None: all."""


class Ends(NamedTuple):
    """What one thread reads and writes."""

    base: tuple[Array, ...]
    levels: dict[int, Array]
    sums: tuple[Array, ...]


class StageWork:
    """What every tile of one stage needs."""

    def __init__(self, variable: VariablePlan, stage: Stage) -> None:
        self._variable, self._stage = variable, stage
        self._store = variable.levels[-1].place.store
        self._identity = self._store.identity

    def __getstate__(self) -> dict[str, Any]:
        return {
            "_variable": self._variable,
            "_stage": self._stage,
            "_store": self._store,
            "_identity": self._identity,
        }

    @cached_property
    def _local(self) -> threading.local:
        return threading.local()

    @property
    def _ends(self) -> Ends:
        found: Ends | None = getattr(self._local, "ends", None)
        if found is None:
            found = self._local.ends = self._opened()
        return found

    def _opened(self) -> Ends:
        if self._store.identity != self._identity:
            raise UnsupportedError(
                f"{self._store!r} lives in one process: what another one writes into its copy is"
                " lost; use threads (no executor, or a ThreadPoolExecutor)"
            )
        planned, stage = self._variable, self._stage
        return Ends(
            base_arrays(planned, stage),
            {
                level: planned.levels[level].array()
                for level in range(stage.base + 1, stage.last + 1)
            },
            tuple(stored.array(SUMS) for stored in planned.sums.get(stage.last, ())),
        )

    def open(self) -> None:
        """Open both ends, as every tile does."""
        _ = self._ends

    def do(self, tile: Tile) -> int:
        """Compute and store a tile; the bytes of values that were stored."""
        stage = self._stage
        region = stage.tile(tile.place, self._variable.geometry.shapes[stage.last])
        making = _Making(self, self._ends, tile.stored)
        state = making.made(stage.last, region)
        if self._ends.sums:
            self._store_sums(region, state)
        return making.nbytes

    def _store_sums(self, region: Region, state: State) -> None:
        *parts, counts = self._ends.sums
        for array, part in zip(parts, state.parts, strict=True):
            array[region] = part
        found: Any = state.counts
        if found is None:
            found = self._variable.geometry.counts(self._stage.last, region)
        counts[region] = found


class _Making:
    """The levels of one tile."""

    def __init__(self, work: StageWork, ends: Ends, stored: frozenset[Shape] | None) -> None:
        self._variable, self._stage = work._variable, work._stage
        self._geometry, self._reduction = self._variable.geometry, self._variable.reduction
        self._ends, self._stored = ends, stored
        self._units = units_of(self._variable, self._stage)
        fill = self._variable.source.array()._source.fill
        self._fill = as_kind(fill, self._reduction.dtype.kind)
        self.nbytes = 0

    def made(self, level: int, region: Region) -> State:
        """Compute a region of a level, and store it."""
        size = self._stage.pieces[level - self._stage.base - 1]
        whole: _Buffer | None = None
        for piece in split(region, size):
            parallel.check()
            if not self._is_wanted(level, piece):
                state = self._filled(level, piece)
            elif self._reduction.method == "gaussian":
                state = self._filtered(level, piece)
            else:
                state = self._reduced(level, piece)
            if piece == region:
                return state
            if whole is None:
                whole = _Buffer(region, state)
            whole.put(piece, state, self._counts(level, piece))
        assert whole is not None
        return whole.state

    def _is_wanted(self, level: int, piece: Region) -> bool:
        """Whether anything is stored that a piece needs."""
        if self._stored is None:
            return True
        region = needed(self._variable, self._stage, level, piece)
        return bool(self._within(region)[0])

    def _within(self, region: Region) -> tuple[list[Shape], bool]:
        """The stored units that a region of the base touches, and whether these are all units
        there."""
        assert self._stored is not None
        ranges = [
            range(axis.chunk_of(part.start), axis.chunk_of(part.stop - 1) + 1)
            for axis, part in zip(self._units.axes, region, strict=True)
        ]
        count = prod(map(len, ranges))
        if count <= len(self._stored):
            found = [unit for unit in product(*ranges) if unit in self._stored]
        else:
            found = [
                unit
                for unit in self._stored
                if all(at in one for at, one in zip(unit, ranges, strict=True))
            ]
        return found, len(found) == count

    def _reduced(self, level: int, piece: Region) -> State:
        geometry, base = self._geometry, self._stage.base
        factors = geometry.factors[level - 1]
        below = scaled(piece, factors, geometry.shapes[level - 1])
        elements = prod(geometry.total(level - 1))
        lower = self._read(below) if level - 1 == base else self.made(level - 1, below)
        state = self._reduction.combine(lower, factors, elements)
        del lower
        self._store(level, piece, self._reduction.finish(state, geometry.counts(level, piece)))
        return state

    def _filtered(self, level: int, piece: Region) -> State:
        factors = self._geometry.factors[level - 1]
        region = needed(self._variable, self._stage, level, piece)
        values = self._reduction.meant(self._values(self._ends.base[0], region))
        start = tuple(part.start for part in region)
        nodata, others = self._reduction.nodata, self._reduction.others
        found = gaussian(values, factors, piece, start, nodata, others)
        self._store(level, piece, found)
        return State((found,))

    def _store(self, level: int, piece: Region, values: npt.NDArray[Any]) -> None:
        array = self._ends.levels[level]
        array[piece] = as_kind(values, array.dtype.kind)
        self.nbytes += values.nbytes

    def _read(self, region: Region) -> State:
        base = self._ends.base
        if len(base) == 1:
            return self._reduction.start(self._values(base[0], region))
        try:
            *parts, counts = (self._values(array, region) for array in base)
        except ChunkNotFoundError as error:
            # Also a task that a cluster runs once more after the job has ended: it writes nothing.
            raise (
                StoreError(
                    "sums that this pyramid needs are gone; nothing may delete them before its end"
                )
                .at(base[0]._place.store, key=base[0]._place.path)
                .advise("{} begins anew", ("resume", False))
            ) from error
        level = self._stage.base
        gaps = counts == UNKNOWN
        if gaps.any():
            filled = self._filled(level, region)
            for part, other in zip(parts, filled.parts, strict=True):
                np.copyto(part, other, where=gaps)
            valid = self._counts(level, region) if filled.counts is None else filled.counts
            np.copyto(counts, valid, where=gaps, casting="unsafe")
        return State(tuple(parts), counts)

    def _values(self, array: Array, region: Region) -> npt.NDArray[Any]:
        """What is stored in a region; chunks that are known to be missing are not asked for."""
        stored, complete = ([], True) if self._stored is None else self._within(region)
        if complete:
            found = array[region]
            return np.asarray(found) if isinstance(found, np.generic) else found
        out = np.full([part.stop - part.start for part in region], array._source.fill, array.dtype)
        for unit in stored:
            part = overlap(bounds_of(self._units, unit), region)
            if part is not None:
                out[within(part, region)] = array[part]
        return out

    def _filled(self, level: int, region: Region) -> State:
        shape = tuple(part.stop - part.start for part in region)
        counts = np.broadcast_to(self._counts(level, region), shape)
        return self._reduction.fill(self._fill, counts, prod(self._geometry.total(level)))

    def _counts(self, level: int, region: Region) -> Any:
        return self._geometry.counts(level, region) if self._reduction.sums else 1


class _Buffer:
    """The state of a region, put together from its pieces."""

    def __init__(self, region: Region, like: State) -> None:
        self._origin = [part.start for part in region]
        self._shape = tuple(part.stop - part.start for part in region)
        self._parts = tuple(np.empty(self._shape, part.dtype) for part in like.parts)
        self._counts: npt.NDArray[Any] | None = None
        self._counted: list[tuple[Region, Any]] = []

    def put(self, piece: Region, state: State, elements: Any) -> None:
        place = tuple(
            slice(part.start - first, part.stop - first)
            for part, first in zip(piece, self._origin, strict=True)
        )
        for whole, part in zip(self._parts, state.parts, strict=True):
            whole[place] = part
        if state.counts is not None and self._counts is None:
            self._counts = np.empty(self._shape, np.uint32)
            for earlier, counts in self._counted:
                self._counts[earlier] = counts
        if self._counts is None:
            self._counted.append((place, elements))
        else:
            self._counts[place] = elements if state.counts is None else state.counts

    @property
    def state(self) -> State:
        return State(self._parts, self._counts)


def base_arrays(planned: VariablePlan, stage: Stage) -> tuple[Array, ...]:
    """What a stage is computed from: an array, or the sums that the stage before has left."""
    if stage.base == 0:
        return (planned.source.array(planned.options.changed(on_missing="fill")),)
    if stage.base in planned.sums:
        return tuple(stored.array(SUMS) for stored in planned.sums[stage.base])
    return (planned.levels[stage.base].array(),)


def units_of(planned: VariablePlan, stage: Stage) -> Grid:
    """What the base stores as one: chunks of the array, or tiles of the stage before."""
    if stage.base == 0:
        return planned.source.model.grid
    before = next(one for one in planned.stages if one.last == stage.base)
    return regular_grid(planned.geometry.shapes[stage.base], before.pieces[-1])


def needed(planned: VariablePlan, stage: Stage, level: int, region: Region) -> Region:
    """What a region of a level needs of the base."""
    factors = planned.geometry.total(level, stage.base)
    shape = planned.geometry.shapes[stage.base]
    if planned.reduction.method != "gaussian":
        return scaled(region, factors, shape)
    found = []
    for part, factor, length in zip(region, factors, shape, strict=True):
        before, behind = halo(factor)
        stop = min(length, part.stop * factor + behind)
        found.append(slice(max(0, part.start * factor - before), stop))
    return tuple(found)
