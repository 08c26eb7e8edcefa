"""Arrays and groups as an HDF5 file, through h5py.

Groups, attributes and values are HDF5's own. A coordinate (an array of one dimension that bears its
name) is a dimension scale of all datasets with that dimension; every named dimension is a label.
Options: `unlimited`, names of dimensions that can grow; `json_attributes`, whether attributes that
HDF5 cannot express are written as text in JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from omnizarr.errors import ZarrError
from omnizarr.jobs.exporting import hdf5_datasets as datasets
from omnizarr.jobs.exporting.hdf5_values import attributes_of, h5py, plan
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group

NAME = "hdf5"
SUFFIXES = (".h5", ".hdf5", ".he5")
VERSIONS = ("v108", "v108")
"""Of the format, as netCDF-C writes it: readable by HDF5 1.8, attributes of any size."""
ALONE = "data"
"""The name of an array that is exported without a group."""


def members(node: Array | Group) -> dict[str, Array | Group]:
    """Everything below a node by its path; an array alone is `data`."""
    if isinstance(node, Array):
        return {ALONE: node}
    found = node.members(max_depth=None)
    return dict(sorted(found, key=lambda item: item[0].split("/")))


def units(node: Array | Group, options: Mapping[str, Any]) -> int:
    arrays = (each for each in members(node).values() if isinstance(each, Array))
    return sum(datasets.count(each) for each in arrays)


def obstacles(node: Array | Group, options: Mapping[str, Any]) -> list[str]:
    """What HDF5 cannot express."""
    found: list[str] = []
    several = members(node)
    if isinstance(node, Group):
        several = {"": node, **several}
    for path, member in several.items():
        where = f"{'/' + path}: "
        json_attributes = bool(options.get("json_attributes", False))
        stored = None
        if isinstance(member, Array):
            try:
                stored = plan(member)
                member._check()
            except ZarrError as error:
                found.append(f"{where}{error}")
                continue
        dtype = member.dtype if isinstance(member, Array) else None
        refused = attributes_of(member.attrs.asdict(), stored, dtype, netcdf=False,
                                json_attributes=json_attributes)[1]  # fmt: skip
        found += [f"{where}{each}" for each in refused]
    return found + unknown_dimensions(node, options.get("unlimited", ()))


def unknown_dimensions(node: Array | Group, unlimited: Iterable[str]) -> list[str]:
    """The names of dimensions that no array has."""
    if isinstance(unlimited, str):
        raise TypeError(f"unlimited takes a list of names of dimensions, found {unlimited!r}")
    arrays = (each for each in members(node).values() if isinstance(each, Array))
    known = {name for each in arrays for name in each.dims or ()}
    return [f"no array has the dimension {name!r}; unlimited takes names of dimensions"
            for name in unlimited if name not in known]  # fmt: skip


def write(
    node: Array | Group,
    file: str,
    advance: Callable[[int, int, str], object],
    *,
    unlimited: Iterable[str] = (),
    json_attributes: bool = False,
) -> None:
    """Write a new file."""
    grows = frozenset(unlimited)
    with h5py().File(file, "w-", track_order=True, libver=VERSIONS) as root:
        if isinstance(node, Group):
            _attributes(root, node.attrs.asdict(), json_attributes)
        made: dict[str, tuple[Any, Array]] = {}
        for path, member in members(node).items():
            if isinstance(member, Group):
                group = root.create_group(path, track_order=True)
                _attributes(group, member.attrs.asdict(), json_attributes)
                continue
            stored = plan(member)
            names = member.dims or (None,) * member.ndim
            dataset = datasets.create(
                root, path, member, stored, [name in grows for name in names], track_order=True
            )
            values = attributes_of(member.attrs.asdict(), stored, member.dtype, netcdf=False,
                                   json_attributes=json_attributes)[0]  # fmt: skip
            for name, value in values.items():
                dataset.attrs[name] = value
            datasets.fill(dataset, member, stored, path, advance)
            made[path] = dataset, member
        _attach(made)


def _attributes(target: Any, attributes: Mapping[str, Any], json_attributes: bool) -> None:
    found, _ = attributes_of(attributes, None, None, netcdf=False, json_attributes=json_attributes)
    for name, value in found.items():
        target.attrs[name] = value


def _attach(made: Mapping[str, tuple[Any, Array]]) -> None:
    """Make coordinates scales, and attach them to what has their dimensions."""
    scales: dict[str, Any] = {}
    for path, (dataset, array) in made.items():
        name = path.rpartition("/")[2]
        if array.dims == (name,):
            dataset.make_scale(name)
            scales[path] = dataset
    for path, (dataset, array) in made.items():
        for axis, dimension in enumerate(array.dims or ()):
            if dimension is None or path in scales:
                continue
            dataset.dims[axis].label = dimension
            scale = _visible(scales, path, dimension, array.shape[axis])
            if scale is not None:
                dataset.dims[axis].attach_scale(scale)


def _visible(scales: Mapping[str, Any], path: str, name: str, length: int) -> Any:
    """The scale of a dimension: in the group of the array, or the nearest one above."""
    group = path
    while group:
        group = group.rpartition("/")[0]
        found = scales.get(f"{group}/{name}" if group else name)
        if found is not None:
            return found if found.shape == (length,) else None
    return None


def differences(
    node: Array | Group,
    file: str,
    advance: Callable[[int, int, str], object],
    *,
    unlimited: Iterable[str] = (),
    json_attributes: bool = False,
) -> Iterator[str]:
    """What reads back as something else."""
    with h5py().File(file, "r") as root:
        for path, member in members(node).items():
            found = root.get(path)
            if found is None:
                yield f"{path}: it is missing"
            elif isinstance(member, Array):
                yield from datasets.differences(found, member, plan(member), path, advance)
