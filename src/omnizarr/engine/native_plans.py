"""Executing plans with the native core.

The core reads the files of a local store, decodes chunks and inner chunks, and puts them where the
plan says, on all cores, a whole plan in one call; or it stores them, and reads and changes those of
which something remains. Chunks of variable-size elements it moves between files and the serializer,
which is Python's. Chunks of other stores are fetched and stored by the engine, and decoded and
encoded by the core, many in one call. It reports no errors: it leaves every chunk that is damaged
or unusual, and `engine.reading` or `engine.writing` does those, or raises.

This module knows what the core can do. It must not know how, nor decide what is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy import ndarray  # looking up names of the package takes its time

from omnizarr import limits
from omnizarr.codecs.layout import DEFAULT_INDEX
from omnizarr.engine import threads
from omnizarr.errors import ZarrError
from omnizarr.indexing import ChunkPart, Plan
from omnizarr.model.grids import Grid, Shape
from omnizarr.model.keys import ChunkKeys
from omnizarr.model.store import Buffer, FilePrefix
from omnizarr.runtime import native_core, parallel
from omnizarr.runtime.native_core import Chunks, Selection, Serialized

if TYPE_CHECKING:
    from omnizarr.codecs.sharding import Shard
    from omnizarr.engine.chunk_source import Source

_LARGEST = 1 << 62
"""Arrays with longer dimensions are not for the core."""
_NO_KEYS = b"", ord("."), b""
"""Where keys are as the core does not know them, chunks are never read from files."""


def chunks_of(source: Source) -> Chunks | None:
    """What reads the chunks of an array; None if the core does not know such chunks."""
    core, model, chain = native_core.core(), source.model, source.regular_chain
    if core is None or not model.ndim or not _is_usual(model.grid):
        return None
    shard = None
    if chain.shard is not None:
        shard = _shard(chain.shard)
        chain = chain.shard.chain
        if shard is None:
            return None
    if chain.layout is None:
        return None
    keys, fill = model.keys.layout or _NO_KEYS, source.fill.tobytes()
    return core.Chunks(tuple(chain.layout), shard, keys, fill, source.decides_missing)


class Executor(NamedTuple):
    """What executes the plans of an array, and the facts that each call compares."""

    chunks: Chunks
    dtype: np.dtype[Any]
    limit: int
    """The most bytes that a chunk is stored in."""
    files: bool
    """Whether it finds the files of chunks by itself."""


def executor_of(source: Source) -> Executor | None:
    """What executes the plans of an array; None if the core cannot."""
    chunks, model = source.native_chunks, source.model
    if chunks is None:
        return None
    return Executor(chunks, model.dtype, source.limit, source.native_files)


def _is_usual(grid: Grid) -> bool:
    return grid.regular and max(*grid.array_shape, *grid.chunk_shape) < _LARGEST


def _shard(shard: Shard) -> tuple[Any, ...] | None:
    """The shape of shards, whether the index is at the start, whether it has a checksum; None if
    the index has any other codec."""
    specs = shard.index_chain.specs
    if shard.checksum_unknown or specs not in (DEFAULT_INDEX, DEFAULT_INDEX[:1]):
        return None
    return shard.grid.array_shape, shard.location == "start", len(specs) == 2


# -- files ------------------------------------------------------------------------------------


def read(source: Source, plan: Plan, working: Any) -> frozenset[Shape] | None:
    """Read what the core can. The coordinates of all chunks that it left; None: it read none."""
    own = _chunks(source, working, True)
    if own is None:
        return None
    files, factors = source.store.files(source.prefix), plan.factors
    if files is None or factors is None:
        return None
    path, follow_symlinks, tally = files
    runs, points = _listed(factors)
    workers, scratch = _amounts()
    done = own.read(path, follow_symlinks, runs, points, working, workers, scratch, parallel.check)
    if done is None:
        return None
    left, filled, nbytes = done
    if tally is not None:
        tally(len(plan) - filled - len(left), nbytes)
    return _coordinates(left)


def read_single(source: Source, key: Any, shape: Shape, order: str) -> Any:
    """What integers and slices select of one chunk of an array of this shape: a new array, or a
    scalar. None if the key is anything else, or the core left the chunk."""
    try:
        known = source.executor
    except ZarrError:  # not before a chunk is needed
        return None
    if known is None or native_core.core() is None:
        return None
    chunks, dtype, limit, has_files = known
    caps = limits.current
    if not has_files or limit > caps.max_chunk_bytes or len(shape) > caps.max_dimensions:
        return None
    files = source.store.files(source.prefix)
    if files is None or files.tally is not None:
        return None
    check = parallel.check
    check()
    path, follow_symlinks, _ = files
    return chunks.read_single(path, follow_symlinks, key, shape, dtype, order == "F", check)


def write(source: Source, plan: Plan, working: Any) -> frozenset[Shape] | None:
    """Store what the core can. The coordinates of all chunks that it left; None: it stored none."""
    own = _chunks(source, working, True)
    if own is None or source.synchronizer is not None:
        return None
    files, factors = source.store.files(source.prefix, writing=True), plan.factors
    if files is None or factors is None:
        return None
    absent = not source.model.keys.alternatives
    selection, amounts, elided = _listed(factors), _amounts(), _elided(source)
    done = own.write(files.path, *selection, working, elided, absent, *amounts, parallel.check)
    if done is None:
        return None
    left, nbytes = done
    if files.tally is not None:
        files.tally(len(plan) - len(left), nbytes)
    return _coordinates(left)


def knows_files(keys: ChunkKeys) -> bool:
    """Whether the core finds the files of chunks by itself."""
    return sys.platform == "linux" and keys.layout is not None


_NONE: frozenset[Shape] = frozenset()


def _coordinates(left: list[list[int]]) -> frozenset[Shape]:
    return frozenset(map(tuple, left)) if left else _NONE


# -- files of elements of variable size --------------------------------------------------------


class Unwrapped(NamedTuple):
    """What the serializer made of a chunk."""

    data: bytes


class Wrapping:
    """The codecs behind the serializer, and the files of chunks, both of which the core does."""

    def __init__(self, own: Serialized, files: FilePrefix) -> None:
        self._own, self._files = own, files

    def read(self, parts: Sequence[ChunkPart]) -> tuple[list[Unwrapped | None], list[int]]:
        """What was stored of each chunk; and the numbers of those that were left."""
        coordinates = [part.coordinates for part in parts]
        workers, memory = _amounts()
        values, left = self._own.read(
            *self._files[:2], coordinates, workers, memory // SHARES, parallel.check
        )
        return [None if value is None else Unwrapped(value) for value in values], left

    def write(self, parts: Sequence[ChunkPart], values: Sequence[Buffer]) -> list[int]:
        """Store what the serializer made of each chunk. The numbers of those that were left."""
        coordinates = [part.coordinates for part in parts]
        workers, memory = _amounts()
        return self._own.write(
            self._files.path, coordinates, values, workers, memory // SHARES, parallel.check
        )


SHARES = 2
"""For a moment the core may take twice what it is told of."""


def wrapping(source: Source, plan: Plan, *, writing: bool = False) -> Wrapping | None:
    """What moves chunks between files and their serializer; None if the core cannot."""
    own = source.native_serialized
    if own is None or native_core.core() is None or plan.factors is None:
        return None
    if writing and source.synchronizer is not None:
        return None
    files = source.store.files(source.prefix, writing=writing)
    return None if files is None or files.tally is not None else Wrapping(own, files)


def serialized_of(source: Source) -> Serialized | None:
    """What moves chunks of an array so; None if the core does not know such chunks."""
    core, model, layout = native_core.core(), source.model, source.regular_chain.serial_layout
    if core is None or layout is None or not model.ndim or not _is_usual(model.grid):
        return None
    if not source.native_files or source.chunk_bytes >= threads.WORTHWHILE_BYTES:
        return None  # several Python threads do large chunks just as fast
    sizes = layout.limit, layout.most, source.chunk_bytes
    return core.Serialized(layout.codecs, model.keys.layout, sizes)


# -- values of other stores -------------------------------------------------------------------


class Ranges(NamedTuple):
    """Some bytes of a shard."""

    table: npt.NDArray[np.uint64]
    """Offset and length of each inner chunk, `SKIPPED` for those that are not asked for."""
    ranges: list[tuple[int, Buffer]]
    """Bytes behind their offset."""


SKIPPED = (np.uint64(2**64 - 1), np.uint64(0))
"""Entry of an inner chunk that is not asked for."""


class Selected:
    """A plan that the core executes in several calls, each for some of its chunks. A call takes at
    most a quarter of the scratch: values that were fetched, or are to be stored, have the rest."""

    def __init__(self, source: Source, chunks: Chunks, selection: Selection, working: Any) -> None:
        self._chunks, self._selection, self._working = chunks, selection, working
        self._elided = _elided(source)

    def place(
        self, parts: Sequence[ChunkPart], values: Sequence[Buffer | Ranges | None]
    ) -> list[int]:
        """Decode chunks, or of shards what is there, and put them in their places. The numbers of
        those that were left, each once and in order."""
        coordinates = [part.coordinates for part in parts]
        workers, scratch = _amounts()
        return self._chunks.place(
            self._selection,
            self._working,
            coordinates,
            values,
            workers,
            scratch // 4,
            parallel.check,
        )

    def encode(
        self, parts: Sequence[ChunkPart], old: Sequence[Buffer | None]
    ) -> tuple[list[bytes | None], list[int]]:
        """Encode chunks, None if one is nothing but fill value; and the numbers of those that were
        left. Of `old` is kept what the plan does not cover."""
        coordinates = [part.coordinates for part in parts]
        workers, scratch = _amounts()
        return self._chunks.encode(
            self._selection,
            self._working,
            coordinates,
            old,
            self._elided,
            workers,
            scratch // 4,
            parallel.check,
        )


def selected(source: Source, plan: Plan, working: Any) -> Selected | None:
    """The plan for several calls; None if the core cannot execute it."""
    own, factors = _chunks(source, working), plan.factors
    if own is None or factors is None:
        return None
    selection = own.select(working.shape, *_listed(factors))
    return None if selection is None else Selected(source, own, selection, working)


# -- all of them ------------------------------------------------------------------------------


def _listed(factors: tuple[Any, Any]) -> tuple[Any, Sequence[Any]]:
    """The factors of a plan as the core takes them."""
    runs, points = factors
    if not points:
        return runs, points
    return runs, [
        (
            group.axes,
            [np.ascontiguousarray(indices, np.int64) for indices in group.indices],
            _places(group.positions, len(group.indices[0])),
        )
        for group in points
    ]


def _places(positions: Any, count: int) -> Any:
    if isinstance(positions, int):
        return np.arange(positions, positions + count, dtype=np.int64)
    return np.ascontiguousarray(positions, np.int64)


def _chunks(source: Source, working: Any, from_files: bool = False) -> Chunks | None:
    """What executes plans of an array, if such a working array is as the core knows them."""
    known = source.executor
    if known is None or native_core.core() is None or type(working) is not ndarray:
        return None
    chunks, dtype, limit, files = known
    found = working.dtype
    if (found is not dtype and found != dtype) or limit > limits.current.max_chunk_bytes:
        return None
    return chunks if files or not from_files else None


def _elided(source: Source) -> bytes | None:
    """The element of which chunks are not stored, if there is one."""
    elides = not source.write_empty_chunks and source.model.fill_value is not None
    return source.fill.tobytes() if elides else None


def _amounts() -> tuple[int | None, int]:
    """How many threads may work (None: one for each core), and how much memory they may take.

    Raises if the call was cancelled, for which the core looks only when some time has passed."""
    parallel.check()
    return threads.chosen(), limits.current.scratch_bytes
