"""NumPy is the specification: random selections, read and written chunk by chunk."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from omnizarr.indexing import Transform, identity, partition
from omnizarr.model.grids import Grid, Shape
from tests.indexing.execute import InnerGrid, join, read, split, write
from tests.indexing.strategies import (
    SELECTIONS,
    draw_grid,
    draw_inner_grid,
    draw_shape,
    put,
    randoms,
)

KINDS = sorted(SELECTIONS)
many = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def draw_levels(rng: random.Random) -> list[InnerGrid]:
    """No shards, shards, or shards of shards."""

    def level() -> InnerGrid:
        grids: dict[Shape, Grid] = {}

        def inner(shape: Shape) -> Grid:
            if shape not in grids:
                grids[shape] = draw_inner_grid(rng, shape)
            return grids[shape]

        return inner

    return [level() for _ in range(rng.choice((0, 0, 1, 2)))]


def check(rng: random.Random, kinds: list[str]) -> None:
    """One case: successive selections of one array, read, read into `out`, and written."""
    shape = draw_shape(rng)
    grid = draw_grid(rng, shape)
    levels = draw_levels(rng)
    x = np.arange(int(np.prod(shape))).reshape(shape)
    chunks = split(x, grid)
    transform = identity(shape)
    expected = x
    keys = []
    for kind in kinds:
        key = SELECTIONS[kind].draw(rng, expected.shape)
        keys.append((kind, key))
        transform = SELECTIONS[kind].apply(transform, key)
        expected = SELECTIONS[kind].take(expected, key)
    case = f"shape {shape}, {grid}, keys {keys}"
    assert transform.shape == expected.shape, case

    plan = partition(transform, grid)
    assert len(plan) == sum(1 for _ in plan.parts()), case
    found = read(plan, chunks, levels)
    assert found.shape == expected.shape, case
    assert np.array_equal(found, expected), case
    out = np.full(expected.shape, -1, order=rng.choice("CF"))
    assert np.array_equal(read(plan, chunks, levels, out), expected), case

    value = -100 - np.arange(int(np.prod(expected.shape))).reshape(expected.shape)
    if rng.random() < 0.2:
        value = np.asarray(-100)

    def take(source: np.ndarray, _: object) -> np.ndarray:
        for kind, key in keys:
            source = SELECTIONS[kind].take(source, key)
        return source

    write(plan, chunks, levels, value)
    put(x, take, None, value)
    assert np.array_equal(join(chunks, grid), x), case


@pytest.mark.parametrize("kind", KINDS)
@many
@given(rng=randoms())
def test_one_selection(kind: str, rng: random.Random) -> None:
    check(rng, [kind])


@pytest.mark.slow
@many
@given(rng=randoms())
def test_views_of_views(rng: random.Random) -> None:
    check(rng, [rng.choice(KINDS) for _ in range(rng.randint(2, 3))])


@pytest.mark.slow
def test_many_seeded_cases() -> None:
    """Hypothesis likes small cases; this likes all of them."""
    for seed in range(1000):
        rng = random.Random(seed)
        check(rng, [rng.choice(KINDS) for _ in range(rng.choice((1, 1, 2, 3)))])


def test_last_value_wins_as_in_numpy() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        shape = draw_shape(rng)
        grid = draw_grid(rng, shape)
        x = np.zeros(shape, dtype=np.int64)
        chunks = split(x, grid)
        key = SELECTIONS["advanced"].draw(rng, shape)
        value = 1 + np.arange(x[key].size).reshape(x[key].shape)
        write(
            partition(SELECTIONS["advanced"].apply(identity(shape), key), grid), chunks, [], value
        )
        x[key] = value
        assert np.array_equal(join(chunks, grid), x), (shape, key)


@pytest.mark.parametrize("kind", KINDS)
@many
@given(rng=randoms())
def test_refuses_what_numpy_refuses(kind: str, rng: random.Random) -> None:
    shape = draw_shape(rng)
    key = SELECTIONS[kind].draw(rng, shape, faults=True)
    if kind in ("orthogonal", "coordinates"):
        refusal = _oracle_refusal(kind, key, shape)
    else:
        refusal = _refusal(lambda: SELECTIONS[kind].take(np.empty(shape), key))
    ours = _refusal(lambda: SELECTIONS[kind].apply(identity(shape), key))
    assert ours == refusal, (shape, key)


def _refusal(act: object) -> bool:
    try:
        act()  # type: ignore[operator]
    except IndexError:
        return True
    return False


def _oracle_refusal(kind: str, key: object, shape: Shape) -> bool:
    """The oracles spread keys themselves, which keys of the wrong length do not survive."""
    items = key if isinstance(key, tuple) else (key,)
    gaps = sum(1 for item in items if item is Ellipsis)
    taken = sum(
        item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1
        for item in items
        if item is not Ellipsis
    )
    if gaps > 1 or taken > len(shape):
        return True
    if any(
        isinstance(item, (str, float)) or item == [0.5]
        for item in items
        if item is not None and not isinstance(item, np.ndarray)
    ):
        return True
    return _refusal(lambda: SELECTIONS[kind].take(np.empty(shape), key))


def test_a_transform_is_plain_data() -> None:
    transform = identity((4, 5))
    assert isinstance(transform, Transform)
    assert transform.is_identity
    assert not SELECTIONS["basic"].apply(transform, slice(1, None)).is_identity
