"""An event loop in a thread, for stores that can only be awaited.

One loop for each process, made when it is first needed: a forked child makes its own. It is never
the caller's loop, so it can be used from inside a running one too.

This module knows event loops. It must not know what they are used for.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from omnizarr.runtime import forks

T = TypeVar("T")

_GRACE = 2.0  # how long a loop may take to call a request off
_guard = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _after_fork() -> None:
    # The thread that ran the loop is not in the child.
    global _guard, _loop
    _guard = threading.Lock()
    _loop = None


forks.in_child(_after_fork)


def _running() -> asyncio.AbstractEventLoop:
    global _loop
    with _guard:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            name = "omnizarr-loop"
            threading.Thread(target=_loop.run_forever, name=name, daemon=True).start()
        return _loop


def run(work: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
    """What `work` gives, or `TimeoutError` after so many seconds."""
    future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work(), seconds), _running())
    try:
        return future.result(seconds + _GRACE)
    except BaseException:
        future.cancel()
        raise
