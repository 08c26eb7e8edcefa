"""`sync` waits for coroutines, also in a forked child."""

from __future__ import annotations

import asyncio
import multiprocessing
import os

import pytest

from omnizarr.compat.zarr3.core import sync as of


async def double(value: int) -> int:
    await asyncio.sleep(0)
    return 2 * value


def test_results_and_errors_come_back() -> None:
    async def fail() -> None:
        raise KeyError("x")

    assert of.sync(double(4)) == 8
    with pytest.raises(KeyError):
        of.sync(fail())
    with pytest.raises(TimeoutError):
        of.sync(asyncio.sleep(60), timeout=0.05)


def test_waiting_in_the_own_loop_is_an_error() -> None:
    async def nested() -> int:
        return of.sync(double(1))

    with pytest.raises(of.SyncError):
        of.sync(nested())


def test_the_thread_ends_when_it_is_asked_to() -> None:
    for value in (1, 2):
        assert of.sync(double(value)) == 2 * value
        _, thread = of._loops[os.getpid()]
        assert thread.is_alive()
        of.cleanup_resources()
        assert not thread.is_alive()
    of.cleanup_resources()


def _in_child() -> None:
    raise SystemExit(of.sync(double(3)))


def test_a_forked_child_has_its_own_loop() -> None:
    of.sync(double(1))
    child = multiprocessing.get_context("fork").Process(target=_in_child)
    child.start()
    child.join(30)
    assert child.exitcode == 6
