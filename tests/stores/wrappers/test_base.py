"""Wrappers keep every rule of the store inside, and change one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnizarr.errors import InvalidKeyError, StoreError
from omnizarr.stores import (
    LocalStore,
    MemoryStore,
    NestedDirectoryStore,
    PrefixStore,
    ReadOnlyStore,
    Store,
    WrapperStore,
)
from omnizarr.testing import StoreSuite


@pytest.mark.slow
class TestWrapperStore(StoreSuite):
    def make_store(self, folder: Path) -> Store:
        return WrapperStore(LocalStore(folder / "x"))


class TestPrefixOfMemory(StoreSuite):
    def make_store(self, folder: Path) -> Store:
        return PrefixStore(MemoryStore(), "a/b")


@pytest.mark.slow
class TestPrefixOfLocal(StoreSuite):
    def make_store(self, folder: Path) -> Store:
        inner = LocalStore(folder / "x")
        inner.set("pq/out", b"outside")
        inner.set("p.out", b"outside")
        return PrefixStore(inner, "p/q/")


def test_a_prefix_sees_and_touches_only_what_lies_below_it() -> None:
    inner = MemoryStore({"a/x": b"1", "a/y/z": b"2", "ab": b"3", "b": b"4"})
    store = PrefixStore(inner, "a")
    assert list(store.list()) == ["x", "y/z"]
    assert store.list_dir("") == (["x"], ["y/"])
    assert store.get_many([("x", None), ("y/z", None), ("b", None)]) == [b"1", b"2", None]
    store.set("new", b"5")
    store.delete("x")
    assert sorted(inner.list()) == ["a/new", "a/y/z", "ab", "b"]
    store.delete_prefix("")
    assert list(inner.list()) == ["ab", "b"]
    with pytest.raises(StoreError):
        store.move_prefix("", "c/")


def test_a_prefix_cannot_climb() -> None:
    inner = MemoryStore({"secret": b"1"})
    for prefix in ("..", "a/../..", "a/."):
        with pytest.raises(InvalidKeyError):
            PrefixStore(inner, prefix)
    with pytest.raises(InvalidKeyError):
        PrefixStore(inner, "a").get("../secret")


def test_one_value_has_one_name_through_all_wrappers(tmp_path: Path) -> None:
    inner = LocalStore(tmp_path)
    outer = ReadOnlyStore(PrefixStore(PrefixStore(inner, "a"), "b"))
    assert outer.locate("c") == inner.locate("a/b/c")
    assert PrefixStore(inner, "a") == PrefixStore(LocalStore(tmp_path), "a/")
    assert PrefixStore(inner, "a") != PrefixStore(inner, "b")


def test_what_the_store_inside_says_is_passed_on(tmp_path: Path) -> None:
    inner = NestedDirectoryStore(tmp_path)
    for wrapper in (WrapperStore(inner), ReadOnlyStore(inner), PrefixStore(inner, "a")):
        assert wrapper.dimension_separator == "/"
        assert wrapper.capabilities == inner.capabilities
    assert PrefixStore(ReadOnlyStore(inner), "a").read_only
    with pytest.raises(TypeError):
        WrapperStore({})  # type: ignore[arg-type]


def test_a_read_only_store_locks_without_writing(tmp_path: Path) -> None:
    with ReadOnlyStore(LocalStore(tmp_path / "x")).lock("a/b"):
        assert not (tmp_path / "x").exists()
