"""Format 3: every rule finds what it is for, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.rules.support import DELETE, assert_one, changed, report_on, rules_only

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
GZIP = {"name": "gzip", "configuration": {"level": 1}}
CRC = {"name": "crc32c"}
BLOSC = {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 8, "blocksize": 0}

EXAMPLE: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [10000, 1000],
    "dimension_names": ["rows", "columns"],
    "data_type": "float64",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1000, 100]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "codecs": [LITTLE],
    "fill_value": "NaN",
    "attributes": {"foo": 42, "bar": "apples", "baz": [1, 2, 3, 4]},
}
"""The core specification's own example."""
GROUP: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "group",
    "attributes": {"spam": "ham", "eggs": 42},
}


def codec(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


def sharding(**members: Any) -> list[dict[str, Any]]:
    sound: dict[str, Any] = {
        "chunk_shape": [100, 50],
        "codecs": [LITTLE, GZIP],
        "index_codecs": [LITTLE, CRC],
        "index_location": "end",
    }
    return [{"name": "sharding_indexed", "configuration": changed(sound, **members)}]


def typed(data_type: Any, fill_value: Any, codecs: Any = (LITTLE,)) -> dict[str, Any]:
    return {"data_type": data_type, "fill_value": fill_value, "codecs": list(codecs)}


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"attributes": DELETE, "dimension_names": DELETE},
        {"storage_transformers": [], "dimension_names": [None, "x"]},
        {"codecs": sharding()},
        {"codecs": sharding(index_location=DELETE)},
        {"codecs": [codec("transpose", order=[1, 0]), *sharding(chunk_shape=[50, 250])]},
        {"codecs": [LITTLE, codec("blosc", **BLOSC), "crc32c"]},
        {"codecs": [LITTLE, codec("zstd", level=-5, checksum=False)]},
        {"codecs": [codec("cast_value", data_type="uint8", rounding="nearest-even"), "bytes"]},
        {"chunk_key_encoding": "default"},
        {"chunk_key_encoding": codec("v2", separator=".")},
        {"chunk_grid": codec("rectilinear", kind="inline", chunk_shapes=[1000, [[100, 10]]])},
        typed("float64", "0x7ff8000000000001"),
        typed("bool", False, ["bytes"]),
        typed("uint64", (1 << 64) - 1),
        typed("complex64", ["NaN", -1.5]),
        typed("r16", [0, 255], ["bytes"]),
        typed("string", "", [codec("vlen-utf8")]),
        typed("bytes", [97], [codec("vlen-bytes")]),
        typed("bytes", "YQ==", [codec("vlen-bytes")]),
        typed(codec("numpy.datetime64", unit="s", scale_factor=1), "NaT"),
        typed(codec("struct", fields=[{"name": "a", "data_type": "int32"}]), {"a": 1}),
        typed("bfloat16", "Infinity"),
        typed("int4", 7, ["bytes"]),
    ],
)
def test_what_the_specification_allows(members: dict[str, Any]) -> None:
    report = report_on({"zarr.json": GROUP, "a/zarr.json": changed(EXAMPLE, **members)})
    assert report.findings == (), str(report)
    assert report.nodes == 2


