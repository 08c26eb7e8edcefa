"""Executing a whole plan in one call of the native core.

The core reads the files of a local store, decodes chunks and inner chunks, and puts them where the
plan says, on all cores. It encodes and stores chunks and shards, and reads and changes those of
which something remains. It reports no errors: it leaves every chunk that is damaged or unusual,
and `engine.reading` or `engine.writing` does those, or raises.

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
from omnizarr.runtime.native_core import ChunkFiles

if TYPE_CHECKING:
    from omnizarr.engine.chunk_source import Source

_LARGEST = 1 << 62
"""Arrays with longer dimensions are not for the core."""


def files_of(source: Source) -> ChunkFiles | None:
    """What reads the chunks of an array; None if the core does not know such chunks."""
    core, model, chain = native_core.core(), source.model, source.regular_chain
    make, keys = getattr(core, "ChunkFiles", None), model.keys.layout
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
    reader: ChunkFiles = make(tuple(layout), shard, keys, fill)
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
    own = _files(source, working)
    files = None if own is None else source.store.files(source.prefix)
    factors = plan.factors
    if own is None or files is None or factors is None:
        return None
    amounts = _amounts()
    return _coordinates(own.read(*files, *_listed(factors), working, *amounts, parallel.check))


def write(source: Source, plan: Plan, working: Any) -> frozenset[Shape] | None:
    """Store what the core can. The coordinates of all chunks that it left; None: it stored none."""
    own, factors = _files(source, working), plan.factors
    if own is None or factors is None or source.synchronizer is not None:
        return None
    files = source.store.files(source.prefix, writing=True)
    if files is None:
        return None
    elides = not source.write_empty_chunks and source.model.fill_value is not None
    elided = source.fill.tobytes() if elides else None
    absent = not source.model.keys.alternatives
    selection, amounts = _listed(factors), _amounts()
    left = own.write(files.path, *selection, working, elided, absent, *amounts, parallel.check)
    return _coordinates(left)


def _listed(factors: tuple[Any, Any]) -> tuple[Any, list[Any]]:
    """The factors of a plan as the core takes them."""
    runs, points = factors
    return runs, [
        (
            group.axes,
            [np.ascontiguousarray(indices, np.int64) for indices in group.indices],
            _places(group.positions, len(group.indices[0])),
        )
        for group in points
    ]


def _files(source: Source, working: Any) -> ChunkFiles | None:
    """What executes plans of an array, if such a working array is as the core knows them."""
    own = source.native_files
    if own is None or native_core.core() is None or type(working) is not np.ndarray:
        return None
    if working.dtype != source.model.dtype:
        return None
    fits = source.regular_chain.output.limit <= limits.current.max_chunk_bytes
    return own if fits else None


def _amounts() -> tuple[int | None, int]:
    """How many threads may work (None: one for each core), and how much memory they may take.

    Raises if the call was cancelled, for which the core looks only when some time has passed."""
    parallel.check()
    return threads.chosen(), limits.current.scratch_bytes


def _coordinates(left: list[list[int]] | None) -> frozenset[Shape] | None:
    return None if left is None else frozenset(map(tuple, left))


def _places(positions: Any, count: int) -> Any:
    if isinstance(positions, int):
        return np.arange(positions, positions + count, dtype=np.int64)
    return np.ascontiguousarray(positions, np.int64)
