"""Independent tasks on an executor, a bounded number of them in flight.

The calling thread hands tasks out and takes results in, so that counts, bars and the journal
need no lock. The first error stops the handing out, cancels what has not begun, waits for
what has, and is raised; so does Ctrl-C, and a caller who has gone (`parallel.check`). Nothing of
the job runs on when `run` has ended.

This module knows executors. It must not know what a task does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from omnizarr import limits
from omnizarr.engine import threads
from omnizarr.errors import UnsupportedError
from omnizarr.runtime import parallel

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

T = TypeVar("T")
R = TypeVar("R")

_MOST_UNPACKED = 4
_unpacked: dict[str, Any] = {}
"""What `Shared` values came to this process, the newest last."""


class Shared(Generic[T]):
    """A value that all tasks of a job need. Threads share it as it is; to another process it is
    sent with every task, but pickled once here and unpacked once there."""

    def __init__(self, value: T) -> None:
        self.value = value
        self._packed: tuple[str, bytes] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._packed is None:
            import pickle
            from uuid import uuid4

            try:
                self._packed = uuid4().hex, pickle.dumps(self.value)
            except Exception as error:
                raise UnsupportedError(
                    f"the job cannot be sent to another process: {error}; use threads (no"
                    " executor, or a ThreadPoolExecutor), or stores that can be pickled"
                ) from error
        return _unpack, self._packed


def _unpack(token: str, data: bytes) -> Shared[Any]:
    if token not in _unpacked:
        import pickle

        while len(_unpacked) >= _MOST_UNPACKED:
            _unpacked.pop(next(iter(_unpacked)), None)
        _unpacked[token] = Shared(pickle.loads(data))
    found: Shared[Any] = _unpacked[token]
    return found


def workers_for(task_bytes: int, wanted: int | None = None, requests: int = 1) -> int:
    """How many tasks of this size may run at once: as many as are wanted (else one for each
    available core, or as many `requests` as a store gains from), and no more than fit into
    `limits.scratch_bytes`."""
    if wanted is not None and (type(wanted) is not int or wanted < 1):
        raise ValueError(f"workers must be a whole number of at least 1, found {wanted!r}")
    fitting = limits.current.scratch_bytes // max(1, task_bytes)
    return max(1, min(wanted or max(threads.available(), requests), fitting))


def run(
    function: Callable[[T], R],
    tasks: Iterable[T],
    finished: Callable[[T, R], None],
    *,
    workers: int = 1,
    executor: Executor | None = None,
) -> None:
    """Call `function(task)` for every task, and `finished(task, result)` here as each one ends.

    Without an executor there are `workers` threads, or none but this one if that is 1. With one,
    no more than `workers` tasks are given to it at a time."""
    if executor is not None:
        _hand_out(function, iter(tasks), finished, executor, workers)
        return
    if workers < 2:
        for task in tasks:
            parallel.check()
            finished(task, function(task))
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers, thread_name_prefix="omnizarr-job") as pool:
        # A task in the queue holds nothing yet; it only keeps a thread from waiting for the next.
        _hand_out(parallel.carrying(function), iter(tasks), finished, pool, 2 * workers)


def _hand_out(
    function: Callable[[T], R],
    tasks: Any,
    finished: Callable[[T, R], None],
    executor: Executor,
    most: int,
) -> None:
    from concurrent.futures import FIRST_COMPLETED, wait

    flying: dict[Future[R], T] = {}
    try:
        exhausted = False
        while flying or not exhausted:
            parallel.check()
            while not exhausted and len(flying) < most:
                try:
                    task = next(tasks)
                except StopIteration:
                    exhausted = True
                    break
                flying[executor.submit(function, task)] = task
            if flying:
                ended, _ = wait(flying, return_when=FIRST_COMPLETED)
                # In the order of handing out, so that the first error is the same every time.
                for future in [future for future in flying if future in ended]:
                    finished(flying.pop(future), future.result())
    except BaseException:
        _call_back(flying, finished)
        raise


def _call_back(flying: dict[Future[R], T], finished: Callable[[T, R], None]) -> None:
    """Cancel what has not begun, wait for what has, and count what came to a good end."""
    from concurrent.futures import wait

    for future in flying:
        future.cancel()
    wait(flying)
    for future, task in flying.items():
        if not future.cancelled() and future.exception() is None:
            finished(task, future.result())
