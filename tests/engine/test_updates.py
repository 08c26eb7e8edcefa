"""Read-modify-write on a store that has no locks but tells versions apart."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr.engine import locks, update
from omnizarr.errors import ConflictError
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Capabilities,
    Read,
    Store,
    Versioned,
    read_range,
)
from omnizarr.stores import LocalStore, MemoryStore, WrapperStore


class VersionedStore(MemoryStore):
    """Versions are counted. `meanwhile` is called between a read and the write that follows."""

    capabilities = Capabilities(conditional=True, versions=True)

    def __init__(self) -> None:
        super().__init__()
        self.versions: dict[str, int] = {}
        self.guard = threading.Lock()
        self.meanwhile: Callable[[], object] | None = None
        self.refused = 0

    @property
    def identity(self) -> Hashable:
        return object()  # no lock of this process helps: as if every thread were a process

    def set(self, key: str, value: Buffer) -> None:
        with self.guard:
            super().set(key, value)
            self.versions[key] = self.versions.get(key, 0) + 1

    def delete(self, key: str) -> None:
        with self.guard:
            super().delete(key)

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        with self.guard:
            value = self.get(key)
            version = self.versions.get(key)
        return None if value is None else Versioned(read_range(value, byte_range), version)

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        with self.guard:
            current = self.versions.get(key) if self.get(key) is not None else None
            if current != version:
                self.refused += 1
                return False
            super().set(key, value)
            self.versions[key] = self.versions.get(key, 0) + 1
            return True


def array(store: Store, **more: object) -> omnizarr.Array:
    return omnizarr.create_array(store, shape=(8,), chunks=(8,), dtype="i4", fill_value=0, **more)


def test_a_change_in_between_is_kept() -> None:
    store = VersionedStore()
    ours, theirs = array(store), omnizarr.open_array(store)
    theirs[4:] = 2
    store.meanwhile = lambda: theirs.__setitem__(slice(6, None), 3)
    ours[:4] = 1
    assert ours[:].tolist() == [1, 1, 1, 1, 2, 2, 3, 3]
    assert store.refused == 1


def test_a_chunk_that_appears_in_between_is_kept() -> None:
    store = VersionedStore()
    ours, theirs = array(store), omnizarr.open_array(store)
    store.meanwhile = lambda: theirs.__setitem__(slice(6, None), 3)
    ours[:4] = 1
    assert ours[:].tolist() == [1, 1, 1, 1, 0, 0, 3, 3]


def test_what_becomes_empty_is_stored_and_not_deleted() -> None:
    store = VersionedStore()
    ours, theirs = array(store), omnizarr.open_array(store)
    ours[:4] = 1
    store.meanwhile = lambda: theirs.__setitem__(slice(6, None), 3)
    ours[:4] = 0
    assert ours[:].tolist() == [0, 0, 0, 0, 0, 0, 3, 3]
    ours[6:7] = 0
    ours[7:] = 0
    assert ours[:].tolist() == [0] * 8
    assert store.exists("c/0"), "deleting has no condition, so another's change could be lost"


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_attributes_and_shapes(zarr_format: int) -> None:
    store = VersionedStore()
    ours = array(store, zarr_format=zarr_format)
    theirs = omnizarr.open_array(store)
    store.meanwhile = lambda: theirs.attrs.__setitem__("theirs", 2)
    ours.attrs["ours"] = 1
    assert dict(omnizarr.open_array(store).attrs) == {"theirs": 2, "ours": 1}
    store.meanwhile = lambda: theirs.append(np.arange(2))
    ours.append(np.arange(3))
    again = omnizarr.open_array(store)
    assert again.shape == (13,)
    assert dict(again.attrs) == {"theirs": 2, "ours": 1}


def test_threads_lose_nothing_of_a_shard() -> None:
    store = VersionedStore()
    omnizarr.create_array(store, shape=(64,), chunks=(8,), shards=(64,), dtype="i4", fill_value=-1)

    def work(worker: int) -> None:
        handle = omnizarr.open_array(store)
        for turn in range(25):
            handle[worker * 8 + turn % 8] = turn

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [16, 17, 18, 19, 20, 21, 22, 23]
    found = np.sort(omnizarr.open_array(store)[:].reshape(8, 8), axis=1)
    assert found.tolist() == [sorted([24, *expected[1:]])] * 8


def test_giving_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stubborn(WrapperStore):
        def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
            return False

    monkeypatch.setattr(locks, "PATIENCE", 0.05)
    store = Stubborn(VersionedStore())
    with pytest.raises(ConflictError, match="'k'"):
        update(store, "k", lambda held: held.set("k", b"1" if held.get("k") is None else b"2"))


def test_a_shard_that_is_always_replaced_is_read_whole() -> None:
    class Restless(VersionedStore):
        """A value is replaced after each read of a part of it."""

        capabilities = Capabilities(conditional=True, versions=True, requests=4)

        def snapshot(self, key: str) -> AbstractContextManager[Read]:
            return Store.snapshot(self, key)

        def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
            found = super().get_versioned(key, byte_range)
            if found is not None and byte_range is not None:
                self.versions[key] += 1
            return found

    store = Restless()
    made = omnizarr.create_array(store, shape=(64,), chunks=(8,), shards=(64,), dtype="i4")
    made[:] = np.arange(64)
    assert made[10:20].tolist() == list(range(10, 20))
    assert omnizarr.open_array(store, mode="r")[::16].tolist() == [0, 16, 32, 48]


def shrunk_while(store: VersionedStore, grow: Callable[[omnizarr.Array], object]) -> list[int]:
    """What is stored once an array of 16 was shrunk to 5, and grown as soon as that was seen."""
    ours = omnizarr.create_array(store, shape=(16,), chunks=(4,), dtype="i4", fill_value=0)
    ours[:] = np.arange(1, 17)
    theirs = omnizarr.open_array(store)
    # The shape is the first document that is written; the first chunk comes after it.
    store.meanwhile = lambda: setattr(store, "meanwhile", lambda: grow(theirs))
    ours.resize((5,))
    assert store.meanwhile is None
    found: list[int] = omnizarr.open_array(store)[:].tolist()
    return found


def test_shrinking_keeps_what_another_appends_meanwhile() -> None:
    def grow(theirs: omnizarr.Array) -> None:
        theirs.append([-1] * 5)

    assert shrunk_while(VersionedStore(), grow) == [1, 2, 3, 4, 5, -1, -1, -1, -1, -1]


def test_shrinking_forgets_what_another_does_not_take_back() -> None:
    store = VersionedStore()
    shrunk_while(store, lambda theirs: theirs.append([-1]))
    again = omnizarr.open_array(store)
    again.resize((16,))
    assert again[:].tolist() == [1, 2, 3, 4, 5, -1] + 10 * [0]


@pytest.mark.parametrize("shards", [None, (8,)])
def test_shrinking_replaces_where_deleting_has_no_condition(shards: tuple[int] | None) -> None:
    store = VersionedStore()
    ours = omnizarr.create_array(
        store, shape=(32,), chunks=(4,), shards=shards, dtype="i4", fill_value=7
    )
    ours[:] = np.arange(32)
    ours.resize((5,))
    ours.resize((32,))
    assert ours[:].tolist() == [0, 1, 2, 3, 4] + 27 * [7]
    assert store.exists("c/3")


@pytest.mark.parametrize("when", ["list", "get", "delete"])
@pytest.mark.parametrize("kind", ["memory", "local"])
def test_shrinking_beside_an_append_where_there_are_locks(
    kind: str, when: str, tmp_path: Path
) -> None:
    class Slow(WrapperStore):
        """Another writer appends when chunks are listed, or one is looked at or deleted."""

        def __init__(self, store: Store) -> None:
            super().__init__(store)
            self.grow: Callable[[], object] | None = None

        def meanwhile(self, step: str, key: str) -> None:
            if self.grow is not None and step == when and key.startswith("c/"):
                thread = threading.Thread(target=self.grow)
                self.grow = None
                thread.start()
                thread.join(0.5)  # it waits for the lock, if it needs the same one
                threads.append(thread)

        def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
            self.meanwhile("get", key)
            return self.store.get(key, byte_range)

        def delete(self, key: str) -> None:
            self.meanwhile("delete", key)
            self.store.delete(key)

        def list_prefix(self, prefix: str) -> Iterator[str]:
            found = list(self.store.list_prefix(prefix))
            self.meanwhile("list", "c/")
            return iter(found)

    threads: list[threading.Thread] = []
    store = Slow(LocalStore(tmp_path) if kind == "local" else MemoryStore())
    ours = omnizarr.create_array(store, shape=(16,), chunks=(4,), dtype="i4", fill_value=0)
    ours[:] = np.arange(1, 17)
    theirs = omnizarr.open_array(store.store)
    store.grow = lambda: theirs.append([-1] * 8)
    ours.resize((6,))
    for thread in threads:
        thread.join(10)
    assert len(threads) == 1
    again = omnizarr.open_array(store.store)
    assert again[:].tolist() == [1, 2, 3, 4, 5, 6] + 8 * [-1]
    again.resize((16,))
    assert again[14:].tolist() == [0, 0]
    if kind == "local":
        ours.resize((4,))
        assert sorted(store.list_prefix("c/")) == ["c/0"]


def test_shrinking_leaves_another_array_alone() -> None:
    store = VersionedStore()

    def replaced() -> None:
        made = omnizarr.create_array(store, shape=(32,), chunks=(8,), dtype="u1", overwrite=True)
        made[:] = 9

    shrunk = shrunk_while(store, lambda theirs: replaced())
    assert shrunk == 32 * [9]


@pytest.mark.slow
@pytest.mark.parametrize("shards", [None, (8,)])
@pytest.mark.parametrize("kind", ["versions", "local", "memory"])
def test_shrinking_and_appending_at_once(
    kind: str, shards: tuple[int] | None, tmp_path: Path
) -> None:
    kept = 0
    for turn in range(40):
        path = tmp_path / str(turn)
        store = {"versions": VersionedStore, "memory": MemoryStore}.get(kind, lambda: None)()
        made = omnizarr.create_array(
            store or LocalStore(path), shape=(16,), chunks=(4,), shards=shards, dtype="i4",
            fill_value=0,
        )  # fmt: skip
        made[:] = np.arange(1, 17)
        ours, theirs = (omnizarr.open_array(store or LocalStore(path)) for _ in range(2))
        start = threading.Barrier(2)

        def shrink(ours: omnizarr.Array = ours, start: threading.Barrier = start) -> None:
            start.wait(10)
            ours.resize((5,))

        thread = threading.Thread(target=shrink)
        thread.start()
        start.wait(10)
        time.sleep(turn % 8 * 0.0005)
        theirs.append([-1] * 9)
        thread.join()
        found = omnizarr.open_array(store or LocalStore(path))
        assert found.shape in ((5,), (14,))
        assert found[:5].tolist() == [1, 2, 3, 4, 5]
        assert found[5:].tolist() == [-1] * (found.shape[0] - 5)
        kept += found.shape == (14,)
    assert kept > 0, "the append never came second"


@pytest.mark.parametrize("shape", [(3, 18), (3, 5), (2, 16), (4, 20), (3, 25)])
def test_an_append_that_another_writer_cuts_off_at_once(shape: tuple[int, int]) -> None:
    class Cut(WrapperStore):
        """Another writer changes the shape as soon as it was changed."""

        other: Callable[[], object] | None = None

        def set(self, key: str, value: Buffer) -> None:
            self.store.set(key, value)
            other, self.other = self.other, None
            if other is not None:
                other()

    store = Cut(MemoryStore())
    ours = omnizarr.create_array(store, shape=(3, 16), chunks=(2, 4), dtype="i4", fill_value=0)
    ours[:] = 1
    store.other = lambda: omnizarr.open_array(store.store).resize(shape)
    ours.append(np.full((3, 9), 2), axis=1)
    expected = np.zeros((4, 25), "i4")
    expected[:3, :16], expected[:3, 16:] = 1, 2
    found = omnizarr.open_array(store)
    assert found.shape == shape
    assert (found[:] == expected[: shape[0], : shape[1]]).all()
    found.resize((4, 25))
    expected[shape[0] :] = expected[:, shape[1] :] = 0
    assert (found[:] == expected).all()
