"""Format 1: its documents, the truth about `order`, its refusals, and the public surface."""

from __future__ import annotations

import bz2
import json
import lzma
import os
import zlib
from pathlib import Path
from typing import Any

import numcodecs.blosc
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import (
    ContainsArrayError,
    MetadataError,
    NodeNotFoundError,
    UnknownCodecError,
    UnsupportedError,
)
from omnizarr.formats import find
from omnizarr.formats.v1.document import V1
from omnizarr.model.array import ArrayModel
from omnizarr.stores import MemoryStore
from tests.acceptance import fixtures

GOOD: dict[str, Any] = {
    "zarr_format": 1,
    "shape": [20, 10],
    "chunks": [6, 4],
    "dtype": "<i4",
    "compression": "blosc",
    "compression_opts": {"cname": "lz4", "clevel": 5, "shuffle": 1},
    "fill_value": 42,
    "order": "C",
}
FILTERS = [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]
LZMA = {"format": 1, "check": 0, "preset": 1, "filters": None}


def parse(document: Any, attributes: Any = None) -> ArrayModel | None:
    documents = {"a/meta": _text(document)}
    if attributes is not None:
        documents["a/attrs"] = _text(attributes)
    node = V1().parse("a", documents)
    assert node is None or isinstance(node, ArrayModel)
    return node


def model_of(**members: Any) -> ArrayModel:
    model = parse({**GOOD, **members})
    assert model is not None
    return model


def _text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def new(**arguments: Any) -> omnizarr.Array:
    """An array of format 1 in memory, (20, 10) unless told otherwise."""
    arguments = {"shape": (20, 10), "chunks": (6, 4), "dtype": "i4", **arguments}
    return omnizarr.create_array(MemoryStore(), zarr_format=1, **arguments)


def document_of(array: omnizarr.Array) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(array.store["meta"])
    return found


# -- documents --------------------------------------------------------------------------------


def test_a_document_becomes_a_model() -> None:
    model = parse(GOOD, {"x": 1, "_ARRAY_DIMENSIONS": ["y", "x"]})
    assert model is not None
    assert (model.shape, model.grid.chunk_shape, model.order) == ((20, 10), (6, 4), "C")
    assert model.dtype == np.dtype("<i4")
    assert model.fill_value == 42
    assert [spec.name for spec in model.codecs] == ["bytes", "numcodecs.blosc"]
    assert model.keys.encoder(2)((1, 2)) == "1.2"
    assert model.attributes["x"] == 1
    assert model.dimension_names == ("y", "x")
    assert V1().chunk_prefix("a", model) == "a/"


def test_unknown_members_are_kept_and_attributes_are_always_there() -> None:
    written = V1().documents("a", model_of(mine=[1]))
    assert json.loads(written["a/meta"]) == {**GOOD, "mine": [1]}
    assert written["a/attrs"] == b"{}"


@pytest.mark.parametrize(
    ("compression", "options", "name", "configuration"),
    [
        ("zlib", 9, "numcodecs.zlib", {"level": 9}),
        ("gzip", 1, "numcodecs.zlib", {"level": 1}),
        ("bz2", 1, "numcodecs.bz2", {"level": 1}),
        ("lzma", LZMA, "numcodecs.lzma", LZMA),
        ("lzma", {**LZMA, "preset": None, "filters": FILTERS}, "numcodecs.lzma",
         {**LZMA, "preset": None, "filters": FILTERS}),
        ("blosc", {"cname": "zstd", "clevel": 1, "shuffle": 2}, "numcodecs.blosc",
         {"cname": "zstd-0.7", "clevel": 1, "shuffle": 2, "blocksize": 0}),
    ],
)  # fmt: skip
def test_compressors(compression: str, options: Any, name: str, configuration: Any) -> None:
    model = model_of(compression=compression, compression_opts=options)
    assert model.codecs[-1].name == name
    assert model.codecs[-1].configuration == configuration
    written = json.loads(V1().documents("", model)["meta"])
    assert (written["compression"], written["compression_opts"]) == (compression, options)


@pytest.mark.parametrize("compression", ["none", None])
def test_no_compressor(compression: Any) -> None:
    model = model_of(compression=compression, compression_opts=None)
    assert [spec.name for spec in model.codecs] == ["bytes"]


