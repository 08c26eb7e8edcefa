"""Threads: all items are done once, the first failure wins, small work stays in the caller."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from omnizarr import limits, parallel
from omnizarr.config import config
from omnizarr.engine import threads


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_item_is_done_once(workers: int) -> None:
    done: list[int] = []
    parallel.run(lambda item, _: done.append(item), range(1000), workers, object)
    assert sorted(done) == list(range(1000))


@pytest.mark.parametrize("workers", [1, 4])
def test_the_first_failure_is_raised_and_stops_the_rest(workers: int) -> None:
    done: list[int] = []

    def work(item: int, _: object) -> None:
        if item == 50:
            raise ValueError("item 50")
        done.append(item)

    with pytest.raises(ValueError, match="item 50"):
        parallel.run(work, range(1_000_000), workers, object)
    assert len(done) < 900_000


def test_a_failing_iterator_is_raised() -> None:
    def items() -> object:
        yield 1
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        parallel.run(lambda *_: None, items(), 3, object)  # type: ignore[arg-type]


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    parallel.run(lambda *_: None, range(100), 4, object)
    assert threading.active_count() == before


def test_several_threads_work() -> None:
    barrier = threading.Barrier(3, timeout=30)
    parallel.run(lambda *_: barrier.wait() and None, range(3), 3, object)


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

    parallel.run(work, range(3), 3, list)
    assert len(set(seen)) == 3


@pytest.mark.parametrize("workers", [1, 4])
def test_work_that_nobody_awaits_stops(workers: int) -> None:
    event = threading.Event()
    done: list[int] = []

    def work(item: int, _: object) -> None:
        done.append(item)
        if len(done) == 10:
            event.set()

    with parallel.abandoned_by(event), pytest.raises(parallel.Abandoned):
        parallel.run(work, range(100_000), workers, object)
    assert 10 <= len(done) < 10 + workers + 4
    parallel.check()  # outside the block nothing is abandoned


def test_each_keeps_the_order() -> None:
    for workers in (1, 3, 16):
        assert parallel.each(lambda item: item * 2, range(50), workers) == list(range(0, 100, 2))
    with pytest.raises(ZeroDivisionError):
        parallel.each(lambda item: 1 // item, [1, 0, 1], 2)


# -- two steps ---------------------------------------------------------------------------------


@pytest.mark.parametrize("others", [1, 3])
@pytest.mark.parametrize("workers", [1, 4])
def test_both_steps_are_done_once_for_every_item(workers: int, others: int) -> None:
    done: list[tuple[int, int]] = []

    def second(item: int, value: int, own: list[int]) -> None:
        own.append(1)
        done.append((item, value))

    before = threading.active_count()
    parallel.relay(lambda item: -item, range(1000), workers, second, others, list, 8)
    assert sorted(done) == [(item, -item) for item in range(1000)]
    assert threading.active_count() == before


def test_no_more_than_so_many_are_on_their_way() -> None:
    lock, under_way, most = threading.Lock(), 0, 0

    def first(item: int) -> int:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        return item

    def second(item: int, value: int, _: object) -> None:
        nonlocal under_way
        time.sleep(0.001)
        with lock:
            under_way -= 1

    parallel.relay(first, range(200), 16, second, 2, object, 5)
    assert most == 5


@pytest.mark.parametrize("step", ["first", "second", "items", "state"])
@pytest.mark.parametrize("others", [1, 3])
def test_a_failure_of_either_step_stops_the_relay(step: str, others: int) -> None:
    calls = [0]

    def items() -> Iterator[int]:
        for item in range(1_000_000):
            if step == "items" and item == 50:
                raise ValueError("item 50")
            yield item

    def first(item: int) -> int:
        calls[0] += 1
        if step == "first" and item == 50:
            raise ValueError("item 50")
        return item

    def second(item: int, value: int, _: object) -> None:
        if step == "second" and item == 50:
            raise ValueError("item 50")

    def state() -> object:
        if step == "state":
            raise ValueError("item 50")
        return None

    before = threading.active_count()
    with pytest.raises(ValueError, match="item 50"):
        parallel.relay(first, items(), 4, second, others, state, 8)
    assert calls[0] < 900_000
    assert threading.active_count() == before


@pytest.mark.parametrize("step", ["first", "second"])
def test_a_relay_is_abandoned(step: str) -> None:
    event = threading.Event()
    calls = [0]

    def first(item: int) -> int:
        calls[0] += 1
        if step == "first" and item == 50:
            event.set()
        return item

    def second(item: int, value: int, _: object) -> None:
        if step == "second" and item == 50:
            event.set()

    with pytest.raises(parallel.Abandoned), parallel.abandoned_by(event):
        parallel.relay(first, range(1_000_000), 4, second, 2, object, 8)
    assert calls[0] < 1000


def test_a_full_process_starts_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "MOST_THREADS", threading.active_count())
    done: list[int] = []
    seen: set[int] = set()

    def work(item: int, *_: object) -> None:
        seen.add(threading.get_ident())
        done.append(item)

    parallel.run(work, range(100), 8, object)
    assert seen == {threading.get_ident()}
    parallel.relay(lambda item: item, range(100), 8, work, 8, object, 8)
    assert seen == {threading.get_ident()}
    assert sorted(done) == sorted([*range(100)] * 2)


def test_what_is_carried_to_another_thread_can_be_called_off() -> None:
    event = threading.Event()
    event.set()
    with parallel.abandoned_by(event):
        carried = parallel.carrying(lambda _: parallel.check())
    found: list[BaseException] = []

    def work() -> None:
        try:
            carried(None)
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert isinstance(found[0], parallel.Abandoned)
