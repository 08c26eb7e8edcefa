"""An engine of a few lines over a dict of full-size chunks: what a plan must be good for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from omnizarr.indexing import ChunkPart, Plan, refine
from omnizarr.model.grids import Grid, Shape

Chunks = dict[Shape, np.ndarray]
InnerGrid = Callable[[Shape], Grid]
"""The grid inside a chunk of this shape."""
OVERHANG = -7
"""What fills the part of an edge chunk outside the array."""


def box(grid: Grid, coordinates: Shape) -> tuple[slice, ...]:
    return tuple(
        slice(axis.start(c), axis.start(c) + axis.size(c))
        for axis, c in zip(grid.axes, coordinates, strict=True)
    )


def split(x: np.ndarray, grid: Grid) -> Chunks:
    """The array as chunks, edge chunks padded to their full shape."""
    chunks: Chunks = {}
    for coordinates in np.ndindex(*grid.shape):
        part = x[(*box(grid, coordinates), ...)]
        chunk = np.full(grid.shape_of(coordinates), OVERHANG, dtype=x.dtype)
        chunk[(*(slice(0, length) for length in part.shape), ...)] = part
        chunks[coordinates] = chunk
    return chunks


def join(chunks: Chunks, grid: Grid) -> np.ndarray:
    x = np.empty(grid.array_shape, dtype=np.int64)
    for coordinates, chunk in chunks.items():
        target = x[(*box(grid, coordinates), ...)]
        target[...] = chunk[(*(slice(0, length) for length in target.shape), ...)]
    return x


def leaves(
    parts: Iterator[ChunkPart], grid: Grid, chunks: Chunks, levels: list[InnerGrid]
) -> Iterator[tuple[ChunkPart, np.ndarray]]:
    """Every part of the innermost level with a view of its chunk, each part checked."""
    seen: set[Shape] = set()
    for part in parts:
        assert part.coordinates not in seen, "a chunk came twice"
        seen.add(part.coordinates)
        chunk = chunks[part.coordinates]
        check(part, chunk)
        if not levels:
            yield part, chunk
            continue
        inner = levels[0](chunk.shape)
        pieces = {c: chunk[(*box(inner, c), ...)] for c in np.ndindex(*inner.shape)}
        yield from leaves(refine(part, inner), inner, pieces, levels[1:])


def check(part: ChunkPart, chunk: np.ndarray) -> None:
    """Everything that a part says of itself."""
    assert all(type(c) is int for c in part.coordinates)
    marked = np.zeros(chunk.shape, dtype=bool)
    marked[part.inner] = True
    assert marked.any(), "a part that selects nothing"
    valid = (*(slice(0, length) for length in part.extent), ...)
    assert all(0 < e <= n for e, n in zip(part.extent, chunk.shape, strict=True))
    assert marked.sum() == marked[valid].sum(), "a part that reaches outside the array"
    assert part.whole is bool(marked[valid].all())
    if chunk.ndim == 0:
        assert part.direct and part.inner == part.outer == (...,)
        return
    basic = all(type(entry) is slice for entry in part.inner + part.outer)
    assert part.direct is (
        basic and part.inner == tuple(slice(0, length, 1) for length in chunk.shape)
    )
    for inner, outer in zip(part.inner, part.outer, strict=True):
        assert type(inner) is not slice or inner.step > 0
        assert type(outer) is not slice or outer.step == 1


def read(
    plan: Plan, chunks: Chunks, levels: list[InnerGrid], out: np.ndarray | None = None
) -> np.ndarray:
    working = plan.view(out) if out is not None else None
    own = working is None
    if working is None:
        working = np.full(plan.shape, -1, dtype=np.int64)
    for part, chunk in leaves(plan.parts(), plan.grid, chunks, levels):
        if part.direct:
            assert working[part.outer].shape == chunk.shape
        working[part.outer] = chunk[part.inner]
    if out is None:
        return plan.result(working)
    if own:
        out[...] = plan.result(working)
    return out


def write(plan: Plan, chunks: Chunks, levels: list[InnerGrid], value: Any) -> None:
    working = plan.working(np.broadcast_to(value, plan.transform.shape))
    assert working.shape == plan.shape
    for part, chunk in leaves(plan.parts(), plan.grid, chunks, levels):
        if part.whole:
            # What was there need not be read: nothing of it may survive inside the array.
            chunk[...] = OVERHANG
        chunk[part.inner] = working[part.outer]
