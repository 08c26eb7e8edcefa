"""Choose how many threads a plan gets, and how many chunks they have under way.

A second Python thread helps when each task holds at least some 100 µs of work outside the
interpreter lock; below that, threads queue for the lock and lose. So small chunks of a store that
answers at once run in the calling thread. Where the native core decodes and encodes, one Python
thread hands it many chunks, or two take turns, and the core's own threads share them. A
high-latency store gets as many threads as it answers requests at once (`capabilities.requests`),
whatever the size of the chunks.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from omnizarr import limits
from omnizarr.config import config
from omnizarr.engine.pipeline import Amounts
from omnizarr.model.store import Store

if TYPE_CHECKING:
    from omnizarr.engine.chunk_source import Source

WORTHWHILE_BYTES = 64 * 1024
"""Chunks of at least this many decoded bytes are worth a thread."""
WORTHWHILE_BESIDE = 32 * 1024
"""The same where other threads fetch what is decoded: the interpreter lock is shared anyway."""
BATCH = 128
"""How many chunks (without the native core), or ranges of a shard, are asked for at once."""
MERGED = 8 * limits.MIB
"""How much is read at once of a shard at the most; on a high-latency store, twice that."""
ARRIVED = 8 * limits.MIB
"""How many decoded bytes of chunks that have arrived are handed to the native core at once."""
ENCODED = 2 * limits.MIB
"""How many bytes it encodes at once while others are being sent."""
FEW = 16
"""How many small chunks one thread encodes before it stores them."""
SERIALIZED = 4 * limits.MIB
"""How many decoded bytes it is given at once where Python does the serializer's part."""
MOST_SERIALIZED = 1024
"""How many chunks, at the most: between two calls is looked whether the call was cancelled."""
BATCHES = 8
"""How many batches there are at least, of as many chunks, so that two threads share them."""
TASKS = 1 << 30
"""More than any store answers at once: a shard may be many requests."""


def chosen() -> int | None:
    """How many threads a call may use by the user's choice, the calling one included."""
    wanted = config.get("threads")
    return None if wanted is None else max(1, int(wanted))


