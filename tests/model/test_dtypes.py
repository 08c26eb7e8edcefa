"""Data types: names, NumPy dtypes and fill values, each the same after a round trip."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from omnizarr.errors import MetadataError, UnknownDataTypeError, UnsupportedError
from omnizarr.model.dtypes import (
    Bytes,
    Object,
    String,
    Struct,
    from_json,
    from_numpy,
    register,
    registry,
)
from omnizarr.model.dtypes.small import NAMES as SMALL
from omnizarr.model.dtypes.small import small

CORE = ["bool", "float16", "float32", "float64", "complex64", "complex128"] + [
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
]


@pytest.mark.parametrize("name", CORE)
def test_core_names(name: str) -> None:
    data_type = from_json(name)
    assert data_type.name == data_type.json == name
    assert data_type.numpy == np.dtype(name)
    assert data_type == from_numpy(name) == from_json({"name": name})
    assert not data_type.variable


@pytest.mark.parametrize(
    ("json", "dtype"),
    [
        ("complex_float32", "complex64"),
        ("complex_float64", "complex128"),
        ("r24", "V3"),
        ({"name": "raw_bytes", "configuration": {"length_bytes": 3}}, "V3"),
        ({"name": "fixed_length_utf32", "configuration": {"length_bytes": 20}}, "U5"),
        ({"name": "null_terminated_bytes", "configuration": {"length_bytes": 7}}, "S7"),
        (
            {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 25}},
            "M8[25s]",
        ),
        ({"name": "numpy.timedelta64", "configuration": {"unit": "ns"}}, "m8[ns]"),
        ({"name": "numpy.datetime64", "configuration": {"unit": "generic"}}, "M8"),
        ("string", np.dtypes.StringDType()),
        ("bytes", object),
        ("variable_length_bytes", object),
        (
            {"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "int16"}]}},
            [("a", "i2")],
        ),
        (
            {
                "name": "structured",
                "configuration": {
                    "fields": [
                        ["a", "int32"],
                        ["b", {"name": "structured", "configuration": {"fields": [["x", "bool"]]}}],
                    ]
                },
            },
            [("a", "i4"), ("b", [("x", "?")])],
        ),
    ],
)
def test_other_names(json: Any, dtype: Any) -> None:
    data_type = from_json(json)
    assert data_type.numpy == np.dtype(dtype)
    assert from_json(data_type.json) == data_type


@pytest.mark.parametrize("name", sorted(SMALL))
def test_small_types(name: str) -> None:
    data_type = from_json(name)
    assert data_type.name == name
    assert data_type.numpy == np.dtype(getattr(ml_dtypes, name))
    assert from_numpy(data_type.numpy) == data_type == from_numpy(name)
    for scalar in every_value(name, data_type.numpy):
        again = data_type.fill_from_json(data_type.fill_to_json(scalar))
        assert again.tobytes() == scalar.tobytes()


def every_value(name: str, dtype: np.dtype[Any]) -> Any:
    if "int" in name:
        info = ml_dtypes.iinfo(dtype)
        return [dtype.type(value) for value in range(info.min, info.max + 1)]
    width = {"bfloat16": 16, "float4_e2m1fn": 4}.get(name, 6 if "float6" in name else 8)
    patterns = np.arange(1 << width, dtype="<u2" if width == 16 else "u1")
    return list(patterns.view(dtype))


def test_small_types_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    small.cache_clear()
    with pytest.raises(UnsupportedError, match="pip install ml_dtypes"):
        from_json("bfloat16")


@pytest.mark.parametrize(
    ("json", "says"),
    [
        ("float128", "float128"),
        ("made-up", "made-up"),
        ("complex_float16", "complex"),
        ({"name": "optional", "configuration": {"name": "uint8"}}, "optional"),
    ],
)
def test_unknown_names(json: Any, says: str) -> None:
    with pytest.raises(UnknownDataTypeError, match=says):
        from_json(json)


@pytest.mark.parametrize(
    "json",
    [
        None,
        3,
        [],
        {},
        {"name": 3},
        {"name": ""},
        {"name": "int8", "configuration": []},
        "r0",
        "r7",
        "r99999999999",
        {"name": "raw_bytes"},
        {"name": "raw_bytes", "configuration": {"length_bytes": 0}},
        {"name": "raw_bytes", "configuration": {"length_bytes": "3"}},
        {"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}},
        {"name": "fixed_length_utf32", "configuration": {"length_bytes": 10**12}},
        {"name": "numpy.datetime64"},
        {"name": "numpy.datetime64", "configuration": {"unit": "fortnight"}},
        {"name": "numpy.datetime64", "configuration": {"unit": ["s"]}},
        {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 0}},
        {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 2**40}},
        {"name": "numpy.datetime64", "configuration": {"unit": "generic", "scale_factor": 2}},
        {"name": "struct"},
        {"name": "struct", "configuration": {"fields": []}},
        {"name": "struct", "configuration": {"fields": ["a"]}},
        {"name": "struct", "configuration": {"fields": [{"name": "a"}]}},
        {"name": "struct", "configuration": {"fields": [["a", "int8"], ["a", "int8"]]}},
        {"name": "struct", "configuration": {"fields": [["a", "string"]]}},
        {"name": "struct", "configuration": {"fields": [["a", {"name": "nope"}]]}},
    ],
)
def test_broken_types(json: Any) -> None:
    with pytest.raises(MetadataError):
        from_json(json)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (str, String()),
        ("str", String()),
        ("U", String()),
        (np.dtypes.StringDType(), String()),
        (bytes, Bytes()),
        ("S", Bytes()),
        (object, Object()),
        ("string", String()),
    ],
)
def test_variable_types_from_numpy(dtype: Any, expected: Any) -> None:
    assert from_numpy(dtype) == expected
    assert expected.variable


@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype("longdouble"),
        np.dtype("clongdouble"),
        np.dtype(("i4", (2,))),
        np.dtype([]),
        np.dtype([(("title", "a"), "i4")]),
        np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 2]}),
        np.dtype([("a", "U")]),
        np.dtype([("a", "longdouble")]),
        np.dtype("V0"),
        "nonsense",
    ],
)
def test_unsupported_dtypes(dtype: Any) -> None:
    with pytest.raises((UnsupportedError, UnknownDataTypeError)):
        from_numpy(dtype)


dtypes = st.one_of(
    npst.boolean_dtypes(),
    npst.integer_dtypes(endianness="?"),
    npst.unsigned_integer_dtypes(endianness="?"),
    npst.floating_dtypes(sizes=(16, 32, 64), endianness="?"),
    npst.complex_number_dtypes(sizes=(64, 128), endianness="?"),
    npst.datetime64_dtypes(endianness="?"),
    npst.timedelta64_dtypes(endianness="?"),
    npst.byte_string_dtypes(min_len=1),
    npst.unicode_string_dtypes(min_len=1, endianness="?"),
    st.integers(1, 20).map(lambda n: np.dtype(f"V{n}")),
)
records = st.recursive(
    dtypes,
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(
        lambda fields: np.dtype([(f"f{i}", field) for i, field in enumerate(fields)])
    ),
    max_leaves=6,
)


@given(records)
def test_numpy_dtypes_round_trip(dtype: np.dtype[Any]) -> None:
    data_type = from_numpy(dtype)
    assert data_type.numpy == dtype
    assert hash(data_type) == hash(from_numpy(dtype))
    assert pickle.loads(pickle.dumps(data_type)) == data_type
    native = data_type.native
    assert native.numpy == dtype.newbyteorder("=")
    assert from_json(data_type.json) == native


@given(records, st.data())
def test_fill_values_round_trip_bit_for_bit(dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Whatever bits an element has, canonical JSON gives them back."""
    bits = data.draw(st.binary(min_size=dtype.itemsize, max_size=dtype.itemsize))
    if has_kind(dtype, "U"):
        bits = bytes(dtype.itemsize)  # arbitrary bits are not code points
    if has_kind(dtype, "b"):
        bits = bytes(byte & 1 for byte in bits)
    scalar = np.frombuffer(bits, dtype)[0]
    data_type = from_numpy(dtype)
    stored = data_type.fill_to_json(scalar)
    again = data_type.fill_from_json(stored)
    assert np.array(again, dtype).tobytes() == np.array(scalar, dtype).tobytes()
    assert repr(data_type.fill_to_json(again)) == repr(stored)


