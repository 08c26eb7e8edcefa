"""Grids answer with integers, per axis, and never list their chunks."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings

import omnizarr
from omnizarr.errors import LimitError, MetadataError
from omnizarr.model.grids import (
    Grid,
    RectilinearAxis,
    RegularAxis,
    chunk_lengths,
    rectilinear_grid,
    regular_grid,
)
from tests.indexing.strategies import draw_grid, draw_shape, randoms


@settings(deadline=None, max_examples=200)
@given(rng=randoms())
def test_every_index_lies_in_exactly_the_chunk_that_the_axis_names(rng: random.Random) -> None:
    shape = draw_shape(rng)
    grid = draw_grid(rng, shape)
    assert grid.array_shape == shape
    for axis, count in zip(grid.axes, grid.shape, strict=True):
        owners = [
            [c for c in range(count) if axis.start(c) <= i < axis.start(c) + axis.size(c)]
            for i in range(axis.length)
        ]
        assert owners == [[axis.chunk_of(i)] for i in range(axis.length)]
        indices = np.arange(axis.length)
        assert axis.chunks_of(indices).tolist() == [c for (c,) in owners]
        chunks = np.arange(count)
        assert axis.starts(chunks).tolist() == [axis.start(c) for c in range(count)]
        assert axis.sizes(chunks).tolist() == [axis.size(c) for c in range(count)]
        assert all(axis.start(c) < axis.length for c in range(count))
    assert grid.nchunks == len(list(np.ndindex(*grid.shape)))
    for coordinates in np.ndindex(*grid.shape):
        one = grid.shape_of(coordinates)
        assert one == tuple(a.size(c) for a, c in zip(grid.axes, coordinates, strict=True))
        assert all(n <= largest for n, largest in zip(one, grid.chunk_shape, strict=True))


def test_rectilinear_axis_ignores_chunks_beyond_the_array() -> None:
    axis = RectilinearAxis(5, (2, 3, 4))
    assert axis.count == 2
    assert RectilinearAxis(6, (2, 3, 4)).count == 3
    assert RectilinearAxis(0, (2, 3)).count == 0
    assert RectilinearAxis(0, ()).count == 0


def test_resized_keeps_the_cuts() -> None:
    grid = rectilinear_grid((5, 7), ((2, 3), 4))
    grown = grid.resized((9, 20))
    assert grown.axes == (RectilinearAxis(9, (2, 3, 4)), RegularAxis(20, 4))
    shrunk = grown.resized((3, 1))
    assert shrunk.shape == (2, 1)
    assert shrunk.resized((9, 20)) == grown


def test_a_grid_is_a_value() -> None:
    grid = rectilinear_grid((5, 7), ((2, 3), 4))
    assert grid.shape == (2, 2)
    assert not grid.regular
    assert grid == rectilinear_grid((5, 7), ((2, 3), 4))
    assert hash(grid) == hash(rectilinear_grid((5, 7), ((2, 3), 4)))
    assert pickle.loads(pickle.dumps(grid)) == grid
    assert regular_grid((), ()).nchunks == 1
    assert regular_grid((0, 3), (1, 2)).nchunks == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: regular_grid((3,), (1, 1)), "2 dimensions"),
        (lambda: regular_grid((-1,), (1,)), "negative"),
        (lambda: regular_grid((3,), (0,)), "at least 1"),
        (lambda: rectilinear_grid((3,), ((1,), (2,))), "2 dimensions"),
        (lambda: rectilinear_grid((3,), ((1, 1),)), "sum to 2"),
        (lambda: rectilinear_grid((3,), ((3, 0),)), "at least 1"),
        (lambda: rectilinear_grid((-3,), ((3,),)), "negative"),
        (lambda: rectilinear_grid((3,), (0,)), "at least 1"),
    ],
)
def test_impossible_grids_are_refused(make: Callable[[], Grid], words: str) -> None:
    with pytest.raises(MetadataError, match=words):
        make()


def best_of(times: int, act: Callable[[], object]) -> float:
    def once() -> float:
        start = perf_counter()
        act()
        return perf_counter() - start

    return min(once() for _ in range(times))


def test_huge_grids_cost_nothing() -> None:
    def ask() -> None:
        grid = regular_grid((10**12, 10**12), (1, 7))
        assert grid.nchunks == 10**12 * -(-(10**12) // 7)
        assert grid.shape_of((10**11, 3)) == (1, 7)
        assert grid.axes[1].chunk_of(10**12 - 1) == (10**12 - 1) // 7
        assert grid.resized((10**15, 5)).shape == (10**15, 1)

    assert best_of(5, ask) < 0.001


def test_a_long_rectilinear_axis_is_summed_once() -> None:
    axis = RectilinearAxis(10**6, (5,) * 200_000)
    assert axis.count == 200_000
    axis.chunks_of(np.arange(3))

    def ask() -> None:
        assert axis.count == 200_000
        assert axis.chunk_of(999_999) == 199_999
        assert axis.size(7) == 5
        assert axis.chunks_of(np.array([12, 999_999])).tolist() == [2, 199_999]

    assert best_of(5, ask) < 0.001


def test_promises_beyond_any_index_do_not_overflow() -> None:
    indices = np.array([0, 5])
    assert RegularAxis(10, 2**70).chunks_of(indices).tolist() == [0, 0]
    assert RegularAxis(10, 2**70).sizes(indices[:1]).tolist() == [2**63 - 1]
    axis = RectilinearAxis(10, (3, 2**70))
    assert axis.chunks_of(indices).tolist() == [0, 1]
    assert axis.size(1) == 2**70


def test_lengths_are_cut_at_the_end_of_the_array() -> None:
    assert chunk_lengths(regular_grid((10, 0, 3), (4, 2, 5))) == ((4, 4, 2), (), (3,))
    assert chunk_lengths(rectilinear_grid((6, 6), ((4, 4, 9), 3))) == ((4, 2), (3, 3))
    assert chunk_lengths(regular_grid((), ())) == ()


def test_lengths_are_not_listed_beyond_the_limit() -> None:
    with omnizarr.limits.override(max_requested_chunks=5):
        assert chunk_lengths(regular_grid((3, 4), (1, 2))) == ((1, 1, 1), (2, 2))
        with pytest.raises(LimitError, match="6 chunk lengths to list"):
            chunk_lengths(regular_grid((3, 5), (1, 2)))
    with pytest.raises(LimitError, match="max_requested_chunks"):
        chunk_lengths(regular_grid((2**62,), (1,)))
