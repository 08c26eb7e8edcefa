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

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omnizarr import indexing, limits
from omnizarr.codecs import Chain
from omnizarr.engine import native_plans, pipeline, threads
from omnizarr.engine.chunk_source import Source
from omnizarr.engine.locks import exclusive, update
from omnizarr.engine.native_plans import Selected, Wrapping
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
NUMBERS = "biufc"
Encoded = tuple[Buffer | None] | Literal["stored"] | None
"""An encoded chunk (None: nothing but fill value); that it is stored; None if it must be read and
changed first."""


def write(source: Source, plan: Plan, working: Working, field: FieldName = None) -> None:
    """Store `working` (of `plan.shape`) where the plan says, in one field only if it is named."""
    if plan.empty:
        return
    source.store.check_writable()
    native: Selected | None = None
    if field is None:
        working = _cast_if_small(source, working)
        left = native_plans.write(source, plan, working)
        if left is None:
            native = native_plans.selected(source, plan, working)
        else:
            plan = plan.only(left)
    count = len(plan)
    if count:
        _Writing(source, working, field, native).run(plan, count)


def encode(
    source: Source, plan: Plan, working: Working, old: Mapping[str, Buffer | None]
) -> list[Buffer | None]:
    """What would be stored of each part of a plan (None: nothing but fill value). `old` has what is
    stored until now under the keys of chunks of which something remains."""
    parts = list(plan.parts())
    before = [old.get(source.key(part.coordinates)) for part in parts]
    made: list[Buffer | None] = [None] * len(parts)
    left: Sequence[int] = range(len(parts))
    native = native_plans.selected(source, plan, working)
    if native is not None:
        made[:], left = native.encode(parts, before)

    def encode_one(number: int) -> None:
        part = parts[number]
        chain = source.chain_for(part.coordinates)
        try:
            made[number] = encode_part(source, chain, before[number], part, working, None)
        except ZarrError as error:
            where = source.where(source.key(part.coordinates), part.coordinates)
            raise error.at(where) from error

    parallel.each(encode_one, left, threads.workers_for(len(left), source.chunk_bytes))
    return made


def _cast_if_small(source: Source, working: Working) -> Working:
    """Numbers in the array's type, which the native core needs, if there is memory for them.
    (Many are cast chunk by chunk, and so is what may not fit the type.)"""
    dtype = source.model.dtype
    if isinstance(working, Column) or working.dtype == dtype or source.native_chunks is None:
        return working
    if working.dtype.kind not in NUMBERS or dtype.kind not in NUMBERS:
        return working
    fits = working.size * dtype.itemsize <= limits.current.scratch_bytes // 2
    return working.astype(dtype) if fits else working


class _Writing:
    """One call."""

    def __init__(
        self, source: Source, working: Working, field: FieldName, native: Selected | None
    ) -> None:
        self._source, self._working, self._field = source, working, field
        self._native = native
        self._wrapping: Wrapping | None = None
        self._sender: Sender | None = None

    def run(self, plan: Plan, count: int) -> None:
        source = self._source
        # A compressor made for one chunk costs more than the core saves.
        if self._native is None and self._field is None and count > 1:
            self._wrapping = native_plans.wrapping(source, plan, writing=True)
        if self._wrapping is None:
            amounts = threads.for_writing(source, count, self._native is not None)
        else:
            amounts = threads.for_serialized(source, count)
        # With versions, no lock of this process is needed for a whole chunk: an update that meets
        # it begins anew.
        if amounts.waiting and source.store.capabilities.versions:
            self._sender = source.store.sender(amounts.waiting)
        pipeline.write(
            plan.parts(), self._encode, self._store, amounts, self._sender, self._value_of
        )

    def _encode(self, parts: list[ChunkPart]) -> list[Encoded]:
        """The chunks as they will be stored, where nothing of the old one remains."""
        if self._native is None and self._wrapping is None:
            return [self._encode_one(part) for part in parts]
        made: list[Encoded] = [None] * len(parts)
        chain = self._source.regular_chain  # the core knows regular grids alone
        there = [n for n, part in enumerate(parts) if _replaces(part, chain, None)]
        left: list[int] = []
        if there and self._native is not None:
            values, places = self._native.encode([parts[n] for n in there], [None] * len(there))
            for number, value in zip(there, values, strict=True):
                made[number] = (value,)
            left = [there[place] for place in places]
        elif there and self._wrapping is not None:
            left = self._store_serialized(self._wrapping, parts, there, made)
        for number in left:
            made[number] = self._encode_one(parts[number])
        return made

    def _store_serialized(
        self, wrapping: Wrapping, parts: list[ChunkPart], there: list[int], made: list[Encoded]
    ) -> list[int]:
        """Serialise chunks, and have the native core do the rest. The numbers of those it left."""
        serializer = self._source.regular_chain.serializer
        most = limits.current.scratch_bytes // native_plans.SHARES
        left: list[int] = []
        batch: list[tuple[int, Buffer]] = []
        size = 0
        for number in there:
            made[number] = (data,) = self._encoded(parts[number], serializer)
            if data is not None:
                batch.append((number, data))
                made[number] = "stored"
                size += len(data)
            if batch and (size >= most or number == there[-1]):
                numbers, values = zip(*batch, strict=True)
                places = wrapping.write([parts[number] for number in numbers], values)
                left += [numbers[place] for place in places]
                batch, size = [], 0
        return left

    def _encode_one(self, part: ChunkPart) -> Encoded:
        chain = self._source.chain_for(part.coordinates)
        return self._encoded(part, chain) if _replaces(part, chain, self._field) else None

    def _encoded(self, part: ChunkPart, chain: Chain) -> tuple[Buffer | None]:
        source = self._source
        try:
            return (encode_part(source, chain, None, part, self._working, None),)
        except ZarrError as error:
            key = source.key(part.coordinates)
            raise error.at(source.where(key, part.coordinates)) from error

    def _value_of(self, part: ChunkPart, data: Encoded) -> tuple[str, Buffer] | None:
        """What the sender stores."""
        if data is None or data == "stored" or data[0] is None:
            return None
        return self._source.key(part.coordinates), data[0]

    def _store(self, part: ChunkPart, data: Encoded) -> None:
        """Store a chunk that was encoded; read, change and write back any other."""
        if data == "stored":
            return
        source, store, coordinates = self._source, self._source.store, part.coordinates
        key = source.key(coordinates)
        try:
            if data is not None:
                if data[0] is not None and self._sender is not None:
                    self._sender.set(key, data[0])
                elif data[0] is not None and store.capabilities.locks:
                    store.set(key, data[0])  # under the lock, which it takes itself
                else:
                    with exclusive(store, key):
                        _store(source, key, coordinates, *data)
            else:
                with source.caller_lock(key):
                    update(store, key, lambda held: self._change(source.on(held), part))
        except ZarrError as error:
            raise error.at(source.where(key, coordinates)) from error

    def _change(self, source: Source, part: ChunkPart) -> None:
        """Read, change and write back one chunk that is held exclusively."""
        coordinates = part.coordinates
        key, chain = source.key(coordinates), source.chain_for(coordinates)
        old = source.fetch(key, coordinates)
        data: Buffer | None = None
        left = True
        if self._native is not None:
            (data,), places = self._native.encode([part], [old])
            left = bool(places)
        if left:
            data = encode_part(source, chain, old, part, self._working, self._field)
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
