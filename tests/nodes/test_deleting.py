"""A deletion that stops half-way leaves no node, or a whole one, and never chunks that the next
array at that path would take for its own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import formats
from omnizarr.errors import (
    ContainsGroupError,
    NodeExistsError,
    NodeNotFoundError,
    StoreAccessError,
    StoreError,
)
from omnizarr.model.store import Store
from omnizarr.stores import LocalStore, MappingStore, MemoryStore, OverlayStore, as_store
from tests.servers import faulty

NAMES = [known.name for known in formats.every_format()]
WITH_GROUPS = [name for name in NAMES if name not in (0, 1)]


class Failing(MemoryStore):
    """Refuses every deletion after the first `left`."""

    left: int | None = None

    def delete(self, key: str) -> None:
        if self.left is not None:
            if self.left == 0:
                raise StoreError(f"cannot delete {key!r}")
            self.left -= 1
        super().delete(key)


def fill(store: Store, path: str, zarr_format: Any) -> None:
    array = omnizarr.create_array(
        store, name=path, shape=(20,), chunks=(5,), dtype="i4", fill_value=0,
        zarr_format=zarr_format, attributes={"old": 1},
    )  # fmt: skip
    array[:] = 7


def check_new(store: Store, path: str, zarr_format: Any) -> bool:
    """What is there is the whole old array, or none. Create an array as if nothing had happened: it
    is refused, or nothing of the old is in it. Whether it was refused."""
    try:
        old = omnizarr.open_array(store, path=path, mode="r")
    except (NodeNotFoundError, ContainsGroupError):
        pass  # what is left of an array in N5, where every folder is a group
    else:
        if old.dtype == "i4":
            assert old.shape == (20,) and np.all(old[:] == 7)

    def make(overwrite: bool) -> omnizarr.Array:
        return omnizarr.create_array(
            store, name=path, shape=(20,), chunks=(5,), dtype="i4", fill_value=0,
            zarr_format=zarr_format, overwrite=overwrite,
        )  # fmt: skip

    try:
        made, refused = make(False), False
    except NodeExistsError:
        made, refused = make(True), True
    assert not np.any(made[:])
    assert dict(omnizarr.open_array(store, path=path, mode="r").attrs) == {}
    return refused


def interruptions(
    make: Callable[[], Failing], delete: Callable[[Failing], None], check: Callable[[Failing], bool]
) -> list[bool]:
    """What `check` says after a deletion that stopped at every point where it can stop."""
    found = []
    for left in range(100):
        store = make()
        store.left = left
        try:
            delete(store)
        except StoreError:
            store.left = None
            found.append(check(store))
        else:
            return found
    raise AssertionError("the deletion never succeeds")


@pytest.mark.parametrize("zarr_format", WITH_GROUPS)
def test_a_member(zarr_format: Any) -> None:
    def make() -> Failing:
        store = Failing()
        omnizarr.create_group(store, zarr_format=zarr_format)
        fill(store, "a", zarr_format)
        return store

    def delete(store: Failing) -> None:
        del omnizarr.open_group(store)["a"]

    refused = interruptions(make, delete, lambda store: check_new(store, "a", zarr_format))
    assert len(refused) >= 5
    assert refused[0], "nothing was deleted"


@pytest.mark.parametrize("path", ["", "a"])
@pytest.mark.parametrize("zarr_format", NAMES)
def test_replacing(zarr_format: Any, path: str) -> None:
    def make() -> Failing:
        store = Failing()
        fill(store, path, zarr_format)
        return store

    def delete(store: Failing) -> None:
        omnizarr.create_array(
            store, name=path, shape=(2,), dtype="u1", zarr_format=zarr_format, overwrite=True
        )

    assert len(interruptions(make, delete, lambda s: check_new(s, path, zarr_format))) >= 5


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_group_goes_before_its_members(zarr_format: Any) -> None:
    def make() -> Failing:
        store = Failing()
        omnizarr.create_group(store, zarr_format=zarr_format)
        fill(store, "g/a", zarr_format)
        fill(store, "g/h/b", zarr_format)
        return store

    def delete(store: Failing) -> None:
        del omnizarr.open_group(store)["g"]

    def check(store: Failing) -> bool:
        root = omnizarr.open_group(store)
        members = [path for path in ("g/a", "g/h/b") if path in root]
        assert all(np.all(root[path][:] == 7) for path in members), "a member is whole"
        if "g" in root:
            assert len(members) == 2
            return False
        store.delete_prefix("g/")
        return not list(store.list_prefix("g/"))

    found = interruptions(make, delete, check)
    assert found[0] is False and all(found[1:]) and len(found) > 8


@pytest.mark.parametrize("zarr_format", [1, 2, 3])
def test_the_root_of_a_directory(
    zarr_format: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for left in range(6):
        store = LocalStore(tmp_path / str(left))
        fill(store, "", zarr_format)
        real, calls = os.unlink, itertools.count()

        def limited(*arguments: Any, **options: Any) -> None:
            if next(calls) >= left:  # noqa: B023 - called in this round only
                raise OSError(5, "the disk failed")
            real(*arguments, **options)  # noqa: B023

        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", limited)
            with pytest.raises(StoreError):
                store.delete_prefix("")
        check_new(store, "", zarr_format)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_overlay(zarr_format: int) -> None:
    lower = MappingStore({})
    omnizarr.create_group(lower, zarr_format=zarr_format)
    omnizarr.create_array(
        lower, name="a", shape=(20,), chunks=(5,), dtype="i4", fill_value=0, zarr_format=zarr_format
    )
    for left in range(4):
        upper = Failing()
        store = OverlayStore(upper, lower)
        omnizarr.open_array(store, path="a", mode="r+")[:] = 7
        upper.left = left
        with pytest.raises(StoreError):
            del omnizarr.open_group(store)["a"]
        upper.left = None
        check_new(store, "a", zarr_format)


@pytest.mark.slow
def test_pages_of_a_bulk_deletion(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing, handler = False, faulty._Handler
    post, delete = handler.do_POST, handler.do_DELETE

    def no_post(self: faulty._Handler) -> None:
        if refusing and int(self.headers["Content-Length"]) > 2000:  # the page with the chunks
            self._body()
            self._error(403, "AccessDenied")
        else:
            post(self)

    def no_delete(self: faulty._Handler) -> None:
        if refusing and "/a/c/" in self.path:
            self._error(403, "AccessDenied")
        else:
            delete(self)

    monkeypatch.setattr(handler, "do_POST", no_post)
    monkeypatch.setattr(handler, "do_DELETE", no_delete)
    with faulty.serve() as served:
        store = as_store(
            "s3://b/x",
            storage_options={
                "endpoint": served.url, "access_key_id": "a", "secret_access_key": "b",
                "region": "us-east-1", "deadline": 20,
            },
        )  # fmt: skip
        root = omnizarr.create_group(store)
        array = root.create_array("a", shape=(1000,), chunks=(1,), dtype="i4", fill_value=0)
        for number in range(1000):  # 1,001 keys with the document: two pages
            served.values[f"b/x/a/c/{number}"] = b""
        refusing = True
        with pytest.raises(StoreAccessError):
            del root["a"]
        refusing = False
        assert "b/x/a/zarr.json" not in served.values and "a" not in root
        with pytest.raises(NodeExistsError):
            root.create_array("a", shape=(1000,), chunks=(1,), dtype="i4", fill_value=0)
        root.create_array("a", shape=(1000,), chunks=(1,), dtype="i4", overwrite=True)
        assert sorted(served.values) == ["b/x/a/zarr.json", "b/x/zarr.json"]
        assert array.shape == (1000,)
