"""Chunks that cannot be decoded: what they are called, and what can be saved around them.

Of a shard only the inner chunks that are damaged are lost. Only bytes that do not decode are
damage; a store that fails is not, and raises.

This module knows arrays and their chunks. It must not know why they are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.engine import Source
from omnizarr.engine.examination import Examined, examine
from omnizarr.errors import DecodeError
from omnizarr.jobs.conversion.regions import (
    Region,
    bounds_of,
    inner_regions,
    overlap,
    touched,
    within,
)
from omnizarr.jobs.report import Facts
from omnizarr.model.grids import Shape
from omnizarr.nodes.array import Array

OnDamage = Literal["raise", "skip", "fill"]
CHOICES: tuple[OnDamage, ...] = ("raise", "skip", "fill")


@dataclass(frozen=True)
class BadChunk(Facts):
    """A stored chunk, or an inner chunk of a shard, that cannot be decoded."""

    path: str
    """The array, "" for the root."""
    coordinates: tuple[int, ...]
    """In the array's chunk grid; of a shard, in the grid of shards."""
    key: str
    """Where it is stored."""
    error: str
    """Why it cannot be decoded."""
    inner: tuple[int, ...] | None = None
    """Within its shard; None if all of the chunk or shard is lost."""

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> BadChunk:
        """The chunk from what `to_dict` gave."""
        inner = facts["inner"]
        return cls(
            str(facts["path"]),
            tuple(facts["coordinates"]),
            str(facts["key"]),
            str(facts["error"]),
            None if inner is None else tuple(inner),
        )

    def __str__(self) -> str:
        inner = "" if self.inner is None else f", inner chunk {self.inner}"
        return f"chunk {self.coordinates}{inner}, key {self.key!r}: {self.error}"


class Recovered(NamedTuple):
    """What could be read of a region."""

    values: npt.NDArray[Any]
    """The fill value where a chunk is damaged or missing."""
    bad: list[BadChunk]
    holes: list[Region]
    """The damaged parts, in the array's coordinates."""
    stored: int
    """How many stored chunks the region touches."""


def recover(array: Array, path: str, region: Region) -> Recovered:
    """Read a region chunk by chunk, without those that are damaged."""
    source = array._source
    values = source.new_chunk(tuple(part.stop - part.start for part in region))
    bad: list[BadChunk] = []
    holes: list[Region] = []
    stored = 0
    for coordinates in touched(source.model.grid, region):
        key, found = _examined(source, coordinates)
        if found.nbytes is None:
            continue
        stored += 1
        chunk = bounds_of(source.model.grid, coordinates)
        lost = {fault.inner for fault in found.faults}
        for fault in found.faults:
            if not isinstance(fault.error, DecodeError):
                raise fault.error.at(source.where(key, coordinates))
            bad.append(BadChunk(path, coordinates, key, str(fault.error), fault.inner))
        for inner, part in _parts(source, coordinates, chunk, lost):
            common = overlap(part, region)
            if common is None:
                continue
            if inner in lost:
                holes.append(common)
            else:
                here: Any = (*within(common, region), ...)
                there: Any = (*common, ...)
                values[here] = array[there]
    return Recovered(values, bad, holes, stored)


def _examined(source: Source, coordinates: Shape) -> tuple[str, Examined]:
    """The chunk under its key or, failing that, under an alternative one."""
    key = source.key(coordinates)
    found = examine(source, key, coordinates)
    for other in source.alternative_keys(coordinates) if found.nbytes is None else ():
        again = examine(source, other, coordinates)
        if again.nbytes is not None:
            return other, again
    return key, found


def _parts(
    source: Source, coordinates: Shape, chunk: Region, lost: set[Shape | None]
) -> Iterator[tuple[Shape | None, Region]]:
    """The chunk as one part, or its inner chunks where some of them are lost and others are not."""
    if not lost or None in lost:
        yield (None, chunk)
        return
    shard = source.chain_for(coordinates).shard
    assert shard is not None  # only a shard has inner chunks
    yield from inner_regions(shard.grid, chunk)


# -- writing --------------------------------------------------------------------------------------


def put(target: Array, explicit: Array, region: Region, found: Recovered, choice: OnDamage) -> None:
    """Write what was recovered of a region.

    "fill" writes the fill value in place of what is damaged, as stored values (`explicit` is the
    same array, which stores chunks of fill values too). "skip" leaves out every chunk (of shards,
    inner chunk) that would need a damaged part."""
    source = target._source
    grid = source.model.grid
    for coordinates in touched(grid, region):
        bounds = overlap(bounds_of(grid, coordinates), region)
        assert bounds is not None
        here: Any = (*within(bounds, region), ...)
        values = found.values[here]
        damaged = [hole for hole in found.holes if overlap(hole, bounds) is not None]
        if not damaged:
            target[bounds] = values
        elif choice == "fill":
            explicit[bounds] = values
        else:
            shard = source.chain_for(coordinates).shard
            if shard is None:
                continue
            values = np.copy(values)
            whole = bounds_of(grid, coordinates)
            for _, part in inner_regions(shard.grid, whole):
                unit = overlap(part, bounds)
                if unit is not None and any(overlap(hole, unit) for hole in damaged):
                    source.put_fill(values, (*within(unit, bounds), ...))
            target[bounds] = values
