"""Every member of every document, replaced by every kind of wrong value: MetadataError or a model.

No other exception may leave a parser, and what parses must be written and parsed again.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from omnizarr.errors import MetadataError
from omnizarr.formats import get_format
from omnizarr.formats.base import Format
from omnizarr.model.array import ArrayModel

WRONG: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    10**30,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\ud800",
    "0x",
    "r",
    [],
    [[]],
    [None],
    [-1],
    [0],
    [True],
    ["x"],
    [10**30],
    [1] * 100,
    [{}],
    {},
    {"name": None},
    {"name": "x"},
    {"name": "bytes", "configuration": 5},
    {"id": None},
    {"id": "x"},
    {"configuration": {}},
    {"must_understand": False},
    {"name": "regular", "configuration": {"chunk_shape": [0]}},
    {"name": "sharding_indexed", "configuration": {"chunk_shape": None}},
    {"name": "rectilinear", "configuration": {"chunk_shapes": [[[1, 10**15], 1], 5]}},
    {"name": "cast_value", "configuration": {"data_type": 5}},
]

ARRAYS_2: list[dict[str, Any]] = [
    {
        "zarr_format": 2,
        "shape": [20, 10],
        "chunks": [10, 5],
        "dtype": dtype,
        "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
        "fill_value": fill,
        "order": "F",
        "filters": filters,
        "dimension_separator": "/",
    }
    for dtype, fill, filters in [
        ("<i4", 1, None),
        ("<f8", "NaN", [{"id": "delta", "dtype": "<f8"}]),
        ("<c16", [0.0, "NaN"], None),
        ("|S3", "YWI=", None),
        ("<M8[s]", 5, None),
        ("|O", "", [{"id": "vlen-utf8"}]),
        ([["a", "<i4"], ["b", "<f4", [2, 2]], ["c", [["d", "|S3"]]]], None, None),
    ]
]
ARRAYS_3: list[dict[str, Any]] = [
    {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [20, 10],
        "data_type": data_type,
        "chunk_grid": grid,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {
                "name": "sharding_indexed",
                "configuration": {
                    "chunk_shape": [5, 5],
                    "codecs": [
                        {"name": "bytes", "configuration": {"endian": "little"}},
                        {
                            "name": "blosc",
                            "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "shuffle"},
                        },
                    ],
                    "index_codecs": [{"name": "bytes"}, {"name": "crc32c"}],
                    "index_location": "end",
                },
            },
        ],
        "attributes": {"a": 1},
        "dimension_names": ["y", None],
        "storage_transformers": [],
    }
    for data_type, fill, grid in [
        ("int32", 1, {"name": "regular", "configuration": {"chunk_shape": [10, 10]}}),
        (
            {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}},
            "NaT",
            {
                "name": "rectilinear",
                "configuration": {"kind": "inline", "chunk_shapes": [10, [5, [5, 1]]]},
            },
        ),
        (
            {
                "name": "struct",
                "configuration": {
                    "fields": [
                        {"name": "a", "data_type": "int8"},
                        {
                            "name": "b",
                            "data_type": {
                                "name": "raw_bytes",
                                "configuration": {"length_bytes": 2},
                            },
                        },
                    ]
                },
            },
            {"a": 1, "b": [1, 2]},
            {"name": "regular", "configuration": {"chunk_shape": [10, 10]}},
        ),
    ]
]


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """The path of every member and item in a document."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for name, item in items:
        yield (name,)
        for rest in places(item):
            yield (name, *rest)


def replaced(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    target = changed
    for name in place[:-1]:
        target = target[name]
    if value is MISSING:
        del target[place[-1]]
    else:
        target[place[-1]] = value
    return changed


MISSING = object()


def attempt(chosen: Format, key: str, stored: Any) -> bool:
    """Whether the document is accepted; whatever is accepted must survive being written."""
    data = json.dumps(stored).encode()
    try:
        model = chosen.parse("", {key: data})
    except MetadataError as error:
        assert str(error).startswith(f"key {key!r}: ")
        assert len(str(error)) < 2000
        return False
    if model is not None:
        assert isinstance(model, ArrayModel)
        again = chosen.parse("", chosen.documents("", model))
        assert isinstance(again, ArrayModel)
        assert again.codecs == model.codecs
        assert again.data_type == model.data_type
        assert again.grid == model.grid
    return True


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(ARRAYS_2)))
def test_format_2(number: int) -> None:
    chosen, stored = get_format(2), ARRAYS_2[number]
    assert attempt(chosen, ".zarray", stored)
    refused = sum(
        not attempt(chosen, ".zarray", replaced(stored, place, value))
        for place in places(stored)
        for value in (*WRONG, MISSING)
    )
    assert refused > 200


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(ARRAYS_3)))
def test_format_3(number: int) -> None:
    chosen, stored = get_format(3), ARRAYS_3[number]
    assert attempt(chosen, "zarr.json", stored)
    refused = sum(
        not attempt(chosen, "zarr.json", replaced(stored, place, value))
        for place in places(stored)
        for value in (*WRONG, MISSING)
    )
    assert refused > 400


@pytest.mark.parametrize(
    ("member", "value"),
    [
        (member, value)
        for member in ("zarr_format", "shape", "chunks", "dtype")
        for value in (None, True, -1, 1.5, "x", {}, [None], [True], [-1], [1.0], MISSING)
        if (member, value) != ("dtype", MISSING)
    ],
)
def test_required_members_of_format_2(member: str, value: Any) -> None:
    assert not attempt(get_format(2), ".zarray", replaced(ARRAYS_2[0], (member,), value))


@pytest.mark.parametrize(
    ("member", "value"),
    [
        (member, value)
        for member in (
            "zarr_format",
            "node_type",
            "shape",
            "data_type",
            "chunk_grid",
            "chunk_key_encoding",
        )
        for value in (None, True, -1, 1.5, "x", {}, [None], [True], [-1], MISSING)
    ]
    + [
        ("codecs", None),
        ("codecs", {}),
        ("codecs", [5]),
        ("attributes", None),
        ("attributes", []),
        ("dimension_names", ["x"]),
        ("dimension_names", [1, 2]),
        ("dimension_names", "xy"),
        ("storage_transformers", {}),
        ("storage_transformers", ["x"]),
        ("fill_value", MISSING),
        ("fill_value", "0"),
        ("fill_value", 2**31),
    ],
)
def test_members_of_format_3(member: str, value: Any) -> None:
    assert not attempt(get_format(3), "zarr.json", replaced(ARRAYS_3[0], (member,), value))


@pytest.mark.parametrize(
    "data", [b"", b"null", b"[]", b"5", b'"x"', b"\xff", b"[" * 100_000, b"{}"]
)
@pytest.mark.parametrize(("name", "key"), [(2, ".zarray"), (2, ".zgroup"), (3, "zarr.json")])
def test_documents_that_are_none(data: bytes, name: int, key: str) -> None:
    with pytest.raises(MetadataError, match=f"key '{key}': "):
        get_format(name).parse("", {key: data})


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"5", b'{"a": 1, "a": 2}'])
def test_attributes_that_are_none(data: bytes) -> None:
    with pytest.raises(MetadataError, match=r"key '\.zattrs': "):
        get_format(2).parse("", {".zgroup": b'{"zarr_format": 2}', ".zattrs": data})
