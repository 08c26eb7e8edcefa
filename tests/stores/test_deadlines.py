"""Coroutines and calls with a deadline."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial

import pytest

from omnizarr.errors import StoreError
from omnizarr.stores import deadlines


async def after(seconds: float, result: int | None = None) -> int | None:
    await asyncio.sleep(seconds)
    return result


async def failing() -> int:
    raise KeyError("k")


def test_a_result() -> None:
    assert deadlines.run(partial(after, 0, 5), 30) == 5


def test_the_deadline() -> None:
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        deadlines.run(partial(after, 60), 0.05)
    assert time.monotonic() - begun < 30


def test_from_inside_another_loop() -> None:
    async def main() -> int | None:
        return deadlines.run(partial(after, 0, 5), 30)

    assert asyncio.run(main()) == 5


def test_from_inside_the_same_loop() -> None:
    async def main() -> int | None:
        return deadlines.run(partial(after, 0), 30, asyncio.get_running_loop())

    with pytest.raises(StoreError, match="wait for itself"):
        asyncio.run(main())


def test_many_results_in_order_and_each_with_its_own_failure() -> None:
    work = [partial(after, 0.02, 1), failing, partial(after, 60), partial(after, 0, 4)]
    first, second, third, last = deadlines.run_all(work, 0.3, at_once=8)
    assert (first, last) == (1, 4)
    assert isinstance(second, KeyError) and isinstance(third, TimeoutError)


def test_no_more_at_once_than_allowed() -> None:
    running = most = 0

    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    deadlines.run_all([work] * 20, 30, at_once=3)
    assert most == 3


def test_a_call_in_a_thread() -> None:
    assert deadlines.call(lambda: 5) == 5
    assert deadlines.call(lambda: None, 30) is None
    with pytest.raises(KeyError):
        deadlines.call(lambda: {}["k"], 30)


def test_a_call_that_does_not_return() -> None:
    release = threading.Event()
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        deadlines.call(lambda: release.wait(60), 0.05)
    release.set()
    assert time.monotonic() - begun < 30