@pytest.mark.parametrize(
    "name", ["shape", "chunks", "dtype", "compression", "compression_opts", "fill_value", "order"]
)
def test_every_member_is_mandatory(name: str) -> None:
    document = {key: value for key, value in GOOD.items() if key != name}
    with pytest.raises(MetadataError, match=f"key 'a/meta'.*{name}"):
        parse(document)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"shape": [-1, 10]}, "shape must hold integers"),
        ({"shape": [], "chunks": []}, "no arrays of 0 dimensions"),
        ({"chunks": [0, 4]}, "chunks must hold integers"),
        ({"chunks": [6]}, "1 dimensions"),
        ({"dtype": "|O"}, "fixed size"),
        ({"dtype": "<x4"}, "dtype '<x4'"),
        ({"order": "A"}, "order must be 'C' or 'F'"),
        ({"order": None}, "order must be 'C' or 'F'"),
        ({"order": ["C"]}, "order must be 'C' or 'F'"),
        ({"compression": "lz4"}, "compression must be one of"),
        ({"compression": 1}, "compression must be one of"),
        ({"compression": ["zlib"]}, "compression must be one of"),
        ({"compression": "zlib"}, "compression_opts: expected a level from 0 to 9"),
        ({"compression": "zlib", "compression_opts": 10}, "level from 0 to 9"),
        ({"compression": "zlib", "compression_opts": True}, "level from 0 to 9"),
        ({"compression": "bz2", "compression_opts": 0}, "level from 1 to 9"),
        ({"compression": "lzma", "compression_opts": 1}, "expected an object"),
        ({"compression": "lzma", "compression_opts": {**LZMA, "format": 4}}, "a format from 1"),
        ({"compression": "lzma", "compression_opts": {**LZMA, "check": "x"}}, "a check"),
        ({"compression": "lzma", "compression_opts": {**LZMA, "preset": 10}}, "a preset"),
        ({"compression": "lzma", "compression_opts": {**LZMA, "filters": 1}}, "filters"),
        ({"compression_opts": 5}, "expected an object"),
        ({"compression_opts": {"cname": "lz5", "clevel": 5, "shuffle": 1}}, "cname"),
        ({"compression_opts": {"cname": "lz4", "clevel": -1, "shuffle": 1}}, "clevel"),
        ({"compression_opts": {"cname": "lz4", "clevel": 5, "shuffle": -1}}, "shuffle"),
        ({"fill_value": [1]}, "fill value"),
        ({"fill_value": "x"}, "fill value"),
    ],
)
def test_broken_members(members: dict[str, Any], message: str) -> None:
    with pytest.raises(MetadataError, match=message) as error:
        model_of(**members)
    assert "a/meta" in str(error.value)


def test_an_unknown_compression_is_an_unknown_codec() -> None:
    with pytest.raises(UnknownCodecError):
        model_of(compression="snappy")


@pytest.mark.parametrize(
    "data",
    [
        b"", b"nothing", b"{", b"[1]", b"1", b"\xff\x00", b"{}", b'{"zarr_format": 2}',
        b'{"zarr_format": "1"}', b'{"zarr_format": 1.0}', b'{"zarr_format": true}', b"[" * 1000,
    ],
)  # fmt: skip
def test_a_meta_of_something_else_is_no_array(data: bytes) -> None:
    assert parse(data) is None
    store = MemoryStore()
    store.set("meta", data)
    store.set("attrs", b"nothing")
    assert find(store, "") is None
    with pytest.raises(NodeNotFoundError, match="found meta"):
        omnizarr.open(store, mode="r")
    # And no format may replace it.
    group = omnizarr.open_group(store, mode="a", zarr_format=2)
    assert bytes(store["meta"]) == data
    assert group.metadata.zarr_format == 2


def test_a_node_named_meta_is_no_array() -> None:
    store = MemoryStore()
    group = omnizarr.create_group(store, zarr_format=2)
    group.create_array("meta", shape=3, dtype="i4")
    assert find(store, "meta/0") is None
    del group["meta"]
    store.set("meta/0", b"")
    assert list(group) == []


def test_broken_attributes() -> None:
    for attributes in (b"", b"[]", b"{"):
        with pytest.raises(MetadataError, match="a/attrs"):
            parse(GOOD, attributes)
    assert parse(GOOD) is not None  # without them there are none


