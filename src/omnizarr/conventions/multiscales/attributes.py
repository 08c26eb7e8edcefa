"""The attributes of a group as a pyramid, and the reverse, for every convention.

This module knows which convention attributes follow. It must not know arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from omnizarr.conventions.multiscales import members, multiscale_arrays, ome, zarr_convention
from omnizarr.conventions.multiscales.facts import Pyramid
from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.json import show

Convention = Literal["0.1", "multiscales", "ndpyramid", "ome-0.4", "ome-0.5"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
"""The conventions that can be written. Others that `read` tells are "ome-0.2", "ome-0.3" and
"ome-0.6"."""


def read(attributes: Mapping[str, Json], which: int | str = 0) -> Pyramid | None:
    """The pyramid that a group's attributes describe; None if they describe none.

    Scales, axes and shapes that the convention leaves to the arrays are empty: see `completed`.

    Parameters
    ----------
    attributes
        The attributes of the group.
    which
        Where a group describes several pyramids: the position or the name of one.

    Raises
    ------
    MetadataError
        If the description is broken, or there is no such pyramid.
    """
    listed = _described(attributes)
    if isinstance(listed, Mapping):
        return zarr_convention.read(listed, attributes)
    return _one(listed, _position(listed, which), attributes) if listed else None


def read_all(attributes: Mapping[str, Json]) -> list[Pyramid]:
    """Every pyramid that a group's attributes describe; see `read`."""
    listed = _described(attributes)
    if isinstance(listed, Mapping):
        return [zarr_convention.read(listed, attributes)]
    return [_one(listed, position, attributes) for position in range(len(listed))]


def _described(attributes: Mapping[str, Json]) -> Mapping[str, Json] | list[Mapping[str, Json]]:
    """The object of the convention of 2026, or the list of the others; empty if there is none."""
    value = _place(attributes).get("multiscales")
    if value is None:
        return []
    return value if isinstance(value, Mapping) else members.objects(value, "multiscales")


def _place(attributes: Mapping[str, Json]) -> Mapping[str, Json]:
    inside = members.mapping(attributes.get(ome.KEY))
    return inside if "multiscales" in inside else attributes


def _one(
    listed: list[Mapping[str, Json]], position: int, attributes: Mapping[str, Json]
) -> Pyramid:
    entry, where = listed[position], f"multiscales[{position}]"
    inside = {} if (place := _place(attributes)) is attributes else place
    version = ome.version_of(entry, inside)
    if not inside and (version == "0.1" or ("version" not in entry and "axes" not in entry)):
        return multiscale_arrays.read(entry, where)
    return ome.read(entry, where, version)


def _position(listed: list[Mapping[str, Json]], which: int | str) -> int:
    if isinstance(which, int):
        if 0 <= which < len(listed):
            return which
    else:
        for position, entry in enumerate(listed):
            if entry.get("name") == which:
                return position
    names = [entry.get("name", position) for position, entry in enumerate(listed)]
    raise MetadataError(f"multiscales: there is no pyramid {which!r}, but {show(names)}")


def attributes_for(
    pyramid: Pyramid, convention: str, existing: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """The attributes of the group that holds a pyramid.

    Parameters
    ----------
    pyramid
        With a scale and a translation for every level and axis.
    convention
        One of `CONVENTIONS`. OME-NGFF 0.4 belongs into format 2, 0.5 into format 3
        (`Format.ome_version`); the arrays get the names of the axes as dimension names.
    existing
        Attributes that the group has already. All but the description of the pyramid stay.

    Raises
    ------
    MetadataError
        If the pyramid has no levels, or a scale lacks a finite number for an axis.
    """
    attributes = {} if existing is None else existing
    match convention:
        case "0.1" | "ndpyramid":
            return multiscale_arrays.write(pyramid, attributes, convention)
        case "multiscales":
            return zarr_convention.write(pyramid, attributes)
        case "ome-0.4" | "ome-0.5":
            return ome.write(pyramid, attributes, convention)
    raise MetadataError(f"multiscales: expected one of {CONVENTIONS}, found {convention!r}")
