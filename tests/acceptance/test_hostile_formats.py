"""What careful attackers found in the older formats, so that it stays mended."""

from __future__ import annotations

import bz2
import json
import struct
import tracemalloc
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import (
    ArrayNotFoundError,
    DecodeError,
    EncodeError,
    LimitError,
    MetadataError,
    NodeExistsError,
    UnsupportedError,
)
from omnizarr.testing import CountingStore, FaultStore

DRAFTS = ["3-draft2019", "3-draft2020-09", "3-draft2020-10"]
C = DRAFTS[2]
CORE = "https://purl.org/zarr/spec/protocol/core/3.0"
BOOTSTRAP = json.dumps(
    {
        "zarr_format": CORE,
        "metadata_encoding": CORE,
        "metadata_key_suffix": ".json",
        "extensions": [],
    }
).encode()
DRAFT_ARRAY = {
    "shape": [4],
    "data_type": "<i4",
    "chunk_grid": {"type": "regular", "chunk_shape": [2]},
    "fill_value": 0,
    "attributes": {},
}
V2_ARRAY = {
    "zarr_format": 2,
    "shape": [2],
    "chunks": [2],
    "dtype": "<f8",
    "fill_value": 0,
    "order": "C",
    "compressor": None,
    "filters": None,
}


@pytest.mark.parametrize("name", DRAFTS)
def test_what_an_interrupted_move_left_is_no_data(name: str) -> None:
    store = zarr.MemoryStore()
    group = zarr.open_group(store, mode="w", zarr_format=name)
    group.create_array("a", data=np.full(4, 5, "i4"), chunks=(2,))
    faulty = FaultStore(store)
    suffix = ".json" if name == C else ""
    faulty.fail("set", OSError("full"), key=f"meta/root/b.array{suffix}")
    with pytest.raises(OSError, match="full"):
        zarr.open_group(faulty, mode="r+").move("a", "b")
    group["a"][:] = 0
    group.move("a", "b")
    assert group["b"][:].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("name", DRAFTS)
def test_what_an_interrupted_deletion_left_is_no_data(name: str) -> None:
    store = zarr.MemoryStore()
    group = zarr.open_group(store, mode="w", zarr_format=name)
    group.create_array("a", data=np.full(4, 5, "i4"), chunks=(2,))
    faulty = FaultStore(store)
    where = "data/a/" if name == DRAFTS[0] else "data/root/a/"
    faulty.fail("delete_prefix", OSError("gone"), key=where)
    with pytest.raises(OSError, match="gone"):
        zarr.open_group(faulty, mode="r+").__delitem__("a")
    assert "a" not in group, "the documents go first"
    assert group.create_array("a", shape=4, chunks=2, dtype="i4")[:].tolist() == [0, 0, 0, 0]


def test_consolidating_keeps_what_has_its_name() -> None:
    store = zarr.MemoryStore()
    group = zarr.open_group(store, mode="w", zarr_format=C)
    with pytest.raises(UnsupportedError, match="keeps its consolidated metadata"):
        group.create_group("consolidated")
    store["meta/root/consolidated.group.json"] = b'{"attributes": {"important": 1}}'
    with pytest.raises(UnsupportedError, match="move it to another name"):
        zarr.consolidate_metadata(store)
    assert zarr.open_group(store, path="consolidated", mode="r").attrs["important"] == 1


def test_a_damaged_document_of_format_1_is_not_replaced() -> None:
    store: dict[str, Any] = {}
    zarr.create_array(store, shape=4, chunks=2, dtype="i4", zarr_format=1)[:] = [1, 2, 3, 4]
    damaged = store["meta"] = store["meta"][:-5]
    for zarr_format in (1, 2, 3, None):
        with pytest.raises(MetadataError, match="key 'meta'"):
            zarr.open_array(store, mode="a", shape=4, dtype="f4", zarr_format=zarr_format)
    assert store["meta"] == damaged
    store["meta"] = b"a file of other software"
    with pytest.raises(NodeExistsError, match="describes no node of a format known here"):
        zarr.create_array(store, shape=4, dtype="i4", zarr_format=1)
    assert store["meta"] == b"a file of other software"


