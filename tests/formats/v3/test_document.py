"""Format 3: the final specification, its extensions, and the dialects of its first years."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from omnizarr.errors import MetadataError, UnknownExtensionError, UnsupportedError
from omnizarr.formats import get_format
from omnizarr.formats.base import ArrayRequest
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import CodecSpec
from omnizarr.model.dtypes import Object, String, from_json, from_numpy
from omnizarr.stores import MemoryStore

V3 = get_format(3)
LITTLE = CodecSpec("bytes", {"endian": "little"})


def document(**members: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [20, 20],
        "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10, 10]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    return {**base, **members}


def load(stored: Any) -> Any:
    return V3.parse("a", {"a/zarr.json": json.dumps(stored).encode()})


def parse(*left_out: str, **members: Any) -> ArrayModel:
    stored = {k: v for k, v in document(**members).items() if k not in left_out}
    model = load(stored)
    assert isinstance(model, ArrayModel)
    return model


def written(model: ArrayModel) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(V3.documents("", model)["zarr.json"])
    return found


def request(**arguments: Any) -> ArrayRequest:
    base: dict[str, Any] = {"shape": (20, 20), "data_type": from_numpy("i4"), "chunks": (10, 10)}
    return ArrayRequest(**{**base, **arguments})


# -- documents ---------------------------------------------------------------------------------


def test_an_array() -> None:
    model = parse(dimension_names=["y", None], attributes={"units": "K"}, storage_transformers=[])
    assert (model.shape, model.grid.chunk_shape) == ((20, 20), (10, 10))
    assert model.data_type == from_json("int32")
    assert model.fill_value == np.int32(0)
    assert model.codecs == (LITTLE,)
    assert model.dimension_names == ("y", None)
    assert model.attributes == {"units": "K"}
    assert model.keys.encoder(2)((1, 0)) == "c/1/0"


def test_a_group() -> None:
    group = load({"zarr_format": 3, "node_type": "group", "attributes": {"a": [1]}})
    assert isinstance(group, GroupModel)
    assert group.attributes == {"a": [1]}
    assert load({"zarr_format": 3, "node_type": "group"}).attributes == {}


def test_drafts_are_not_this_format() -> None:
    assert load({"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0"}) is None
    assert V3.parse("", {}) is None


def test_unknown_members() -> None:
    ignorable = {"name": "x", "must_understand": False}
    model = parse(my_extension=ignorable)
    assert written(model)["my_extension"] == ignorable
    for value in (5, None, {}, {"must_understand": True}, {"must_understand": 0}, []):
        with pytest.raises(UnknownExtensionError, match="'my_extension'"):
            parse(my_extension=value)
    with pytest.raises(UnknownExtensionError, match="'extra'"):
        load({"zarr_format": 3, "node_type": "group", "extra": 1})


def test_unknown_extensions() -> None:
    with pytest.raises(UnknownExtensionError, match="chunk-manifest-json"):
        parse(storage_transformers=[{"name": "chunk-manifest-json", "configuration": {}}])
    with pytest.raises(UnknownExtensionError, match="hexagonal"):
        parse(chunk_grid="hexagonal")
    with pytest.raises(UnknownExtensionError, match="hilbert"):
        parse(chunk_key_encoding={"name": "hilbert"})


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("data_type", {"name": "int32", "must_understand": False}),
        ("chunk_grid", {**document()["chunk_grid"], "must_understand": False}),
        ("chunk_key_encoding", {"name": "default", "must_understand": False}),
    ],
)
def test_essentials_must_be_understood(member: str, value: Any) -> None:
    with pytest.raises(MetadataError, match="must_understand may not be false"):
        parse(**{member: value})
    parse(**{member: {**value, "must_understand": True}})


def test_unknown_codecs_keep_what_they_say() -> None:
    codecs = [{"name": "made.up", "must_understand": False}, *document()["codecs"]]
    model = parse(codecs=codecs)
    assert model.codecs[0] == CodecSpec("made.up", {}, must_understand=False)
    assert written(model)["codecs"] == codecs


def test_rewriting_keeps_dialects_until_they_change() -> None:
    stored = document(
        data_type={"name": "raw_bytes", "configuration": {"length_bytes": 3}},
        fill_value="YWJj",
        codecs=[{"name": "endian", "configuration": {"endian": "little"}}, "crc32c"],
        chunk_key_encoding="v2",
        dimension_names=None,
    )
    model = load(stored)
    assert written(model) == stored
    changed = written(replace(model, attributes={"a": 1}, dimension_names=("y", "x")))
    assert changed == {**stored, "attributes": {"a": 1}, "dimension_names": ["y", "x"]}
    refilled = written(replace(model, fill_value=np.void(b"abd")))
    assert refilled == {**stored, "fill_value": [97, 98, 100]}
    grown = replace(model, shape=(40, 20), grid=model.grid.resized((40, 20)))
    assert written(grown) == {**stored, "shape": [40, 20]}


def test_minus_zero_is_another_fill_value() -> None:
    model = parse(data_type="float64", fill_value=0.0)
    assert repr(written(replace(model, fill_value=np.float64(-0.0)))["fill_value"]) == "-0.0"


# -- short-hand and key encodings ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "expected", "scalar"),
    [
        ("default", "c/1/0", "c"),
        ({"name": "default"}, "c/1/0", "c"),
        ({"name": "default", "configuration": {"separator": "."}}, "c.1.0", "c"),
        ("v2", "1.0", "0"),
        ({"name": "v2", "configuration": {"separator": "/"}}, "1/0", "0"),
    ],
)
def test_chunk_keys(encoding: Any, expected: str, scalar: str) -> None:
    keys = parse(chunk_key_encoding=encoding).keys
    assert keys.encoder(2)((1, 0)) == expected
    assert keys.encoder(0)(()) == scalar
    assert keys.alternatives == ()


def test_short_hand_codecs() -> None:
    model = parse(data_type={"name": "int8"}, codecs=["bytes", "crc32c"])
    assert model.codecs == (CodecSpec("bytes", {}), CodecSpec("crc32c", {}))


# -- grids -------------------------------------------------------------------------------------


def rectilinear(*shapes: Any) -> dict[str, Any]:
    return {
        "name": "rectilinear",
        "configuration": {"kind": "inline", "chunk_shapes": list(shapes)},
    }


def test_rectilinear_grids() -> None:
    model = parse(shape=[10, 9], chunk_grid=rectilinear([[5, 2]], [2, 3, 4]))
    assert model.grid.shape == (2, 3)
    assert model.grid.shape_of((1, 2)) == (5, 4)
    mixed = parse(shape=[10, 9], chunk_grid=rectilinear(4, [1, [2, 4]]))
    assert mixed.grid.shape == (3, 5)
    new = V3.new_array(request(shape=(10, 9), chunks=(4, (1, 2, 2, 2, 2))))
    assert written(new)["chunk_grid"] == rectilinear(4, [1, [2, 4]])
    assert load(written(new)).grid == new.grid


@pytest.mark.parametrize(
    "shapes",
    [
        [[[1, 10**12], 1], 9],  # a bomb
        [[[5, 0]], 9],
        [[[5, -1]], 9],
        [[[5, 1, 1]], 9],
        [["5"], 9],
        [[0, 10], 9],
        [[5], 9],  # does not cover the array
        [5],
        5,
        [None, 9],
        [0, 9],
    ],
)
def test_broken_rectilinear_grids(shapes: Any) -> None:
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}}
    with pytest.raises(MetadataError):
        parse(shape=[10, 9], chunk_grid=grid)


def test_a_long_run_costs_nothing() -> None:
    model = parse(shape=[10**12], chunk_grid=rectilinear([[1, 10**12]]))
    assert model.grid.nchunks == 10**12


# -- dialects ----------------------------------------------------------------------------------


def test_the_codec_that_was_called_endian() -> None:
    model = parse(codecs=[{"name": "endian", "configuration": {"endian": "big"}}])
    assert model.codecs == (CodecSpec("bytes", {"endian": "big"}),)


def test_transposes_by_letter() -> None:
    def codecs(order: str) -> tuple[CodecSpec, ...]:
        return parse(
            shape=[2, 3, 4],
            chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2, 3, 4]}},
            codecs=[{"name": "transpose", "configuration": {"order": order}}, "bytes"],
        ).codecs

    assert codecs("F")[0] == CodecSpec("transpose", {"order": [2, 1, 0]})
    assert codecs("C")[0] == CodecSpec("transpose", {"order": [0, 1, 2]})


@pytest.mark.parametrize(
    ("data_type", "fill", "serializer"),
    [
        ("int32", 0, LITTLE),
        ("uint8", 0, CodecSpec("bytes", {})),
        ("string", "", LITTLE),  # document 004: the data type itself is the last codec
        ("bytes", "", CodecSpec("vlen-bytes", {})),
    ],
)
def test_the_step_to_bytes_may_be_missing(data_type: str, fill: Any, serializer: CodecSpec) -> None:
    gzip = {"name": "gzip", "configuration": {"level": 1}}
    transpose = {"name": "transpose", "configuration": {"order": [1, 0]}}
    model = parse(data_type=data_type, fill_value=fill, codecs=[transpose, gzip])
    assert [spec.name for spec in model.codecs] == ["transpose", serializer.name, "gzip"]
    assert model.codecs[1] == serializer
    assert parse("codecs", data_type=data_type, fill_value=fill).codecs == (serializer,)
    assert parse(data_type=data_type, fill_value=fill, codecs=[]).codecs == (serializer,)
    # An unknown codec may be that step: nothing is added.
    unknown = parse(data_type=data_type, fill_value=fill, codecs=["made.up", gzip])
    assert [spec.name for spec in unknown.codecs] == ["made.up", "gzip"]


def test_documents_without_codecs_stay_without() -> None:
    stored = document(fill_value=None)
    del stored["codecs"]
    model = load(stored)
    assert model.fill_value is None
    assert model.fill == 0
    assert written(model) == stored


def test_early_blosc() -> None:
    early = {"cname": "lz4", "clevel": 5, "shuffle": 2, "blocksize": 0}
    model = parse(codecs=["bytes", {"name": "blosc", "configuration": early}])
    assert model.codecs[1] == CodecSpec(
        "blosc",
        {"cname": "lz4", "clevel": 5, "shuffle": "bitshuffle", "blocksize": 0, "typesize": 4},
    )
    with pytest.raises(MetadataError, match="shuffle"):
        parse(codecs=["bytes", {"name": "blosc", "configuration": {**early, "shuffle": 3}}])


def test_blosc_after_a_cast() -> None:
    cast = {"name": "cast_value", "configuration": {"data_type": "int16"}}
    model = parse(codecs=[cast, "bytes", {"name": "blosc", "configuration": {"cname": "lz4"}}])
    assert model.codecs[2].configuration["typesize"] == 2


def test_dialects_inside_shards() -> None:
    sharding = {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": [5, 5],
            "codecs": [
                {"name": "transpose", "configuration": {"order": "F"}},
                {"name": "endian", "configuration": {"endian": "little"}},
            ],
        },
    }
    model = parse(codecs=[sharding])
    (spec,) = model.codecs
    assert spec.configuration["codecs"] == [
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "bytes", "configuration": {"endian": "little"}},
    ]
    assert "index_codecs" not in spec.configuration  # the codec must look at the bytes
    assert written(model)["codecs"] == [sharding]
    bare = parse(
        codecs=[
            {
                "name": "sharding_indexed",
                "configuration": {"chunk_shape": [5, 5], "index_codecs": ["crc32c"]},
            }
        ]
    ).codecs[0]
    assert bare.configuration["codecs"] == [
        {"name": "bytes", "configuration": {"endian": "little"}}
    ]
    assert [codec["name"] for codec in bare.configuration["index_codecs"]] == ["bytes", "crc32c"]


def test_bare_nan_as_fill_value() -> None:
    model = parse(data_type="float64", fill_value=float("nan"))
    assert np.isnan(model.fill_value)


def test_order_is_seen_in_the_codecs() -> None:
    transpose = {"name": "transpose", "configuration": {"order": [1, 0]}}
    assert parse(codecs=[transpose, "bytes"]).order == "F"
    assert parse().order == "C"


# -- new arrays --------------------------------------------------------------------------------


def names(model: ArrayModel) -> list[str]:
    return [spec.name for spec in model.codecs]


PLAIN, FAST = ["zstd"], ["blosc", "crc32c"]


@pytest.mark.parametrize(
    ("dtype", "serializer", "fast"),
    [
        ("i4", "bytes", FAST),
        (">f8", "bytes", FAST),
        ("c16", "bytes", FAST),
        ("M8[ns]", "bytes", FAST),
        ("U5", "bytes", FAST),
        ([("a", "i4"), ("b", "f8")], "bytes", FAST),
        ("?", "bytes", PLAIN),
        ("u1", "bytes", PLAIN),
        ("S5", "bytes", PLAIN),
        ("V300", "bytes", PLAIN),
        (np.dtype([("a", "f8", ()), *((f"f{i}", "f8") for i in range(40))]), "bytes", PLAIN),
        (str, "vlen-utf8", PLAIN),
        (bytes, "vlen-bytes", PLAIN),
    ],
)
@pytest.mark.parametrize("compressors", ["auto", "fast"])
def test_defaults_carry_a_checksum(
    dtype: Any, serializer: str, fast: list[str], compressors: Any
) -> None:
    expected = [serializer, *(fast if compressors == "fast" else PLAIN)]
    asked = request(data_type=from_numpy(dtype), compressors=compressors)
    model = V3.new_array(asked)
    assert names(model) == expected
    if expected[-1] == "zstd":
        assert model.codecs[-1].configuration == {"level": 1, "checksum": True}
    sharded = V3.new_array(replace(asked, shards=(20, 20)))
    (spec,) = sharded.codecs
    assert [codec["name"] for codec in spec.configuration["codecs"]] == expected
    assert [codec["name"] for codec in spec.configuration["index_codecs"]] == ["bytes", "crc32c"]
    assert spec.configuration["index_location"] == "end"
    assert spec.configuration["chunk_shape"] == [10, 10]
    assert sharded.grid.chunk_shape == (20, 20)


def test_chunks_beyond_blosc() -> None:
    model = V3.new_array(request(shape=(2**40,), chunks=(2**30,), compressors="fast"))
    assert names(model) == ["bytes", "zstd"]


def test_byte_order_is_the_codecs_business() -> None:
    model = V3.new_array(request(data_type=from_numpy(">i4")))
    assert model.dtype == np.dtype("=i4")
    assert model.codecs[0] == LITTLE
    assert V3.new_array(request(data_type=from_numpy("i1"))).codecs[0] == CodecSpec("bytes", {})


def test_column_major_order() -> None:
    model = V3.new_array(request(order="F"))
    assert names(model) == ["transpose", "bytes", "zstd"]
    assert model.order == "F"
    assert load(written(model)).order == "F"
    sharded = V3.new_array(request(order="F", shards=(20, 20)))
    assert names(sharded) == ["sharding_indexed"]
    assert load(written(sharded)).order == "F"
    given = V3.new_array(request(order="F", codecs=[LITTLE]))
    assert names(given) == ["transpose", "bytes"]


def test_parts_of_the_pipeline() -> None:
    model = V3.new_array(
        request(
            filters=[CodecSpec("numcodecs.delta", {"dtype": "<i4"})],
            serializer=CodecSpec("bytes", {"endian": "big"}),
            compressors=[CodecSpec("gzip", {"level": 9})],
        )
    )
    assert names(model) == ["numcodecs.delta", "bytes", "gzip"]
    assert model.codecs[1].configuration == {"endian": "big"}
    assert names(V3.new_array(request(compressors=None))) == ["bytes"]
    assert names(V3.new_array(request(codecs=[CodecSpec("gzip", {"level": 1})]))) == [
        "bytes",
        "gzip",
    ]


def test_old_codecs_have_their_core_names() -> None:
    model = V3.new_array(
        request(
            compressors=[
                CodecSpec("numcodecs.blosc", {"cname": "lz4", "clevel": 5, "shuffle": -1}),
                CodecSpec("numcodecs.zstd", {"level": 1}),
                CodecSpec("numcodecs.gzip", {"level": 2}),
                CodecSpec("numcodecs.crc32c", {}),
                CodecSpec("numcodecs.zlib", {"level": 3}),
            ]
        )
    )
    assert model.codecs[1:] == (
        CodecSpec(
            "blosc",
            {"typesize": 4, "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0},
        ),
        CodecSpec("zstd", {"level": 1, "checksum": False}),
        CodecSpec("gzip", {"level": 2}),
        CodecSpec("crc32c", {}),
        CodecSpec("numcodecs.zlib", {"level": 3}),
    )
    filled = V3.new_array(request(compressors=[CodecSpec("blosc", {"cname": "lz4"})]))
    assert filled.codecs[1].configuration["typesize"] == 4
    assert filled.codecs[1].configuration["cname"] == "lz4"


def test_default_fill_values() -> None:
    assert V3.new_array(request(fill_value=None)).fill_value == 0
    assert np.isnat(V3.new_array(request(data_type=from_numpy("M8[s]"))).fill_value)
    assert V3.new_array(request(data_type=String())).fill_value == ""
    with pytest.raises(MetadataError, match=r"fill_value 1\.5"):
        V3.new_array(request(fill_value=1.5))


def test_objects() -> None:
    with pytest.raises(UnsupportedError, match="objects"):
        V3.new_array(request(data_type=Object()))
    with pytest.raises(UnsupportedError, match="objects"):
        V3.new_array(request(data_type=from_numpy([("a", "O")])))
    text = V3.new_array(request(data_type=Object(), filters=[CodecSpec("numcodecs.vlen-utf8", {})]))
    assert text.data_type == String()
    assert names(text) == ["vlen-utf8", "zstd"]


def test_sub_arrays() -> None:
    with pytest.raises(UnsupportedError, match="sub-array"):
        V3.new_array(request(data_type=from_numpy([("a", "i4", (2,))])))


@pytest.mark.parametrize(
    "arguments",
    [
        {"chunks": (10,)},
        {"chunks": (0, 10)},
        {"shards": (15, 20)},
        {"shards": (20,)},
        {"shards": (20, 20), "chunks": (0, 10)},
        {"dimension_names": ("x",)},
        {"codecs": [LITTLE], "shards": (20, 20)},
    ],
)
def test_impossible_requests(arguments: dict[str, Any]) -> None:
    with pytest.raises(MetadataError):
        V3.new_array(request(**arguments))


def test_key_encodings_of_new_arrays() -> None:
    assert V3.new_array(request()).keys.encoder(2)((1, 0)) == "c/1/0"
    assert V3.new_array(request(separator=".")).keys.encoder(2)((1, 0)) == "c.1.0"
    assert V3.new_array(request(key_encoding="v2")).keys.encoder(2)((1, 0)) == "1.0"


def test_the_text_of_a_new_group() -> None:
    assert V3.documents("g", V3.new_group({"b": 1, "a": 2})) == {
        "g/zarr.json": b'{\n  "zarr_format": 3,\n  "node_type": "group",\n'
        b'  "attributes": {\n    "b": 1,\n    "a": 2\n  }\n}'
    }


# -- hierarchies -------------------------------------------------------------------------------


def hierarchy() -> MemoryStore:
    store = MemoryStore()
    for path in ("", "g", "g/h"):
        store.set(*V3.documents(path, V3.new_group({"at": path})).popitem())
    for path in ("b", "a", "g/c"):
        model = V3.new_array(request(attributes={"name": path}))
        store.set(*V3.documents(path, model).popitem())
    store.set("a/c/0/0", b"chunk")
    store.set("stray/file", b"not a node")
    return store


def test_children() -> None:
    store = hierarchy()
    assert list(V3.children(store, "")) == ["a", "b", "g"]
    assert list(V3.children(store, "g")) == ["c", "h"]


def test_consolidated_metadata() -> None:
    store = hierarchy()
    documents = V3.consolidate(store, "")
    stored = json.loads(documents["zarr.json"])
    inline = stored["consolidated_metadata"]
    assert {k: v for k, v in inline.items() if k != "metadata"} == {
        "kind": "inline",
        "must_understand": False,
    }
    assert list(inline["metadata"]) == ["a", "b", "g", "g/c", "g/h"]
    assert inline["metadata"]["g"]["consolidated_metadata"]["metadata"] == {}
    assert stored["attributes"] == {"at": ""}
    group = V3.parse_consolidated("", documents)
    assert group is not None
    assert group.consolidated is not None
    assert list(group.consolidated) == ["a", "b", "g", "g/c", "g/h"]
    assert isinstance(group.consolidated["g/c"], ArrayModel)
    # A plain parse leaves the descendants alone, and a change of attributes keeps them.
    plain = V3.parse("", documents)
    assert isinstance(plain, GroupModel)
    assert plain.consolidated is None
    again = json.loads(V3.documents("", replace(plain, attributes={}))["zarr.json"])
    assert again["consolidated_metadata"] == inline
    with pytest.raises(MetadataError, match="no group of format 3"):
        V3.consolidate(store, "stray")
    assert V3.parse_consolidated("", {"zarr.json": store.get("zarr.json") or b""}) is None


def test_consolidated_metadata_that_is_nested() -> None:
    store = hierarchy()
    child = json.loads(bytes(store.get("g/c/zarr.json") or b""))
    inner = {"kind": "inline", "must_understand": False, "metadata": {"c": child}}
    group = {"zarr_format": 3, "node_type": "group"}
    root = {
        **group,
        "consolidated_metadata": {"metadata": {"g": {**group, "consolidated_metadata": inner}}},
    }
    found = V3.parse_consolidated("", {"zarr.json": json.dumps(root).encode()})
    assert found is not None
    assert found.consolidated is not None
    assert list(found.consolidated) == ["g", "g/c"]


@pytest.mark.parametrize(
    "inline",
    [
        [],
        5,
        {"metadata": []},
        {"metadata": {"a": 5}},
        {"metadata": {"a": {}}},
        {"metadata": {"a": {"zarr_format": "url"}}},
        {"kind": "other", "metadata": {}},
    ],
)
def test_broken_consolidated_metadata(inline: Any) -> None:
    root = {"zarr_format": 3, "node_type": "group", "consolidated_metadata": inline}
    with pytest.raises(MetadataError, match="consolidated_metadata"):
        V3.parse_consolidated("", {"zarr.json": json.dumps(root).encode()})
