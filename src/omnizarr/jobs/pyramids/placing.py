"""What is known of an array before its levels are planned: its axes, where its elements are, and in
which convention its pyramid is described.

This module knows the caller's choices, attributes and dimension names. It must not know how levels
are cut or computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from omnizarr import limits
from omnizarr.conventions.geo import cf, gdal, spatial
from omnizarr.conventions.multiscales import CONVENTIONS, Axis, Convention, Pyramid, read
from omnizarr.errors import MetadataError, MissingPackageError, UnsupportedError
from omnizarr.formats import Format
from omnizarr.jobs.memory import MemoryLike
from omnizarr.jobs.pyramids.geometry import axes_of
from omnizarr.jobs.pyramids.kernels import Method
from omnizarr.model import paths
from omnizarr.model.json import show
from omnizarr.nodes.array import Array
from omnizarr.nodes.geo.reading import Surroundings
from omnizarr.nodes.group import Group
from omnizarr.nodes.node import NodeAddress, find
from omnizarr.runtime.sizes import as_bytes


@dataclass(frozen=True)
class Wanted:
    """The caller's choices."""

    levels: int | None
    method: Method
    factors: Any
    axes: Any
    scale: Any
    convention: str | None
    chunks: Any
    shards: Any
    compressors: Any
    nodata: Any
    max_memory: MemoryLike

    @property
    def budget(self) -> int:
        """What a tile should take at the most: so several fit into one process."""
        given = self.max_memory
        return (limits.current.worker_bytes if given is None else as_bytes(given)) // 4


@dataclass(frozen=True)
class Placed:
    """The array that a pyramid is made of, and what is known of where its elements are."""

    array: Array
    axes: tuple[Axis, ...]
    scale: tuple[float, ...]
    translation: tuple[float, ...]
    known: Pyramid | None
    """The pyramid that it belongs to already."""
    named: bool
    """Whether the names of the axes are known, not made up."""
    attributes: Mapping[str, Any] | None = None
    """What smaller levels begin with, where it is not the attributes of the largest one."""
    is_image: bool = False
    """Whether it is an image of OME-NGFF: fill values mark no missing values there."""
    mapped: frozenset[str] = frozenset()
    """The names of the axes along which a transform places whole blocks."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)


def attributes_of(group: NodeAddress) -> dict[str, Any]:
    found = find(group.store, group.path)
    return {} if found is None else dict(found[1].attributes)


def attributes_alone(array: Array) -> dict[str, Any]:
    """The attributes of an array that states its map by itself: what a grid mapping, coordinates or
    the group say would not be found beside its levels, or has other elements than they have.

    A map that nobody understands is left as it is."""
    attributes = dict(array._stored.attributes)
    named = [name for name in (cf.ATTRIBUTE, gdal.ATTRIBUTE) if name in attributes]
    around = Surroundings(array)
    try:
        if not named and not any(each.inherited for each in around.stated):
            return attributes
        geo = around.geo
        found = spatial.attributes_for(geo, cf.without(attributes))
        return found | gdal.attributes_for(geo) if named else found
    except (MetadataError, MissingPackageError):
        return attributes


def belonging(array: Array, attributes: Mapping[str, Any]) -> Pyramid | None:
    """The pyramid that an array is a level of, as the attributes of its group say."""
    known, name = read(attributes), paths.name_of(array._place.path)
    levels = () if known is None else known.levels
    return known if any(level.path == name for level in levels) else None


def placed_array(
    array: Array,
    attributes: Mapping[str, Any],
    wanted: Wanted,
    convention: Convention,
    group: Group | None = None,
) -> Placed:
    """What the caller, the attributes of the group around it, dimension names and coordinates say
    of an array."""
    belongs = belonging(array, attributes)
    name = paths.name_of(array._place.path)
    levels = () if belongs is None else belongs.levels
    level = next((one for one in levels if one.path == name), None)
    axes = axes_of(wanted.axes, array.dims, array.ndim)
    named = wanted.axes is not None or array.dims is not None
    told = () if belongs is None or wanted.axes is not None else belongs.axes
    if len(told) == array.ndim and array.dims in (None, tuple(axis.name for axis in told)):
        axes, named = told, True  # with their units
    if convention.startswith("ome-"):
        axes, named = _axes_of_images(axes, named), True
        names = tuple(axis.name for axis in axes)
        if convention == "ome-0.5" and array.dims not in (None, names):
            error = MetadataError(
                f"OME-NGFF 0.5 wants the dimension names {names} for these axes, found {array.dims}"
            )
            raise error.at(array.store, path=array.path).advise(
                "leave axes out, or give the array these dimension names"
            )
    scale: tuple[float, ...] = ()
    translation: tuple[float, ...] = ()
    line = None if level is None else level.line([axis.name for axis in axes])
    if level is not None and len(level.scale) == array.ndim and line is not None:
        scale, translation = line
    elif group is not None:
        scale, translation = _from_coordinates(group, axes)
    if wanted.scale is not None:
        scale = _scale(wanted.scale, axes)
    ones, zeros = (1.0,) * array.ndim, (0.0,) * array.ndim
    conventions = (convention, "" if belongs is None else belongs.convention)
    image = any(each.startswith("ome-") for each in conventions)
    return Placed(array, axes, scale or ones, translation or zeros, belongs, named, is_image=image)


def _scale(given: Any, axes: Sequence[Axis]) -> tuple[float, ...]:
    names = [axis.name for axis in axes]
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise ValueError(f"scale: there is no axis {name!r}, but {', '.join(names)}")
        given = [given.get(name, 1.0) for name in names]
    elif isinstance(given, int | float | np.number):
        spatial = [axis.type == "space" for axis in axes]
        given = [given if one or not any(spatial) else 1.0 for one in spatial]
    try:
        found = tuple(float(one) for one in given)
    except (OverflowError, TypeError, ValueError):
        found = ()
    if not found or len(found) != len(axes) or not all(np.isfinite(found)) or 0 in found:
        raise ValueError(
            f"scale: expected a number other than 0 for all axes of space, {len(axes)} of them, or"
            f" a mapping from axis to number; found {show(given)}"
        )
    return found


def _from_coordinates(
    group: Group, axes: Sequence[Axis]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Scale and translation as the first two coordinates of every axis say."""
    scale, translation = [1.0] * len(axes), [0.0] * len(axes)
    for at, axis in enumerate(axes):
        found = group.get(axis.name)
        if isinstance(found, Array) and found.dims == (axis.name,) and found.dtype.kind in "uif":
            first = [float(value) for value in found[:2]]
            if len(first) == 2 and all(np.isfinite(first)) and first[0] != first[1]:
                scale[at], translation[at] = first[1] - first[0], first[0]
    return tuple(scale), tuple(translation)