ARRAY, CODECS, FILL = "3.1, Array metadata", "3.1, Codecs", "3.1, Fill value list"
NAMING, DEFINITION = "3.1, Extension naming", "3.1, Extension definition"
GRIDS, KEYS = "3.1, Chunk grids", "3.1, Chunk key encoding"
SHARDS = "sharding_indexed, Configuration parameters"
CASES: list[tuple[dict[str, Any], str, str, str]] = [
    *(
        ({name: DELETE}, "error", f"{name!r} is missing", ARRAY)
        for name in ("zarr_format", "shape", "chunk_grid", "chunk_key_encoding", "fill_value")
    ),
    ({"data_type": DELETE}, "error", "'data_type' is missing", ARRAY),
    ({"zarr_format": 3.0}, "error", "zarr_format must be 3", ARRAY),
    ({"shape": [-1, 5]}, "error", "integers from 0 to", ARRAY),
    ({"attributes": []}, "error", "attributes must be a JSON object", ARRAY),
    ({"attributes": {"x": float("nan")}}, "dialect", "tokens in x", ARRAY),
    ({"extra": 1}, "error", "'extra' is none of the array metadata", DEFINITION),
    ({"extra": {"must_understand": True}}, "error", "'extra'", DEFINITION),
    ({"extra": {"must_understand": False}}, "warning", "discouraged", DEFINITION),
    ({"codecs": DELETE}, "dialect", "GDAL 3.8 to 3.10", ARRAY),
    ({"codecs": {}}, "error", "codecs must be a list", ARRAY),
    ({"codecs": []}, "dialect", "no codec from array to bytes", CODECS),
    ({"codecs": [GZIP]}, "dialect", "optional until July 2023", CODECS),
    ({"codecs": [LITTLE, LITTLE]}, "error", "has 2 codecs from array to bytes", CODECS),
    ({"codecs": [GZIP, LITTLE]}, "error", "'bytes' takes an array, but 'gzip'", CODECS),
    ({"codecs": [LITTLE, codec("transpose", order=[1, 0])]}, "error", "takes an array", CODECS),
    ({"codecs": [codec("endian", endian="little")]}, "dialect", "since August 2023", CODECS),
    ({"codecs": [codec("bytes", endian="middle")]}, "error", "'little' or 'big'", CODECS),
    ({"codecs": ["bytes"]}, "error", "endian is required", CODECS),
    (
        {"codecs": [codec("transpose", order=[1, 0]), "bytes"]},
        *("error", "endian is required for the data type 'float64'", CODECS),
    ),
    (
        {"codecs": [codec("cast_value", data_type="int32"), "bytes"]},
        *("error", "endian is required for the data type 'int32'", CODECS),
    ),
    ({"codecs": [codec("transpose", order="F"), LITTLE]}, "dialect", "zarrita 0.2.7", CODECS),
    ({"codecs": [codec("transpose", order=[0, 0]), LITTLE]}, "error", "permutation of 2", CODECS),
    ({"codecs": [codec("transpose", order=[0]), LITTLE]}, "error", "permutation of 2", CODECS),
    ({"codecs": [LITTLE, codec("gzip", level=10)]}, "error", "from 0 to 9, found 10", CODECS),
    ({"codecs": [LITTLE, codec("gzip", level=1, x=1)]}, "warning", "no parameter 'x'", CODECS),
    ({"codecs": [LITTLE, codec("crc32c", x=1)]}, "warning", "no parameter 'x'", CODECS),
    ({"codecs": [LITTLE, codec("zstd", level=1, checksum=1)]}, "error", "checksum", CODECS),
    ({"codecs": [LITTLE, codec("numcodecs.zlib", level=1)]}, "warning", "not registered", NAMING),
    ({"codecs": [LITTLE, codec("my codec")]}, "error", "lower-case letter", NAMING),
    ({"codecs": [LITTLE, codec("https://x.org/y")]}, "warning", "is a URI", NAMING),
    ({"codecs": [LITTLE, {"name": 5}]}, "error", "codecs[1] must be a name", CODECS),
    ({"codecs": [LITTLE, {"name": "crc32c", "x": 1}]}, "warning", "no member 'x'", DEFINITION),
    ({"codecs": [LITTLE, {**CRC, "configuration": 1}]}, "error", "must be an object", DEFINITION),
    ({"codecs": [LITTLE, {**CRC, "must_understand": 1}]}, "error", "true or false", DEFINITION),
    *(
        ({"codecs": [LITTLE, codec("blosc", **changed(BLOSC, **change))]}, level, text, CODECS)
        for change, level, text in (
            ({"cname": "zip"}, "error", "cname must be one of"),
            ({"clevel": 11}, "error", "clevel must be"),
            ({"shuffle": 1, "typesize": DELETE}, "dialect", "zarrita of March 2023"),
            ({"shuffle": "yes"}, "error", "shuffle must be one of"),
            ({"typesize": DELETE}, "error", "typesize is required"),
            ({"typesize": 0}, "error", "typesize must be an integer at least 1"),
            ({"blocksize": "0"}, "error", "blocksize must be an integer"),
        )
    ),
    ({"codecs": sharding(chunk_shape=DELETE)}, "error", "'chunk_shape' is missing", SHARDS),
    ({"codecs": sharding(chunk_shape=[100])}, "error", "has 1 dimensions, the shard", SHARDS),
    ({"codecs": sharding(chunk_shape=[100, 0])}, "error", "integers from 1 to", SHARDS),
    ({"codecs": sharding(chunk_shape=[300, 50])}, "error", "must divide the shard", SHARDS),
    ({"codecs": sharding(codecs=DELETE)}, "error", "'codecs' is missing", SHARDS),
    ({"codecs": sharding(codecs=[GZIP])}, "dialect", "codecs[0].codecs has no codec", CODECS),
    ({"codecs": sharding(index_codecs=DELETE)}, "dialect", "added in July 2023", SHARDS),
    ({"codecs": sharding(index_codecs=[LITTLE, GZIP])}, "error", "must not use 'gzip'", SHARDS),
    ({"codecs": sharding(index_codecs=["bytes"])}, "error", "endian is required", CODECS),
    ({"codecs": sharding(index_location="middle")}, "error", "'start' or 'end'", SHARDS),
    ({"codecs": sharding(extra=1)}, "warning", "no parameter 'extra'", CODECS),
    ({"chunk_grid": "regular"}, "error", "'chunk_shape' is missing", GRIDS),
    ({"chunk_grid": codec("regular")}, "error", "'chunk_shape' is missing", GRIDS),
    ({"chunk_grid": codec("regular", chunk_shape=[10])}, "error", "has 1 dimensions", GRIDS),
    ({"chunk_grid": codec("regular", chunk_shape=[10, 0])}, "dialect", "read as [10, 1]", GRIDS),
    ({"chunk_grid": codec("regular", chunk_shape=[10, True])}, "dialect", "holds true", GRIDS),
    ({"chunk_grid": codec("regular", chunk_shape=[10, -1])}, "error", "integers from 1 to", GRIDS),
    ({"chunk_grid": codec("regular", chunk_shape=[10, 5.0])}, "error", "integers from 1", GRIDS),
    (
        {"chunk_grid": codec("regular", chunk_shape=[10, [999, 1]])},
        "dialect",
        "regular, but",
        GRIDS,
    ),
    (
        {"chunk_grid": codec("rectilinear", kind="inline", chunk_shapes=[10, [[500.0, 2]]])},
        *("dialect", "true or a float", GRIDS),
    ),
    ({"chunk_grid": codec("regular", chunk_shape=[1, 1], x=1)}, "warning", "no member 'x'", GRIDS),
    ({"chunk_grid": codec("rectilinear", chunk_shapes=[1000, 100])}, "error", "'kind'", GRIDS),
    ({"chunk_grid": codec("hexagonal")}, "warning", "not registered", NAMING),
    (
        {"chunk_grid": {**EXAMPLE["chunk_grid"], "must_understand": False}},
        *("error", "may not be false here", DEFINITION),
    ),
    ({"chunk_key_encoding": codec("default", separator="-")}, "error", "separator must be", KEYS),
    ({"chunk_key_encoding": codec("default", x="-")}, "warning", "no member 'x'", KEYS),
    ({"chunk_key_encoding": codec("base64")}, "warning", "not registered", NAMING),
    ({"dimension_names": None}, "dialect", "zarrita before 0.2", ARRAY),
    ({"dimension_names": ["x"]}, "error", "1 names for 2 dimensions", ARRAY),
    ({"dimension_names": ["x", 1]}, "error", "strings or nulls", ARRAY),
    ({"dimension_names": ["x", "x"]}, "warning", "should be distinct", ARRAY),
    ({"storage_transformers": {}}, "error", "must be a list", "3.1, Storage transformers"),
    ({"storage_transformers": [codec("cache")]}, "warning", "not registered", NAMING),
    # -- data types and fill values
    ({"fill_value": None}, "dialect", "GDAL before 3.11", FILL),
    ({"fill_value": float("nan")}, "dialect", "bare token", FILL),
    ({"fill_value": "nan"}, "error", "does not fit", FILL),
    ({"fill_value": "0x7ff8"}, "error", "16 hexadecimal digits", FILL),
    ({"fill_value": True}, "error", "does not fit", FILL),
    (typed("bool", 0, ["bytes"]), "dialect", "zarrita of 2023", FILL),
    (typed("int32", 5.0), "error", "no fraction", FILL),
    (typed("int32", 1 << 31), "error", "does not fit", FILL),
    (typed("complex64", 0), "error", "does not fit", FILL),
    (typed("complex64", [0, "0x0"]), "error", "8 hexadecimal digits", FILL),
    (typed("r16", "AAA=", ["bytes"]), "dialect", "base64", FILL),
    (typed("string", 0, [codec("vlen-utf8")]), "error", "does not fit", FILL),
    (typed("r12", [0], ["bytes"]), "error", "multiple of 8", "3.1, Data types"),
    (typed(codec("raw_bytes", length_bytes=2), [0, 0], ["bytes"]), "warning", "core name", NAMING),
    (typed("variable_length_bytes", "", [codec("vlen-bytes")]), "warning", "'bytes'", NAMING),
    (typed("unheard_of", 0), "warning", "not registered", NAMING),
    (typed({"name": "float64", "must_understand": False}, 0), "error", "not be false", DEFINITION),
    (typed(codec("float64", x=1), 0), "warning", "no configuration", "3.1, Data types"),
    (typed(5, 0), "error", "data_type must be a name", "3.1, Data types"),
]


