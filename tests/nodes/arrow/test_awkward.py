"""To and from awkward arrays."""

from __future__ import annotations

from typing import Any

import awkward as ak
import ml_dtypes
import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import UnsupportedError
from tests.nodes.arrow.support import BINARY, TEXT, WORDS, target, words

# -- reading ------------------------------------------------------------------------------------


def checked(found: Any) -> list[Any]:
    assert isinstance(found, ak.Array)
    assert ak.is_valid(found)
    return found.to_list()


@pytest.mark.parametrize("into", TEXT, ids=str)
@pytest.mark.parametrize("shape", [(20,), (0,), (4, 5), (2, 3, 4), (3, 0, 2), (0, 3)], ids=str)
def test_text_in_its_shape(into: Any, shape: tuple[int, ...]) -> None:
    values = words(shape)
    array = target(into, shape, (2,) * len(shape))
    array[...] = values
    found = array.to_awkward()
    assert checked(found) == values.tolist()
    inner = " * ".join(str(length) for length in shape)
    assert str(found.type) == f"{inner} * string"
    assert checked(array.to_awkward(slice(None, None, -2))) == values[::-2].tolist()


@pytest.mark.parametrize("into", BINARY, ids=str)
def test_byte_strings(into: Any) -> None:
    array = target(into, 5, 2, fill_value=b"\xff\0")
    array[1] = b"one"
    assert checked(array.to_awkward()) == array[:].tolist()
    assert str(array.to_awkward().type) == "5 * bytes"


def test_one_chunk_is_not_copied() -> None:
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        zarr.MemoryStore(store), shape=8, chunks=8, dtype="arrow-string", compressors=None
    )
    array[:] = WORDS
    stored = np.frombuffer(store["c/0"], np.uint8)
    layout = array.to_awkward().layout
    assert np.shares_memory(layout.offsets.data, stored)
    assert np.shares_memory(layout.content.data, stored)
    assert checked(array.to_awkward()) == WORDS


def test_offsets_at_an_odd_address() -> None:
    array = zarr.create_array(
        {}, shape=12, chunks=3, shards=12, dtype="arrow-string", compressors=None
    )
    array[:] = [str(i) * (i % 3 + 1) for i in range(12)]
    for start in range(0, 12, 3):
        assert (
            checked(array.to_awkward(slice(start, start + 3))) == array[start : start + 3].tolist()
        )


def test_a_single_element() -> None:
    array = zarr.create_array({}, data=np.array("word", object))
    assert array.to_awkward() == "word"
    assert zarr.create_array({}, data=np.float32(2.5)).to_awkward() == 2.5
    numbers = zarr.create_array({}, data=np.arange(6).reshape(2, 3))
    assert numbers.to_awkward((1, 2)) == 5


@pytest.mark.parametrize(
    "values",
    [
        np.array([[True, False]]),
        np.arange(6, dtype=">i2").reshape(2, 3),
        np.array([1.5, np.inf], ">f8"),
        np.array([1.5, 2.5], "f2"),
        np.array([1 + 2j, 3], ">c16"),
        np.array(["ab", "ü\0x", ""], ">U3"),
        np.array([[b"ab", b"a\0b"]], "S3"),
        np.array([b"abc", b"\0\0\0"], "V3"),
        np.array([0, 1, 3]).astype(ml_dtypes.bfloat16),
        np.array([-8, 7]).astype(ml_dtypes.int4),
    ],
    ids=lambda values: str(values.dtype),
)  # fmt: skip
def test_other_types(values: np.ndarray) -> None:
    array = zarr.create_array(
        {}, data=values, zarr_format=2 if values.dtype.byteorder == ">" else 3
    )
    expected = values.astype("f4") if values.dtype.isbuiltin == 2 else values
    found = checked(array.to_awkward())
    if values.dtype.kind == "V" and values.dtype.type is np.void:
        assert found == [bytes(item) for item in values]
    else:
        assert found == expected.tolist()