def has_kind(dtype: np.dtype[Any], kind: str) -> bool:
    if dtype.names:
        return any(has_kind(dtype[name], kind) for name in dtype.names)
    return dtype.kind == kind


@pytest.mark.parametrize(
    ("name", "json"),
    [
        ("float64", "0x7ff8000000000001"),
        ("float64", "0x7ff0000000000001"),
        ("float64", "0xfff8000000000000"),
        ("float32", "0xffc00000"),
        ("float32", "0x7fa00001"),
        ("float16", "0x7d01"),
        ("bfloat16", "0x7fc1"),
        ("float64", "NaN"),
        ("float32", "Infinity"),
        ("float32", "-Infinity"),
        ("float64", -0.0),
        ("float32", 0.3333333432674408),
        ("complex64", ["0x7fa00001", -0.0]),
        ("complex128", ["NaN", "-Infinity"]),
        ("int64", -9223372036854775808),
        ("int64", 9007199254740993),
        ("uint64", 18446744073709551615),
        ("bool", True),
        ("string", "aé中"),
        ("bytes", "AQI="),
        ("r24", [1, 2, 255]),
    ],
)
def test_canonical_fill_values(name: str, json: Any) -> None:
    data_type = from_json(name)
    assert repr(data_type.fill_to_json(data_type.fill_from_json(json))) == repr(json)


