"""`to_arrow`: without a copy where that is promised, NumPy's answer everywhere."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import omnizarr as zarr
from omnizarr.codecs.offsets import data_start
from omnizarr.errors import DecodeError, UnsupportedError

WORDS = ["a", "", "Zürich", "東京", "four words of text", "x" * 70, "end\0", "🎈"]
TEXT = ("arrow-string", "arrow-large-string", str)
BINARY = ("arrow-binary", "arrow-large-binary", bytes)


def words(shape: Any) -> np.ndarray:
    size = int(np.prod(shape))
    return np.array([f"{WORDS[i % len(WORDS)]}{i}" for i in range(size)], object).reshape(shape)


def made(values: Any, dtype: Any, **arguments: Any) -> zarr.Array:
    array = zarr.create_array({}, shape=np.shape(values), dtype=dtype, **arguments)
    array[...] = values
    return array


def checked(found: Any) -> list[Any]:
    """The values of a ChunkedArray that is what Arrow says it must be."""
    assert isinstance(found, pa.ChunkedArray)
    found.validate(full=True)
    return found.to_pylist()


def memory(value: Any) -> range:
    start = np.frombuffer(value, np.uint8).ctypes.data
    return range(start, start + len(value))


# -- without a copy -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*TEXT[:2], *BINARY[:2]])
def test_the_buffers_lie_in_the_stored_chunks(dtype: str) -> None:
    values = words(10) if "string" in dtype else np.array([b"%d" % i for i in range(10)], object)
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        zarr.MemoryStore(store), shape=10, chunks=4, dtype=dtype, compressors=None
    )
    array[:] = values
    found = array.to_arrow()
    assert checked(found) == values.tolist()
    assert (
        found.type
        == {
            "arrow-string": pa.string(),
            "arrow-large-string": pa.large_string(),
            "arrow-binary": pa.binary(),
            "arrow-large-binary": pa.large_binary(),
        }[dtype]
    )
    assert [len(chunk) for chunk in found.chunks] == [4, 4, 2]
    for number, chunk in enumerate(found.chunks):
        stored = memory(store[f"c/{number}"])
        validity, offsets, data = chunk.buffers()
        assert validity is None
        assert offsets.address in stored and offsets.address + offsets.size - 1 in stored
        assert data.address in stored and data.address + data.size - 1 in stored


@pytest.mark.parametrize("compressor", ["zstd", "gzip", "blosc", "crc32c"])
def test_the_buffers_lie_in_the_decoded_chunk(compressor: str) -> None:
    values = words(100)
    array = made(values, "arrow-string", chunks=50, compressors=[{"name": compressor}])
    for chunk in array.to_arrow().chunks:
        _, offsets, data = chunk.buffers()
        assert data.address - offsets.address == data_start(50, 4)
    assert checked(array.to_arrow()) == values.tolist()


def test_a_slice_takes_parts_of_chunks_without_a_copy() -> None:
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        zarr.MemoryStore(store), shape=100, chunks=30, dtype="arrow-string", compressors=None
    )
    array[:] = words(100)
    found = array.to_arrow(slice(10, 95))
    assert checked(found) == words(100)[10:95].tolist()
    assert [len(chunk) for chunk in found.chunks] == [20, 30, 30, 5]
    for number, chunk in enumerate(found.chunks):
        assert chunk.buffers()[2].address in memory(store[f"c/{number}"])


def test_offsets_at_an_odd_address_are_moved() -> None:
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        zarr.MemoryStore(store), shape=12, chunks=3, shards=12, dtype="arrow-string",
        compressors=None,
    )  # fmt: skip
    array[:] = np.array([f"{i}" * (i % 3 + 1) for i in range(12)], object)
    found = array.to_arrow()
    assert checked(found) == [f"{i}" * (i % 3 + 1) for i in range(12)]
    stored = memory(store["c/0"])
    inside = 0
    for chunk in found.chunks:
        _, offsets, data = chunk.buffers()
        assert offsets.address % 4 == 0
        assert data.address in stored
        inside += offsets.address in stored
    assert 0 < inside < 4  # or the shard proves nothing


def test_more_than_offsets_of_32_bits_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnizarr.nodes.arrow.reading.FAR", 40)
    values = np.array(["x" * 20, "y" * 21, "z", ""], object)
    for dtype in (str, "arrow-string"):
        found = made(values, dtype, chunks=2).to_arrow()
        assert found.type == pa.large_string() and checked(found) == values.tolist()
        assert made(values[2:], dtype, chunks=2).to_arrow().type == pa.string()
    fixed = made(values.astype("U21"), "U21").to_arrow()
    assert fixed.type == pa.large_string() and checked(fixed) == values.tolist()


def test_the_values_outlive_the_array() -> None:
    found = made(words(1000), "arrow-string", chunks=100).to_arrow()
    assert found.to_pylist() == words(1000).tolist()


# -- every selection ----------------------------------------------------------------------------


@st.composite
def selections(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    kind = draw(st.sampled_from(["basic", "mask", "fancy", "mixed"]))
    if kind == "mask":
        return draw(hnp.arrays(bool, shape))
    if kind == "fancy" and shape and all(shape):
        return draw(hnp.integer_array_indices(shape))
    if kind == "mixed" and len(shape) > 1 and shape[0]:
        first = draw(st.lists(st.integers(-shape[0], shape[0] - 1), max_size=5))
        return (first, draw(st.slices(shape[1])))
    return draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=6))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [*TEXT, "U80", "i4"])
@given(data=st.data())
def test_any_selection_is_numpys(dtype: Any, data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7))
    chunks = tuple(data.draw(st.integers(1, 4)) for _ in shape)
    values = words(shape) if dtype != "i4" else np.arange(np.prod(shape, dtype=int)).reshape(shape)
    if dtype == "U80":
        values = values.astype(dtype)
    array = made(values, dtype, chunks=chunks)
    selection = data.draw(selections(shape))
    expected = np.asarray(values[selection], values.dtype).reshape(-1).tolist()
    assert checked(array.to_arrow(selection)) == expected


def test_chunks_that_are_not_stored_are_fill_value() -> None:
    array = zarr.create_array({}, shape=10, chunks=3, dtype="arrow-string", fill_value="none")
    array[4] = "four"
    assert checked(array.to_arrow()) == array[:].tolist()
    assert checked(array.to_arrow(slice(0, 0))) == []
    assert array.to_arrow(slice(0, 0)).type == pa.string()
    two = zarr.create_array({}, shape=(2, 3), chunks=(1, 2), dtype=bytes, fill_value=b"\xff")
    assert checked(two.to_arrow()) == [b"\xff"] * 6
    assert checked(two.to_arrow((1, 2))) == [b"\xff"]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", [str, bytes])
def test_text_that_practice_stores(zarr_format: int, dtype: Any) -> None:
    values = words(20) if dtype is str else np.array([b"%d\xff" % i for i in range(20)], object)
    array = made(values, dtype, chunks=6, zarr_format=zarr_format)
    found = array.to_arrow()
    assert checked(found) == values.tolist()
    assert found.type == (pa.string() if dtype is str else pa.binary())
    assert found.num_chunks == 4


def test_pyarrow_takes_an_array_for_one_of_its_own() -> None:
    array = made(words(9), "arrow-string", chunks=4)
    assert pa.chunked_array(pa.array(array)).to_pylist() == words(9).tolist()
    assert pa.array(array, pa.large_string()).type == pa.large_string()


def test_a_broken_chunk_is_an_error() -> None:
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        zarr.MemoryStore(store), shape=4, chunks=4, dtype="arrow-string", compressors=None
    )
    array[:] = ["one", "two", "three", "ü"]
    stored = bytearray(store["c/0"])
    for change in (4, 8, len(stored) - 1):
        broken = bytearray(stored)
        broken[change] ^= 0xFF
        store["c/0"] = bytes(broken)
        with pytest.raises(DecodeError, match="chunk"):
            array.to_arrow()


def test_text_is_read_as_its_bytes() -> None:
    array = made(words(9), "arrow-string", chunks=4).as_binary()
    assert checked(array.to_arrow()) == [word.encode() for word in words(9)]
    assert array.to_arrow().type == pa.binary()


# -- every other type ---------------------------------------------------------------------------

NESTED = np.dtype([("a", "<i4"), ("b", [("c", ">f4"), ("d", "U3")]), ("e", "S2")])
ALIGNED = np.dtype([("a", "u1"), ("b", "f8")], align=True)
SUB = np.dtype([("x", "i2", (2, 3)), ("y", ">u4", (2,))])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.array([True, False, True]), pa.bool_()),
        (np.array([-1, 0, 127], "i1"), pa.int8()),
        (np.array([0, 2**64 - 1], "u8"), pa.uint64()),
        (np.array([1, -2**40], ">i8"), pa.int64()),
        (np.array([1.5, -0.0, np.inf], "f2"), pa.float16()),
        (np.array([1.5, 2.5], ">f4"), pa.float32()),
        (np.array([1e300, 0.1]), pa.float64()),
        (np.array(["2020-01-01", "1960-05-05"], "M8[D]"), pa.date32()),
        (np.array(["2020-01-01T00:00:01"], ">M8[s]"), pa.timestamp("s")),
        (np.array([1, 2], "M8[ns]"), pa.timestamp("ns")),
        (np.array([1, -5], "m8[ms]"), pa.duration("ms")),
        (np.array([b"ab", b"a\0b", b""], "S3"), pa.binary()),
        (np.array(["ab", "ü\0x", ""], ">U3"), pa.string()),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)  # fmt: skip
def test_types_that_both_have(values: np.ndarray, kind: Any) -> None:
    array = made(values, values.dtype, chunks=2, zarr_format=2)
    found = array.to_arrow()
    assert found.type == kind
    checked(found)
    if values.dtype.kind in "mM":
        back = found.to_numpy().astype(values.dtype)
        assert np.array_equal(back, values)
    else:
        assert found.to_pylist() == values.tolist()


def test_nan_is_a_value_and_nat_is_null() -> None:
    floats = made(np.array([1.0, np.nan]), "f8").to_arrow()
    assert floats.null_count == 0 and np.isnan(floats.to_pylist()[1])
    times = made(np.array(["2020-01-01", "NaT"], "M8[s]"), "M8[s]").to_arrow()
    assert times.null_count == 1 and times.to_pylist()[1] is None


def test_complex_numbers_are_records() -> None:
    for dtype in ("c8", ">c16"):
        array = made(np.array([1 + 2j, complex(np.inf, -0.0)]), dtype, zarr_format=2)
        rows = checked(array.to_arrow())
        assert rows == [{"real": 1, "imag": 2}, {"real": np.inf, "imag": -0.0}]
    pair = made(np.array([1 + 2j, 3 - 0.5j]), "complex_bfloat16")
    assert checked(pair.to_arrow()) == [{"real": 1, "imag": 2}, {"real": 3, "imag": -0.5}]


def test_records() -> None:
    values = np.array([(1, (2.5, "ab"), b"x"), (-1, (0.0, "ü"), b"")], NESTED)
    assert checked(made(values, NESTED, zarr_format=2).to_arrow()) == [
        {"a": 1, "b": {"c": 2.5, "d": "ab"}, "e": b"x"},
        {"a": -1, "b": {"c": 0.0, "d": "ü"}, "e": b""},
    ]
    aligned = np.array([(1, 2.0), (3, 4.0)], ALIGNED)
    assert checked(made(aligned, ALIGNED, zarr_format=2).to_arrow()) == [
        {"a": 1, "b": 2.0},
        {"a": 3, "b": 4.0},
    ]
    sub = np.zeros((2, 2), SUB)
    sub["x"] = np.arange(24).reshape(2, 2, 2, 3)
    sub["y"] = np.arange(8).reshape(2, 2, 2)
    rows = checked(made(sub, SUB, zarr_format=2).to_arrow())
    assert rows == [
        {"x": x.tolist(), "y": y.tolist()} for x, y in zip(
            sub["x"].reshape(4, 2, 3), sub["y"].reshape(4, 2), strict=True
        )
    ]  # fmt: skip


def test_raw_bits() -> None:
    values = np.array([b"abc", b"\0\0\0", b"z\0\0"], "V3")
    found = made(values, "V3").to_arrow()
    assert found.type == pa.binary(3)
    assert checked(found) == [b"abc", b"\0\0\0", b"z\0\0"]


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float4_e2m1fn", "int4", "uint2"])
def test_small_types_become_the_next_larger_one(name: str) -> None:
    values = np.array([0, 1, 2, 3]).astype(getattr(ml_dtypes, name))
    if name == "int4":
        values = np.array([-8, 7, 0, -1]).astype(values.dtype)
    found = made(values, name).to_arrow()
    assert checked(found) == values.astype("f4").tolist()
    assert found.type == {"int4": pa.int8(), "uint2": pa.uint8()}.get(name, pa.float32())


def test_ragged_arrays_are_lists() -> None:
    array = zarr.create_array({}, shape=5, chunks=2, dtype="array:>i4", zarr_format=2)
    for place, row in enumerate([[1, 2, 3], [], [4]]):
        array[place] = np.array(row)
    found = array.to_arrow()
    assert found.type == pa.list_(pa.int32())
    assert checked(found)[:3] == [[1, 2, 3], [], [4]]
    assert checked(found)[4] is None  # never written
    assert checked(array.to_arrow([2, 0])) == [[4], [1, 2, 3]]


def test_objects_are_what_pyarrow_makes_of_them() -> None:
    def objects(*items: Any) -> zarr.Array:
        array = zarr.create_array(
            {}, shape=len(items), dtype=object, object_codec=zarr.JSON(), zarr_format=2
        )
        for place, item in enumerate(items):
            array[place] = item
        return array

    assert checked(objects({"a": 1}, {"a": None}).to_arrow()) == [{"a": 1}, {"a": None}]
    assert checked(objects([1], [2, 3], []).to_arrow()) == [[1], [2, 3], []]
    with pytest.raises(UnsupportedError, match="Arrow has no type for elements of Python's"):
        objects(1, "one").to_arrow()
    with pytest.raises(UnsupportedError, match="Arrow has no type"):
        objects(1, 2**70).to_arrow()


@pytest.mark.parametrize("dtype", ["M8[h]", "M8[10s]", "m8[D]", "M8[ps]", "m8", "M8[Y]"])
def test_units_of_time_that_arrow_lacks(dtype: str) -> None:
    array = made(np.zeros(3, "i8").view(dtype), dtype)
    with pytest.raises(UnsupportedError, match="units are s, ms, us, ns"):
        array.to_arrow()


def test_dates_that_arrow_cannot_reach() -> None:
    array = made(np.array([0, 2**31], "M8[D]"), "M8[D]")
    with pytest.raises(UnsupportedError, match="element 1 "):
        array.to_arrow()


def test_an_array_without_dimensions() -> None:
    assert checked(made("word", "arrow-string").to_arrow()) == ["word"]
    assert checked(made(3, "i2").to_arrow()) == [3]
    assert checked(made(np.zeros(0), "f4").to_arrow()) == []
    assert checked(made(np.zeros((0, 3), "U2"), "arrow-string").to_arrow()) == []


def test_dimensions_are_flat_in_c_order() -> None:
    values = words((3, 4))
    for dtype in TEXT:
        array = made(values, dtype, chunks=(2, 3), order="F")
        assert checked(array.to_arrow()) == values.reshape(-1).tolist()
        assert checked(array.to_arrow(slice(None, None, -2))) == values[::-2].reshape(-1).tolist()


def test_without_pyarrow_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"omnizarr\[arrow\]"):
        made(words(2), str).to_arrow()