@pytest.mark.parametrize("unit", ["ns", "D", "10m", "Y"])
def test_times(unit: str) -> None:
    values = np.array([1, 2**40 if unit == "ns" else 5], f"M8[{unit}]")
    found = zarr.create_array({}, data=values).to_awkward()
    assert np.array_equal(ak.to_numpy(found), values)
    spans = values.view("i8").view(f"m8[{unit}]")
    assert np.array_equal(ak.to_numpy(zarr.create_array({}, data=spans).to_awkward()), spans)


def test_records() -> None:
    dtype = np.dtype([("a", ">i4"), ("b", [("c", "f4"), ("d", "U3")]), ("e", "i2", (2, 2))])
    values = np.zeros((2, 3), dtype)
    values["a"] = np.arange(6).reshape(2, 3)
    values["b"]["d"] = "xy"
    values["e"] = np.arange(24).reshape(2, 3, 2, 2)
    found = zarr.create_array({}, data=values, zarr_format=2).to_awkward()
    assert checked(found) == [
        [{"a": int(item["a"]), "b": {"c": 0.0, "d": "xy"}, "e": item["e"].tolist()} for item in row]
        for row in values
    ]


def test_ragged_arrays_and_objects() -> None:
    array = zarr.create_array({}, shape=4, chunks=3, dtype="array:>i4", zarr_format=2)
    for place, row in enumerate([[1, 2, 3], [], [4]]):
        array[place] = np.array(row)
    assert checked(array.to_awkward(slice(0, 3))) == [[1, 2, 3], [], [4]]
    assert checked(array.to_awkward())[3] is None  # never written
    objects = zarr.create_array({}, shape=2, dtype=object, object_codec=zarr.JSON(), zarr_format=2)
    objects[:] = [{"a": [1]}, {"a": [2, 3]}]
    assert checked(objects.to_awkward()) == [{"a": [1]}, {"a": [2, 3]}]
    assert checked(objects.to_awkward(slice(0, 0))) == []


# -- writing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("into", TEXT, ids=str)
def test_writing_text(into: Any) -> None:
    array = target(into, 8, 3)
    values = ak.Array(WORDS)
    array[:] = values
    assert array[:].tolist() == WORDS
    array[1:5] = values[3:7]
    assert array[:].tolist() == [WORDS[0], *WORDS[3:7], *WORDS[5:]]
    array[:] = values[::-1]
    assert array[:].tolist() == WORDS[::-1]
    array[:] = values[[0, 0, 1, 1, 2, 2, 3, 3]]
    assert array[::2].tolist() == WORDS[:4]
    array[:] = ak.str.to_categorical(values)
    assert array[:].tolist() == WORDS
    array[:] = ak.mask(values, [True] * 8)  # may lack values, and lacks none
    assert array[:].tolist() == WORDS
    array.append(ak.Array(["more"]))
    array.append(ak.Array([]))
    assert array[8:].tolist() == ["more"]
    wide = target(into, (2, 4), (1, 3))
    wide[...] = ak.to_regular(ak.unflatten(values, 4))
    assert wide[...].tolist() == [WORDS[:4], WORDS[4:]]
    wide[...] = ak.unflatten(values, 4)
    assert wide[...].tolist() == [WORDS[:4], WORDS[4:]]
    wide[1] = ak.Array(["one"])
    assert wide[1].tolist() == ["one"] * 4
    wide[...] = wide.to_awkward()[::-1]
    assert wide[1].tolist() == WORDS[:4]


@pytest.mark.parametrize("into", BINARY, ids=str)
def test_writing_byte_strings(into: Any) -> None:
    array = target(into, 3, 2)
    array[:] = ak.Array([b"\xff", b"", b"a\0"])
    assert array[:].tolist() == [b"\xff", b"", b"a\0"]
    with pytest.raises(TypeError, match="byte strings takes bytes, found text"):
        array[:] = ak.Array(["a", "b", "c"])


