"""Reading a whole plan in one call of the native core.

The core reads the files of a local store, decodes chunks and inner chunks, and puts them where the
plan says, on all cores. It reports no errors: it leaves every chunk that is damaged or unusual, and
`engine.reading` reads those, or raises.

This module knows what the core can do. It must not know how, nor decide what is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from omnizarr import limits
from omnizarr.codecs.sharding import DEFAULT_INDEX, Shard
from omnizarr.engine import threads
from omnizarr.indexing import Plan
from omnizarr.model.grids import Grid, Shape
from omnizarr.runtime import native_core, parallel
from omnizarr.runtime.native_core import ChunkReader

if TYPE_CHECKING:
    from omnizarr.engine.chunk_source import Source

_LARGEST = 1 << 62
"""Arrays with longer dimensions are not for the core."""
_MANY = 1 << 15
"""Fewer bytes are never worth a thread."""


def reader_of(source: Source) -> ChunkReader | None:
    """What reads the chunks of an array; None if the core does not know such chunks."""
    core, model, chain = native_core.core(), source.model, source.regular_chain
    make, keys = getattr(core, "ChunkReader", None), model.keys.layout
    if make is None or keys is None or not model.ndim or not _is_usual(model.grid):
        return None
    shard = None
    if chain.shard is not None:
        shard = _shard(chain.shard)
        chain = chain.shard.chain
        if shard is None:
            return None
    if chain.blocks is None:
        return None
    layout = chain.blocks.layout(chain.output.limit)
    decides = source.on_missing != "fill" or bool(model.keys.alternatives)
    fill = None if decides else source.fill.tobytes()
    reader: ChunkReader = make(tuple(layout), shard, keys, fill)
    return reader


def _is_usual(grid: Grid) -> bool:
    return grid.regular and max(*grid.array_shape, *grid.chunk_shape) < _LARGEST


def _shard(shard: Shard) -> tuple[Any, ...] | None:
    """The shape of shards, whether the index is at the start, whether it has a checksum; None if
    the index has any other codec."""
    specs = shard.index_chain.specs
    if shard.checksum_unknown or specs not in (DEFAULT_INDEX, DEFAULT_INDEX[:1]):
        return None
    return shard.grid.array_shape, shard.location == "start", len(specs) == 2


def read(source: Source, plan: Plan, working: Any) -> frozenset[Shape] | None:
    """Read what the core can. The coordinates of all chunks that it left; None: it read none."""
    reader = source.native_reader
    if reader is None or native_core.core() is None or type(working) is not np.ndarray:
        return None
    if working.dtype != source.model.dtype:
        return None
    files = source.store.files(source.prefix)
    if files is None or source.regular_chain.output.limit > limits.current.max_chunk_bytes:
        return None
    runs, points = plan.factors
    listed = [
        (
            group.axes,
            [np.ascontiguousarray(indices, np.int64) for indices in group.indices],
            _places(group.positions, len(group.indices[0])),
        )
        for group in points
    ]
    workers = threads.available() if working.nbytes >= _MANY else 1
    scratch = limits.current.scratch_bytes
    left = reader.read(*files, runs, listed, working, workers, scratch, parallel.check)
    return None if left is None else frozenset(map(tuple, left))


def _places(positions: Any, count: int) -> Any:
    if isinstance(positions, int):
        return np.arange(positions, positions + count, dtype=np.int64)
    return np.ascontiguousarray(positions, np.int64)
