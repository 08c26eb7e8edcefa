"""Where the tasks of a job run: what ``executor=`` may be, and what is done about lost workers.

    None, "threads"       threads of this process
    "processes"           processes of its own; one that dies is replaced
    "dask", a Client, "tcp://host:8786"
                          a Dask cluster: the current client, one that is given, or its scheduler
    "ray"                 a Ray cluster: the one that is connected, or a new one on this machine
    an Executor           any `concurrent.futures.Executor`

A *crew* is one of them, opened for a whole job. A task whose worker died is handed out again, a
bounded number of times. A task may thus run twice, and must bear that.

This module knows executors. It must not know what a task does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary, WeakSet

from omnizarr import limits
from omnizarr.config import config
from omnizarr.engine import threads
from omnizarr.errors import WorkerError
from omnizarr.runtime.optional_packages import package

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future, ProcessPoolExecutor

T = TypeVar("T")
R = TypeVar("R")


class HasExecutor(Protocol):
    """What is asked of a client of Dask."""

    def get_executor(self, **kwargs: Any) -> Any: ...
    def nthreads(self) -> Any: ...


ExecutorLike: TypeAlias = "Executor | HasExecutor | Crew | str | None"
"""What ``executor=`` of a job takes."""

_LOST = {
    "distributed": ("KilledWorker",),
    "ray": ("WorkerCrashedError", "NodeDiedError", "OutOfMemoryError", "LocalRayletDiedError"),
}
"""Errors that say that a worker died, not that a task failed; by package, which is not imported."""

_LOOK_SECONDS = 10.0
"""How often a cluster is asked for its workers while no task ends."""

_ENDED = ("_shutdown", "_shutdown_thread", "_broken")
"""What the executors of the standard library have when they take no more tasks."""


def _ended(reason: str = "it was shut down, or has lost a worker") -> WorkerError:
    return WorkerError(f"the executor takes no tasks: {reason}; make a new one")


class Crew:
    """Tasks are given to an executor of the caller's."""

    here = False
    """Whether tasks run in this process, and share its memory."""
    cancels = True
    """Whether a task that has begun is never cancelled; else none is."""

    def __init__(self, executor: Executor, at_a_time: int) -> None:
        self.executor = executor
        self.at_a_time = at_a_time
        """How many tasks it is given: some more than it runs at once, so that none waits."""

    def submit(self, function: Callable[[T], R], task: T) -> Future[R]:
        try:
            return self.executor.submit(function, task)
        except RuntimeError as error:
            raise _ended(str(error)) from error

    def is_lost(self, error: BaseException) -> bool:
        """Whether the worker died, so that the task is to be handed out again."""
        kind = type(error)
        return kind.__name__ in _LOST.get(kind.__module__.partition(".")[0], ())

    def waiting(self, given: Iterable[Future[Any]]) -> list[Future[Any]]:
        """Nothing has ended for a while. Gives those of the futures that will never end."""
        return []


class OwnThreads(Crew):
    """A pool of threads that the caller gave."""

    here = True


