"""Choose how many threads a plan gets.

A second Python thread helps when each task holds at least some 100 µs of work outside the
interpreter lock; below that, threads queue for the lock and lose. So small chunks of a store that
answers at once run in the calling thread, unless the native core decodes many of them at a time
(`engine.batches`): then a batch is a task. A high-latency store gets as many
threads as it answers requests at once (`capabilities.requests`), whatever the size of the chunks.
"""

from __future__ import annotations

import os

from omnizarr import limits
from omnizarr.config import config
from omnizarr.model.store import Store

WORTHWHILE_BYTES = 64 * 1024
"""Chunks of at least this many decoded bytes are worth a thread."""
WORTHWHILE_BATCH = 192 * 1024
"""The same for chunks that the native core decodes together."""
WORTHWHILE_BESIDE = 32 * 1024
"""The same where other threads fetch what is decoded: the interpreter lock is shared anyway."""


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
