"""What `executor=` means: every kind runs every task, and a worker that dies costs nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import pytest

import omnizarr
from omnizarr import limits
from omnizarr.errors import WorkerError
from omnizarr.jobs import opened, run, workers_for
from omnizarr.jobs.executors import Cluster, Crew, OwnProcesses


def square(number: int) -> int:
    return number * number


def collected(
    executor: Any, function: Any = square, count: int = 40, **more: Any
) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    with opened(executor, 2) as crew:
        workers = workers_for(1, executor=crew)
        run(function, range(count), found.__setitem__, workers=workers, executor=crew, **more)
    return found


EXPECTED = {number: number * number for number in range(40)}


@pytest.mark.parametrize("executor", [None, "threads", "processes"])
def test_every_kind_does_every_task(executor: Any) -> None:
    assert collected(executor) == EXPECTED


def test_an_executor_of_the_caller_stays_open() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert collected(pool) == EXPECTED
        assert pool.submit(square, 3).result() == 9


@pytest.mark.parametrize("wrong", [3, "thread", object(), "distributed"])
def test_what_is_no_executor_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="'processes', 'dask'"), opened(wrong):
        pass


def test_without_a_client_dask_is_refused() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(ValueError, match="there is none; make one"), opened("dask"):
        pass


def test_how_many_tasks_are_given() -> None:
    with ProcessPoolExecutor(3) as pool, opened(pool) as crew:
        assert workers_for(10**12, executor=crew) == 6, "memory is counted in each process"
        assert workers_for(1, 2, executor=crew) == 2
    with opened("processes", 3) as crew:
        assert workers_for(1, executor=crew) == 3
    with ThreadPoolExecutor(3) as threads, opened(threads) as crew:
        assert workers_for(1 << 30, 8, executor=crew, max_memory="2 GiB") == 2
        assert workers_for(1 << 40, 8, executor=crew) == 1


class Deserted:
    """A client of a Dask cluster that has no workers."""

    status = "running"

    def nthreads(self) -> dict[str, int]:
        return {}

    def get_executor(self, **_: Any) -> Any:
        return Keyed()


class Keyed:
    """An executor of Dask's; results of the tasks in `never` do not come."""

    def __init__(self, never: int = 0) -> None:
        self.never, self.pool, self.keys = never, ThreadPoolExecutor(1), set[str]()

    def submit(self, function: Any, task: Any, *, key: str) -> Future[Any]:
        self.keys.add(key)
        if len(self.keys) <= self.never:
            self.pool.submit(function, task)
            return Future()
        return self.pool.submit(function, task)


class Forgets(Deserted):
    """A client that does not fetch the results of the first two tasks."""

    def __init__(self) -> None:
        self.executor, self.scheduler = Keyed(never=2), self

    def nthreads(self) -> dict[str, int]:
        return {"worker": 1}

    def get_executor(self, **_: Any) -> Any:
        return self.executor

    def sync(self, function: Any, **arguments: Any) -> Any:
        return function(**arguments)

    def who_has(self, keys: list[str]) -> dict[str, list[str]]:
        assert {*keys} <= self.executor.keys
        return {key: ["worker"] for key in keys}


def test_a_closed_client_takes_no_tasks() -> None:
    client = Deserted()
    client.status = "closed"
    with pytest.raises(WorkerError, match="client is closed; make a new one"), opened(client):
        pass


def test_a_cluster_without_workers_is_told(caplog: pytest.LogCaptureFixture) -> None:
    def until_told(_: int) -> None:
        end = time.monotonic() + 60
        while not caplog.records and time.monotonic() < end:
            time.sleep(0.01)

    collected(Deserted(), until_told, 2)
    assert [record.message for record in caplog.records] == [
        "the Dask cluster has no workers; the job waits for new ones"
    ]


def test_a_result_that_the_client_forgets_is_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules["omnizarr.jobs.executors"], "_LOOK_SECONDS", 0)
    monkeypatch.setattr(sys.modules["omnizarr.jobs.running"], "_LOOK", 0.01)
    client = Forgets()
    assert collected(client) == EXPECTED
    assert len(client.executor.keys) >= len(EXPECTED) + 2


