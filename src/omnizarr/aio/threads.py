"""Awaiting a plain call: it runs in a thread of our own while the event loop goes on.

A bounded number of threads serves all loops of the process. One is started when a call finds none
free, and ends when no call waits for it: nothing happens at import, and nothing is left when all is
done. asyncio's default executor is not used, so its size and its shutdown do not matter here.

When the awaiting task is cancelled, the call is abandoned: the engine stops at the next chunk
(`omnizarr.runtime.parallel`). A call that only reads ends for its awaiter at once. Any other ends
when the thread has stopped, so that nothing is written after the cancellation was reported.

This module knows threads and asyncio. It must not know arrays.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextvars import Context, copy_context
from itertools import islice
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from omnizarr.runtime import forks, parallel

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

MOST_CALLS = 128
"""How many calls run at once; the others wait for their turn. Threads that one call uses for its
chunks are counted by `omnizarr.runtime.parallel`."""
PATIENCE = 60.0
"""Seconds for which a cancelled call that may write is waited for. A second cancellation ends the
wait."""
BATCH = 256
PAUSE = 0.05
"""An iterator is asked for this many items in one go, or for as many as it gives in this time."""


class _Call:
    """One call on its way: made in the loop, run in a thread, finished in the loop."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.abandoned = threading.Event()
        self.error: BaseException | None = None
        self.result: Any = None
        self.finished = False
        self.loop = asyncio.get_running_loop()
        self.awaited: asyncio.Future[None] = self.loop.create_future()
        self._function: Callable[[], Any] | None = function
        self._context: Context = copy_context()

    def run(self) -> None:
        """In a thread."""
        try:
            self.result = self._context.run(self._work)
        except BaseException as error:  # raised in the task that awaits
            self.error = error
        self._function = None  # what it holds is not kept for longer than it runs
        try:
            self.loop.call_soon_threadsafe(self._finish)
        except RuntimeError:  # the loop was closed: no task awaits the result
            self.error = self.result = None

    def _work(self) -> Any:
        assert self._function is not None
        with parallel.abandoned_by(self.abandoned):
            parallel.check()
            return self._function()

    def _finish(self) -> None:
        """In the loop."""
        self.finished = True
        if not self.awaited.done():
            self.awaited.set_result(None)

    async def stopped(self, patience: float) -> None:
        """Wait until the thread has left the call, for so many seconds at the most."""
        if not self.finished:
            self.awaited = self.loop.create_future()
            await asyncio.wait([self.awaited], timeout=patience)


class _Threads:
    """The threads that are alive, and the calls that wait for one."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: after a fork, threads and loops of the parent are gone."""
        self._guard = threading.Lock()
        self._waiting: deque[_Call] = deque()
        self._alive = 0

    def submit(self, call: _Call) -> None:
        with self._guard:
            self._waiting.append(call)
            if self._alive >= MOST_CALLS:
                return
            self._alive += 1
        try:
            threading.Thread(target=self._serve, name="omnizarr-aio", daemon=True).start()
        except BaseException:
            with self._guard:
                self._alive -= 1
                if self._alive:
                    return  # one of the others will come to it
                self._waiting.remove(call)
            raise

    def _serve(self) -> None:
        while True:
            with self._guard:
                if not self._waiting:
                    self._alive -= 1
                    return
                call = self._waiting.popleft()
            call.run()
            del call

    def withdraw(self, call: _Call) -> bool:
        """Whether the call could be taken back before it began."""
        with self._guard:
            try:
                self._waiting.remove(call)
            except ValueError:
                return False
            return True


_threads = _Threads()
forks.in_child(_threads.forget)


async def to_thread(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Await a call of any function or method of omnizarr, in a thread.

    Other than with `asyncio.to_thread`, a cancelled call stops at the next chunk, and the task ends
    when it has stopped.

    Parameters
    ----------
    function
        The function.
    *args, **kwargs
        Its arguments.

    Examples
    --------
    >>> import asyncio
    >>> asyncio.run(omnizarr.aio.to_thread(omnizarr.zeros, 3)).shape
    (3,)
    """
    return await call(lambda: function(*args, **kwargs), reads=False)


async def call(function: Callable[[], R], *, reads: bool) -> R:
    """Await `function()`. `reads`: nothing is changed, so a cancelled task need not wait for it."""
    made = _Call(function)
    _threads.submit(made)
    try:
        await made.awaited
    except asyncio.CancelledError:
        made.abandoned.set()
        if not _threads.withdraw(made) and not reads:
            await made.stopped(PATIENCE)
        raise
    except BaseException:  # the coroutine was closed
        made.abandoned.set()
        raise
    if made.error is not None:
        try:
            raise made.error
        finally:
            del made  # the traceback holds this frame
    result: R = made.result
    return result


async def iterate(make: Callable[[], Iterable[T]]) -> AsyncIterator[T]:
    """The items of an iterable that takes long to give them."""
    iterator = iter(await call(make, reads=True))
    more = True
    while more:
        items = await call(lambda: _some(iterator), reads=True)
        for item in items:
            yield item
        more = bool(items)


def _some(iterator: Any) -> list[Any]:
    items = []
    deadline = monotonic() + PAUSE
    for item in islice(iterator, BATCH):
        parallel.check()
        items.append(item)
        if monotonic() > deadline:
            break
    return items
