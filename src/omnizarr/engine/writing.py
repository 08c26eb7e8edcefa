"""Writing: execute a plan from a working array.

A chunk that is covered whole is encoded and stored. Any other is read, changed and written
back while its key is held exclusively, so that two writers of one chunk lose nothing. All inner
chunks of a shard that one call touches cost one shard write; inner chunks that it does
not touch keep their encoded bytes.

A chunk that holds nothing but the fill value, bit for bit, is not stored, unless the array has no
fill value or the caller asked for empty chunks.

`trim` deletes what a shrunk array no longer covers. A concurrent writer that grows the array
changes the shape first and writes chunks afterwards. So `trim` locks a chunk, or notes its version,
before it reads the shape: a chunk that was written meanwhile is never lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr import indexing
from omnizarr.codecs import Chain
from omnizarr.engine import native_plans, threads
from omnizarr.engine.chunk_source import Source
from omnizarr.engine.locks import exclusive, update
from omnizarr.errors import CodecError, ZarrError
from omnizarr.indexing import ChunkPart, Plan, refine
from omnizarr.model.casting import cast
from omnizarr.model.column import Column
from omnizarr.model.dtypes.struct import cleared
from omnizarr.model.fill import is_fill
from omnizarr.model.grids import Shape
from omnizarr.model.store import Buffer, ByteRange, Sender
from omnizarr.runtime import parallel

NDArray = npt.NDArray[Any]
Working = NDArray | Column
FieldName = str | list[str] | None
Encoded = tuple[Buffer | None] | None
"""An encoded chunk (None: nothing but fill value); None if it must be read and changed first."""


def write(source: Source, plan: Plan, working: Working, field: FieldName = None) -> None:
    """Store `working` (of `plan.shape`) where the plan says, in one field only if it is named."""
    if plan.empty:
        return
    source.store.check_writable()
    left = native_plans.write(source, plan, working) if field is None else None
    if left is not None:
        plan = plan.only(left)
    count = len(plan)
    if count == 0:
        return
    regular = source.regular_chain
    task_bytes = source.chunk_bytes
    if regular.shard is not None and (regular.shard.chain.nbytes or 0) < threads.WORTHWHILE_BYTES:
        task_bytes = 0
    capabilities = source.store.capabilities
    workers = threads.workers_for(count, task_bytes)
    if not capabilities.concurrent_writes:
        workers = 1
    elif count > 1 and capabilities.requests > 1:
        _write_waiting(source, plan, working, field, threads.coders_for(count, task_bytes))
        return

    def run(part: ChunkPart, _: None) -> None:
        _store_part(source, part, _encoded(source, part, working, field), working, field)

    parallel.run(run, plan.parts(), workers, lambda: None)


def _write_waiting(
    source: Source, plan: Plan, working: Working, field: FieldName, encoders: int
) -> None:
    """For a high-latency store: few threads encode, many send."""
    senders, most = threads.fetchers_for(source.store, len(plan), source.chunk_bytes)
    # With versions, no lock of this process is needed for a whole chunk: an update that meets it
    # begins anew.
    sender = source.store.sender(senders) if source.store.capabilities.versions else None
    key_of = source.key

    def encode(item: tuple[str, ChunkPart]) -> Encoded:
        return _encoded(source, item[1], working, field)

    def send(batch: list[tuple[tuple[str, ChunkPart], Encoded]], _: None) -> None:
        for (_key, part), data in batch:
            _store_part(source, part, data, working, field, sender)

    def value_of(item: tuple[tuple[str, ChunkPart], Encoded]) -> tuple[str, Buffer] | None:
        (key, _), data = item
        return None if data is None or data[0] is None else (key, data[0])

    items = ((key_of(part.coordinates), part) for part in plan.parts())
    drain = None if sender is None else lambda desk: sender.send(desk, value_of)
    parallel.relay(encode, items, encoders, send, senders, lambda: None, most, drain=drain)


def _encoded(source: Source, part: ChunkPart, working: Working, field: FieldName) -> Encoded:
    """The chunk as it will be stored, if nothing of the old one remains."""
    chain = source.chain_for(part.coordinates)
    if not _replaces(part, chain, field):
        return None
    try:
        return (encode_part(source, chain, None, part, working, None),)
    except ZarrError as error:
        key = source.key(part.coordinates)
        raise error.at(source.where(key, part.coordinates)) from error


def _store_part(
    source: Source,
    part: ChunkPart,
    data: Encoded,
    working: Working,
    field: FieldName,
    sender: Sender | None = None,
) -> None:
    """Store a chunk that was encoded; read, change and write back any other."""
    coordinates = part.coordinates
    key = source.key(coordinates)
    store = source.store
    try:
        if data is not None:
            if data[0] is not None and sender is not None:
                sender.set(key, data[0])
            elif data[0] is not None and store.capabilities.locks:
                store.set(key, data[0])  # under the lock, which it takes itself
            else:
                with exclusive(store, key):
                    _store(source, key, coordinates, *data)
        else:
            with source.caller_lock(key):
                update(
                    store, key, lambda held: _change_chunk(source.on(held), part, working, field)
                )
    except ZarrError as error:
        raise error.at(source.where(key, coordinates)) from error


def _change_chunk(source: Source, part: ChunkPart, working: Working, field: FieldName) -> None:
    """Read, change and write back one chunk that is held exclusively."""
    coordinates = part.coordinates
    key = source.key(coordinates)
    chain = source.chain_for(coordinates)
    old = source.fetch(key, coordinates)
    data = encode_part(source, chain, old, part, working, field)
    if data is None and old is None:
        return  # nothing to delete, and a chunk that another writer stores now must stay
    if data is None and source.store.capabilities.deletes_any_version:
        data = _emptied(source, chain)
    _store(source, key, coordinates, data)


def _emptied(source: Source, chain: Chain) -> Buffer:
    """A chunk of nothing but fill value, for a store that replaces a value on condition, as all
    services do, but deletes without one."""
    if chain.shard is not None:
        return chain.shard.empty()
    return chain.encode(source.new_chunk(chain.shape))


def trim(source: Source, coordinates: Shape, current: Callable[[], Shape | None]) -> None:
    """Clear what a stored chunk holds beyond the array's new shape.

    `source` has the old shape. `current` gives the new one, and is called while the chunk is locked
    or its version is known; where it gives None, the chunk is left as it is.
    """
    key = source.key(coordinates)
    try:
        with source.caller_lock(key):
            update(source.store, key, lambda held: _trim(source.on(held), coordinates, current))
    except ZarrError as error:
        raise error.at(source.where(key, coordinates)) from error


def _trim(source: Source, coordinates: Shape, current: Callable[[], Shape | None]) -> None:
    key, chain = source.key(coordinates), source.chain_for(coordinates)
    names = (key, *source.alternative_keys(coordinates))
    # An empty range: a chunk outside of the array is not read.
    if all(source.store.get(name, ByteRange(0, 0)) is None for name in names):
        return
    shape = current()
    data: Buffer | None = None
    if shape is not None and not _is_outside(source, coordinates, shape):
        data = before = source.fetch(key, coordinates)
        if before is None:
            return
        shape = current()  # again: it must be newer than the version of the chunk
        for part, fill in _outside(source, coordinates, shape or source.model.shape):
            data = encode_part(source, chain, data, part, fill, None)
        if data == before:
            return
    if shape is None:
        return
    if data is None and source.store.capabilities.deletes_any_version:
        data = _emptied(source, chain)
    _store(source, key, coordinates, data)


def _is_outside(source: Source, coordinates: Shape, shape: Shape) -> bool:
    """Whether the chunk is wholly outside of an array of this shape."""
    axes = source.model.grid.axes
    return any(a.start(c) >= n for a, c, n in zip(axes, coordinates, shape, strict=True))


def _outside(
    source: Source, coordinates: Shape, shape: Shape
) -> Iterator[tuple[ChunkPart, NDArray]]:
    """The parts of the chunk outside of the array, one per dimension, each with fill values."""
    model = source.model
    chunk = [
        slice(axis.start(c), min(axis.start(c) + axis.size(c), n))
        for axis, c, n in zip(model.grid.axes, coordinates, model.shape, strict=True)
    ]
    for dimension, length in enumerate(shape):
        if length < chunk[dimension].stop:
            region = list(chunk)
            region[dimension] = slice(max(length, chunk[dimension].start), chunk[dimension].stop)
            whole = indexing.identity(model.shape)
            transform = indexing.basic_and_advanced(whole, tuple(region))
            plan = indexing.partition(transform, model.grid)
            working = plan.working(source.new_chunk(transform.shape))
            for part in plan.parts():
                yield part, working


def _store(source: Source, key: str, coordinates: tuple[int, ...], data: Buffer | None) -> None:
    store = source.store
    if data is not None:
        store.set(key, data)
        return
    store.delete(key)
    for other in source.alternative_keys(coordinates):
        # A chunk that stayed under its other name would be read again.
        store.delete(other)


def _covers(part: ChunkPart, field: FieldName) -> bool:
    """Whether the write covers all elements of the chunk that are inside the array."""
    return part.whole and field is None


def _replaces(part: ChunkPart, chain: Chain, field: FieldName) -> bool:
    """Whether nothing of the old chunk remains.

    Elements of the chunk beyond the edge of the array remain: another process may have made the
    array longer since this one read its shape, and written there. (If the old chunk cannot be
    decoded, and the write covers all its elements inside the array, the rest is discarded.)
    """
    return _covers(part, field) and part.extent == chain.shape


def encode_part(
    source: Source,
    chain: Chain,
    old: Buffer | None,
    part: ChunkPart,
    working: Working,
    field: FieldName,
) -> Buffer | None:
    """The encoded chunk after the change; None if nothing but fill value is left."""
    shard = chain.shard
    if shard is not None:
        chunks: dict[tuple[int, ...], Buffer] = {}
        if old is not None and not _replaces(part, chain, field):
            try:
                chunks.update(shard.split(old))
            except CodecError:
                if not _covers(part, field):
                    raise
        for inner in refine(part, shard.grid):
            before = chunks.pop(inner.coordinates, None)
            data = encode_part(source, shard.chain, before, inner, working, field)
            if data is not None:
                chunks[inner.coordinates] = data
        return shard.assemble(chunks) if chunks or source.write_empty_chunks else None
    block = _changed(source, chain, old, part, working, field)
    if source.padded and not isinstance(block, Column):
        block = cleared(block)
    elides = not source.write_empty_chunks and source.model.fill_value is not None
    if elides and is_fill(block, source.fill):
        return None
    return chain.encode(block)


def _changed(
    source: Source,
    chain: Chain,
    old: Buffer | None,
    part: ChunkPart,
    working: Working,
    field: FieldName,
) -> Working:
    """The decoded chunk with the selected elements replaced."""
    dtype = source.model.dtype
    if part.direct and field is None:
        chosen = working[part.outer]
        return chosen if isinstance(chosen, Column) else cast(chosen, dtype)
    block = None
    if old is not None and not _replaces(part, chain, field):
        try:
            block = np.array(chain.decode(old), dtype=dtype, copy=True)
        except CodecError:
            if not _covers(part, field):
                raise
    if block is None:
        block = source.new_chunk(chain.shape)
    if isinstance(field, list):
        # One by one: assigned together through index arrays, NumPy writes over their neighbours.
        for name in field:
            block[name][part.inner] = working[name][part.outer]
        return block
    target = block if field is None else block[field]
    values = working[part.outer]
    if isinstance(values, Column):
        values = values.numpy(target.dtype)
    elif values.dtype.kind in "TmM":
        values = cast(values, target.dtype)
    target[part.inner] = values
    return block
