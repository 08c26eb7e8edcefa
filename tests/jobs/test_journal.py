"""Journals: sets of numbers, and one key."""

from __future__ import annotations

import json
import random
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.errors import MetadataError
from omnizarr.jobs import Journal
from omnizarr.jobs import journal as journal_module
from omnizarr.jobs.journal import Done, read
from omnizarr.stores import MemoryStore
from omnizarr.testing import CountingStore

KEY = "x/.journal"


@given(st.lists(st.integers(0, 60)))
def test_a_set_of_numbers_as_ranges(numbers: list[int]) -> None:
    done = Done()
    for number in numbers:
        done.add(number)
    assert {number for number in range(-1, 62) if number in done} == set(numbers)
    assert len(done) == len(set(numbers))
    ranges = done.ranges()
    # As few ranges as possible, in order.
    assert all(stop < start for (_, stop), (start, _) in pairwise(ranges))
    again = Done(ranges)
    assert again.ranges() == ranges
    assert all(number in again for number in numbers)


def test_what_was_done_is_found_again() -> None:
    store = MemoryStore()
    journal = Journal(store, KEY, "convert", "abc")
    assert not journal.load()
    journal.begin()
    journal.mark("/a", 3)
    journal.mark("/a", 4)
    journal.note("stage", {"keys": ["k"]})
    journal.mark("/b", 0)
    journal.flush()
    again = Journal(store, KEY, "convert", "abc")
    assert again.load()
    assert 3 in again.done("/a")
    assert again.done("/a").ranges() == [[3, 5]]
    assert again.done("/b").ranges() == [[0, 1]]
    assert again.facts == {"stage": {"keys": ["k"]}}
    again.remove()
    assert len(store) == 0


def test_another_job_is_not_taken_up() -> None:
    store = MemoryStore()
    Journal(store, KEY, "convert", "abc").begin()
    assert not Journal(store, KEY, "convert", "abd").load()
    assert not Journal(store, KEY, "rechunk", "abc").load()
    found = read(store, KEY)
    assert found is not None
    assert found["fingerprint"] == "abc"


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"omnizarr_journal": 99}', b"\xff"])
def test_what_cannot_be_read_is_no_job_of_ours(text: bytes) -> None:
    store = MemoryStore({KEY: text})
    assert read(store, KEY) == {}
    assert not Journal(store, KEY, "convert", "abc").load()


@pytest.mark.parametrize(
    "done", [[[1, 1]], [[3, 2]], [[0, 2], [1, 4]], [["0", 1]], [[-1, 2]], 5, [[0]]]
)
def test_damage_is_an_error(done: object) -> None:
    store = MemoryStore()
    Journal(store, KEY, "convert", "abc").begin()
    document = json.loads(store[KEY])
    document["done"] = {"/a": done}
    store.set(KEY, json.dumps(document).encode())
    with pytest.raises(MetadataError, match="the journal is damaged"):
        Journal(store, KEY, "convert", "abc").load()


def test_it_is_written_about_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    store = CountingStore(MemoryStore())
    journal = Journal(store, KEY, "convert", "abc")
    journal.begin()
    for number in range(50):
        clock[0] += 0.1
        journal.mark("/a", number)
    assert 5 <= store.counts["set"] <= 7
    journal.flush()
    written = store.counts["set"]
    journal.flush()
    assert store.counts["set"] == written  # nothing new to write down


def test_the_size_depends_on_what_is_in_flight_alone() -> None:
    """Tasks are handed out in order and finish at random: between two ranges one is under way."""
    in_flight, rng = 500, random.Random(0)
    store = MemoryStore()
    journal = Journal(store, "j", "job", "")
    journal.begin()
    flying, largest = [], 0
    for number in range(10**9 - 20_000, 10**9):
        flying.append(number)
        if len(flying) == in_flight:
            journal.mark("/a", flying.pop(rng.randrange(in_flight)))
            largest = max(largest, len(journal.done("/a").ranges()))
    assert 0.2 * in_flight < largest <= in_flight
    journal.note("end", True)
    assert len(store["j"]) < 25 * in_flight


def test_a_slow_store_is_written_to_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(journal_module.time, "monotonic", lambda: now)
    writes: list[float] = []

    class Slow(MemoryStore):
        def set(self, key: str, value: Any) -> None:
            nonlocal now
            now += 0.5
            writes.append(now)
            super().set(key, value)

    journal = Journal(Slow(), "j", "job", "")
    journal.begin()
    for number in range(1000):
        now += 0.1
        journal.mark("/a", number)
    assert 0.5 * len(writes) <= now / journal_module.SPARING + 0.5
    assert len(writes) > 3
