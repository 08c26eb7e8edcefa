"""Threads: all items are done once, the first failure wins, small work stays in the caller."""

from __future__ import annotations

import itertools
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from omnizarr import limits
from omnizarr.config import config
from omnizarr.engine import threads
from omnizarr.runtime import parallel


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
    before = set(threading.enumerate())
    parallel.run(lambda *_: None, range(100), 4, object)
    assert not set(threading.enumerate()) - before  # others' may have ended


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
def test_abandoned_work_stops(workers: int) -> None:
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


def one_by_one(second: Callable[..., None]) -> Callable[[list[Any], Any], None]:
    """The second step of a relay for each item of a batch."""

    def all_of(batch: list[Any], own: Any) -> None:
        for item, value in batch:
            second(item, value, own)

    return all_of


@pytest.mark.parametrize("others", [1, 3])
@pytest.mark.parametrize("workers", [1, 4])
def test_both_steps_are_done_once_for_every_item(workers: int, others: int) -> None:
    done: list[tuple[int, int]] = []

    def second(item: int, value: int, own: list[int]) -> None:
        own.append(1)
        done.append((item, value))

    before = set(threading.enumerate())
    parallel.relay(lambda item: -item, range(1000), workers, one_by_one(second), others, list, 8)
    assert sorted(done) == [(item, -item) for item in range(1000)]
    assert not set(threading.enumerate()) - before  # others' may have ended


@pytest.mark.parametrize("others", [1, 3])
@pytest.mark.parametrize("together", [2, 10, 100])
def test_the_second_step_may_get_several_at_once(together: int, others: int) -> None:
    sizes: list[int] = []
    done: list[int] = []

    def second(batch: list[tuple[int, int]], _: object) -> None:
        time.sleep(0.001)
        sizes.append(len(batch))
        done.extend(item for item, _ in batch)

    parallel.relay(lambda item: item, range(600), 8, second, others, object, 40, together=together)
    assert sorted(done) == list(range(600))
    assert 1 < max(sizes) <= min(together, 40)


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

    parallel.relay(first, range(200), 16, one_by_one(second), 2, object, 5)
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

    before = set(threading.enumerate())
    with pytest.raises(ValueError, match="item 50"):
        parallel.relay(first, items(), 4, one_by_one(second), others, state, 8)
    assert calls[0] < 900_000
    assert not set(threading.enumerate()) - before  # others' may have ended


@pytest.mark.parametrize("relay", [False, True])
def test_a_failure_is_seen_by_what_checks(relay: bool) -> None:
    """Also by threads inside the others."""
    waiting, finished = threading.Event(), []

    def deep(item: int, _: object) -> None:
        waiting.set()
        for _ in range(2000):
            parallel.check()
            time.sleep(0.001)
        finished.append(item)

    def work(item: int, _: object) -> None:
        if item:
            waiting.wait(10)
            raise ValueError("enough")
        parallel.run(deep, range(2), 2, object)

    with pytest.raises(ValueError, match="enough"):
        if relay:
            first = lambda item: item  # noqa: E731
            second = one_by_one(lambda item, _, own: work(item, own))
            parallel.relay(first, range(2), 2, second, 2, object, 8)
        else:
            parallel.run(work, range(2), 2, object)
    assert finished == []
    parallel.check()


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
        parallel.relay(first, range(1_000_000), 4, one_by_one(second), 2, object, 8)
    assert calls[0] < 1000


def test_a_full_process_starts_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "MOST_THREADS", 1)
    done: list[int] = []
    seen: set[int] = set()

    def work(item: int, *_: object) -> None:
        seen.add(threading.get_ident())
        done.append(item)

    parallel.run(work, range(100), 8, object)
    assert seen == {threading.get_ident()}
    parallel.relay(lambda item: item, range(100), 8, one_by_one(work), 8, object, 8)
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


# -- a relay that one thread feeds ------------------------------------------------------------


def fed(feed: Any, first: Any = None, *, workers: int = 4, most: int = 8, count: int = 500) -> Any:
    """What a relay hands to its second step, sorted, and the threads of the first step."""
    found: list[tuple[int, int]] = []
    threads: set[str] = set()

    def ordinary(item: int) -> int:
        threads.add(threading.current_thread().name)
        return -item if first is None else first(item)

    def second(item: int, value: int, _: object) -> None:
        found.append((item, value))

    items = range(1, count + 1)
    parallel.relay(ordinary, items, workers, one_by_one(second), 2, object, most, feed)
    assert sorted(found) == [(item, -item) for item in items]
    return threads


def take_all(desk: parallel.Desk[int, int], way: Callable[[int], bool]) -> None:
    """Deal with some items and leave the others aside, one at a time."""
    while not desk.ended and not desk.stopped:
        item = desk.take(wait=True)
        if item is None:
            continue
        if way(item):
            desk.put(item, -item)
        else:
            desk.aside(item)


def test_one_thread_feeds_all() -> None:
    assert fed(lambda desk: take_all(desk, lambda item: True)) == set()


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("most", [1, 4, 100])
def test_what_is_left_aside_is_done_by_others(workers: int, most: int) -> None:
    workers = min(workers, most)
    feed = lambda desk: take_all(desk, lambda item: item % 3 > 0)  # noqa: E731
    assert fed(feed, workers=workers, most=most)
    assert fed(lambda desk: take_all(desk, lambda item: False), workers=workers, most=most)