def test_writing_other_types() -> None:
    def written(value: Any, dtype: Any, shape: Any) -> list[Any]:
        array = zarr.create_array({}, shape=shape, dtype=dtype, zarr_format=2)
        array[...] = value
        return array[...].tolist()

    assert written(ak.Array([1, 2, 3])[1:], "i4", 2) == [2, 3]
    assert written(ak.Array([[1, 2], [3, 4]]), "f4", (2, 2)) == [[1, 2], [3, 4]]
    assert written(ak.Array(np.arange(12).reshape(2, 3, 2))[:, ::-1], "i8", (2, 3, 2)) == (
        np.arange(12).reshape(2, 3, 2)[:, ::-1].tolist()
    )
    fields = [("x", "i4"), ("y", "U2"), ("z", "f4", (2,))]
    rows = ak.Array([{"y": "a", "x": 1, "z": [1, 2]}, {"y": "bc", "x": 2, "z": [3, 4]}])
    assert written(rows, fields, 2)[1][:2] == (2, "bc")
    assert written(rows[1], fields, 2)[0][:2] == (2, "bc")
    assert zarr.create_array({}, data=rows[["x", "y"]])[:].tolist() == [(1, "a"), (2, "bc")]
    assert zarr.create_array({}, data=ak.Array(WORDS))[:].tolist() == WORDS
    times = np.array([1, 2], "M8[ns]")
    assert np.array_equal(zarr.create_array({}, data=ak.Array(times))[:], times)
    assert written(ak.Array([]), "f4", 0) == []
    with pytest.raises(UnsupportedError, match="several types in one array"):
        written(ak.Array([1, "a"]), "f4", 2)


def test_writing_ragged_arrays() -> None:
    array = zarr.create_array({}, shape=3, chunks=2, dtype="array:i4", zarr_format=2)
    array[:] = ak.Array([[1, 2, 3], [], [4]])
    assert [row.tolist() for row in array[:]] == [[1, 2, 3], [], [4]]
    array[:] = ak.Array([[0], [1, 2], [3, 4], [5]])[1:]
    assert [row.tolist() for row in array[:]] == [[1, 2], [3, 4], [5]]
    array[:] = ak.Array([[1, 2], [3, 4], [5, 6]])
    assert [row.tolist() for row in array[:]] == [[1, 2], [3, 4], [5, 6]]
    array[:] = array.to_awkward()[::-1]
    assert array[0].tolist() == [5, 6]
    objects = zarr.create_array({}, shape=2, dtype=object, object_codec=zarr.JSON(), zarr_format=2)
    for items in ([["a"], ["b", "c"]], [{"x": 1}, {"x": 2}], [[[1], []], [[2, 3]]]):
        objects[:] = ak.Array(items)
        assert objects[:].tolist() == items


@pytest.mark.parametrize(
    ("items", "dtype", "place"),
    [
        (["a", None], str, "element 1"),
        (["a", None], "arrow-string", "element 1"),
        ([b"a", None], bytes, "element 1"),
        ([1, None], "i4", "element 1"),
        ([1.5, None], "f8", "element 1"),
        ([{"x": 1}, {"x": None}], [("x", "f4")], "element 1, field 'x',"),
        ([[1, 2], [None, 3]], "f8", "element 1, item 0,"),
        ([["a", "b"], [None, "c"]], str, "element 1, item 0,"),
    ],
)  # fmt: skip
def test_none_is_refused_and_nothing_is_written(items: Any, dtype: Any, place: str) -> None:
    store: dict[str, bytes] = {}
    shape = (2, 2) if isinstance(items[0], list) else 2
    array = zarr.create_array(zarr.MemoryStore(store), shape=shape, chunks=1, dtype=dtype)
    before = dict(store)
    with pytest.raises(ValueError, match=rf"{place} is None\. Zarr has no missing values: put"):
        array[...] = ak.Array(items)
    assert store == before


def test_without_awkward_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "awkward", None)
    with pytest.raises(ImportError, match=r"omnizarr\[awkward\]"):
        zarr.create_array({}, data=np.arange(3)).to_awkward()


@pytest.mark.parametrize("kind", ["f4", "u2", ">i4"])
def test_ragged_arrays_keep_their_type(kind: str) -> None:
    array = zarr.create_array({}, shape=2, dtype=f"array:{kind}", zarr_format=2)
    array[0] = np.array([1, 2], kind)
    array[1] = np.array([], kind)
    found = array.to_awkward()
    assert found.to_list() == [[1, 2], []]
    assert str(found.type) == f"2 * var * {np.dtype(kind).name}"
