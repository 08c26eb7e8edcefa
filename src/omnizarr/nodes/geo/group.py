"""`group.geo`: the arrays of a group on a map.

The arrays directly in a group usually share one grid; then the group shows its facts. `proj:` and
`spatial:` are stored on the group too, as far as all of its arrays agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace as with_members
from typing import TYPE_CHECKING, Any

from omnizarr.conventions.geo import crs as systems
from omnizarr.conventions.geo import spatial
from omnizarr.conventions.geo.facts import Geo, Name, Registration
from omnizarr.errors import MetadataError
from omnizarr.keywords import suggests
from omnizarr.nodes.geo import writing
from omnizarr.nodes.geo.array import ArrayGeo
from omnizarr.nodes.geo.properties import MapFacts
from omnizarr.nodes.geo.reading import Surroundings
from omnizarr.nodes.geo.writing import ConventionLike
from omnizarr.runtime.properties import cached_property

if TYPE_CHECKING:
    import pyproj

    from omnizarr.nodes.group import Group


class GroupGeo(MapFacts):
    """The arrays of a group on a map. `group.geo` gives one.

    Parameters
    ----------
    group
        The group.

    Examples
    --------
    >>> root = omnizarr.group()
    >>> for name in ("red", "nir"):
    ...     _ = root.create_array(name, shape=(4, 6), dtype="u2", dimension_names=("y", "x"))
    >>> root.geo.set(crs="EPSG:32631", transform=(10, 0, 500000, 0, -10, 4600000))
    >>> sorted(root.geo.arrays)
    ['nir', 'red']
    >>> root.geo.bounds == root["red"].geo.bounds
    True
    """

    def __init__(self, group: Group) -> None:
        self._group = group

    @cached_property
    def arrays(self) -> dict[str, ArrayGeo]:
        """Every array directly in the group that has dimensions of y and x, by name.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_array("a", shape=(4, 6), dtype="u1", dimension_names=("y", "x"))
        >>> root.geo.arrays["a"].shape
        (4, 6)
        """
        found = {name: ArrayGeo(array, self._group) for name, array in self._group.arrays()}
        return {name: geo for name, geo in found.items() if geo._around.grid is not None}

    @property
    def _geo(self) -> Geo:
        found = list(self.arrays.values())
        if not found:
            return self._own()
        if len({(each._geo.shape, each._geo.transform) for each in found}) > 1:
            raise self._several("grids")
        return found[0]._geo

    def _several(self, what: str) -> MetadataError:
        return MetadataError(
            f"the arrays of the group {self._group.name!r} are on several {what}:"
            f" {', '.join(self.arrays)}"
        ).advise("ask one of them: group[name].geo")

    @property
    def crs(self) -> pyproj.CRS | None:
        found = [each.crs for each in self.arrays.values()] or [self._own().crs]
        first = found[0]
        if any(each is not first and not systems.same(first, each) for each in found):
            raise self._several("reference systems")
        return first

    def _own(self) -> Geo:
        """What a group without arrays says, such as one whose members are levels of a pyramid."""
        attributes = self._group.attrs.asdict()
        said = spatial.stated(attributes, (), None)
        if said is None:
            return Geo((0, 0))
        return Geo(
            said.shape or (0, 0),
            said.dims or (None, None),
            said.definitions,
            said.transform,
            said.registration or "pixel",
            ("spatial",),
        )

    @property
    def conflicts(self) -> tuple[str, ...]:
        return tuple(
            f"{name}: {conflict}" for name, geo in self.arrays.items() for conflict in geo.conflicts
        )

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
        """State where the arrays are that are directly in the group. Other facts stay as they are.

        Parameters
        ----------
        crs
            The reference system, as pyproj takes it: ``"EPSG:32631"``, a number, WKT, an object.
        transform
            Six numbers in the order of rasterio and affine, for arrays of equal shape.
        bounds
            Left, bottom, right, top, instead of `transform`; arrays may differ in resolution.
        registration
            ``"pixel"`` if a value belongs to its cell, ``"node"`` if to the cell's centre.
        convention
            ``"cf"``, ``"spatial"`` (also ``"geozarr"``), ``"gdal"``, or several of them; others are
            removed. By default those that are there, else ``("cf", "spatial")``.

        Raises
        ------
        MetadataError
            If no array has dimensions of y and x, or `transform` is given for several shapes.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_array("a", shape=(4, 6), dtype="u1", dimension_names=("y", "x"))
        >>> root.geo.set(crs="EPSG:32631", bounds=(500000, 4599960, 500060, 4600000))
        >>> root.attrs["proj:code"], root["spatial_ref"].attrs["grid_mapping_name"]
        ('EPSG:32631', 'transverse_mercator')
        """
        shapes = {each.shape for each in self.arrays.values()}
        if transform is not None and len(shapes) > 1:
            raise MetadataError(
                f"one transform for arrays of the shapes {sorted(shapes)}; give bounds, or state it"
                " for each array with group[name].geo.set(…)"
            )
        numbers = None if transform is None else tuple(transform)
        limits = None if bounds is None else tuple(bounds)
        made = {
            name: writing.changed(each._geo, crs, numbers, limits, registration)
            for name, each in self.arrays.items()
        }
        present = dict.fromkeys(each for geo in made.values() for each in geo.conventions)
        self._store(made, writing.chosen(convention, present, True))

    @suggests
    def write(self, convention: ConventionLike = None, *, replace: bool = False) -> None:
        """Store what is known about the arrays in further conventions.

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
            If no array has dimensions of y and x.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_array("a", shape=(4, 6), dtype="u1", dimension_names=("y", "x"))
        >>> root.geo.set(crs="EPSG:32631", bounds=(500000, 4599960, 500060, 4600000))
        >>> root.geo.write("gdal", replace=True)
        >>> root["a"].attrs["_CRS"]["url"]
        'http://www.opengis.net/def/crs/EPSG/0/32631'
        """
        made = {name: each._geo for name, each in self.arrays.items()}
        kept = [] if replace else [each for geo in made.values() for each in geo.conventions]
        chosen = writing.chosen(convention, (), True)
        self._store(made, writing.chosen((*chosen, *kept), (), True))

    def _store(self, made: dict[str, Geo], conventions: tuple[Name, ...]) -> None:
        if not made:
            raise MetadataError(
                f"no array directly in the group {self._group.name!r} has dimensions of y and x"
            ).advise("create arrays with dimension_names=('y', 'x')")
        before: dict[str | None, tuple[Surroundings, str | None]] = {}
        for name, geo in made.items():
            alike = [self.arrays[other]._array.path for other in made if made[other] == geo]
            around = Surroundings(self.arrays[name]._array)
            before[around.named] = around, writing.store(around, geo, conventions, alike)
        for around, mapping in before.values():
            writing.remove_unused(around, mapping)
        shared = _shared(list(made.values())) if "spatial" in conventions else None

        def stated(attributes: dict[str, Any]) -> dict[str, Any]:
            bare = spatial.without(attributes)
            return bare if shared is None else spatial.attributes_for(shared, bare)

        if shared is not None or spatial.without(self._group.attrs) != self._group.attrs.asdict():
            self._group._change_attributes(stated)
        self.__dict__.pop("arrays", None)


def _shared(found: list[Geo]) -> Geo | None:
    """What is true of all arrays of a group, which inherit it; None if nothing is."""
    geo = found[0]
    if any(each.definitions != geo.definitions for each in found):
        return None
    if any(
        (each.shape, each.transform, each.dims) != (geo.shape, geo.transform, geo.dims)
        for each in found
    ):
        return with_members(geo, dims=(None, None), transform=None)
    return geo
