"""Regions of an array and the chunks that they touch: slices with a start and a stop.

This module knows grids. It must not know stores or values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import prod

from omnizarr.model.grids import Grid, Shape

Region = tuple[slice, ...]


def touched(grid: Grid, region: Region, factors: Shape | None = None) -> Iterator[Shape]:
    """The chunks of a grid that share an element with a region; with `factors`, the blocks of so
    many chunks along every axis."""
    factors = factors or (1,) * len(region)
    return product(
        *(
            range(axis.chunk_of(part.start) // n, axis.chunk_of(part.stop - 1) // n + 1)
            for axis, part, n in zip(grid.axes, region, factors, strict=True)
        )
    )


def count_touched(grid: Grid, region: Region) -> int:
    """How many chunks of a grid share an element with a region."""
    return prod(
        axis.chunk_of(part.stop - 1) - axis.chunk_of(part.start) + 1
        for axis, part in zip(grid.axes, region, strict=True)
    )


def bounds_of(grid: Grid, coordinates: Iterable[int]) -> Region:
    """What a chunk holds of the array."""
    return tuple(
        slice(axis.start(at), min(axis.start(at) + axis.size(at), axis.length))
        for axis, at in zip(grid.axes, coordinates, strict=True)
    )


def inner_regions(grid: Grid, outer: Region) -> Iterator[tuple[Shape, Region]]:
    """The inner chunks of a shard that have a part in the array."""
    for inner in product(*map(range, grid.shape)):
        places = bounds_of(grid, inner)
        region = tuple(
            slice(whole.start + part.start, min(whole.start + part.stop, whole.stop))
            for whole, part in zip(outer, places, strict=True)
        )
        if all(part.start < part.stop for part in region):
            yield inner, region


def overlap(one: Region, other: Region) -> Region | None:
    """What two regions share; None if nothing."""
    common = tuple(
        slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(one, other, strict=True)
    )
    return common if all(part.start < part.stop for part in common) else None


def within(part: Region, region: Region) -> Region:
    """A part of a region, in coordinates of that region."""
    return tuple(
        slice(p.start - r.start, p.stop - r.start) for p, r in zip(part, region, strict=True)
    )