WRONG = [
    None, True, 0, -1, 1.5, 10**30, float("nan"), "", "x", "\ud800", [], [[]], [None], [-1],
    [1] * 100, ["x"], [{}], [["a", "<i4"]], {}, {"cname": "lz4"}, LZMA, "lzma", "none", "F",
]  # fmt: skip


@pytest.mark.parametrize("member", sorted(GOOD))
def test_any_value_of_a_member_parses_or_is_refused(member: str) -> None:
    for wrong in WRONG:
        try:
            model = parse({**GOOD, member: wrong})
        except MetadataError:
            continue
        if model is not None:
            again = parse(V1().documents("a", model)["a/meta"])
            assert again is not None
            assert (again.shape, again.dtype, again.codecs) == (
                model.shape, model.dtype, model.codecs,
            )  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=3), st.integers(0, 3)), max_size=4)
)
@settings(max_examples=200)
def test_damaged_documents_raise_nothing_else(damage: list[tuple[int, bytes, int]]) -> None:
    document = json.dumps(GOOD).encode()
    for position, data, length in damage:
        at = position % len(document)
        document = document[:at] + data + document[at + length :]
    try:
        parse(document)
    except MetadataError as error:
        assert "a/meta" in str(error)


# -- the truth about order --------------------------------------------------------------------

VALUES = np.arange(30, dtype="<i4").reshape(6, 5)
DECODERS: dict[str, Any] = {
    "blosc": numcodecs.blosc.decompress,
    "zlib": zlib.decompress,
    "bz2": bz2.decompress,
    "lzma": lzma.decompress,
    "none": bytes,
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("compression", sorted(DECODERS))
def test_column_major_chunks_exist_with_blosc_only(compression: str, order: Any) -> None:
    array = new(shape=(6, 5), chunks=(6, 5), compression=compression, order=order)
    array[...] = VALUES
    assert document_of(array)["order"] == order
    stored = bytes(DECODERS[compression](bytes(array.store["0.0"])))
    really = "F" if order == "F" and compression == "blosc" else "C"
    assert stored == VALUES.tobytes(really)
    again = omnizarr.open_array(array.store, mode="r+")
    assert again.order == order
    assert again[...].flags.f_contiguous == (order == "F")
    assert np.array_equal(again[...], VALUES)
    again[2:4, 1:3] = 0
    assert np.array_equal(array[...], np.where(again[...] == 0, 0, VALUES))


def test_a_pipeline_that_is_column_major_needs_blosc() -> None:
    transpose = {"name": "transpose", "configuration": {"order": [1, 0]}}
    array = new(codecs=[transpose, "bytes", {"id": "blosc", "cname": "lz4"}])
    assert document_of(array)["order"] == "F"
    for compressor in ({"id": "zlib", "level": 1}, {"id": "bz2", "level": 1}):
        with pytest.raises(UnsupportedError, match="with blosc only") as error:
            new(codecs=[transpose, "bytes", compressor])
        assert error.value.what == "codecs"


# -- what cannot be expressed -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"shape": (), "chunks": ()}, "dimensions"),
        ({"shards": (12, 8)}, "shards"),
        ({"compressor": {"id": "blosc", "cname": "zstd"}}, "codecs"),
        ({"compressor": {"id": "blosc", "cname": "snappy"}}, "codecs"),
        ({"compressor": {"id": "blosc", "blocksize": 1024}}, "codecs"),
        ({"compressor": "lz4"}, "codecs"),
        ({"compressors": ["gzip"]}, "codecs"),
        ({"compressors": ["zstd"]}, "codecs"),
        ({"filters": [{"id": "delta", "dtype": "<i4"}]}, "codecs"),
        ({"codecs": ["bytes", "crc32c"]}, "codecs"),
        ({"codecs": [{"name": "transpose", "configuration": {"order": [2, 0, 1]}}],
          "shape": (2, 3, 4), "chunks": (2, 3, 4)}, "codecs"),
        ({"dtype": "<M8[s]", "compression": "blosc"}, "codecs"),
        ({"dtype": [("a", "<m8[s]")], "compression": "blosc"}, "codecs"),
        ({"dtype": str}, "data_type"),
        ({"dtype": [("a", "<i4", (2,))]}, "data_type"),
        ({"dtype": "c8", "fill_value": 1j}, "fill_value"),
        ({"dtype": "S3", "fill_value": b"\xff"}, "fill_value"),
        ({"dimension_names": ("x", None)}, "dimension_names"),
        ({"chunk_key_encoding": "default"}, "chunks"),
    ],
)  # fmt: skip
def test_refusals_name_the_part(arguments: dict[str, Any], what: str) -> None:
    with pytest.raises(UnsupportedError) as error:
        new(**arguments)
    assert error.value.what == what


