"""Run coroutines, and calls that may never return, before a deadline.

There is one loop of our own for each process, made when it is first needed: a forked child makes
its own. It is never the caller's loop, so it can be used from inside a running one too.

This module knows event loops and threads. It must not know what they are used for.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from omnizarr.errors import StoreError
from omnizarr.runtime import forks, parallel

T = TypeVar("T")

_GRACE = 2.0
"""Seconds that a loop may take to cancel a coroutine."""
_guard = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _after_fork() -> None:
    # The thread that ran the loop is not in the child.
    global _guard, _loop
    _guard = threading.Lock()
    _loop = None


forks.in_child(_after_fork)


def _own_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _guard:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            name = "omnizarr-loop"
            threading.Thread(target=_loop.run_forever, name=name, daemon=True).start()
        return _loop


def run(
    work: Callable[[], Coroutine[Any, Any, T]],
    seconds: float,
    loop: asyncio.AbstractEventLoop | None = None,
) -> T:
    """Return the result of `work`; raise `TimeoutError` after so many seconds.

    loop: the loop of a library whose objects belong to it; None: our own.
    """
    return _result(lambda: asyncio.wait_for(work(), seconds), seconds, loop)


def run_all(
    work: Iterable[Callable[[], Awaitable[T]]],
    seconds: float,
    at_once: int,
    loop: asyncio.AbstractEventLoop | None = None,
) -> list[T | BaseException]:
    """Return the results of many coroutines, or the exceptions that they raised, in order.

    seconds: the deadline of each, from its start. `at_once` of them run at a time.
    """
    waiting = list(work)

    async def every() -> list[T | BaseException]:
        turn = asyncio.Semaphore(at_once)

        async def one(start: Callable[[], Awaitable[T]]) -> T:
            async with turn:
                return await asyncio.wait_for(start(), seconds)

        return await asyncio.gather(*map(one, waiting), return_exceptions=True)

    return _result(every, seconds * (1 + len(waiting) // at_once), loop)


def _result(
    work: Callable[[], Coroutine[Any, Any, T]],
    seconds: float,
    loop: asyncio.AbstractEventLoop | None,
) -> T:
    loop = loop or _own_loop()
    try:
        inside = asyncio.get_running_loop() is loop
    except RuntimeError:
        inside = False
    if inside:
        raise StoreError("called from the event loop that it needs, which would wait for itself")
    future = asyncio.run_coroutine_threadsafe(work(), loop)
    try:
        return future.result(seconds + _GRACE)
    except BaseException:
        future.cancel()
        raise


def call(function: Callable[[], T], seconds: float | None = None) -> T:
    """Call a function in a thread of its own; raise `TimeoutError` after so many seconds.

    The thread goes on: an ordinary call cannot be cancelled.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    carried = parallel.carrying(lambda _: function())

    def work() -> None:
        try:
            results.append(carried(None))
        except BaseException as error:  # raised in the calling thread
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError
    return results[0]
