"""Threads for one call, and a way to cancel it.

Threads are started for one call and end with it: there is no pool, hence nothing at import,
nothing to rebuild after a fork, and nothing left after Ctrl-C.

This module knows threads. It must not know what they are used for.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

if TYPE_CHECKING:
    import socket

T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")
V = TypeVar("V")

MOST_THREADS = 1024
"""If the process has this many threads, no more are started and the calling thread works alone.
Many concurrent calls, each for many chunks, reach this number."""

_abandoned: ContextVar[threading.Event | _Shared | None] = ContextVar("abandoned", default=None)


class Abandoned(BaseException):
    """The caller no longer wants the result. Not an `Exception`: no handler takes it for one."""


@contextmanager
def abandoned_by(signal: threading.Event | _Shared) -> Iterator[None]:
    """Inside the block, work stops with `Abandoned` soon after `signal` is set."""
    before = _abandoned.set(signal)
    try:
        yield
    finally:
        _abandoned.reset(before)


def check() -> None:
    """Raise `Abandoned` if the call was cancelled or another thread failed; for long loops."""
    signal = _abandoned.get()
    if signal is not None and signal.is_set():
        raise Abandoned


def pause(seconds: float) -> None:
    """Sleep for a random part of this time, so that those who met do not meet again."""
    from random import random  # not imported with the package

    check()
    time.sleep(seconds * random())


def carrying(function: Callable[[T], R]) -> Callable[[T], R]:
    """The function for another thread, where `check` still sees the caller's signal: a new thread
    does not inherit it."""
    signal = _abandoned.get()
    if signal is None:
        return function

    def carried(item: T) -> R:
        with abandoned_by(signal):
            return function(item)

    return carried


class _Shared:
    """An iterator that several threads pull from, and the first failure, which stops them all."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items
        self._lock = threading.Lock()
        self._caller = _abandoned.get()
        self.failure: BaseException | None = None

    def is_set(self) -> bool:
        return self.failure is not None or (self._caller is not None and self._caller.is_set())

    def __iter__(self) -> Iterator[Any]:
        while True:
            if self._caller is not None and self._caller.is_set():
                raise Abandoned
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
            # Ctrl-C counts, even if another thread failed first.
            if self.failure is None or isinstance(error, KeyboardInterrupt):
                self.failure = error


def run(
    function: Callable[[T, S], None], items: Iterable[T], workers: int, state: Callable[[], S]
) -> None:
    """Call `function(item, own)` for every item, where each thread has a `state()` of its own.

    The first exception stops all and is raised here.

    The calling thread works too, so Ctrl-C interrupts it at once; the others end when they look
    (`check`), or when they have finished the item that they are at.
    """
    if workers < 2:
        own = state()
        for item in items:
            check()
            function(item, own)
        return
    shared = _Shared(iter(items))

    def work() -> None:
        try:
            with abandoned_by(shared):
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
        _join(started, shared.fail)
    if shared.failure is not None:
        raise shared.failure


def _join(started: list[threading.Thread], fail: Callable[[BaseException], None]) -> None:
    """Wait for threads, and those that they start. Ctrl-C stops them; a second one, the wait."""
    try:
        for thread in started:
            thread.join()
    except BaseException as error:
        fail(error)
        for thread in started:
            thread.join()