@pytest.mark.parametrize("name", ["a/" * 8000 + "x", "../../etc", "a//b", "x\0y"])
def test_consolidated_names_are_checked(name: str) -> None:
    metadata = {"zarr.json": json.loads(BOOTSTRAP), f"meta/root/{name}.array.json": DRAFT_ARRAY}
    document = json.dumps({"metadata": metadata, "zarr_consolidated_format": 1}).encode()
    store = {"zarr.json": BOOTSTRAP, "meta/root/consolidated/.zmetadata": document}
    with pytest.raises(MetadataError, match="which no node can have"):
        zarr.open_consolidated(store, mode="r")


@pytest.mark.parametrize("dtype", ["|V2147483647", "|V100000000", "|S1000000000"])
def test_an_enormous_element_is_refused(dtype: str) -> None:
    draft = json.dumps({**DRAFT_ARRAY, "data_type": dtype}).encode()
    old = json.dumps({**V2_ARRAY, "dtype": dtype}).encode()
    tracemalloc.start()
    try:
        for store in (
            {"zarr.json": BOOTSTRAP, "meta/root/a.array.json": draft},
            {"a/.zarray": old},
        ):
            with pytest.raises(MetadataError, match="a"):
                zarr.open_array(store, path="a", mode="r")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_large_elements_share_their_zero() -> None:
    store = {".zgroup": b'{"zarr_format": 2}'}
    for number in range(40):
        store[f"a{number}/.zarray"] = json.dumps({**V2_ARRAY, "dtype": "|V8000000"}).encode()
    tracemalloc.start()
    try:
        members = zarr.open_group(store, mode="r").members()
        assert len(members) == 40
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_an_n5_block_takes_no_more_than_its_chunk() -> None:
    count = 1 << 28
    document = {
        "n5": "2.0.0",
        "dimensions": [1],
        "blockSize": [1],
        "dataType": "uint8",
        "compression": {"type": "bzip2"},
    }
    block = struct.pack(">HHI", 0, 1, count) + bz2.compress(bytes(1 << 16))
    store = {"attributes.json": json.dumps(document).encode(), "0": block}
    with pytest.raises(LimitError, match="no more than"):
        zarr.open_array(store, mode="r")[:]


@pytest.mark.parametrize("zarr_format", [0, 1, 2, 3, *DRAFTS])
@pytest.mark.parametrize("dtype", ["<U1", ">U2", [("n", "<i4"), ("t", "<U1", (2,))]])
def test_what_is_no_character_is_refused(zarr_format: Any, dtype: Any) -> None:
    blosc = {"id": "blosc", "cname": "lz4", "clevel": 0}
    plain: Any = blosc if zarr_format == 0 else None
    made: dict[str, Any] = {"shape": 2, "chunks": 2, "dtype": np.dtype(dtype), "compressors": plain}
    if zarr_format in (0, 1, 3) and isinstance(dtype, list):
        with pytest.raises(UnsupportedError):  # they have no fields that are arrays
            zarr.create_array(zarr.MemoryStore(), zarr_format=zarr_format, **made)
        return
    array = zarr.create_array(zarr.MemoryStore(), zarr_format=zarr_format, **made)
    array[...] = np.zeros(2, np.dtype(dtype))
    if not list(array._stored_chunks()):
        array = array.with_config({"write_empty_chunks": True})
        array[...] = np.zeros(2, np.dtype(dtype))
    ((key, _),) = array._stored_chunks()
    data = bytes(array.store[key])
    array.store[key] = data[: -array.nbytes] + b"\xff" * array.nbytes
    for selection in (0, slice(None), slice(None, None, -1)):
        with pytest.raises(DecodeError, match="no character"):
            array[selection]


