"""Metadata of arrays with fill values in every form that other writers have stored.

This module knows the JSON of formats 2 and 3 and what a fill value means. It must not know the
library under test.
"""

from __future__ import annotations

import json
from typing import Any

import ml_dtypes
import numpy as np

LENGTH = 5
"""The arrays have one dimension, of this length, in chunks of 2."""


def v3_document(data_type: Any, fill: str) -> bytes:
    """A `zarr.json` whose fill value is given as JSON text."""
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [LENGTH],
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": "FILL",
        "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}],
        "attributes": {},
    }
    return json.dumps(document).replace('"FILL"', fill).encode()


STRUCT = {
    "name": "struct",
    "configuration": {"fields": [{"name": "a", "data_type": "float32"}]},
}
HEXADECIMAL = [
    ("float32", '"0x7fc00001"', "<f4", "0100c07f"),
    ("float32", '"0xffc00000"', "<f4", "0000c0ff"),
    ("float32", '"0x7f800001"', "<f4", "0100807f"),
    ("float32", '"0x80000000"', "<f4", "00000080"),
    ("float16", '"0x7e01"', "<f2", "017e"),
    ("float64", '"0x7ff8000000000001"', "<f8", "010000000000f87f"),
    ("complex64", '["0x7fc00001", "NaN"]', "<c8", "0100c07f0000c07f"),
    ("bfloat16", '"0x7fc1"', "bfloat16", "c17f"),
    ("float8_e5m2", '"0xff"', "float8_e5m2", "ff"),
    (STRUCT, '{"a": "0x7fc00001"}', [("a", "<f4")], "0100c07f"),
]


def v2_document(dtype: Any, fill: str, **more: Any) -> bytes:
    """A `.zarray` whose fill value is given as JSON text; empty text leaves it out."""
    document = {
        "zarr_format": 2, "shape": [LENGTH], "chunks": [2], "dtype": dtype, "compressor": None,
        "filters": None, "order": "C", "fill_value": "FILL", **more,
    }  # fmt: skip
    if not fill:
        del document["fill_value"]
    return json.dumps(document).replace('"FILL"', fill).encode()


def objects(codec: str) -> dict[str, Any]:
    return {"filters": [{"id": codec}]}


NAN, INF = np.float64("nan"), np.float64("inf")
STORED_V2: list[tuple[Any, str, Any, dict[str, Any]]] = [
    # Floats: names, bare tokens, whole numbers, digits as text.
    ("<f8", '"NaN"', NAN, {}),
    ("<f8", '"Infinity"', INF, {}),
    ("<f8", '"-Infinity"', -INF, {}),
    ("<f8", "NaN", NAN, {}),
    ("<f4", "Infinity", np.float32("inf"), {}),
    ("<f4", "-Infinity", np.float32("-inf"), {}),
    ("<f8", "0", 0.0, {}),
    ("<f8", "-0.0", -0.0, {}),
    ("<f8", '"0"', 0.0, {}),
    ("<f4", "9.96921e+36", np.float32(9.96921e36), {}),
    ("<f4", '"0x7fc00001"', np.frombuffer(b"\1\0\xc0\x7f", "<f4")[0], {}),
    ("bfloat16", "1.5", ml_dtypes.bfloat16(1.5), {}),
    ("float8_e4m3fn", '"NaN"', ml_dtypes.float8_e4m3fn("nan"), {}),
    # Booleans and integers.
    ("|b1", "true", True, {}),
    ("|b1", "false", False, {}),
    ("|b1", "0", False, {}),
    ("|b1", "1", True, {}),
    ("<i2", "[-32767]", -32767, {}),
    ("<i4", "5.0", 5, {}),
    ("<i8", "9007199254740993", 9007199254740993, {}),
    ("<u8", "18446744073709551615", 18446744073709551615, {}),
    ("int4", "-8", ml_dtypes.int4(-8), {}),
    # Complex numbers.
    ("<c16", '[1.5, "NaN"]', complex(1.5, np.nan), {}),
    ("<c16", '["-Infinity", -0.0]', complex(-np.inf, -0.0), {}),
    ("<c8", "0", 0j, {}),
    ("<c16", "[NaN, 1]", complex(np.nan, 1), {}),
    # Byte strings: base64, text that is not, 0.
    ("|S5", '"YWI="', b"ab", {}),
    ("|S5", '"YQBi"', b"a\0b", {}),
    ("|S5", '""', b"", {}),
    (">S1", '""', b"", {}),
    ("|S5", "0", b"", {}),
    ("|S5", '"ab!"', b"ab!", {}),
    # Text.
    ("<U4", '"n/a"', "n/a", {}),
    (">U4", '"\\u00e9\\ud83d\\ude00"', "é😀", {}),
    ("<U1", '""', "", {}),
    ("<U4", "0", "", {}),
    # Raw bytes and records.
    ("|V3", '"AP8A"', b"\0\xff\0", {}),
    ("|V3", "0", b"\0\0\0", {}),
    ([["a", "<i2"], ["b", "|S2"]], '"BwB4AA=="', (7, b"x"), {}),
    ([["a", "<i2"], ["b", "|S2"]], "0", (0, b""), {}),
    ([["a", "<i2"], ["", "|V2"], ["b", "<i4"]], '"BwAAAAgAAAA="', (7, 8), {}),
    ([["a", "<u1", [2, 2]]], '"AQIDBA=="', ([[1, 2], [3, 4]],), {}),
    # Dates and durations: ticks, names, dates.
    ("<M8[ns]", "-9223372036854775808", np.datetime64("NaT"), {}),
    ("<M8[ns]", '"NaT"', np.datetime64("NaT"), {}),
    ("<M8[D]", '"2000-01-01"', np.datetime64("2000-01-01"), {}),
    ("<M8[25s]", "4", np.datetime64(100, "s"), {}),
    (">m8[s]", "-1", np.timedelta64(-1, "s"), {}),
    # Objects.
    ("|O", '""', "", objects("vlen-utf8")),
    ("|O", "0", "", objects("vlen-utf8")),
    ("|O", '"\\u00e9"', "é", objects("vlen-utf8")),
    ("|O", '"AGE="', b"\0a", objects("vlen-bytes")),
    ("|O", "0", b"", objects("vlen-bytes")),
    ("|O", "0", 0, objects("json2")),
    ("|O", '""', "", objects("json2")),
    ("|O", '{"a": [1, null]}', {"a": [1, None]}, objects("json2")),
    # Spellings of the document itself.
    ("<i4", "3", 3, {"shape": LENGTH, "chunks": [2]}),
    ("<i4", "3", 3, {"node_type": "array", "_ARRAY_KEY": 1}),
]  # fmt: skip
