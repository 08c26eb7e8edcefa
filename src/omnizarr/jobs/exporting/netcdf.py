"""Arrays and groups as a NetCDF-4 file, as netCDF-C writes it, through h5py.

Every dimension is a dimension scale of HDF5 in the group that declares it: the coordinate of its
name, or a dataset without values that netCDF-C takes for a dimension alone. Dimensions without a
name are called `phony_dim_0`, …, as in netCDF-C. Packed values stay packed. Options as in `hdf5`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omnizarr.errors import ZarrError
from omnizarr.jobs.exporting import hdf5_datasets as datasets
from omnizarr.jobs.exporting.hdf5 import VERSIONS, members, unknown_dimensions
from omnizarr.jobs.exporting.hdf5 import units as units
from omnizarr.jobs.exporting.hdf5_values import Stored, attributes_of, h5py, plan
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.nodes.netcdf.variable import Variable

NAME = "netcdf"
SUFFIXES = (".nc", ".nc4")

_ALONE = "This is a netCDF dimension but not a netCDF variable.%10d"
_NON_COORDINATE = "_nc4_non_coord_"
_FORBIDDEN = re.compile(r"[\x00-\x1f/\x7f]|^[^\w]|\s$")
_MOST_NAME = 256


@dataclass
class Dimensions:
    """The dimensions of all groups, and those of every variable."""

    sizes: dict[tuple[str, str], int] = field(default_factory=dict)
    """By group and name."""
    of: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Of every array, by its path."""
    refused: list[str] = field(default_factory=list)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def dimensions_of(arrays: Mapping[str, Array]) -> Dimensions:
    """Which dimensions there are. One that an array names belongs to its group, or to the nearest
    group above that has one of the same name and size."""
    found = Dimensions()
    ordered = sorted(arrays, key=lambda path: (path.count("/"), path))
    for path in ordered:
        array, own = arrays[path], []
        names = array.dims or (None,) * array.ndim
        if Variable(path, array).dimensions == () and array.ndim:
            names = ("_scalar_",)
        for axis, (name, size) in enumerate(zip(names, array.shape, strict=True)):
            if name is None:
                name = _phony(array.shape, axis, found, _parent(path))
            own.append(_declare(found, path, name, size))
        found.of[path] = tuple(own)
        stored_length = _character_length(array)
        if stored_length:
            found.of[path] += (_declare(found, path, f"string{stored_length}", stored_length),)
    return found


def declared_unlimited(node: Array | Group) -> frozenset[str]:
    """The unlimited dimensions that NCZarr declares; no other format has any."""
    if isinstance(node, Array):
        return frozenset()
    groups = [node, *(each for each in members(node).values() if isinstance(each, Group))]
    declared = (group.netcdf.dimensions.values() for group in groups if group.netcdf._declares)
    return frozenset(each.name for several in declared for each in several if each.unlimited)


def _character_length(array: Array) -> int:
    try:
        return plan(array, netcdf=True).length
    except ZarrError:
        return 0


def _phony(shape: tuple[int, ...], axis: int, found: Dimensions, group: str) -> str:
    """The name of a dimension that has none: one for each length, two where an array has two."""
    occurrence = shape[:axis].count(shape[axis])
    sizes = [size for (where, name), size in found.sizes.items()
             if where == "" and name.startswith("phony_dim_")]  # fmt: skip
    names = [name for where, name in found.sizes if where == "" and name.startswith("phony_dim_")]
    same = [name for name, size in zip(names, sizes, strict=True) if size == shape[axis]]
    if occurrence < len(same):
        return same[occurrence]
    taken = {name for _, name in found.sizes}
    number = 0
    while f"phony_dim_{number}" in taken:
        number += 1
    name = f"phony_dim_{number}"
    found.sizes["", name] = shape[axis]
    return name


def _declare(found: Dimensions, path: str, name: str, size: int) -> tuple[str, str]:
    group = _parent(path)
    while True:
        before = found.sizes.get((group, name))
        if before == size:
            return group, name
        if before is not None and group == _parent(path):
            found.refused.append(
                f"{'/' + path}: the dimension {name!r} has length {size} here, and {before} in"
                f" another array of {'/' + group!r}; resize one of them, or rename the dimension"
            )
            return group, name
        if before is not None or not group:
            break
        group = _parent(group)
    found.sizes[_parent(path), name] = size
    return _parent(path), name


# -- before anything is written -------------------------------------------------------------------


def obstacles(node: Array | Group, options: Mapping[str, Any]) -> list[str]:
    """What NetCDF-4 cannot express."""
    found: list[str] = []
    several: dict[str, Any] = members(node)
    if isinstance(node, Group):
        several = {"": node, **several}
    json_attributes = bool(options.get("json_attributes", False))
    for path, member in several.items():
        where = f"{'/' + path}: "
        stored = dtype = None
        if path and _is_bad(path.rpartition("/")[2]):
            found.append(f"{where}NetCDF has no such name; rename it")
        if isinstance(member, Array):
            try:
                member._check()
                stored, dtype = plan(member, netcdf=True), member.dtype
            except ZarrError as error:
                found.append(f"{where}{error}")
                continue
            names = filter(None, member.dims or ())
            found += [f"{where}NetCDF has no dimension {name!r}; rename it" for name in names
                      if _is_bad(name)]  # fmt: skip
        refused = attributes_of(_attributes(member), stored, dtype, netcdf=True,
                                json_attributes=json_attributes)[1]  # fmt: skip
        found += [f"{where}{each}" for each in refused]
    arrays = {path: each for path, each in several.items() if isinstance(each, Array)}
    found += dimensions_of(arrays).refused
    return found + unknown_dimensions(node, options.get("unlimited", ()))