def test_the_old_zstandard_is_not_mixed_with_todays() -> None:
    document = {
        "zarr_format": 1,
        "shape": [4],
        "chunks": [2],
        "dtype": "<i4",
        "compression": "blosc",
        "compression_opts": {"cname": "zstd", "clevel": 1, "shuffle": 1},
        "fill_value": 3,
        "order": "C",
    }
    store = zarr.MemoryStore({"meta": json.dumps(document).encode(), "attrs": b"{}"})
    array = zarr.open_array(store, mode="r+")
    with pytest.raises(EncodeError, match="convert the array"):
        array[:] = 1
    other = zarr.MemoryStore()
    done = zarr.convert(store, other, zarr_format=2)
    assert done.nodes[0].action == "re-encode"
    assert zarr.open_array(other, mode="r").compressor.cname == "zstd"


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("stray", [b"not json", b'{"title": "x"}'])
def test_a_stray_file_breaks_nothing(zarr_format: int, stray: bytes) -> None:
    store = zarr.MemoryStore({"attributes.json": stray})
    group = zarr.create_group(store, zarr_format=zarr_format)
    assert "z" not in group
    group.create_array("y", data=np.arange(3))
    with pytest.raises(ArrayNotFoundError):
        zarr.open_array(store, path="missing", mode="r")
    with pytest.raises(NodeExistsError, match=r"attributes\.json"):
        zarr.create_group(zarr.MemoryStore({"attributes.json": stray}), zarr_format="n5")


def test_members_are_of_the_format_that_was_asked_for() -> None:
    store = zarr.MemoryStore()
    zarr.open_group(store, mode="w", zarr_format="n5").create_array(
        "a", data=np.arange(3, dtype="i4")
    )
    store[".zgroup"] = b'{"zarr_format": 2}'
    store["a/.zarray"] = json.dumps(V2_ARRAY).encode()
    group = zarr.open_group(store, mode="r", zarr_format="n5")
    assert group["a"].zarr_format == dict(group.members())["a"].zarr_format == "n5"
    assert zarr.open_group(store, mode="r")["a"].zarr_format == 2


def test_replacing_and_moving_look_at_every_format() -> None:
    store = zarr.MemoryStore()
    group = zarr.open_group(store, mode="w", zarr_format=C)
    group.create_array("a", data=np.arange(1, 5), chunks=(2,))
    store["a/.zarray"] = json.dumps(V2_ARRAY).encode()
    new = zarr.create_array(
        store, name="a", shape=4, chunks=2, dtype="i8", zarr_format=C, overwrite=True
    )
    assert new[:].tolist() == [0, 0, 0, 0]
    assert "a/.zarray" not in store
    zarr.create_array(store, name="x", data=np.arange(3), zarr_format=3)
    group.move("x", "y")
    assert "x" not in group and group["y"][:].tolist() == [0, 1, 2]
    del group["y"]
    assert "y" not in group


def test_an_n5_group_is_not_moved_to_the_name_of_its_document() -> None:
    store = zarr.MemoryStore()
    group = zarr.open_group(store, mode="w", zarr_format="n5")
    group.create_array("a", data=np.arange(3))
    with pytest.raises(UnsupportedError, match="can be named"):
        group.move("a", "new/attributes.json")
    assert list(group) == ["a"]


def test_a_long_path_is_not_refused_for_the_sake_of_other_formats() -> None:
    path = "/".join(["x" * 100] * 10)  # 1,009 bytes: too long for "attributes.json" behind it
    store = zarr.MemoryStore()
    zarr.create_array(store, name=path, data=np.arange(3), zarr_format=3)
    assert zarr.open_array(store, path=path, mode="r")[:].tolist() == [0, 1, 2]


@pytest.mark.parametrize("zarr_format", [2, 3, 0, "n5"])
def test_documents_are_asked_for_once(zarr_format: Any) -> None:
    store = CountingStore(zarr.MemoryStore())
    zarr.create_array(store, shape=3, dtype="i4", zarr_format=zarr_format)
    for opener in (zarr.open, zarr.open_array):
        store.reset()
        opener(store, mode="r")
        asked = store.asked["get"]
        assert len(asked) == len(set(asked)) <= 11
