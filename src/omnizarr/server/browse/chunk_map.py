"""Which chunks are stored, and how large they are: a table of at most 128×128 cells.

Two dimensions of the grid become rows and columns; neighbours share a cell where the grid is
larger, and the other dimensions are folded into it, or fixed. This module lists a store. It must
not decode chunks.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from omnizarr.errors import NotListableError
from omnizarr.server.browse.facts import grid_of, lengths_of
from omnizarr.server.browse.selections import BadRequest

CELLS = 128
_LISTED = 500_000
"""Chunks that are looked at for one map."""
_SECONDS = 5.0


class Cells(NamedTuple):
    """What is in every cell, row by row."""

    counts: list[int]
    bytes: list[int]
    decoded: list[int]


def chunk_map(array: Any, rows: int, columns: int, at: Sequence[int | None] = ()) -> dict[str, Any]:
    """Number of the stored chunks (or shards) of every cell, their bytes, stored and decoded.

    `at` has a position in the grid for each dimension that is fixed, None for others.
    """
    grid = grid_of(array)
    ndim = len(grid)
    for dim in (rows, columns):
        if not -1 <= dim < ndim:
            raise BadRequest(f"the array has {ndim} dimensions, found dimension {dim}")
    fixed = [*at, *[None] * (ndim - len(at))]
    per_cell = [max(1, -(-length // CELLS)) for length in grid]
    height, width = (1 if dim < 0 else -(-grid[dim] // per_cell[dim]) for dim in (rows, columns))
    cells = Cells(*([0] * (height * width) for _ in range(3)))
    found = _filled(array, (rows, columns), fixed, per_cell, width, cells)
    folded = prod(
        length
        for dim, length in enumerate(grid)
        if dim not in (rows, columns) and fixed[dim] is None
    )
    unit = array.chunks if array.shards is None else array.shards
    return {
        "grid": list(grid),
        "unit": "chunk" if array.shards is None else "shard",
        "rows": rows,
        "columns": columns,
        "height": height,
        "width": width,
        "per_cell": [1 if dim < 0 else per_cell[dim] for dim in (rows, columns)],
        "folded": folded,
        "lengths": lengths_of(unit),
        "inner": [c[0] if isinstance(c, tuple) else c for c in array.chunks],
        "largest": _decoded(array, [max(c) if isinstance(c, tuple) else c for c in unit]) or None,
        **cells._asdict(),
        **found,
    }


def _filled(
    array: Any,
    dims: tuple[int, int],
    fixed: Sequence[int | None],
    per_cell: Sequence[int],
    width: int,
    cells: Cells,
) -> dict[str, Any]:
    """Count what the store lists, until there is too much of it."""
    rows, columns = dims
    started, looked, total = time.monotonic(), 0, 0
    kept = [(dim, index) for dim, index in enumerate(fixed) if index is not None]
    unit = array.chunks if array.shards is None else array.shards
    even = 0 if any(isinstance(c, tuple) for c in unit) else _decoded(array, unit)
    try:
        for chunk, size in array.stored_chunk_sizes():
            looked += 1
            if all(chunk[dim] == index for dim, index in kept):
                row = 0 if rows < 0 else chunk[rows] // per_cell[rows]
                column = 0 if columns < 0 else chunk[columns] // per_cell[columns]
                cell = row * width + column
                cells.counts[cell] += 1
                cells.bytes[cell] += size
                cells.decoded[cell] += even or _decoded(array, _lengths(unit, chunk))
                total += size
            if looked >= _LISTED or time.monotonic() - started > _SECONDS:
                return {"listed": looked, "total": total, "complete": False, "problem": None}
    except NotListableError as error:
        return {"listed": 0, "total": 0, "complete": False, "problem": str(error)}
    return {"listed": looked, "total": total, "complete": True, "problem": None}


def _lengths(unit: Sequence[Any], chunk: Sequence[int]) -> list[int]:
    """The lengths of one chunk of a grid, which may differ along a dimension."""
    return [c[i] if isinstance(c, tuple) else c for c, i in zip(unit, chunk, strict=True)]


def _decoded(array: Any, lengths: Sequence[int]) -> int:
    """Bytes of a decoded chunk; 0 where values have no fixed length."""
    return 0 if array.dtype.kind in "OT" else int(prod(lengths) * array.dtype.itemsize)


def one(array: Any, index: Sequence[int]) -> dict[str, Any]:
    """Where a chunk (or shard) is in the array, and the selection that reads it."""
    grid = grid_of(array)
    if len(index) != len(grid) or any(not 0 <= i < n for i, n in zip(index, grid, strict=True)):
        raise BadRequest(f"expected the position of a chunk in a grid of {grid}, found {index}")
    unit = array.chunks if array.shards is None else array.shards
    parts = []
    for i, length, size in zip(index, array.shape, unit, strict=True):
        start = sum(size[:i]) if isinstance(size, tuple) else i * size
        stop = min(length, start + (size[i] if isinstance(size, tuple) else size))
        parts.append((start, stop))
    return {
        "index": list(index),
        "selection": ",".join(f"{start}:{stop}" for start, stop in parts),
        "shape": [stop - start for start, stop in parts],
    }
