"""Threads, only when they pay.

A second Python thread helps when each task holds at least some 100 µs of work outside the
interpreter lock; below that, threads queue for the lock and lose. So small chunks run in the
calling thread. Threads are started for one call and end with it: there is no pool, hence nothing
at import, nothing to rebuild after a fork, and nothing left after Ctrl-C.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from omnizarr import limits
from omnizarr.config import config

T = TypeVar("T")
S = TypeVar("S")

WORTHWHILE_BYTES = 96 * 1024
"""Chunks of at least this many decoded bytes are worth a thread."""


def available() -> int:
    """How many threads a call may use, the calling one included."""
    wanted = config.get("threads")
    if wanted is not None:
        return max(1, int(wanted))
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def workers_for(tasks: int, task_bytes: int, footprint: int = 2) -> int:
    """How many threads to use for this many tasks of this size.

    A task in flight takes `footprint` times its size (say, an encoded and a decoded chunk); all of
    them together stay below `limits.scratch_bytes`, if need be with one thread.
    """
    if tasks < 2 or task_bytes < WORTHWHILE_BYTES:
        return 1
    fitting = limits.current.scratch_bytes // (footprint * task_bytes)
    return max(1, min(available(), tasks, fitting))


class _Shared:
    """An iterator that several threads pull from, and the first failure of any of them."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items
        self._lock = threading.Lock()
        self.failure: BaseException | None = None

    def __iter__(self) -> Iterator[Any]:
        while True:
            with self._lock:
                if self.failure is not None:
                    return
                try:
                    item = next(self._items)
                except StopIteration:
                    return
            yield item

    def fail(self, error: BaseException) -> None:
        with self._lock:
            if self.failure is None:
                self.failure = error


def run(
    function: Callable[[T, S], None], items: Iterable[T], workers: int, state: Callable[[], S]
) -> None:
    """Call `function(item, own)` for every item, where each thread has a `state()` of its own.

    The first exception stops all and is raised here.

    The calling thread works too, so Ctrl-C interrupts it at once; the others finish the item that
    they are at.
    """
    if workers < 2:
        own = state()
        for item in items:
            function(item, own)
        return
    shared = _Shared(iter(items))

    def work() -> None:
        try:
            own = state()
            for item in shared:
                function(item, own)
        except BaseException as error:  # handed to the calling thread
            shared.fail(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers - 1)]
    started: list[threading.Thread] = []
    try:
        for thread in threads:
            thread.start()
            started.append(thread)
        work()
    except BaseException as error:
        shared.fail(error)
        raise
    finally:
        for thread in started:
            thread.join()
    if shared.failure is not None:
        raise shared.failure
