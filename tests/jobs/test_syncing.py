"""`sync`: what differs is copied, documents last; equal values are left alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import NodeNotFoundError, OverlapError, StoreError
from omnizarr.stores import WrapperStore


class Log(WrapperStore):
    """Notes what is written and deleted."""

    def __init__(self, store: zarr.Store) -> None:
        super().__init__(store)
        self.done: list[str] = []

    def set(self, key: str, value: bytes | bytearray | memoryview) -> None:
        self.done.append(f"set {key}")
        super().set(key, value)

    def delete(self, key: str) -> None:
        self.done.append(f"delete {key}")
        super().delete(key)


def hierarchy(store: object, zarr_format: int = 3) -> zarr.Group:
    root = zarr.create_group(store, zarr_format=zarr_format)
    root.create_array("a", data=np.arange(6), chunks=(2,))
    root.create_group("g").create_array("b", data=np.ones((2, 2)))
    return root


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_documents_come_last(zarr_format: int) -> None:
    source, target = zarr.MemoryStore(), Log(zarr.MemoryStore())
    hierarchy(source, zarr_format)
    done = zarr.sync(source, target)
    assert sorted(f"set {key}" for key in source) == sorted(target.done)
    documents = ["json" in key or ".z" in key for key in target.done]
    assert documents == sorted(documents), target.done
    root = [key for key in target.done if "/" not in key]
    assert target.done[-len(root) :] == root
    assert done.copied == tuple(source) and done.unchanged == 0
    assert dict(source) == dict(target)


def test_only_what_differs(tmp_path: Path) -> None:
    root = hierarchy(tmp_path / "a.zarr")
    zarr.sync(tmp_path / "a.zarr", tmp_path / "b.zarr")
    assert not zarr.sync(tmp_path / "a.zarr", tmp_path / "b.zarr").copied
    root["a"][0] = 7
    done = zarr.sync(tmp_path / "a.zarr", tmp_path / "b.zarr", dry_run=True)
    assert done.copied == ("a/c/0",) and done.bytes_written == 0
    assert zarr.open_array(tmp_path / "b.zarr", path="a")[0] == 0
    assert zarr.sync(tmp_path / "a.zarr", tmp_path / "b.zarr").copied == ("a/c/0",)
    assert zarr.open_array(tmp_path / "b.zarr", path="a")[0] == 7


def test_checksum_finds_what_size_and_time_hide(tmp_path: Path) -> None:
    import os

    hierarchy(tmp_path / "a.zarr")
    zarr.sync(tmp_path / "a.zarr", tmp_path / "b.zarr")
    ours, theirs = (tmp_path / f"{name}.zarr" / "a" / "c" / "0" for name in "ab")
    damaged = bytes(255 - byte for byte in theirs.read_bytes())
    theirs.write_bytes(damaged)
    os.utime(theirs, ns=(0, ours.stat().st_mtime_ns))
    assert not zarr.sync(tmp_path / "a.zarr", tmp_path / "b.zarr").copied
    assert zarr.sync(tmp_path / "a.zarr", tmp_path / "b.zarr", checksum=True).copied == ("a/c/0",)
    assert theirs.read_bytes() == ours.read_bytes()


def test_other_times_do_not_mean_other_values(tmp_path: Path) -> None:
    import os

    hierarchy(tmp_path / "a.zarr")
    zarr.sync(tmp_path / "a.zarr", tmp_path / "b.zarr")
    os.utime(tmp_path / "a.zarr" / "a" / "c" / "0", ns=(0, 0))
    assert not zarr.sync(tmp_path / "a.zarr", tmp_path / "b.zarr").copied


def test_delete() -> None:
    source, target = zarr.MemoryStore(), Log(zarr.MemoryStore())
    hierarchy(source)
    zarr.sync(source, target)
    zarr.delete(source, "g")
    assert zarr.sync(source, target).deleted == ()
    target.done.clear()
    done = zarr.sync(source, target, delete=True)
    assert done.deleted == ("g/b/c/0/0", "g/b/zarr.json", "g/zarr.json")
    assert target.done == [f"delete {key}" for key in ("g/zarr.json", "g/b/zarr.json", "g/b/c/0/0")]
    assert dict(source) == dict(target)


def test_delete_empties_no_place_without_a_node(tmp_path: Path) -> None:
    source = zarr.MemoryStore()
    hierarchy(source)
    thesis = tmp_path / "h" / "docs" / "thesis.txt"
    thesis.parent.mkdir(parents=True)
    thesis.write_text("x")
    for dry_run in (True, False):
        with pytest.raises(StoreError, match="no node, but other things"):
            zarr.sync(source, tmp_path / "h", delete=True, dry_run=dry_run)
    with pytest.raises(StoreError, match="no node, but other things"):
        zarr.sync(source, tmp_path, destination_path="h", delete=True)
    assert thesis.exists() and [path.name for path in (tmp_path / "h").iterdir()] == ["docs"]
    assert zarr.sync(source, tmp_path / "new", delete=True).copied
    broken = zarr.MemoryStore({"zarr.json": b"{", "c/0": b"old"})
    assert zarr.sync(source, broken, delete=True).deleted == ("c/0",)


class Ends(zarr.MemoryStore):
    """Ends the process, so to speak, before the second value is written."""

    left = -1

    def set(self, key: str, value: bytes | bytearray | memoryview) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        super().set(key, value)


def test_delete_goes_on_after_an_interruption() -> None:
    source, target = zarr.MemoryStore(), Ends()
    hierarchy(source)
    zarr.save_array(target, np.arange(9))
    target.left = 3
    with pytest.raises(KeyboardInterrupt):
        zarr.sync(source, target, delete=True, workers=1)
    with pytest.raises(NodeNotFoundError):
        zarr.open(target, mode="r")
    target.left = -1
    zarr.sync(source, target, delete=True)
    assert dict(source) == dict(target)


def test_an_array_of_another_type_is_away_while_it_is_replaced() -> None:
    source, target = zarr.MemoryStore(), Log(zarr.MemoryStore())
    hierarchy(source)
    zarr.sync(source, target)
    zarr.open_group(source).create_array("a", data=np.arange(6.0), chunks=(2,), overwrite=True)
    target.done.clear()
    zarr.sync(source, target)
    assert target.done[0] == "delete a/zarr.json" and target.done[-1] == "set a/zarr.json"


def test_an_array_that_grows_stays() -> None:
    source, target = zarr.MemoryStore(), Log(zarr.MemoryStore())
    hierarchy(source)
    zarr.sync(source, target)
    zarr.open_array(source, path="a").append(np.array([6, 7]))
    target.done.clear()
    zarr.sync(source, target)
    assert target.done == ["set a/c/3", "set a/zarr.json"]


def test_paths_and_journals() -> None:
    source, target = zarr.MemoryStore(), zarr.MemoryStore()
    hierarchy(source)
    source.set("g/.omnizarr-convert.json", b"{}")
    zarr.create_group(target)
    zarr.sync(source, target, "g", "x/y")
    assert list(target) == ["x/y/b/c/0/0", "x/y/b/zarr.json", "x/y/zarr.json", "zarr.json"]


def test_refusals(tmp_path: Path) -> None:
    store = zarr.MemoryStore()
    hierarchy(store)
    with pytest.raises(NodeNotFoundError):
        zarr.sync(zarr.MemoryStore(), store, delete=True)
    assert len(list(store))
    for source, target in (("", "g"), ("g", ""), ("", "")):
        with pytest.raises(OverlapError):
            zarr.sync(store, store, source, target)
