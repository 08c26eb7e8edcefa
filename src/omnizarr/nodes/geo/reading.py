"""Fetch what the conventions for maps look at: the group, the grid mapping, the coordinates.

An array's own attributes are known. Its group, a grid mapping variable and coordinate variables are
other nodes, each fetched when it is first asked for. What they mean, `conventions.geo` knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from omnizarr.conventions.geo import cf, coordinates, gdal, resolution, spatial
from omnizarr.conventions.geo.coordinates import Axis
from omnizarr.conventions.geo.crs import Definition
from omnizarr.conventions.geo.facts import Geo, Stated
from omnizarr.conventions.geo.transform import Floats, Transform, alike
from omnizarr.errors import MetadataError
from omnizarr.formats.base import Node
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.nodes import node
from omnizarr.nodes.node import NodeAddress
from omnizarr.runtime.properties import cached_property

if TYPE_CHECKING:
    from omnizarr.nodes.array import Array
    from omnizarr.nodes.group import Group

_BLOCK = 1 << 20
"""How many coordinates are compared at a time."""


class Grid(NamedTuple):
    """Where the cells of an array are, as far as it is known."""

    axes: tuple[int, int]
    """The dimensions of y and x."""
    transform: Transform | None = None
    variables: tuple[Array | None, Array | None] = (None, None)
    """The coordinate variables of y and x."""
    conflict: str = ""


class Surroundings:
    """An array, and the nodes that its attributes name. `above` is its group where it is open."""

    def __init__(self, array: Array, above: Group | None = None) -> None:
        self.array = array
        self._above = above
        self.attributes: Mapping[str, Json] = array.attrs.asdict()
        self.names: tuple[str | None, ...] = array.dims or (None,) * array.ndim
        self.group = paths.parent(array.path)
        self._found: dict[str, Array | None] = {}

    @cached_property
    def parent(self) -> Mapping[str, Json]:
        """The attributes of the group that the array is in."""
        if not self.array.path:
            return {}
        if self._above is not None:
            return self._above.attrs.asdict()
        found = self._find(self.group)
        return {} if found is None or isinstance(found[1], ArrayModel) else found[1].attributes

    def _find(self, path: str) -> tuple[NodeAddress, Node] | None:
        if self._above is not None:
            return self._above._locate(path)  # it may have consolidated metadata
        place = self.array._place
        return node.find(place.store, path, place.format)

    def at(self, path: str) -> Array | None:
        """The array at a path of the store."""
        if path not in self._found:
            here = self.array
            found = self._find(path) if path else None
            variable = None
            if found is not None and isinstance(found[1], ArrayModel):
                options = here._options.changed(view=None)
                variable = type(here)._of(found[0], found[1], options)
            self._found[path] = variable
        return self._found[path]

    def variable(self, name: str) -> Array | None:
        """A variable that the array names, beside it or in the groups above."""
        if not self.array.path:
            return None  # nothing is beside the root
        return next(filter(None, map(self.at, cf.places(name, self.group))), None)

    def forget(self, path: str) -> None:
        """A node was replaced."""
        self._found.pop(path, None)

    # -- what is stated -----------------------------------------------------------------------
    @property
    def named(self) -> str | None:
        """The name of the grid mapping variable, if the array names one."""
        found = cf.chosen(self.attributes, self.names)
        return None if found is None else found.name

    @cached_property
    def grid_mapping(self) -> Array | None:
        """The grid mapping variable; one with the usual name counts without being named, as
        rioxarray has it."""
        if self.named is not None:
            found = self.variable(self.named)
            if found is None:
                raise MetadataError(
                    f"grid_mapping names {self.named!r}, which is not an array beside"
                    f" {self.array.name!r} or in a group above it"
                )
            return found
        if not self.array.path or self.array.ndim < 2:
            return None
        usual = self.at(paths.join(self.group, cf.USUAL_NAME))
        return usual if usual is not None and cf.is_grid_mapping(usual.attrs) else None

    @cached_property
    def stated(self) -> tuple[Stated, ...]:
        """What the conventions state, the one that counts first."""
        shape, mapping = self.array.shape, self.grid_mapping
        unnamed = cf.ATTRIBUTE not in self.attributes
        return resolution.ranked(
            (
                gdal.stated(self.attributes),
                None if mapping is None else cf.stated(mapping.attrs.asdict(), inherited=unnamed),
                spatial.stated(self.attributes, shape, self.names, self.parent),
            )
        )

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """How the reference system is stated."""
        return resolution.first(each.definitions for each in self.stated) or ()

    # -- where the cells are ------------------------------------------------------------------
    def coordinate(self, axis: int) -> Array | None:
        """The 1-d coordinate variable of a dimension."""
        name = self.names[axis]
        if name is None:
            return None
        for each in (name, *coordinates.listed(self.attributes)):
            found = self.variable(each)
            if (
                found is not None
                and found.path != self.array.path
                and found.shape == (self.array.shape[axis],)
                and found.dims in (None, (name,))
                and found.dtype.kind in "iuf"
            ):
                return found
        return None

    def _axes(self) -> tuple[int, int] | None:
        dims = resolution.first(each.dims for each in self.stated)
        named = resolution.axes(self.names, dims, {}, located=False)
        if named is not None or len(self.names) < 2:
            return named
        known: dict[int, Axis | None] = {}
        for axis in range(len(self.names)):
            found = self.coordinate(axis)
            known[axis] = None if found is None else coordinates.axis_by_attributes(found.attrs)
        located = not all(each.inherited for each in self.stated)
        return resolution.axes(self.names, dims, known, located)

    @cached_property
    def grid(self) -> Grid | None:
        """Where the cells are; None if the array is not on a map."""
        axes = self._axes()
        if axes is None:
            return None
        stated = resolution.first(each.transform for each in self.stated)
        if stated is not None and not stated.is_aligned:
            return Grid(axes, stated)
        variables = (self.coordinate(axes[0]), self.coordinate(axes[1]))
        y, x = variables
        if y is None or x is None:
            return Grid(axes, stated, variables)
        ends = centres_line(y, stated is None), centres_line(x, stated is None)
        if ends[0] is None or ends[1] is None:
            # One cell has no width, so that a stated transform is all there is.
            short = min(len(y), len(x)) < 2 and stated is not None
            conflict = "" if stated is None or short else "coordinates are not evenly spaced"
            return Grid(axes, stated if short else None, variables, conflict)
        derived = coordinates.transform_from(ends[1], ends[0])
        if stated is None:
            return Grid(axes, derived, variables)
        if alike(stated, derived, (len(y), len(x))):
            return Grid(axes, stated, variables)
        conflict = f"the stated transform {tuple(stated)} is not that of the coordinates"
        return Grid(axes, derived, variables, conflict)

    @cached_property
    def geo(self) -> Geo:
        """All that is known."""
        grid = self.grid
        named = tuple(dict.fromkeys(each.convention for each in self.stated))
        if grid is None:
            return Geo((0, 0), definitions=self.definitions, conventions=named)
        y, x = grid.axes
        return Geo(
            (self.array.shape[y], self.array.shape[x]),
            (self.names[y], self.names[x]),
            self.definitions,
            grid.transform,
            resolution.first(each.registration for each in self.stated)
            or gdal.registered(self.attributes)
            or "pixel",
            named,
        )

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Where what is stored contradicts itself."""
        found = list(resolution.conflicts(self.stated, self.geo.shape))
        if self.grid is not None and self.grid.conflict:
            found.append(f"{self.grid.conflict}; the coordinates count")
        return tuple(found)


def centres_line(variable: Array, whole: bool) -> tuple[float, float] | None:
    """The first value and the step of evenly spaced coordinates; None for others. Only the ends are
    read unless `whole` is asked for; a stated transform is compared with them."""
    length = len(variable)
    if not length:
        return None
    attributes = variable.attrs.asdict()
    values = np.array([variable[0], variable[length - 1]])
    ends = coordinates.unpacked(values, attributes, variable.name)
    first, last = map(float, ends)
    precision = float(np.finfo(variable.dtype).eps) if variable.dtype.kind == "f" else 0.0
    found = coordinates.step_of(first, last, length, precision)
    if found is None:
        return None
    step, slack = found
    blocks = _blocks(variable, attributes) if whole else iter(())
    return (first, step) if coordinates.is_even(blocks, first, step, slack) else None


def _blocks(variable: Array, attributes: Mapping[str, Json]) -> Iterator[Floats]:
    for start in range(0, len(variable), _BLOCK):
        block = variable[start : start + _BLOCK]
        yield coordinates.unpacked(block, attributes, variable.name)
