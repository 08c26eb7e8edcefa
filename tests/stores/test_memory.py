"""MemoryStore."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from omnizarr.stores import DictStore, MappingStore, MemoryStore
from omnizarr.testing import StoreSuite


class TestMemoryStore(StoreSuite):
    def make_store(self, folder: Path) -> MemoryStore:
        return MemoryStore()

    def as_read_only(self, store: MemoryStore) -> MemoryStore:
        return MemoryStore(store._values, read_only=True)


def test_a_given_dict_is_used_in_place() -> None:
    values: dict[str, bytes] = {"a": b"1"}
    store = MemoryStore(values)
    store.set("b", bytearray(b"2"))
    assert values == {"a": b"1", "b": b"2"}
    assert type(values["b"]) is bytes
    assert store == MemoryStore(values) != MemoryStore(dict(values))
    assert store.identity == MappingStore(values).identity


def test_a_pickled_store_is_a_copy() -> None:
    store = MemoryStore(dimension_separator="/")
    store.set("a", b"1")
    copy = pickle.loads(pickle.dumps(store))
    store.set("a", b"2")
    copy.set("b", b"3")
    assert (copy.get("a"), store.get("b")) == (b"1", None)
    assert copy.dimension_separator == "/"
    assert copy != store


def test_other_mappings_are_refused() -> None:
    with pytest.raises(TypeError, match="MappingStore"):
        MemoryStore(mapping=[("a", b"1")])  # type: ignore[arg-type]
    assert DictStore is MemoryStore


def test_clear() -> None:
    store = MemoryStore({"a": b"1"})
    store.clear()
    assert list(store.list()) == []