@pytest.mark.parametrize(("members", "level", "fragment", "section"), CASES)
def test_an_array(members: dict[str, Any], level: str, fragment: str, section: str) -> None:
    report = report_on({"zarr.json": changed(EXAMPLE, **members)})
    assert_one(report, level, fragment, section)
    refused = any(found.message.startswith("cannot be opened:") for found in report)
    assert not (refused and level == "error"), "one departure is one finding"
    assert report.ok == (level != "error" and not refused)
    assert not (refused and level == "dialect"), "readers accept a dialect"
    assert {found.key for found in report} == {"zarr.json"}


def test_a_fallback_is_of_the_past() -> None:
    document = changed(EXAMPLE, data_type={"name": "float64", "fallback": "float32"})
    found = rules_only(report_on({"zarr.json": document}))
    assert [f.level for f in found] == ["warning", "error"]


def test_structured_types_of_zarr_python_3_1() -> None:
    data_type = {"name": "structured", "configuration": {"fields": [["a", "int32"]]}}
    document = changed(EXAMPLE, **typed(data_type, "AAAAAA==", ["bytes"]))
    found = rules_only(report_on({"zarr.json": document}))
    assert [(f.level, "zarr-python 3.1" in f.message) for f in found] == [("dialect", True)] * 3


@pytest.mark.parametrize(
    ("data", "fragment"),
    [
        (b"", "it is empty"),
        (b"{}", "missing"),
        (b'{"zarr_format": 3, "node_type": "group"}x', "Extra data"),
        (b'{"node_type": "group", "node_type": "group"}', "twice"),
        (b'\xef\xbb\xbf{"zarr_format": 3, "node_type": "group"}', "byte order mark"),
        (b"[]", "must be a JSON object"),
        (b'{"zarr_format": 3, "node_type": "table"}', "'array' or 'group', found 'table'"),
    ],
)
def test_broken_documents(data: bytes, fragment: str) -> None:
    report = report_on({"zarr.json": data})
    found = rules_only(report)
    assert {f.level for f in found} == {"error"}
    assert fragment in found[0].message
    assert not report.ok


