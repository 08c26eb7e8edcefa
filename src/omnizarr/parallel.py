"""Doing several things at once: threads for one call, and a way to call it off.

Threads are started for one call and end with it: there is no pool, hence nothing at import,
nothing to rebuild after a fork, and nothing left after Ctrl-C.

This module knows threads. It must not know what they are used for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")
V = TypeVar("V")

MOST_THREADS = 1024
"""Where the process has this many threads already, no more are started: the calling one works
alone. Many calls at once, each for many chunks, come to this."""

_abandoned: ContextVar[threading.Event | None] = ContextVar("omnizarr.abandoned", default=None)


class Abandoned(BaseException):
    """The caller no longer wants the result. Not an `Exception`: nobody may take it for a fault."""


@contextmanager
def abandoned_by(event: threading.Event) -> Iterator[None]:
    """Inside the block, work stops with `Abandoned` soon after `event` is set."""
    before = _abandoned.set(event)
    try:
        yield
    finally:
        _abandoned.reset(before)


def check() -> None:
    """Raise `Abandoned` if the caller has gone; for loops that take long."""
    event = _abandoned.get()
    if event is not None and event.is_set():
        raise Abandoned


def carrying(function: Callable[[T], R]) -> Callable[[T], R]:
    """The function for another thread, where it stops as it would here: threads do not inherit who
    may call them off."""
    event = _abandoned.get()
    if event is None:
        return function

    def carried(item: T) -> R:
        with abandoned_by(event):
            return function(item)

    return carried


class _Shared:
    """An iterator that several threads pull from, and the first failure of any of them."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items
        self._lock = threading.Lock()
        self.failure: BaseException | None = None

    def __iter__(self) -> Iterator[Any]:
        while True:
            check()
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
            check()
            function(item, own)
        return
    event = _abandoned.get()
    shared = _Shared(iter(items))

    def work() -> None:
        _abandoned.set(event)  # a new thread does not inherit it
        try:
            own = state()
            for item in shared:
                function(item, own)
        except BaseException as error:  # handed to the calling thread
            shared.fail(error)

    started: list[threading.Thread] = []
    try:
        while len(started) < workers - 1 and threading.active_count() < MOST_THREADS:
            thread = threading.Thread(target=work, daemon=True)
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


class _Between:
    """What the first step of a relay hands to the second: a queue that ends when all have left."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._lock = threading.Lock()
        self._inside = 1  # whoever made it

    def enter(self) -> None:
        with self._lock:
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._queue.put(None)

    def put(self, item: Any) -> None:
        self._queue.put(item)

    def __iter__(self) -> Iterator[Any]:
        while (found := self._queue.get()) is not None:
            yield found
            del found  # not kept while the next one is waited for
        self._queue.put(None)  # for the next who asks


def relay(
    first: Callable[[T], V],
    items: Iterable[T],
    workers: int,
    second: Callable[[T, V, S], None],
    others: int,
    state: Callable[[], S],
    most: int,
) -> None:
    """Call `second(item, first(item), own)` for every item: `workers` threads for the first step,
    `others` for the second, each of which has a `state()` of its own.

    Waiting takes many threads, and computing as many as there are cores: more only get into each
    other's way. So what waits and what computes are two steps. No more than `most` items are on
    their way at once. The calling thread takes part in the second step. The first exception stops
    all and is raised here.
    """
    event = _abandoned.get()
    shared = _Shared(iter(items))
    between = _Between()
    places: SimpleQueue[None] = SimpleQueue()  # a semaphore, but faster than Python's

    def release(count: int) -> None:
        for _ in range(count):
            places.put(None)

    def begin() -> None:
        _abandoned.set(event)
        try:
            for item in shared:
                places.get()
                if shared.failure is not None:
                    return
                between.put((item, first(item)))
        except BaseException as error:  # handed to the calling thread
            shared.fail(error)
        finally:
            between.leave()

    def finish() -> None:
        _abandoned.set(event)
        try:
            own = state()
            for item, value in between:
                check()
                if shared.failure is None:
                    second(item, value, own)
                places.put(None)
        except BaseException as error:
            shared.fail(error)
            release(workers)  # nobody waits for a place any more

    release(most)
    started: list[threading.Thread] = []

    def start(target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, daemon=True)
        thread.start()
        started.append(thread)

    try:
        try:
            while len(started) < workers and (
                not started or threading.active_count() < MOST_THREADS
            ):
                between.enter()
                try:
                    start(begin)
                except BaseException:
                    between.leave()
                    raise
        finally:
            between.leave()
        for _ in range(others - 1):
            if threading.active_count() >= MOST_THREADS:
                break
            start(finish)
        finish()
    except BaseException as error:
        shared.fail(error)
        raise
    finally:
        release(workers)
        for thread in started:
            thread.join()
    if shared.failure is not None:
        raise shared.failure


def each(function: Callable[[T], R], items: Sequence[T], workers: int) -> list[R]:
    """`[function(item) for item in items]`, several at once."""
    if len(items) < 2:
        return [function(item) for item in items]
    results: list[Any] = [None] * len(items)

    def one(index: int, _: None) -> None:
        results[index] = function(items[index])

    run(one, range(len(items)), min(workers, len(items)), lambda: None)
    return results
