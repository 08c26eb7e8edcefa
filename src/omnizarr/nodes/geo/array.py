"""`array.geo`: an array on a map.

It reads what is stored about the array's grid, selects by places of the world, and stores facts in
any convention. `reading` and `writing` do the work.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from omnizarr.conventions.geo import coordinates as coordinate_variables
from omnizarr.conventions.geo import crs as systems
from omnizarr.conventions.geo.facts import Geo, Name, Registration
from omnizarr.conventions.geo.transform import Bounds, Floats, numbers
from omnizarr.errors import MetadataError
from omnizarr.keywords import suggests
from omnizarr.model.json import show
from omnizarr.nodes.geo import writing
from omnizarr.nodes.geo.properties import MapFacts
from omnizarr.nodes.geo.reading import Grid, Surroundings
from omnizarr.nodes.geo.writing import ConventionLike

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyproj

    from omnizarr.nodes.array import Array
    from omnizarr.nodes.group import Group


class ArrayGeo(MapFacts):
    """An array on a map. `array.geo` gives one, as it is stored at that moment.

    Parameters
    ----------
    array
        The array.
    group
        The group that it is in, if it is open.

    Examples
    --------
    >>> root = omnizarr.group()
    >>> array = root.create_array("a", shape=(4, 6), dtype="u1", dimension_names=("y", "x"))
    >>> array.geo.set(crs="EPSG:32631", transform=(10, 0, 500000, 0, -10, 4600000))
    >>> array.geo.conventions
    ('cf', 'spatial')
    >>> root["x"][:2]
    array([500005., 500015.])
    """

    def __init__(self, array: Array, group: Group | None = None) -> None:
        self._array = array
        self._around = Surroundings(array, group)

    @property
    def _geo(self) -> Geo:
        try:
            return self._around.geo
        except MetadataError as error:
            raise error.at(self._array.store, path=self._array.path) from error

    @property
    def crs(self) -> pyproj.CRS | None:
        # Without the grid, whose coordinates would be read.
        definitions = self._around.definitions
        return systems.first(definitions)

    @property
    def conflicts(self) -> tuple[str, ...]:
        return self._around.conflicts

    @property
    def coordinates(self) -> tuple[Floats, Floats] | None:
        """Coordinates of the centres of rows (y) and columns (x); None if they are not known.

        They are read from the coordinate variables, or computed if there is none. A rotated grid
        has none.

        Examples
        --------
        >>> array = omnizarr.zeros((2, 3), dimension_names=("y", "x"))
        >>> array.geo.set(transform=(10, 0, 0, 0, -10, 100))
        >>> array.geo.coordinates
        (array([95., 85.]), array([ 5., 15., 25.]))
        """
        grid, shape = self._around.grid, self._geo.shape
        if grid is None or (grid.transform is not None and not grid.transform.is_aligned):
            return None
        found = []
        for axis, variable in enumerate(grid.variables):
            if variable is not None:
                attributes = variable.attrs.asdict()
                unpacked = coordinate_variables.unpacked(variable[:], attributes, variable.name)
                found.append(unpacked)
            elif grid.transform is not None:
                found.append(grid.transform.centres(axis, 0, shape[axis]))
        return (found[0], found[1]) if len(found) == 2 else None

    @property
    def bounds(self) -> Bounds | None:
        known = super().bounds
        # The width of a single cell is not in its coordinate.
        if known is not None or min(self.shape) < 2 or (centres := self.coordinates) is None:
            return known
        (top, bottom), (left, right) = map(coordinate_variables.edges, centres)
        return Bounds(min(left, right), min(bottom, top), max(left, right), max(bottom, top))

    # -- selecting ----------------------------------------------------------------------------
    @suggests
    def window(
        self, bounds: Iterable[float], *, crs: pyproj.CRS | str | int | None = None
    ) -> tuple[slice, ...]:
        """Find the selection of all cells that overlap a rectangle of the world.

        Parameters
        ----------
        bounds
            Left, bottom, right, top. Longitudes may count from 0 or from -180; from 170 to -170
            they cross the antimeridian.
        crs
            The reference system of `bounds`, as pyproj takes it; the array's own by default.

        Returns
        -------
        tuple of slice
            One slice for each dimension, for ``array[…]``.

        Raises
        ------
        MetadataError
            If nothing overlaps, or the place of the cells is not known.

        Examples
        --------
        >>> array = omnizarr.zeros((3, 4, 6), dimension_names=("time", "y", "x"))
        >>> array.geo.set(transform=(10, 0, 500000, 0, -10, 4600000))
        >>> array.geo.window((500015, 4599980, 500035, 4600000))
        (slice(None, None, None), slice(0, 2, None), slice(1, 4, None))
        """
        wanted = Bounds(*numbers(list(bounds), (4,), "bounds"))
        if crs is not None:
            wanted = self._here(wanted, crs)
        grid = self._around.grid
        if grid is None:
            raise MetadataError("the array has no dimensions of y and x").at(
                self._array.store, path=self._array.path
            )
        rows, columns = self._overlap(grid, wanted)
        made = [slice(None)] * self._array.ndim
        made[grid.axes[0]], made[grid.axes[1]] = rows, columns
        return tuple(made)

    def _overlap(self, grid: Grid, wanted: Bounds) -> tuple[slice, slice]:
        have = self.bounds
        if grid.transform is None and have is not None and (centres := self.coordinates):
            wanted = self._geo.wrapped(wanted, have)
            rows = coordinate_variables.overlap(centres[0], wanted.bottom, wanted.top)
            return rows, coordinate_variables.overlap(centres[1], wanted.left, wanted.right)
        return self._geo.window(wanted)

    def _here(self, bounds: Bounds, crs: pyproj.CRS | str | int) -> Bounds:
        """Bounds of another reference system in the array's own."""
        own = self.crs
        if own is None:
            raise MetadataError("the array has no reference system to convert bounds to").at(
                self._array.store, path=self._array.path
            )
        other = systems.parsed(systems.given(crs))
        package: Any = systems.pyproj_package()
        try:
            change = package.Transformer.from_crs(other, own, always_xy=True)
            return Bounds(*change.transform_bounds(*bounds))
        except package.exceptions.ProjError as error:
            raise MetadataError(
                f"pyproj cannot convert bounds from {show(crs)} to the array's system: {error}"
            ).at(self._array.store, path=self._array.path) from error

    @suggests
    def read(
        self, bounds: Iterable[float], *, crs: pyproj.CRS | str | int | None = None
    ) -> npt.NDArray[Any]:
        """Read all cells that overlap a rectangle of the world.

        Parameters
        ----------
        bounds
            Left, bottom, right, top.
        crs
            The reference system of `bounds`, as pyproj takes it; the array's own by default.

        Returns
        -------
        ndarray
            The values of ``array[array.geo.window(bounds)]``.

        Raises
        ------
        MetadataError
            If nothing overlaps, or the place of the cells is not known.

        Examples
        --------
        >>> array = omnizarr.array([[1, 2], [3, 4]], dimension_names=("y", "x"))
        >>> array.geo.set(transform=(10, 0, 0, 0, -10, 20))
        >>> array.geo.read((12, 0, 18, 20))
        array([[2],
               [4]])
        """
        return self._array[self.window(bounds, crs=crs)]  # type: ignore[no-any-return]

    # -- storing ------------------------------------------------------------------------------
    @suggests
    def set(
        self,
        *,
        crs: pyproj.CRS | str | int | None = None,
        transform: Iterable[float] | None = None,
        bounds: Iterable[float] | None = None,
        registration: Registration | None = None,
        convention: ConventionLike = None,
    ) -> None:
        """State where the array is. What is not given stays as it is.

        An aligned grid gets coordinate variables beside the array, unless they are there. The
        array's group is not changed: `group.geo.set` states facts for all of its arrays and for the
        group.

        Parameters
        ----------
        crs
            The reference system, as pyproj takes it: ``"EPSG:32631"``, a number, WKT, an object.
        transform
            Six numbers in the order of rasterio and affine, from the outer corner of the first
            cell; an ``Affine`` as well.
        bounds
            Left, bottom, right, top of a grid whose first row is on top, instead of `transform`.
        registration
            ``"pixel"`` if a value belongs to its cell, ``"node"`` if to the cell's centre.
        convention
            ``"cf"``, ``"spatial"`` (also ``"geozarr"``), ``"gdal"``, or several of them; others are
            removed. By default those that are there, else ``("cf", "spatial")``, without ``"cf"``
            for an array that is the root.

        Raises
        ------
        MetadataError
            If the array has no dimension names, or the coordinates belong to other arrays too.

        Examples
        --------
        >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
        >>> array.geo.set(crs=32631, bounds=(500000, 4599960, 500060, 4600000))
        >>> array.attrs["proj:code"], array.attrs["spatial:dimensions"]
        ('EPSG:32631', ['y', 'x'])
        """
        geo = writing.changed(self._geo, crs, transform, bounds, registration)
        chosen = writing.chosen(convention, self._geo.conventions, bool(self._array.path))
        self._store(geo, chosen)

    @suggests
    def write(self, convention: ConventionLike = None, *, replace: bool = False) -> None:
        """Store what is known in further conventions.

        Parameters
        ----------
        convention
            ``"cf"``, ``"spatial"`` (also ``"geozarr"``), ``"gdal"``, or several of them. By default
            ``("cf", "spatial")``.
        replace
            Remove all other conventions. They are rewritten otherwise, so that all agree.

        Raises
        ------
        MetadataError
            If the array has no dimension names.

        Examples
        --------
        >>> array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
        >>> array.geo.set(crs="EPSG:32631", convention="gdal")
        >>> array.geo.write("spatial", replace=True)
        >>> array.geo.conventions, "_CRS" in array.attrs
        (('spatial',), False)
        """
        kept = () if replace else self._geo.conventions
        chosen = writing.chosen(convention, (), bool(self._array.path))
        self._store(self._geo, tuple(dict.fromkeys((*chosen, *kept))))

    def _store(self, geo: Geo, conventions: tuple[Name, ...]) -> None:
        writing.remove_unused(self._around, writing.store(self._around, geo, conventions))
        self._around = Surroundings(self._array)
