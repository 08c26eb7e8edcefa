"""Format 2: every form that document 000 defines, and those that real writers produced."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from omnizarr.errors import MetadataError, UnknownDataTypeError, UnsupportedError
from omnizarr.formats import get_format
from omnizarr.formats.base import ArrayRequest
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import CodecSpec
from omnizarr.model.dtypes import Bytes, Object, String, from_json, from_numpy
from omnizarr.stores import MemoryStore

V2 = get_format(2)

EXAMPLE = """{
    "chunks": [
        10,
        10
    ],
    "compressor": {
        "id": "zlib",
        "level": 1
    },
    "dtype": "<i4",
    "fill_value": 42,
    "filters": null,
    "order": "C",
    "shape": [
        20,
        20
    ],
    "zarr_format": 2
}"""


def document(**members: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "zarr_format": 2,
        "shape": [20, 20],
        "chunks": [10, 10],
        "dtype": "<f8",
        "compressor": None,
        "fill_value": None,
        "order": "C",
        "filters": None,
    }
    return {**base, **members}


def parse(attributes: Any = None, /, **members: Any) -> ArrayModel:
    documents = {"a/.zarray": json.dumps(document(**members)).encode()}
    if attributes is not None:
        documents["a/.zattrs"] = json.dumps(attributes).encode()
    model = V2.parse("a", documents)
    assert isinstance(model, ArrayModel)
    return model


def request(**arguments: Any) -> ArrayRequest:
    base: dict[str, Any] = {"shape": (20, 20), "data_type": from_numpy("i4"), "chunks": (10, 10)}
    return ArrayRequest(**{**base, **arguments})


def written(model: ArrayModel) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(V2.documents("", model)[".zarray"])
    return found


# -- documents ---------------------------------------------------------------------------------


def test_the_example_of_document_000_is_written_verbatim() -> None:
    model = V2.new_array(
        request(fill_value=42, compressors=[CodecSpec("numcodecs.zlib", {"level": 1})])
    )
    assert V2.documents("", model) == {".zarray": EXAMPLE.encode()}
    model = replace(model, attributes={"foo": 42, "bar": "apples", "baz": [1, 2]})
    assert V2.documents("x", model, attributes_only=True) == {
        "x/.zattrs": b'{\n    "bar": "apples",\n    "baz": [\n        1,\n        2\n    ],\n'
        b'    "foo": 42\n}'
    }
    assert V2.documents("foo", V2.new_group({})) == {"foo/.zgroup": b'{\n    "zarr_format": 2\n}'}


def test_the_example_of_document_000_is_read() -> None:
    model = V2.parse("", {".zarray": EXAMPLE.encode()})
    assert isinstance(model, ArrayModel)
    assert (model.shape, model.grid.chunk_shape) == ((20, 20), (10, 10))
    assert model.dtype == np.dtype("<i4")
    assert model.fill_value == np.int32(42)
    assert model.codecs == (CodecSpec("bytes", {}), CodecSpec("numcodecs.zlib", {"level": 1}))
    assert model.attributes == {}


def test_an_array_beside_a_group_wins() -> None:
    documents = {".zarray": EXAMPLE.encode(), ".zgroup": b'{"zarr_format": 2}'}
    assert isinstance(V2.parse("", documents), ArrayModel)


def test_a_group_and_its_attributes() -> None:
    group = V2.parse("", {".zgroup": b'{"zarr_format":2,"extra":1}', ".zattrs": b'{"a": NaN}'})
    assert isinstance(group, GroupModel)
    assert list(group.attributes) == ["a"]
    assert json.loads(V2.documents("", group)[".zgroup"]) == {"zarr_format": 2, "extra": 1}


def test_nothing_here() -> None:
    assert V2.parse("", {}) is None
    assert V2.parse("", {".zattrs": b"{}"}) is None
    assert V2.parse("a", {".zarray": EXAMPLE.encode()}) is None


def test_rewriting_keeps_what_is_not_known() -> None:
    stored = document(
        _NCZARR_ARRAY={"dimrefs": ["/x"]},
        dimension_separator=".",
        filters=[{"id": "shuffle", "elementsize": 0}, {"id": "zlib", "level": 4}],
        compressor={"id": "fletcher32"},
        dtype=">f4",
        fill_value=9.96921e36,
    )
    model = V2.parse("", {".zarray": json.dumps(stored).encode()})
    assert isinstance(model, ArrayModel)
    assert written(model) == stored
    grown = replace(model, shape=(40, 20), grid=model.grid.resized((40, 20)))
    assert written(grown) == {**stored, "shape": [40, 20]}
    assert written(replace(model, fill_value=np.float32(1)))["fill_value"] == 1.0


def test_optional_members_may_be_missing() -> None:
    stored = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i2"}
    model = V2.parse("", {".zarray": json.dumps(stored).encode()})
    assert isinstance(model, ArrayModel)
    assert model.fill_value is None
    assert model.fill == 0
    assert model.codecs == (CodecSpec("bytes", {}),)
    assert model.order == "C"


def test_a_shape_may_be_a_number() -> None:
    assert parse(shape=2, chunks=2).shape == (2,)


def test_zero_dimensions_and_zero_lengths() -> None:
    assert parse(shape=[], chunks=[]).grid.nchunks == 1
    assert parse(shape=[0, 5], chunks=[1, 5]).grid.nchunks == 0


def test_huge_shapes_stay_exact() -> None:
    model = parse(shape=[10**18, 10**18], chunks=[1, 1])
    assert model.grid.nchunks == 10**36


# -- data types --------------------------------------------------------------------------------


SIMPLE = "|b1 |i1 |u1 <i2 >i4 <u8 <f2 >f8 <c8 >c16 |S12 <U5 >U5 |V3 <M8[ns] >M8[D] <m8[25s]"


@pytest.mark.parametrize("dtype", SIMPLE.split())
def test_simple_dtypes(dtype: str) -> None:
    model = parse(dtype=dtype)
    assert model.dtype == np.dtype(dtype)
    assert written(model)["dtype"] == dtype
    new = V2.new_array(request(data_type=from_numpy(dtype)))
    assert written(new)["dtype"] == np.dtype(dtype).str


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("<u1", "u1"),
        ("<i1", "i1"),
        (">S1", "S1"),
        ("<b1", "?"),
        ([["r", "|u1"], ["g", "|u1"]], [("r", "u1"), ("g", "u1")]),
        ([["x", "<f4"], ["z", "<f4", [2, 2]]], [("x", "<f4"), ("z", "<f4", (2, 2))]),
        (
            [["foo", "<f4"], ["bar", [["baz", "<f4"], ["qux", ">i4"]]]],
            [("foo", "<f4"), ("bar", [("baz", "<f4"), ("qux", ">i4")])],
        ),
        (
            [["a", "<i4"], ["u", "<U2"], ["t", "<M8[s]"]],
            [("a", "<i4"), ("u", "<U2"), ("t", "<M8[s]")],
        ),
    ],
)
def test_other_dtypes(dtype: Any, expected: Any) -> None:
    assert parse(dtype=dtype).dtype == np.dtype(expected)


def test_padding_comes_back() -> None:
    aligned = np.dtype([("a", "u1"), ("b", "<f8"), ("c", "u1")], align=True)
    model = V2.new_array(request(data_type=from_numpy(aligned)))
    stored = written(model)
    assert stored["dtype"] == [
        ["a", "|u1"],
        ["", "|V7"],
        ["b", "<f8"],
        ["c", "|u1"],
        ["", "|V7"],
    ]
    again = parse(dtype=stored["dtype"])
    assert again.dtype == aligned
    assert again.dtype.names == ("a", "b", "c")


def test_new_records_with_objects_have_no_fill_value() -> None:
    model = V2.new_array(
        request(
            data_type=from_numpy([("a", "<i4"), ("s", "O")]),
            filters=[CodecSpec("numcodecs.json2", {})],
        )
    )
    assert written(model)["fill_value"] is None
    assert written(model)["dtype"] == [["a", "<i4"], ["s", "|O"]]


def test_objects_in_records() -> None:
    model = parse(dtype=[["a", "<i4"], ["s", "|O"]], filters=[{"id": "pickle", "protocol": 5}])
    assert model.data_type.variable
    assert model.dtype == np.dtype([("a", "<i4"), ("s", "O")])
    assert model.codecs == (CodecSpec("numcodecs.pickle", {"protocol": 5}),)
    filled = parse(
        dtype=[["a", "<i4"], ["s", "|O"]],
        filters=[{"id": "json2"}],
        fill_value="W1swLCAwXSwgInxWMTIiLCBbXV0=",  # [[0, 0], "|V12", []]
    )
    assert filled.fill_value.item() == (0, 0)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4"])
def test_bare_names(name: str) -> None:
    assert parse(dtype=name).data_type.name == name
    assert written(V2.new_array(request(data_type=from_numpy(name))))["dtype"] == name


@pytest.mark.parametrize(
    "dtype",
    [
        "",
        "<z4",
        "i4,i4",
        "(2,)<i4",
        "<M8[fortnight]",
        "<M8[0generic]",
        "|S0",
        "<U0",
        "|V0",
        "<f3",
        "<i16",
        "float64",
        "<U999999999999",
        "|S99999999999999999999",
    ],
)
def test_unknown_dtypes(dtype: str) -> None:
    with pytest.raises(UnknownDataTypeError) as caught:
        parse(dtype=dtype)
    assert str(caught.value).startswith("key 'a/.zarray': dtype")


@pytest.mark.parametrize("dtype", ["<f16", "<c32", [[["title", "a"], "<i4"]]])
def test_unsupported_dtypes(dtype: Any) -> None:
    with pytest.raises(UnsupportedError):
        parse(dtype=dtype)


@pytest.mark.parametrize("dtype", ["<M8", ">m8[3generic]"])
def test_a_time_without_unit_is_read_and_cannot_be_created(dtype: str) -> None:
    assert parse(dtype=dtype).data_type.numpy == np.dtype(dtype)
    with pytest.raises(UnsupportedError, match="unit"):
        V2.new_array(request(data_type=from_numpy(np.dtype(dtype))))


# -- fill values -------------------------------------------------------------------------------

READ = [
    ("<f8", "NaN", np.float64("nan")),
    ("<f8", "-Infinity", np.float64("-inf")),
    ("<f8", 0, np.float64(0)),
    ("<f8", -0.0, np.float64(-0.0)),
    ("<f8", float("nan"), np.float64("nan")),  # a bare NaN token
    ("<f4", [9.5], np.float32(9.5)),  # netcdf-c 4.8.0
    ("<i2", [-32767], np.int16(-32767)),
    ("<i4", 0.0, np.int32(0)),  # z5py
    ("|u1", "0", np.uint8(0)),  # n5-zarr
    ("<i8", 9007199254740993, np.int64(9007199254740993)),
    ("<u8", 18446744073709551615, np.uint64(18446744073709551615)),
    ("|b1", False, np.False_),
    ("|b1", 0, np.False_),
    ("<c8", [1.0, "NaN"], np.complex64(complex(1, float("nan")))),
    ("<c16", 0, np.complex128(0)),
    ("|S3", "YWI=", np.bytes_(b"ab")),
    ("|S3", "//4=", np.bytes_(b"\xff\xfe")),
    ("|S3", "", np.bytes_(b"")),
    ("|S3", 0, np.bytes_(b"")),
    ("|S3", "a!", np.bytes_(b"a!")),  # zarr 2.0 wrote the text itself
    ("<U4", "aé", np.str_("aé")),
    ("<U4", 0, np.str_("")),
    ("|V3", "YWJj", np.void(b"abc")),
    ("|V3", 0, np.void(b"\0\0\0")),
    ("<M8[D]", 10957, np.datetime64("2000-01-01")),
    ("<M8[D]", "2000-01-01", np.datetime64("2000-01-01")),
    ("<M8[D]", "NaT", np.datetime64("NaT", "D")),
    ("<m8[s]", -(2**63), np.timedelta64("NaT", "s")),
]


@pytest.mark.parametrize(("dtype", "stored", "expected"), READ)
def test_fill_values_are_read(dtype: str, stored: Any, expected: Any) -> None:
    model = parse(dtype=dtype, fill_value=stored)
    assert type(model.fill_value) is type(expected)
    assert repr(model.fill_value) == repr(expected)
    # Whatever the form, it stays until the value changes, unless it was no JSON.
    kept = "NaN" if repr(stored) == "nan" else stored
    assert repr(written(model)["fill_value"]) == repr(kept)


@pytest.mark.parametrize(
    ("dtype", "value", "stored"),
    [
        ("<f8", float("nan"), "NaN"),
        ("<f8", float("inf"), "Infinity"),
        ("<f8", -0.0, -0.0),
        ("<i4", 0, 0),
        ("|b1", True, True),
        ("<c8", complex(1, float("-inf")), [1.0, "-Infinity"]),
        ("|S3", b"ab", "YWI="),
        ("<U3", "aé", "aé"),
        ("|V3", b"abc", "YWJj"),
        ("<M8[D]", "2000-01-01", 10957),
        ("<M8[D]", "NaT", -(2**63)),
        ([("a", "<i4"), ("b", "<f8")], (1, 2.5), "AQAAAAAAAAAAAARA"),
        ("<f8", None, None),
        (str, "n/a", "n/a"),
        (bytes, b"ab", "YWI="),
    ],
)
def test_fill_values_are_written(dtype: Any, value: Any, stored: Any) -> None:
    model = V2.new_array(request(data_type=from_numpy(dtype), fill_value=value))
    assert repr(written(model)["fill_value"]) == repr(stored)


def test_null_reads_as_zero_and_stays_null() -> None:
    model = parse(fill_value=None)
    assert model.fill_value is None
    assert model.fill == 0.0
    assert written(model)["fill_value"] is None


def test_record_fill_values() -> None:
    fields = [["a", "<i4"], ["b", "<f8"], ["c", "|S3"]]
    assert parse(dtype=fields, fill_value="AQAAAAAAAAAAAARAeHkA").fill_value.item() == (
        1,
        2.5,
        b"xy",
    )
    assert parse(dtype=fields, fill_value=0).fill_value.item() == (0, 0.0, b"")


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [
        ("<i4", 2**31),
        ("<i4", 1.5),
        ("<i4", "x"),
        ("<i4", {}),
        ("<f8", "nonsense"),
        ("<c8", ["a", "b"]),
        ("<c8", [1, 2, 3]),
        ("|S2", "abcdefg!"),
        ("<U1", "ab"),
        ("<U1", 1),
        ("|V3", "YQ=="),
        ("<M8[D]", "nonsense"),
        ("<M8[D]", 1.5),
        ("|b1", 2),
        ([["a", "<i4"]], "YQ=="),
        ([["a", "<i4"]], {"a": 1}),
    ],
)
def test_wrong_fill_values(dtype: Any, stored: Any) -> None:
    with pytest.raises(MetadataError, match="fill value"):
        parse(dtype=dtype, fill_value=stored)


def test_wrong_fill_values_of_users() -> None:
    with pytest.raises(MetadataError, match="fill_value 'x'"):
        V2.new_array(request(fill_value="x"))


# -- codecs ------------------------------------------------------------------------------------


def test_column_major_order_is_a_transpose() -> None:
    model = parse(
        shape=[4, 4, 4], chunks=[2, 2, 2], order="F", compressor={"id": "gzip", "level": 1}
    )
    assert model.order == "F"
    assert model.codecs == (
        CodecSpec("transpose", {"order": [2, 1, 0]}),
        CodecSpec("bytes", {}),
        CodecSpec("numcodecs.gzip", {"level": 1}),
    )
    assert parse(shape=[4], chunks=[2], order="F").codecs == (CodecSpec("bytes", {}),)


def test_filters_come_before_the_compressor() -> None:
    model = parse(
        filters=[{"id": "delta", "dtype": "<f8", "astype": "<f4"}],
        compressor={"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
    )
    assert model.codecs == (
        CodecSpec("numcodecs.delta", {"dtype": "<f8", "astype": "<f4"}),
        CodecSpec("numcodecs.blosc", {"cname": "lz4", "clevel": 5, "shuffle": 1}),
    )


def test_empty_filters_are_none() -> None:
    assert parse(filters=[]).codecs == parse(filters=None).codecs
    assert written(V2.new_array(request(filters=[])))["filters"] is None


@pytest.mark.parametrize(
    ("codec", "expected"),
    [("vlen-utf8", String()), ("vlen-bytes", Bytes()), ("json2", Object()), ("pickle", Object())],
)
def test_objects(codec: str, expected: Any) -> None:
    model = parse(dtype="|O", filters=[{"id": codec}], fill_value=None)
    assert model.data_type == expected
    assert model.codecs == (CodecSpec(f"numcodecs.{codec}", {}),)
    assert written(model)["dtype"] == "|O"


def test_zero_fills_text_with_nothing() -> None:
    assert parse(dtype="|O", filters=[{"id": "vlen-utf8"}], fill_value=0).fill == ""
    assert parse(dtype="|O", filters=[{"id": "json2"}], fill_value=0).fill == 0


@pytest.mark.parametrize("dtype", ["|O", [["a", "|O"]]])
def test_objects_need_a_codec(dtype: Any) -> None:
    with pytest.raises(MetadataError, match="object codec"):
        parse(dtype=dtype)
    with pytest.raises(MetadataError, match="object codec"):
        V2.new_array(request(data_type=Object()))


def test_fixed_text_through_a_variable_codec() -> None:
    """zarr-python 3.0 wrote such arrays, and no release of it reads them."""
    model = parse(dtype="<U5", filters=[{"id": "vlen-utf8"}], fill_value="ab")
    assert model.dtype == np.dtype("<U5")
    assert model.codecs == (CodecSpec("numcodecs.vlen-utf8", {}),)


def test_new_text_gets_its_codec() -> None:
    stored = written(V2.new_array(request(data_type=String())))
    assert stored["filters"] == [{"id": "vlen-utf8"}]
    assert stored["dtype"] == "|O"
    by_object = V2.new_array(
        request(data_type=Object(), filters=[CodecSpec("numcodecs.vlen-utf8", {})])
    )
    assert by_object.data_type == String()


def test_the_default_compressor_carries_a_checksum() -> None:
    model = V2.new_array(request())
    assert model.codecs[-1] == CodecSpec("numcodecs.zstd", {"level": 3, "checksum": True})
    # Unnamed in the document: TensorStore refuses members that it does not know.
    assert written(model)["compressor"] == {"id": "zstd", "level": 3}
    assert parse(compressor={"id": "zstd", "level": 3}).codecs == model.codecs


def test_core_codecs_have_their_old_names() -> None:
    blosc = {"cname": "zstd", "clevel": 3, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}
    model = V2.new_array(
        request(codecs=[CodecSpec("bytes", {"endian": "little"}), CodecSpec("blosc", blosc)])
    )
    assert written(model)["compressor"] == {
        "id": "blosc",
        "cname": "zstd",
        "clevel": 3,
        "shuffle": 1,
        "blocksize": 0,
    }
    model = V2.new_array(
        request(compressors=[CodecSpec("gzip", {"level": 5}), CodecSpec("crc32c", {})])
    )
    assert written(model)["filters"] == [{"id": "gzip", "level": 5}]
    assert written(model)["compressor"] == {"id": "crc32c"}
    fortran = V2.new_array(request(codecs=[CodecSpec("transpose", {"order": [1, 0]})]))
    assert written(fortran)["order"] == "F"
    assert fortran.codecs == V2.new_array(request(order="F", compressors=None)).codecs


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"shards": (20, 20)}, "shards"),
        ({"codecs": [CodecSpec("sharding_indexed", {})]}, "sharding_indexed"),
        ({"filters": [CodecSpec("cast_value", {})]}, "cast_value"),
        ({"codecs": [CodecSpec("bytes", {"endian": "big"})]}, "byte order"),
        ({"codecs": [CodecSpec("bytes", {"endian": "middle"})]}, "byte order"),
        ({"codecs": [CodecSpec("bytes", {"endian": ["little"]})]}, "byte order"),
        ({"shape": (2, 2, 2), "chunks": (1, 1, 1)}
         | {"codecs": [CodecSpec("transpose", {"order": [1, 0, 2]})]}, "transpose"),
        ({"chunks": ((10, 10), 20)}, "one shape"),
        ({"key_encoding": "default"}, "key encoding"),
        ({"dimension_names": ("x", None)}, "_ARRAY_DIMENSIONS"),
    ],
)  # fmt: skip
def test_what_format_2_cannot_say(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(UnsupportedError, match=says):
        V2.new_array(request(**arguments))


def test_elements_of_one_byte_have_no_byte_order() -> None:
    big = CodecSpec("bytes", {"endian": "big"})
    for name in ("int8", "int4", "float8_e4m3fn"):
        model = V2.new_array(request(data_type=from_json(name), codecs=[big]))
        assert model.data_type.name == name


# -- chunk keys and dimension names --------------------------------------------------------------


def test_separators() -> None:
    def spellings(**members: Any) -> list[str]:
        keys = parse(**members).keys
        ndim = len(members.get("shape", [20, 20]))
        return [k.encoder(ndim)((0,) * ndim) for k in (keys, *keys.alternatives)]

    assert spellings() == ["0.0", "0/0"]
    assert spellings(dimension_separator="/") == ["0/0", "0.0"]
    assert spellings(dimension_separator=".") == ["0.0"]
    assert spellings(shape=[3], chunks=[1]) == ["0"]
    assert spellings(shape=[], chunks=[]) == ["0"]


def test_new_separators() -> None:
    flat = V2.new_array(request())
    assert "dimension_separator" not in written(flat)
    nested = V2.new_array(request(separator="/"))
    assert written(nested)["dimension_separator"] == "/"
    assert nested.keys.alternatives == ()


def test_dimension_names_are_an_attribute() -> None:
    assert parse({"_ARRAY_DIMENSIONS": ["y", "x"]}).dimension_names == ("y", "x")
    for odd in (["y"], "yx", ["y", 1], None):
        assert parse({"_ARRAY_DIMENSIONS": odd}).dimension_names is None
    model = V2.new_array(request(dimension_names=("y", "x"), attributes={"a": 1}))
    assert model.dimension_names == ("y", "x")
    assert json.loads(V2.documents("", model)[".zattrs"]) == {
        "a": 1,
        "_ARRAY_DIMENSIONS": ["y", "x"],
    }


# -- hierarchies -------------------------------------------------------------------------------


def hierarchy() -> MemoryStore:
    store = MemoryStore()
    for path in ("", "g", "g/h"):
        for key, data in V2.documents(path, V2.new_group({"at": path})).items():
            store.set(key, data)
    for path in ("b", "a", "g/c"):
        model = V2.new_array(request(attributes={"name": path}))
        for key, data in V2.documents(path, model).items():
            store.set(key, data)
    store.set("a/0.0", b"chunk")
    store.set("stray/file", b"not a node")
    return store


def test_children() -> None:
    store = hierarchy()
    found = V2.children(store, "")
    assert list(found) == ["a", "b", "g"]
    assert isinstance(found["a"], ArrayModel)
    assert found["g"].attributes == {"at": "g"}
    assert list(V2.children(store, "g")) == ["c", "h"]


def test_a_broken_child_is_named() -> None:
    store = hierarchy()
    store.set("b/.zarray", b"{")
    with pytest.raises(MetadataError, match=r"MemoryStore.*, key 'b/.zarray': invalid JSON"):
        V2.children(store, "")


def test_consolidated_metadata() -> None:
    store = hierarchy()
    documents = V2.consolidate(store, "")
    assert list(documents) == [".zmetadata"]
    stored = json.loads(documents[".zmetadata"])
    assert stored["zarr_consolidated_format"] == 1
    assert set(stored["metadata"]) == {
        f"{path}{name}"
        for path, kind in [
            ("", "g"),
            ("g/", "g"),
            ("g/h/", "g"),
            ("a/", "a"),
            ("b/", "a"),
            ("g/c/", "a"),
        ]
        for name in (".zattrs", ".zgroup" if kind == "g" else ".zarray")
    }
    group = V2.parse_consolidated("", documents)
    assert group is not None
    assert group.consolidated is not None
    assert list(group.consolidated) == ["a", "b", "g", "g/c", "g/h"]
    assert group.attributes == {"at": ""}
    assert group.consolidated["g/c"].attributes == {"name": "g/c"}
    below = V2.consolidate(store, "g")
    assert set(json.loads(below["g/.zmetadata"])["metadata"]) >= {".zgroup", "c/.zarray"}
    assert V2.parse_consolidated("", {}) is None
    with pytest.raises(MetadataError, match="no group of format 2"):
        V2.consolidate(store, "stray")


def test_consolidated_metadata_in_any_order() -> None:
    store = hierarchy()
    stored = json.loads(V2.consolidate(store, "")[".zmetadata"])
    stored["metadata"] = dict(reversed(stored["metadata"].items()))
    group = V2.parse_consolidated("", {".zmetadata": json.dumps(stored).encode()})
    assert group is not None
    assert group.consolidated is not None
    assert list(group.consolidated) == ["a", "b", "g", "g/c", "g/h"]


@pytest.mark.parametrize(
    "stored",
    [
        [],
        {},
        {"metadata": []},
        {"metadata": {}, "zarr_consolidated_format": 2},
        {"metadata": {"a/.zarray": 3}},
        {"metadata": {"a/.zarray": {}}},
        {"metadata": {".zgroup": {"zarr_format": 2}, ".zattrs": 5}},
        {"metadata": {".zarray": document()}},
    ],
)
def test_broken_consolidated_metadata(stored: Any) -> None:
    with pytest.raises(MetadataError, match="zmetadata"):
        V2.parse_consolidated("", {".zmetadata": json.dumps(stored).encode()})
