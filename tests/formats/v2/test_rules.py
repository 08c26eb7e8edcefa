"""Format 2: every rule finds what it is for, and nothing else; 000 and 003 are told apart."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.rules.support import DELETE, assert_one, changed, report_on, rules_only

EXAMPLE: dict[str, Any] = {
    "chunks": [1000, 1000],
    "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
    "dtype": "<f8",
    "fill_value": "NaN",
    "filters": [{"id": "delta", "dtype": "<f8", "astype": "<f4"}],
    "order": "C",
    "shape": [10000, 10000],
    "zarr_format": 2,
}
"""The example of documents 000 and 003, "Metadata"."""
SECOND: dict[str, Any] = {
    "chunks": [10, 10],
    "compressor": {"id": "zlib", "level": 1},
    "dtype": "<i4",
    "fill_value": 42,
    "filters": None,
    "order": "C",
    "shape": [20, 20],
    "zarr_format": 2,
}
"""The example of "Storing a single array"."""
PLAIN = changed(SECOND, compressor=None)
GROUP = {"zarr_format": 2}
ATTRIBUTES = {"foo": 42, "bar": "apples", "baz": [1, 2, 3, 4]}


@pytest.mark.parametrize("standard", [None, "000", "003", "ogc", "OGC"])
@pytest.mark.parametrize(
    "documents",
    [
        {".zarray": EXAMPLE},
        {".zarray": SECOND, ".zattrs": ATTRIBUTES, "0.0": b"x", "1.1": b""},
        {".zgroup": GROUP, ".zattrs": {}},
        {
            ".zgroup": GROUP,
            "foo/.zgroup": GROUP,
            "foo/bar/.zarray": SECOND,
            "foo/bar/.zattrs": {"comment": "answer to life, the universe and everything"},
            "foo/bar/0.0": b"x",
        },
        *(
            {".zarray": changed(SECOND, dtype=dtype, fill_value=None)}
            for dtype in (
                *("<f8", ">i4", "|b1", "|S12", "<M8[ns]", "<m8[25s]", "<U3", "|V7", "|u1"),
                [["r", "|u1"], ["g", "|u1"], ["b", "|u1"]],
                [["x", "<f4"], ["y", "<f4"], ["z", "<f4", [2, 2]]],
                [["foo", "<f4"], ["bar", [["baz", "<f4"], ["qux", "<i4"]]]],
            )
        ),
        *(
            {".zarray": changed(SECOND, dtype=dtype, fill_value=fill)}
            for dtype, fill in (
                *(("<f4", "-Infinity"), ("<f8", 0), ("<f8", 1.5), ("|b1", True)),
                *(("<c16", [1, "NaN"]), ("|S3", "YWI="), ("|S3", ""), ("<U2", "ab")),
                *(("<M8[s]", -(1 << 63)), ("<u8", (1 << 64) - 1), ("<i8", 9007199254740993)),
                *(("|V2", "AAA="), ([["a", "<i2"]], "AAA=")),
            )
        ),
        {".zarray": changed(SECOND, shape=[], chunks=[]), "0": b"x"},
        {".zarray": changed(SECOND, shape=[0, 5])},
        {".zarray": changed(SECOND, filters=[])},
        {".zarray": PLAIN, "0.0": bytes(400)},
    ],
)
def test_what_the_documents_allow(documents: dict[str, Any], standard: str | None) -> None:
    report = report_on(documents, standard=standard)
    assert report.findings == ()
    assert report.ok
    assert report.nodes == sum(key.endswith((".zarray", ".zgroup")) for key in documents)


META, FILL, TYPES = "000, Metadata", "000, Fill value encoding", "000, Data type encoding"
OF_ARRAYS: list[tuple[dict[str, Any], str, str, str]] = [
    *(
        ({name: DELETE}, "error", f"'{name}' is missing", META)
        for name in EXAMPLE
        if name != "dtype"
    ),
    ({"zarr_format": 3}, "error", "zarr_format must be 2, found 3", META),
    ({"zarr_format": 2.0}, "error", "zarr_format must be 2, found 2.0", META),
    ({"zarr_format": "2"}, "error", "zarr_format must be 2", META),
    ({"zarr_format": True}, "error", "zarr_format must be 2, found True", META),
    ({"shape": [20.0, 20]}, "error", "shape must hold integers", META),
    ({"shape": [-1, 20]}, "error", "integers from 0 to 2**63 - 1, found -1", META),
    ({"shape": "20"}, "error", "shape must be a list", META),
    ({"chunks": [0, 10]}, "dialect", "it is read as [1, 10]", META),
    ({"chunks": [True, 10]}, "dialect", "chunks holds true in [True, 10]", META),
    ({"chunks": [-1, 10]}, "error", "integers from 1 to 2**63 - 1, found -1", META),
    ({"chunks": [2.0, 10]}, "error", "chunks must hold integers", META),
    ({"chunks": [10]}, "error", "chunks has 1 dimensions, the shape has 2", META),
    ({"order": "A"}, "error", "order must be 'C' or 'F'", META),
    ({"order": None}, "error", "order must be", META),
    ({"dimension_separator": "-"}, "error", "must be '.' or '/', found '-'", META),
    ({"dimension_separator": None}, "error", "must be '.' or '/', found None", META),
    ({"extra_key": 1}, "warning", "'extra_key' should not be present", META),
    ({"_NCZARR_ARRAY": {}}, "dialect", "NCZarr", META),
    ({"node_type": "array"}, "dialect", "zarr-python 3 betas", META),
    ({"compressor": "zlib"}, "error", "compressor: a codec must be an object with an id", META),
    ({"compressor": {"level": 1}}, "error", "compressor: a codec's id must be a string", META),
    ({"compressor": {"id": 5}}, "error", "id must be a string, found 5", META),
    ({"filters": {"id": "delta"}}, "error", "filters must be a list", META),
    ({"filters": [None]}, "error", "filters[0]: a codec must be an object", META),
    ({"filters": [{"id": ["x"]}]}, "error", "filters[0]: a codec's id must be", META),
    ({"filters": [{"id": "shuffle", "elementsize": 0}]}, "dialect", "netcdf-c", "000, Filters"),
    ({"filters": [{"id": "shuffle", "elementsize": "0"}]}, "dialect", "netcdf-c", "000, Filters"),
    ({"compressor": {"id": "lzma", "preset": 6, "delta": 1}}, "dialect", "GDAL", "000, Filters"),
    # -- data types
    ({"dtype": 5}, "error", "a string or a list", TYPES),
    ({"dtype": "int32"}, "error", "byte order must be", TYPES),
    ({"dtype": "i4"}, "error", "byte order must be specified", TYPES),
    ({"dtype": "=i4"}, "error", "byte order must be specified", TYPES),
    ({"dtype": "|i4"}, "error", "relevant and not specified", TYPES),
    ({"dtype": "<i3"}, "error", "not a NumPy type string", TYPES),
    ({"dtype": "<i"}, "error", "not a NumPy type string", TYPES),
    ({"dtype": "<z4"}, "error", "no type string", TYPES),
    ({"dtype": "<M8"}, "dialect", "has no unit", TYPES),
    ({"dtype": "<M8[xs]"}, "error", "such as '<f8', '|S12' or '<M8[ns]'", TYPES),
    ({"dtype": "<i4[ns]"}, "error", "not a NumPy type string", TYPES),
    ({"dtype": "<u1"}, "dialect", "byte order where none is relevant", TYPES),
    ({"dtype": ">S1", "fill_value": ""}, "dialect", "netcdf-c", TYPES),
    ({"dtype": "int4", "fill_value": 7}, "dialect", "TensorStore", TYPES),
    ({"dtype": "bfloat16", "fill_value": "NaN"}, "dialect", "TensorStore", TYPES),
    ({"dtype": [], "fill_value": None}, "error", "at least one field", TYPES),
    ({"dtype": ["<i4"], "fill_value": None}, "error", "a field must be", TYPES),
    ({"dtype": [["a", "<i4", 2]], "fill_value": None}, "error", "shape of a field", TYPES),
    (
        {"dtype": [["a", "<i4"], ["a", "<i4"]], "fill_value": None},
        "error",
        "more than once",
        TYPES,
    ),
    ({"dtype": [[5, "<i4"]], "fill_value": None}, "error", "name must be a string", TYPES),
    ({"dtype": [["a", "i4"]], "fill_value": None}, "error", "byte order must be", TYPES),
    ({"dtype": [["a", "|i1"], ["", "|V7"]], "fill_value": None}, "dialect", "padding", TYPES),
    # -- fill values
    ({"fill_value": 1 << 31}, "error", "from -2147483648 to 2147483647", META),
    ({"fill_value": 1.5}, "error", "expected an integer", META),
    ({"fill_value": 42.0}, "warning", "has a fraction", META),
    ({"fill_value": "42"}, "dialect", "n5-zarr", META),
    ({"fill_value": [42]}, "dialect", "netcdf-c 4.8.0", META),
    ({"fill_value": True}, "error", "expected an integer", META),
    ({"dtype": "<f8", "fill_value": "nan"}, "error", 'expected a number, "NaN"', FILL),
    ({"dtype": "<f8", "fill_value": "0x7ff8000000000000"}, "error", "must be a number", FILL),
    ({"dtype": "<f8", "fill_value": "1.5"}, "error", "must be a number", FILL),
    ({"dtype": "<f8", "fill_value": False}, "error", "expected a number", FILL),
    ({"dtype": "<f8", "fill_value": float("nan")}, "error", "bare token; 'NaN'", FILL),
    ({"dtype": "<f8", "fill_value": float("-inf")}, "error", "bare token; '-Infinity'", FILL),
    ({"dtype": "|b1", "fill_value": 0}, "dialect", "zarr 2.0 and 2.1", META),
    ({"dtype": "|b1", "fill_value": 2}, "error", "expected true or false", META),
    ({"dtype": "<c16", "fill_value": 0}, "dialect", "zarr 2.0 and 2.1", FILL),
    ({"dtype": "<c16", "fill_value": [1, 2, 3]}, "error", "the real and the imaginary part", FILL),
    ({"dtype": "<c16", "fill_value": [1, "x"]}, "error", "expected a number", FILL),
    ({"dtype": "<M8[s]", "fill_value": "2000-01-01"}, "dialect", "zarr-python 3.0", FILL),
    ({"dtype": "<M8[s]", "fill_value": 0.5}, "error", "64-bit integer", FILL),
    ({"dtype": "|S3", "fill_value": "a-c"}, "dialect", "plain text", FILL),
    ({"dtype": "|S2", "fill_value": "YWJjZGU="}, "error", "base64, or text that fits", FILL),
    ({"dtype": "|S5", "fill_value": "YWJjZGVm"}, "error", "base64, or text that fits", FILL),
    ({"dtype": "|S3", "fill_value": 0}, "dialect", "whatever the type", FILL),
    ({"dtype": "|S3", "fill_value": 7}, "error", "base64 of at most 3 bytes", FILL),
    ({"dtype": "<U2", "fill_value": "abc"}, "error", "a string of at most 2 characters", META),
    ({"dtype": "<U2", "fill_value": 0}, "dialect", "whatever the type", FILL),
    ({"dtype": "<U2", "fill_value": {}}, "error", "expected a string", META),
    ({"dtype": "|V2", "fill_value": "AA=="}, "error", "base64 of 2 bytes", FILL),
    ({"dtype": [["a", "<i4"]], "fill_value": 0}, "dialect", "whatever the type", FILL),
    ({"dtype": [["a", "<i4"]], "fill_value": {}}, "error", "base64 of 4 bytes", FILL),
]


@pytest.mark.parametrize(("members", "level", "fragment", "section"), OF_ARRAYS)
def test_an_array(members: dict[str, Any], level: str, fragment: str, section: str) -> None:
    report = report_on({".zarray": changed(SECOND, **members)}, standard="000")
    assert_one(report, level, fragment, section)
    assert report.ok == (level != "error")
    assert {found.key for found in report} == {".zarray"}


def test_a_missing_dtype() -> None:
    assert_one(report_on({".zarray": changed(SECOND, dtype=DELETE)}), "error", "'dtype'", META)


@pytest.mark.parametrize("name", ["shape", "chunks"])
def test_a_number_for_a_list(name: str) -> None:
    report = report_on({".zarray": changed(SECOND, **{"shape": [5], "chunks": [5], name: 5})})
    assert_one(report, "dialect", "Rarr", META)


OBJECTS = changed(SECOND, dtype="|O", filters=[{"id": "vlen-utf8"}], fill_value="")


@pytest.mark.parametrize(
    ("members", "level", "fragment", "section"),
    [
        ({}, None, "", ""),
        ({"fill_value": 0}, "dialect", "means the empty text", META),
        ({"fill_value": 5}, "error", "expected a string", META),
        ({"filters": None}, "error", "no filter turns them", "Filters"),
        (
            {"filters": [{"id": "vlen-utf8"}, {"id": "json2"}]},
            "error",
            "must come first",
            "Filters",
        ),
    ],
)
def test_objects(members: dict[str, Any], level: str | None, fragment: str, section: str) -> None:
    found = rules_only(report_on({".zarray": changed(OBJECTS, **members)}))
    first, *rest = found
    assert (first.level, "Python objects" in first.message) == ("dialect", True)
    assert [(f.level, fragment in f.message, section in f.reference) for f in rest] == (
        [] if level is None else [(level, True, True)]
    )


def test_text_of_fixed_size_with_a_codec_for_variable_size() -> None:
    document = changed(SECOND, dtype="<U5", filters=[{"id": "vlen-utf8"}], fill_value="")
    assert_one(report_on({".zarray": document}), "dialect", "zarr-python 3.0", "Filters")


# -- JSON -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("data", "fragment"),
    [
        (b"", "it is empty"),
        (b"{", "invalid JSON"),
        (b'{"zarr_format": 2} {}', "Extra data"),
        (b'{"zarr_format": 2, "zarr_format": 2}', "twice"),
        (b'{"zarr_format": "\xff"}', "not UTF-8"),
        (b'{"zarr_format": 2,}', "invalid JSON"),
        (b"[2]", "must be a JSON object"),
        (b"\xef\xbb\xbf" + b'{"zarr_format": 2}', "byte order mark"),
        (b"[" * 10000, "levels deep"),
    ],
)
@pytest.mark.parametrize(
    ("key", "section"), [(".zgroup", "Groups"), (".zattrs", "Attributes"), (".zarray", "Metadata")]
)
def test_broken_json(key: str, section: str, data: bytes, fragment: str) -> None:
    documents: dict[str, Any] = {".zgroup": GROUP, key: data}
    if key == ".zarray":
        del documents[".zgroup"]
    found = [
        f for f in rules_only(report_on(documents)) if "missing" not in f.message and f.key == key
    ]
    if key == ".zattrs" and data == b"[2]":
        fragment = "attributes must be a JSON object"
    expected = [("error", True, f"document 000, {section}")]
    assert [(f.level, fragment in f.message, f.reference) for f in found] == expected


def test_tokens_that_are_no_json() -> None:
    report = report_on({".zgroup": GROUP, ".zattrs": {"a": {"b": [1, float("nan")]}}})
    assert_one(report, "dialect", "tokens in a.b[1]", "000, Attributes")
    many = {name: float("inf") for name in "abcde"}
    report = report_on({".zgroup": GROUP, ".zattrs": many})
    assert_one(report, "dialect", "in a, b, c and 2 more", "000, Attributes")
    odd = changed(SECOND, compressor={"id": "zlib", "level": float("nan")})
    assert_one(report_on({".zarray": odd}), "error", "in compressor.level", META)


def test_a_refusal_is_reported_with_its_reason() -> None:
    report = report_on({".zarray": changed(SECOND, dtype="<f16", fill_value=None)})
    (found,) = report
    assert found.level == "error"
    assert "cannot be opened" in found.message
    assert "extended precision" in found.message


# -- groups and hierarchies -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("documents", "level", "fragment", "section"),
    [
        ({".zgroup": {}}, "error", "'zarr_format' is missing", "Groups"),
        ({".zgroup": {"zarr_format": 1}}, "error", "must be 2, found 1", "Groups"),
        ({".zgroup": {**GROUP, "x": 1}}, "error", "'x' must not be present", "Groups"),
        ({".zgroup": {**GROUP, "_NCZARR_GROUP": {}}}, "dialect", "4.8.1 to 4.9.2", "Groups"),
        ({".zgroup": {**GROUP, "node_type": "group"}}, "dialect", "zarrs", "Groups"),
        ({".zgroup": GROUP, ".nczarr": {}}, "dialect", "4.8.0", "003, 4.3 NCZarr"),
        ({".zgroup": GROUP, ".zarray": SECOND}, "error", "an array or a group", "Groups"),
        (
            {".zgroup": GROUP, "a/b/.zarray": SECOND, "a/c/.zgroup": GROUP},
            "error",
            "every ancestor must be one",
            "Groups",
        ),
        ({".zgroup": GROUP, "a/.zattrs": {}}, "warning", "belongs to no node", "Attributes"),
        ({".zgroup": GROUP, "\u00fc/.zgroup": GROUP}, "dialect", "not ASCII", "Logical storage"),
        ({".zgroup": GROUP, ".zarray/.zgroup": GROUP}, "error", "key of a document", "Logical"),
        ({".zarray": SECOND, "a/.zgroup": GROUP}, "error", "below an array", "Groups"),
    ],
)
def test_a_hierarchy(documents: dict[str, Any], level: str, fragment: str, section: str) -> None:
    assert_one(report_on(documents), level, fragment, section)


@pytest.mark.parametrize(
    ("members", "level", "fragment"),
    [
        ({"compressor": {"id": "nonsense"}}, "warning", "cannot be opened here: unknown codec"),
        ({"filters": [{"id": "nope"}]}, "warning", "cannot be opened here: unknown codec"),
        ({"compressor": {"id": "zlib", "level": "x"}}, "error", "level must be an integer"),
        ({"compressor": {"id": "blosc", "cname": "zzz"}}, "error", "cname must be one of"),
        ({"filters": [{"id": "delta"}]}, "error", "configuration lacks 'dtype'"),
    ],
)
def test_codecs_that_cannot_be_used(members: dict[str, Any], level: str, fragment: str) -> None:
    report = report_on({".zgroup": GROUP, "a/.zarray": changed(SECOND, **members)})
    assert [(f.path, f.key, f.level, fragment in f.message) for f in report] == [
        ("a", "a/.zarray", level, True)
    ]
    assert "MemoryStore" not in str(report)


def test_codecs_whose_data_run_code_are_no_fault() -> None:
    document = changed(SECOND, dtype="|O", filters=[{"id": "pickle"}], fill_value=None)
    assert report_on({".zarray": document}).ok


@pytest.mark.parametrize(
    "documents",
    [
        {".zarray": changed(SECOND, order="c")},
        {".zarray": changed(SECOND, shape="x")},
        {".zarray": changed(SECOND, dtype=DELETE)},
        {".zarray": b"{"},
        {".zgroup": b"{"},
        {".zgroup": {"zarr_format": 3}},
    ],
)
def test_one_departure_is_one_finding(documents: dict[str, Any]) -> None:
    report = report_on(documents)
    assert report.counts["error"] == len(report) == 1, str(report)
    assert report.findings[0].key in documents


def test_what_lies_above_the_start() -> None:
    documents = {"a/b/.zarray": SECOND}
    assert report_on(documents, "a/b").findings == (), "folders above a hierarchy are no part of it"
    gap = report_on({**documents, ".zgroup": GROUP}, "a/b")
    assert [(f.path, f.level, f.key) for f in gap] == [("a", "error", "a/.zgroup")]
    gap = report_on({**documents, ".zgroup": b"{"}, "a/b")
    assert [(f.path, f.level, f.key) for f in gap] == [("a", "error", "a/.zgroup")]
    report = report_on({**documents, ".zgroup": GROUP, "a/.zarray": SECOND}, "a/b")
    assert_one(report, "error", "below the array at '/a'", "Hierarchies")
    assert [found.key for found in report] == ["a/b/.zarray"]


def test_a_broken_child_hides_none_of_the_others() -> None:
    report = report_on(
        {
            ".zgroup": GROUP,
            "a/.zarray": b"{",
            "b/.zarray": changed(SECOND, order="X"),
            "c/.zgroup": b"nonsense",
            "c/d/.zarray": changed(SECOND, order="Y"),
            "e/.zarray": SECOND,
        }
    )
    assert report.nodes == 6
    assert {found.path for found in report} == {"a", "b", "c", "c/d"}
    assert not report.ok


# -- 000 and 003 ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("documents", "levels"),
    [
        ({".zarray": {**SECOND, "dimension_separator": "/"}}, ("dialect", None, "error")),
        ({".zarray": {**SECOND, "extra": 1}}, ("warning", "warning", "error")),
        ({".zarray": {**SECOND, "_NCZARR_ARRAY": {}}}, ("dialect", "dialect", "error")),
        ({".zarray": {**SECOND, "node_type": "array"}}, ("dialect", "dialect", "error")),
        ({".zgroup": {**GROUP, "_NCZARR_GROUP": {}}}, ("dialect", "dialect", "error")),
        ({".zgroup": GROUP, ".nczgroup": {}}, ("dialect", "dialect", "error")),
        ({".zgroup": GROUP, ".zattrs": {"a": {"b": 1}}}, (None, None, "warning")),
        ({".zgroup": {**GROUP, "x": 1}}, ("error", "error", "error")),
    ],
)
def test_where_the_documents_differ(
    documents: dict[str, Any], levels: tuple[str | None, ...]
) -> None:
    for standard, level in zip((None, "000", "003"), levels, strict=True):
        found = rules_only(report_on(documents, standard=standard))
        assert [f.level for f in found] == ([] if level is None else [level]), standard
        for finding in found:
            if standard == "003":
                assert finding.reference.startswith("document 003")
            elif standard is None and level != "error":
                assert "003" in finding.message + finding.reference or "NCZARR" in finding.message


# -- conventions ----------------------------------------------------------------------------------
@pytest.mark.parametrize("names", [["x"], "xy", ["x", 1], ["x", "y", "z"]])
def test_dimension_names(names: Any) -> None:
    documents = {".zarray": SECOND, ".zattrs": {"_ARRAY_DIMENSIONS": names}}
    assert_one(report_on(documents), "warning", "should name 2", "003, 4.1 Named Dimensions")
    documents[".zattrs"] = {"_ARRAY_DIMENSIONS": ["x", "y"]}
    assert report_on(documents).findings == ()


def consolidated(**entries: Any) -> dict[str, Any]:
    return {"zarr_consolidated_format": 1, "metadata": entries}


NODES = {".zgroup": GROUP, "a/.zarray": SECOND, "a/.zattrs": {"x": 1}}


@pytest.mark.parametrize(
    ("document", "level", "fragment"),
    [
        (b"{", "error", "invalid JSON"),
        ({"metadata": NODES}, "error", "zarr_consolidated_format must be 1"),
        ({"zarr_consolidated_format": 1}, "error", "metadata must be an object"),
        (
            consolidated(**{**NODES, "a/.zattrs": {"x": 2}}),
            "warning",
            "stored otherwise: 'a/.zattrs'",
        ),
        (consolidated(**{**NODES, "b/.zarray": SECOND}), "warning", "not stored: 'b/.zarray'"),
        (consolidated(**{**NODES, "b/zarr.json": {}}), "warning", "names no document"),
        (consolidated(**{**NODES, "../.zgroup": GROUP}), "error", "is no key"),
    ],
)
def test_consolidated_metadata(document: Any, level: str, fragment: str) -> None:
    assert_one(report_on({**NODES, ".zmetadata": document}), level, fragment, "convention")


def test_sound_consolidated_metadata() -> None:
    assert report_on({**NODES, ".zmetadata": consolidated(**NODES)}).findings == ()
    # What zarr-python 3 adds to the copies says nothing about the stored documents.
    copies = {**NODES, ".zgroup": {**GROUP, "consolidated_metadata": {}}, ".zattrs": {}}
    assert report_on({**NODES, ".zmetadata": consolidated(**copies)}).findings == ()


def test_a_node_that_consolidated_metadata_leave_out() -> None:
    documents = {**NODES, "b/.zarray": SECOND, ".zmetadata": consolidated(**NODES)}
    assert_one(report_on(documents), "warning", "'/' do not list this node", "Consolidated")
    below = {f"g/{key}": value for key, value in documents.items()}
    report = report_on({".zgroup": GROUP, **below})
    assert_one(report, "warning", "'/g' do not list this node", "Consolidated")
    assert report.findings[0].path == "g/b"


# -- chunks ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("keys", "level", "fragment"),
    [
        (
            {"0.0": b"x", "notes.txt": b""},
            "warning",
            "1 key below the array that no chunk has: 'no",
        ),
        ({"00.0": b"", "1.1.partial": b"", "0.0.0": b""}, "warning", "3 keys below"),
        ({"0.2": b"", "2.0": b""}, "warning", "2 chunks outside the grid of (2, 2) chunks: '0.2'"),
        ({"0/0": b"", "0.1": b""}, "dialect", "1 chunk with the separator '/' in the key"),
    ],
)
def test_chunk_keys(keys: dict[str, bytes], level: str, fragment: str) -> None:
    assert_one(report_on({".zarray": SECOND, **keys}), level, fragment, "000, Chunks")


def test_flat_keys_under_a_slash() -> None:
    document = {**SECOND, "dimension_separator": "/"}
    report = report_on({".zarray": document, "0.0": b"", "1/1": b""}, standard="000")
    assert_one(report, "dialect", "1 chunk with the separator '.' in the key", "000, Chunks")
    document = {**SECOND, "dimension_separator": "."}
    report = report_on({".zarray": document, "0/0": b""}, standard="000")
    assert_one(report, "warning", "1 key below the array", "000, Chunks")


@pytest.mark.parametrize("size", [0, 399, 401])
def test_the_size_of_chunks_that_are_not_compressed(size: int) -> None:
    report = report_on({".zarray": PLAIN, "0.0": bytes(400), "0.1": bytes(size)})
    assert_one(report, "error", f"'0.1' ({size} bytes, not 400)", "000, Chunks")
    assert report.findings[0].key == "0.1"


def test_many_findings_of_one_kind_are_one() -> None:
    keys = {f"stray{number}": b"" for number in range(50)}
    report = report_on({".zarray": SECOND, **keys})
    assert_one(report, "warning", "and 47 more", "000, Chunks")
