"""Boxes: the same plan as by the general way, or none."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from omnizarr import limits
from omnizarr.indexing import basic_and_advanced, box, identity, partition
from omnizarr.model.grids import regular_grid
from tests.indexing.execute import read, split
from tests.indexing.strategies import draw_basic_key, draw_grid, draw_shape, randoms

GRID = regular_grid((7, 10), (3, 4))


def is_plain(key: Any, found: Any) -> bool:
    """Whether a key of which NumPy makes this is one of a box."""
    items = key if isinstance(key, tuple) else (key,)
    spread = any(item is ... for item in items)
    return (not spread or np.ndim(found) > 0) and all(
        type(item) is int or item is ... or (type(item) is slice and item.step in (None, 1))
        for item in items
    )


@settings(max_examples=400, deadline=None)
@given(randoms())
def test_a_box_is_the_plan_of_the_general_way(rng: random.Random) -> None:
    shape = draw_shape(rng)
    grid = draw_grid(rng, shape)
    x = np.arange(int(np.prod(shape))).reshape(shape)
    key = draw_basic_key(rng, shape, faults=True)
    found = box(key, grid)
    try:
        expected = x[key]
    except (IndexError, TypeError, ValueError):
        assert found is None
        return
    assert (found is not None) is is_plain(key, expected)
    if found is None:
        return
    other = partition(basic_and_advanced(identity(shape), key), grid)
    assert found.target == other.target == expected.shape
    assert (found.shape, found.count, len(found)) == (other.shape, other.count, other.count)
    assert list(found.parts()) == list(other.parts())
    assert found.transform.axes == other.transform.axes
    assert found.transform.source_shape == shape
    assert (found.dense, found.viewable) == (other.dense, other.viewable) == (True, True)
    assert np.array_equal(read(found, split(x, grid), []), expected)


@pytest.mark.parametrize("key", [(slice(0, 2), 1), slice(0, 5), (0, 0), (slice(3, 3), 0)])
def test_some_chunks_alone(key: Any) -> None:
    plan = box(key, GRID)
    assert plan is not None
    for part in plan.parts():
        some = plan.only(frozenset([part.coordinates]))
        assert (some.count, list(some.parts())) == (1, [part])
        assert some.target == plan.target and some.transform.axes == plan.transform.axes
    none = plan.only(frozenset())
    assert (none.count, list(none.parts())) == (0, [])


@pytest.mark.parametrize(
    "key", [2, (1, slice(2, 9)), (slice(None), 3), (0, 0), slice(4, 4), (), ...]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_working_array_and_result_are_views_of_one_another(key: Any, order: Any) -> None:
    plan = box(key, GRID)
    assert plan is not None
    base = np.zeros([2 * length for length in plan.target], order=order)
    strided = base[(*(slice(None, None, -2) for _ in plan.target), ...)]
    for result in (np.zeros(plan.target, order=order), strided):
        working = plan.view(result)
        assert working.shape == plan.shape == plan.working(result).shape
        working[...] = 1
        assert (result == 1).all()
        assert plan.result(working).shape == plan.target
        assert not result.size or np.shares_memory(plan.result(working), result)


@pytest.mark.parametrize(
    "key",
    [
        (0, 0, ...),
        (..., 0, ...),
        None,
        "name",
        7,
        -8,
        True,
        1.5,
        [1, 2],
        np.int64(1),
        slice(None, None, 2),
        slice(5, 1, -1),
        slice(0, 4, 0),
        slice("a", 4),
        (0, 0, 0),
        (0, 0, 0, ...),
        (slice(None), np.array([1])),
    ],
    ids=repr,
)
def test_other_keys_are_left(key: Any) -> None:
    assert box(key, GRID) is None


def test_a_limit_that_was_lowered_is_left_to_the_general_way() -> None:
    with limits.override(max_dimensions=1):
        assert box(0, GRID) is None
    assert box(0, GRID) is not None