def _is_bad(name: str) -> bool:
    return _FORBIDDEN.search(name) is not None or len(name.encode()) > _MOST_NAME


def _attributes(member: Any) -> dict[str, Any]:
    """The attributes of a node; where the fill value of the array marks missing values, with it."""
    found: dict[str, Any] = member.attrs.asdict()
    if isinstance(member, Array) and "_FillValue" not in found and member.dtype.kind in "iuf":
        fill = Variable("", member)._default_fill()
        if fill is not None:
            found["_FillValue"] = member.dtype.newbyteorder("=").type(fill)
    return found


# -- writing --------------------------------------------------------------------------------------


def write(
    node: Array | Group,
    file: str,
    advance: Callable[[int, int, str], object],
    *,
    unlimited: Iterable[str] = (),
    json_attributes: bool = False,
) -> None:
    """Write a new file."""
    several = members(node)
    arrays = {path: each for path, each in several.items() if isinstance(each, Array)}
    dims = dimensions_of(arrays)
    grows = frozenset(unlimited) | declared_unlimited(node)
    with h5py().File(file, "w-", track_order=True, libver=VERSIONS) as root:
        if isinstance(node, Group):
            _put(root, node, None, json_attributes)
        for path, group in several.items():
            if isinstance(group, Group):
                _put(root.create_group(path, track_order=True), group, None, json_attributes)
        made: dict[str, Any] = {}
        stored: dict[str, Stored] = {path: plan(each, netcdf=True) for path, each in arrays.items()}
        scales = _scales(root, dims, arrays, stored, grows, made)
        for path, array in arrays.items():
            if path not in made:
                name = _name(path, dims)
                made[path] = _create(root, name, array, stored[path], dims.of[path], grows)
        for path, array in arrays.items():
            _put(made[path], array, stored[path], json_attributes)
            if not _is_coordinate(path, dims):
                for axis, dimension in enumerate(dims.of[path]):
                    made[path].dims[axis].attach_scale(root[scales[dimension]])
            datasets.fill(made[path], array, stored[path], path, advance)


def _create(
    root: Any, name: str, array: Array, stored: Stored,
    dimensions: Sequence[tuple[str, str]], grows: frozenset[str],
) -> Any:  # fmt: skip
    unlimited = [name in grows for _, name in dimensions][: array.ndim]
    return datasets.create(root, name, array, stored, unlimited, track_order=True)


def _is_coordinate(path: str, dims: Dimensions) -> bool:
    return dims.of[path] == ((_parent(path), path.rpartition("/")[2]),)


def _name(path: str, dims: Dimensions) -> str:
    """The name of a dataset. A variable that is no coordinate, but is called like a dimension of
    its group, has a name that netCDF-C knows."""
    group, _, name = path.rpartition("/")
    if (group, name) in dims.sizes and not _is_coordinate(path, dims):
        return f"{group}/{_NON_COORDINATE}{name}" if group else _NON_COORDINATE + name
    return path


def _scales(
    root: Any, dims: Dimensions, arrays: Mapping[str, Array], stored: Mapping[str, Stored],
    grows: frozenset[str], made: dict[str, Any],
) -> dict[tuple[str, str], str]:  # fmt: skip
    """The scales of all dimensions, in the order of the dimensions: the path of each."""
    found: dict[tuple[str, str], str] = {}
    for number, ((group, name), size) in enumerate(dims.sizes.items()):
        path = f"{group}/{name}" if group else name
        if path in arrays and _is_coordinate(path, dims):
            scale = _create(root, path, arrays[path], stored[path], dims.of[path], grows)
            scale.make_scale(name)
            made[path] = scale
        else:
            unlimited = {"maxshape": (None,), "chunks": (max(1, min(size, 1024)),)}
            scale = root.create_dataset(path, (size,), ">f4", track_order=True,
                                        **(unlimited if name in grows else {}))  # fmt: skip
            scale.make_scale(_ALONE % size)
        scale.attrs["_Netcdf4Dimid"] = np.int32(number)
        found[group, name] = path
    return found


def _put(target: Any, member: Array | Group, stored: Stored | None, json_attributes: bool) -> None:
    dtype = member.dtype if isinstance(member, Array) else None
    found, _ = attributes_of(_attributes(member), stored, dtype, netcdf=True,
                             json_attributes=json_attributes)  # fmt: skip
    for name, value in found.items():
        target.attrs[name] = value


def differences(
    node: Array | Group,
    file: str,
    advance: Callable[[int, int, str], object],
    *,
    unlimited: Iterable[str] = (),
    json_attributes: bool = False,
) -> Iterator[str]:
    """What reads back as something else."""
    several = members(node)
    arrays = {path: each for path, each in several.items() if isinstance(each, Array)}
    dims = dimensions_of(arrays)
    with h5py().File(file, "r") as root:
        for path, array in arrays.items():
            found = root.get(_name(path, dims))
            if found is None:
                yield f"{path}: it is missing"
            else:
                stored = plan(array, netcdf=True)
                yield from datasets.differences(found, array, stored, path, advance)
