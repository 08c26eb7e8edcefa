"""A pyramid that a user holds: the levels as arrays, and reading by world coordinates.

`conventions.multiscales` knows what attributes mean; here the arrays that they name are opened, and
world coordinates become indices. This module must not know how a convention spells anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from omnizarr.conventions import multiscales
from omnizarr.conventions.multiscales import Axis
from omnizarr.errors import ArrayNotFoundError, BoundsCheckError, MetadataError, SelectionError
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.nodes.array import Array
from omnizarr.nodes.html.text import size
from omnizarr.nodes.world_coordinates import Bounds, Selection, WorldIndexer, indices, level_at

if TYPE_CHECKING:
    from omnizarr.nodes.group import Group

MOST_LEVELS = 100
"""With more, attributes are damaged: halving an axis 100 times leaves nothing of any array."""


class Multiscale:
    """One image at several resolutions, the largest first: a pyramid.

    `Group.multiscale` gives the first one of a group. World coordinates are those of the centres of
    elements: the element with index ``i`` is at ``i * scale + translation``. In Multiscale Arrays
    0.1 and ndpyramid's attributes, which have no scales, they are indices of the largest level.

    Parameters
    ----------
    group
        The group whose attributes describe the pyramid.
    image
        The position or the name of the pyramid, where a group describes several.
    variable
        The name of the array in each level, where levels are groups with several arrays.

    Raises
    ------
    MetadataError
        If the group describes no pyramid, or one that cannot be read.
    ArrayNotFoundError
        If a level is missing.

    Examples
    --------
    >>> group = omnizarr.group(zarr_format=2)
    >>> group["0"], group["1"] = np.zeros((64, 96)), np.zeros((32, 48))
    >>> omnizarr.Multiscale.describe(group, ["0", "1"], axes="yx", scale=0.5)
    <Multiscale convention=ome-0.4 axes=(y, x) shapes=[(64, 96), (32, 48)] dtype=float64>
    """

    @suggests
    def __init__(self, group: Group, *, image: int | str = 0, variable: str | None = None) -> None:
        pyramid = multiscales.read(group._stored.attributes, image)
        if pyramid is None:
            raise MetadataError(
                f"{group!r}: the attributes describe no pyramid; expected 'multiscales' or 'ome'"
            )
        self._open(group, pyramid, variable)

    def _open(self, group: Group, pyramid: multiscales.Pyramid, variable: str | None) -> Self:
        if len(pyramid.levels) > MOST_LEVELS:
            raise MetadataError(f"{group!r}: a pyramid of {len(pyramid.levels):,} levels")
        arrays: dict[str, Array] = {}
        for level in pyramid.levels:
            found = _array(group, level.path, variable)
            variable = paths.name_of(found.path)  # the same in all levels that are groups
            arrays[level.path] = found
        listed = [arrays[level.path] for level in pyramid.levels]
        self._group = group
        self._facts = multiscales.completed(
            pyramid, [array.shape for array in listed], listed[0]._stored.dimension_names
        )
        self._levels = tuple(arrays[level.path] for level in self._facts.levels)
        return self

    @classmethod
    @suggests
    def describe(
        cls,
        group: Group,
        levels: Sequence[str],
        *,
        axes: Sequence[str] | None = None,
        scale: float | Mapping[str, float] = 1.0,
        unit: str | Mapping[str, str] | None = None,
        name: str = "",
        method: str | None = None,
        convention: multiscales.Convention | None = None,
    ) -> Multiscale:
        """Write attributes that describe arrays as the levels of one image.

        The scales of the smaller levels follow from the shapes: a level of half the size has twice
        the scale, and all levels cover the same area. Other attributes of the group stay.

        Parameters
        ----------
        group
            The group that holds the arrays.
        levels
            Their paths in the group, the largest first.
        axes
            The names of the axes, such as ``"tczyx"``; by default the dimension names.
        scale
            Distance between the elements of the largest level: one number for all axes of space, or
            one for each of some axes.
        unit
            Of the scale, such as ``"micrometer"``: for all axes of space, or for each of some axes.
        name
            The name of the image.
        method
            How the smaller levels were made, such as ``"mean"``.
        convention
            ``"ome-0.5"``, ``"ome-0.4"``, ``"multiscales"``, ``"ndpyramid"`` or ``"0.1"``. By
            default OME-NGFF in the version for the group's format: 0.5 for format 3, 0.4 for 2.

        Raises
        ------
        MetadataError
            If the axes do not fit the arrays; OME-NGFF 0.5 wants them as dimension names. If a
            level is larger than the one before it, or a scale is 0.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=3)
        >>> a = group.create_array("0", data=np.zeros((64, 96)), dimension_names=["y", "x"])
        >>> b = group.create_array("1", data=np.zeros((32, 48)), dimension_names=["y", "x"])
        >>> image = omnizarr.Multiscale.describe(group, ["0", "1"], scale=0.5, unit="micrometer")
        >>> image.scales
        ((0.5, 0.5), (1.0, 1.0))
        """
        chosen = convention or f"ome-{group._place.format.ome_version}"
        if chosen not in multiscales.CONVENTIONS:
            raise MetadataError(
                f"format {group.zarr_format} has no OME-NGFF; give one of the conventions"
                f" {multiscales.CONVENTIONS}"
            )
        if len(set(levels)) < len(levels):
            raise MetadataError(f"multiscales: levels names an array twice: {list(levels)}")
        arrays = {path: _array(group, path, None) for path in levels}
        pyramid = multiscales.described(
            {path: array.shape for path, array in arrays.items()},
            [array._stored.dimension_names for array in arrays.values()],
            axes, scale, unit, chosen,
        )  # fmt: skip
        pyramid = replace(pyramid, name=name, method=method)
        group.attrs.put(multiscales.attributes_for(pyramid, chosen, group.attrs.asdict()))
        # `cls(group)` would follow another convention, where the group has one that counts before.
        written = multiscales.read(multiscales.attributes_for(pyramid, chosen))
        return cls.__new__(cls)._open(group, written or pyramid, None)

    # -- facts --------------------------------------------------------------------------------
    @property
    def group(self) -> Group:
        """The group that describes the pyramid.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"], group["1"] = np.zeros((64, 96)), np.zeros((32, 48))
        >>> image = omnizarr.Multiscale.describe(group, ["0", "1"], axes="yx", scale=0.5)
        >>> image.group == group
        True
        """
        return self._group

    @property
    def levels(self) -> tuple[Array, ...]:
        """The arrays, the largest first; napari takes them as they are.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"], group["1"] = np.zeros((64, 96)), np.zeros((32, 48))
        >>> image = omnizarr.Multiscale.describe(group, ["0", "1"], axes="yx", scale=0.5)
        >>> [array.shape for array in image.levels]
        [(64, 96), (32, 48)]
        """
        return self._levels

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Name, type and unit of every axis.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"], group["1"] = np.zeros((64, 96)), np.zeros((32, 48))
        >>> image = omnizarr.Multiscale.describe(group, ["0", "1"], axes="yx", scale=0.5)
        >>> image.axes[0]
        Axis(name='y', type='space', unit=None)
        """
        return self._facts.axes

    @property
    def name(self) -> str:
        """The name of the image, "" if it has none.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"] = np.zeros((64, 96))
        >>> omnizarr.Multiscale.describe(group, ["0"], axes="yx", name="cells").name
        'cells'
        """
        return self._facts.name

    @property
    def convention(self) -> str:
        """The convention of the attributes: "ome-0.5", say.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"] = np.zeros((64, 96))
        >>> omnizarr.Multiscale.describe(group, ["0"], axes="yx", convention="0.1").convention
        '0.1'
        """
        return self._facts.convention

    @property
    def scales(self) -> tuple[tuple[float, ...], ...]:
        """The distance between elements: for every level, a number per axis.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"], group["1"] = np.zeros((64, 96)), np.zeros((32, 48))
        >>> image = omnizarr.Multiscale.describe(group, ["0", "1"], axes="yx", scale=0.5)
        >>> image.scales
        ((0.5, 0.5), (1.0, 1.0))
        """
        return tuple(level.scale for level in self._facts.levels)

    @property
    def translations(self) -> tuple[tuple[float, ...], ...]:
        """World coordinates of the first element: for every level, a number per axis.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"], group["1"] = np.zeros((64, 96)), np.zeros((32, 48))
        >>> image = omnizarr.Multiscale.describe(group, ["0", "1"], axes="yx", scale=0.5)
        >>> image.translations
        ((0.0, 0.0), (0.25, 0.25))
        """
        return tuple(level.translation for level in self._facts.levels)

    @property
    def extent(self) -> dict[str, tuple[float, float]]:
        """From where to where the largest level reaches along each axis, edge to edge.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"], group["1"] = np.zeros((64, 96)), np.zeros((32, 48))
        >>> image = omnizarr.Multiscale.describe(group, ["0", "1"], axes="yx", scale=0.5)
        >>> image.extent
        {'y': (-0.25, 31.75), 'x': (-0.25, 47.75)}
        """
        found = {}
        for position, axis in enumerate(self.axes):
            scale, first, length = self._line(0, position)
            edges = first - scale / 2, first + (length - 0.5) * scale
            found[axis.name] = min(edges), max(edges)
        return found

    @suggests
    def coordinates(self, axis: str, level: int = 0) -> npt.NDArray[np.float64]:
        """World coordinates of the elements of a level along one axis.

        Parameters
        ----------
        axis
            The name of the axis.
        level
            The position of the level in `levels`.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"], group["1"] = np.zeros((64, 96)), np.zeros((32, 48))
        >>> image = omnizarr.Multiscale.describe(group, ["0", "1"], axes="yx", scale=0.5)
        >>> image.coordinates("y", level=1)[:3]
        array([0.25, 1.25, 2.25])
        """
        scale, first, length = self._line(level, self._position(axis))
        return np.arange(length, dtype=np.float64) * scale + first

    # -- choosing -----------------------------------------------------------------------------
    @suggests
    def level_for(self, resolution: float | Mapping[str, float]) -> int:
        """The coarsest level that is at least as fine as asked for.

        Parameters
        ----------
        resolution
            The greatest distance between elements, in world coordinates: one number for all axes of
            space (for all axes, where none is known to be one), or one for each of some axes.

        Returns
        -------
        int
            Its position in `levels`; 0 if none is so fine.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"], group["1"] = np.zeros((64, 96)), np.zeros((32, 48))
        >>> image = omnizarr.Multiscale.describe(group, ["0", "1"], axes="yx", scale=0.5)
        >>> image.level_for(0.9), image.level_for({"x": 1.0}), image.level_for(100)
        (0, 1, 1)
        """
        wanted = self._resolution(resolution)
        for level in reversed(range(len(self._levels))):
            scale = self._facts.levels[level].scale
            if all(abs(scale[axis]) <= most for axis, most in wanted.items()):
                return level
        return 0

    def _resolution(self, resolution: float | Mapping[str, float]) -> dict[int, float]:
        if isinstance(resolution, Mapping):
            return {self._position(name): float(most) for name, most in resolution.items()}
        spatial = [at for at, axis in enumerate(self.axes) if axis.type == "space"]
        return dict.fromkeys(spatial or range(len(self.axes)), float(resolution))

    @suggests
    def select(
        self,
        bounds: Mapping[str, Bounds] | None = None,
        *,
        resolution: float | Mapping[str, float] | None = None,
        level: int | None = None,
    ) -> Selection:
        """The level and the indices of a region in world coordinates; nothing is read.

        Parameters
        ----------
        bounds
            By the name of an axis: a pair ``(low, high)`` selects the elements whose centres are at
            ``low`` or above and below ``high`` (None: no bound), a number the nearest element. Axes
            without bounds are selected whole.
        resolution
            As for `level_for`; by default the largest level.
        level
            The position of the level, instead of a resolution.

        Raises
        ------
        BoundsCheckError
            If a number is not within the image.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"], group["1"] = np.zeros((64, 96)), np.zeros((32, 48))
        >>> image = omnizarr.Multiscale.describe(group, ["0", "1"], axes="yx", scale=0.5)
        >>> image.select({"y": (0, 4), "x": 10.0}, resolution=1.0)
        Selection(level=1, key=(slice(0, 4, None), 10))
        """
        if level is None:
            level = 0 if resolution is None else self.level_for(resolution)
        elif resolution is not None:
            raise TypeError("select takes a resolution or a level, not both")
        level = level_at(level, len(self._levels))
        if not isinstance(bounds, Mapping | None):
            raise TypeError(f"bounds takes a mapping from axis to bounds, found {bounds!r}")
        asked = {self._position(name): bound for name, bound in (bounds or {}).items()}
        key = [
            self._indices(level, position, asked.get(position, (None, None)))
            for position in range(len(self.axes))
        ]
        return Selection(level, tuple(key))

    @suggests
    def read(
        self,
        bounds: Mapping[str, Bounds] | None = None,
        *,
        resolution: float | Mapping[str, float] | None = None,
        level: int | None = None,
    ) -> npt.NDArray[Any]:
        """Read a region in world coordinates, from the level that a resolution needs.

        Parameters
        ----------
        bounds, resolution, level
            As for `select`.

        Returns
        -------
        numpy.ndarray

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"], group["1"] = np.zeros((64, 96)), np.zeros((32, 48))
        >>> image = omnizarr.Multiscale.describe(group, ["0", "1"], axes="yx", scale=0.5)
        >>> image.read({"y": (0, 4), "x": (0, 8)}, resolution=1.0).shape
        (4, 8)
        """
        found = self.select(bounds, resolution=resolution, level=level)
        values: npt.NDArray[Any] = self._levels[found.level][found.key]
        return values

    @property
    def world(self) -> WorldIndexer:
        """Read by indices in world coordinates: ``image.world[low:high:resolution, …]``.

        A slice has bounds as `select` takes them, and its step is the greatest distance between
        elements; a number is the nearest element. Without a step, the largest level is read.

        Examples
        --------
        >>> group = omnizarr.group(zarr_format=2)
        >>> group["0"], group["1"] = np.zeros((64, 96)), np.zeros((32, 48))
        >>> image = omnizarr.Multiscale.describe(group, ["0", "1"], axes="yx", scale=0.5)
        >>> image.world[0:4, 0:8].shape
        (8, 16)
        >>> image.world[0:4:1, 0:8:1].shape
        (4, 8)
        """
        return WorldIndexer(self)

    # -- indices ------------------------------------------------------------------------------
    def _position(self, name: str) -> int:
        names = [axis.name for axis in self.axes]
        if name not in names:
            raise SelectionError(f"there is no axis {name!r}; the axes are {', '.join(names)}")
        return names.index(name)

    def _line(self, level: int, position: int) -> tuple[float, float, int]:
        """Scale, first coordinate and length of an axis of a level."""
        facts = self._facts.levels[level_at(level, len(self._levels))]
        return facts.scale[position], facts.translation[position], (facts.shape or ())[position]

    def _indices(self, level: int, position: int, bounds: Bounds) -> slice | int:
        found = indices(*self._line(level, position), bounds)
        if found is None:
            axis = self.axes[position].name
            low, high = self.extent[axis]
            raise BoundsCheckError(
                f"{axis} = {bounds} is outside of the image, which reaches from {low} to {high}"
            )
        return found

    # -- display ------------------------------------------------------------------------------
    def __repr__(self) -> str:
        name = f" name={self.name!r}" if self.name else ""
        axes = ", ".join(axis.name for axis in self.axes)
        shapes = [array.shape for array in self._levels]
        return (
            f"<Multiscale{name} convention={self.convention} axes=({axes})"
            f" shapes={shapes} dtype={self._levels[0].dtype}>"
        )

    def _repr_html_(self) -> str:
        from omnizarr.nodes.html.pages import report_page

        rows = [("Multiscale", self.name or repr(self._group)), ("Convention", self.convention)]
        for one in self.axes:
            rows.append((f"Axis {one.name}", ", ".join(filter(None, (one.type, one.unit))) or "-"))
        for facts, array in zip(self._facts.levels, self._levels, strict=True):
            scale = ", ".join(f"{number:g}" for number in facts.scale)
            row = f"{array.shape} {array.dtype}, {size(array.nbytes)}, scale {scale}"
            rows.append((f"Level {facts.path}", row))
        return report_page(rows)


def _array(group: Group, path: str, variable: str | None) -> Array:
    """The array of a level: at the path, or in the group there."""
    found = group.get(path)
    if found is None:
        raise ArrayNotFoundError(
            f"{group!r}: the level {path!r} of the pyramid is missing: {group._missing(path)}"
        )
    if isinstance(found, Array):
        return found
    arrays = dict(found.arrays())
    if variable is not None and variable in arrays:
        return arrays[variable]
    wide = [name for name, array in arrays.items() if array.ndim > 1]  # no coordinates
    if variable is None and len(wide) == 1:
        return arrays[wide[0]]
    named = "none of this name" if variable is not None else "not one array of several dimensions"
    raise ArrayNotFoundError(
        f"{group!r}: the level {path!r} of the pyramid is a group with {named}, but with"
        f" {', '.join(sorted(arrays)) or 'no arrays'}"
    ).advise("name the array of each level: omnizarr.Multiscale(group, variable=…)")
