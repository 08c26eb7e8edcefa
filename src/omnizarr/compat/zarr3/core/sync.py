"""`sync`: the result of a coroutine, for callers that have no event loop.

Coroutines run in one loop, in a thread of its own that starts with the first of them. A forked
child, which has no such thread, starts its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import wait
from typing import Any, TypeVar

T = TypeVar("T")
_loops: dict[int, tuple[asyncio.AbstractEventLoop, threading.Thread]] = {}
"""By process."""


class SyncError(Exception):
    """`sync` was called in its own event loop, which would wait for itself."""


def _get_loop() -> asyncio.AbstractEventLoop:
    found = _loops.get(os.getpid())
    if found is None:
        new = asyncio.new_event_loop()
        thread = threading.Thread(target=new.run_forever, name="zarr_io", daemon=True)
        found = _loops.setdefault(os.getpid(), (new, thread))  # only one thread wins
        if found[0] is new:
            thread.start()
        else:
            new.close()
    return found[0]


def cleanup_resources() -> None:
    """End the event loop and its thread; the next coroutine starts others."""
    found = _loops.pop(os.getpid(), None)
    if found is not None:
        loop, thread = found
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def sync(
    coro: Coroutine[Any, Any, T],
    loop: asyncio.AbstractEventLoop | None = None,
    timeout: float | None = None,
) -> T:
    """Wait for a coroutine and return its result.

    Parameters
    ----------
    coro
        The coroutine.
    loop
        A loop that runs in another thread; None for one of omnizarr's.
    timeout
        Seconds after which a `TimeoutError` is raised.

    Returns
    -------
    object
        What the coroutine returns.

    Examples
    --------
    >>> async def answer():
    ...     return 42
    >>> sync(answer())
    42
    """
    loop = _get_loop() if loop is None else loop
    if not isinstance(loop, asyncio.AbstractEventLoop):
        raise TypeError(f"loop cannot be of type {type(loop)}")
    if loop.is_closed():
        raise RuntimeError("Loop is not running")
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is loop:
        coro.close()
        raise SyncError("Calling sync() from within a running loop")
    future = asyncio.run_coroutine_threadsafe(coro, loop)
    if wait([future], timeout=timeout).not_done:
        future.cancel()
        raise TimeoutError(f"Coroutine {coro} failed to finish within {timeout} s")
    return future.result()


async def _collect_aiterator(data: AsyncIterator[T]) -> tuple[T, ...]:
    return tuple([item async for item in data])


def collect_aiterator(data: AsyncIterator[T]) -> tuple[T, ...]:
    """Return everything that an asynchronous iterator gives."""
    return sync(_collect_aiterator(data))


class SyncMixin:
    """Gives a class `_sync` and `_sync_iter`."""

    def _sync(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return sync(coroutine)

    def _sync_iter(self, async_iterator: AsyncIterator[T]) -> list[T]:
        return list(collect_aiterator(async_iterator))
