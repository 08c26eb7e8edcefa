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
)
from omnizarr.model.dtypes.pairs import pair
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
        ({"name": "numpy.datetime64", "configuration": {"unit": "\u03bcs"}}, "M8[us]"),
        ({"name": "numpy.timedelta64", "configuration": {"unit": "\u00b5s"}}, "m8[us]"),
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
    pair.cache_clear()
    with pytest.raises(UnsupportedError, match="pip install ml_dtypes"):
        from_json("complex_bfloat16")
    assert from_json("complex_float16").name == "complex_float16"


@pytest.mark.parametrize(
    ("json", "says"),
    [
        ("float128", "use float64 or complex128"),
        ("complex256", "use float64 or complex128"),
        ("made-up", "made-up"),
        ("complex_float8_e4m3fn", "complex_float8_e4m3fn"),
        ("zarrs.optional", "zarrs.optional"),
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
        {"name": "numpy.datetime64", "configuration": {"unit": "generic", "scale_factor": 0}},
        {"name": "struct"},
        {"name": "struct", "configuration": {"fields": []}},
        {"name": "struct", "configuration": {"fields": ["a"]}},
        {"name": "struct", "configuration": {"fields": [{"name": "a"}]}},
        {"name": "struct", "configuration": {"fields": [["a", "int8"], ["a", "int8"]]}},
        {"name": "struct", "configuration": {"fields": [["a", "string"]]}},
        {"name": "struct", "configuration": {"fields": [["a", {"name": "nope"}]]}},
        {
            "name": "struct",
            "configuration": {"fields": [[f"f{n}", "r134217728"] for n in range(2)]},
        },
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


@pytest.mark.parametrize(
    ("dtype", "says"),
    [
        (np.dtype("longdouble"), "use float64 or complex128"),
        (np.dtype("clongdouble"), "use float64 or complex128"),
        (np.dtype([("a", "longdouble")]), "use float64 or complex128"),
        (np.dtype([(("its title", "a"), "i4")]), "title 'its title'.*attributes"),
        (np.dtype(("i4", (2,))), r"append \(2,\) to the array's shape"),
    ],
)
def test_refusals_say_what_to_do(dtype: Any, says: str) -> None:
    with pytest.raises(UnsupportedError, match=says):
        from_numpy(dtype)


def test_a_sub_array_field_names_the_alternatives() -> None:
    with pytest.raises(UnsupportedError, match="zarr_format=2, or a field for each element"):
        from_numpy([("a", "f4", (2,))]).json  # noqa: B018


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
        ("float8_e3m4", "NaN"),
        ("float8_e4m3b11fnuz", "NaN"),
        ("float8_e8m0fnu", "NaN"),
        ("float8_e5m2", "0xfe"),
        ("float8_e5m2", "-Infinity"),
        ("float4_e2m1fn", -0.0),
        ("float6_e3m2fn", 28.0),
        ("int2", -2),
        ("uint4", 15),
        ("complex_bfloat16", ["0x7fc1", -0.0]),
        ("complex_float16", ["-Infinity", "0xfe00"]),
        ("complex_float8_e5m2", ["NaN", "0xff"]),
        ("complex_float4_e2m1fn", [-0.5, 6.0]),
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
    assert from_numpy("U2").fill_from_json("a\0") == "a"  # NULs at the end are padding


def test_the_words_for_nan_are_the_bits_that_the_registry_names() -> None:
    named = {
        "bfloat16": 0x7FC0,
        "float8_e3m4": 0x78,
        "float8_e4m3": 0x7C,
        "float8_e4m3b11fnuz": 0x80,
        "float8_e4m3fnuz": 0x80,
        "float8_e5m2": 0x7E,
        "float8_e5m2fnuz": 0x80,
        "float8_e8m0fnu": 0xFF,
        "float16": 0x7E00,
        "float32": 0x7FC00000,
        "float64": 0x7FF8000000000000,
    }
    for name, bits in named.items():
        data_type = from_json(name)
        size = data_type.numpy.itemsize
        assert data_type.fill_from_json("NaN").tobytes() == bits.to_bytes(size, sys.byteorder)
        assert data_type.fill_from_json(f"0x{bits:0{2 * size}x}").tobytes() == bits.to_bytes(
            size, sys.byteorder
        )


def test_bits_above_a_small_float_mean_nothing() -> None:
    assert float(from_json("float4_e2m1fn").fill_from_json("0xf3")) == 1.5
    assert float(from_json("float6_e2m3fn").fill_from_json("0xe0")) == 0.0
    assert from_json("float4_e2m1fn").fill_from_json("0x0b").tobytes() == b"\x0b"


def test_fill_values_of_sub_arrays() -> None:
    data_type = from_numpy([("a", ">f4", (2, 2)), ("b", "?")])
    json = {"a": [["0x7fa00001", -0.0], [1.5, "-Infinity"]], "b": True}
    scalar = data_type.fill_from_json(json)
    assert scalar.tobytes() == bytes.fromhex("7fa00001 80000000 3fc00000 ff800000 01")
    assert repr(data_type.fill_to_json(scalar)) == repr(json)
    for wrong in ([1, 2, 3, 4], [[1, 2]], [[1, 2], [3]], [[1, 2], [3, "x"]], 0):
        with pytest.raises(MetadataError):
            data_type.fill_from_json({"a": wrong, "b": True})


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
        ("float4_e2m1fn", "Infinity"),
        ("float4_e2m1fn", 7),
        ("float4_e2m1fn", -1e300),
        ("float4_e2m1fn", "0x123"),
        ("float6_e2m3fn", "NaN"),
        ("float6_e3m2fn", 31),
        ("float8_e8m0fnu", 0),
        ("float8_e8m0fnu", -1.0),
        ("float8_e8m0fnu", "Infinity"),
        ("int4", 8),
        ("int4", -9),
        ("uint2", 4),
        ("uint2", -1),
        ("complex_bfloat16", 0),
        ("complex_bfloat16", {"real": 0, "imag": 0}),
        ("complex_bfloat16", [0]),
        ("complex_bfloat16", ["0x7fc0", "0x7fc0000"]),
        ("complex_float4_e2m1fn", [0, "NaN"]),
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
