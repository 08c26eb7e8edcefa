"""What is known about the map of an array, whichever convention says so.

`Stated` is what one convention says, `Geo` what is made of all of them. Both are plain facts; this
module must not know any attribute.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from omnizarr.conventions.geo import crs as systems
from omnizarr.conventions.geo.crs import Definition
from omnizarr.conventions.geo.transform import Bounds, Floats, Transform, numbers
from omnizarr.errors import MetadataError
from omnizarr.runtime.properties import cached_property

if TYPE_CHECKING:
    import pyproj

Name = Literal["gdal", "cf", "spatial"]
ORDER: tuple[Name, ...] = ("gdal", "cf", "spatial")
"""Which convention counts where several contradict each other. GDAL and rioxarray look in this
order too."""
Registration = Literal["pixel", "node"]
_SLACK = 1e-6
"""The part of a cell by which bounds may miss an edge, because numbers are rounded."""
_MOST_CELLS = 2.0**63


@dataclass(frozen=True)
class Stated:
    """What one convention says about a node."""

    convention: Name
    definitions: tuple[Definition, ...] = ()
    transform: Transform | None = None
    dims: tuple[str, str] | None = None
    """The names of the dimensions of y and x."""
    shape: tuple[int, int] | None = None
    registration: Registration | None = None
    inherited: bool = False
    """Whether the group says so, and not the array itself."""


@dataclass(frozen=True)
class Geo:
    """A grid of cells in the world."""

    shape: tuple[int, int]
    """The number of rows (along y) and of columns (along x)."""
    dims: tuple[str | None, str | None] = (None, None)
    definitions: tuple[Definition, ...] = ()
    transform: Transform | None = None
    registration: Registration = "pixel"
    conventions: tuple[Name, ...] = field(default=(), compare=False)

    @cached_property
    def crs(self) -> pyproj.CRS | None:
        return systems.first(self.definitions)

    @property
    def bounds(self) -> Bounds | None:
        if self.transform is None or 0 in self.shape:
            return None
        return self.transform.bounds(self.shape)

    @property
    def resolution(self) -> tuple[float, float] | None:
        if self.transform is None:
            return None
        a, b, _, d, e, _ = self.transform
        return math.hypot(a, d), math.hypot(b, e)

    @property
    def is_geographic(self) -> bool:
        """Whether x is a longitude in degrees."""
        if self.crs is not None:
            return bool(self.crs.is_geographic)
        return str(self.dims[1]).lower() in ("lon", "longitude")

    def required(self) -> Transform:
        if self.transform is None:
            raise MetadataError(
                "the array has no transform, and no regular coordinates to derive one from"
            ).advise("state it with array.geo.set(transform=…) or array.geo.set(bounds=…)")
        return self.transform

    def xy(self, row: npt.ArrayLike, column: npt.ArrayLike) -> tuple[Floats, Floats]:
        """x and y of the centres of cells."""
        rows, columns = np.asarray(row, "f8"), np.asarray(column, "f8")
        return self.required().at(columns + 0.5, rows + 0.5)

    def index(
        self, x: npt.ArrayLike, y: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Row and column of the cells that hold places of the world."""
        with np.errstate(all="ignore"):
            found = self.required().inverse(np.asarray(x, "f8"), np.asarray(y, "f8"))
        columns, rows = np.floor(found)
        if not (np.abs([rows, columns]) < _MOST_CELLS).all():
            raise MetadataError("x and y must be finite, and not too far away to count cells")
        return rows.astype("i8"), columns.astype("i8")

    def window(self, bounds: Iterable[float]) -> tuple[slice, slice]:
        """The rows and columns of all cells that overlap a rectangle of the world."""
        transform = self.required()
        given = Bounds(*numbers(list(bounds), (4,), "bounds"))
        wanted = self.wrapped(given, transform.bounds(self.shape))
        left, bottom, right, top = wanted
        corners = [transform.inverse(x, y) for x in (left, right) for y in (bottom, top)]
        columns, rows = zip(*corners, strict=True)
        found = (_part(rows, self.shape[0]), _part(columns, self.shape[1]))
        if left > right or bottom > top or any(each.start >= each.stop for each in found):
            raise MetadataError(
                f"bounds must be (left, bottom, right, top) that overlap the grid, whose bounds are"
                f" {tuple(transform.bounds(self.shape))}; found {tuple(wanted)}"
            )
        return found

    def wrapped(self, wanted: Bounds, have: Bounds) -> Bounds:
        """Longitudes of one turn as those of the grid: -10 is 350 where they count from 0. Bounds
        from 170 to -170 cross the antimeridian, as in GeoJSON and as PROJ gives them."""
        if not self.is_geographic:
            return wanted
        if wanted.left > wanted.right:
            wanted = wanted._replace(right=wanted.right + 360)
        if have.left <= wanted.left and wanted.right <= have.right:
            return wanted
        for turn in (360.0, -360.0):
            moved = wanted._replace(left=wanted.left + turn, right=wanted.right + turn)
            if moved.left < have.right and moved.right > have.left:
                if wanted.left < have.right and wanted.right > have.left:
                    raise MetadataError(
                        f"bounds {tuple(wanted)} are on both sides of the grid's edge at longitude"
                        f" {have.left if wanted.left < have.left else have.right}; read both parts"
                    )
                return moved
        return wanted


def _part(positions: tuple[float, ...], length: int) -> slice:
    low = min(max(min(positions) + _SLACK, 0.0), float(length))
    high = min(max(max(positions) - _SLACK, 0.0), float(length))
    return slice(math.floor(low), math.ceil(high))