class _Between:
    """The queue from the first step of a relay to the second; it ends when all threads of the first
    step have left."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._lock = threading.Lock()
        self._inside = 1  # the creator
        self.wake: Callable[[], object] = lambda: None
        """Called after every change."""

    def enter(self) -> None:
        with self._lock:
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self.put(None)

    def put(self, item: Any) -> None:
        self._queue.put(item)
        self.wake()

    def get(self, wait: bool) -> Any:
        """The next item, or None at the end; raises Empty if there is none now."""
        found = self._queue.get(wait)
        if found is None:
            self._queue.put(None)  # for the next thread
        return found

    def batches(self, most: int, others: int) -> Iterator[list[Any]]:
        """Lists of waiting items: at least one, at most `most`, and a fair share among `others`."""
        queue = self._queue
        while (found := queue.get()) is not None:
            batch = [found]
            wanted = min(most, 1 + queue.qsize() // others)
            while len(batch) < wanted and not queue.empty():
                try:
                    found = queue.get_nowait()
                except Empty:  # another thread took it
                    break
                if found is None:
                    queue.put(None)
                    break
                batch.append(found)
            yield batch
            del found, batch  # not kept while the next one is waited for
        queue.put(None)  # for the next thread


class _Late:
    """Items that were left aside. Adding one starts a thread while there are fewer than `most`; a
    thread ends when it finds no more items."""

    def __init__(self, shared: _Shared, most: int, start: Callable[[Iterator[Any]], None]) -> None:
        self._shared = shared
        self._most = most
        self._start = start
        self._items: deque[Any] = deque()
        self._lock = threading.Lock()
        self._running = 0

    def add(self, item: Any) -> None:
        with self._lock:
            self._items.append(item)
            crowded = threading.active_count() >= MOST_THREADS
            if self._running == self._most or (self._running and crowded):
                return
            self._running += 1
        self._start(self._taken())

    def _taken(self) -> Iterator[Any]:
        while self._shared.failure is None:
            check()
            with self._lock:
                if not self._items:
                    self._running -= 1
                    return
                item = self._items.popleft()
            yield item


class Desk(Generic[T, V]):
    """For one thread that does the first step of a relay for many items at once: it takes items
    here, and puts their values."""

    def __init__(
        self,
        shared: _Shared,
        between: _Between,
        places: SimpleQueue[None],
        aside: Callable[[T], None],
    ) -> None:
        self._shared = shared
        self._items: Iterator[T] = iter(shared)
        self._between = between
        self._places = places
        self.aside = aside
        """Leave an item to a thread of its own, which does the first step in the ordinary way."""
        self.ended = False
        """There is nothing more to take."""
        self.signal: socket.socket | None = None
        """Readable once there may be more to take; None where that needs no signal."""

    @property
    def stopped(self) -> bool:
        """A thread failed: discard what is under way."""
        return self._shared.failure is not None

    def take(self, *, wait: bool = False) -> T | None:
        """The next item; None if there is none, or none now because too many are on their way."""
        try:
            self._places.get(wait)
        except Empty:
            return None
        item = next(self._items, None)
        if item is None:
            self.ended = True
            self._places.put(None)
        return item

    def put(self, item: T, value: V) -> None:
        self._between.put((item, value))


class Outbox(Generic[T, V]):
    """The same for the second step: it takes items with the values of the first step, and puts None
    when one is done."""

    def __init__(
        self,
        shared: _Shared,
        between: _Between,
        release: Callable[[int], None],
        aside: Callable[[tuple[T, V]], None],
    ) -> None:
        self._shared = shared
        self._between = between
        self._release = release
        self.aside = aside
        """Leave an item to a thread of its own, which does the second step in the ordinary way."""
        self.ended = False
        """There is nothing more to take."""
        from socket import socketpair  # not imported with the package

        self.signal, self._bell = socketpair()
        """Readable once there may be more to take."""

    def __enter__(self) -> Self:
        self.signal.setblocking(False)
        self._bell.setblocking(False)
        self._between.wake = self._ring
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._between.wake = lambda: None
        self._bell.close()
        self.signal.close()

    def _ring(self) -> None:
        with suppress(OSError):  # it has rung often enough, or is closed
            self._bell.send(b"!")

    @property
    def stopped(self) -> bool:
        """A thread failed: discard what is under way."""
        return self._shared.failure is not None

    def take(self, *, wait: bool = False) -> tuple[T, V] | None:
        """The next item; None if there is none, or none now."""
        try:
            found: tuple[T, V] | None = self._between.get(wait)
        except Empty:
            return None
        self.ended = found is None
        return found

    def put(self, item: tuple[T, V], value: None) -> None:
        self._release(1)


def relay(
    first: Callable[[T], V],
    items: Iterable[T],
    workers: int,
    second: Callable[[list[tuple[T, V]], S], None],
    others: int,
    state: Callable[[], S],
    most: int,
    feed: Callable[[Desk[T, V]], None] | None = None,
    together: int = 1,
    drain: Callable[[Outbox[T, V]], None] | None = None,
) -> None:
    """Call `second([(item, first(item))], own)` for every item: `workers` threads for the first
    step, `others` for the second, each of which has a `state()` of its own.

    Waiting needs many threads, computing only as many as there are cores. So they are two steps.
    At most `most` items are in flight at once. The calling thread takes part in the second step.
    The first exception stops all threads and is raised here.

    feed: does the first step for many items in one thread; what it leaves aside, or does not take
    at all, is done by `workers` threads as without it.
    together: how many items the second step may be given at once, if they are there.
    drain: does the second step for many items in the calling thread; what it leaves aside, or does
    not take at all, is done by `others` threads as without it.
    """
    shared = _Shared(iter(items))
    between = _Between()
    places: SimpleQueue[None] = SimpleQueue()  # a semaphore, but faster than Python's
    started: list[threading.Thread] = []

    def release(count: int) -> None:
        for _ in range(count):
            places.put(None)

    def fail(error: BaseException) -> None:
        shared.fail(error)
        release(workers)  # no thread waits for a slot any more

    def take() -> Iterator[T]:
        for item in shared:
            places.get()
            if shared.failure is not None:
                return
            yield item

    def begin(own: Iterable[T]) -> None:
        try:
            with abandoned_by(shared):
                for item in own:
                    between.put((item, first(item)))
        except BaseException as error:  # handed to the calling thread
            fail(error)
        finally:
            between.leave()

    def finish() -> None:
        try:
            with abandoned_by(shared):
                own = state()
                for batch in between.batches(together, others):
                    check()
                    count = len(batch)
                    second(batch, own)
                    del batch
                    release(count)
        except BaseException as error:
            fail(error)

    def finish_late(own: Iterable[tuple[T, V]]) -> None:
        try:
            with abandoned_by(shared):
                mine = state()
                for pair in own:
                    second([pair], mine)
                    release(1)
        except BaseException as error:
            fail(error)

    def start(target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        thread.start()
        started.append(thread)

    def drained(drain: Callable[[Outbox[T, V]], None]) -> bool:
        late = _Late(shared, others, partial(start, finish_late))
        with Outbox[T, V](shared, between, release, late.add) as outbox:
            drain(outbox)
            return outbox.ended or outbox.stopped

    def start_first(target: Callable[..., None], *arguments: object) -> None:
        between.enter()
        try:
            start(target, *arguments)
        except BaseException:
            between.leave()
            raise

    def start_all() -> None:
        """The threads of the first step; one of them in any case."""
        for number in range(workers):
            if number and threading.active_count() >= MOST_THREADS:
                break
            start_first(begin, take())

    def feeding(feed: Callable[[Desk[T, V]], None]) -> None:
        late = _Late(shared, workers, partial(start_first, begin))
        desk = Desk[T, V](shared, between, places, late.add)
        try:
            with abandoned_by(shared):
                feed(desk)
            if not desk.ended and shared.failure is None:
                start_all()
        except BaseException as error:
            fail(error)
        finally:
            between.leave()

    release(most)
    try:
        try:
            if feed is None:
                start_all()
            else:
                start_first(feeding, feed)
        finally:
            between.leave()
        if drain is None or not drained(drain):
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
        _join(started, fail)
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
