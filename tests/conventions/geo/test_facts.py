"""Grids: transforms, bounds, places and windows, with NumPy as the oracle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from omnizarr.conventions.geo.crs import Definition
from omnizarr.conventions.geo.facts import Geo
from omnizarr.conventions.geo.transform import Transform, alike, between, transform_of
from omnizarr.errors import MetadataError

SIZES = st.floats(0.001, 1e5) | st.floats(-1e5, -0.001)
PLACES = st.floats(-1e7, 1e7)
SHAPES = st.tuples(st.integers(1, 50), st.integers(1, 50))


@st.composite
def transforms(draw: st.DrawFn, rotated: bool = True) -> Transform:
    a, e = draw(SIZES), draw(SIZES)
    b = draw(st.just(0.0) | SIZES) if rotated else 0.0
    d = draw(st.just(0.0) | SIZES) if rotated else 0.0
    assume(abs(a * e - b * d) > 1e-3 * max(abs(a * e), abs(b * d)))
    return Transform(a, b, draw(PLACES), d, e, draw(PLACES))


@given(transforms(), SHAPES)
def test_places_and_cells_are_inverse(transform: Transform, shape: tuple[int, int]) -> None:
    geo = Geo(shape, transform=transform)
    rows, columns = (each.ravel() for each in np.indices(shape))
    x, y = geo.xy(rows, columns)
    matrix = np.array([transform[:3], transform[3:], (0, 0, 1)])
    expected = matrix @ np.stack([columns + 0.5, rows + 0.5, np.ones(len(rows))])
    np.testing.assert_allclose([x, y], expected[:2], rtol=1e-9, atol=1e-6)
    # Far from the origin a small cell has few digits.
    smallest = min(geo.resolution or (0, 0))
    assume(smallest > 1e-6 * max(1, *map(abs, transform)))
    found = geo.index(x, y)
    assert found[0].tolist() == rows.tolist()
    assert found[1].tolist() == columns.tolist()


@given(transforms(), SHAPES)
def test_bounds_hold_all_cells(transform: Transform, shape: tuple[int, int]) -> None:
    bounds = transform.bounds(shape)
    x, y = Geo(shape, transform=transform).xy(*np.indices(shape))
    assert bounds.left <= x.min() and x.max() <= bounds.right
    assert bounds.bottom <= y.min() and y.max() <= bounds.top


@given(transforms(rotated=False), SHAPES, st.data())
def test_a_window_has_the_cells_that_overlap(
    transform: Transform, shape: tuple[int, int], data: st.DataObject
) -> None:
    geo = Geo(shape, transform=transform._replace(c=0.0, f=0.0))
    rows, columns = shape
    top = data.draw(st.integers(0, rows - 1))
    left = data.draw(st.integers(0, columns - 1))
    height = data.draw(st.integers(1, rows - top))
    width = data.draw(st.integers(1, columns - left))
    corners = [geo.required().at(float(j), float(i)) for j in (left, left + width)
               for i in (top, top + height)]  # fmt: skip
    xs, ys = zip(*corners, strict=True)
    found = geo.window((min(xs), min(ys), max(xs), max(ys)))
    assert found == (slice(top, top + height), slice(left, left + width))


@given(transforms(), SHAPES)
def test_the_whole_is_its_own_window(transform: Transform, shape: tuple[int, int]) -> None:
    found = Geo(shape, transform=transform).window(transform.bounds(shape))
    assert found == (slice(0, shape[0]), slice(0, shape[1]))


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(1, 1e5), st.floats(1, 1e5), SHAPES)
def test_bounds_make_a_transform(
    left: float, bottom: float, width: float, height: float, shape: tuple[int, int]
) -> None:
    bounds = (left, bottom, left + width, bottom + height)
    made = between(bounds, shape)
    assert made.e < 0 < made.a and made.is_aligned
    assert made.bounds(shape) == pytest.approx(bounds, abs=1e-6)


def test_longitudes_of_another_turn() -> None:
    globe = Geo((180, 360), ("lat", "lon"), (), Transform(1, 0, 0, 0, -1, 90))
    assert globe.window((-10, 40, -5, 50)) == (slice(40, 50), slice(350, 355))
    assert globe.window((190, 40, 200, 50)) == (slice(40, 50), slice(190, 200))
    with pytest.raises(MetadataError, match="both sides of the grid's edge at longitude 0"):
        globe.window((-10, 40, 10, 50))
    assert globe.window((170, 40, -170, 50)) == (slice(40, 50), slice(170, 190))
    western = Geo((180, 360), ("lat", "lon"), (), Transform(1, 0, -180, 0, -1, 90))
    assert western.window((200, 40, 210, 50)) == (slice(40, 50), slice(20, 30))
    with pytest.raises(MetadataError, match="both sides of the grid's edge at longitude 180"):
        western.window((170, 40, -170, 50))
    projected = Geo((180, 360), ("y", "x"), (), Transform(1, 0, 0, 0, -1, 90))
    with pytest.raises(MetadataError, match="overlap the grid"):
        projected.window((-10, 40, -5, 50))


@pytest.mark.parametrize("bounds", [(5, 0, 1, 10), (0, 10, 10, 0), (100, 100, 110, 110)])
def test_bounds_without_cells_are_refused(bounds: tuple[float, ...]) -> None:
    with pytest.raises(MetadataError, match="overlap the grid"):
        Geo((10, 10), transform=Transform(1, 0, 0, 0, -1, 10)).window(bounds)


@pytest.mark.parametrize(
    "value",
    [None, 5, "abcdef", [1, 2, 3], [0] * 6, [1, 0, 0, 0, math.nan, 0], [1, 0, math.inf, 0, 1, 0],
     [True, 0, 0, 0, True, 0], ["1", 0, 0, 0, 1, 0], [10**400, 0, 0, 0, 1, 0], [1, 1, 0, 1, 1, 0],
     [1e-300, 0, 0, 0, 1, 0], [1, 0, 0, 0, 1, 0, 0, 0, 2], [[1], 0, 0, 0, 1, 0]],
)  # fmt: skip
def test_what_is_no_transform(value: Any) -> None:
    with pytest.raises(MetadataError):
        transform_of(value)


def test_matrices_are_transforms_too() -> None:
    assert transform_of([1, 0, 5, 0, -1, 6, 0, 0, 1]) == (1, 0, 5, 0, -1, 6)


def test_alike_within_a_hundredth_of_a_cell() -> None:
    one = Transform(10, 0, 500000, 0, -10, 4600000)
    assert alike(one, one._replace(c=500000.05), (100, 100))
    assert not alike(one, one._replace(c=500000.5), (100, 100))
    assert not alike(one, one._replace(a=10.01), (100, 100))
    assert not alike(one, one._replace(e=10), (100, 100))


def test_without_a_transform() -> None:
    geo = Geo((4, 6))
    assert (geo.bounds, geo.resolution, geo.crs) == (None, None, None)
    for ask in (lambda: geo.xy(0, 0), lambda: geo.index(0, 0), lambda: geo.window((0, 0, 1, 1))):
        with pytest.raises(MetadataError, match="no transform"):
            ask()


@pytest.mark.parametrize("place", [np.nan, np.inf, 1e300])
def test_no_cell_is_counted_to_where_there_is_none(place: float) -> None:
    geo = Geo((4, 6), transform=Transform(10, 0, 500000, 0, -10, 4600000))
    with pytest.raises(MetadataError, match="finite"):
        geo.index([500005, place], 4599995)


def test_the_first_definition_that_is_understood_counts() -> None:
    broken = Definition("text", "http://www.opengis.net/def/crs/EPSG/0/999999")
    geo = Geo((4, 6), definitions=(broken, Definition("text", "EPSG:32631")))
    assert geo.crs is not None and geo.crs.to_epsg() == 32631
    with pytest.raises(MetadataError, match="999999"):
        Geo((4, 6), definitions=(broken,)).crs  # noqa: B018
