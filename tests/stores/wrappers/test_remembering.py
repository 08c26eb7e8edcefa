"""A store that is asked for nothing twice, and what it saves when a node is created far away."""

from __future__ import annotations

import omnizarr
from omnizarr.model.store import ByteRange, Capabilities
from omnizarr.stores import MemoryStore
from omnizarr.stores.wrappers.base import RememberingStore
from omnizarr.testing import CountingStore


def far_away() -> CountingStore:
    store = CountingStore(MemoryStore())
    store.capabilities = Capabilities(requests=16)
    return store


def test_every_value_is_asked_for_once() -> None:
    counting = CountingStore(MemoryStore())
    counting.set("a", b"abc")
    held = RememberingStore(counting)
    assert held.get_many([("a", None), ("b", None), ("a", None)]) == [b"abc", None, b"abc"]
    assert held.get("b") is None
    assert held.get("a", ByteRange(1)) == b"bc"
    assert held.get("a", ByteRange(1)) == b"bc"
    assert counting.asked["get"] == ["a", "b", "a"]
    assert repr(held) == repr(counting)


def test_opening_takes_one_request() -> None:
    store = far_away()
    omnizarr.create_group(store).create_array("a", shape=3, dtype="i4")
    for opening in (
        lambda: omnizarr.open(store, "r"),
        lambda: omnizarr.open_group(store, "r"),
        lambda: omnizarr.open(store, "r", path="a"),
        lambda: omnizarr.open_array(store, "r", path="a"),
    ):
        store.reset()
        opening()
        assert store.counts == {"get": 1}


def test_members_of_format_2_are_looked_for_in_format_2_first() -> None:
    store = far_away()
    omnizarr.create_group(store, zarr_format=2).create_array("a", shape=3, dtype="i4")
    root = omnizarr.open_group(store, "r", zarr_format=2)
    store.reset()
    assert root["a"].shape == (3,)
    assert sorted(store.asked["get"]) == ["a/.zarray", "a/.zattrs", "a/.zgroup"]


def test_creating_asks_for_no_document_twice() -> None:
    store = far_away()
    root = omnizarr.create_group(store)
    store.reset()
    root.create_array("a/b", shape=3, dtype="i4")
    asked = store.asked["get"]
    assert len(asked) == len(set(asked))
    assert store.asked["set_if_absent"] == ["a/zarr.json", "a/b/zarr.json"]


def test_a_consolidated_group_that_cannot_be_listed_takes_one_request() -> None:
    store = far_away()
    omnizarr.create_group(store).create_array("a", shape=3, dtype="i4")
    omnizarr.consolidate_metadata(store)
    store.capabilities = Capabilities(requests=16, listable=False)
    store.reset()
    root = omnizarr.open_group(store, "r")
    assert list(root) == ["a"]
    assert store.counts == {"get": 1}
