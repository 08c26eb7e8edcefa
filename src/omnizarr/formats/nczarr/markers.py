"""The markers that netCDF-C 4.9.3 and later keep in `.zattrs`: read, made and changed.

=====================  =========================================================================
`_nczarr_superblock`   of the root: `{"version": "2.0.0"}`
`_nczarr_group`        `{"dimensions": {"t": {"size": 4, "unlimited": 1}, "x": 3}, "arrays": […],
                       "groups": […]}`
`_nczarr_array`        `{"dimension_references": ["/t", "/x"], "storage": "chunked"}`
`_nczarr_attr`         `{"types": {…}}`; see `attribute_types`
=====================  =========================================================================

netCDF-C 4.8.1 to 4.9.2 kept the group's marker in `.zgroup`, with other names; it is read too.
Functions are pure: attributes in, attributes out. This module must not know stores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from omnizarr.errors import MetadataError
from omnizarr.formats import members
from omnizarr.formats.base import Node
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.model.json import show

ARRAY, GROUP, TYPES = "_nczarr_array", "_nczarr_group", "_nczarr_attr"
SUPERBLOCK = "_nczarr_superblock"
VERSION = {"version": "2.0.0"}
RESERVED = (SUPERBLOCK, GROUP, ARRAY, TYPES)
_OLD = "_NCZARR_GROUP"
_SIZE = members.integer(0, members.MAX_LENGTH)
_NAME = re.compile(r"[^\W]|[^\x00-\x7f]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f/]")
_MOST_NAME = 256


@dataclass(frozen=True)
class GroupMarker:
    """What a group declares."""

    dimensions: Mapping[str, tuple[int, bool]] = field(default_factory=dict)
    """Size, and whether it is unlimited, by name."""
    arrays: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def document(self) -> dict[str, Json]:
        """The marker as it is stored."""
        return {
            "dimensions": {
                name: {"size": size, "unlimited": 1} if unlimited else size
                for name, (size, unlimited) in self.dimensions.items()
            },
            "arrays": list(self.arrays),
            "groups": list(self.groups),
        }


def is_marked(node: Node) -> bool:
    """Whether a node says that it is one of NCZarr, in the way that is written here."""
    name = ARRAY if isinstance(node, ArrayModel) else GROUP
    return isinstance(node.attributes.get(name), dict)


def group_marker(
    attributes: Mapping[str, Json], document: Mapping[str, Json] | None = None
) -> GroupMarker | None:
    """What a group declares; None if it has no marker. MetadataError if the marker is broken."""
    marker, words = attributes.get(GROUP), ("dimensions", "arrays")
    if marker is None and document is not None:
        marker, words = document.get(_OLD), ("dims", "vars")
    if marker is None:
        return None
    members.OBJECT.check(GROUP, marker)
    dimensions = marker.get(words[0], {})
    members.OBJECT.check(f"{GROUP}: {words[0]}", dimensions)
    return GroupMarker(
        {name: _dimension(name, value) for name, value in dimensions.items()},
        _listed(marker, words[1]),
        _listed(marker, "groups"),
    )


def _dimension(name: str, value: Json) -> tuple[int, bool]:
    check_name(name, f"{GROUP}: a dimension")
    unlimited: Json = 0
    if isinstance(value, dict):
        value, unlimited = value.get("size"), value.get("unlimited", 0)
    _SIZE.check(f"{GROUP}: the size of the dimension {show(name)}", value)
    if unlimited not in (0, 1):
        raise MetadataError(
            f"{GROUP}: unlimited of the dimension {show(name)} must be 0 or 1, found"
            f" {show(unlimited)}"
        )
    return value, bool(unlimited)


def _listed(marker: Mapping[str, Json], word: str) -> tuple[str, ...]:
    found = marker.get(word, [])
    if not isinstance(found, list):
        raise MetadataError(f"{GROUP}: {word} must be a list of names, found {show(found)}")
    for name in found:
        check_name(name, f"{GROUP}: {word}")
    return tuple(found)


def check_name(name: Any, where: str) -> None:
    """MetadataError unless netCDF can have an object of this name."""
    if (
        not isinstance(name, str)
        or not name
        or not _NAME.match(name)
        or _CONTROL.search(name)
        or name[-1] == " "
        or len(name.encode("utf-8", "surrogatepass")) > _MOST_NAME
    ):
        raise MetadataError(
            f"{where}: a name in netCDF begins with a letter, a digit or '_', and has no '/', no"
            " control character, no space at its end and no more than"
            f" {_MOST_NAME} bytes; found {show(name)}"
        )


# -- changing ---------------------------------------------------------------------------------
def without(attributes: Mapping[str, Json]) -> dict[str, Json]:
    """The attributes for a node of another dialect. Its markers would not follow its changes; the
    types of attributes stay true."""
    kept = {name: item for name, item in attributes.items() if name not in RESERVED}
    marker = attributes.get(TYPES)
    types = marker.get("types") if isinstance(marker, dict) else None
    if isinstance(types, dict):
        left = {name: text for name, text in types.items() if name in kept}
        return {**kept, TYPES: {"types": left}} if left else kept
    return kept


def with_marker(attributes: Mapping[str, Json], marker: GroupMarker) -> dict[str, Json]:
    return {**attributes, GROUP: marker.document()}


def declared(
    attributes: Mapping[str, Json], sizes: Mapping[str, tuple[int, bool]], where: str
) -> dict[str, Json]:
    """The attributes of a group that declares further dimensions. One of another size that was
    declared meanwhile is an error."""
    marker = group_marker(attributes) or GroupMarker()
    for name, (size, _) in sizes.items():
        found = marker.dimensions.get(name)
        if found is not None and found[0] != size:
            raise conflict(name, where, found[0], size)
    merged = {**marker.dimensions, **sizes, **marker.dimensions}  # those that are there stay first
    return with_marker(attributes, replace(marker, dimensions=merged))


def conflict(name: str, where: str, declared: int, found: int) -> MetadataError:
    return MetadataError(
        f"the dimension {name!r} of group {where!r} has size {declared}, not {found}; arrays that"
        " share a dimension have the same length along it"
    ).advise(f"use another name, or another length; group.netcdf.grow({name!r}, …) makes it longer")


def listed(attributes: Mapping[str, Json], name: str, *, is_array: bool) -> dict[str, Json]:
    """The attributes of a group with a further member."""
    marker = group_marker(attributes) or GroupMarker()
    arrays, groups = _without(marker.arrays, name), _without(marker.groups, name)
    if is_array:
        arrays += (name,)
    else:
        groups += (name,)
    return with_marker(attributes, replace(marker, arrays=arrays, groups=groups))


def unlisted(attributes: Mapping[str, Json], name: str) -> dict[str, Json]:
    """The attributes of a group without a member."""
    marker = group_marker(attributes) or GroupMarker()
    return with_marker(
        attributes,
        replace(marker, arrays=_without(marker.arrays, name), groups=_without(marker.groups, name)),
    )


def _without(names: Iterable[str], name: str) -> tuple[str, ...]:
    return tuple(each for each in names if each != name)


def resized(attributes: Mapping[str, Json], name: str, before: int, after: int) -> dict[str, Json]:
    """The attributes of a group after one array became longer or shorter along a dimension. The
    dimension is as long as the longest; it becomes shorter with an array that had its length."""
    marker = group_marker(attributes) or GroupMarker()
    size, unlimited = marker.dimensions.get(name, (0, False))
    if after > before:
        size = max(size, after)
    elif size == before:
        size = after
    return with_marker(
        attributes, replace(marker, dimensions={**marker.dimensions, name: (size, unlimited)})
    )
