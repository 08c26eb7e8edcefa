"""as_store: what a user may call a store."""

from __future__ import annotations

import zipfile
from pathlib import Path
from types import MappingProxyType

import pytest

from omnizarr.errors import NodeNotFoundError, ReadOnlyError, StoreError
from omnizarr.stores import (
    LocalStore,
    MappingStore,
    MemoryStore,
    ReadOnlyStore,
    ZipStore,
    as_store,
)


def test_stores_and_mappings() -> None:
    assert isinstance(as_store(None), MemoryStore)
    store = MemoryStore()
    assert as_store(store) is store
    assert as_store(store, mode="w") is store
    frozen = as_store(store, read_only=True)
    assert isinstance(frozen, ReadOnlyStore)
    assert as_store(frozen, mode="r") is frozen
    values: dict[str, bytes] = {}
    wrapped = as_store(values)
    assert isinstance(wrapped, MappingStore)
    wrapped.set("a", b"1")
    assert values == {"a": b"1"}
    assert as_store(MappingProxyType(values)).read_only


def test_paths_are_directories_and_are_not_created(tmp_path: Path) -> None:
    for mode in (None, "r", "r+", "a", "w", "w-", "x"):
        for obj in (tmp_path / "x.zarr", str(tmp_path / "x.zarr"), (tmp_path / "x.zarr").as_uri()):
            store = as_store(obj, mode=mode)
            assert isinstance(store, LocalStore)
            assert store.root == tmp_path / "x.zarr"
            assert store.read_only == (mode == "r")
            assert list(store.list()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_url_may_have_escapes(tmp_path: Path) -> None:
    store = as_store(f"file://localhost{tmp_path}/with%20space")
    assert isinstance(store, LocalStore)
    assert store.root == tmp_path / "with space"
    with pytest.raises(StoreError):
        as_store("file://otherhost/x")


@pytest.mark.parametrize("url", ["s3://bucket/x", "https://host/x.zip", "gs://b", "memory://x"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(StoreError, match="not supported by this installation"):
        as_store(url, storage_options={"anon": True})


def test_zip_modes(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    for mode in ("r", "r+"):
        with pytest.raises(NodeNotFoundError):
            as_store(path, mode=mode)
    assert list(tmp_path.iterdir()) == []
    for mode, value in (("w-", b"1"), ("a", b"2"), ("r+", b"3"), ("w", b"4")):
        with as_store(path, mode=mode) as store:
            assert isinstance(store, ZipStore)
            store.set("k", value)
        with as_store(str(path), mode="r") as store:
            assert store.get("k") == value
            with pytest.raises(ReadOnlyError):
                store.set("k", b"")
    for mode in ("w-", "x"):
        with pytest.raises(StoreError):
            as_store(path, mode=mode)
    assert zipfile.ZipFile(path).namelist() == ["k"]


def test_a_directory_named_zip_is_a_directory(tmp_path: Path) -> None:
    (tmp_path / "x.zip").mkdir()
    assert isinstance(as_store(tmp_path / "x.zip"), LocalStore)


def test_anything_else_is_named() -> None:
    for obj in (5, b"x", [], object()):
        with pytest.raises(TypeError, match=f"found {type(obj).__name__}"):
            as_store(obj)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mode must be one of"):
        as_store(None, mode="rw")
    for obj in (None, "x", {}):
        with pytest.raises(TypeError, match="storage_options"):
            as_store(obj, storage_options={"a": 1})