def convention_for(
    given: str | None, chosen: Format, array: Array, attributes: Mapping[str, Any], *, groups: bool
) -> Convention:
    """The convention that is meant: for a level of a pyramid that the attributes of its group
    describe, by default the one that they follow. "ome" is the version that belongs to the format.
    """
    belongs = None if given is not None or groups else belonging(array, attributes)
    if belongs is not None and belongs.convention.startswith("ome-") and chosen.ome_version:
        given = "ome"
    if given == "ome":
        if chosen.ome_version is None:
            raise UnsupportedError(f"format {chosen.name} has no OME-NGFF; use zarr_format=2 or 3")
        given = f"ome-{chosen.ome_version}"
    if given is None:
        maps = ("spatial:transform", cf.ATTRIBUTE, gdal.ATTRIBUTE)
        mapped = any(name in array.attrs for name in maps)
        given = "multiscales" if mapped or groups else "0.1"
    if given not in CONVENTIONS:
        known = ", ".join(map(repr, ("ome", *CONVENTIONS)))
        raise ValueError(f"convention takes {known}; found {given!r}")
    if given.startswith("ome-") and given != f"ome-{chosen.ome_version}":
        raise UnsupportedError(
            f"{given} does not belong to format {chosen.name}; use convention='ome'"
        )
    return given


def _axes_of_images(axes: tuple[Axis, ...], named: bool) -> tuple[Axis, ...]:
    """The axes as OME-NGFF has them: times, channels, space."""
    if not named and len(axes) in (2, 5):
        axes = tuple(map(Axis.named, "yx" if len(axes) == 2 else "tczyx"))
    rank = {"time": 0, "space": 2}
    ranks = [rank.get(axis.type or "", 1) for axis in axes]
    if ranks != sorted(ranks) or not 2 <= ranks.count(2) <= 3 or len(axes) > 5:
        raise ValueError(
            "an OME-NGFF image has two or three axes of space, after time and channel if there are"
            f" any; found {', '.join(axis.name for axis in axes)}. Name them in axes, such as"
            " axes='cyx'"
        )
    return axes
