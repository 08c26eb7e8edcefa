"""The v3 drafts: every rule of document 002 finds what it is for, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.rules.support import DELETE, assert_one, changed, report_on, rules_only

URI = "https://purl.org/zarr/spec/protocol/core/3.0"
BOOTSTRAP: dict[str, Any] = {
    "zarr_format": URI,
    "metadata_encoding": "application/json",
    "extensions": [],
}
EXTENDED = {
    **BOOTSTRAP,
    "extensions": [
        {
            "extension": "http://example.org/zarr/extension/foo",
            "must_understand": False,
            "configuration": {"foo": "bar"},
        }
    ],
}
EXAMPLE: dict[str, Any] = {
    "shape": [10000, 1000],
    "data_type": "<f8",
    "chunk_grid": {"type": "regular", "chunk_shape": [1000, 100]},
    "chunk_memory_layout": "C",
    "compressor": {
        "codec": "http://purl.org/zarr/spec/codec/gzip",
        "configuration": {"level": 1},
    },
    "fill_value": "NaN",
    "extensions": [],
    "attributes": {"foo": 42, "bar": "apples", "baz": [1, 2, 3, 4]},
}
DATETIME = {
    "extension": "http://purl.org/zarr/spec/protocol/extensions/datetime-dtypes/1.0",
    "type": "<M8[ns]",
    "fallback": "<i8",
}
GROUP = {"extensions": [], "attributes": {"spam": "ham", "eggs": 42}}
GRID = EXAMPLE["chunk_grid"]


@pytest.mark.parametrize("bootstrap", [BOOTSTRAP, EXTENDED])
@pytest.mark.parametrize(
    "documents",
    [
        {"meta/root.array": EXAMPLE, "data/0.0": b"x"},
        {"meta/root.array": changed(EXAMPLE, data_type=DATETIME, fill_value=None)},
        {"meta/root.group": GROUP},
        {"meta/root/foo/bar.group": GROUP, "meta/root/foo/baz/qux.array": EXAMPLE},
        {"meta/root/foo/baz.array": EXAMPLE, "data/foo/baz/0.0": b"x", "data/foo/baz/9.9": b"x"},
        {"meta/root.array": changed(EXAMPLE, chunk_grid={**GRID, "separator": "/"})},
        {"meta/root.array": changed(EXAMPLE, data_type="bool", fill_value=True)},
        {"meta/root.array": changed(EXAMPLE, data_type=">i2", fill_value=-1)},
        {"meta/root.array": changed(EXAMPLE, chunk_memory_layout="F")},
    ],
)
def test_what_document_002_allows(documents: dict[str, Any], bootstrap: dict[str, Any]) -> None:
    report = report_on({"zarr.json": bootstrap, **documents})
    assert report.findings == (), str(report)
    assert report.nodes >= 1


BOOT = "document 002, Bootstrap metadata"


@pytest.mark.parametrize(
    ("members", "level", "fragment"),
    [
        ({"extensions": DELETE}, "error", "'extensions' is missing"),
        ({"extensions": {}}, "error", "extensions must be a list"),
        ({"extensions": [1]}, "error", "extensions[0] must be an object"),
        ({"extensions": [{"extension": URI}]}, "error", "'must_understand' is missing"),
        (
            {"extensions": [{"extension": "foo", "must_understand": False}]},
            *("error", "must be a URI, found 'foo'"),
        ),
        ({"metadata_encoding": URI}, "dialect", "layout B of September 2020"),
        ({"another": 1}, "warning", "'another' is not defined"),
        ({"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.1"}, "error", "must be"),
    ],
)
def test_the_bootstrap(members: dict[str, Any], level: str, fragment: str) -> None:
    report = report_on({"zarr.json": changed(BOOTSTRAP, **members), "meta/root.group": GROUP})
    assert_one(report, level, fragment, BOOT)
    assert report.findings[0].key == "zarr.json"


def test_layout_c_is_said_once() -> None:
    bootstrap = {**BOOTSTRAP, "metadata_encoding": URI, "metadata_key_suffix": ".json"}
    documents = {
        "zarr.json": bootstrap,
        "meta/root.group.json": GROUP,
        "meta/root/a.array.json": EXAMPLE,
        "data/root/a/c0/0": b"x",
        "meta/root/b/c.array.json": EXAMPLE,
    }
    found = rules_only(report_on(documents))
    assert [(f.path, f.level, "October 2020" in f.message) for f in found] == [
        ("", "dialect", True),
        ("", "dialect", True),
    ]
    assert {f.reference for f in rules_only(report_on(documents, "b/c"))} == {BOOT}


ARRAY, TYPES = "document 002, Array metadata", "document 002, Core data types"
NAMES, TERMS = "document 002, Node names", "document 002, Concepts and terminology"


@pytest.mark.parametrize(
    ("members", "level", "fragment", "section"),
    [
        *(
            ({name: DELETE}, "error", f"{name!r} is missing", ARRAY)
            for name in ("shape", "chunk_grid", "chunk_memory_layout", "fill_value", "attributes")
        ),
        ({"data_type": DELETE}, "error", "'data_type' is missing", ARRAY),
        ({"compressor": DELETE}, "dialect", "compressor is missing", ARRAY),
        ({"compressor": None}, "dialect", "compressor is null", ARRAY),
        ({"compressor": "gzip"}, "error", "compressor must be an object", ARRAY),
        ({"compressor": {}}, "error", "'codec' is missing", ARRAY),
        ({"compressor": {"codec": "gzip"}}, "error", "codec must be a URI", ARRAY),
        ({"compressor": {**EXAMPLE["compressor"], "x": 1}}, "warning", "'x'", ARRAY),
        ({"extensions": DELETE}, "dialect", "zarr-python 2 left it out", ARRAY),
        ({"extensions": {}}, "error", "extensions must be a list", ARRAY),
        ({"attributes": None}, "dialect", "zarrita of 2020", ARRAY),
        ({"attributes": []}, "error", "attributes must be a JSON object", ARRAY),
        ({"attributes": {"filters": [{"id": "delta"}]}}, "dialect", "hid them there", ARRAY),
        ({"shape": [1.5, 1]}, "error", "shape must hold integers", ARRAY),
        ({"chunk_grid": []}, "error", "chunk_grid must be an object", ARRAY),
        ({"chunk_grid": {**GRID, "type": "hexagonal"}}, "error", "must be 'regular'", ARRAY),
        ({"chunk_grid": {**GRID, "chunk_shape": [1]}}, "error", "has 1 dimensions", ARRAY),
        (
            {"chunk_grid": {**GRID, "separator": "-"}},
            "error",
            "must be '.' or '/'",
            "Regular grids",
        ),
        ({"chunk_grid": {**GRID, "x": 1}}, "warning", "'x' is not defined", ARRAY),
        ({"chunk_memory_layout": "X"}, "error", "must be 'C' or 'F'", ARRAY),
        ({"dimension_separator": "/"}, "dialect", "zarr-python 2 wrote it", ARRAY),
        ({"surprise": 1}, "error", "'surprise' is reserved", ARRAY),
        ({"data_type": "float64"}, "error", "no core data type", TYPES),
        ({"data_type": 5}, "error", "a string or an object", ARRAY),
        ({"data_type": ">u2", "fill_value": 0}, "dialect", "October 2020", TYPES),
        ({"data_type": "|b1", "fill_value": False}, "dialect", "spelled 'bool'", TYPES),
        ({"data_type": {**DATETIME, "fallback": None}, "fill_value": 0}, "dialect", "null", ARRAY),
        ({"data_type": {**DATETIME, "fallback": "x"}, "fill_value": 0}, "error", "core", ARRAY),
        ({"data_type": {**DATETIME, "extension": "x"}, "fill_value": 0}, "error", "URI", ARRAY),
        (
            {"data_type": {**DATETIME, "extension": "TODO: URL"}, "fill_value": 0},
            *("dialect", "zarr-python 2 wrote it", ARRAY),
        ),
        ({"data_type": "bool", "fill_value": 0}, "error", "true or false", ARRAY),
        ({"data_type": "u1", "fill_value": 256}, "error", "from 0 to 255", ARRAY),
        ({"data_type": "<i2", "fill_value": 1.0}, "error", "an integer", ARRAY),
        ({"fill_value": "nan"}, "error", "must be a number", ARRAY),
    ],
)
def test_an_array(members: dict[str, Any], level: str, fragment: str, section: str) -> None:
    report = report_on({"zarr.json": BOOTSTRAP, "meta/root.array": changed(EXAMPLE, **members)})
    assert_one(report, level, fragment, section)
    assert {found.key for found in report} == {"meta/root.array"}


@pytest.mark.parametrize(
    ("documents", "level", "fragment", "section"),
    [
        ({"meta/root.group": {"attributes": {}}}, "dialect", "left it out", "Group metadata"),
        ({"meta/root.group": {**GROUP, "x": 1}}, "error", "'x' is reserved", "Group metadata"),
        ({"meta/root.group": b"{"}, "error", "invalid JSON", "Group metadata"),
        (
            {"meta/root/a.array": EXAMPLE, "meta/root/a.group": GROUP},
            *("error", "an array document and a group document", TERMS),
        ),
        (
            {"meta/root.array": EXAMPLE, "meta/root.group": GROUP},
            *("dialect", "zarrita and GDAL left such", TERMS),
        ),
        (
            {"meta/root/a.array": EXAMPLE, "meta/root/a/b.group": GROUP},
            *("error", "may not have child nodes, found 'b'", TERMS),
        ),
        (
            {"meta/root/foo.group": GROUP, "meta/root/FOO.group": GROUP},
            *("error", "'FOO' and 'foo' have one name", NAMES),
        ),
        ({"meta/root/a b.group": GROUP}, "error", "characters other than", NAMES),
        ({"meta/root/....group": GROUP}, "error", "periods only", NAMES),
        ({f"meta/root/{'a' * 256}.group": GROUP}, "error", "256 characters", NAMES),
        (
            {"meta/root.group": GROUP, "meta/root/junk": b""},
            "warning",
            "of no node",
            "Storage keys",
        ),
        ({"meta/root/a.array": EXAMPLE, "data/a/10.0": b""}, "warning", "outside", "Storage keys"),
        ({"meta/root/a.array": EXAMPLE, "data/a/x": b""}, "warning", "no chunk", "Storage keys"),
    ],
)
def test_a_hierarchy(documents: dict[str, Any], level: str, fragment: str, section: str) -> None:
    assert_one(report_on({"zarr.json": BOOTSTRAP, **documents}), level, fragment, section)


def test_keys_that_are_named_exist() -> None:
    """Groups need no document of their own."""
    report = report_on(
        {
            "zarr.json": BOOTSTRAP,
            "meta/root/foo.group": GROUP,
            "meta/root/FOO.group": GROUP,
            "meta/root/a b/c.group": GROUP,
        }
    )
    assert sorted((f.path, f.key) for f in report) == [
        ("", "meta/root/"),
        ("a b", "meta/root/a b/"),
    ]


def test_a_broken_child_hides_none_of_the_others() -> None:
    report = report_on(
        {
            "zarr.json": BOOTSTRAP,
            "meta/root/a.array": b"{",
            "meta/root/b.group": b"{",
            "meta/root/b/c.array": changed(EXAMPLE, chunk_memory_layout="X"),
        }
    )
    assert {found.path for found in report} == {"a", "b", "b/c"}
    assert report.nodes == 4


def test_consolidated_metadata_of_zarr_python_2() -> None:
    bootstrap = {**BOOTSTRAP, "metadata_encoding": URI, "metadata_key_suffix": ".json"}
    report = report_on(
        {
            "zarr.json": bootstrap,
            "meta/root.group.json": GROUP,
            "meta/root/consolidated.group.json": GROUP,
            "meta/root/consolidated/.zmetadata": {},
        }
    )
    messages = [f.message for f in rules_only(report)]
    assert len([m for m in messages if m.startswith("consolidated metadata")]) == 1
    assert report.nodes == 1


def test_the_two_names_of_the_only_chunk() -> None:
    bootstrap = {**BOOTSTRAP, "metadata_encoding": URI, "metadata_key_suffix": ".json"}
    document = changed(EXAMPLE, shape=[], chunk_grid={**GRID, "chunk_shape": [], "separator": "/"})
    documents = {"zarr.json": bootstrap, "meta/root/a.array.json": document}
    both = report_on({**documents, "data/root/a/c": b"x", "data/root/a/c0": b"x"}, "a")
    found = [f.message for f in rules_only(both) if f.reference.endswith("Storage keys")]
    assert len(found) == 1
    assert "a key that other writers of the format use" in found[0]


def test_chunks_without_a_compressor_have_one_size() -> None:
    document = changed(EXAMPLE, compressor=None, shape=[4], chunk_grid={**GRID, "chunk_shape": [2]})
    report = report_on({"zarr.json": BOOTSTRAP, "meta/root/a.array": document, "data/a/0": b"x"})
    assert [(f.level, "not 16" in f.message) for f in rules_only(report)] == [
        ("dialect", False),
        ("error", True),
    ]
