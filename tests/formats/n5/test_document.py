"""N5: documents, detection, what it cannot express, and life through the public interface."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import (
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    UnknownCodecError,
    UnsupportedError,
)
from omnizarr.formats import find, get_format
from omnizarr.formats.base import ArrayRequest
from omnizarr.formats.n5.document import N5, TYPES
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import CodecSpec
from omnizarr.model.dtypes import from_numpy
from omnizarr.model.store import Buffer, ByteRange, Listing
from omnizarr.stores import MemoryStore
from tests.formats.test_hostile import MISSING, WRONG, places, replaced

FORMAT = N5()
DATASET: dict[str, Any] = {
    "dimensions": [100, 20, 3],
    "blockSize": [64, 10, 3],
    "dataType": "uint16",
    "compression": {"type": "gzip", "level": 6},
}


class Counting(MemoryStore):
    batches = 0
    listings = 0

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        self.batches += 1
        return super().get_many(requests)

    def list_dir(self, prefix: str) -> Listing:
        self.listings += 1
        return super().list_dir(prefix)


def store_with(**documents: Any) -> Counting:
    """A store of documents, by path ("root" is the root)."""
    store = Counting()
    for path, document in documents.items():
        key = "attributes.json" if path == "root" else f"{path}/attributes.json"
        store.set(key, json.dumps(document).encode())
    return store


def parsed(document: Any) -> ArrayModel:
    node = FORMAT.parse("", {"attributes.json": json.dumps(document).encode()})
    assert isinstance(node, ArrayModel)
    return node


def request(**changes: Any) -> ArrayRequest:
    given = {"shape": (20, 10), "chunks": (5, 5), "data_type": from_numpy(np.dtype("i4"))}
    return ArrayRequest(**{**given, **changes})


def compressor_of(model: ArrayModel) -> Any:
    inner = model.codecs[-1].configuration["codecs"]
    return inner[2] if len(inner) > 2 else None


# -- reading documents ------------------------------------------------------------------------
def test_a_dataset() -> None:
    model = parsed({**DATASET, "n5": "4.0.0", "resolution": [4, 4, 40], "units": "nm"})
    assert model.shape == (3, 20, 100)
    assert model.grid.chunk_shape == (3, 10, 64)
    assert model.keys.encoder(3)((0, 1, 2)) == "2/1/0"
    assert model.dtype == np.dtype("u2")
    assert model.fill == 0
    assert model.attributes == {"resolution": [4, 4, 40], "units": "nm"}
    assert [spec.name for spec in model.codecs] == ["transpose", "n5_default"]
    assert compressor_of(model) == {"name": "gzip", "configuration": {"level": 6}}


@pytest.mark.parametrize("name", [*TYPES, "bool", "float16"])
def test_data_types(name: str) -> None:
    assert parsed({**DATASET, "dataType": name}).dtype == np.dtype(name)


@pytest.mark.parametrize(
    ("compression", "expected"),
    [
        ({"type": "raw"}, None),
        ({"type": "gzip"}, ("gzip", {"level": -1})),
        ({"type": "gzip", "level": 3, "useZlib": False}, ("gzip", {"level": 3})),
        ({"type": "gzip", "level": 3, "useZlib": True}, ("numcodecs.zlib", {"level": 3})),
        ({"type": "bzip2"}, ("numcodecs.bz2", {"level": 9})),
        ({"type": "bzip2", "blockSize": 2}, ("numcodecs.bz2", {"level": 2})),
        ({"type": "xz"}, ("numcodecs.lzma", {"format": 1, "check": -1, "preset": 6})),
        (
            {"type": "lzma", "format": 3, "check": -1, "filters": [{"id": 33}]},
            ("numcodecs.lzma", {"format": 3, "check": -1, "filters": [{"id": 33}]}),
        ),
        (
            {"type": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "nthreads": 8},
            (
                "blosc",
                {
                    "typesize": 2,
                    "cname": "zstd",
                    "clevel": 3,
                    "shuffle": "bitshuffle",
                    "blocksize": 0,
                },
            ),
        ),
        ({"type": "zstd", "level": 5}, ("zstd", {"level": 5, "checksum": True})),
        (
            {"type": "zstd", "id": "zstd", "level": 5, "checksum": False},
            ("zstd", {"level": 5, "checksum": True}),
        ),
        ({"type": "lz4"}, ("n5_lz4", None)),
        ({"type": "lz4", "blockSize": 65536}, ("n5_lz4", {"blockSize": 65536})),
        (
            {"type": "lz4", "id": "lz4", "acceleration": 2},
            ("numcodecs.lz4", {"acceleration": 2}),
        ),
        ({"type": "zfpy", "id": "zfpy", "mode": 4}, ("numcodecs.zfpy", {"mode": 4})),
        ({"type": "jpeg", "quality": 90}, ("n5_jpeg", {"quality": 90})),
    ],
)
def test_compressions(compression: dict[str, Any], expected: Any) -> None:
    model = parsed({**DATASET, "compression": compression})
    found = compressor_of(model)
    if expected is None:
        assert found is None
    else:
        assert (found["name"], found.get("configuration")) == expected
    # What is stored stays as it is when the document is rewritten.
    written = json.loads(FORMAT.documents("a", model)["a/attributes.json"])
    assert written["compression"] == compression


def test_an_unknown_compression() -> None:
    store = store_with(root={"n5": "2.0.0"}, a={**DATASET, "compression": {"type": "jpeg"}})
    assert list(zarr.open_group(store, mode="r")) == ["a"]
    with pytest.raises(
        UnknownCodecError, match=r"key 'a/attributes.json': unknown codec 'n5_jpeg'"
    ):
        zarr.open_array(store, path="a", mode="r")


@pytest.mark.parametrize("name", ["raw", "gzip", "bzip2", "xz", "lz4"])
def test_version_1_names_a_compression_alone(name: str) -> None:
    old = {key: value for key, value in DATASET.items() if key != "compression"}
    model = parsed({**old, "compressionType": name})
    assert model.codecs == parsed({**DATASET, "compression": {"type": name}}).codecs
    written = json.loads(FORMAT.documents("a", model)["a/attributes.json"])
    assert written == {**old, "compressionType": name}


def test_block_size() -> None:
    without = {key: value for key, value in DATASET.items() if key != "blockSize"}
    assert parsed(without).grid.chunk_shape == (3, 20, 100)
    empty = parsed({**DATASET, "dimensions": [3, 0, 2], "blockSize": [2, 0, 2]})
    assert (empty.shape, empty.grid.chunk_shape) == ((2, 0, 3), (2, 1, 2))


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, None),
        ({"axes": ["x", "y", "z"]}, ("z", "y", "x")),
        ({"axes": ["x", "", "z"]}, ("z", None, "x")),
        ({"axes": ["", "", ""]}, None),
        ({"axes": ["x", "y"]}, None),
        ({"axes": ["x", "y", 3]}, None),
        ({"axes": [{"name": "x"}] * 3}, None),
        ({"axes": "xyz"}, None),
        ({"axes": ["x", "y", "z"], "_ARRAY_DIMENSIONS": ["t", "u", "v"]}, ("t", "u", "v")),
    ],
)
def test_dimension_names(attributes: dict[str, Any], expected: Any) -> None:
    model = parsed({**DATASET, **attributes})
    assert model.dimension_names == expected
    assert model.attributes == attributes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimensions": 5}, "dimensions must be a list of integers"),
        ({"dimensions": [1, -1, 2]}, "dimensions must hold integers from 0"),
        ({"blockSize": [1, 2]}, "blockSize has 2 dimensions, dimensions has 3"),
        ({"blockSize": [1, 2, 0]}, "every chunk length must be at least 1"),
        ({"blockSize": "x"}, "blockSize must be a list"),
        ({"dataType": "int128"}, "dataType must be one of 'int8'"),
        ({"dataType": ["int8"]}, "dataType must be one of 'int8'"),
        ({"dataType": "complex64"}, "dataType must be one of 'int8'"),
        ({"compression": None}, "compression must be an object"),
        ({"compression": 5}, "compression must be an object"),
        ({"compression": {}}, "a type that is a string"),
        ({"compression": {"type": "blosc", "shuffle": 7}}, "shuffle must be one of"),
        ({"n5": "5.0.0"}, "N5 of version '5.0.0'; versions 1 to 4 are known"),
        ({"n5": "0.1.0"}, "N5 of version"),
        ({"n5": 4}, "n5 must be a version such as '2.0.0', found 4"),
        ({"n5": "x"}, "n5 must be a version"),
        ({"n5": "9" * 5000}, "n5 must be a version"),
    ],
)
def test_broken_documents(change: dict[str, Any], message: str) -> None:
    store = store_with(root={"n5": "4.0.0"}, a={**DATASET, **change})
    with pytest.raises(MetadataError, match=message) as caught:
        find(store, "a")
    assert str(caught.value).startswith(f"{store!r}, key 'a/attributes.json': ")
    with pytest.raises(MetadataError, match=message):
        FORMAT.children(store, "")


def test_broken_json() -> None:
    store = store_with(root={"n5": "4.0.0"})
    store.set("a/attributes.json", b"{")
    with pytest.raises(MetadataError, match=r"key 'a/attributes.json': invalid JSON"):
        find(store, "a")
    store.set("a/attributes.json", b"[1]")
    with pytest.raises(MetadataError, match=r"key 'a/attributes.json': the document must be"):
        find(store, "a")
    store.set("attributes.json", b'{"n5": "4.0')
    with pytest.raises(MetadataError, match=r"key 'attributes.json': invalid JSON"):
        find(store, "")
    store.set("attributes.json", b"other software's")
    assert find(store, "") is None


def test_hostile_documents() -> None:
    """Every member replaced by every kind of wrong value: MetadataError, a model, or no node."""
    stored = {**DATASET, "n5": "4.0.0", "axes": ["x", "y", "z"]}
    outcomes = set()
    for place in places(stored):
        for value in (*WRONG, MISSING):
            data = json.dumps(replaced(stored, place, value)).encode()
            try:
                node = FORMAT.parse("", {"attributes.json": data})
            except MetadataError as error:
                assert str(error).startswith("key 'attributes.json': ")
                outcomes.add("refused")
                continue
            outcomes.add(type(node).__name__)
            if isinstance(node, ArrayModel):
                again = FORMAT.parse("", FORMAT.documents("", node))
                assert isinstance(again, ArrayModel)
                assert (again.codecs, again.grid) == (node.codecs, node.grid)
                assert (again.data_type, again.attributes) == (node.data_type, node.attributes)
    assert outcomes == {"refused", "ArrayModel", "GroupModel"}


# -- finding nodes ----------------------------------------------------------------------------
def test_nodes_are_found_without_a_listing() -> None:
    store = store_with(
        root={"n5": "2.0.0", "title": "t"}, g={"x": 1}, d=DATASET, own={"n5": "1.0.0"}
    )
    for path, kind in (("", GroupModel), ("g", GroupModel), ("own", GroupModel), ("d", ArrayModel)):
        store.batches = 0
        found = find(store, path)
        assert found is not None
        assert found[0].name == "n5"
        assert isinstance(found[1], kind)
        assert store.batches == 3
    assert store.listings == 0


def test_a_dataset_needs_no_root() -> None:
    for path in ("root", "a"):
        found = find(store_with(**{path: DATASET}), "" if path == "root" else path)
        assert found is not None
        assert isinstance(found[1], ArrayModel)


@pytest.mark.parametrize(
    "document", [{}, {"x": 1}, {"dimensions": [1]}, {"dataType": "int8"}, [], 5, None, "n5"]
)
def test_attributes_json_of_others(document: Any) -> None:
    assert find(store_with(root=document), "") is None
    store = store_with(a=document, root={"x": 1})
    store.set("a/b/c", b"x")
    assert find(store, "a") is None
    assert find(store, "a/b") is None
    assert store.listings == 0


def test_members_of_datasets_in_a_group_are_attributes() -> None:
    """Java takes a group for a dataset if it has dimensions and a data type."""
    store = store_with(root={"n5": "2.0.0"}, g={"dimensions": [3], "compression": "none", "x": 1})
    group = zarr.open_group(store, path="g")
    assert dict(group.attrs) == {"dimensions": [3], "compression": "none", "x": 1}
    group.attrs["y"] = 2
    assert json.loads(store["g/attributes.json"]) == {
        "dimensions": [3],
        "compression": "none",
        "x": 1,
        "y": 2,
    }
    with pytest.raises(UnsupportedError, match="'dimensions'; rename it"):
        group.attrs["dimensions"] = [4]
    del group.attrs["dimensions"]
    assert "dimensions" not in json.loads(store["g/attributes.json"])


def test_bare_groups() -> None:
    store = store_with(root={"n5": "2.0.0"}, **{"a/b/d": DATASET, "a/e": {"x": 1}})
    store.set("a/b/d/0/0/1", b"x")
    store.set("v3/zarr.json", b"{}")
    store.set("v2/deep/x/.zarray", b"{}")
    for path in ("a", "a/b"):
        found = find(store, path)
        assert found is not None
        assert isinstance(found[1], GroupModel)
    for path in ("a/b/d/0", "a/b/d/0/0", "a/f", "a/b/f"):
        assert find(store, path) is None
    root = zarr.open_group(store, mode="r")
    assert list(root) == ["a", "v2"]
    assert list(root["a"]) == ["b", "e"]
    assert [name for name, _ in root["a/b"].arrays()] == ["d"]
    assert find(store, "v2/deep") is not None


def test_below_a_root_dataset_lies_nothing() -> None:
    store = store_with(root={**DATASET, "n5": "2.0.0"})
    store.set("0/0/0", b"x")
    assert find(store, "0") is None
    assert find(store, "0/0") is None


def test_an_empty_directory_is_no_node(tmp_path: Path) -> None:
    zarr.open_group(tmp_path, mode="w", zarr_format="n5")
    (tmp_path / "empty").mkdir()
    assert list(zarr.open_group(tmp_path, mode="r")) == []
    with pytest.raises(NodeNotFoundError):
        zarr.open(tmp_path, path="empty", mode="r")


def test_a_root_of_another_version() -> None:
    store = store_with(root={"n5": "7.0.0"})
    for path in ("", "a"):
        with pytest.raises(MetadataError, match=r"key 'attributes.json': N5 of version '7.0.0'"):
            find(store, path)


def test_a_store_that_cannot_be_listed() -> None:
    class Silent(Counting):
        capabilities = replace(MemoryStore.capabilities, listable=False)

    store = Silent()
    store.set("attributes.json", b'{"n5": "2.0.0"}')
    store.set("a/b/attributes.json", json.dumps(DATASET).encode())
    assert find(store, "a") is None
    assert find(store, "a/b") is not None
    assert store.listings == 0


# -- what it cannot express -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "what"),
    [
        *(
            ({"data_type": from_numpy(dtype)}, "data_type")
            for dtype in ("?", "f2", "c8", "S3", "<M8[s]", "V4", str, [("a", "i4")])
        ),
        ({"fill_value": 1}, "fill_value"),
        ({"data_type": from_numpy("f4"), "fill_value": float("nan")}, "fill_value"),
        ({"data_type": from_numpy("f4"), "fill_value": -0.0}, "fill_value"),
        ({"shards": (10, 10)}, "shards"),
        ({"chunks": ((10, 10), 5)}, "chunks"),
        ({"chunks": (2**31, 5)}, "chunks"),
        ({"order": "F"}, "codecs"),
        ({"filters": [CodecSpec("numcodecs.delta", {"dtype": "<i4"})]}, "codecs"),
        ({"compressors": [CodecSpec("gzip"), CodecSpec("crc32c")]}, "codecs"),
        ({"compressors": [CodecSpec("crc32c")]}, "codecs"),
        ({"compressors": [CodecSpec("numcodecs.lzma", {"format": 2})]}, "codecs"),
        ({"serializer": CodecSpec("numcodecs.pcodec")}, "codecs"),
        ({"codecs": [CodecSpec("transpose", {"order": [1, 0]}), CodecSpec("bytes")]}, "codecs"),
        ({"codecs": [CodecSpec("n5_default", {"codecs": []})]}, "codecs"),
        ({"dimension_names": ("y", None)}, "dimension_names"),
        ({"attributes": {"dimensions": [1]}}, "attributes"),
        ({"attributes": {"n5": "x"}}, "attributes"),
        ({"key_encoding": "default"}, None),
    ],
)
def test_refusals(changes: dict[str, Any], what: str | None) -> None:
    with pytest.raises(UnsupportedError) as caught:
        FORMAT.new_array(request(**changes))
    assert caught.value.what == what


def test_arguments_that_are_none() -> None:
    with pytest.raises(MetadataError, match="does not fit the data type 'int32'"):
        FORMAT.new_array(request(fill_value="x"))
    with pytest.raises(MetadataError, match="chunk shape"):
        FORMAT.new_array(request(chunks=(5,)))


@pytest.mark.parametrize("name", ["n5", "blockSize", "compressionType"])
def test_reserved_attributes(name: str) -> None:
    store = MemoryStore()
    group = zarr.open_group(store, mode="w", zarr_format="n5")
    array = group.create_array("a", shape=(4,), dtype="i4")
    before = dict(store.items())
    for node in (group, array):
        with pytest.raises(UnsupportedError, match=f"cannot be called '{name}'; rename it"):
            node.attrs[name] = "x"
    with pytest.raises(UnsupportedError, match="rename it"):
        group.create_group("b", attributes={name: 1})
    assert dict(store.items()) == before


def test_a_node_named_like_its_document() -> None:
    group = zarr.open_group(MemoryStore(), mode="w", zarr_format="n5")
    for name in ("attributes.json", "attributes.json/x"):
        with pytest.raises(UnsupportedError, match="choose another name") as caught:
            group.create_group(name)
        assert caught.value.what == "name"


def test_other_documents_are_not_replaced() -> None:
    store = store_with(root={"mine": 1}, a=[1])
    for path in ("", "a", "b/c"):
        with pytest.raises(NodeExistsError, match=r"attributes\.json"):
            zarr.create_array(store, name=path or None, shape=(2,), dtype="i4", zarr_format="n5")
    assert json.loads(store["attributes.json"]) == {"mine": 1}


def test_the_format_by_name() -> None:
    assert get_format("n5").name == "n5"