# -- lost workers ---------------------------------------------------------------------------------


class DiesOnce:
    """Kills its process at one task, the first time."""

    def __init__(self, folder: Path, victims: tuple[int, ...]) -> None:
        self.folder, self.victims = folder, victims

    def __call__(self, number: int) -> int:
        mark = self.folder / str(number)
        if number in self.victims and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number


def die(number: int) -> int:
    os._exit(1)


def test_a_killed_process_is_replaced(tmp_path: Path) -> None:
    assert collected("processes", DiesOnce(tmp_path, (3, 4, 30))) == EXPECTED
    assert len(list(tmp_path.iterdir())) == 3


def test_a_pool_that_breaks_while_it_starts_a_process_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submit, broken = ProcessPoolExecutor.submit, [OSError("handle is closed")]

    def breaks(pool: Any, *arguments: Any) -> Any:
        future = submit(pool, *arguments)
        if broken:
            raise broken.pop()
        return future

    monkeypatch.setattr(ProcessPoolExecutor, "submit", breaks)
    assert collected("processes") == EXPECTED
    assert not broken


class SleepsOrDies:
    """One task goes on for ever, another one kills its process: both for the first time only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, number: int) -> int:
        asleep = self.folder / "asleep"
        if number == 0 and not asleep.exists():
            asleep.touch()
            time.sleep(600)
        if number == 1 and not (self.folder / "dead").exists():
            while not asleep.exists():
                time.sleep(0.01)
            (self.folder / "dead").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number


def test_what_a_broken_pool_leaves_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was starting while the pool broke is not told to end."""
    monkeypatch.setattr(SpawnProcess, "terminate", lambda process: None)
    begin = time.monotonic()
    assert collected("processes", SleepsOrDies(tmp_path)) == EXPECTED
    assert time.monotonic() - begin < 300


@pytest.mark.parametrize("fails", [False, True])
def test_a_future_that_a_broken_pool_forgot_is_no_end(
    monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    submit = ProcessPoolExecutor.submit
    numbers = iter(range(10**6))

    def forgets(pool: Any, function: Any, *arguments: Any) -> Any:
        future = submit(pool, function, *arguments)
        if next(numbers) != 3:
            return future
        for process in list(pool._processes.values()):
            process.kill()
        return Future()

    def wrong(task: int, result: int) -> None:
        raise ValueError("wrong")

    monkeypatch.setattr(ProcessPoolExecutor, "submit", forgets)
    monkeypatch.setattr(sys.modules["omnizarr.jobs.running"], "_LOOK", 0.05)
    if fails:
        with pytest.raises(ValueError, match="wrong"), opened("processes", 2) as crew:
            run(square, range(40), wrong, workers=2, executor=crew)
    else:
        assert collected("processes") == EXPECTED


def test_a_task_that_kills_its_worker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["omnizarr.jobs.running"], "MOST_ATTEMPTS", 2)
    with pytest.raises(WorkerError, match=r"2 times.*task 0, 0\. Workers die"):
        collected("processes", die, count=1)  # others would be killed with it, and might be named


def test_a_long_task_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["omnizarr.jobs.running"], "MOST_ATTEMPTS", 1)
    task = 5, Path("a folder with a long name/and another one/0001.nc")
    with pytest.raises(WorkerError, match=r"0001\.nc"), opened("processes", 1) as crew:
        run(die, [task], lambda task, result: None, executor=crew)


def test_an_error_of_a_task_is_no_lost_worker() -> None:
    with pytest.raises(ZeroDivisionError):
        collected("processes", (1).__truediv__)


class Fails(Crew):
    """A cluster whose every task ends in an error of Dask or Ray."""

    def __init__(self, error: Exception, pool: ThreadPoolExecutor) -> None:
        super().__init__(pool, 2)
        self.error, self.submitted = error, 0

    def submit(self, function: Any, task: Any) -> Any:
        self.submitted += 1
        error = self.error

        def fail() -> None:
            raise error

        return self.executor.submit(
            fail if self.submitted <= 3 else function, *(() if self.submitted <= 3 else (task,))
        )


