"""Tasks on executors: all of them done, few at a time, and a clean end whatever happens."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest

from omnizarr import limits
from omnizarr.errors import UnsupportedError
from omnizarr.jobs import Shared, run, workers_for


def square(number: int) -> int:
    return number * number


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("pool", [None, ThreadPoolExecutor])
def test_every_task_is_done_once(workers: int, pool: Any) -> None:
    results: dict[int, int] = {}
    here = threading.get_ident()

    def finished(task: int, result: int) -> None:
        assert threading.get_ident() == here
        assert task not in results
        results[task] = result

    executor = pool(3) if pool else None
    run(square, range(100), finished, workers=workers, executor=executor)
    assert results == {number: number * number for number in range(100)}
    if executor:
        executor.shutdown()


def test_no_more_than_asked_for_at_once() -> None:
    running, most, taken = 0, 0, 0
    guard = threading.Lock()

    def task(_: int) -> None:
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        time.sleep(0.002)
        with guard:
            running -= 1

    def tasks() -> Iterator[int]:
        nonlocal taken
        for number in range(60):
            taken += 1
            yield number

    ended = 0

    def finished(_: int, __: None) -> None:
        nonlocal ended
        ended += 1
        assert taken - ended <= 2 * 3  # tasks are made when they are needed, not all at once

    run(task, tasks(), finished, workers=3)
    assert most <= 3
    with ThreadPoolExecutor(8) as pool:
        most = 0
        run(task, range(60), lambda *_: None, workers=2, executor=pool)
    assert most <= 2


@pytest.mark.parametrize("workers", [1, 3])
def test_the_first_error_ends_it(workers: int) -> None:
    begun: list[int] = []
    done: list[int] = []

    def task(number: int) -> int:
        begun.append(number)
        if number == 20:
            raise OSError("disk full")
        return number

    with pytest.raises(OSError, match="disk full"):
        run(task, range(10_000), lambda number, _: done.append(number), workers=workers)
    assert len(begun) < 100
    assert sorted(done) == sorted(set(begun) - {20}), "what came to a good end was not counted"
    assert not any(thread.name.startswith("omnizarr-job") for thread in threading.enumerate())


def test_ctrl_c_ends_it() -> None:
    running = 0
    guard = threading.Lock()

    def task(_: int) -> None:
        nonlocal running
        with guard:
            running += 1
        time.sleep(0.01)
        with guard:
            running -= 1

    calls = 0

    def finished(_: int, __: None) -> None:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(task, range(10_000), finished, workers=4)
    assert running == 0, "tasks were still running"


# -- other processes --------------------------------------------------------------------------


class Values:
    """Counts how often it is unpacked in a process."""

    unpacked = 0

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).unpacked += 1
        self.__dict__.update(state)


def look_up(task: tuple[Shared[Values], int]) -> tuple[int, int, int]:
    shared, place = task
    return shared.value.numbers[place], Values.unpacked, os.getpid()


def test_processes() -> None:
    shared = Shared(Values(list(range(100, 140))))
    found: list[tuple[int, int, int]] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        tasks = ((shared, place) for place in range(40))
        run(look_up, tasks, lambda _, result: found.append(result), workers=4, executor=pool)
    assert sorted(number for number, _, _ in found) == list(range(100, 140))
    assert {unpacked for _, unpacked, _ in found} == {1}, "it was unpacked for every task"
    assert os.getpid() not in {process for _, _, process in found}


def test_what_cannot_be_sent_is_said() -> None:
    shared = Shared(threading.Lock())
    with ProcessPoolExecutor(1) as pool, pytest.raises(UnsupportedError, match="use threads"):
        run(look_up, [(shared, 0)], lambda *_: None, executor=pool)  # type: ignore[list-item]


def test_memory_decides_how_many_run_at_once() -> None:
    with limits.override(worker_bytes=100):
        assert workers_for(30, 8) == 3
        assert workers_for(1000, 8) == 1
        assert workers_for(0, 8) == 8
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="workers must be"):
            workers_for(1, wrong)  # type: ignore[arg-type]
