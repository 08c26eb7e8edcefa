"""Single rules of selections, and what their errors say."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from omnizarr.errors import (
    BoundsCheckError,
    InvalidIndexError,
    SelectionError,
    VindexInvalidSelectionError,
)
from omnizarr.indexing import (
    Constant,
    Indexed,
    Stride,
    basic_and_advanced,
    blocks,
    compose,
    coordinates,
    identity,
    mask,
    partition,
)
from omnizarr.model.grids import rectilinear_grid, regular_grid
from tests.indexing.execute import read, split
from tests.indexing.strategies import draw_block_key, draw_grid, draw_shape, randoms

VIEW = identity((4, 5, 6))


def test_expressions() -> None:
    transform = basic_and_advanced(VIEW, (2, slice(None, None, -2), None, [0, 3]))
    assert transform.source_shape == (4, 5, 6)
    # The integer goes with the array, and the slice between them sends both to the front.
    assert transform.shape == (2, 3, 1)
    constant, stride, indexed = transform.axes
    assert constant == Constant(2)
    assert stride == Stride(1, 4, -2)
    assert isinstance(indexed, Indexed)
    assert indexed.array.tolist() == [0, 3]
    assert indexed.dimensions == (0,)


def test_ix_is_orthogonal() -> None:
    meshed = basic_and_advanced(VIEW, np.ix_([0, 1], [2, 3, 4], [5]))
    first, second, third = meshed.axes
    assert isinstance(first, Indexed) and first.dimensions == (0,)
    assert isinstance(second, Indexed) and second.dimensions == (1,)
    assert third == Constant(5)
    assert meshed.shape == (2, 3, 1)


def test_broadcast_index_arrays_stay_small() -> None:
    shape = (4, 10**9)
    rows = np.broadcast_to(np.arange(4)[:, None], shape)
    columns = np.broadcast_to(np.array([2]), shape)
    transform = basic_and_advanced(VIEW, (rows, columns))
    assert transform.shape == (4, 10**9, 6)
    first, second, _ = transform.axes
    assert isinstance(first, Indexed) and first.dimensions == (0,)
    assert second == Constant(2)


def test_a_view_keeps_its_own_index_array() -> None:
    index = np.array([0, 1, 2])
    transform = basic_and_advanced(VIEW, index)
    index[:] = 99
    assert isinstance(transform.axes[0], Indexed)
    assert transform.axes[0].array.tolist() == [0, 1, 2]


def test_composition_of_identities() -> None:
    transform = basic_and_advanced(VIEW, (slice(1, 3), 2))
    assert compose(VIEW, transform) is transform
    assert compose(transform, identity(transform.shape)).axes == transform.axes


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        (4, BoundsCheckError, "index 4 is out of bounds for axis 0 with size 4"),
        ((0, -6), BoundsCheckError, "index -6 is out of bounds for axis 1 with size 5"),
        (2**80, BoundsCheckError, "out of bounds for axis 0"),
        ((..., [0, 7]), BoundsCheckError, "index 7 is out of bounds for axis 2 with size 6"),
        ([-5], BoundsCheckError, "index -5 is out of bounds for axis 0 with size 4"),
        ((0, 0, 0, 0), SelectionError, "too many indices.*3-dimensional, but 4 were indexed"),
        ((..., ...), SelectionError, "single ellipsis"),
        (1.0, SelectionError, "only integers.*found float"),
        ("name", SelectionError, "only integers.*found str"),
        ({}, SelectionError, "only integers.*found dict"),
        (np.array([1.0]), SelectionError, "must be of integer.*float64"),
        (np.array([]), SelectionError, "must be of integer"),
        (np.ones(3, bool), SelectionError, "axis 0; size of axis is 4.*boolean axis is 3"),
        (([0, 1], [0, 1, 2]), SelectionError, r"could not be broadcast.*\(2,\) \(3,\)"),
        (slice(None, None, 0), InvalidIndexError, "step cannot be zero"),
        (slice(0.5, None), InvalidIndexError, "slice indices must be integers"),
        ([[1], [1, 2]], InvalidIndexError, "ragged"),
        ((None,) * 62, SelectionError, r"within \[0, 64\].*would have 65"),
    ],
)
def test_errors_of_basic_and_advanced(key: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        basic_and_advanced(VIEW, key)
    assert isinstance(caught.value, IndexError)


def test_numpy_looks_at_no_index_that_selects_nothing() -> None:
    assert basic_and_advanced(VIEW, (np.zeros((0, 1), int), [99])).shape == (0, 1, 6)
    with pytest.raises(BoundsCheckError):
        basic_and_advanced(VIEW, ([], 99))


def test_coordinates() -> None:
    assert coordinates(VIEW, ([0, 1], slice(2), [3, 4])).shape == (2, 2)
    assert coordinates(VIEW, (slice(2), [[0], [1]], [3, 4])).shape == (2, 2, 2)
    assert coordinates(VIEW, (1, 2, 3)).shape == ()
    with pytest.raises(VindexInvalidSelectionError, match="coordinate selection of shape"):
        coordinates(VIEW, "x")
    with pytest.raises(BoundsCheckError):
        coordinates(VIEW, ([9], 0, 0))


def test_mask() -> None:
    with pytest.raises(SelectionError, match=r"shape \(4, 5\).*shape \(4, 5, 6\)"):
        mask(VIEW, np.ones((4, 5), bool))
    with pytest.raises(SelectionError, match="boolean array"):
        mask(VIEW, np.ones((4, 5, 6), int))
    assert mask(VIEW, (np.ones((4, 5, 6), bool),)).shape == (120,)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (2, "block index 2 is out of bounds for axis 0 with 2 chunks"),
        ((0, -4), "block index -4 is out of bounds for axis 1 with 3 chunks"),
        (slice(None, None, 2), "axis 0 must have step 1"),
        ([0, 1], "integers and slices.*list"),
        (1.5, "integers and slices.*float"),
        ((0, 0, 0), "too many block indices"),
        ((..., ...), "single ellipsis"),
    ],
)
def test_errors_of_blocks(key: Any, words: str) -> None:
    grid = regular_grid((4, 5), (2, 2))
    with pytest.raises(SelectionError, match=words):
        blocks(identity((4, 5)), key, grid)


def test_blocks_belong_to_the_array() -> None:
    grid = regular_grid((4, 5), (2, 2))
    with pytest.raises(SelectionError, match="from the array itself"):
        blocks(basic_and_advanced(identity((4, 5)), slice(1, None)), 0, grid)


def test_blocks_of_a_rectilinear_grid() -> None:
    grid = rectilinear_grid((9, 4), ((2, 3, 4), 3))
    transform = blocks(identity((9, 4)), (slice(1, None), -1), grid)
    assert transform.axes == (Stride(0, 2, 1), Stride(1, 3, 1))
    assert transform.shape == (7, 1)


@settings(deadline=None, max_examples=200)
@given(rng=randoms())
def test_blocks_are_whole_chunks(rng: random.Random) -> None:
    shape = draw_shape(rng)
    grid = draw_grid(rng, shape)
    key = draw_block_key(rng, grid)
    x = np.arange(int(np.prod(shape))).reshape(shape)
    # The chunk number of every element along each axis tells which elements a key means.
    items = list(key) if isinstance(key, tuple) else [key]
    items = items if ... in items else [*items, ...]
    at = items.index(...)
    items[at : at + 1] = [slice(None)] * (x.ndim - len(items) + 1)
    expected = x
    for dimension, (axis, item) in enumerate(zip(grid.axes, items, strict=True)):
        taken = np.arange(axis.count)[item]
        keep = np.isin(axis.chunks_of(np.arange(axis.length)), taken)
        expected = np.compress(keep, expected, axis=dimension)
    plan = partition(blocks(identity(shape), key, grid), grid)
    assert np.array_equal(read(plan, split(x, grid), []), expected)
    assert all(part.whole for part in plan.parts())