def available() -> int:
    """How many threads a call may use, the calling one included."""
    wanted = chosen()
    if wanted is not None:
        return wanted
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def for_reading(source: Source, count: int, native: bool) -> Amounts:
    """For so many chunks or shards, which the native core decodes or not."""
    chain, store = source.regular_chain, source.store
    shard = chain.shard
    task_bytes = source.chunk_bytes
    if shard is not None:
        # All of it, or merged ranges, which the thread that fetched them decodes.
        inner = shard.chain.nbytes or 0
        task_bytes = min(task_bytes, merged(source)) + (inner if inner > limits.MIB else 0)
    if store.capabilities.requests > 1 and (count > 1 or shard is not None):
        requests, under_way = fetchers_for(store, TASKS, task_bytes)
        waiting = min(requests, count)
        inside = max(1, requests // waiting)
        if native:
            together = _fitting(ARRIVED, source)
            return Amounts(waiting, 1, under_way, together, inside)
        computing = coders_for(count, task_bytes, chain.footprint)
        return Amounts(waiting, computing, under_way, 1, inside)
    if native:
        return _in_turns(source, count, limits.current.scratch_bytes // 4)
    if shard is not None:
        workers = workers_for(max(2, count), shard.chain.nbytes or 0)
        computing = min(workers, count)
        return Amounts(0, computing, computing, 1, max(1, workers // computing))
    workers = workers_for(count, source.chunk_bytes, chain.footprint)
    each = chain.footprint * source.chunk_bytes * workers + 1
    together = max(1, min(BATCH, limits.current.scratch_bytes // each))
    if workers > 1:
        together = min(together, max(1, count // (workers * 4)))
    return Amounts(0, workers, workers * together, together)


def for_serialized(source: Source, count: int) -> Amounts:
    """For chunks that the native core moves between files and the serializer in Python, which holds
    the interpreter lock: a second Python thread would only wait for it."""
    fitting = _fitting(min(SERIALIZED, limits.current.scratch_bytes // 4), source)
    together = min(count, MOST_SERIALIZED, fitting)
    return Amounts(0, 1, together, together)


def for_writing(source: Source, count: int, native: bool) -> Amounts:
    """The same for chunks or shards that are encoded and stored."""
    capabilities, shard = source.store.capabilities, source.regular_chain.shard
    task_bytes = source.chunk_bytes
    if shard is not None and (shard.chain.nbytes or 0) < WORTHWHILE_BYTES:
        task_bytes = 0
    if capabilities.concurrent_writes and capabilities.requests > 1 and count > 1:
        waiting, under_way = fetchers_for(source.store, count, source.chunk_bytes)
        if native:
            return Amounts(waiting, 1, under_way, _fitting(ENCODED, source))
        return Amounts(waiting, coders_for(count, task_bytes), under_way, 1)
    if not native:
        workers = workers_for(count, task_bytes) if capabilities.concurrent_writes else 1
        together = 1 if workers > 1 else min(FEW, _fitting(limits.MIB, source))
        return Amounts(0, workers, workers * together, together)
    # What is encoded is there twice, before and after it becomes Python's.
    amounts = _in_turns(source, count, limits.current.scratch_bytes // 8)
    return amounts if capabilities.concurrent_writes else amounts._replace(computing=1)


def _in_turns(source: Source, count: int, nbytes: int) -> Amounts:
    """For the native core and a store that answers at once: while it has one batch, of so many
    bytes at the most, a second Python thread fetches the next or stores the last."""
    most = _fitting(nbytes, source)
    if count * source.chunk_bytes < BATCHES * WORTHWHILE_BYTES:
        together = min(most, count)
        return Amounts(0, 1, together, together)  # little for one call, not worth a thread
    together = max(1, min(most, count // BATCHES))
    workers = min(2, count // together, available())
    return Amounts(0, workers, workers * together, together)


def _fitting(nbytes: int, source: Source) -> int:
    """How many chunks take so many bytes, decoded; at least one."""
    return max(1, nbytes // max(1, source.chunk_bytes))


def merged(source: Source) -> int:
    """How much is read at once of a shard at the most."""
    return MERGED if source.store.capabilities.requests < 2 else 2 * MERGED


def workers_for(
    tasks: int, task_bytes: int, footprint: int = 2, worthwhile: int = WORTHWHILE_BYTES
) -> int:
    """How many threads to use for this many tasks of this size.

    A task in flight takes `footprint` times its size (say, an encoded and a decoded chunk); all of
    them together stay below `limits.scratch_bytes`, if need be with one thread.
    """
    if tasks < 2 or task_bytes < worthwhile:
        return 1
    fitting = limits.current.scratch_bytes // (footprint * task_bytes or 1)
    return max(1, min(available(), tasks, fitting))


def coders_for(tasks: int, task_bytes: int, footprint: int = 2) -> int:
    """How many threads decode or encode beside those that send requests.

    All of them take the interpreter lock around each chunk, for about as long as it takes to decode
    half of `WORTHWHILE_BYTES`: of small chunks, two threads decode more than sixteen."""
    beside = workers_for(tasks, task_bytes, footprint, WORTHWHILE_BESIDE)
    return min(beside, 2 + 2 * task_bytes // WORTHWHILE_BYTES)


def fetchers_for(store: Store, tasks: int, task_bytes: int) -> tuple[int, int]:
    """How many threads send requests to a high-latency store, and how many values may be requested
    or not yet decoded: some more, if they fit into `limits.scratch_bytes`."""
    requests = int(config.get("requests") or store.capabilities.requests)
    most = max(1, min(4 * requests, limits.current.scratch_bytes // max(1, task_bytes)))
    return max(1, min(requests, tasks, most)), most
