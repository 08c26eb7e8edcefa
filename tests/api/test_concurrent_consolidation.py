"""Consolidating metadata while others change the group: nothing of theirs is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import omnizarr
from omnizarr.errors import MetadataError
from omnizarr.model.store import Buffer, ByteRange, Store
from omnizarr.stores import LocalStore, MemoryStore, ObjectStore, SQLiteStore, WrapperStore


class Overtaken(WrapperStore):
    """Another process acts once, when the document of a member is read."""

    def __init__(self, store: Store, member: str, other: Callable[[Store], object]) -> None:
        super().__init__(store)
        self._member = member
        self._other: Callable[[Store], object] | None = other

    def _look(self, key: str) -> None:
        if key.startswith(self._member + "/") and self._other is not None:
            other, self._other = self._other, None
            other(self.store)

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        self._look(key)
        return self.store.get(key, byte_range)

    def get_many(self, requests: Any) -> list[Buffer | None]:
        for key, _ in requests:
            self._look(key)
        return self.store.get_many(requests)


def stored(store: Store, key: str) -> Any:
    value = store.get(key)
    assert value is not None
    return json.loads(bytes(value))


def hierarchy(store: Store, path: str, zarr_format: Any) -> None:
    group = omnizarr.create_group(
        store, path=path, zarr_format=zarr_format, attributes={"first": 1}
    )
    group.create_array("a", shape=(3,), dtype="i4")


@pytest.mark.parametrize("path", ["", "deep/er"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_attribute_that_is_set_meanwhile(zarr_format: int, path: str) -> None:
    inner = MemoryStore()
    hierarchy(inner, path, zarr_format)

    def set_attribute(store: Store) -> None:
        omnizarr.open_group(store, path=path, mode="r+").attrs["second"] = 2

    store = Overtaken(inner, f"{path}/a" if path else "a", set_attribute)
    group = omnizarr.consolidate_metadata(store, path)
    assert store._other is None
    assert list(group) == ["a"]
    plain = omnizarr.open_group(inner, path=path, mode="r", use_consolidated=False)
    assert dict(plain.attrs) == {"first": 1, "second": 2}
    assert list(omnizarr.open_consolidated(inner, path=path)) == ["a"]


def test_all_else_of_the_document_stays() -> None:
    inner = MemoryStore()
    hierarchy(inner, "", 3)
    foreign = {"must_understand": False, "name": "foreign"}

    def add_member(store: Store) -> None:
        store.set(
            "zarr.json", json.dumps({**stored(store, "zarr.json"), "foreign": foreign}).encode()
        )

    before = stored(inner, "zarr.json")
    omnizarr.consolidate_metadata(Overtaken(inner, "a", add_member))
    after = stored(inner, "zarr.json")
    assert list(after.pop("consolidated_metadata")["metadata"]) == ["a"]
    assert after == {**before, "foreign": foreign}


def test_a_group_that_is_gone_meanwhile_does_not_come_back() -> None:
    inner = MemoryStore()
    hierarchy(inner, "", 3)
    store = Overtaken(inner, "a", lambda store: store.delete_prefix(""))
    with pytest.raises(MetadataError, match="no group of format 3 here to consolidate"):
        omnizarr.consolidate_metadata(store)
    assert list(inner.list()) == []


@pytest.mark.parametrize("kind", ["local", "sqlite", "memory", "object"])
def test_many_threads(tmp_path: Path, kind: str) -> None:
    """With locks, with locks of a database, with none, and with versions."""
    shared: Any = None
    if kind == "memory":
        shared = MemoryStore()
    elif kind == "object":
        shared = import_module("obstore.store").MemoryStore()

    def opened() -> Store:
        if kind == "local":
            return LocalStore(tmp_path / "a.zarr")
        if kind == "sqlite":
            return SQLiteStore(tmp_path / "a.sqlite")
        return shared if kind == "memory" else ObjectStore(shared)

    with opened() as store:
        group = omnizarr.create_group(store)
        for index in range(8):
            group.create_array(f"a{index}", shape=(3,), dtype="i4")
        failed: list[BaseException] = []

        def set_attributes() -> None:
            try:
                with opened() as mine:
                    for index in range(25):
                        omnizarr.open_group(mine, mode="r+").attrs[f"k{index}"] = index
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=set_attributes)
        thread.start()
        while thread.is_alive():
            omnizarr.consolidate_metadata(store)
        thread.join()
        assert not failed
        found = omnizarr.open_group(store, mode="r", use_consolidated=False)
        assert dict(found.attrs) == {f"k{index}": index for index in range(25)}
