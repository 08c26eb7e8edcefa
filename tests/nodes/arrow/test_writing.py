"""Writing from pyarrow, and from libraries that offer Arrow's interface."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as compute
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr as zarr
from omnizarr.errors import UnsupportedError
from tests.nodes.arrow.support import BINARY, TEXT, WORDS, target, words

STRINGS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()),
           pa.dictionary(pa.uint16(), pa.large_string())]  # fmt: skip
BYTES = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int32(), pa.binary())]


def arrow(values: list[Any], kind: Any) -> Any:
    """An Arrow array of a type that pyarrow may have no direct way to."""
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


def written(value: Any, dtype: Any, shape: Any = None, **arguments: Any) -> list[Any]:
    array = zarr.create_array({}, shape=len(value) if shape is None else shape, dtype=dtype,
                              **arguments)  # fmt: skip
    array[...] = value
    return array[...].tolist()


# -- text and byte strings ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", STRINGS, ids=str)
@pytest.mark.parametrize("into", TEXT, ids=str)
def test_text(into: Any, kind: Any) -> None:
    values = arrow(WORDS * 3, kind)
    array = target(into, 24, 5)
    array[:] = values
    assert array[:].tolist() == WORDS * 3
    array[3:20] = values[1:18]  # a slice has an offset
    assert array[3:20].tolist() == (WORDS * 3)[1:18]
    array[20:3:-2] = values[2:11]
    assert array[20:3:-2].tolist() == (WORDS * 3)[2:11]
    array[:] = pa.chunked_array([values[2:3], values[:0], values[1:]])
    assert array[:].tolist() == [WORDS[2], *(WORDS * 3)[1:]]


@pytest.mark.parametrize("kind", BYTES, ids=str)
@pytest.mark.parametrize("into", BINARY, ids=str)
def test_byte_strings(into: Any, kind: Any) -> None:
    items = [b"", b"\xff\0", b"abc", b"\0" * 40] * 4
    array = target(into, 16, 3)
    array[:] = arrow(items, kind)
    assert array[:].tolist() == items
    array[5:] = arrow(items, kind)[3:14]
    assert array[5:].tolist() == items[3:14]


@given(data=st.data())
def test_any_slice_of_any_text(data: st.DataObject) -> None:
    items = data.draw(st.lists(st.text(max_size=6), min_size=1, max_size=30))
    start = data.draw(st.integers(0, len(items)))
    stop = data.draw(st.integers(start, len(items)))
    kind = data.draw(st.sampled_from(STRINGS))
    into = data.draw(st.sampled_from(TEXT))
    array = target(into, stop - start, data.draw(st.integers(1, 7)))
    array[:] = arrow(items, kind)[start:stop]
    assert array[:].tolist() == items[start:stop]
    assert array.to_arrow().to_pylist() == items[start:stop]


def test_text_into_other_types_and_back() -> None:
    values = pa.array(["1", "22", "ü"])
    assert written(values, "U3") == ["1", "22", "ü"]
    assert written(values[:2], "i4") == [1, 22]
    assert written(pa.array([b"ab", b"c"]), "S2") == [b"ab", b"c"]
    assert written(pa.array([b"ab", "ü".encode()]), str) == ["ab", "ü"]
    with pytest.raises(ValueError, match="UTF-8: item 1 is not UTF-8"):
        written(pa.array([b"ab", b"\xff"]), str)
    with pytest.raises(TypeError, match=r"byte strings takes bytes, found text; encode it"):
        written(values, bytes)
    with pytest.raises(TypeError, match="found an array of int64; convert it"):
        written(pa.array([1, 2]), str)
    with pytest.raises(ValueError, match="cannot become int32"):
        written(values, "i4")


def test_bytes_of_one_size() -> None:
    values = pa.array([b"abc", b"\0\0\0", b"z\0\0"], pa.binary(3))
    assert [bytes(item) for item in written(values, "V3")] == [b"abc", b"\0\0\0", b"z\0\0"]
    assert written(values, bytes) == [b"abc", b"\0\0\0", b"z\0\0"]
    assert written(values[1:], "arrow-binary") == [b"\0\0\0", b"z\0\0"]
    assert written(values, "S3") == [b"abc", b"", b"z"]
    assert written(pa.array([b"abc", b"xyz"]), "V3")[1] == b"xyz"
    assert written(pa.array([b"", b""], pa.binary(0)), bytes) == [b"", b""]
    made = zarr.create_array({}, data=values[1:])
    assert made.dtype == "V3" and made.to_arrow().to_pylist() == [b"\0\0\0", b"z\0\0"]


# -- shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("into", TEXT, ids=str)
def test_flat_data_fill_many_dimensions(into: Any) -> None:
    values = words((3, 4))
    array = target(into, (3, 4), (2, 3))
    array[...] = pa.array(values.reshape(-1).tolist())
    assert array[...].tolist() == values.tolist()
    array[...] = array.to_arrow()
    assert array[...].tolist() == values.tolist()
    array[...] = pa.array(list("abcd"))  # one row for all
    assert array[...].tolist() == [list("abcd")] * 3
    array[1:, ::2] = pa.array(["x", "y"])
    assert array[...].tolist() == [list("abcd"), list("xbyd"), list("xbyd")]
    array[0, ::-1] = pa.array(list("1234"))
    assert array[0].tolist() == list("4321")
    array[array[...] == "x"] = pa.array(["p", "q"])
    assert array[:, 0].tolist() == ["4", "p", "q"]
    array[[2, 0], [3, 1]] = pa.array(["last", "first"])
    assert array[2, 3] == "last" and array[0, 1] == "first"
    with pytest.raises(ValueError, match=r"shape \(5,\) cannot be broadcast .* shape \(3, 4\)"):
        array[...] = pa.array(list("abcde"))


@pytest.mark.parametrize("into", TEXT, ids=str)
def test_scalars(into: Any) -> None:
    array = target(into, (2, 3), (1, 2))
    array[...] = pa.scalar("all")
    array[0, 1] = pa.scalar("one", pa.large_string())
    array[1] = pa.array(["row"])[0]
    array[1, 2] = pa.array(["view"], pa.string_view())[0]
    array[0, 0] = pa.array(["entry"]).dictionary_encode()[0]
    assert array[...].tolist() == [["entry", "one", "all"], ["row", "row", "view"]]
    with pytest.raises(ValueError, match=r"the value is null\. Zarr has no missing"):
        array[0] = pa.scalar(None, pa.string())
    numbers = zarr.create_array({}, shape=3, dtype="M8[ns]")
    numbers[:] = pa.scalar(1, pa.timestamp("ns"))
    assert numbers[:].astype("i8").tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("into", "shards"),
    [*((into, None) for into in TEXT), *((into, 6) for into in TEXT[:3])],
    ids=str,
)
def test_append(into: Any, shards: Any) -> None:
    array = target(into, 4, 3, shards=shards)
    array[:] = pa.array(WORDS[:4])
    array.append(pa.array(WORDS[4:]))
    array.append(pa.chunked_array([["x"], ["y", "z"]]))
    array.append(pa.array([], pa.string()))
    assert array[:].tolist() == [*WORDS, "x", "y", "z"]
    assert array.to_arrow().to_pylist() == [*WORDS, "x", "y", "z"]
    with pytest.raises(ValueError, match="element 1 is null"):
        array.append(pa.array(["x", None]))
    assert array.shape == (11,)


def test_no_elements() -> None:
    for kind in (*STRINGS, pa.null()):
        assert written(arrow([], kind), "arrow-string") == []
    assert written(pa.chunked_array([], pa.string()), str) == []
    assert written(pa.array([], pa.int8()), "f4") == []
    assert written(pa.array([], pa.binary(3)), "V3") == []
    assert zarr.create_array({}, data=pa.array([], pa.list_(pa.int8(), 3))).shape == (0, 3)


# -- every other type ---------------------------------------------------------------------------

STAMP = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (pa.array([True, False, True]), "?"),
        *((pa.array(np.array([0, 1, 100], kind)), kind)
          for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")),
        (pa.array([2**64 - 1], pa.uint64()), "u8"),
        (pa.array([float("nan"), -0.0]), "f8"),
        (pa.array([datetime.date(1960, 1, 1)]), "M8[D]"),
        (pa.array([STAMP], pa.date64()), "M8[ms]"),
        *((pa.array([STAMP.replace(microsecond=0)], pa.timestamp(unit)), f"M8[{unit}]")
          for unit in ("s", "ms", "us", "ns")),
        *((pa.array([1, -7], pa.duration(unit)), f"m8[{unit}]")
          for unit in ("s", "ms", "us", "ns")),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)  # fmt: skip
def test_types_that_both_have(values: Any, dtype: Any) -> None:
    expected = values.to_numpy(zero_copy_only=False)
    array = zarr.create_array({}, data=values, chunks=2)
    assert array.dtype == expected.dtype == np.dtype(dtype)
    assert np.array_equal(array[:], expected, equal_nan=expected.dtype.kind == "f")
    assert array[:].tobytes() == expected.tobytes()
    # sliced, in pieces, in the other byte order
    other = zarr.create_array({}, shape=2 * len(values) - 1, dtype=expected.dtype.newbyteorder(">"),
                              zarr_format=2)  # fmt: skip
    other[:] = pa.chunked_array([values[1:], values])
    assert other[:].astype(expected.dtype).tobytes() == (
        np.concatenate([expected[1:], expected]).tobytes()
    )


def test_a_time_zone_is_left_out() -> None:
    values = pa.array([STAMP], pa.timestamp("us", "Europe/Berlin"))
    array = zarr.create_array({}, data=values)
    assert array[:].tolist() == [values[0].as_py().astimezone(datetime.UTC).replace(tzinfo=None)]


def test_dictionaries_of_numbers_and_runs() -> None:
    values = pa.array([7, 7, 9]).dictionary_encode()
    assert written(values, "i2") == [7, 7, 9]
    assert written(pa.chunked_array([values, pa.array([8]).dictionary_encode()]), "i2")[-1] == 8
    runs = compute.run_end_encode(pa.array(["x", "x", "y"]))
    assert written(runs, str) == ["x", "x", "y"]


def test_records() -> None:
    values = pa.array(
        [{"a": 1, "b": {"c": 2.5, "d": "ab"}, "e": [1, 2]},
         {"a": 2, "b": {"c": 0.5, "d": "ü"}, "e": [3, 4]}],
        pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.float32()), ("d", pa.string())])),
                   ("e", pa.list_(pa.int16(), 2))]),
    )  # fmt: skip
    array = zarr.create_array({}, data=values, zarr_format=2)
    assert array.dtype == np.dtype(
        [("a", "i4"), ("b", [("c", "f4"), ("d", "U2")]), ("e", "i2", (2,))]
    )
    assert array.to_arrow().to_pylist() == values.to_pylist()
    array[:] = values[1:]
    assert array.to_arrow().to_pylist() == [values.to_pylist()[1]] * 2
    array[0] = values[0]
    assert array.to_arrow().to_pylist() == values.to_pylist()


def test_fields_go_by_name() -> None:
    array = zarr.create_array({}, shape=2, dtype=[("x", "i4"), ("y", "f4")])
    array[:] = pa.array([{"y": 1.5, "x": 2}, {"y": 2.5, "x": 3}])
    assert array[:].tolist() == [(2, 1.5), (3, 2.5)]
    array[:] = pa.table({"y": [0.5, 0.25], "x": [1, 2]})
    assert array[:].tolist() == [(1, 0.5), (2, 0.25)]
    array["x"] = pa.array([8, 9])
    assert array["x"].tolist() == [8, 9]
    with pytest.raises(TypeError, match="fields x, z for an array with the fields x, y"):
        array[:] = pa.array([{"x": 2, "z": 1.5}] * 2)
    with pytest.raises(TypeError, match="fields x, y for an array of int32"):
        written(pa.array([{"x": 2, "y": 1.5}]), "i4")


def test_complex_numbers_go_out_and_come_back() -> None:
    values = np.array([1 + 2j, complex(np.inf, -0.0)])
    for dtype in ("c8", "c16", "complex_bfloat16"):
        array = zarr.create_array({}, shape=2, dtype=dtype)
        array[:] = values
        again = zarr.create_array({}, shape=2, dtype=dtype)
        again[:] = array.to_arrow()
        assert again[:].tobytes() == array[:].tobytes()


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list, pa.list_view, pa.large_list_view])
def test_lists_are_ragged_arrays(kind: Any) -> None:
    rows = [[1, 2, 3], [], [4], [5, 6]]
    values = pa.array(rows, kind(pa.int32()))
    array = zarr.create_array({}, shape=4, chunks=3, dtype="array:i8", zarr_format=2)
    array[:] = values
    assert [row.tolist() for row in array[:]] == rows
    array[1:3] = values[2:]
    assert [row.tolist() for row in array[:]] == [[1, 2, 3], [4], [5, 6], [5, 6]]
    array[0] = values[3]
    assert array[0].tolist() == [5, 6]
    array.append(values[:1])
    assert array.to_arrow().to_pylist() == [[5, 6], [4], [5, 6], [5, 6], [1, 2, 3]]
    with pytest.raises(ValueError, match="element 1, item 2, is null"):
        array[:2] = pa.array([[1], [2, 3, None]], kind(pa.int32()))


def test_json_takes_whatever_there_is() -> None:
    array = zarr.create_array({}, shape=2, dtype=object, object_codec=zarr.JSON(), zarr_format=2)
    for values in (
        pa.array([{"a": 1, "b": {"c": "x"}}, {"a": 2, "b": {"c": "y"}}]),
        pa.array([[1, 2], [3]]),
        pa.array([["a"], ["b", "c"]]),
        pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2)),
        pa.array(["a", "b"]),
        pa.array([1.5, 2.5]),
    ):
        array[:] = values
        assert array[:].tolist() == values.to_pylist()


def test_lists_of_one_size_are_a_dimension() -> None:
    values = pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int16(), 2))
    assert written(values, "i2", (3, 2)) == values.to_pylist()
    assert written(values[1:], "i2", (2, 2)) == values.to_pylist()[1:]
    text = pa.array([["a", "b"], ["c", "d"]], pa.list_(pa.string(), 2))
    assert written(text[1:], "arrow-string", (1, 2)) == [["c", "d"]]
    tensor = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(12.0).reshape(2, 3, 2))
    assert written(tensor, "f8", (2, 3, 2)) == np.arange(12.0).reshape(2, 3, 2).tolist()
    assert written(pa.Tensor.from_numpy(np.eye(2)), "f8", (2, 2)) == np.eye(2).tolist()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([decimal.Decimal("1.5")]),
        pa.array([datetime.time(1, 2)]),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())),
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
    ],
    ids=lambda values: str(values.type),
)  # fmt: skip
def test_types_that_zarr_lacks(values: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"Zarr has no data type for Arrow's .*; cast it"):
        written(values, "f8")


def test_broken_buffers_are_refused() -> None:
    offsets = pa.py_buffer(np.array([0, 5, 2], "i4"))
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"hello")])
    with pytest.raises(ValueError, match="the Arrow data are broken"):
        written(broken, str)
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], "i4")), pa.py_buffer(b"\xff")]
    )
    entries = pa.DictionaryArray.from_arrays(pa.array([0, 5]), pa.array(["a"]), safe=False)
    for values in (text, entries):
        with pytest.raises(ValueError, match="the Arrow data are broken"):
            written(values, "arrow-string")


# -- missing values -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "dtype", "place"),
    [
        (pa.array(["a", None]), str, "element 1"),
        (pa.array(["a", "b", None])[1:], "arrow-string", "element 1"),
        (pa.chunked_array([["a"], ["b", None]]), "arrow-large-string", "element 2"),
        (pa.array(["a", None], pa.string_view()), str, "element 1"),
        (pa.array([b"a", None]), bytes, "element 1"),
        (pa.array(["a", None]).dictionary_encode(), str, "element 1"),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])), str, "element 1"),
        (pa.array([1, None]), "i4", "element 1"),
        (pa.array([1, None]), "f8", "element 1"),
        (pa.array([1.5, None]), "f8", "element 1"),
        (pa.array([True, None]), "?", "element 1"),
        (pa.array([STAMP, None]), "M8[us]", "element 1"),
        (pa.nulls(2), "f8", "element 0"),
        (pa.array([{"x": 1}, {"x": None}]), [("x", "i4")], "element 1, field 'x',"),
        (pa.array([[1, 2], [3, None]], pa.list_(pa.int8(), 2)), "i1", "element 1, item 1,"),
        (pa.array([b"abc", None], pa.binary(3)), "V3", "element 1"),
        (pl.Series(["a", None]), str, "element 1"),
        (pl.Series([1, None]), "i4", "element 1"),
    ],
    ids=lambda value: str(getattr(value, "type", getattr(value, "dtype", "")))[:30],
)  # fmt: skip
def test_a_null_is_refused_and_nothing_is_written(values: Any, dtype: Any, place: str) -> None:
    store: dict[str, bytes] = {}
    shape = (len(values), 2) if dtype == "i1" else len(values)
    array = zarr.create_array(zarr.MemoryStore(store), shape=shape, dtype=dtype, chunks=1)
    before = dict(store)
    with pytest.raises(ValueError, match=rf"{place} is null\. Zarr has no missing values: put"):
        array[...] = values
    assert store == before
    with pytest.raises(ValueError, match="is null"):
        zarr.create_array(zarr.MemoryStore(store), name="new", data=values, dtype=dtype)
    assert store == before


def test_an_unused_entry_may_be_null() -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", None]))
    assert written(values, str) == ["a", "a"]


# -- creating -----------------------------------------------------------------------------------


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_array_made_from_arrow(zarr_format: int) -> None:
    values = pa.chunked_array([WORDS[:3], WORDS[3:]])
    array = zarr.create_array({}, data=values, chunks=3, zarr_format=zarr_format)
    assert array.data_type.name == "string" and array[:].tolist() == WORDS
    assert zarr.array(values, zarr_format=zarr_format)[:].tolist() == WORDS
    store: dict[str, bytes] = {}
    zarr.save(zarr.MemoryStore(store), values, zarr_format=zarr_format)
    assert zarr.load(zarr.MemoryStore(store)).tolist() == WORDS
    zarr.save(zarr.MemoryStore(store), words=values, numbers=pa.array([1, 2]))
    assert zarr.open_group(zarr.MemoryStore(store))["words"][:].tolist() == WORDS
    assert zarr.from_array({}, data=pa.array([b"x"]))[:].tolist() == [b"x"]
    shaped = zarr.create_array({}, data=values, shape=(2, 4), zarr_format=zarr_format)
    assert shaped[...].reshape(-1).tolist() == WORDS


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.string(), "string"),
        (pa.large_string(), "LargeString"),
        (pa.binary(), "binary"),
        (pa.large_binary(), "LargeBinary"),
    ],
    ids=str,
)
def test_arrows_types_name_the_layout(kind: Any, name: str) -> None:
    array = zarr.create_array({}, data=pa.array(["a", "b"]).cast(kind), dtype=kind)
    assert array.data_type.name == name
    assert array.to_arrow().type == kind


# -- others that offer Arrow's interface --------------------------------------------------------


def test_polars() -> None:
    assert written(pl.Series(WORDS), "arrow-string") == WORDS
    assert written(pl.Series(WORDS, dtype=pl.Categorical), str) == WORDS
    assert written(pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])), str) == ["a", "b"]
    assert written(pl.Series([b"\xff", b""]), bytes) == [b"\xff", b""]
    assert written(pl.Series([1, 2, 3])[1:], "i4") == [2, 3]
    assert written(pl.Series([STAMP]), "M8[us]") == [STAMP]
    assert written(pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int8, 2)), "i1", (2, 2)) == [
        [1, 2],
        [3, 4],
    ]
    ragged = zarr.create_array({}, shape=2, dtype="array:i8", zarr_format=2)
    ragged[:] = pl.Series([[1], [2, 3]])
    assert [row.tolist() for row in ragged[:]] == [[1], [2, 3]]
    assert zarr.create_array({}, data=pl.Series(WORDS))[:].tolist() == WORDS
    assert zarr.create_array({}, data=pl.Series([1.5, 2.5])).dtype == "f8"
    table = zarr.create_array({}, data=pl.DataFrame({"x": [1, 2], "y": ["a", "bc"]}))
    assert table[:].tolist() == [(1, "a"), (2, "bc")]
    assert pl.Series(zarr.array(pa.array(WORDS)).to_arrow()).to_list() == WORDS
    for value in (pl.Series([object()]), pl.DataFrame({"x": [object()]})):
        with pytest.raises(UnsupportedError, match="holds Python objects"):
            written(value, "V8")
    with pytest.raises(UnsupportedError, match="decimal"):
        written(pl.Series([decimal.Decimal("1.5")]), "f8")


def test_an_arrow_array_of_another_library() -> None:
    class Capsule:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return pa.array(["a", "b"]).__arrow_c_array__(requested_schema)

    class Broken:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            raise RuntimeError("no stream")

    array = zarr.create_array({}, shape=2, dtype=str)
    array[:] = Capsule()
    assert array[:].tolist() == ["a", "b"]
    with pytest.raises(UnsupportedError, match="Broken cannot be taken as Arrow data: no stream"):
        array[:] = Broken()
