"""N5: every rule finds what it is for, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.rules.support import DELETE, assert_one, changed, report_on

ROOT = {"n5": "4.0.0"}
DATASET: dict[str, Any] = {
    "dimensions": [7, 5],
    "blockSize": [5, 4],
    "dataType": "uint16",
    "compression": {"type": "gzip", "level": -1},
}
BLOCK = b"\0\0\0\2\0\0\0\5\0\0\0\4" + bytes(8)
ITEM = "N5 specification, file-system specification, item"


def n5(dataset: Any, **more: Any) -> dict[str, Any]:
    return {"attributes.json": ROOT, "a/attributes.json": dataset, **more}


@pytest.mark.parametrize(
    "documents",
    [
        n5(DATASET),
        n5(DATASET, **{"a/0/0": BLOCK, "a/1/1": BLOCK}),
        n5({**DATASET, "compression": {"type": "raw"}, "units": ["nm", "nm"]}),
        n5({**DATASET, "compression": {"type": "gzip", "level": 5, "useZlib": True}}),
        n5({**DATASET, "compression": {"type": "blosc", "cname": "lz4", "clevel": 5}}),
        n5({**DATASET, "compression": {"type": "lz4", "blockSize": 65536}}),
        {"attributes.json": ROOT, "a/b/c/attributes.json": DATASET},
        {"attributes.json": {**ROOT, **DATASET}},
    ],
)
def test_what_n5_allows(documents: dict[str, Any]) -> None:
    report = report_on(documents)
    assert report.findings == (), str(report)
    assert report.nodes >= 1


@pytest.mark.parametrize(
    ("members", "level", "fragment", "section"),
    [
        ({"blockSize": DELETE}, "error", "'blockSize' is missing", "4"),
        ({"dataType": DELETE}, "error", "'dataType' is missing", "4"),
        ({"compression": DELETE}, "error", "'compression' is missing", "4"),
        (
            {"compression": DELETE, "compressionType": "raw"},
            *("dialect", "N5 1.x wrote it", "4"),
        ),
        ({"dimensions": [7, -5]}, "error", "integers from 0 to", "4"),
        ({"blockSize": [5, 0]}, "error", "integers from 1 to", "4"),
        ({"blockSize": [5]}, "error", "has 1 dimensions", "4"),
        ({"blockSize": [1 << 20, 1 << 10]}, "error", "at most 2 GiB", "7"),
        ({"dataType": "bool"}, "dialect", "zarr-python 2 wrote it", "4"),
        ({"dataType": "float16"}, "error", "dataType must be one of", "4"),
        ({"compression": "gzip"}, "error", "must be an object with a type", "4"),
        ({"compression": {"level": 1}}, "error", "a type that is a string", "4"),
        ({"compression": {"type": "snappy"}}, "warning", "not known here", "4"),
        ({"compression": {"type": "gzip", "level": 10}}, "error", "from -1 to 9", "4"),
        ({"compression": {"type": "gzip", "useZlib": 1}}, "error", "true or false", "4"),
        ({"compression": {"type": "bzip2", "blockSize": 0}}, "error", "from 1 to 9", "4"),
        ({"compression": {"type": "zstd", "id": "zstd"}}, "dialect", "numcodecs", "4"),
        ({"compression": {"type": "lz4", "id": "lz4"}}, "dialect", "numcodecs", "4"),
        ({"note": float("nan")}, "dialect", "tokens in note", "2"),
    ],
)
def test_a_dataset(members: dict[str, Any], level: str, fragment: str, section: str) -> None:
    assert_one(report_on(n5(changed(DATASET, **members))), level, fragment, f"{ITEM} {section}")


@pytest.mark.parametrize(
    ("document", "level", "fragment", "section"),
    [
        ({"x": 1, **DATASET}, "warning", "no attribute 'n5'", "3"),
        ({"n5": 4}, "error", "n5 must be a version", "3"),
        ({"n5": "latest"}, "error", "n5 must be a version", "3"),
    ],
)
def test_the_root(document: Any, level: str, fragment: str, section: str) -> None:
    assert_one(report_on({"attributes.json": document}), level, fragment, f"{ITEM} {section}")


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"n5": "4.0.0", "n5": "4.0.0"}'])
def test_broken_attributes(data: bytes) -> None:
    report = report_on({"attributes.json": ROOT, "a/attributes.json": data})
    found = [f for f in report if f.path == "a"]
    assert found
    assert {f.level for f in found} == {"error"}


@pytest.mark.parametrize(
    ("keys", "level", "fragment"),
    [
        ({"a/2/0": BLOCK}, "warning", "outside the grid"),
        ({"a/x/0": BLOCK}, "warning", "no chunk has"),
    ],
)
def test_blocks(keys: dict[str, bytes], level: str, fragment: str) -> None:
    assert_one(report_on(n5(DATASET, **keys)), level, fragment, f"{ITEM} 5")


def test_the_flavours_of_lz4() -> None:
    dataset = {**DATASET, "compression": {"type": "lz4", "blockSize": 65536}}
    java = BLOCK[:12] + b"LZ4Block" + bytes(13)
    assert report_on(n5(dataset, **{"a/0/0": java})).findings == ()
    report = report_on(n5(dataset, **{"a/0/0": BLOCK}))
    assert_one(report, "dialect", "z5 wrote them", f"{ITEM} 4")
