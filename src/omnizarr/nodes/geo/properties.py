"""What `array.geo` and `group.geo` share: the facts of a grid in the world.

This module shows facts. It must not know which convention they come from, nor how they are stored.
"""

from __future__ import annotations

from abc import abstractmethod
from re import fullmatch
from typing import TYPE_CHECKING

from omnizarr.conventions.geo.facts import Geo, Registration
from omnizarr.conventions.geo.transform import Bounds, Floats, Transform
from omnizarr.keywords import suggests

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyproj


class MapFacts:
    """The base of `ArrayGeo` and `GroupGeo`; not of use by itself."""

    @property
    @abstractmethod
    def _geo(self) -> Geo:
        """The facts."""

    @property
    @abstractmethod
    def conflicts(self) -> tuple[str, ...]:
        """Where what is stored contradicts itself, and what counts; empty if nowhere.

        An array's own attributes count before those of its group, then GDAL's convention before
        CF's and CF's before `proj:` and `spatial:`. Coordinate variables count before a stored
        transform.

        Examples
        --------
        >>> omnizarr.zeros((4, 6), dimension_names=("y", "x")).geo.conflicts
        ()
        """

    @property
    def crs(self) -> pyproj.CRS | None:
        """Coordinate reference system; None if none is stored. It needs pyproj.

        Examples
        --------
        >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
        >>> array.geo.set(crs="EPSG:32631")
        >>> array.geo.crs.name
        'WGS 84 / UTM zone 31N'
        """
        return self._geo.crs

    @property
    def epsg(self) -> int | None:
        """EPSG code of the reference system; None if it has none.

        Examples
        --------
        >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
        >>> array.geo.set(crs="EPSG:32631")
        >>> array.geo.epsg
        32631
        """
        return None if self.crs is None else self.crs.to_epsg()

    @property
    def transform(self) -> Transform | None:
        """Transform from columns and rows to x and y, in the order of rasterio and affine.

        It starts at the outer corner of the first cell, however the data are registered, and x is
        first whatever the axis order of the reference system. None if no transform is stored and
        the coordinates are missing or not evenly spaced.

        Examples
        --------
        >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
        >>> array.geo.set(transform=(10, 0, 500000, 0, -10, 4600000))
        >>> array.geo.transform
        Transform(a=10.0, b=0.0, c=500000.0, d=0.0, e=-10.0, f=4600000.0)
        """
        return self._geo.transform

    @property
    def bounds(self) -> Bounds | None:
        """Rectangle around all cells: left, bottom, right, top. None without a transform.

        Examples
        --------
        >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
        >>> array.geo.set(transform=(10, 0, 500000, 0, -10, 4600000))
        >>> array.geo.bounds
        Bounds(left=500000.0, bottom=4599960.0, right=500060.0, top=4600000.0)
        """
        return self._geo.bounds

    @property
    def resolution(self) -> tuple[float, float] | None:
        """Width and height of a cell, both positive. None without a transform.

        Examples
        --------
        >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
        >>> array.geo.set(transform=(10, 0, 500000, 0, -20, 4600000))
        >>> array.geo.resolution
        (10.0, 20.0)
        """
        return self._geo.resolution

    @property
    def dims(self) -> tuple[str | None, str | None]:
        """Names of the dimensions of y and x.

        Examples
        --------
        >>> omnizarr.zeros((3, 4, 6), dimension_names=("time", "lat", "lon")).geo.dims
        ('lat', 'lon')
        """
        return self._geo.dims

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows (along y) and of columns (along x).

        Examples
        --------
        >>> omnizarr.zeros((3, 4, 6), dimension_names=("time", "lat", "lon")).geo.shape
        (4, 6)
        """
        return self._geo.shape

    @property
    def registration(self) -> Registration:
        """Whether a value belongs to its whole cell ("pixel") or to the cell's centre ("node").

        Examples
        --------
        >>> omnizarr.zeros((4, 6), dimension_names=("y", "x")).geo.registration
        'pixel'
        """
        return self._geo.registration

    @property
    def conventions(self) -> tuple[str, ...]:
        """Conventions that were found: "gdal", "cf" and "spatial" (`proj:` and `spatial:`).

        Examples
        --------
        >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
        >>> array.geo.set(crs="EPSG:32631", convention="gdal")
        >>> array.geo.conventions
        ('gdal',)
        """
        return self._geo.conventions

    @suggests
    def xy(self, row: npt.ArrayLike, column: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Give the place in the world of the centres of cells.

        Parameters
        ----------
        row, column
            Numbers of rows and columns from 0; arrays as well.

        Returns
        -------
        tuple of ndarray
            x and y.

        Raises
        ------
        MetadataError
            If there is no transform.

        Examples
        --------
        >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
        >>> array.geo.set(transform=(10, 0, 500000, 0, -10, 4600000))
        >>> x, y = array.geo.xy(0, [0, 1])
        >>> x.tolist(), y.tolist()
        ([500005.0, 500015.0], [4599995.0, 4599995.0])
        """
        return self._geo.xy(row, column)

    @suggests
    def index(
        self, x: npt.ArrayLike, y: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Find the cells that hold places of the world. They may be outside the array.

        Parameters
        ----------
        x, y
            Places in the reference system; arrays as well.

        Returns
        -------
        tuple of ndarray
            Rows and columns.

        Raises
        ------
        MetadataError
            If there is no transform.

        Examples
        --------
        >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
        >>> array.geo.set(transform=(10, 0, 500000, 0, -10, 4600000))
        >>> row, column = array.geo.index(500031, 4599999)
        >>> int(row), int(column)
        (0, 3)
        """
        return self._geo.index(x, y)

    def __bool__(self) -> bool:
        return bool(self._geo.conventions) or self._geo.transform is not None

    def __repr__(self) -> str:
        geo = self._geo
        systems = [each.value for each in geo.definitions]
        codes = [value for value in systems if fullmatch(r"[A-Z]+:\w+", value)]
        system = next(iter(codes + systems), None)
        if system is not None and len(system) > 40:
            system = system[:39] + "…"
        return (
            f"<{type(self).__name__} {geo.dims} {geo.shape[0]} x {geo.shape[1]}, crs {system},"
            f" transform {None if geo.transform is None else tuple(geo.transform)},"
            f" conventions {', '.join(geo.conventions) or None}>"
        )
