"""A column stands where an array of strings or byte strings could: NumPy is the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

from omnizarr.model.column import OBJECT, TEXT, Column, concatenated
from omnizarr.model.fill import is_fill
from tests.model import columns
from tests.model.columns import EDGES, buffers, objects

SHAPES = hn.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@pytest.fixture(scope="module", params=columns.MODES, autouse=True)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    with columns.mode(request.param):
        yield request.param


def same(column: Column, expected: np.ndarray) -> None:
    """The column has the elements and the shape of an array of objects, and holds together."""
    assert column.shape == expected.shape
    assert column.size == expected.size
    assert column.ndim == expected.ndim
    found = column.numpy(OBJECT)
    assert found.shape == expected.shape
    assert found.tolist() == expected.tolist()
    column.check()
    sizes = [len(item.encode() if column.text else item) for item in expected.reshape(-1)]
    assert column.nbytes == sum(sizes)
    assert np.diff(column.offsets).tolist() == sizes


def column_of(items: list[str], shape: tuple[int, ...] | None = None) -> Column:
    offsets, data = buffers([item.encode() for item in items])
    return Column(offsets, data, (len(items),) if shape is None else shape, True)


# -- indexing -----------------------------------------------------------------------------------


@st.composite
def indexed(draw: Any) -> tuple[Column, np.ndarray, Any]:
    shape = draw(SHAPES)
    column, array = draw(columns.columns(shape))
    keys = [hn.basic_indices(shape, allow_newaxis=True)]
    if shape:
        keys.append(hn.arrays(bool, shape))
        keys.append(hn.arrays(bool, shape[:1]))
    if shape and 0 not in shape:
        keys.append(hn.integer_array_indices(shape))
        keys.append(hn.integer_array_indices(shape[:1]))
    return column, array, draw(st.one_of(keys))


def as_array(value: Any) -> np.ndarray:
    """NumPy gives an element for one index; a column gives a column without dimensions."""
    if isinstance(value, np.ndarray):
        return value
    result = np.empty((), object)
    result[()] = value
    return result


@given(indexed())
def test_indexing_is_that_of_numpy(case: tuple[Column, np.ndarray, Any]) -> None:
    column, array, key = case
    same(column[key], as_array(array[key]))


@settings(max_examples=60)
@given(indexed(), st.data())
def test_indexing_what_was_indexed(
    case: tuple[Column, np.ndarray, Any], data: st.DataObject
) -> None:
    column, array, key = case
    once, array = column[key], as_array(array[key])
    again = data.draw(hn.basic_indices(array.shape, allow_newaxis=True))
    same(once[again], as_array(array[again]))


@pytest.mark.parametrize("key", [slice(2, 5), (slice(1, None),), slice(None, 3, 1), slice(4, 2)])
def test_a_piece_of_a_flat_column_is_not_copied(key: Any) -> None:
    column = column_of(["a", "é", "", "xyz", "\0"])
    piece = column[key]
    assert piece.data is column.data
    assert piece.offsets.base is column.offsets
    same(piece, column.numpy(OBJECT)[key])


def test_all_of_a_flat_column_is_the_column() -> None:
    column = column_of(["a", "b"])
    assert column[:] is column
    assert column[0:2] is column
    assert column[(slice(None),)] is column


@pytest.mark.parametrize("key", [5, -6, (0, 0), [0, 7]])
def test_places_outside(key: Any) -> None:
    column = column_of(["a", "b", "c", "d", "e"])
    with pytest.raises(IndexError):
        column[key]


def test_length() -> None:
    assert len(column_of(list("abcdef"), (2, 3))) == 2


# -- to NumPy -----------------------------------------------------------------------------------


@given(SHAPES.flatmap(columns.columns))
def test_to_numpy(case: tuple[Column, np.ndarray]) -> None:
    column, array = case
    assert column.numpy().dtype == column.dtype == (TEXT if column.text else OBJECT)
    for dtype in (None, TEXT, OBJECT, "U6") if column.text else (None, OBJECT, "S6"):
        found = column.numpy(dtype)
        expected = array if dtype is None else array.astype(dtype)
        assert found.shape == array.shape
        assert found.tolist() == expected.tolist()
        assert dtype is None or found.dtype == expected.dtype
    assert np.asarray(column).tolist() == array.tolist()
    assert np.asarray(column, OBJECT).tolist() == array.tolist()
    with pytest.raises(ValueError, match="without a copy"):
        np.array(column, copy=False)


@given(hn.array_shapes(min_dims=1, max_dims=3, max_side=4).flatmap(columns.columns))
def test_into_memory_of_others(case: tuple[Column, np.ndarray]) -> None:
    column, array = case
    wide = tuple(2 * n for n in array.shape)
    for dtype in (TEXT, OBJECT) if column.text else (OBJECT,):
        strided = np.full(wide, "old", dtype)[(slice(None, None, 2),) * array.ndim]
        targets = [np.full(array.shape, "old", dtype), np.full(array.shape[::-1], "o", dtype).T]
        for out in (*targets, strided, strided[::-1]):
            column.into(out)
            assert out.tolist() == array.tolist()


# -- from NumPy ---------------------------------------------------------------------------------


@settings(max_examples=60)
@given(SHAPES.flatmap(columns.columns))
def test_from_numpy(case: tuple[Column, np.ndarray]) -> None:
    column, array = case
    for dtype in (OBJECT, TEXT, "U70") if column.text else (OBJECT, "S70"):
        source = array.astype(dtype)
        backwards = source[(..., *[slice(None, None, -1)] * source.ndim)]
        for layout in (source, source.copy("F"), backwards):
            same(Column.of(layout, column.text), layout.astype(object))


def test_byte_strings_of_fixed_width_as_text() -> None:
    same(Column.of(np.array(["é".encode(), b"b"]), True), objects(["é", "b"]))
    with pytest.raises(ValueError, match="item 1 is not UTF-8"):
        Column.of(np.array([b"a", b"\xff"]), True)


@pytest.mark.parametrize("dtype", ["i4", "f8", "?", "M8[s]", "V3", "c8"])
def test_arrays_of_anything_else(dtype: str) -> None:
    for text, wanted in ((True, "text"), (False, "byte strings")):
        with pytest.raises(TypeError, match=rf"elements of type .+ are no {wanted}"):
            Column.of(np.zeros(2, dtype), text)


# -- whole columns ------------------------------------------------------------------------------


@given(SHAPES.flatmap(columns.columns), st.data())
def test_compact(case: tuple[Column, np.ndarray], data: st.DataObject) -> None:
    column, array = case
    compact = column.compact()
    same(compact, array)
    assert compact.offsets[0] == 0
    assert compact.offsets[-1] == compact.data.size
    assert compact.offsets.dtype == column.offsets.dtype
    if column.data.size:
        assert np.shares_memory(compact.data, column.data) or not compact.data.size
    assert compact.compact() is compact
    same(column.reshape((column.size,)), array.reshape(-1))


@settings(max_examples=50)
@given(st.data(), st.booleans())
def test_concatenated(data: st.DataObject, text: bool) -> None:
    sizes = data.draw(st.lists(st.integers(0, 4), max_size=4))
    found = [data.draw(columns.columns((size,))) for size in sizes]
    kept = [(column, array) for column, array in found if column.text is text]
    expected = [item for _, array in kept for item in array]
    together = concatenated([column for column, _ in kept], text)
    same(together, objects(expected))
    assert together.text is text


@given(st.sampled_from([*EDGES, b"", b"\0", b"\xff\0"]), SHAPES)
def test_repeated(value: str | bytes, shape: tuple[int, ...]) -> None:
    expected = np.empty(shape, object)
    expected[...] = value
    same(Column.repeated(value, shape, isinstance(value, str)), expected)


@given(SHAPES.flatmap(columns.columns), st.data())
def test_is_all(case: tuple[Column, np.ndarray], data: st.DataObject) -> None:
    column, array = case
    flat = array.reshape(-1).tolist()
    value = data.draw(st.sampled_from(flat)) if flat else ("" if column.text else b"")
    assert column.is_all(value) == all(item == value for item in flat)
    fill = np.empty(1, column.dtype)
    fill[0] = value
    assert is_fill(column, fill.reshape(())) == all(item == value for item in flat)
    same_everywhere = Column.repeated(value, column.shape, column.text)
    assert same_everywhere.is_all(value)
    more = value + ("\0" if column.text else b"\0")
    assert column.is_all(more) == all(item == more for item in flat)


def test_is_all_looks_at_lengths_too() -> None:
    """The same bytes together are not the same elements."""
    assert not column_of(["aaa", "a"]).is_all("aa")
    assert not column_of(["", "ab"]).is_all("a")
    assert column_of(["xaa", "aa", "aa"])[1:].is_all("aa")
    assert column_of([]).is_all("anything")


@pytest.mark.parametrize(
    ("offsets", "data", "text", "fault"),
    [
        ([0, 3], b"ab", False, "offset 1 is 3, expected 0 … 2"),
        ([0, 2, 1], b"ab", False, "offset 2 is 1, expected 2 … 2"),
        ([-1, 1], b"ab", True, "offset 0 is -1, expected 0 … 2"),
        ([0, 1, 2], "é".encode(), True, "item 0 is not UTF-8"),
    ],
)
def test_check(offsets: list[int], data: bytes, text: bool, fault: str) -> None:
    wrong = Column(np.array(offsets), np.frombuffer(data, np.uint8), (len(offsets) - 1,), text)
    with pytest.raises(ValueError, match=fault):
        wrong.check()
    with pytest.raises(ValueError, match=fault):
        wrong.numpy()
    if "offset" in fault:
        with pytest.raises(ValueError, match=fault):
            wrong[::-1]
