"""Affine transforms between the cells of a grid and the world.

A cell (row i, column j) covers the columns from j to j + 1 and the rows from i to i + 1: (0, 0) is
the outer corner of the first cell and (0.5, 0.5) its centre. x is easting or longitude, y is
northing or latitude, whatever the axis order of the reference system. This module knows numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from omnizarr.errors import MetadataError
from omnizarr.model.json import show

_LEAST = 1e-60
"""Smaller numbers, and greater ones than its inverse, are on no map; products stay finite."""
Floats = npt.NDArray[np.float64]
T = TypeVar("T", float, Floats)


class Bounds(NamedTuple):
    """A rectangle in the world.

    Examples
    --------
    >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
    >>> array.geo.set(transform=(10, 0, 500000, 0, -10, 4600000))
    >>> array.geo.bounds.top
    4600000.0
    """

    left: float
    """Least x."""
    bottom: float
    """Least y."""
    right: float
    """Greatest x."""
    top: float
    """Greatest y."""


class Transform(NamedTuple):
    """``x = a * column + b * row + c`` and ``y = d * column + e * row + f``.

    The order is that of rasterio and of the package affine: ``Affine(*transform)``.

    Examples
    --------
    >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
    >>> array.geo.set(transform=(10, 0, 500000, 0, -10, 4600000))
    >>> array.geo.transform.at(1, 0)
    (500010.0, 4600000.0)
    >>> array.geo.transform.inverse(500010, 4600000)
    (1.0, -0.0)
    """

    a: float
    """Width of a cell."""
    b: float
    """Change of x from row to row; 0 unless rotated."""
    c: float
    """x of the outer corner of the first cell."""
    d: float
    """Change of y from column to column; 0 unless rotated."""
    e: float
    """Height of a cell; negative if the first row is the northernmost."""
    f: float
    """y of the outer corner of the first cell."""

    @property
    def is_aligned(self) -> bool:
        """Whether rows and columns are parallel to the axes."""
        return self.b == 0 == self.d

    def at(self, column: T, row: T) -> tuple[T, T]:
        """The place in the world of a position in the grid."""
        a, b, c, d, e, f = self
        return a * column + b * row + c, d * column + e * row + f

    def inverse(self, x: T, y: T) -> tuple[T, T]:
        """The column and row of a place in the world."""
        a, b, c, d, e, f = self
        area = a * e - b * d
        x, y = x - c, y - f
        return (e * x - b * y) / area, (a * y - d * x) / area

    def moved(self, columns: float, rows: float) -> Transform:
        """The same with the origin at another position of the grid."""
        x, y = self.at(columns, rows)
        return self._replace(c=x, f=y)

    def bounds(self, shape: tuple[int, int]) -> Bounds:
        """The rectangle around a grid of so many rows and columns."""
        rows, columns = shape
        corners = [self.at(float(j), float(i)) for j in (0, columns) for i in (0, rows)]
        xs, ys = zip(*corners, strict=True)
        return Bounds(min(xs), min(ys), max(xs), max(ys))

    def centres(self, axis: int, start: int, stop: int) -> Floats:
        """x of some columns (axis 1) or y of some rows (axis 0) of an aligned grid."""
        step, origin = (self.a, self.c) if axis else (self.e, self.f)
        return origin + step * (np.arange(start, stop, dtype="f8") + 0.5)


def numbers(value: object, counts: tuple[int, ...], name: str) -> tuple[float, ...]:
    """A list of finite numbers that a stranger wrote."""
    wanted = " or ".join(map(str, counts))
    found = list(value) if isinstance(value, list | tuple) else []
    try:
        # A boolean is no number, and an integer may be too large for a float.
        made = tuple(math.nan if isinstance(item, bool | str) else float(item) for item in found)
    except (TypeError, ValueError, OverflowError):
        made = ()
    if len(made) not in counts or not all(map(math.isfinite, made)):
        raise MetadataError(f"{name} must be {wanted} finite numbers, found {show(value)}")
    return made


def transform_of(value: object, name: str = "transform") -> Transform:
    """A transform from six numbers, or from the nine of a matrix whose last row is 0, 0, 1."""
    made = numbers(list(value) if isinstance(value, Iterable) else value, (6, 9), name)
    if len(made) == 9 and made[6:] != (0, 0, 1):
        raise MetadataError(f"{name}: the last row of a matrix must be 0, 0, 1, found {made[6:]}")
    found = Transform(*made[:6])
    a, b, _, d, e, _ = found
    usual = all(not number or abs(number) > _LEAST for number in (a, b, d, e))
    if not usual or max(map(abs, found)) > 1 / _LEAST or found.a * found.e == found.b * found.d:
        raise MetadataError(f"{name} must be invertible, found {show(tuple(found))}")
    return found


def between(bounds: Iterable[float], shape: tuple[int, int], name: str = "bounds") -> Transform:
    """The transform of a grid, first row on top, that fills a rectangle."""
    left, bottom, right, top = numbers(list(bounds), (4,), name)
    rows, columns = shape
    if not (left < right and bottom < top) or not rows or not columns:
        raise MetadataError(
            f"{name} must be (left, bottom, right, top) of a grid that is not empty, found"
            f" {(left, bottom, right, top)} and {rows} x {columns} cells"
        )
    return Transform((right - left) / columns, 0.0, left, 0.0, (bottom - top) / rows, top)


def alike(first: Transform, second: Transform, shape: tuple[int, int]) -> bool:
    """Whether two transforms put every cell in the same place, within a hundredth of a cell."""
    rows, columns = shape
    for column, row in ((0.0, 0.0), (float(columns), 0.0), (0.0, float(rows))):
        x, y = second.at(column, row)
        found = first.inverse(x, y)
        if abs(found[0] - column) > 0.01 or abs(found[1] - row) > 0.01:
            return False
    return True
