"""Read-modify-write on a store that has no locks but tells versions apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager

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
from omnizarr.stores import MemoryStore, WrapperStore


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
        """Whoever reads part of a value finds it replaced at the next look."""

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
