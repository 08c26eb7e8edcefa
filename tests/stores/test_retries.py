"""The retry policy of all stores."""

from __future__ import annotations

import threading
import time

import pytest

from omnizarr.runtime import parallel
from omnizarr.stores import retries
from omnizarr.stores.retries import RetryPolicy, attempts


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only by sleeping; a list of the pauses."""
    pauses = []
    monkeypatch.setattr(retries.time, "monotonic", lambda: sum(pauses))
    monkeypatch.setattr(retries, "sleep", pauses.append)
    return pauses


def numbers(policy, until=float("inf")):
    return [attempt.number for attempt in attempts(policy, until)]


def test_attempts_end_after_the_last_one(clock):
    assert numbers(RetryPolicy(3)) == [1, 2, 3]
    assert clock == [0, 0]


def test_one_attempt_waits_for_nothing(clock):
    assert numbers(RetryPolicy(1, first_delay=1)) == [1]
    assert clock == []


def test_delays_grow_up_to_the_cap(clock):
    numbers(RetryPolicy(6, first_delay=1, growth=3, cap=10, jitter=0))
    assert clock == [1, 3, 9, 10, 10]


def test_delays_never_overflow(clock):
    assert len(numbers(RetryPolicy(5000, first_delay=1, growth=10.0))) == 5000


def test_jitter_shortens_delays(clock):
    numbers(RetryPolicy(200, first_delay=1, growth=1, jitter=0.5))
    assert 0.5 <= min(clock) < 0.6 and 0.9 < max(clock) <= 1


def test_no_attempt_begins_after_the_deadline(clock):
    policy = RetryPolicy(100, first_delay=1, growth=1, jitter=0)
    assert numbers(policy, until=3.5) == [1, 2, 3, 4]
    clock.clear()
    assert numbers(policy, until=3) == [1, 2, 3]


def test_the_first_attempt_begins_even_after_the_deadline(clock):
    assert numbers(RetryPolicy(5), until=-1) == [1]


def test_a_server_asks_for_a_longer_pause(clock):
    for attempt in attempts(RetryPolicy(3, first_delay=1, jitter=0)):
        attempt.wait_at_least(7 if attempt.number == 1 else 0)
    assert clock == [7, 2]


def test_a_pause_beyond_the_deadline_ends_the_attempts_at_once(clock):
    for attempt in attempts(RetryPolicy(3), until=10):
        attempt.wait_at_least(60)
    assert clock == []


def test_a_caller_that_has_gone_ends_a_pause():
    gone = threading.Event()
    threading.Timer(0.05, gone.set).start()
    begun = time.monotonic()
    with parallel.abandoned_by(gone), pytest.raises(parallel.Abandoned):
        retries.sleep(60)
    assert time.monotonic() - begun < 30


def test_a_caller_that_has_gone_gets_no_attempt():
    gone = threading.Event()
    gone.set()
    with parallel.abandoned_by(gone), pytest.raises(parallel.Abandoned):
        next(attempts(RetryPolicy(3)))
