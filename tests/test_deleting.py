"""A deletion that stops half-way leaves a node that can be deleted again, never chunks that the
next array at that path would take for its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import formats
from omnizarr.errors import NodeExistsError, StoreAccessError, StoreError
from omnizarr.model.store import Store
from omnizarr.stores import LocalStore, MappingStore, MemoryStore, OverlayStore, as_store
from tests.servers import faulty

NAMES = [known.name for known in formats.FORMATS]
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
    """Create an array as if nothing had happened: it is refused, or nothing of the old is in it.
    Whether it was refused."""

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
    assert all(refused[:5]), "while there are chunks there is a node"


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


@pytest.mark.parametrize("zarr_format", WITH_GROUPS)
def test_a_group_outlives_its_members(zarr_format: Any) -> None:
    def make() -> Failing:
        store = Failing()
        omnizarr.create_group(store, zarr_format=zarr_format)
        fill(store, "g/h/a", zarr_format)
        return store

    def delete(store: Failing) -> None:
        del omnizarr.open_group(store)["g"]

    def check(store: Failing) -> bool:
        root = omnizarr.open_group(store)
        if "g" in root:
            del root["g"]
        return not list(store.list_prefix("g/"))

    assert all(interruptions(make, delete, check))


@pytest.mark.parametrize("zarr_format", [1, 2, 3])
def test_the_root_of_a_directory(
    zarr_format: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    fill(store, "", zarr_format)
    delete, gone = LocalStore.delete, []

    def only_two(self: LocalStore, key: str) -> None:
        if len(gone) == 2:
            raise StoreError(f"cannot delete {key!r}")
        gone.append(key)
        delete(self, key)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "delete", only_two)
        if zarr_format == 3:  # its chunks are one directory
            store.delete_prefix("")
            assert gone == ["zarr.json"]
            return
        with pytest.raises(StoreError):
            store.delete_prefix("")
    assert check_new(store, "", zarr_format)


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
        assert check_new(store, "a", zarr_format)


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
        assert "b/x/a/zarr.json" in served.values
        with pytest.raises(NodeExistsError):
            root.create_array("a", shape=(1000,), chunks=(1,), dtype="i4", fill_value=0)
        del root["a"]
        assert list(served.values) == ["b/x/zarr.json"]
        assert array.shape == (1000,)
