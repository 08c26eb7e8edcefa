"""Formats 0 and 1: every rule finds what it is for, and nothing else."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from tests.formats.rules.support import DELETE, assert_one, changed, report_on, rules_only

EXAMPLE_0: dict[str, Any] = {
    "chunks": [10000, 100],
    "clevel": 3,
    "cname": "lz4",
    "dtype": "<i4",
    "fill_value": 42,
    "shape": [1000000, 1000],
    "shuffle": 1,
}
"""Document 001's own example."""
CHUNK = bytes(16)
SECTION_0 = "document 001, Configuration metadata"


@pytest.mark.parametrize(
    "documents",
    [
        {"__zmeta__": EXAMPLE_0},
        {
            "__zmeta__": EXAMPLE_0,
            "__zattr__": {"bar": 4.2, "baz": "quux", "foo": 42},
            "__zdata__/0.0.blosc": CHUNK,
            "__zdata__/99.9.blosc": CHUNK,
        },
        {"__zmeta__": changed(EXAMPLE_0, dtype="|S5", fill_value="")},
        {"__zmeta__": changed(EXAMPLE_0, dtype="<f8", fill_value=1.5)},
        {"__zmeta__": changed(EXAMPLE_0, dtype="<M8[ns]", fill_value=0)},
    ],
)
def test_what_document_001_allows(documents: dict[str, Any]) -> None:
    assert report_on(documents).findings == ()


@pytest.mark.parametrize(
    ("members", "level", "fragment"),
    [
        *(({name: DELETE}, "error", f"{name!r} is missing") for name in EXAMPLE_0),
        ({"zarr_format": 0}, "warning", "'zarr_format' is not in the document"),
        ({"shape": [1.5, 1]}, "error", "shape must hold integers"),
        ({"chunks": [0, 1]}, "error", "integers from 1 to 2**63 - 1"),
        ({"chunks": [1]}, "error", "has 1 dimensions"),
        ({"cname": "zstd"}, "error", "cname must be"),
        ({"clevel": 10}, "error", "clevel must be"),
        ({"clevel": "3"}, "error", "clevel must be"),
        ({"shuffle": 3}, "error", "shuffle must be"),
        ({"shuffle": True}, "error", "shuffle must be"),
        ({"dtype": "i4"}, "error", "byte order must be specified"),
        ({"dtype": [["a", "<i4"]], "fill_value": ""}, "dialect", "zarr 0.4 wrote records so"),
        ({"fill_value": None}, "dialect", "null, no scalar"),
        ({"fill_value": [42]}, "error", "expected an integer"),
        ({"dtype": "<f8", "fill_value": float("nan")}, "dialect", "bare token NaN"),
        ({"dtype": "<f8", "fill_value": float("-inf")}, "dialect", "bare token -Infinity"),
        ({"dtype": "<f8", "fill_value": "NaN"}, "error", "no scalar of the dtype"),
        ({"dtype": "|b1", "fill_value": 2}, "error", "no scalar of the dtype"),
        ({"dtype": "|S3", "fill_value": 5}, "error", "no scalar of the dtype"),
    ],
)
def test_a_configuration(members: dict[str, Any], level: str, fragment: str) -> None:
    report = report_on({"__zmeta__": changed(EXAMPLE_0, **members)})
    assert_one(report, level, fragment, SECTION_0)


def test_the_pickle_of_release_0_3() -> None:
    data = pickle.dumps({**EXAMPLE_0, "cname": b"lz4"}, protocol=0)
    report = report_on({"__zmeta__": data})
    assert_one(report, "dialect", "zarr 0.3 wrote it", SECTION_0)


def test_a_hostile_pickle_is_an_error_and_nothing_runs() -> None:
    report = report_on({"__zmeta__": b"cos\nsystem\n(S'true'\ntR."})
    assert not report.ok
    assert all(found.level in ("error", "dialect") for found in report)


@pytest.mark.parametrize(
    ("key", "value", "level", "fragment", "section"),
    [
        ("__zmeta__", b"{", "error", "invalid JSON", "Configuration metadata"),
        ("__zmeta__", b"[]", "error", "must be a JSON object", "Configuration metadata"),
        ("__zattr__", b"[]", "error", "must be a JSON object", "User metadata"),
        ("__zattr__", {"x": float("nan")}, "dialect", "tokens in x", "User metadata"),
        ("__zattr__.lock", b"", "dialect", "lock files", "User metadata"),
        ("notes", b"", "warning", "'notes' is not in the document", "Configuration"),
        ("other/x", b"", "warning", "'other' is not in the document", "Configuration"),
        ("__zdata__/0.0.blosc.lock", b"", "dialect", "lock files", "Array data"),
        ("__zdata__/0.0.blosc.partial", b"", "warning", "interrupted", "Array data"),
        ("__zdata__/100.0.blosc", CHUNK, "warning", "outside the grid", "Array data"),
        ("__zdata__/0.0", CHUNK, "warning", "no chunk has", "Array data"),
    ],
)
def test_what_else_lies_there(
    key: str, value: Any, level: str, fragment: str, section: str
) -> None:
    report = report_on({"__zmeta__": EXAMPLE_0, key: value})
    assert_one(report, level, fragment, f"document 001, {section}")


