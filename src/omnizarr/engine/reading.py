"""Reading: execute a plan into a working array.

For every part of the plan: fetch the chunk, decode it, put what is selected where it belongs. A
chunk that is wanted whole and lands in one block of the output is decoded straight into it.

A shard is a nested plan. Its index has the offsets of the inner chunks. The part is cut along the
inner grid, byte ranges that are close together are merged and fetched, and each inner chunk is
decoded like any other. A shard that is in memory is cut in the same way, and so is a shard inside a
shard.

Memory: chunks are fetched in batches that together stay below `limits.scratch_bytes`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from math import prod
from typing import Any, TypeVar

import numpy.typing as npt

from omnizarr import limits
from omnizarr.codecs import Chain, Scratch
from omnizarr.codecs.blocks import BlockDecoder
from omnizarr.engine import batches, native_plans, shard_indexes, threads
from omnizarr.engine.batches import BatchGroup, Piece
from omnizarr.engine.chunk_source import Source
from omnizarr.engine.gathering import Gathered
from omnizarr.errors import (
    ChunkNotFoundError,
    DecodeError,
    ErrorLocation,
    LimitError,
    ValueChangedError,
    ZarrError,
)
from omnizarr.indexing import ChunkPart, Plan, refine
from omnizarr.model.store import Buffer, ByteRange, Read, read_range
from omnizarr.runtime import parallel

BATCH = 128
"""How many chunks are asked for at once at the most."""
TOGETHER = limits.MIB
"""How many decoded bytes of chunks that have arrived are decoded at once."""
MERGED = 8 * limits.MIB
"""A merged range is not extended beyond this; on a high-latency store, twice that."""
TASKS = 1 << 30
"""More than any store answers at once: a shard may be many requests."""
ATTEMPTS = 12
"""How often a shard that was replaced meanwhile is read again, with growing pauses."""
FEW_ATTEMPTS = 3
"""The same for one that fits into the scratch: it is then read whole, which is one request."""

T = TypeVar("T")

UNFIT = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
"""What a codec may raise on bytes that its metadata does not fit."""

Target = npt.NDArray[Any] | Gathered


def read(source: Source, plan: Plan, working: Target) -> None:
    """Fill `working` (of `plan.shape`) with what the plan selects; or gather text in it."""
    if plan.empty:
        return
    left = native_plans.read(source, plan, working)
    if left is not None:
        if not left:
            return
        plan = plan.only(left)
    count = len(plan)
    if count == 0:
        return
    if source.regular_chain.shard is not None:
        _read_shards(source, plan, working, count)
        return
    if count == 1:
        _read_one(source, next(plan.parts()), working)
        return
    footprint = source.regular_chain.footprint
    if source.store.capabilities.requests > 1:
        _read_waiting(source, plan, working, count)
        return
    blocks = None
    if count >= batches.FEW and source.model.grid.regular:
        blocks = batches.blocks_for(source.regular_chain, working)
    together = 1
    if blocks is not None and batches.takes_whole(plan, source.regular_chain.shape):
        together = min(BATCH, blocks.count, -(-threads.WORTHWHILE_BATCH // source.chunk_bytes))
    workers = threads.workers_for(count // together, together * source.chunk_bytes, footprint)
    size = _batch_size(footprint * source.chunk_bytes, workers)
    if workers > 1:
        size = min(size, max(1, count // (workers * 4)))

    # One thread fetches small chunks while others decode: two would only wait for the interpreter.
    small = workers > 1 and together > 1
    turn: AbstractContextManager[Any] = threading.Lock() if small else nullcontext()

    def run(batch: list[ChunkPart], scratch: Scratch) -> None:
        _read_batch(source, batch, working, scratch, blocks, turn)

    parallel.run(run, _batches(plan.parts(), size), workers, Scratch)


def _read_one(source: Source, part: ChunkPart, working: Target) -> None:
    parallel.check()
    key = source.key(part.coordinates)
    _place(source, key, part, source.store.get(key, source.most), working, Scratch())


def _read_waiting(source: Source, plan: Plan, working: Target, count: int) -> None:
    """From a high-latency store: many threads fetch, few decode."""
    fetchers, most = threads.fetchers_for(source.store, count, source.chunk_bytes)
    decoders = threads.coders_for(count, source.chunk_bytes, source.regular_chain.footprint)
    get, whole, key_of = source.store.get, source.most, source.key
    feeder = source.store.feeder(whole, fetchers)

    def fetch(item: tuple[str, ChunkPart]) -> Buffer | None:
        return get(item[0], whole) if feeder is None else feeder.get(item[0])

    blocks = (
        batches.blocks_for(source.regular_chain, working) if source.model.grid.regular else None
    )
    together = 1 if blocks is None else max(1, min(BATCH, TOGETHER // source.chunk_bytes))

    def decode(batch: list[tuple[tuple[str, ChunkPart], Buffer | None]], scratch: Scratch) -> None:
        keys = [item[0] for item, _ in batch]
        parts = [item[1] for item, _ in batch]
        values = [value for _, value in batch]
        batch.clear()
        _place_all(source, keys, parts, values, working, scratch, blocks)

    items = ((key_of(part.coordinates), part) for part in plan.parts())
    feed = None if feeder is None else feeder.feed
    parallel.relay(fetch, items, fetchers, decode, decoders, Scratch, most, feed, together)


def unfit(error: Exception, where: ErrorLocation | str) -> ZarrError:
    """Our own error for what a codec let through."""
    if isinstance(error, MemoryError):
        return LimitError("decoding it takes more memory than there is").at(where)
    return DecodeError(f"{type(error).__name__}: {error}").at(where)


def _batch_size(task_bytes: int, workers: int) -> int:
    return max(1, min(BATCH, limits.current.scratch_bytes // (task_bytes * workers + 1)))


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def _read_batch(
    source: Source,
    parts: list[ChunkPart],
    working: Target,
    scratch: Scratch,
    blocks: BlockDecoder | None,
    turn: AbstractContextManager[Any],
) -> None:
    prefix, encode_key = source.prefix, source.encode_key
    keys = [prefix + encode_key(part.coordinates) for part in parts]
    most = source.most
    with turn:
        values = source.store.get_many([(key, most) for key in keys])
    _place_all(source, keys, parts, values, working, scratch, blocks)


def _place_all(
    source: Source,
    keys: list[str],
    parts: list[ChunkPart],
    values: list[Buffer | None],
    working: Target,
    scratch: Scratch,
    blocks: BlockDecoder | None,
) -> None:
    """Decode what was fetched of several chunks, many at a time where that is possible."""
    left: Iterable[int] = range(len(parts))
    if blocks is not None:
        left = batches.decode_values(
            blocks, values, parts, source.regular_chain.output.limit, working
        )
    for index in left:
        data = values[index]
        values[index] = None  # free the encoded bytes as soon as they are decoded
        _place(source, keys[index], parts[index], data, working, scratch)


def _place(
    source: Source,
    key: str,
    part: ChunkPart,
    data: Buffer | None,
    working: Target,
    scratch: Scratch,
) -> None:
    """Decode what was fetched of a chunk, or a shard, and put it where it belongs."""
    try:
        if data is None:
            data = _fetch_alternative(source, part)
            if data is None:
                source.put_fill(working, part.outer)
                return
        source.check_length(key, data)
        decode_part(source.chain_for(part.coordinates), data, part, working, source, scratch)
    except ZarrError as error:
        raise error.at(source.where(key, part.coordinates)) from error
    except UNFIT as error:
        raise unfit(error, source.where(key, part.coordinates)) from error


def _fetch_alternative(source: Source, part: ChunkPart) -> Buffer | None:
    data = source.fetch_alternative(part.coordinates)
    if data is None and source.on_missing == "raise":
        raise ChunkNotFoundError(
            "the chunk is not stored, and on_missing='raise' makes that an error"
        )
    return data


def decode_part(
    chain: Chain,
    data: Buffer,
    part: ChunkPart,
    working: Target,
    source: Source,
    scratch: Scratch,
    workers: int = 1,
) -> None:
    """Decode a chunk that is in memory and put the selected elements in their place."""
    shard = chain.shard
    if shard is not None:
        index = shard.read_index(lambda wanted: read_range(data, wanted), len(data))
        if index is None:
            raise DecodeError("sharding_indexed: the shard holds no index")
        view = memoryview(data)
        for inner in batches.decode_shard(shard, index, view, part, working, workers):
            place = index.lookup(inner.coordinates)
            if place is None:
                source.put_fill(working, inner.outer)
                continue
            offset, nbytes = place
            piece = view[offset : offset + nbytes]
            decode_part(shard.chain, piece, inner, working, source, scratch)
    elif isinstance(working, Gathered):
        working[part.outer] = chain.decode_column(data)[part.inner]
    elif part.direct:
        # A shard or chunk that is taken whole needs no copy of its own.
        chain.decode_into(data, working[part.outer], scratch)
    elif chain.columnar:
        working[part.outer] = chain.decode_column(data)[part.inner].numpy(working.dtype)
    else:
        working[part.outer] = chain.decode(data, scratch)[part.inner]


# -- shards -----------------------------------------------------------------------------------


def _read_shards(source: Source, plan: Plan, working: Target, count: int) -> None:
    shard = source.regular_chain.shard
    assert shard is not None
    task_bytes = shard.chain.nbytes or 0
    if task_bytes < threads.WORTHWHILE_BYTES:
        # Many inner chunks together may be worth it.
        total = prod(plan.shape) * source.model.dtype.itemsize
        each = min(total // count, _merged(source))
        if each >= threads.WORTHWHILE_BATCH and batches.takes_whole(plan, shard.chain.shape):
            task_bytes = task_bytes if batches.blocks_for(shard.chain, working) is None else each
    workers = threads.workers_for(max(2, count), task_bytes)
    if source.store.capabilities.requests > 1:
        _read_waiting_shards(source, plan, working, count, workers)
        return
    across = min(workers, count)

    def run(part: ChunkPart, scratch: Scratch) -> None:
        _read_shard(source, part, working, max(1, workers // across), scratch)

    parallel.run(run, plan.parts(), across, Scratch)


def _read_waiting_shards(
    source: Source, plan: Plan, working: Target, count: int, decoders: int
) -> None:
    """From a high-latency store: many threads fetch. Few threads decode whole shards, as they do
    chunks; parts of a shard are decoded by the thread that fetched them."""
    # What is under way at once, whole shards or merged ranges, fits into the scratch.
    task_bytes = min(source.chunk_bytes, _merged(source))
    workers, most = threads.fetchers_for(source.store, TASKS, task_bytes)
    across = min(workers, count)
    if count == 1 and not _is_fetched_whole(source, part := next(plan.parts())):
        _read_shard(source, part, working, workers, Scratch())
        return

    def fetch(part: ChunkPart) -> Buffer | bool | None:
        if _is_fetched_whole(source, part):
            return source.store.get(source.key(part.coordinates), source.most)
        _read_shard(source, part, working, max(1, workers // across), Scratch())
        return True

    def decode(batch: list[tuple[ChunkPart, Buffer | bool | None]], scratch: Scratch) -> None:
        part, data = batch.pop()
        if not isinstance(data, bool):
            _place(source, source.key(part.coordinates), part, data, working, scratch)

    parallel.relay(fetch, plan.parts(), across, decode, min(decoders, count), Scratch, most)


def _is_fetched_whole(source: Source, part: ChunkPart) -> bool:
    """Whether all of a modest shard is wanted: one read brings index and chunks."""
    return part.whole and source.chunk_bytes <= _merged(source)


def _read_shard(
    source: Source, part: ChunkPart, working: Target, workers: int, scratch: Scratch
) -> None:
    key = source.key(part.coordinates)
    chain = source.chain_for(part.coordinates)
    try:
        if _is_fetched_whole(source, part):
            data = source.get(key)
        else:
            try:
                if _read_inner_chunks(source, chain, part, working, key, workers, scratch):
                    return
                data = None
            except ValueChangedError:
                if not _fits(source):
                    raise
                data = source.get(key)  # one request sees one version
        data = data if data is not None else _fetch_alternative(source, part)
        if data is None:
            source.put_fill(working, part.outer)
        else:
            decode_part(chain, data, part, working, source, scratch, workers)
    except ZarrError as error:
        raise error.at(source.where(key, part.coordinates)) from error
    except UNFIT as error:
        raise unfit(error, source.where(key, part.coordinates)) from error


def _merged(source: Source) -> int:
    """How much is read at once of a shard at the most."""
    return MERGED if source.store.capabilities.requests < 2 else 2 * MERGED


def _read_inner_chunks(
    source: Source,
    chain: Chain,
    part: ChunkPart,
    working: Target,
    key: str,
    workers: int,
    scratch: Scratch,
) -> bool:
    """Read the inner chunks that a part needs; False if there is no such shard."""
    attempts = FEW_ATTEMPTS if _fits(source) else ATTEMPTS
    for attempt in range(attempts):
        try:
            with source.store.snapshot(key) as read:
                return _read_snapshot(source, chain, part, working, key, read, workers, scratch)
        except ValueChangedError:
            shard_indexes.forget(source.store, key)
            if attempt == attempts - 1:
                raise
        parallel.check()
        time.sleep(0.001 * random.random() * 2**attempt)
    raise AssertionError("unreachable")


def _fits(source: Source) -> bool:
    """Whether a whole shard fits into the scratch."""
    return source.chunk_bytes <= limits.current.scratch_bytes


def _read_snapshot(
    source: Source,
    chain: Chain,
    part: ChunkPart,
    working: Target,
    key: str,
    read: Read,
    workers: int,
    scratch: Scratch,
) -> bool:
    shard = chain.shard
    assert shard is not None
    index, kept = shard_indexes.index_of(shard, source.store, key, read)
    if index is None:
        return False
    inner_chain = shard.chain
    most = inner_chain.output.limit
    gap, together = source.store.capabilities.gap, _merged(source)
    box = batches.box_of(shard, index, part, working)
    if box is not None and box.places[:, 1].max(initial=0) > most:
        box = None  # one by one, to say which

    def confirm() -> None:
        if kept:
            read(ByteRange(0, 1))  # raises if the index is outdated

    def wanted_of(parts: Iterator[ChunkPart]) -> list[Piece]:
        wanted: list[Piece] = []
        for inner in parts:
            place = index.lookup(inner.coordinates)
            if place is None:
                source.put_fill(working, inner.outer)
            elif place[1] > most:
                confirm()
                raise DecodeError(
                    f"sharding_indexed: the index promises {place[1]} bytes for inner chunk"
                    f" {inner.coordinates}, which cannot take more than {most}"
                )
            else:
                wanted.append(Piece(*place, inner))
        return wanted

    groups: list[BatchGroup] | None = None
    if box is not None:
        groups = batches.merge_box(box, wanted_of(box.others([])), gap, together)
    if groups is None:
        groups = list(batches.merge(wanted_of(refine(part, shard.grid)), gap, together))
    if not groups:
        confirm()

    def run(group: BatchGroup, scratch: Scratch) -> None:
        start, stop, pieces, rows = group
        data = read(ByteRange(start, stop))
        if data is None or len(data) != stop - start:
            found = "nothing" if data is None else f"{len(data)} bytes"
            raise DecodeError(
                f"sharding_indexed: the index promises {stop - start} bytes at offset {start},"
                f" found {found}: the shard is truncated or was replaced while it was read"
            )
        view = memoryview(data)
        if box is not None and len(rows):
            pieces = batches.decode_group(box, group, view, working)
        for offset, nbytes, inner in pieces:
            piece = view[offset - start : offset - start + nbytes]
            try:
                decode_part(inner_chain, piece, inner, working, source, scratch)
            except ZarrError as error:
                raise error.at(f"inner chunk {inner.coordinates}") from error

    if len(groups) == 1:
        run(groups[0], scratch)
        return True
    if source.store.capabilities.requests < 2 and not _are_worthwhile(groups, inner_chain):
        workers = 1
    parallel.run(run, groups, min(workers, len(groups)), Scratch)
    return True


def _are_worthwhile(groups: list[BatchGroup], chain: Chain) -> bool:
    """Whether groups are worth a thread each."""
    count = sum([len(group.pieces) + len(group.rows) for group in groups])
    return count * (chain.nbytes or 0) >= len(groups) * threads.WORTHWHILE_BYTES
