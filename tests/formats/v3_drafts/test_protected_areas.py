"""Nothing is stored below a draft's 'data' and 'meta', whichever store the path is opened as."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import UnsupportedError
from omnizarr.stores import FsspecStore, LocalStore, MemoryStore, PrefixStore, WrapperStore

DRAFT = "3-draft2020-10"
PLACES = ["data", "meta", "data/root", "meta/root", "data/root/b", "data/new/deep"]
WAYS: dict[str, Callable[[Any], Any]] = {
    "save": lambda place: omnizarr.save(place, np.arange(3)),
    "save two": lambda place: omnizarr.save(place, np.arange(3), x=np.arange(2)),
    "save_array": lambda place: omnizarr.save_array(place, np.arange(3), zarr_format=2),
    "group": lambda place: omnizarr.open_group(place, mode="w"),
    "new group": lambda place: omnizarr.open_group(place, mode="a"),
    "draft": lambda place: omnizarr.open_group(place, mode="w", zarr_format=DRAFT),
    "array": lambda place: omnizarr.open_array(place, mode="w", shape=3, dtype="i4"),
}


def build(store: Any, zarr_format: str = DRAFT) -> None:
    group = omnizarr.open_group(store, mode="w", zarr_format=zarr_format)
    group.create_array("b", data=np.arange(1, 9), chunks=3)
    group.store.close()


def check(store: Any) -> None:
    group = omnizarr.open_group(store, mode="r")
    assert group["b"][:].tolist() == list(range(1, 9))
    assert list(group) == ["b"]
    group.store.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["x.zarr", "x.sqlite", "x.zip", "x.lmdb"])
def test_by_path(tmp_path: Path, name: str, way: str) -> None:
    if name == "x.lmdb":
        pytest.importorskip("lmdb")
    root = tmp_path / name
    build(root)
    for place in PLACES:
        for _ in range(2):
            with pytest.raises(UnsupportedError, match="a draft of v3"):
                WAYS[way](f"{root}/{place}")
    check(root)


@pytest.mark.parametrize("zarr_format", ["3-draft2019", "3-draft2020-09", DRAFT])
def test_every_draft(tmp_path: Path, zarr_format: str) -> None:
    build(tmp_path / "x", zarr_format)
    with pytest.raises(UnsupportedError, match="a draft of v3"):
        omnizarr.save(tmp_path / "x" / "data", np.arange(3))
    check(tmp_path / "x")


def test_below_a_folder_of_the_store(tmp_path: Path) -> None:
    build(tmp_path / "x")
    for way in (False, True):
        with pytest.raises(UnsupportedError, match="its folder 'x'"):
            omnizarr.create_array(
                tmp_path, name="x/data/root", data=np.arange(3), overwrite=way, zarr_format=2
            )
    check(tmp_path / "x")


def test_through_wrappers_and_links(tmp_path: Path) -> None:
    build(tmp_path / "x")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "x" / "data")
    for store in (
        PrefixStore(LocalStore(tmp_path), "x/data"),
        PrefixStore(WrapperStore(PrefixStore(LocalStore(tmp_path), "x")), "data/root"),
        WrapperStore(LocalStore(tmp_path / "x" / "meta")),
        LocalStore(link),
    ):
        with pytest.raises(UnsupportedError, match="a draft of v3"):
            omnizarr.open_group(store, mode="w")
    check(tmp_path / "x")


def test_fsspec(tmp_path: Path) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    for files, root in (
        (memory, "/inside-draft/x"),
        (pytest.importorskip("fsspec").filesystem("file"), str(tmp_path / "x")),
    ):
        build(FsspecStore(files, root))
        with pytest.raises(UnsupportedError, match="a draft of v3"):
            omnizarr.open_group(FsspecStore(files, f"{root}/data/root"), mode="w")
        check(FsspecStore(files, root))
    memory.rm("/inside-draft", recursive=True)


def test_objects() -> None:
    stores = pytest.importorskip("obstore.store")
    from omnizarr.stores import ObjectStore

    bucket = stores.MemoryStore()
    build(ObjectStore(bucket, prefix="deep/x"))
    with pytest.raises(UnsupportedError, match="a draft of v3"):
        omnizarr.open_group(ObjectStore(bucket, prefix="deep/x/data"), mode="w")
    check(ObjectStore(bucket, prefix="deep/x"))


def test_moving_and_converting_there(tmp_path: Path) -> None:
    omnizarr.open_group(tmp_path, mode="w", zarr_format=2).create_array("a", data=np.arange(3))
    build(tmp_path / "x")
    with pytest.raises(UnsupportedError, match="a draft of v3"):
        omnizarr.open_group(tmp_path).move("a", "x/data/new")
    with pytest.raises(UnsupportedError, match="a draft of v3"):
        omnizarr.convert(tmp_path / "a", tmp_path / "x" / "data", zarr_format=3)
    check(tmp_path / "x")


def test_other_folders_with_these_names(tmp_path: Path) -> None:
    """A final v3 group or nothing is above: everything may be stored."""
    omnizarr.save(tmp_path / "plain" / "data" / "meta" / "x", np.arange(3))
    root = omnizarr.open_group(tmp_path / "v3", mode="w")
    root.create_group("data")
    omnizarr.save(tmp_path / "v3" / "data" / "x", np.arange(3))
    assert root["data/x"][:].tolist() == [0, 1, 2]
    build(tmp_path / "y")
    shutil.rmtree(tmp_path / "y" / "data")
    draft = omnizarr.open_group(tmp_path / "y", mode="a")
    draft.create_array("data", data=np.arange(4))
    assert draft["data"][:].tolist() == [0, 1, 2, 3]


def test_a_place_above_that_cannot_be_read(tmp_path: Path) -> None:
    class Denied(MemoryStore):
        def get_many(self, requests: Any) -> Any:
            if any(key == "zarr.json" for key, _ in requests):
                raise omnizarr.errors.StoreAccessError("denied")
            return super().get_many(requests)

    omnizarr.save(PrefixStore(Denied(), "data"), np.arange(3))