def test_what_is_not_taken_is_done_by_others() -> None:
    def few(desk: parallel.Desk[int, int]) -> None:
        for _ in range(10):
            item = desk.take(wait=True)
            assert item is not None
            desk.put(item, -item)

    assert fed(few)
    assert fed(lambda desk: None)


def test_nothing_is_taken_while_too_much_is_under_way() -> None:
    seen: list[int] = []

    def hoard(desk: parallel.Desk[int, int]) -> None:
        held: list[int] = []
        while (item := desk.take()) is not None:
            held.append(item)
        seen.append(len(held))
        for item in held:
            desk.put(item, -item)
        take_all(desk, lambda item: True)

    fed(hoard, most=8)
    assert seen == [8]


@pytest.mark.parametrize("most", [1, 8])
def test_failures_stop_a_fed_relay(most: int) -> None:
    class Fault(Exception):
        pass

    def fail(item: Any) -> Any:
        raise Fault

    def feed_and_fail(desk: parallel.Desk[int, int]) -> None:
        item = desk.take(wait=True)
        assert item is not None
        desk.put(item, -item)
        raise Fault

    def second(item: int, value: int, _: object) -> None:
        raise Fault

    before = set(threading.enumerate())
    aside = lambda desk: take_all(desk, lambda item: False)  # noqa: E731
    with pytest.raises(Fault):
        fed(aside, fail, workers=1, most=most)
    with pytest.raises(Fault):
        fed(feed_and_fail, workers=1, most=most)
    endless = itertools.count()
    for others in (1, 2):
        with pytest.raises(Fault):
            feed = lambda desk: take_all(desk, lambda item: True)  # noqa: E731
            parallel.relay(
                lambda item: item, endless, 1, one_by_one(second), others, object, most, feed
            )
    assert not set(threading.enumerate()) - before


# -- a relay that one thread drains -----------------------------------------------------------


def drained(drain: Any, *, others: int = 4, most: int = 8, count: int = 500) -> set[int]:
    """The items of the second step of a relay that were left to its other threads."""
    late: list[int] = []
    done: list[int] = []

    def second(item: int, value: int, _: object) -> None:
        late.append(item)
        done.append(-value)

    items = range(1, count + 1)

    def watched(desk: parallel.Outbox[int, int]) -> None:
        put = desk.put
        desk.put = lambda pair, value: (done.append(-pair[1]), put(pair, value))  # type: ignore[assignment,method-assign,return-value]
        drain(desk)

    first = lambda item: -item  # noqa: E731
    parallel.relay(first, items, 2, one_by_one(second), others, object, most, drain=watched)
    assert sorted(done) == list(items)
    return set(late)


def drain_all(desk: parallel.Outbox[int, int], way: Callable[[int], bool]) -> None:
    """Deal with some items and leave the others aside; sleep until the desk rings."""
    while not desk.ended and not desk.stopped:
        pair = desk.take()
        if pair is None and not desk.ended:
            select.select([desk.signal], [], [], 10)
            with suppress(BlockingIOError):
                desk.signal.recv(1 << 16)
        elif pair is None:
            return
        elif way(pair[0]):
            desk.put(pair, None)
        else:
            desk.aside(pair)


@pytest.mark.parametrize("most", [1, 4, 100])
def test_one_thread_drains_all(most: int) -> None:
    begun = time.monotonic()
    assert drained(lambda desk: drain_all(desk, lambda item: True), most=most) == set()
    assert time.monotonic() - begun < 9  # it was always woken


@pytest.mark.parametrize("others", [1, 4])
@pytest.mark.parametrize("most", [1, 4, 100])
def test_what_is_left_of_the_second_step(others: int, most: int) -> None:
    some = lambda desk: drain_all(desk, lambda item: item % 3 > 0)  # noqa: E731
    assert drained(some, others=others, most=most) == set(range(3, 501, 3))
    assert len(drained(lambda desk: None, others=others, most=most)) == 500

    def few(desk: parallel.Outbox[int, int]) -> None:
        for _ in range(10):
            pair = desk.take(wait=True)
            assert pair is not None
            desk.put(pair, None)

    assert len(drained(few, others=others, most=most)) == 490


@pytest.mark.parametrize("most", [1, 8])
def test_failures_stop_a_drained_relay(most: int) -> None:
    class Fault(Exception):
        pass

    def fail(*_: Any) -> Any:
        raise Fault

    def drain_and_fail(desk: parallel.Outbox[int, int]) -> None:
        desk.take(wait=True)
        raise Fault

    def at_twenty(item: int) -> int:
        return fail() if item == 20 else item

    before = set(threading.enumerate())
    every = lambda desk: drain_all(desk, lambda item: True)  # noqa: E731
    none = lambda desk: drain_all(desk, lambda item: False)  # noqa: E731
    fine = lambda item: item  # noqa: E731
    for first, second, drain in (
        (at_twenty, fail, every),
        (fine, fail, none),
        (fine, fail, drain_and_fail),
    ):
        with pytest.raises(Fault):
            parallel.relay(first, itertools.count(), 2, second, 2, object, most, drain=drain)
    assert not set(threading.enumerate()) - before
