"""Independent tasks on an executor, a bounded number of them in flight.

The calling thread hands tasks out and takes results in, so that counts, bars and the journal
need no lock. The first error stops the handing out, cancels what has not begun, waits for
what has, and is raised; so does Ctrl-C, and a caller who has gone (`parallel.check`). Nothing of
the job runs on when `run` has ended. What one task costs here does not depend on how many there
are or are in flight.

This module knows executors. It must not know what a task does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from omnizarr.engine import threads
from omnizarr.errors import UnsupportedError, WorkerError
from omnizarr.jobs.executors import Crew, ExecutorLike, OwnProcesses, check_count, opened
from omnizarr.jobs.memory import Bounded, Budget, MemoryLike, lowered
from omnizarr.runtime import parallel

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")

MOST_ATTEMPTS = 10
"""How often a task is handed out whose worker dies."""
_MOST_UNPACKED = 4
_LOOK = 1.0
"""Seconds after which the calling thread looks whether it was called off."""
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


def workers_for(
    task_bytes: int,
    wanted: int | None = None,
    requests: int = 1,
    *,
    executor: ExecutorLike = None,
    max_memory: MemoryLike = None,
) -> int:
    """How many tasks of this size may run at once, as `run` takes it.

    In this process: as many as are wanted (else one for each available core, or as many `requests`
    as a store gains from), and no more than fit into `max_memory`. In others: as many as are
    wanted, else twice as many as they run at once, so that none of them waits; each of them keeps
    to `max_memory` by itself."""
    check_count(wanted)
    if isinstance(executor, OwnProcesses):
        return wanted or executor.workers
    if isinstance(executor, Crew) and not executor.here:
        return wanted or executor.at_a_time
    fitting = Budget.of(task_bytes, max_memory).at_once
    return max(1, min(wanted or max(threads.available(), requests), fitting))


def run(
    function: Callable[[T], R],
    tasks: Iterable[T],
    finished: Callable[[T, R], None],
    *,
    workers: int = 1,
    executor: ExecutorLike = None,
    task_bytes: int = 0,
    max_memory: MemoryLike = None,
) -> None:
    """Call `function(task)` for every task, and `finished(task, result)` here as each one ends.

    Without an executor there are `workers` threads, or none but this one if that is 1. With one,
    no more than `workers` tasks are given to it at a time. `task_bytes` is what one task takes; in
    another process no more of them run at once than fit into `max_memory`."""
    budget = Budget.of(task_bytes, max_memory)
    with opened(executor, workers) as crew:
        if crew is not None:
            most = 2 * workers if isinstance(crew, OwnProcesses) else workers
            sent = function if crew.here else Bounded(function, budget)
            _hand_out(sent, iter(tasks), finished, crew, most)
            return
    with lowered(None if max_memory is None else budget):
        if workers < 2:
            for task in tasks:
                parallel.check()
                finished(task, function(task))
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(workers, thread_name_prefix="omnizarr-job") as pool:
            # A task in the queue holds nothing yet; it only keeps a thread from waiting.
            _hand_out(
                parallel.carrying(function), iter(tasks), finished, Crew(pool, workers), 2 * workers
            )


def check_workers(check: Callable[[T], None], work: T, executor: ExecutorLike) -> None:
    """Let another process take the work of a job and look at it, before anything is deleted or
    written: not every store can be sent there."""
    if isinstance(executor, Crew) and not executor.here:
        run(partial(_checked, check), [Shared(work)], lambda task, found: None, executor=executor)


def _checked(check: Callable[[T], None], work: Shared[T]) -> None:
    check(work.value)


class _Given(NamedTuple):
    """A task that was handed out."""

    number: int
    task: Any
    attempts: int


def _hand_out(
    function: Callable[[T], R],
    tasks: Iterator[T],
    finished: Callable[[T, R], None],
    crew: Crew,
    most: int,
) -> None:
    flying: dict[Future[R], _Given] = {}
    ended: SimpleQueue[Future[R]] = SimpleQueue()
    again: deque[_Given] = deque()
    fresh = (_Given(number, task, 1) for number, task in enumerate(tasks))
    exhausted = False
    try:
        while flying or again or not exhausted:
            parallel.check()
            while len(flying) < most and (again or not exhausted):
                given = again.popleft() if again else next(fresh, None)
                if given is None:
                    exhausted = True
                    break
                future = crew.submit(function, given.task)
                flying[future] = given
                future.add_done_callback(ended.put)
            found = [one for one in _ended(ended, len(flying)) if one in flying]
            if not found:
                stuck = WorkerError("its result never came")
                again += [_once_more(flying.pop(one), stuck) for one in crew.waiting(flying)]
            # In the order of handing out, so that the first error is the same every time.
            for future in sorted(found, key=lambda one: flying[one].number):
                given = flying.pop(future)
                if future.cancelled():
                    raise WorkerError(
                        "the executor cancelled a task: it was shut down, or its scheduler is gone"
                    )
                error = future.exception()
                if error is not None and crew.is_lost(error):
                    again.append(_once_more(given, error))
                else:
                    finished(given.task, future.result())
    except BaseException:
        _call_back(flying, finished, crew)
        raise


def _ended(ended: SimpleQueue[Future[R]], flying: int) -> list[Future[R]]:
    """What has ended of so many; waits a while for the first."""
    found: list[Future[R]] = []
    try:
        while len(found) < flying:
            found.append(ended.get_nowait() if found else ended.get(timeout=_LOOK))
    except Empty:
        pass
    return found


def _once_more(given: _Given, error: BaseException) -> _Given:
    if given.attempts < MOST_ATTEMPTS:
        return given._replace(attempts=given.attempts + 1)
    from reprlib import Repr

    shown = Repr()
    shown.maxother = shown.maxstring = 300  # the name of a file is long
    raise WorkerError(
        f"a task was handed out {given.attempts} times, and each time its worker process died"
        f" ({type(error).__name__}): task {given.number}, {shown.repr(given.task)}. Workers die"
        " when they take more memory than they have (lower max_memory=, or use fewer at once), or"
        " when a script that starts processes lacks `if __name__ == '__main__':`"
    ) from error


def _call_back(
    flying: dict[Future[R], _Given], finished: Callable[[Any, R], None], crew: Crew
) -> None:
    """Cancel what has not begun, wait for what has, and count what came to a good end."""
    from concurrent.futures import wait

    for future in flying if crew.cancels else ():
        future.cancel()
    left = set(flying)
    while left:
        left = wait(left, timeout=_LOOK).not_done
        left.difference_update(crew.waiting(left) if left else ())
    for future, given in flying.items():
        if future.done() and not future.cancelled() and future.exception() is None:
            finished(given.task, future.result())