# -- groups and hierarchies -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("documents", "level", "fragment", "section"),
    [
        ({"zarr.json": {**GROUP, "x": 1}}, "error", "none of the group metadata", DEFINITION),
        ({"zarr.json": {**GROUP, "attributes": 1}}, "error", "attributes", "3.1, Group metadata"),
        ({"zarr.json": GROUP, "a/b/zarr.json": GROUP}, "dialect", "implicit groups", "3.1, Group"),
        ({"zarr.json": GROUP, "__a/zarr.json": GROUP}, "error", "reserved prefix", "Node names"),
        ({"zarr.json": GROUP, ".../zarr.json": GROUP}, "error", "periods only", "Node names"),
        ({"zarr.json": GROUP, "a b/zarr.json": GROUP}, "warning", "characters", "Node names"),
        ({"zarr.json": EXAMPLE, "a/zarr.json": GROUP}, "error", "below an array", "no child nodes"),
        ({"zarr.json": EXAMPLE, "c/0/0": b"", "junk": b""}, "warning", "'junk'", KEYS),
        ({"zarr.json": EXAMPLE, "0.0": b""}, "warning", "1 key below", KEYS),
        ({"zarr.json": EXAMPLE, "c/10/0": b""}, "warning", "outside the grid of (10, 10)", KEYS),
        ({"zarr.json": EXAMPLE, "c/0/0": b"x"}, "error", "(1 bytes, not 800,000)", KEYS),
    ],
)
def test_a_hierarchy(documents: dict[str, Any], level: str, fragment: str, section: str) -> None:
    documents = {
        key: value if key != "c/0/0" or value else bytes(800_000)
        for key, value in documents.items()
    }
    assert_one(report_on(documents), level, fragment, section)