def test_there_are_no_groups() -> None:
    with pytest.raises(UnsupportedError, match="no groups") as error:
        omnizarr.create_group(MemoryStore(), zarr_format=1)
    assert error.value.what == "groups"


# -- through the public surface ---------------------------------------------------------------


def test_an_array_and_its_keys() -> None:
    array = new(fill_value=42, compression="blosc")
    assert list(array.store) == ["attrs", "meta"]
    assert bytes(array.store["meta"]) == json.dumps(GOOD, indent=4, sort_keys=True).encode()
    assert bytes(array.store["attrs"]) == b"{}"
    array[2:9, 3:5] = 1
    assert list(array.store) == ["0.0", "0.1", "1.0", "1.1", "attrs", "meta"]
    array.attrs["x"] = 1
    assert bytes(array.store["attrs"]) == b'{\n    "x": 1\n}'
    del array.attrs["x"]
    assert bytes(array.store["attrs"]) == b"{}"


@pytest.mark.parametrize(
    ("fill", "text"),
    [(np.nan, "NaN"), (np.inf, "Infinity"), (-np.inf, "-Infinity"), (None, "null")],
)
def test_bare_tokens(fill: Any, text: str) -> None:
    array = new(dtype="f4", fill_value=fill)
    assert f'"fill_value": {text},' in bytes(array.store["meta"]).decode()
    found = omnizarr.open_array(array.store, mode="r")
    expected = np.full((20, 10), 0 if fill is None else fill, "f4")
    assert np.array_equal(found[...], expected, equal_nan=True)


def test_text_is_plain() -> None:
    array = new(dtype="S4", fill_value=b"abcd")
    assert document_of(array)["fill_value"] == "abcd"
    assert omnizarr.open_array(array.store)[0, 0] == b"abcd"


@pytest.mark.parametrize("dtype", ["<M8[ns]", "<m8[s]", [("a", "<M8[s]"), ("b", "<i4")]])
def test_times_are_not_given_to_blosc(dtype: Any) -> None:
    array = new(dtype=dtype, shape=(4,), chunks=(3,))
    assert (document_of(array)["compression"], document_of(array)["compression_opts"]) == (
        "zlib",
        1,
    )
    values = (
        np.arange(4).astype("i8").astype(dtype) if isinstance(dtype, str) else np.zeros(4, dtype)
    )
    array[...] = values
    assert np.array_equal(omnizarr.open_array(array.store)[...], values)


def test_life_of_an_array(tmp_path: Path) -> None:
    path = str(tmp_path / "a.zarr")
    array = omnizarr.open(path, mode="w", shape=(4, 3), chunks=(3, 2), dtype="f8", zarr_format=1)
    expected = np.arange(12, dtype="f8").reshape(4, 3)
    array[...] = expected
    array.append(expected)
    assert np.array_equal(omnizarr.open(path, mode="r")[...], np.vstack([expected, expected]))
    array.resize((5, 2))
    assert sorted(os.listdir(path)) == ["0.0", "1.0", "attrs", "meta"]
    array.attrs["x"] = 1
    assert omnizarr.open(path).attrs.asdict() == {"x": 1}
    with pytest.raises(ContainsArrayError):
        omnizarr.create_array(path, shape=3, dtype="i4", zarr_format=1)
    omnizarr.create_array(path, shape=3, dtype="i4", zarr_format=1, overwrite=True)
    assert sorted(os.listdir(path)) == ["attrs", "meta"]
    assert omnizarr.open(path).attrs.asdict() == {}
    omnizarr.create_array(path, shape=3, dtype="i4", zarr_format=0, overwrite=True)
    assert sorted(os.listdir(path)) == ["__zdata__", "__zmeta__"]


