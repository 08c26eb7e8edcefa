"""What a user writes: NumPy's and Python's own values, missing values, and the text option."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import omnizarr as zarr
from omnizarr.model.column import Column
from omnizarr.model.dtypes import Bytes, String, from_numpy
from omnizarr.nodes.data.values import as_source
from tests.nodes.arrow.support import BINARY, TEXT, WORDS, target, words

STRING = np.dtypes.StringDType()

# -- text from NumPy and Python -----------------------------------------------------------------


@pytest.mark.parametrize("into", TEXT, ids=str)
@pytest.mark.parametrize("kind", ["O", "T", "U", ">U", "S", "list", "tuple", "F", "strided"])
def test_text(into: Any, kind: str) -> None:
    expected = np.array([word.strip("\0") for word in words(24)], object).reshape(4, 6)
    values: Any = expected
    match kind:
        case "T":
            values = expected.astype(STRING)
        case "U":
            values = expected.astype("U")
        case ">U":
            values = expected.astype("U").astype(">U80")
        case "S":
            values = np.array([[word.encode() for word in row] for row in expected])
        case "list":
            values = expected.tolist()
        case "tuple":
            values = tuple(map(tuple, expected.tolist()))
        case "F":
            values = np.asfortranarray(expected.astype(STRING))
        case "strided":
            values = np.empty((4, 12), STRING)[:, ::2]
            values[...] = expected
    array = target(into, (4, 6), (3, 4))
    array[...] = values
    assert array[...].tolist() == expected.tolist()
    array[::-2, 1:4] = np.asarray(values)[:2, :3] if kind in ("list", "tuple") else values[:2, :3]
    assert array[::-2, 1:4].tolist() == expected[:2, :3].tolist()
    array[...] = values[0]
    assert array[...].tolist() == [expected[0].tolist()] * 4
    array.append(values)
    assert array[4:].tolist() == expected.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("into", TEXT, ids=str)
@given(data=st.data())
def test_a_selection_is_assigned_as_numpy_does(into: Any, data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=6))
    chunks = tuple(data.draw(st.integers(1, 4)) for _ in shape)
    expected = words(shape)
    array = target(into, shape, chunks)
    array[...] = expected
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=False))
    part = np.shape(expected[key])
    given_shape = tuple(length if data.draw(st.booleans()) else 1 for length in part)
    values = np.array(
        data.draw(st.lists(st.text(max_size=4), min_size=int(np.prod(given_shape)),
                           max_size=int(np.prod(given_shape)))), object,
    ).reshape(given_shape)  # fmt: skip
    expected[key] = values if given_shape else values[()]
    array[key] = values.astype(data.draw(st.sampled_from([object, STRING])))
    assert array[...].tolist() == expected.tolist()


@pytest.mark.parametrize("into", TEXT, ids=str)
def test_single_values(into: Any) -> None:
    array = target(into, (2, 2), (1, 1))
    array[...] = "all"
    array[0, 0] = np.str_("one")
    array[0, 1] = np.array("zero-d", STRING)
    array[1, 0] = np.array(["in a list"], object)
    assert array[...].tolist() == [["one", "zero-d"], ["in a list", "all"]]
    for value, error, match in (
        (5, TypeError, "text takes str, found the value of type int: 5"),
        (b"x", TypeError, "found the value of type bytes"),
        (None, ValueError, r"the value is None\. Zarr has no missing"),
        (float("nan"), ValueError, "the value is nan"),
        (np.float32("nan"), ValueError, "the value is nan"),
        (np.datetime64("NaT"), ValueError, "the value is NaT"),
        ("\udc80", ValueError, r"'\\udc80', which has no form in UTF-8"),
        ([["a"], ["b", "c"]], TypeError, r"found element 0 of type list: \['a'\]"),
        ([np.array([["a", "b"]]), np.array([["c"]])], ValueError, "several lengths"),
        ([1, 2], TypeError, "found element 0 of type int: 1"),
        (np.arange(2), TypeError, "found an array of int64; convert it"),
    ):
        with pytest.raises(error, match=match):
            array[0] = value
    assert array[0].tolist() == ["one", "zero-d"]


@pytest.mark.parametrize("into", BINARY, ids=str)
def test_byte_strings(into: Any) -> None:
    array = target(into, (2, 3), (1, 2))
    array[...] = b"\xff"
    array[0] = [b"a", bytearray(b"b"), b""]
    array[1, 0] = memoryview(b"view")
    array[1, 1:] = np.array([b"x", b"yz"], "S2")
    assert array[...].tolist() == [[b"a", b"b", b""], [b"view", b"x", b"yz"]]
    array[:, 0] = np.array([b"\0\1", b"\2\0"], "V2")
    assert array[:, 0].tolist() == [b"\0\1", b"\2\0"]
    for value, error, match in (
        ("text", TypeError, "byte strings takes bytes, found the value of type str"),
        (["a", "b", "c"], TypeError, "found element 0 of type str"),
        (np.array(["a", "b", "c"]), TypeError, "<U1; encode it"),
        (np.array(["a", "b", "c"], STRING), TypeError, "encode it"),
        ([b"a", None, b"c"], ValueError, r"element 1 is None\. Zarr has no missing"),
        (None, ValueError, "the value is None"),
    ):
        with pytest.raises(error, match=match):
            array[0] = value
    assert array[0].tolist() == [b"\0\1", b"b", b""]


def test_text_and_byte_strings_come_as_columns() -> None:
    for values, kind in ((words(5), String()), (np.array([b"x", b""]), Bytes())):
        found = as_source(values, kind, kind.numpy, values.shape)
        assert isinstance(found, Column) and found.shape == values.shape
    spread = as_source("x", String(), STRING, (3, 4))
    assert isinstance(spread, np.ndarray) and spread.shape == (3, 4)
    assert 0 in spread.strides  # nothing is repeated in memory


# -- missing values -----------------------------------------------------------------------------

NA: Any = np.dtypes.StringDType(na_object=None)
NAN: Any = np.dtypes.StringDType(na_object=np.nan)


@pytest.mark.parametrize("into", TEXT, ids=str)
@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["a", None], "None"),
        (np.array(["a", None], object), "None"),
        (np.array(["a", np.nan], object), "nan"),
        (np.array(["a", np.datetime64("NaT")], object), "NaT"),
        (np.array(["a", None], NA), "None"),
        (np.array(["a", np.nan], NAN), "nan"),
        (np.ma.masked_array(["a", "b"], [False, True]), "masked"),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_missing_text(into: Any, values: Any, found: str) -> None:
    store: dict[str, bytes] = {}
    zarr_format, dtype = into
    array = zarr.create_array(
        zarr.MemoryStore(store), shape=2, chunks=1, dtype=dtype, zarr_format=zarr_format
    )
    before = dict(store)
    with pytest.raises(
        ValueError, match=rf"element 1 is {found}\. Zarr has no missing values: put"
    ):
        array[:] = values
    with pytest.raises(ValueError, match="element 1 is"):
        array.append(values)
    assert store == before and array.shape == (2,)
    new: dict[str, bytes] = {}
    with pytest.raises(ValueError, match="element 1 is"):
        zarr.create_array(zarr.MemoryStore(new), data=values, dtype=dtype, zarr_format=zarr_format)
    assert new == {}


def test_the_place_has_as_many_dimensions_as_the_values() -> None:
    array = zarr.create_array({}, shape=(2, 3), dtype=str)
    with pytest.raises(ValueError, match=r"element \(1, 2\) is None"):
        array[...] = [["a", "b", "c"], ["d", "e", None]]


def test_a_string_type_that_could_lack_values_and_lacks_none() -> None:
    for dtype in (NA, NAN):
        array = zarr.create_array({}, data=np.array(["a", "ü"], dtype))
        assert array[:].tolist() == ["a", "ü"] and array.dtype == STRING


@pytest.mark.parametrize(
    ("values", "dtype", "found"),
    [
        ([1, None], "i4", "None"),
        ([1.5, None], "f8", "None"),
        ([1 + 1j, None], "c16", "None"),
        ([True, None], "?", "None"),
        ([True, float("nan")], "?", "nan"),
        ([1, float("nan")], "i4", "nan"),
        (["a", None], "U4", "None"),
        (["a", float("nan")], "U4", "nan"),
        ([b"a", None], "S4", "None"),
        (["2020-01-01", None], "M8[D]", "None"),
        ([1, None], "m8[s]", "None"),
        (np.array([1, None], object), "f4", "None"),
        (np.array([1, None], object), "i4", "None"),
        (np.array(["a", None], NA), "U4", "None"),
        (np.array(["1", None], NA), "i4", "None"),
        (np.ma.masked_array([1, 2], [False, True]), "i4", "masked"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), "f4", "masked"),
        ([1.5, None], "bfloat16", "None"),
    ],
    ids=lambda value: str(getattr(value, "dtype", value)),
)
def test_missing_numbers(values: Any, dtype: str, found: str) -> None:
    store: dict[str, bytes] = {}
    array = zarr.create_array(zarr.MemoryStore(store), shape=2, chunks=1, dtype=dtype)
    before = dict(store)
    with pytest.raises(
        ValueError, match=rf"element 1 is {found}\. Zarr has no missing values: put"
    ):
        array[:] = values
    assert store == before


def test_missing_members_of_records() -> None:
    dtype = [("x", "i4"), ("y", "f4")]
    array = zarr.create_array({}, shape=2, dtype=dtype)
    array[:] = [(1, 2.0), (3, float("nan"))]
    assert np.isnan(array["y"][1])
    with pytest.raises(ValueError, match="Zarr has no missing values"):
        array[:] = [(1, 2.0), (3, None)]
    masked = np.ma.masked_array(np.zeros(2, dtype), [(False, False), (False, True)])
    with pytest.raises(ValueError, match="element 1 is masked"):
        array[:] = masked


@pytest.mark.parametrize(
    "values",
    [
        [np.ma.masked_array([1, 2], [False, True]), np.ma.masked_array([3, 4])],
        ([[1, 2]], [np.ma.masked_array([3, 4], [True, False])]),
        [[1, 2], [3, np.ma.masked]],
    ],
)
def test_masked_values_in_lists_are_refused(values: Any) -> None:
    array = zarr.ones((2, 2), dtype="f8")
    for write in (lambda: zarr.array(values), lambda: array.__setitem__(..., values)):
        with pytest.raises(ValueError, match=r"in element .* of the list: .* masked"):
            write()
    assert array[:].tolist() == [[1, 1], [1, 1]]


def test_masked_arrays_in_lists_that_mask_nothing_are_written() -> None:
    values = [np.ma.masked_array([1, 2]), np.ma.masked_array([3, 4], [False, False])]
    assert zarr.array(values)[:].tolist() == [[1, 2], [3, 4]]


def test_nan_and_nat_are_values_of_their_types() -> None:
    floats = zarr.create_array({}, data=[1.0, float("nan")])
    floats[:] = np.array([np.nan, 2], object)
    assert np.isnan(floats[0]) and floats[1] == 2
    floats[:] = np.ma.masked_array([3.0, np.nan], [False, False])
    assert floats[0] == 3
    times = zarr.create_array({}, shape=3, dtype="M8[s]")
    times[:] = ["2020-01-01", "NaT", np.datetime64("NaT")]
    assert np.isnat(times[:]).tolist() == [False, True, True]


def test_an_error_comes_before_anything_is_written() -> None:
    store: dict[str, bytes] = {}
    array = zarr.create_array(zarr.MemoryStore(store), shape=4, chunks=1, dtype="i4")
    before = dict(store)
    for values in (
        np.array([1, 2, "x", 4], object),
        np.array(["1", "2", "x", "4"]),
        [1, 2, 3, 2**40],
        np.array([1, 2, 3, 2**40], object),
    ):
        with pytest.raises((ValueError, OverflowError), match="this cannot become int32"):
            array[:] = values
        assert store == before
    array[:] = np.array(["1", "2", "3", "4"], STRING)
    assert array[:].tolist() == [1, 2, 3, 4]


@given(
    values=hnp.arrays(
        st.sampled_from(["i2", "u8", "f4", "c8", "?", "M8[s]", "U3", "S3"]),
        hnp.array_shapes(max_dims=2, max_side=4),
    )
)
def test_arrays_are_taken_as_they_are(values: np.ndarray) -> None:
    data_type = from_numpy(values.dtype)
    found = as_source(values, data_type, values.dtype, (3, *values.shape))
    assert isinstance(found, np.ndarray) and np.shares_memory(found, values)
    assert found.dtype == values.dtype


# -- creating -----------------------------------------------------------------------------------


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_objects_that_are_all_text_are_text(zarr_format: int) -> None:
    array = zarr.create_array({}, data=words(5), zarr_format=zarr_format)
    assert array.data_type.name == "string" and array[:].tolist() == words(5).tolist()
    array = zarr.create_array({}, data=np.array([b"a", b"\xff"], object), zarr_format=zarr_format)
    assert array.data_type.name == "bytes" and array[:].tolist() == [b"a", b"\xff"]


def test_objects_of_other_kinds_ask_for_a_codec() -> None:
    with pytest.raises(zarr.errors.UnsupportedError, match="no type for Python objects"):
        zarr.create_array({}, data=np.array([1, "a"], object))
    for items in (["a", None], [b"a", float("nan")], [1, None]):
        with pytest.raises(ValueError, match=r"element 1 is (None|nan)\. Zarr has no missing"):
            zarr.create_array({}, data=np.array(items, object))
    kept = zarr.create_array(
        {}, data=np.array([1, None, "a"], object), object_codec=zarr.JSON(), zarr_format=2
    )
    assert kept[:].tolist() == [1, None, "a"]  # JSON has a value for it
    for kind in (zarr.empty_like, zarr.zeros_like):
        same = kind(np.array(["a", None], object), object_codec=zarr.JSON(), zarr_format=2)
        assert same.dtype == object and same.shape == (2,)


# -- what text reads as -------------------------------------------------------------------------


@pytest.mark.parametrize("into", TEXT, ids=str)
def test_text_as_objects(into: Any) -> None:
    zarr_format, dtype = into
    store: dict[str, bytes] = {}
    backing = zarr.MemoryStore(store)
    array = zarr.create_array(
        backing, shape=8, chunks=3, dtype=dtype, zarr_format=zarr_format, fill_value="none",
        text="object",
    )  # fmt: skip
    assert array.dtype == object and array.fill_value == "none"
    assert array[:].tolist() == ["none"] * 8
    array[:] = WORDS
    array[2:4] = np.array(["x", "y"], STRING)
    expected = [*WORDS[:2], "x", "y", *WORDS[4:]]
    found = array[:]
    assert found.dtype == object and found.tolist() == expected
    assert all(type(item) is str for item in found)
    assert array[::-2].tolist() == expected[::-2]
    assert type(array[3]) is str
    with pytest.raises(ValueError, match="element 1 is None"):
        array[:2] = ["a", None]
    array.append(["more"])
    assert array[8] == "more"
    assert array.to_arrow().to_pylist() == [*expected, "more"]
    # The option is of who opens it, not of what is stored.
    plain = zarr.open_array(backing, mode="r+")
    assert plain.dtype == STRING and plain[:].tolist() == [*expected, "more"]
    again = zarr.open_array(backing, mode="r", text="object")
    assert again.dtype == object and again[:].tolist() == [*expected, "more"]
    with zarr.config.set({"array.text": "object"}):
        assert zarr.open_array(backing, mode="r")[:].dtype == object
        assert zarr.open_array(backing, mode="r", text="string")[:].dtype == STRING
    assert zarr.open_array(backing, mode="r")[:].dtype == STRING


def test_a_bad_text_option_is_named() -> None:
    store = zarr.MemoryStore()
    zarr.create_array(store, shape=2, dtype=str)
    with pytest.raises(ValueError, match=r"text must be one of .*, found 'utf8'"):
        zarr.open_array(store, text="utf8")
    with pytest.raises(ValueError, match=r"'array\.text' must be .*, found 'utf8'"):
        zarr.config.set({"array.text": "utf8"})
    new: dict[str, bytes] = {}
    with pytest.raises(ValueError, match="found 'utf8'"):
        zarr.create_array(zarr.MemoryStore(new), shape=2, dtype=str, text="utf8")
    assert new == {}


@pytest.mark.parametrize("into", TEXT, ids=str)
def test_text_as_byte_strings(into: Any) -> None:
    array = target(into, 8, 3, fill_value="ü")
    assert array.as_binary()[:].tolist() == ["ü".encode()] * 8
    array[:] = WORDS
    binary = array.as_binary()
    assert binary.dtype == object and binary.fill_value == "ü".encode()
    assert binary[:].tolist() == [word.encode() for word in WORDS]
    with pytest.raises(zarr.errors.ReadOnlyError):
        binary[0] = b"x"
    with pytest.raises(TypeError, match="holds 'int32', not text"):
        zarr.create_array({}, shape=2, dtype="i4").as_binary()