def test_a_node_named_like_a_document() -> None:
    """The key of its document makes the parent's one impossible in a file system."""
    report = report_on({"a/zarr.json": GROUP, "a/zarr.json/zarr.json": GROUP}, "a/zarr.json")
    found = rules_only(report)
    assert [f.level for f in found if "must not be named" in f.message] == ["error"]


def test_an_implicit_group_above_the_start() -> None:
    report = report_on({"zarr.json": GROUP, "a/b/zarr.json": GROUP}, "a/b")
    assert_one(report, "dialect", "implicit groups", "3.1, Group metadata")
    assert report.findings[0].path == "a"


def test_sizes_follow_the_grid_and_the_checksum() -> None:
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[2, 1]]}}
    document = changed(
        EXAMPLE, shape=[3], chunk_grid=grid, codecs=[LITTLE, CRC], dimension_names=DELETE
    )
    report = report_on({"zarr.json": document, "c/0": bytes(20), "c/1": bytes(12)})
    assert report.findings == ()
    report = report_on({"zarr.json": document, "c/0": bytes(20), "c/1": bytes(20)})
    assert_one(report, "error", "'c/1' (20 bytes, not 12)", KEYS)


def test_two_formats_side_by_side_are_two_nodes() -> None:
    array2 = {
        "zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|u1", "fill_value": 0,
        "compressor": None, "filters": None, "order": "X",
    }  # fmt: skip
    report = report_on({"zarr.json": EXAMPLE, ".zarray": array2})
    assert report.nodes == 2
    assert {f.reference.partition(",")[0] for f in report} == {"document 000"}


# -- consolidated metadata ------------------------------------------------------------------------
def inline(**members: Any) -> dict[str, Any]:
    sound = {"kind": "inline", "must_understand": False, "metadata": {"a": EXAMPLE}}
    return {**GROUP, "consolidated_metadata": changed(sound, **members)}


@pytest.mark.parametrize(
    ("document", "level", "fragment"),
    [
        ({**GROUP, "consolidated_metadata": None}, "dialect", "zarr-python 3.0"),
        ({**GROUP, "consolidated_metadata": []}, "error", "must be an object"),
        (inline(must_understand=DELETE), "error", "must_understand must be False"),
        (inline(kind="remote"), "error", "kind must be 'inline'"),
        (inline(metadata=[]), "error", "metadata must be an object"),
        (inline(metadata={"a": {**EXAMPLE, "shape": [1, 1]}}), "warning", "stored otherwise"),
        (inline(metadata={"a": EXAMPLE, "b": EXAMPLE}), "warning", "not stored: 'b/zarr.json'"),
        (inline(metadata={"a": EXAMPLE, "../b": EXAMPLE}), "error", "is no key"),
    ],
)
def test_consolidated_metadata(document: Any, level: str, fragment: str) -> None:
    report = report_on({"zarr.json": document, "a/zarr.json": EXAMPLE})
    assert_one(report, level, fragment, "Consolidated metadata")


def test_sound_consolidated_metadata() -> None:
    said_otherwise = {
        **EXAMPLE, "storage_transformers": [], "chunk_key_encoding": "default",
        "codecs": [LITTLE, {**CRC, "configuration": {}}],
    }  # fmt: skip
    stored = {**EXAMPLE, "codecs": [LITTLE, "crc32c"]}
    nested = {**GROUP, "consolidated_metadata": {"metadata": {"b": EXAMPLE}}}
    report = report_on(
        {
            "zarr.json": inline(metadata={"a": said_otherwise, "g": nested}),
            "a/zarr.json": stored,
            "g/zarr.json": GROUP,
            "g/b/zarr.json": EXAMPLE,
        }
    )
    assert report.findings == (), str(report)


def test_a_node_that_consolidated_metadata_leave_out() -> None:
    report = report_on({"zarr.json": inline(), "a/zarr.json": EXAMPLE, "b/zarr.json": EXAMPLE})
    assert_one(report, "warning", "'/' do not list this node", "Consolidated metadata")
    assert report.findings[0].path == "b"
