"""Members of groups: absolute paths, other stores for chunks, classes of one's own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import MemoryStore
from omnizarr.errors import MetadataError


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


def sharded(**changes: Any) -> list[Any]:
    inner = {"chunk_shape": [2, 2], "codecs": ["bytes"], "index_codecs": ["bytes"]}
    return [{"name": "sharding_indexed", "configuration": {**inner, **changes}}]


def transposed(order: Any, rest: list[Any]) -> list[Any]:
    return [{"name": "transpose", "configuration": {"order": order}}, *rest]


@pytest.mark.parametrize(
    "codecs",
    [
        transposed([0, 5], sharded()),
        transposed([0, 0], sharded()),
        transposed([0], ["bytes"]),
        transposed(7, sharded()),
        transposed(None, ["bytes"]),
        transposed(["a", "b"], ["bytes"]),
        transposed({}, sharded()),
        sharded(chunk_shape=[2]),
        sharded(chunk_shape=[2, 2, 2]),
        sharded(chunk_shape="22"),
        sharded(codecs=transposed([0, 2], ["bytes"])),
        sharded(index_codecs=transposed([0, 1], ["bytes"])),
    ],
)
def test_members_are_refused_as_items_are(codecs: list[Any]) -> None:
    store: dict[str, bytes] = {}
    omnizarr.group(store).create_array("a", shape=(4, 4), dtype="i1", chunks=(4, 4))
    document = json.loads(store["a/zarr.json"])
    store["a/zarr.json"] = json.dumps({**document, "codecs": codecs}).encode()
    group = omnizarr.open_group(store)
    with pytest.raises(MetadataError) as alone:
        group["a"]
    with pytest.raises(MetadataError) as listed:
        group.members()
    assert str(alone.value) == str(listed.value)
    assert "a/zarr.json" in str(listed.value)
    with pytest.raises(MetadataError):
        omnizarr.load(store)["a"]
    with pytest.raises(MetadataError):
        omnizarr.convert(store, {}, zarr_format=2)
    assert "a" in group._repr_html_()


@pytest.mark.parametrize("inner", [3, True, "bytes", {"name": "bytes"}, [3], [{}]])
def test_codecs_of_blocks_that_are_no_list(inner: Any) -> None:
    store: dict[str, bytes] = {}
    omnizarr.group(store).create_array("a", shape=(4, 4), dtype="i1", chunks=(4, 4))
    document = json.loads(store["a/zarr.json"])
    document["codecs"] = [{"name": "n5_default", "configuration": {"codecs": inner}}]
    store["a/zarr.json"] = json.dumps(document).encode()
    group = omnizarr.open_group(store)
    with pytest.raises(MetadataError):
        group["a"]
    with pytest.raises(MetadataError):
        omnizarr.convert(store, {}, zarr_format=2)
    for _, array in group.members():
        with pytest.raises(MetadataError):
            array[...]
        with pytest.raises(MetadataError):
            array.codecs  # noqa: B018


def test_shards_of_a_reshaped_chunk_are_not_those_of_the_array() -> None:
    values = np.arange(16, dtype="i1").reshape(4, 4)
    reshape = {"name": "reshape", "configuration": {"shape": [[0, 1]]}}
    array = omnizarr.create_array(
        {}, data=values, chunks=(4, 4), codecs=[reshape, *sharded(chunk_shape=[8])]
    )
    assert (array.chunks, array.shards) == ((4, 4), None)
    assert (array[...] == values).all()
