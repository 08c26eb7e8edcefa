"""Faults that were found by looking for lost updates, mixed versions and misplaced writes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ReadOnlyError, StoreError, ValueChangedError
from omnizarr.model.store import ByteRange
from omnizarr.stores import (
    CacheStore,
    LocalStore,
    MappingStore,
    MemoryStore,
    OverlayStore,
    ReadOnlyStore,
)
from omnizarr.testing import FaultStore
from tests.engine.test_updates import VersionedStore


# -- updates --------------------------------------------------------------------------------------
def test_fill_values_written_to_a_missing_chunk_delete_nothing() -> None:
    store = VersionedStore()
    array = omnizarr.create_array(store, shape=4, chunks=4, dtype="i4", fill_value=0)
    deleted: list[str] = []
    store.delete = deleted.append  # type: ignore[method-assign]
    array[0] = 0
    assert deleted == [], "another's new chunk would have gone with it"


@pytest.mark.parametrize("kind", ["local", "versions"])
def test_appending_leaves_the_attributes_of_others_alone(kind: str, tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "x") if kind == "local" else VersionedStore()
    omnizarr.create_array(store, shape=0, chunks=4, dtype="i4", zarr_format=2)
    stop = threading.Event()

    def append() -> None:
        array = omnizarr.open_array(store, mode="r+")
        while not stop.is_set():
            array.append(np.arange(1))

    thread = threading.Thread(target=append)
    thread.start()
    try:
        handle = omnizarr.open_array(store, mode="r+")
        for number in range(60):
            handle.attrs[f"n{number}"] = number
    finally:
        stop.set()
        thread.join()
    again = omnizarr.open_array(store, mode="r")
    assert dict(again.attrs) == {f"n{number}": number for number in range(60)}
    assert not again[:].any()


def test_a_conflict_in_the_attributes_does_not_append_twice() -> None:
    store = VersionedStore()
    ours = omnizarr.create_array(store, shape=2, chunks=2, dtype="i4", zarr_format=2)
    theirs = omnizarr.open_array(store, mode="r+")
    store.meanwhile = lambda: theirs.attrs.__setitem__("theirs", 1)
    ours.append(np.array([7, 8, 9]))
    again = omnizarr.open_array(store, mode="r")
    assert again[:].tolist() == [0, 0, 7, 8, 9]
    assert dict(again.attrs) == {"theirs": 1}


def test_a_chunk_that_is_deleted_waits_for_those_who_change_it(tmp_path: Path) -> None:
    for store in (
        LocalStore(tmp_path / "a"),
        OverlayStore(LocalStore(tmp_path / "b"), MemoryStore()),
    ):
        array = omnizarr.create_array(store, shape=4, chunks=4, dtype="i4", fill_value=0)
        array[:] = 1
        with store.lock("c/0"):
            thread = threading.Thread(target=array.__setitem__, args=(slice(None), 0))
            thread.start()
            thread.join(0.2)
            assert thread.is_alive(), "the chunk was deleted although its lock was held"
        thread.join(10)
        assert not thread.is_alive()
        assert array[:].tolist() == [0, 0, 0, 0]


def test_an_update_reads_nothing_outdated_from_a_cache() -> None:
    values: dict[str, bytes] = {}
    cache = CacheStore(MappingStore(values), validate="age", max_age=1000)
    ours = omnizarr.create_array(cache, shape=4, chunks=4, dtype="i4", fill_value=0)
    ours[:2] = 1
    assert ours[:].tolist() == [1, 1, 0, 0]
    theirs = omnizarr.open_array(MappingStore(values), mode="r+")
    theirs[3] = 5
    theirs.attrs["theirs"] = 1
    ours[0] = 2
    ours.attrs["ours"] = 2
    assert theirs[:].tolist() == [2, 1, 0, 5]
    assert dict(omnizarr.open_array(MappingStore(values), mode="r").attrs) == {
        "theirs": 1,
        "ours": 2,
    }


# -- one version of a shard -----------------------------------------------------------------------
def test_parts_of_a_value_are_of_one_version() -> None:
    store = VersionedStore()
    store.set("k", b"0123456789")
    with store_snapshot(store) as read:
        assert read(ByteRange(-2)) == b"89"
        store.set("k", b"abcdefghij")
        with pytest.raises(ValueChangedError):
            read(ByteRange(0, 2))
    mapping = MappingStore({"k": b"0123456789"})
    with mapping.snapshot("k") as read:
        mapping.set("k", b"abcdefghij")
        assert read(ByteRange(0, 2)) == b"01"


def store_snapshot(store: VersionedStore) -> Any:
    """What a store with versions has, unless it keeps snapshots of its own as memory does."""
    return super(MemoryStore, store).snapshot("k")


# -- where things are written ---------------------------------------------------------------------
@pytest.mark.parametrize("name", ["x.sqlite", "x.lmdb", "x.dbm", "x.zip"])
def test_a_path_may_lead_into_a_database(name: str, tmp_path: Path) -> None:
    place = tmp_path / name
    omnizarr.save_group(str(place), a=np.arange(3))
    before = sorted(path.name for path in tmp_path.iterdir())
    for mode in ("w", "a"):
        inner = omnizarr.open_array(f"{place}/sub/b", mode=mode, shape=2, dtype="i4")
        inner[:] = 7
        inner.store.close()
    with pytest.raises(omnizarr.errors.NodeNotFoundError):
        omnizarr.open_array(f"{place}/nothing", mode="r")
    assert omnizarr.open_array(f"{place}/sub/b", mode="r")[:].tolist() == [7, 7]
    assert omnizarr.open_array(f"{place}/a", mode="r")[:].tolist() == [0, 1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_options_reach_the_store_or_are_refused(tmp_path: Path) -> None:
    source, table = tmp_path / "x.sqlite", {"table": "other"}
    omnizarr.save_array(str(source), [1, 2, 3], storage_options=table)
    assert omnizarr.check(str(source), storage_options=table).ok
    with pytest.raises(omnizarr.errors.NodeNotFoundError):
        omnizarr.check(str(source))
    omnizarr.copy_store(str(source), "memory://hostile-options", storage_options=table)
    assert omnizarr.open_array("memory://hostile-options", mode="r")[1] == 2
    target = tmp_path / "y.sqlite"
    omnizarr.convert(
        str(source), str(target), zarr_format=2, storage_options=table, destination_options=table
    )
    assert omnizarr.open_array(str(target), mode="r", storage_options=table)[2] == 3
    group = tmp_path / "g.sqlite"
    omnizarr.create_group(str(group), storage_options=table).store.close()
    omnizarr.consolidate_metadata(str(group), storage_options=table).store.close()
    with pytest.raises(TypeError):
        omnizarr.consolidate_metadata(str(group), storage_option=table)  # type: ignore[call-arg]


def test_what_can_only_be_read_does_not_advise_another_mode() -> None:
    store = MemoryStore()
    omnizarr.create_array(store, shape=2, dtype="i4")
    array = omnizarr.open_array(ReadOnlyStore(store))
    for change in (lambda: array.__setitem__(0, 1), lambda: array.attrs.update(a=1)):
        with pytest.raises(ReadOnlyError, match="can only be read"):
            change()


def test_a_fault_in_a_batch_of_waiting_requests_is_raised() -> None:
    from omnizarr.testing import LatencyStore

    inner = FaultStore(MemoryStore())
    store = LatencyStore(inner, seconds=0.001)
    array = omnizarr.create_array(store, shape=100, chunks=1, dtype="i4")
    array[:] = 1
    inner.fail("get", StoreError("reset"), key="c/50")
    with pytest.raises(StoreError, match="reset"):
        array[:]
    inner.fail("set", StoreError("full"), key="c/70")
    with pytest.raises(StoreError, match="full"):
        array[:] = 2
    inner.heal()
    array[:] = 3
    assert (array[:] == 3).all()


def test_credentials_do_not_go_where_a_reference_file_wants_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_TOKEN", "secret")
    store = omnizarr.stores.ReferenceStore({"a": ["abfss://c@127.0.0.1:9/file", 0, 5]})
    with pytest.raises(StoreError, match="is not a host of Azure"):
        store.get("a")
