"""One store over another."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import InvalidKeyError, NotListableError, ReadOnlyError, StoreError
from omnizarr.model.store import Capabilities
from omnizarr.stores import (
    ByteRange,
    Listing,
    LocalStore,
    MemoryStore,
    OverlayStore,
    ReadOnlyStore,
    Store,
    WrapperStore,
)
from omnizarr.stores.wrappers.overlay import MARKS
from omnizarr.testing import CountingStore, StoreSuite
from omnizarr.testing.store_cases import some

pytestmark = pytest.mark.slow


class TestOverNothing(StoreSuite):
    def make_store(self, folder: Path) -> Store:
        return OverlayStore(MemoryStore(), ReadOnlyStore(MemoryStore()))


class TestLocalOverLocal(StoreSuite):
    many_keys = 1000

    def make_store(self, folder: Path) -> Store:
        return OverlayStore(
            LocalStore(folder / "upper"), LocalStore(folder / "lower", read_only=True)
        )

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, OverlayStore)
        assert isinstance(store.upper, LocalStore) and isinstance(store.lower, LocalStore)
        return OverlayStore(LocalStore(store.upper.path), store.lower)


class TestOverValues(StoreSuite):
    """Everything that the suite writes has a value of the same key below it, deleted before."""

    many_keys = 1000

    def make_store(self, folder: Path) -> Store:
        lower = MemoryStore({"a": b"old", "a/b": b"old", "k": b"old", "x/y": b"old", "n": b""})
        store = OverlayStore(MemoryStore(), lower)
        store.delete_prefix("")
        return store

    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        items = list(values.items())
        lower = MemoryStore({**dict(items[::2]), "gone": b"1", "gone/too": b"2"})
        store = OverlayStore(MemoryStore(), ReadOnlyStore(lower))
        store.delete("gone")
        store.delete_prefix("gone/")
        for key, value in items[1::2]:
            store.set(key, value)
        return store


def both() -> tuple[OverlayStore, MemoryStore, MemoryStore]:
    upper, lower = MemoryStore(), MemoryStore({"a/x": b"1", "a/y": b"22", "b": b"333"})
    return OverlayStore(upper, lower), upper, lower


def test_the_lower_store_stays_as_it_was() -> None:
    store, _, lower = both()
    before = dict(lower.items())
    store.set("a/x", b"new")
    store.set("c", b"new")
    store.delete("b")
    store.move_prefix("a/", "m/n/")
    store.delete_prefix("m/n/")
    assert store.set_if_absent("b", b"again")
    assert {key: some(store.get(key)) for key in store.list()} == {"b": b"again", "c": b"new"}
    assert dict(lower.items()) == before


def test_what_is_deleted_stays_deleted(tmp_path: Path) -> None:
    long = "/".join(["long" * 20] * 12)
    lower = MemoryStore({"a": b"1", long: b"2", "p/q/r": b"3", "p/s": b"4"})
    store: Store = OverlayStore(LocalStore(tmp_path), lower)
    for key in ("a", long, "p/q/r"):
        store.delete(key)
        store.delete(key)
    store = OverlayStore(LocalStore(tmp_path), lower)
    for key in ("a", long, "p/q/r"):
        assert store.get(key) is None
        assert store.size(key) is None
        assert not store.exists(key)
    assert list(store.list()) == ["p/s"]
    assert store.list_dir("") == Listing([], ["p/"])
    assert store.list_dir("p/") == Listing(["p/s"], [])
    store.delete("p/s")
    assert store.list_dir("") == ([], [])
    store.set("a", b"back")
    assert list(store.list()) == ["a"]


def test_a_prefix_takes_one_mark() -> None:
    upper, lower = MemoryStore(), MemoryStore({f"a/{i}": b"" for i in range(1000)})
    store = OverlayStore(upper, lower)
    store.delete_prefix("a/")
    assert list(store.list()) == []
    assert len(list(upper.list())) == 1
    store.set("a/5", b"new")
    assert list(store.list_prefix("a/")) == ["a/5"]
    assert store.list_dir("a/") == (["a/5"], [])
    with store.snapshot("a/6") as read:
        assert read(None) is None


def test_marks_are_no_keys() -> None:
    store, upper, _ = both()
    store.delete("b")
    mark = next(iter(upper.list_prefix(MARKS)))
    for key in (mark, MARKS + "x", MARKS[:-1]):
        for call in (store.get, store.delete, store.exists, store.lock):
            with pytest.raises(InvalidKeyError, match="reserves"):
                call(key)
        with pytest.raises(InvalidKeyError):
            store.set(key, b"")
    with pytest.raises(InvalidKeyError):
        store.list_dir(MARKS)
    upper.set(MARKS + "k!!", b"")
    upper.set(MARKS + "other", b"")
    assert list(store.list()) == ["a/x", "a/y"]


def test_a_batch_asks_each_store_once() -> None:
    upper, lower = CountingStore(MemoryStore({"a": b"1"})), CountingStore(MemoryStore({"b": b"2"}))
    calls: list[int] = []
    upper.get_many = lambda requests: calls.append(1) or MemoryStore.get_many(upper.store, requests)  # type: ignore[assignment, func-returns-value, arg-type, method-assign]
    store = OverlayStore(upper, lower)
    assert store.get_many([("a", None), ("b", None), ("c", None)]) == [b"1", b"2", None]
    assert len(calls) == 2
    assert lower.asked["get"] == ["b", "c"]


_versions = threading.Lock()


class Versions(MemoryStore):
    """A store with versions: the values themselves."""

    capabilities = Capabilities(versions=True, conditional=True)

    def get_versioned(self, key: str, byte_range: ByteRange | None = None):  # type: ignore[no-untyped-def]
        from omnizarr.stores import Versioned

        value = self.get(key)
        if value is None:
            return None
        start, stop = byte_range or (0, None)
        return Versioned(value[start:stop], ("value", bytes(value)))

    def set_if_version(self, key: str, value: bytes, version: object) -> bool:  # type: ignore[override]
        with _versions:
            now = self.get_versioned(key)
            if (now and now.version) != version:
                return False
            self.set(key, value)
            return True


class TestVersions(StoreSuite):
    many_keys = 500

    def make_store(self, folder: Path) -> Store:
        store = OverlayStore(Versions(), MemoryStore({"k": b"old", "n": b"old"}))
        store.delete_prefix("")
        return store


@pytest.mark.parametrize("lower", [MemoryStore({"k": b"below"}), Versions({"k": b"below"})])
def test_versions_of_what_lies_below(lower: Store) -> None:
    store = OverlayStore(Versions(), lower)
    assert not store.set_if_version("k", b"x", None), "there is a value"
    found = store.get_versioned("k", ByteRange(-2))
    assert found is not None and some(found.value) == b"ow"
    assert store.version("k") == found.version
    assert store.set_if_version("k", b"above", found.version)
    assert not store.set_if_version("k", b"late", found.version)
    assert some(store.get("k")) == b"above"
    store.delete("k")
    assert store.get_versioned("k") is None
    assert not store.set_if_version("k", b"late", found.version)
    assert store.set_if_version("k", b"new", None)
    assert some(lower.get("k")) == b"below"


def test_the_lower_store_changes_its_version() -> None:
    lower = MemoryStore({"k": b"1"})
    store = OverlayStore(Versions(), lower)
    before = store.version("k")
    lower.set("k", b"2")
    assert store.version("k") != before
    assert not store.set_if_version("k", b"3", before)


def test_arrays_over_a_read_only_store(tmp_path: Path) -> None:
    data = np.arange(100).reshape(10, 10)
    plain = LocalStore(tmp_path / "lower")
    omnizarr.create_array(plain, shape=(10, 10), chunks=(5, 5), dtype=data.dtype)[...] = data
    before = dict(plain.items())
    store = OverlayStore(LocalStore(tmp_path / "upper"), LocalStore(plain.path, read_only=True))
    array = omnizarr.open_array(store, mode="r+")
    array[2:4, 2:8] = -1
    array[5:, 5:] = 0
    expected = data.copy()
    expected[2:4, 2:8] = -1
    expected[5:, 5:] = 0
    np.testing.assert_array_equal(omnizarr.open_array(store, mode="r")[...], expected)
    np.testing.assert_array_equal(omnizarr.open_array(plain, mode="r")[...], data)
    assert dict(plain.items()) == before


def test_failures_are_not_missing_keys() -> None:
    from omnizarr.testing import FaultStore

    for faulty_upper in (True, False):
        faulty = FaultStore(MemoryStore())
        faulty.fail("*", StoreError("down"), times=None)
        stores = (faulty, MemoryStore()) if faulty_upper else (MemoryStore(), faulty)
        store = OverlayStore(*stores)
        for call in (store.get, store.exists, store.size):
            with pytest.raises(StoreError, match="down"):
                call("k")


def test_closing_and_equality() -> None:
    closed: list[str] = []

    class Closing(WrapperStore):
        def close(self) -> None:
            closed.append(repr(self.store))
            raise StoreError("closing failed")

    upper, lower = MemoryStore(), MemoryStore({"a": b""})
    with pytest.raises(StoreError):
        OverlayStore(Closing(upper), Closing(lower)).close()
    assert len(closed) == 2
    assert OverlayStore(upper, lower) == OverlayStore(upper, lower)
    assert OverlayStore(upper, lower) != OverlayStore(upper, MemoryStore())
    assert OverlayStore(upper, lower).locate("a") == upper.locate("a")
    assert OverlayStore(ReadOnlyStore(upper), lower).read_only
    with pytest.raises(ReadOnlyError):
        OverlayStore(ReadOnlyStore(upper), lower).delete_prefix("")
    with pytest.raises(TypeError):
        OverlayStore(upper, 1)


class Unlistable(WrapperStore):
    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.capabilities = Capabilities(listable=False)

    def list_prefix(self, prefix: str):  # type: ignore[no-untyped-def]
        raise NotListableError("cannot list")

    def list_dir(self, prefix: str) -> Listing:
        raise NotListableError("cannot list")


def test_over_a_store_that_cannot_list() -> None:
    store = OverlayStore(MemoryStore(), Unlistable(MemoryStore({"a/b": b"1", "a/c": b"2"})))
    assert not store.capabilities.listable
    with pytest.raises(NotListableError):
        list(store.list())
    store.delete("a/b")
    assert store.get("a/b") is None
    store.delete_prefix("a/")
    assert store.get("a/c") is None


def test_a_delete_waits_for_an_update_that_rests_on_the_lower_store(tmp_path: Path) -> None:
    lower = MemoryStore({"k": b"old"})
    store = OverlayStore(LocalStore(tmp_path), ReadOnlyStore(lower))
    other = OverlayStore(LocalStore(tmp_path), ReadOnlyStore(lower))
    thread = threading.Thread(target=other.delete, args=("k",))
    with store.lock("k"):
        value = some(store.get("k"))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        assert some(store.get("k")) == b"old"
        store.set("k", value + b", changed")
    thread.join()
    assert store.get("k") is None
    with store.lock("k"):
        store.delete("k")  # does not wait for itself
        assert store.get("k") is None


def test_an_update_that_a_delete_overtakes_begins_anew(tmp_path: Path) -> None:
    from omnizarr.stores import SQLiteStore

    upper = SQLiteStore(tmp_path / "upper.sqlite")
    lower = ReadOnlyStore(MemoryStore({"k": b"old"}))
    plain = OverlayStore(upper, lower)

    class Overtaken(WrapperStore):
        def set_if_version(self, key: str, value: Any, version: Any) -> bool:
            plain.delete(key)
            return super().set_if_version(key, value, version)

    with plain:
        store = OverlayStore(Overtaken(upper), lower)
        found = store.get_versioned("k")
        assert found is not None
        assert not store.set_if_version("k", b"old, changed", found.version)
        assert plain.get("k") is None


def test_paths_and_urls_are_stores(tmp_path: Path) -> None:
    (tmp_path / "lower").mkdir()
    (tmp_path / "lower" / "k").write_bytes(b"old")
    store = OverlayStore(tmp_path / "upper", str(tmp_path / "lower"))
    assert some(store.get("k")) == b"old"
    store.set("k", b"new")
    assert (tmp_path / "upper" / "k").read_bytes() == b"new"
    assert store.lower.read_only
    with pytest.raises(TypeError):
        OverlayStore(1, store)
