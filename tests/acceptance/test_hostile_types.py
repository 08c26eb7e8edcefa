"""Data types: what was once read, written or converted wrongly without a word.

Many of these are NumPy's traps: fancy assignment to several fields, an array of one string as a
value, times in other units.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import omnizarr as zarr
from omnizarr.errors import MetadataError, ReadOnlyError, SelectionError

RECORD = np.dtype([("a", "<i2"), ("b", "<i2"), ("c", "<i4")])
TEXT = np.dtypes.StringDType()
LONG = "missing-value-not-here"


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("select", ["fancy", "mask", "together"])
def test_fields_leave_their_neighbours_alone(zarr_format: int, select: str) -> None:
    array = zarr.create_array({}, shape=4, chunks=4, dtype=RECORD, zarr_format=zarr_format)
    array[:] = np.array([(1, 2, 3)] * 4, RECORD)
    values = np.array([(9,)] * 2, [("a", "<i2")])
    match select:
        case "fancy":
            array.set_basic_selection([0, 2], values, fields=["a"])
        case "mask":
            array.set_mask_selection(np.array([True, False, True, False]), values, fields=["a"])
        case "together":
            array[["a"], [0, 2]] = values
    assert array[:].tolist() == [(9, 2, 3), (1, 2, 3), (9, 2, 3), (1, 2, 3)]


@pytest.mark.parametrize("dtype", [str, "arrow-string", bytes])
@pytest.mark.parametrize("shards", [None, (4, 6)])
def test_long_fill_values_of_text(dtype: Any, shards: Any) -> None:
    fill: Any = LONG.encode() if dtype is bytes else LONG
    array = zarr.create_array(
        {}, shape=(6, 6), chunks=(2, 3), shards=shards, dtype=dtype, fill_value=fill
    )
    array[2:4] = fill[:-1]
    expected = np.full((6, 6), fill, object)
    expected[2:4] = fill[:-1]
    rows, columns = [0, 2, 1, 3], [0, 3, 1]
    assert array.oindex[rows, columns].tolist() == expected[np.ix_(rows, columns)].tolist()
    assert array[np.ix_(rows, columns)].tolist() == expected[np.ix_(rows, columns)].tolist()
    assert array.vindex[rows[:3], columns].tolist() == expected[rows[:3], columns].tolist()


@pytest.mark.parametrize("dtype", [">i4", "<c16", ">f8", ">U5", "S5", object])
def test_out_of_another_type(dtype: Any) -> None:
    array = zarr.create_array({}, shape=4, dtype=str)
    array[:] = ["1", "12", "7", "-3"]
    out = np.zeros(4, dtype)
    array.get_basic_selection(..., out=out)
    assert out.tolist() == np.array(["1", "12", "7", "-3"], object).astype(dtype).tolist()


def test_out_of_fields_has_their_shape() -> None:
    array = zarr.create_array({}, shape=3, dtype=RECORD)
    with pytest.raises(SelectionError, match="out has shape"):
        array.get_basic_selection(..., out=np.zeros((2, 3), "i4"), fields="c")


@pytest.mark.parametrize(
    ("source", "dtype"),
    [
        (np.array([b"abc", b"de"]), "U3"),
        (np.array([b"abc", b"de"]), TEXT),
        (np.array([1.5, 2.0]), "S2"),
        (np.array([30, 50], "M8[h]"), "M8[D]"),
        (np.array([5, 6], "m8[h]"), "m8[s]"),
        (np.array([5, 6]), "m8[s]"),
        (np.array([5, 6]), "M8[s]"),
        (np.array(["abcdef", "x"]), "U3"),
    ],
)
def test_one_element_converts_as_many_do(source: Any, dtype: Any) -> None:
    array = zarr.create_array({}, data=source)
    converted = array.astype(dtype)
    whole = converted[:]
    assert whole.tolist() == source.astype(dtype).tolist()
    for index in range(len(source)):
        assert type(converted[index]) is type(whole[index])
        assert converted[index] == whole[index]


@pytest.mark.parametrize("chunks", [1, 2, 3])
@pytest.mark.parametrize(
    "value", [7, [1.0, 2.0], np.array([3.0, 4.0], "f4"), np.arange(6.0).reshape(3, 2)]
)
def test_fields_that_hold_arrays(chunks: int, value: Any) -> None:
    dtype = np.dtype([("a", "i4"), ("b", "f4", (2,))])
    array = zarr.create_array({}, shape=3, chunks=chunks, dtype=dtype, zarr_format=2)
    expected = np.zeros(3, dtype)
    array.fields["b"][:] = value
    expected["b"][:] = value
    assert array[:].tobytes() == expected.tobytes()
    array.fields["b"][1:] = 5
    expected["b"][1:] = 5
    assert array[:].tobytes() == expected.tobytes()
    with pytest.raises(ValueError, match="broadcast"):
        array.fields["b"][:] = np.arange(3.0)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", ["m8[s]", "M8[s]"])
def test_delta_of_times(dtype: str, zarr_format: int) -> None:
    values = np.array([5, -(2**63), 7, 9, -(2**63), 11]).view(dtype)
    array = zarr.create_array(
        {}, shape=6, chunks=3, dtype=dtype, zarr_format=zarr_format,
        filters=[zarr.Delta(np.dtype(dtype).str)],
    )  # fmt: skip
    array[:] = values
    assert array[:].view("i8").tolist() == values.view("i8").tolist()


def test_tables_keep_large_integers() -> None:
    frame = pd.DataFrame({"a": np.array([2**53 + 1]), "b": np.array([2**63 + 1], "u8")})
    array = zarr.create_array({}, shape=(1, 2), dtype="u8")
    array[...] = frame
    assert array[...].tolist() == [[2**53 + 1, 2**63 + 1]]
    mixed = zarr.create_array({}, shape=(1, 2), dtype="i8")
    mixed[...] = pd.DataFrame({"a": [2**53 + 1], "b": [1.0]})
    assert mixed[...].tolist() == [[2**53 + 1, 1]]


FAR = "2500-01-01"


@pytest.mark.parametrize("fill", [FAR, np.datetime64(FAR), pd.Timestamp(FAR), True])
def test_times_that_a_unit_does_not_reach_are_no_fill_value(fill: Any) -> None:
    with pytest.raises(MetadataError, match="fill_value"):
        zarr.create_array({}, shape=2, dtype="M8[ns]", fill_value=fill)


@pytest.mark.parametrize(
    "values",
    [
        [FAR],
        np.array([FAR], "M8[D]"),
        np.array([FAR]),
        pa.array([np.datetime64("3000-01-01", "s")]),
    ],
)
def test_times_that_a_unit_does_not_reach_are_not_written(values: Any) -> None:
    store: dict[str, bytes] = {}
    array = zarr.create_array(store, shape=1, dtype="M8[ns]")
    before = dict(store)
    with pytest.raises(ValueError, match="outside"):
        array[:] = values
    assert store == before


def test_a_late_time_out_of_reach_leaves_nothing_written() -> None:
    store: dict[str, bytes] = {}
    array = zarr.create_array(store, shape=4, chunks=1, dtype="M8[ns]")
    before = dict(store)
    with pytest.raises(ValueError, match="outside"):
        array[:] = np.array(["2000-01-01", "2001-01-01", "2002-01-01", FAR], "M8[D]")
    assert store == before


@pytest.mark.parametrize(
    ("dtype", "value"), [("int4", 9), ("int4", [-9, 0]), ("uint2", [5, 0]), ("uint2", -1)]
)
def test_small_integers_do_not_wrap(dtype: str, value: Any) -> None:
    array = zarr.create_array({}, shape=2, dtype=dtype)
    with pytest.raises(OverflowError, match="outside"):
        array[:] = value
    array[:] = 1
    assert array[:].tolist() == [1, 1]


@pytest.mark.parametrize("kind", ["M8[s]", "m8[s]"])
def test_ragged_times(kind: str) -> None:
    array = zarr.create_array({}, shape=2, dtype=f"array:{kind}", zarr_format=2)
    array[0] = np.array([1, 2], kind)
    assert array[0].dtype == np.dtype(kind)
    assert array[0].tolist() == np.array([1, 2], kind).tolist()


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("i8", np.array(["NaT"], "M8[s]")),
        ("f8", np.timedelta64("NaT", "s")),
        ("i8", np.array([np.nan])),
        ("u1", pd.Series([np.nan])),
    ],
)
def test_what_numbers_cannot_say_is_missing(dtype: str, value: Any) -> None:
    array = zarr.create_array({}, shape=1, dtype=dtype)
    with pytest.raises(ValueError, match="no missing values"):
        array[:] = value


def test_scalars_of_numpy_make_arrays() -> None:
    assert zarr.create_array({}, data=np.str_("a"))[()] == "a"
    assert zarr.create_array({}, data=np.bytes_(b"a"))[()] == b"a"
    array = zarr.create_array({}, shape=(), dtype=object, object_codec=zarr.JSON(), zarr_format=2)
    array[...] = np.array(["x"], object)
    assert array[()] == "x"


def test_contradictions_about_offsets_are_refused() -> None:
    with pytest.raises(MetadataError, match="64 bits"):
        zarr.create_array(
            {}, shape=1,
            dtype={"name": "LargeString", "configuration": {"offset_data_type": "int32"}},
        )  # fmt: skip
    with pytest.raises(MetadataError, match="arrow-string"):
        zarr.create_array({}, shape=1, dtype="arrow-string", serializer="vlen-utf8")


def test_the_layouts_look_different() -> None:
    assert "arrow-string" in str(zarr.create_array({}, shape=1, dtype="arrow-string").info)
    assert "arrow-string" not in str(zarr.create_array({}, shape=1, dtype=str).info)


def test_types_of_arrow() -> None:
    assert zarr.create_array({}, shape=1, dtype=pa.int64()).dtype == np.int64
    assert str(zarr.create_array({}, shape=1, dtype=pa.string_view()).data_type) == "arrow-string"
    with pytest.raises(zarr.errors.UnknownDataTypeError, match="decimal"):
        zarr.create_array({}, shape=1, dtype=pa.decimal128(9))


def test_a_wrong_option_is_refused_where_it_is_given() -> None:
    with pytest.raises(ValueError, match=r"'array\.text' must be"):
        zarr.config.set({"array.text": "zzz"})
    with pytest.raises(ValueError, match="text must be one of"):
        zarr.create_array({}, shape=1, dtype="i4", text="zzz")


def test_bytes_of_text_say_why_they_cannot_be_written() -> None:
    array = zarr.create_array({}, shape=1, dtype=str)
    with pytest.raises(ReadOnlyError, match="array itself"):
        array.as_binary()[0] = b"x"


@pytest.mark.parametrize("data_type", ["string", {"name": "string"}])
def test_check_names_the_proposal(data_type: Any) -> None:
    import json

    store: dict[str, bytes] = {}
    zarr.create_array(store, shape=1, dtype="arrow-string")
    document = json.loads(store["zarr.json"])
    store["zarr.json"] = json.dumps({**document, "data_type": data_type}).encode()
    assert "document 004" in str(zarr.check(store))