@pytest.mark.parametrize(
    ("module", "name"),
    [("distributed.scheduler", "KilledWorker"), ("ray.exceptions", "WorkerCrashedError")],
)
def test_lost_workers_of_clusters_are_known_by_name(module: str, name: str) -> None:
    error = type(name, (Exception,), {"__module__": module})("gone")
    with ThreadPoolExecutor(1) as pool:
        assert collected(Fails(error, pool)) == EXPECTED
        with pytest.raises(RuntimeError, match="gone"):
            collected(Fails(RuntimeError("gone"), pool))


@pytest.mark.parametrize("result", [(1, 2, ()), (1, 2), 3, None])
def test_a_result_whose_worker_died_after_it_was_fetched_is_lost(result: Any) -> None:
    cascade = pytest.importorskip("distributed.cfexecutor")._cascade_future
    crew = object.__new__(Cluster)

    class Fetched:
        def __init__(self, status: str, result: Any) -> None:
            self.status, self.result = status, result

        async def _result(self, raiseit: bool) -> Any:
            return self.result

    async def error_of(fetched: Fetched) -> Any:
        future: Future[Any] = Future()
        await cascade(fetched, future)
        return future.exception()

    assert crew.is_lost(asyncio.run(error_of(Fetched("pending", result))))
    with pytest.raises(ValueError, match="no number") as wrong:
        int("no number")
    told = Fetched("error", (ValueError, wrong.value, wrong.tb))
    assert not crew.is_lost(asyncio.run(error_of(told)))


def test_processes_know_the_callers_limits() -> None:
    with limits.override(max_dimensions=7), omnizarr.config.set({"array.order": "F"}):
        found = collected("processes", settings, count=1)
    assert found == {0: (7, "F", 1)}


def settings(_: int) -> tuple[int, str, int]:
    return limits.current.max_dimensions, omnizarr.config["array.order"], omnizarr.config["threads"]


ORPHANS = """
import os, sys, time
from omnizarr.jobs import run

def sleep(number):
    os.write(1, b"%d\\n" % os.getpid())  # at once: the other process writes to the same pipe
    time.sleep(60)

if __name__ == "__main__":
    run(sleep, range(2), print, workers=2, executor="processes")
"""


@pytest.mark.slow
def test_processes_end_when_the_job_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(ORPHANS)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE) as job:
        assert job.stdout is not None
        children = [int(job.stdout.readline()) for _ in range(2)]
        job.kill()
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, "processes of a killed job live on"
        time.sleep(0.05)


def test_pools_are_closed() -> None:
    with opened("processes", 1) as crew:
        assert isinstance(crew, OwnProcesses)
        assert crew.submit(square, 5).result() == 25
        assert crew._pool is not None
        processes = list(crew._pool._processes.values())
    assert not any(process.is_alive() for process in processes)


# -- executors that take no tasks -----------------------------------------------------------------


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_that_was_shut_down_is_refused_before_anything_is_written(kind: Any) -> None:
    pool = kind(1)
    pool.shutdown()
    store = omnizarr.MemoryStore()
    with pytest.raises(WorkerError, match="it was shut down"):
        omnizarr.convert(omnizarr.zeros(9, chunks=3), store, chunks=4, executor=pool)
    assert list(store) == []


def test_an_executor_that_is_shut_down_meanwhile_is_an_error_of_workers() -> None:
    pool = ThreadPoolExecutor(1)
    with opened(pool) as crew, pytest.raises(WorkerError, match="after shutdown; make a new one"):
        run(square, range(40), lambda *_: pool.shutdown(), executor=crew)


def test_an_address_without_a_scheduler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("timed out")

    monkeypatch.setattr(distributed, "Client", refuse)
    with pytest.raises(WorkerError, match=r"'tcp://127.0.0.1:9' \(timed out\)"):
        omnizarr.verify(omnizarr.zeros(9), executor="tcp://127.0.0.1:9")
