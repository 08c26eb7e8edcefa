"""An interrupted conversion that is called again with another `max_memory`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import NodeExistsError
from omnizarr.jobs import Progress, journal
from omnizarr.jobs.conversion import destination
from omnizarr.testing import FaultStore

KEY = ".omnizarr-convert.json"
DATA = np.arange(400 * 400, dtype="u4").reshape(400, 400)


@pytest.fixture(scope="module")
def source() -> zarr.Array:
    return zarr.create_array({}, data=DATA, chunks=(8, 400))


@pytest.fixture
def half(source: zarr.Array, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A store with a rechunking that was stopped after 30 values."""
    monkeypatch.setattr(journal, "SECONDS", 0.0)
    monkeypatch.setattr(journal, "SPARING", 0)

    def stopped(**options: Any) -> zarr.Store:
        inside = zarr.MemoryStore()
        out = FaultStore(inside)
        out.fail("set", OSError("killed"), at=30)
        with pytest.raises(OSError, match="killed"):
            zarr.rechunk(source, out, chunks=(400, 8), workers=1, **options)
        return inside

    return stopped


@pytest.mark.parametrize("way", ["deleted", "overwrite"])
def test_a_group_was_made_there_meanwhile(source: zarr.Array, half: Any, way: str) -> None:
    """As by opening what is not complete, with the default mode. Both ways that the error tells
    of lead on."""
    store = half()
    assert isinstance(zarr.open(store), zarr.Group)
    with pytest.raises(NodeExistsError, match="goes on once that is deleted; overwrite=True"):
        zarr.rechunk(source, store, chunks=(400, 8))
    if way == "deleted":
        store.delete("zarr.json")
    done = zarr.rechunk(source, store, chunks=(400, 8), overwrite=way == "overwrite")
    assert done.resumed == (way == "deleted")
    assert np.array_equal(zarr.open_array(store)[:], DATA)


@pytest.mark.parametrize(
    ("first", "second"),
    [({"max_memory": "300 kB"}, {"max_memory": "600 kB"}), ({"max_memory": "300 kB"}, {})],
)
@pytest.mark.parametrize("call", ["rechunk", "convert"])
def test_more_memory_goes_on(
    source: zarr.Array, half: Any, first: dict[str, Any], second: dict[str, Any], call: str
) -> None:
    store = half(**first)
    steps: list[Progress] = []
    done = getattr(zarr, call)(source, store, chunks=(400, 8), progress=steps.append, **second)
    assert done.resumed and steps[0].done > 0
    assert np.array_equal(zarr.open_array(store)[:], DATA)
    assert not store.exists(KEY)


def test_less_memory_goes_on_where_regions_fit(source: zarr.Array, half: Any) -> None:
    plan = zarr.rechunk(source, {}, chunks=(400, 8), max_memory="600 kB", dry_run=True)
    assert plan.nodes[0].rechunking is not None
    least = plan.nodes[0].rechunking.memory * 5 // 4 + 1
    assert least < 600_000
    store = half(max_memory="600 kB")
    assert zarr.rechunk(source, store, chunks=(400, 8), max_memory=least).resumed
    assert np.array_equal(zarr.open_array(store)[:], DATA)


def test_too_little_memory_names_what_it_was_begun_with(source: zarr.Array, half: Any) -> None:
    store = half(max_memory="600 kB")
    before = dict(store)
    with pytest.raises(NodeExistsError, match=r"too large for max_memory.*max_memory=600000") as e:
        zarr.rechunk(source, store, chunks=(400, 8), max_memory="300 kB")
    assert e.value.options == (("max_memory", 600_000), ("resume", False))
    assert dict(store) == before
    assert zarr.rechunk(source, store, chunks=(400, 8), max_memory=600_000).resumed
    store = half(max_memory="600 kB")
    done = zarr.rechunk(source, store, chunks=(400, 8), max_memory="300 kB", overwrite=True)
    assert not done.resumed
    assert np.array_equal(zarr.open_array(store)[:], DATA)


def test_another_conversion_is_still_another_one(source: zarr.Array, half: Any) -> None:
    store = half(max_memory="300 kB")
    with pytest.raises(NodeExistsError, match="another conversion"):
        zarr.rechunk(source, store, chunks=(400, 4), max_memory="600 kB")


@pytest.mark.parametrize("memory", [0, -1, "many", 1.5, True])
def test_a_journal_with_no_such_memory_is_damaged(
    source: zarr.Array, half: Any, memory: Any
) -> None:
    store = half(max_memory="300 kB")
    found = json.loads(bytes(store[KEY]))
    found["facts"]["max_memory"] = memory
    store.set(KEY, json.dumps(found).encode())
    with pytest.raises(zarr.errors.MetadataError, match="journal is damaged"):
        zarr.rechunk(source, store, chunks=(400, 8), max_memory="600 kB")
    zarr.rechunk(source, store, chunks=(400, 8), max_memory="600 kB", overwrite=True)
    assert np.array_equal(zarr.open_array(store)[:], DATA)


@pytest.mark.parametrize("other", [(400, 8), (8, 8)])
def test_another_call_begins_at_the_same_time(
    source: zarr.Array, monkeypatch: pytest.MonkeyPatch, other: tuple[int, int]
) -> None:
    """Both have seen that nothing is there: chunks of two jobs must not be mixed."""
    store, check_free = zarr.MemoryStore(), destination.check_free

    def checked(*arguments: Any) -> None:
        check_free(*arguments)
        monkeypatch.setattr(destination, "check_free", check_free)
        late = FaultStore(store)
        late.fail("set", OSError("killed"), at=30)
        with pytest.raises(OSError, match="killed"):
            zarr.rechunk(source, late, chunks=other, workers=1)

    monkeypatch.setattr(destination, "check_free", checked)
    if other == (400, 8):
        assert zarr.rechunk(source, store, chunks=(400, 8)).resumed
        assert np.array_equal(zarr.open_array(store)[:], DATA)
    else:
        with pytest.raises(NodeExistsError, match="another conversion into this place"):
            zarr.rechunk(source, store, chunks=(400, 8))
