"""Threads: all items are done once, the first failure wins, small work stays in the caller."""

from __future__ import annotations

import threading

import pytest

from omnizarr import limits
from omnizarr.config import config
from omnizarr.engine import threads


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_item_is_done_once(workers: int) -> None:
    done: list[int] = []
    threads.run(lambda item, _: done.append(item), range(1000), workers, object)
    assert sorted(done) == list(range(1000))


@pytest.mark.parametrize("workers", [1, 4])
def test_the_first_failure_is_raised_and_stops_the_rest(workers: int) -> None:
    done: list[int] = []

    def work(item: int, _: object) -> None:
        if item == 50:
            raise ValueError("item 50")
        done.append(item)

    with pytest.raises(ValueError, match="item 50"):
        threads.run(work, range(1_000_000), workers, object)
    assert len(done) < 900_000


def test_a_failing_iterator_is_raised() -> None:
    def items() -> object:
        yield 1
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        threads.run(lambda *_: None, items(), 3, object)  # type: ignore[arg-type]


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    threads.run(lambda *_: None, range(100), 4, object)
    assert threading.active_count() == before


def test_several_threads_work() -> None:
    barrier = threading.Barrier(3, timeout=30)
    threads.run(lambda *_: barrier.wait() and None, range(3), 3, object)


def test_small_chunks_stay_in_the_calling_thread() -> None:
    with config.set({"threads": 8}):
        assert threads.workers_for(10_000, 400) == 1
        assert threads.workers_for(1, 1 << 24) == 1
        assert threads.workers_for(3, 1 << 20) == 3
        assert threads.workers_for(100, 1 << 20) == 8


def test_chunks_in_flight_fit_the_scratch() -> None:
    with config.set({"threads": 8}), limits.override(scratch_bytes=64 << 20):
        assert threads.workers_for(100, 16 << 20) == 2
        assert threads.workers_for(100, 1 << 30) == 1


def test_every_thread_has_a_state_of_its_own() -> None:
    barrier = threading.Barrier(3, timeout=30)
    seen: list[int] = []

    def work(_: int, own: list[int]) -> None:
        own.append(1)
        barrier.wait()
        seen.append(id(own))

    threads.run(work, range(3), 3, list)
    assert len(set(seen)) == 3