def test_a_directory_of_arrays(tmp_path: Path) -> None:
    for name in ("a", "b/meta"):
        omnizarr.create_array(str(tmp_path), name=name, data=np.arange(4), zarr_format=1)
    assert omnizarr.open(str(tmp_path / "b" / "meta"))[...].tolist() == [0, 1, 2, 3]
    assert omnizarr.open(str(tmp_path), path="b/meta")[...].tolist() == [0, 1, 2, 3]
    with pytest.raises(ContainsArrayError):
        omnizarr.create_array(str(tmp_path), name="a/x", shape=1, dtype="i2", zarr_format=1)


# -- the keywords of those days ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "compression", "options"),
    [
        ({}, "zlib", 1),  # it carries a checksum
        ({"compression": "default"}, "zlib", 1),
        ({"order": "F"}, "blosc", GOOD["compression_opts"]),
        ({"compression": "blosc"}, "blosc", GOOD["compression_opts"]),
        ({"compression_opts": {"clevel": 1}}, "blosc", {**GOOD["compression_opts"], "clevel": 1}),
        ({"compression": "zlib"}, "zlib", 1),
        ({"compression": "gzip", "compression_opts": 3}, "zlib", 3),
        ({"compression": "bz2", "compression_opts": 9}, "bz2", 9),
        ({"compression": "lzma"}, "lzma", LZMA),
        ({"compression": "lzma", "compression_opts": {"check": 4}}, "lzma", {**LZMA, "check": 4}),
        ({"compression": "lzma", "compression_opts": {"filters": FILTERS}}, "lzma",
         {**LZMA, "preset": None, "filters": FILTERS}),
        ({"compression": "none"}, "none", None),
        ({"compression": None}, "none", None),
        ({"compressor": None}, "none", None),
        ({"compressor": {"id": "zlib", "level": -1}}, "zlib", 6),
        ({"compressor": {"id": "lzma", "preset": 3}}, "lzma", {**LZMA, "check": 4, "preset": 3}),
        ({"cname": "zlib"}, "blosc", {"cname": "zlib", "clevel": 5, "shuffle": 1}),
    ],
)  # fmt: skip
def test_keywords(arguments: dict[str, Any], compression: str, options: Any) -> None:
    array = new(**arguments)
    document = document_of(array)
    assert (document["compression"], document["compression_opts"]) == (compression, options)
    array[...] = 7
    assert np.array_equal(omnizarr.open_array(array.store)[...], np.full((20, 10), 7))


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("compression", ["blosc", "zlib", "bz2", "lzma", "none", "default"])
def test_keywords_work_in_newer_formats(zarr_format: int, compression: str) -> None:
    array = omnizarr.create((10,), dtype="f8", compression=compression, zarr_format=zarr_format)
    array[...] = np.arange(10)
    assert np.array_equal(array[...], np.arange(10))
    assert bool(array.compressors) == (compression != "none")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"compression": "zlib", "compressor": None}, TypeError),
        ({"compression": "zlib", "compressors": None}, TypeError),
        ({"compression": "zlib", "codecs": ["bytes"]}, TypeError),
        ({"compression": "zlib", "clevel": 1}, TypeError),
        ({"compression": "snappy"}, MetadataError),
        ({"compression": 4}, MetadataError),
        ({"compression": "zlib", "compression_opts": {"levl": 1}}, MetadataError),
        ({"compression": "blosc", "compression_opts": 4}, MetadataError),
        ({"compression": "none", "compression_opts": 4}, MetadataError),
        ({"compression": "zlib", "compression_opts": 11}, MetadataError),
        ({"compresion": "zlib"}, TypeError),
    ],
)
def test_wrong_keywords(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        new(**arguments)


# -- fixtures ---------------------------------------------------------------------------------


def test_every_fixture_reads() -> None:
    rows = [row for row in fixtures.rows() if row.format.startswith("v1")]
    assert len(rows) == 54
    for row in rows:
        array = omnizarr.open(str(fixtures.unpacked(row.source) / row.store), mode="r")
        assert isinstance(array, omnizarr.Array)
        assert array.metadata.zarr_format == 1
        assert fixtures.difference(row, array[...]) is None, row.path