# -- format 1 -------------------------------------------------------------------------------------
EXAMPLE_1: dict[str, Any] = {
    "chunks": [1000, 1000],
    "compression": "blosc",
    "compression_opts": {"clevel": 5, "cname": "lz4", "shuffle": 1},
    "dtype": "<f8",
    "fill_value": None,
    "order": "C",
    "shape": [10000, 10000],
    "zarr_format": 1,
}
"""The example of the storage specification version 1."""
ZLIB = {"compression": "zlib", "compression_opts": 1}
NONE = {"compression": "none", "compression_opts": None}


@pytest.mark.parametrize(
    "members",
    [
        {},
        ZLIB,
        {"order": "F"},
        {"another": "member"},
        {**ZLIB, "order": "F", "shape": [5], "chunks": [5]},
        {"dtype": [["r", "|u1"], ["g", "|u1"], ["b", "|u1"]]},
        {"dtype": "|S3", "fill_value": "abc"},
        {"compression": "lzma", "compression_opts": {"format": 1, "preset": 1}},
    ],
)
def test_what_version_1_allows(members: dict[str, Any]) -> None:
    documents = {"meta": changed(EXAMPLE_1, **members), "attrs": {}, "0.0": b"x"}
    if len(documents["meta"]["shape"]) == 1:
        del documents["0.0"]
    assert report_on(documents).findings == ()


@pytest.mark.parametrize(
    ("members", "level", "fragment", "section"),
    [
        *(
            ({name: DELETE}, "error", f"{name!r} is missing", "Metadata")
            for name in EXAMPLE_1
            if name != "zarr_format"
        ),
        ({"shape": [-1, 1]}, "error", "integers from 0 to", "Metadata"),
        ({"chunks": [1]}, "error", "has 1 dimensions", "Metadata"),
        ({"order": "X"}, "error", "order must be", "Metadata"),
        ({"dtype": "f8"}, "error", "byte order must be", "Data type encoding"),
        ({"dtype": [["a", "<f4", [2]]]}, "error", "a field must be [name, type]", "Data type"),
        ({"compression": 5}, "error", "compression must be a string", "Metadata"),
        ({"compression": "snappy"}, "warning", "none that zarr 1 wrote", "Metadata"),
        (NONE, "dialect", "null; zarr 1 wrote it", "Metadata"),
        (
            {**ZLIB, "compression_opts": None},
            "error",
            "to 9, found None",
            "Metadata",
        ),
        ({**ZLIB, "compression_opts": 11}, "error", "from 0 to 9", "Metadata"),
        (
            {**ZLIB, "compression_opts": [1]},
            "error",
            "to 9, found [1]",
            "Metadata",
        ),
        ({"compression_opts": 5}, "error", "expected an object", "Metadata"),
        (
            {"compression_opts": {"clevel": 5, "shuffle": 1}},
            *("error", "cname must be one of", "Metadata"),
        ),
        ({**ZLIB, "order": "F"}, "warning", "C order all the same", "Chunks"),
        ({"fill_value": float("nan")}, "dialect", "bare token NaN", "Metadata"),
        ({"fill_value": "NaN"}, "error", "no scalar of the dtype", "Metadata"),
        ({"fill_value": [1]}, "error", "no scalar of the dtype", "Metadata"),
    ],
)
def test_an_array_of_version_1(
    members: dict[str, Any], level: str, fragment: str, section: str
) -> None:
    report = report_on({"meta": changed(EXAMPLE_1, **members), "attrs": {}})
    assert_one(report, level, fragment, f"storage specification version 1, {section}")


@pytest.mark.parametrize(
    ("documents", "level", "fragment", "section"),
    [
        ({"attrs": DELETE}, "error", "'attrs' must be present", "Attributes"),
        ({"attrs": []}, "error", "must be a JSON object", "Attributes"),
        ({"10.0": b"x"}, "warning", "outside the grid", "Chunks"),
        ({"junk": b"x"}, "warning", "no chunk has", "Chunks"),
        ({"0.0.partial": b"x"}, "warning", "interrupted", "Chunks"),
        ({"0.0.lock": b"x"}, "dialect", "synchronizer", "Chunks"),
        ({"a/meta": EXAMPLE_1}, "error", "below an array", "one store holds one array"),
    ],
)
def test_what_lies_beside_version_1(
    documents: dict[str, Any], level: str, fragment: str, section: str
) -> None:
    report = report_on(changed({"meta": EXAMPLE_1, "attrs": {}}, **documents))
    assert_one(report, level, fragment, section)


def test_the_size_of_chunks_without_compression() -> None:
    document = changed(EXAMPLE_1, **NONE, chunks=[10, 10])
    found = rules_only(report_on({"meta": document, "attrs": {}, "0.0": b"x"}))
    assert [f.level for f in found] == ["dialect", "error"]
    assert "(1 bytes, not 800)" in found[1].message
