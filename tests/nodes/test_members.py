"""Members of groups: absolute paths, other stores for chunks, classes of one's own."""

from __future__ import annotations

import numpy as np
import pytest

import omnizarr
from omnizarr import MemoryStore


def test_absolute_paths_start_at_the_root() -> None:
    root = omnizarr.group()
    sub = root.create_group("a/b")
    sub["/c/d"] = [1, 2, 3]
    assert root["c/d"].shape == (3,)
    assert sub["/c/d"] == root["c/d"] and "/c" in sub and "/missing" not in sub
    assert sub["/"] == root and sub["/a/b"] == sub
    assert sub.require_group("/e").path == "e"
    assert sub.get("/missing", 7) == 7
    sub.move("/c/d", "moved")
    assert "c/d" not in root and "a/b/moved" in root
    sub.move("moved", "/f/g")
    assert root["f/g"][:].tolist() == [1, 2, 3]
    del sub["/f"]
    assert "f" not in root
    with pytest.raises(KeyError, match="missing"):
        sub["/missing"]
    with pytest.raises(ValueError, match="needs a name"):
        sub.create_array("/", shape=1)


def test_absolute_paths_beside_consolidated_metadata() -> None:
    root = omnizarr.group(zarr_format=2)
    root["a/b"] = [1, 2, 3]
    root["c"] = [4]
    omnizarr.consolidate_metadata(root.store)
    opened = omnizarr.open_consolidated(root.store)
    sub = opened["a"]
    assert isinstance(sub, omnizarr.Group)
    assert sub["/c"][:].tolist() == [4] and sub["/a/b"].shape == (3,)


def test_chunks_in_another_store_follow_their_array() -> None:
    chunks = MemoryStore()
    root = omnizarr.open_group({}, chunk_store=chunks, zarr_format=2)
    root["a"] = np.arange(4)
    root.move("a", "b/c")
    assert root["b/c"][:].tolist() == [0, 1, 2, 3]
    assert list(chunks) == ["b/c/0"]
    del root["b/c"]
    assert list(chunks) == []
    root["d"] = np.arange(4)
    root.create_array("d", shape=4, dtype="i8", overwrite=True)
    assert root["d"][:].tolist() == [0, 0, 0, 0] and list(chunks) == []


def test_members_of_a_subclass() -> None:
    class Named(omnizarr.Array):
        pass

    class Project(omnizarr.Group):
        _array_type = Named

    project = omnizarr.group().as_type(Project)
    project["a/b"] = [1, 2]
    assert type(project["a"]) is Project and type(project["a/b"]) is Named
    assert type(project.create_group("c")) is Project
    assert project.as_type(omnizarr.Group) is project


def test_require_dataset_takes_what_can_be_written() -> None:
    root = omnizarr.group()
    root.create_array("a", shape=3, dtype="f4")
    assert root.require_dataset("a", shape=3, dtype="i2").dtype == "f4"
    with pytest.raises(TypeError, match="dtype"):
        root.require_dataset("a", shape=3, dtype="i4")
    with pytest.raises(TypeError, match="dtype"):
        root.require_array("a", shape=3, dtype="i2")
    assert root.require_array("a", shape=3, dtype="f8").dtype == "f4"
    with pytest.raises(TypeError, match="dtype"):
        root.require_dataset("a", shape=3, dtype="i2", exact=True)