def test_canonical_fill_values_of_configured_types() -> None:
    time = from_numpy("M8[D]")
    assert time.fill_from_json(10957) == np.datetime64("2000-01-01")
    assert time.fill_to_json(np.datetime64("NaT")) == "NaT"
    assert np.isnat(time.fill_from_json(-(2**63)))
    assert from_numpy("S3").fill_to_json(b"ab") == "YWI="
    assert from_numpy("S3").fill_from_json([97, 98]) == b"ab"
    assert from_numpy("U3").fill_to_json("aé") == "aé"
    assert from_json("bytes").fill_from_json([97, 98]) == b"ab"
    assert from_json("r16").fill_from_json("AQI=").tobytes() == b"\1\2"
    record = from_numpy([("a", "i4"), ("b", "f8")])
    assert record.fill_to_json((1, float("nan"))) == {"a": 1, "b": "NaN"}
    assert record.fill_from_json("AQAAAAAAAAAAAARA").item() == (1, 2.5)


@pytest.mark.parametrize(
    ("name", "json"),
    [
        ("bool", 2),
        ("bool", "true"),
        ("bool", None),
        ("int8", 128),
        ("int8", -129),
        ("int8", 1.5),
        ("int8", True),
        ("int8", "1"),
        ("int8", float("nan")),
        ("uint8", -1),
        ("uint64", 2**64),
        ("float32", 1e39),
        ("float64", 10**400),
        ("float64", "nan"),
        ("float64", "0x"),
        ("float64", "0x1_0"),
        ("float64", "0x+1"),
        ("float32", "0x7ff8000000000001"),
        ("float64", []),
        ("float64", True),
        ("float4_e2m1fn", "NaN"),
        ("float8_e4m3fn", "Infinity"),
        ("complex64", 0),
        ("complex64", [1]),
        ("complex64", [1, "x"]),
        ("r16", [1]),
        ("r16", [1, 256]),
        ("r16", [True, True]),
        ("r16", "AQ=="),
        ("string", 0),
        ("string", "\ud800"),
        ("bytes", "not base64!"),
        ("bytes", {}),
        ({"name": "fixed_length_utf32", "configuration": {"length_bytes": 4}}, "ab"),
        ({"name": "null_terminated_bytes", "configuration": {"length_bytes": 1}}, "YWI="),
        ({"name": "numpy.datetime64", "configuration": {"unit": "s"}}, "2000-01-01"),
        ({"name": "numpy.datetime64", "configuration": {"unit": "s"}}, 2**63),
        ({"name": "numpy.datetime64", "configuration": {"unit": "s"}}, 1.0),
        ({"name": "struct", "configuration": {"fields": [["a", "int8"]]}}, {}),
        ({"name": "struct", "configuration": {"fields": [["a", "int8"]]}}, {"a": 1, "b": 2}),
        ({"name": "struct", "configuration": {"fields": [["a", "int8"]]}}, {"a": 300}),
        ({"name": "struct", "configuration": {"fields": [["a", "int8"]]}}, "AQI="),
        ({"name": "struct", "configuration": {"fields": [["a", "int8"]]}}, [1]),
    ],
)
def test_wrong_fill_values(name: Any, json: Any) -> None:
    with pytest.raises(MetadataError) as caught:
        from_json(name).fill_from_json(json)
    assert "fill value" in str(caught.value)


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("?", 1, np.True_),
        ("i4", 5.0, np.int32(5)),
        ("i4", np.int64(5), np.int32(5)),
        ("i4", np.array(5), np.int32(5)),
        ("i4", "5", np.int32(5)),
        (">f4", 1, np.float32(1)),
        ("f8", "NaN", np.float64("nan")),
        ("c8", 1, np.complex64(1)),
        ("M8[D]", "2000-01-01", np.datetime64("2000-01-01")),
        ("M8[D]", np.datetime64("2000-01-01T00", "h"), np.datetime64("2000-01-01")),
        ("M8[D]", 5, np.datetime64(5, "D")),
        ("M8[D]", "NaT", np.datetime64("NaT", "D")),
        ("m8[s]", np.timedelta64(2, "m"), np.timedelta64(120, "s")),
        ("m8[s]", 5, np.timedelta64(5, "s")),
        ("S3", "ab", np.bytes_(b"ab")),
        ("S3", 0, np.bytes_(b"")),
        ("U3", b"ab", np.str_("ab")),
        ("U3", 0, np.str_("")),
        ("V3", b"ab", np.void(b"ab\0")),
        (str, 0, ""),
        (str, np.str_("x"), "x"),
        (bytes, bytearray(b"x"), b"x"),
    ],
)
def test_scalars_of_users(dtype: Any, value: Any, expected: Any) -> None:
    scalar = from_numpy(dtype).scalar(value)
    assert type(scalar) is type(expected)
    assert repr(scalar) == repr(expected)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("?", 2),
        ("i4", 1.5),
        ("i4", float("nan")),
        ("i4", 2**40),
        ("i4", "x"),
        ("i4", None),
        ("u1", -1),
        ("f4", "x"),
        ("f4", 1e300),
        ("c8", "x"),
        ("M8[D]", "x"),
        ("M8[D]", 2**70),
        ("M8[D]", np.datetime64("2000-01-01T05", "h")),
        ("m8[s]", "2000-01-01"),
        ("S1", b"ab"),
        ("S1", 5),
        ("U1", "ab"),
        ("V1", b"ab"),
        (str, 5),
        (bytes, 5),
        ([("a", "i4")], (1, 2)),
        ([("a", "i4")], {"b": 1}),
    ],
)
def test_wrong_scalars(dtype: Any, value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        from_numpy(dtype).scalar(value)


def test_records() -> None:
    data_type = from_numpy([("a", ">i4"), ("b", [("x", "f4", (2,)), ("y", "S3")])])
    assert isinstance(data_type, Struct)
    assert data_type.scalar((1, ([1.5, 2.5], b"ab"))).item()[0] == 1
    assert data_type.zero.tobytes() == bytes(data_type.numpy.itemsize)
    assert data_type.scalar(0).tobytes() == data_type.zero.tobytes()
    with pytest.raises(UnsupportedError, match="sub-array"):
        data_type.configuration  # noqa: B018
    with_objects = from_numpy([("a", "i4"), ("s", "O")])
    assert with_objects.variable
    assert not data_type.variable


def test_native_records_are_packed() -> None:
    aligned = np.dtype([("a", "u1"), ("b", ">f8")], align=True)
    assert aligned.itemsize == 16
    native = from_numpy(aligned).native.numpy
    assert native == np.dtype([("a", "u1"), ("b", "f8")])
    assert native.itemsize == 9


def test_types_come_through_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        def load(self) -> Any:
            return lambda configuration: from_numpy(f"S{configuration['n']}")

    monkeypatch.setattr(registry, "_entry_points", lambda: {"test.entry": Entry()})
    monkeypatch.setattr(registry, "_CONFIGURED", dict(registry._CONFIGURED))
    found = from_json({"name": "test.entry", "configuration": {"n": 3}})
    assert found.numpy == np.dtype("S3")


def test_other_packages_can_add_types() -> None:
    class Length(String):
        @property
        def name(self) -> str:
            return "test.length"

    register("test.length", lambda configuration: Length())
    assert from_json("test.length").name == "test.length"
    with pytest.raises(ValueError, match="already known"):
        register("test.length", lambda configuration: Length())
