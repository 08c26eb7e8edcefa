"""A group of NetCDF: dimensions, coordinates, variables, attributes, and groups.

Nothing is kept: every property looks at the store, so that what another process has changed is
seen. This module knows groups and arrays; what names and attributes mean, `conventions.netcdf`
knows, and how dimensions are declared, the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from omnizarr.conventions.netcdf import references
from omnizarr.conventions.netcdf.cdl import lines, text
from omnizarr.conventions.netcdf.dimensions import GroupFacts, as_size, dimension_names, visible
from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats.base import Registering
from omnizarr.formats.nczarr import markers
from omnizarr.formats.nczarr.attribute_types import typed
from omnizarr.formats.translation.fill_values import stated
from omnizarr.keywords import suggests
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.dimensions import Dimension
from omnizarr.nodes import node, resizing
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation import registering
from omnizarr.nodes.creation.arguments import ChunksLike, CodecsLike, ShardsLike
from omnizarr.nodes.netcdf.printing import described
from omnizarr.nodes.netcdf.variable import Variable, in_json
from omnizarr.runtime.optional_packages import package

if TYPE_CHECKING:
    from omnizarr.nodes.group import Group

Dimensions = Sequence[str] | Mapping[str, int | None]


class VariableOptions(TypedDict, total=False):
    """How a new variable is stored, in the words of `Group.create_array`."""

    chunks: ChunksLike
    shards: ShardsLike
    compressors: CodecsLike
    filters: CodecsLike
    overwrite: bool


class NetCDFGroup:
    """A group in the data model of NetCDF: `group.netcdf`.

    Parameters
    ----------
    group
        The group.

    Examples
    --------
    >>> root = omnizarr.create_group({}, zarr_format=2, dialect="nczarr")
    >>> nc = root.netcdf
    >>> nc.create_dimension("time", None)
    Dimension(name='time', size=0, unlimited=True, group='/')
    >>> t = nc.create_variable("time", "f8", ["time"], attributes={"units": "hours since 2000"})
    >>> nc.grow("time", 2)
    >>> t.array.refresh()
    >>> t.write([0, 1])
    >>> nc.dimensions["time"].size, list(nc.coordinates)
    (2, ['time'])
    """

    def __init__(self, group: Group) -> None:
        self.group = group

    # -- facts --------------------------------------------------------------------------------
    @property
    def dimensions(self) -> dict[str, Dimension]:
        """Dimensions that variables here can have, by name: those of this group, and those of
        groups above that have no other of the same name here. `Dimension.group` says whose it is.

        Raises
        ------
        MetadataError
            If variables differ in the length of a dimension that no group declares, or if the
            marker that declares dimensions is broken.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_array("a/t", shape=3, dtype="f4", dimension_names=["x"])
        >>> root["a"].netcdf.dimensions["x"].group
        '/a'
        """
        place = self.group._place
        above = registering.above(place.store, place.path)
        above[place.path] = node.reread(place)
        return visible(
            self._facts(path, found)
            for path, found in above.items()
            if isinstance(found, GroupModel)
        )

    def _facts(self, path: str, found: GroupModel) -> GroupFacts:
        try:
            marker = markers.group_marker(found.attributes, found.document)
        except MetadataError as error:
            raise error.at(self.group._place.store, path=path) from error
        if marker is not None:
            return GroupFacts(f"/{path}", marker.dimensions, {})
        place = self.group._place
        members = place.format.children(place.store, path)
        arrays = {
            name: (each.dimension_names or (None,) * each.ndim, each.shape)
            for name, each in members.items()
            if isinstance(each, ArrayModel)
        }
        return GroupFacts(f"/{path}", None, arrays)

    @property
    def variables(self) -> dict[str, Variable]:
        """Variables in this group, by name.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_array("t", shape=3, dtype="f4", dimension_names=["x"])
        >>> root.netcdf.variables
        {'t': <omnizarr.netcdf.Variable 't' (x: 3) float32>}
        """
        return {name: Variable(name, array) for name, array in self.group.arrays()}

    def __getitem__(self, name: str) -> Variable:
        """One variable, without opening the others."""
        return Variable(name, self.group.get_array(name))

    @property
    def coordinates(self) -> dict[str, Variable]:
        """Variables that are coordinates: those of one dimension with the same name, and those that
        a `coordinates` attribute names.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> for name in ("x", "t"):
        ...     _ = root.create_array(name, shape=3, dtype="f4", dimension_names=["x"])
        >>> list(root.netcdf.coordinates)
        ['x']
        """
        found = self.variables
        facts = {name: (each.dimensions, each.array.attrs) for name, each in found.items()}
        return {name: found[name] for name in references.coordinates(facts)}

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the group, without those that belong to the format.

        Examples
        --------
        >>> omnizarr.create_group({}, attributes={"title": "sea"}).netcdf.attributes
        {'title': 'sea'}
        """
        return typed(node.reread(self.group._place).attributes)

    @property
    def groups(self) -> dict[str, NetCDFGroup]:
        """Groups in this one, by name.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_group("a")
        >>> list(root.netcdf.groups)
        ['a']
        """
        return {name: NetCDFGroup(group) for name, group in self.group.groups()}

    @property
    def _declares(self) -> bool:
        """Whether groups declare dimensions."""
        return isinstance(self.group._place.format, Registering)

    # -- creating -----------------------------------------------------------------------------
    @suggests
    def create_dimension(self, name: str, size: int | None) -> Dimension:
        """Declare a dimension, before a variable has it.

        Parameters
        ----------
        name
            Name of the dimension.
        size
            Its size; None makes it unlimited, with size 0.

        Returns
        -------
        Dimension
            The dimension.

        Raises
        ------
        MetadataError
            If the group has it already.
        UnsupportedError
            If the group is not one of NCZarr: other formats have no place for a dimension without
            arrays.

        Examples
        --------
        >>> root = omnizarr.create_group({}, zarr_format=2, dialect="nczarr")
        >>> root.netcdf.create_dimension("x", 3).size
        3
        """
        place = self.group._place
        self.group._check_writable()
        if not self._declares:
            raise UnsupportedError(
                f"{place}: only a group of NCZarr declares dimensions; in other formats they are"
                " what the arrays have",
                what="dimension_names",
            ).advise("give create_variable the sizes, as in dimensions={'x': 3}")
        markers.check_name(name, "create_dimension")
        size = None if size is None else as_size(size)

        def added(attributes: dict[str, Any]) -> dict[str, Any]:
            marker = markers.group_marker(attributes) or markers.GroupMarker()
            if name in marker.dimensions:
                raise MetadataError(f"{place}: the dimension {name!r} is there already")
            declared = {name: (size or 0, size is None)}
            return markers.declared(attributes, declared, self.group.name)

        registering.apply(place.store, place.format, [(place.path, added)])
        return Dimension(name, size or 0, size is None, self.group.name)

    @suggests
    def create_variable(
        self, name: str, dtype: Any, dimensions: Dimensions = (), *, fill_value: Any = None,
        attributes: Mapping[str, Any] | None = None, **arguments: Unpack[VariableOptions],
    ) -> Variable:  # fmt: skip
        """Create a variable: an array with named dimensions.

        Parameters
        ----------
        name
            Name of the variable.
        dtype
            Type of the stored values.
        dimensions
            Names of dimensions, which this group or one above has; or a mapping from name to size
            for those that it may not have yet. None is a scalar.
        fill_value
            What marks missing values, and what unwritten elements read as; it becomes the attribute
            `_FillValue`. None leaves both to the format.
        attributes
            Attributes; NCZarr keeps the types of NumPy's numbers.
        **arguments
            `chunks`, `shards`, `compressors`, `filters` and `overwrite`, as in
            `Group.create_array`.

        Returns
        -------
        Variable
            The new variable.

        Raises
        ------
        MetadataError
            If a dimension is not known, or has another size.

        Examples
        --------
        >>> nc = omnizarr.group().netcdf
        >>> nc.create_variable("t", "i2", {"y": 2, "x": 3}, fill_value=-1, chunks=(1, 3))
        <omnizarr.netcdf.Variable 't' (y: 2, x: 3) int16>
        >>> nc.create_variable("area", "f4", ["y", "x"]).shape
        (2, 3)
        """
        given = dict(attributes or {})
        chosen = self.group._place.format
        filling: dict[str, Any] = {} if fill_value is None else {"fill_value": fill_value}
        if fill_value is not None:
            with suppress(OverflowError, TypeError, ValueError):  # which create_array refuses
                told = stated(np.asarray(fill_value, dtype)[()], chosen)
                given |= {} if told is None or "_FillValue" in given else {"_FillValue": told}
        array = self.group.create_array(
            name, shape=self._sizes(dimensions), dtype=dtype, dimension_names=tuple(dimensions),
            attributes=in_json(given, chosen), **filling, **arguments,
        )  # fmt: skip
        return Variable(name, array)

    def _sizes(self, wanted: Dimensions) -> tuple[int, ...]:
        """The sizes of the dimensions of a new variable; unlimited ones are declared."""
        if not wanted:
            return ()
        known = self.dimensions
        sizes: list[int] = []
        for name in wanted:
            size = wanted[name] if isinstance(wanted, Mapping) else None
            found = known.get(name)
            if found is not None and size in (None, found.size):
                sizes.append(found.size)
            elif found is not None and found.group == self.group.name:
                raise markers.conflict(name, found.group, found.size, size or 0)
            elif isinstance(wanted, Mapping):
                if size is None or (found is not None and self._declares):
                    self.create_dimension(name, size)  # unlimited, or it hides one from above
                sizes.append(size or 0)
            else:
                raise MetadataError(
                    f"{self.group._place}: there is no dimension {name!r}; known are"
                    f" {', '.join(map(repr, known)) or 'none'}"
                ).advise("create_dimension(name, size) declares it; dimensions={name: size} too")
        return tuple(sizes)

    @suggests
    def create_group(self, name: str, attributes: Mapping[str, Any] | None = None) -> NetCDFGroup:
        """Create a group in this one; it sees the dimensions of this one.

        Parameters
        ----------
        name
            Name of the group.
        attributes
            Its attributes; NCZarr keeps the types of NumPy's numbers.

        Returns
        -------
        NetCDFGroup
            The new group.

        Examples
        --------
        >>> omnizarr.group().netcdf.create_group("a").group.name
        '/a'
        """
        plain = in_json(attributes or {}, self.group._place.format)
        return NetCDFGroup(self.group.create_group(name, attributes=plain))

    @suggests
    def grow(self, name: str, size: int) -> None:
        """Make a dimension longer, and every variable that has it. New elements read as the fill
        value.

        Handles of variables that are open see it after `array.refresh()`, or when they write.

        Parameters
        ----------
        name
            Name of the dimension.
        size
            The new size. A dimension that is as long already, or longer, stays as it is.

        Raises
        ------
        MetadataError
            If there is no such dimension, if it was declared with a fixed size, or if `size` is no
            length.

        Examples
        --------
        >>> nc = omnizarr.group().netcdf
        >>> a = nc.create_variable("a", "f4", {"time": 1, "x": 2})
        >>> b = nc.create_variable("b", "f4", ["time"])
        >>> nc.grow("time", 3)
        >>> {name: variable.shape for name, variable in nc.variables.items()}
        {'a': (3, 2), 'b': (3,)}
        """
        self.group._check_writable()
        size = as_size(size)
        found = self.dimensions.get(name)
        if found is None:
            raise MetadataError(f"{self.group._place}: there is no dimension {name!r}")
        place = self.group._place
        if isinstance(place.format, Registering):
            if not found.unlimited and size > found.size:
                raise MetadataError(
                    f"{place}: the dimension {name!r} has the fixed size {found.size}"
                ).advise("declare it with create_dimension(name, None) to let it grow")
            grown = partial(markers.resized, name=name, before=found.size, after=size)
            if size > found.size:
                registering.apply(place.store, place.format, [(found.group[1:], grown)])
        owner = self.group.get_group(found.group) if found.group != self.group.name else self.group
        # All are found first: where nothing is declared, arrays of different length have different
        # dimensions.
        for array, along in list(_having(owner, name)):
            _grow_array(array, along, size)

    # -- other forms --------------------------------------------------------------------------
    def to_xarray(self, **arguments: Any) -> Any:
        """Open the group with xarray, whose engine is "omnizarr" then. Values are not read yet.

        Parameters
        ----------
        **arguments
            All keywords of `xarray.open_dataset`.

        Returns
        -------
        Dataset
            The dataset.

        Examples
        --------
        >>> nc = omnizarr.group().netcdf
        >>> nc.create_variable("t", "f4", {"x": 3}).write([1, 2, 3])
        >>> float(nc.to_xarray()["t"].sum())
        6.0
        """
        xarray = package("xarray", "xarray", "NetCDFGroup.to_xarray")
        return xarray.open_dataset(self.group, engine="omnizarr", **arguments)

    def cdl(self) -> str:
        """Describe the group, and those below it, as `ncdump -h` does: one text for equal
        metadata, so that two can be compared line by line.

        Returns
        -------
        str
            The text.

        Examples
        --------
        >>> nc = omnizarr.group({}, attributes={"title": "sea"}).netcdf
        >>> _ = nc.create_variable("t", "f4", {"x": 3}, attributes={"units": "K"})
        >>> print(nc.cdl())
        netcdf root {
        dimensions:
            x = 3 ;
        variables:
            float t(x) ;
                t:units = "K" ;
        <BLANKLINE>
        // global attributes:
            :title = "sea" ;
        }
        """
        return text(described(self))

    @suggests
    def cdl_lines(
        self,
        data: Callable[[Variable], Iterable[str]] | None = None,
        *,
        variable: str | None = None,
    ) -> Iterator[str]:
        """Describe the group line by line, with values, as `ncdump` does.

        Parameters
        ----------
        data
            Gives the lines of a variable's values, without its name; None: no values.
        variable
            Describe this variable alone.

        Examples
        --------
        >>> nc = omnizarr.group().netcdf
        >>> _ = nc.create_variable("t", "i4", {"x": 2})
        >>> list(nc.cdl_lines(lambda t: ["= 0, 0 ;"]))[-2:]
        [' t = 0, 0 ;', '}']
        """
        return lines(described(self, data, variable), values=data is not None)

    def __repr__(self) -> str:
        return f"<omnizarr.netcdf.Group {self.group.name!r} in {self.group.store!r}>"


def _having(group: Group, name: str) -> Iterator[tuple[Array, list[bool]]]:
    """Every array at or below a group that has the dimension of this group, and along which axes. A
    group below that has one of the same name hides it."""
    for _, member in group.members():
        if isinstance(member, Array):
            names = dimension_names(member.dims, member.shape)
            if name in names:
                yield member, [name == each for each in names]
        elif not _hides(member, name):
            yield from _having(member, name)


def _grow_array(array: Array, along: Sequence[bool], size: int) -> None:
    def longer(shape: tuple[int, ...]) -> tuple[int, ...]:
        pairs = zip(shape, along, strict=True)
        return tuple(max(length, size) if grows else length for length, grows in pairs)

    if longer(array.shape) != array.shape:
        resizing.resize(array, longer)


def _hides(group: Group, name: str) -> bool:
    found = NetCDFGroup(group).dimensions.get(name)
    return found is not None and found.group == group.name
