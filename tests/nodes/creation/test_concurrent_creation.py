"""Two who create a node at one path at once: one of them is told that the place is taken."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import formats
from omnizarr.errors import (
    ContainsArrayError,
    ContainsGroupError,
    IgnoredArgumentWarning,
    NodeExistsError,
)
from omnizarr.model.store import Buffer, ByteRange, Store
from omnizarr.stores import LocalStore, MappingStore, MemoryStore, WrapperStore

ALL = [known.name for known in formats.every_format()]
WITH_GROUPS = [name for name in ALL if name not in (0, 1)]


class Overtaken(WrapperStore):
    """Another process acts once, just before the first value is written."""

    def __init__(self, store: Store, other: Callable[[Store], object]) -> None:
        super().__init__(store)
        self._other: Callable[[Store], object] | None = other

    def _meanwhile(self) -> None:
        other, self._other = self._other, None
        if other is not None:
            other(self.store)

    def set(self, key: str, value: Buffer) -> None:
        self._meanwhile()
        self.store.set(key, value)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self._meanwhile()
        return self.store.set_if_absent(key, value)

    def delete(self, key: str) -> None:
        self._meanwhile()
        self.store.delete(key)


def theirs(store: Store, path: str, zarr_format: Any) -> None:
    attributes = {"whose": "theirs"}
    array = omnizarr.create_array(
        store, name=path, data=np.arange(6), chunks=(3,), zarr_format=zarr_format,
        attributes=attributes,
    )  # fmt: skip
    assert array[:].tolist() == list(range(6))


@pytest.mark.parametrize("attributes", [{}, {"whose": "ours"}])
@pytest.mark.parametrize("path", ["", "a"])
@pytest.mark.parametrize("zarr_format", ALL)
def test_of_two_arrays_one_is_made(zarr_format: Any, path: str, attributes: dict[str, str]) -> None:
    store = Overtaken(MemoryStore(), lambda store: theirs(store, path, zarr_format))
    with pytest.raises(ContainsArrayError, match="already there"):
        omnizarr.create_array(
            store, name=path, shape=(9,), dtype="u1", zarr_format=zarr_format, attributes=attributes
        )
    found = omnizarr.open_array(store, path=path, mode="r")
    assert found[:].tolist() == list(range(6))
    assert dict(found.attrs) == {"whose": "theirs"}


@pytest.mark.parametrize("path", ["", "a"])
@pytest.mark.parametrize("zarr_format", WITH_GROUPS)
def test_of_two_groups_one_is_made(zarr_format: Any, path: str) -> None:
    def make(store: Store, whose: str) -> omnizarr.Group:
        return omnizarr.create_group(
            store, path=path, zarr_format=zarr_format, attributes={"whose": whose}
        )

    store = Overtaken(MemoryStore(), lambda store: make(store, "theirs"))
    with pytest.raises(ContainsGroupError, match="already there"):
        make(store, "ours")
    assert dict(omnizarr.open_group(store, path=path, mode="r").attrs) == {"whose": "theirs"}


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_group_above_that_appears_is_kept(zarr_format: int) -> None:
    def group_above(store: Store) -> None:
        omnizarr.create_group(
            store, path="g", zarr_format=zarr_format, attributes={"whose": "theirs"}
        )

    store = Overtaken(MemoryStore(), group_above)
    omnizarr.create_array(store, name="g/a", shape=(2,), dtype="u1", zarr_format=zarr_format)
    assert dict(omnizarr.open_group(store, path="g").attrs) == {"whose": "theirs"}
    assert omnizarr.open_array(store, path="g/a").shape == (2,)


def test_an_array_above_that_appears_is_kept() -> None:
    store = Overtaken(MemoryStore(), lambda store: theirs(store, "g", 3))
    with pytest.raises(ContainsArrayError, match="below the array at '/g'"):
        omnizarr.create_array(store, name="g/a", shape=(2,), dtype="u1")
    assert omnizarr.open_array(store, path="g")[:].tolist() == list(range(6))


def test_what_may_exist_is_opened() -> None:
    def overtaken(path: str) -> Overtaken:
        return Overtaken(MemoryStore(), lambda store: theirs(store, path, 3))

    def group(store: Store) -> None:
        omnizarr.create_group(store, attributes={"whose": "theirs"})

    def member(store: Store) -> None:
        omnizarr.create_group(store, path="g", attributes={"whose": "theirs"})

    with pytest.warns(IgnoredArgumentWarning, match="shape"):
        opened = omnizarr.open_array(overtaken("a"), path="a", mode="a", shape=(9,), dtype="u1")
    assert opened.shape == (6,)
    for make in (omnizarr.open_group, omnizarr.group, omnizarr.open):
        assert dict(make(Overtaken(MemoryStore(), group)).attrs) == {"whose": "theirs"}
    with pytest.raises(ContainsGroupError):
        omnizarr.open_group(Overtaken(MemoryStore(), group), mode="w-")
    store = Overtaken(MemoryStore(), member)
    inner = store.store
    omnizarr.create_group(inner)
    root = omnizarr.open_group(store)
    assert dict(root.require_group("g").attrs) == {"whose": "theirs"}
    store._other = lambda store: theirs(store, "a", 3)
    assert root.require_array("a", shape=(6,), dtype="i8").attrs["whose"] == "theirs"
    store._other = lambda store: theirs(store, "b", 3)
    with pytest.raises(TypeError, match="shape"):
        root.require_array("b", shape=(7,), dtype="i8")


def test_replacing_is_not_conditional() -> None:
    store = Overtaken(MemoryStore(), lambda store: theirs(store, "a", 3))
    made = omnizarr.create_array(store, name="a", shape=(9,), dtype="u1", overwrite=True)
    assert made.shape == omnizarr.open_array(store, path="a").shape == (9,)


def test_many_threads(tmp_path: Path) -> None:
    start, made = threading.Barrier(4), []

    def make(number: int) -> None:
        store = LocalStore(tmp_path)
        for turn in range(20):
            start.wait(10)
            try:
                omnizarr.create_array(
                    store, name=f"g{turn}/a", shape=(number,), dtype="u1",
                    attributes={"whose": number},
                )  # fmt: skip
            except NodeExistsError:
                continue
            made.append((turn, number))

    threads = [threading.Thread(target=make, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(turn for turn, _ in made) == list(range(20))
    for turn, number in made:
        found = omnizarr.open_array(tmp_path, path=f"g{turn}/a")
        assert (found.shape, found.attrs["whose"]) == ((number,), number)


class Watched(WrapperStore):
    """Another process acts once, between our first look at `key` and the next look at anything."""

    def __init__(self, store: Store, key: str, other: Callable[[Store], object]) -> None:
        super().__init__(store)
        self._key = key
        self._other: Callable[[Store], object] | None = other

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        answers = self.store.get_many(requests)
        if self._other is not None and any(key == self._key for key, _ in requests):
            other, self._other = self._other, None
            other(self.store)
        return answers


@pytest.mark.parametrize("key", ["", "g"])
@pytest.mark.parametrize("zarr_format", WITH_GROUPS)
def test_a_parent_that_appears_while_we_look_is_an_ordinary_one(zarr_format: Any, key: str) -> None:
    def sibling(store: Store) -> None:
        omnizarr.create_array(
            store, name="g/theirs", shape=(2,), dtype="u1", zarr_format=zarr_format
        )

    known = formats.get_format(zarr_format)
    for watched in {*known.probes(key), *formats.claims(known, key)}:
        store = Watched(MemoryStore(), watched, sibling)
        omnizarr.create_array(store, name="g/ours", shape=(3,), dtype="u1", zarr_format=zarr_format)
        members = omnizarr.open_group(store.store, path="g", mode="r")
        assert sorted(members) == ["ours", "theirs"]


def test_an_array_that_appears_while_we_look_is_named() -> None:
    store = Watched(MemoryStore(), "g/zarr.json", lambda store: theirs(store, "g", 2))
    with pytest.raises(ContainsArrayError, match="below the array at '/g'"):
        omnizarr.create_array(store, name="g/a", shape=(2,), dtype="u1", zarr_format=2)
    store = Watched(MemoryStore(), "a/zarr.json", lambda store: theirs(store, "a", 2))
    with pytest.raises(ContainsArrayError, match="already there"):
        omnizarr.create_array(store, name="a", shape=(2,), dtype="u1", zarr_format=2)


def test_a_document_that_stays_unknown_is_refused() -> None:
    store = MemoryStore({"meta/root/g.group.json": b"{}"})
    with pytest.raises(NodeExistsError, match="describes no node"):
        omnizarr.create_array(store, name="g/a", shape=(2,), dtype="u1")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_threads_on_a_plain_mapping(zarr_format: int) -> None:
    start, made = threading.Barrier(3), []
    values: dict[str, bytes] = {}
    interval = sys.getswitchinterval()

    def make(number: int) -> None:
        store = MappingStore(values)
        for turn in range(40):
            start.wait(10)
            try:
                omnizarr.create_array(
                    store, name=f"g{turn}/a", shape=(number,), dtype="u1", zarr_format=zarr_format
                )
                made.append((turn, number))
            except ContainsArrayError:
                pass
            group = omnizarr.open_group(store, path=f"g{turn}", mode="r+")
            group.attrs[f"{number}"] = number

    threads = [threading.Thread(target=make, args=(number,)) for number in range(1, 4)]
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert sorted(turn for turn, _ in made) == list(range(40))
    for turn, number in made:
        group = omnizarr.open_group(values, path=f"g{turn}", mode="r")
        assert group["a"].shape == (number,)
        assert dict(group.attrs) == {"1": 1, "2": 2, "3": 3}


class Slow(MappingStore):
    """Another thread acts between the look at a key and the write of it, if it may."""

    def __init__(self, values: dict[str, bytes], key: str) -> None:
        super().__init__(values)
        self._key = key
        self.looked, self.go = threading.Event(), threading.Event()

    def exists(self, key: str) -> bool:
        found = super().exists(key)
        if key == self._key and not self.looked.is_set():
            self.looked.set()
            self.go.wait(0.3)
        return found


def test_on_a_plain_mapping_one_thread_is_first() -> None:
    values: dict[str, bytes] = {}
    store, told = Slow(values, "zarr.json"), []

    def make(store: Store, whose: str) -> None:
        try:
            omnizarr.create_group(store, attributes={"whose": whose}, zarr_format=3)
            told.append(whose)
        except ContainsGroupError:
            pass

    first = threading.Thread(target=make, args=(store, "first"))
    first.start()
    assert store.looked.wait(10)
    make(MappingStore(values), "second")
    store.go.set()
    first.join()
    assert told == ["first"]
    assert dict(omnizarr.open_group(values, mode="r").attrs) == {"whose": "first"}


class Seen(WrapperStore):
    """Another process acts as soon as a node can be seen."""

    def __init__(self, store: Store, other: Callable[[Store], object]) -> None:
        super().__init__(store)
        self._other = other

    def _look(self, key: str) -> None:
        if key.endswith((".zarray", ".zgroup", "meta", "__zmeta__", "zarr.json")):
            self._other(self.store)

    def set(self, key: str, value: Buffer) -> None:
        self.store.set(key, value)
        self._look(key)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        done = self.store.set_if_absent(key, value)
        self._look(key)
        return done


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("zarr_format", "kind"),
    [*((name, "array") for name in (0, 1, 2, 3)), (2, "group"), (3, "group")],
)
@pytest.mark.parametrize("inner", ["memory", "local", "mapping"])
def test_attributes_that_another_process_sets_at_once_are_kept(
    zarr_format: int, kind: str, overwrite: bool, inner: str, tmp_path: Path
) -> None:
    def change(store: Store) -> None:
        omnizarr.open(store, mode="r+").attrs["theirs"] = 2

    stores: dict[str, Store] = {
        "memory": MemoryStore(), "local": LocalStore(tmp_path), "mapping": MappingStore({}),
    }  # fmt: skip
    store = Seen(stores[inner], change)
    attributes = {"ours": 1}
    if kind == "array":
        omnizarr.create_array(
            store, shape=(3,), dtype="i4", zarr_format=zarr_format, attributes=attributes,
            overwrite=overwrite,
        )  # fmt: skip
    else:
        omnizarr.create_group(
            store, zarr_format=zarr_format, attributes=attributes, overwrite=overwrite
        )
    assert dict(omnizarr.open(store.store, mode="r").attrs) == {"ours": 1, "theirs": 2}


@pytest.mark.parametrize(("zarr_format", "key"), [(0, "__zattr__"), (1, "attrs"), (2, ".zattrs")])
def test_replacing_drops_attributes_without_a_node(zarr_format: int, key: str) -> None:
    store = MemoryStore({key: b'{"old": 1}'})
    made = omnizarr.create_array(
        store, shape=(3,), dtype="i4", zarr_format=zarr_format, overwrite=True
    )
    assert dict(made.attrs) == dict(omnizarr.open_array(store, mode="r").attrs) == {}
