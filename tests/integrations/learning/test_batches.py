"""An epoch gives every sample once, reads every chunk once, and goes on where it was stopped."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import LimitError
from omnizarr.integrations.learning import Batches
from omnizarr.testing import CountingStore


def array(length: int = 103, chunk: int = 10, store: Any = None, **more: Any) -> omnizarr.Array:
    """Row i is full of i."""
    values = np.repeat(np.arange(length, dtype="i4")[:, None], 5, axis=1)
    store = omnizarr.MemoryStore() if store is None else store
    return omnizarr.create_array(store, data=values, chunks=(chunk, 5), **more)


def chunk_reads(store: CountingStore) -> list[str]:
    return [key for keys in store.asked.values() for key in keys if key.startswith("c/")]


def numbers(batches: Any) -> list[int]:
    return [int(row[0]) for batch in batches for row in batch]


@given(
    st.integers(0, 60), st.integers(1, 20), st.none() | st.integers(1, 25), st.integers(1, 4),
    st.booleans(), st.integers(1, 3), st.integers(1, 3),
)  # fmt: skip
def test_every_sample_once(
    length: int, chunk: int, size: int | None, buffer: int, shuffle: bool, ranks: int, workers: int
) -> None:
    source = array(length, chunk)
    found: list[int] = []
    for rank in range(ranks):
        batches = Batches(
            source, batch_size=size, buffer=buffer, shuffle=shuffle, rank=rank, world_size=ranks
        )
        own = [batch for n in range(workers) for batch in batches.share(n, workers)]
        assert len(own) == len(batches)
        assert all((rows == rows[..., :1]).all() for rows in own)
        found += numbers([rows[None] for rows in own] if size is None else own)
    assert {*found} == {*range(length)}
    assert len(found) < length + ranks


@pytest.mark.parametrize(
    ("by", "more"), [("chunk", {}), ("chunk", {"shards": (20, 5)}), ("shard", {"shards": (20, 5)})]
)
def test_each_chunk_is_read_once_an_epoch(by: Any, more: dict[str, Any]) -> None:
    memory = omnizarr.MemoryStore()
    array(store=memory, **more)
    store = CountingStore(memory)
    labels = omnizarr.create_array(omnizarr.MemoryStore(), data=np.arange(103), chunks=50)
    batches = Batches(
        {"x": omnizarr.open_array(store, mode="r"), "y": labels},
        batch_size=8, shuffle_by=by, buffer=3,
    )  # fmt: skip
    store.reset()
    seen = [batch["y"].tolist() for batch in batches]
    assert sorted(label for labels in seen for label in labels) == [*range(103)]
    reads = Counter(chunk_reads(store))
    if not more:
        assert reads == {f"c/{n}/0": 1 for n in range(11)}
    elif by == "shard":
        assert len(reads) == 6 and max(reads.values()) <= 3


def test_labels_are_read_once() -> None:
    memory = omnizarr.MemoryStore()
    omnizarr.create_array(memory, data=np.arange(103), chunks=50)
    store = CountingStore(memory)
    batches = Batches({"x": array(), "y": omnizarr.open_array(store, mode="r")}, batch_size=8)
    store.reset()
    assert [(batch["x"][:, 0] == batch["y"]).all() for batch in batches] == [True] * 13
    assert Counter(chunk_reads(store)) == {f"c/{n}": 1 for n in range(3)}


@settings(max_examples=40)
@given(st.integers(0, 14), st.integers(1, 30), st.integers(1, 4), st.booleans())
def test_a_stopped_epoch_goes_on(stop: int, size: int, buffer: int, shuffle: bool) -> None:
    def made() -> Batches:
        found = Batches(array(), batch_size=size, buffer=buffer, shuffle=shuffle, seed=3)
        found.set_epoch(2)
        return found

    first = made()
    iterator = iter(first)
    before = numbers(islice(iterator, stop))
    second = Batches(array(), batch_size=size, buffer=buffer, shuffle=shuffle, seed=3)
    second.load_state_dict(first.state_dict())
    second.set_epoch(2)  # as a loop over epochs does
    if stop <= len(first):  # else the epoch has ended, and the next one begins
        assert before + numbers(second) == numbers(made())
    assert sorted(numbers(second)) == [*range(103)], "and the next epoch is whole"


def test_a_damaged_state_is_refused() -> None:
    with pytest.raises(ValueError, match="no state"):
        Batches(array()).load_state_dict({"epoch": 0, "given": -1})


def test_an_iteration_that_was_left_begins_anew() -> None:
    batches = Batches(array(), batch_size=10)
    for _ in batches:
        break
    assert sorted(numbers(batches)) == [*range(103)]


def test_the_next_chunks_are_read_meanwhile() -> None:
    begun = threading.Event()
    memory = omnizarr.MemoryStore()
    array(40, 10, memory)

    class Watched(CountingStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            if key in ("c/1/0", "c/2/0"):
                begun.set()
            return super().get(key, byte_range)

    batches = Batches(
        omnizarr.open_array(Watched(memory), mode="r"), batch_size=10, buffer=1, shuffle=False
    )
    before = {*threading.enumerate()}
    iterator = iter(batches)
    next(iterator)
    assert begun.wait(20)
    iterator.close()  # type: ignore[attr-defined]
    after = {*threading.enumerate()} - before
    assert not [thread for thread in after if thread.name.startswith("omnizarr-read-ahead")]


def test_memory_is_bounded() -> None:
    source = array(1000, 10)
    unit = 10 * 5 * 4
    sizes: list[int] = []
    batches = Batches(source, batch_size=5, buffer=50, max_memory=3 * 4 * unit)
    read = batches.samples.read
    holder: Any = batches.samples
    holder.held = lambda room: holder
    holder.read = lambda wanted: sizes.append(len(wanted)) or read(wanted)
    assert sorted(numbers(batches)) == [*range(1000)]
    assert max(sizes) == 40, "four chunks at a time"
    with pytest.raises(LimitError, match="max_memory=500: 3 times the samples of a chunk, 200"):
        Batches(source, max_memory=500)
    many = omnizarr.zeros((10**5, 10**5), chunks=(10, 10))
    with pytest.raises(LimitError, match="begin in 100000000 chunks"):
        Batches(many, patch=(10, 10))


def test_a_fault_is_no_data() -> None:
    memory = omnizarr.MemoryStore()
    array(store=memory)
    memory["c/5/0"] = b"damaged"
    batches = Batches(omnizarr.open_array(memory, mode="r"), batch_size=10, buffer=2)
    with pytest.raises(omnizarr.errors.DecodeError):
        numbers(batches)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": 0}, "batch_size must be positive"),
        ({"rank": 2, "world_size": 2}, "rank must be from 0 to 1"),
        ({"buffer": 0}, "buffer >= 1"),
        ({"batch_size": 1.5}, "batch_size must be a whole number, found 1.5"),
        ({"seed": "7"}, "seed must be a whole number, found '7'"),
        ({"max_memory": "1 GB"}, "max_memory must be a whole number, found '1 GB'"),
        ({"shuffle_by": "chunks"}, "'chunk' or 'shard', found 'chunks'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Batches(array(), **arguments)
    with pytest.raises(TypeError, match="did you mean 'batch_size'"):
        Batches(array(), batchsize=3)  # type: ignore[call-arg]