class OwnProcesses(Crew):
    """A pool of new interpreters. When one of them dies, the pool is broken and replaced.

    A pool that breaks while `submit` starts another process may forget the new process, which it
    waits for when it is shut down, and the new future, which never ends (Python 3.11). So what is
    left of a broken pool is killed, and futures that have not ended then are ended here."""

    cancels = False  # Python 3.11 hangs if a future is cancelled while its pool breaks

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.at_a_time = 2 * workers
        self._pool: ProcessPoolExecutor | None = None
        self._given: WeakSet[Future[Any]] = WeakSet()

    def submit(self, function: Callable[[T], R], task: T) -> Future[R]:
        from concurrent.futures import BrokenExecutor

        try:
            future = self._current().submit(function, task)
        except (BrokenExecutor, OSError):  # OSError: it breaks while it starts another process
            self._replace()
            future = self._current().submit(function, task)
        self._given.add(future)
        return future

    def _current(self) -> ProcessPoolExecutor:
        if self._pool is None:
            import multiprocessing
            from concurrent.futures import ProcessPoolExecutor

            # Not forked: a child that has other threads' locks of any library may hang.
            context = multiprocessing.get_context("spawn")
            facts = limits.current, dict(config.config)
            self._pool = ProcessPoolExecutor(self.workers, context, _begin, facts)
        return self._pool

    def is_lost(self, error: BaseException) -> bool:
        from concurrent.futures import BrokenExecutor

        return isinstance(error, BrokenExecutor)

    def waiting(self, given: Iterable[Future[Any]]) -> list[Future[Any]]:
        if not self._all_live():
            self._replace()
        return []

    def _processes(self) -> list[Any]:
        return list((getattr(self._pool, "_processes", None) or {}).values())

    def _all_live(self) -> bool:
        return all(process.is_alive() for process in self._processes())

    def _replace(self) -> None:
        from concurrent.futures.process import BrokenProcessPool

        for process in self._processes():
            process.kill()
        self._shut_down()
        for future in self._given:
            if not future.done():
                future.set_exception(BrokenProcessPool("the pool has forgotten the task"))

    def _shut_down(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self._pool = None

    def close(self) -> None:
        if self._all_live():
            self._shut_down()
        else:
            self._replace()


def _begin(caps: limits.Limits, settings: dict[str, Any]) -> None:
    """What a new process does first: take over the caller's limits and configuration, leave Ctrl-C
    to it, and end when it has ended, in whatever way."""
    import multiprocessing
    import signal
    import threading
    from multiprocessing.connection import wait

    limits.current = caps
    config.update(settings)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Cluster(Crew):
    """A Dask cluster. What was given to it cannot be called back: a task that runs would run on
    unseen, so all that were given are waited for."""

    cancels = False

    def __init__(self, client: HasExecutor) -> None:
        if getattr(client, "status", None) == "closed":
            raise _ended("its Dask client is closed")
        # Not pure: the key of a pure task is a digest of all that it needs.
        count = sum(dict(client.nthreads()).values())
        super().__init__(client.get_executor(pure=False), 2 * max(1, count))
        self._client: Any = client
        self._keys: WeakKeyDictionary[Future[Any], str] = WeakKeyDictionary()
        self._there: set[str] = set()
        """Keys whose results were on a worker at the last look."""
        self._next = 0.0
        self._empty = False

    def submit(self, function: Callable[[T], R], task: T) -> Future[R]:
        from uuid import uuid4

        key, executor = f"omnizarr-{uuid4().hex}", cast("Any", self.executor)
        try:
            future: Future[R] = executor.submit(function, task, key=key)
        except RuntimeError as error:
            raise _ended(str(error)) from error
        self._keys[future] = key
        return future

    def is_lost(self, error: BaseException) -> bool:
        """Also where a worker died after its result was fetched: Dask then takes it for an error,
        and fails while it raises that. Errors of tasks have the frames of the task behind that."""
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        inside = last is not None and last.tb_frame.f_code.co_name == "_cascade_future"
        confused = inside and isinstance(error, AttributeError | TypeError | ValueError)
        return confused or super().is_lost(error)

    def waiting(self, given: Iterable[Future[Any]]) -> list[Future[Any]]:
        """Say that there are no workers: Dask waits for new ones for ever, without a word. And it
        may forget to fetch a result whose worker died, though another one has computed it again."""
        if time.monotonic() < self._next:
            return []
        stuck: list[Future[Any]] = []
        with suppress(Exception):  # what is wrong with the cluster is told by the tasks
            empty = not self._client.nthreads()
            if empty and not self._empty:
                import logging  # not imported with the package

                log = logging.getLogger("omnizarr")
                log.warning("the Dask cluster has no workers; the job waits for new ones")
            self._empty = empty
            keys = {self._keys[one]: one for one in given if not one.done()}
            held = self._client.sync(self._client.scheduler.who_has, keys=[*keys])
            there = {key for key, workers in held.items() if workers}
            stuck = [keys[key] for key in there & self._there]
            self._there = there
        self._next = time.monotonic() + _LOOK_SECONDS
        return stuck


class Ray(Crew):
    """A Ray cluster."""

    cancels = False

    def __init__(self, ray: Any) -> None:
        if not ray.is_initialized():
            ray.init()
        self._remote = ray.remote(_call)
        self.at_a_time = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable[[T], R], task: T) -> Future[R]:
        future: Future[R] = self._remote.remote(function, task).future()
        return future


def _call(function: Callable[[T], R], task: T) -> R:
    return function(task)


def check_count(workers: int | None) -> None:
    if workers is not None and (type(workers) is not int or workers < 1):
        raise ValueError(f"workers must be a whole number of at least 1, found {workers!r}")


@contextmanager
def opened(executor: ExecutorLike, workers: int | None = None) -> Iterator[Crew | None]:
    """The crew for a job, closed at the end as far as it was opened here; None stands for threads.

    `workers` is how many processes "processes" starts: by default one for each core."""
    check_count(workers)
    if executor is None or executor == "threads" or isinstance(executor, Crew):
        yield executor if isinstance(executor, Crew) else None
    elif executor == "processes":
        pool = OwnProcesses(workers or threads.available())
        try:
            yield pool
        finally:
            pool.close()
    elif executor == "dask":
        yield Cluster(_current_client())
    elif executor == "ray":
        yield Ray(package("ray", "ray", "executor='ray'"))
    elif isinstance(executor, str) and "://" in executor:
        distributed = package("distributed", "cluster", f"executor={executor!r}")
        try:
            client = distributed.Client(executor, set_as_default=False)
        except OSError as error:
            raise WorkerError(
                f"no Dask scheduler answers at {executor!r} ({error}); start it, or give another"
                " address"
            ) from error
        with client:
            yield Cluster(client)
    else:
        yield _crew(executor)


def _current_client() -> HasExecutor:
    distributed = package("distributed", "cluster", "executor='dask'")
    try:
        client: HasExecutor = distributed.get_client()
    except ValueError as error:
        raise ValueError(
            "executor='dask' uses the current Dask client, and there is none; make one"
            " (distributed.Client(...)), give it as executor=, or give the scheduler's address"
            " (executor='tcp://127.0.0.1:8786')"
        ) from error
    return client


def _crew(executor: Any) -> Crew:
    from concurrent.futures import Executor, ThreadPoolExecutor

    states = (getattr(executor, name, None) for name in _ENDED)
    if any(state for state in states if isinstance(state, bool | str)):
        raise _ended()  # before anything is written
    if isinstance(executor, ThreadPoolExecutor):
        return OwnThreads(executor, executor._max_workers)
    if isinstance(executor, Executor):
        client: Any = getattr(executor, "_client", None)
        if hasattr(client, "nthreads"):  # what Client.get_executor() gives
            crew = Cluster(client)
            crew.executor = executor
            return crew
        count = getattr(executor, "_max_workers", None) or threads.available()
        return Crew(executor, 2 * count)
    if hasattr(executor, "get_executor") and hasattr(executor, "nthreads"):
        return Cluster(executor)
    raise TypeError(
        "executor takes None, 'threads', 'processes', 'dask', 'ray', the address of a Dask"
        " scheduler, a Dask Client or a concurrent.futures.Executor; found"
        f" {executor!r}"
    )
