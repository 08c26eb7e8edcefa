"""OME-NGFF metadata from version 0.4 to 0.5 and back: where members stand, and their versions.

0.4 has `multiscales`, `omero`, `plate`, `well` and the others among the attributes of a group, each
with a version of its own. 0.5 has them below `ome`, which has the version. What they say is the
same, so nothing is parsed here: broken metadata move as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from omnizarr.conventions.multiscales import members, ome
from omnizarr.model.codec import Json

_OLD, _NEW = "0.4", "0.5"
_ALONE = {"multiscales", "plate", "well", "image-label", "bioformats2raw.layout"}
"""Members that tell by themselves that a group is OME's."""
_BESIDE = {"omero", "series", "_creator"}
"""Members that belong to OME beside one of the others; elsewhere the words may mean anything."""
_OF_GROUP = {"labels": "labels", "OME": "series"}
"""Groups with a fixed name, and the member that lists what is in them."""
_MEMBERS = _ALONE | _BESIDE | set(_OF_GROUP.values())


class Moved(NamedTuple):
    attributes: Mapping[str, Json]
    note: str | None = None
    """Why OME's metadata are not those of the wanted version, where they are not."""


def moved(attributes: Mapping[str, Json], version: str, name: str = "") -> Moved:
    """The attributes of a group, with OME's metadata as a version wants them.

    Parameters
    ----------
    attributes
        Of the group. Those without OME's metadata are returned as they are.
    version
        ``"0.4"`` or ``"0.5"``.
    name
        The name of the group: `labels` and `series` are OME's only in groups of fixed names.
    """
    return _to_new(attributes, name) if version == _NEW else _to_old(attributes)


def _to_new(attributes: Mapping[str, Json], name: str) -> Moved:
    inside = members.mapping(attributes.get(ome.KEY))
    found = {member for member in _ALONE if _is_ome(member, attributes.get(member))}
    if found:
        found |= _BESIDE & attributes.keys()
    listing = _OF_GROUP.get(name, "")
    if _is_texts(attributes.get(listing)):
        found.add(listing)
    if not found:
        return Moved(attributes)
    old = {str(version) for member in found for version in _versions(attributes[member])} - {_OLD}
    if old:
        return Moved(
            attributes,
            f"OME-NGFF {', '.join(sorted(old))} is left as it is: readers of this format expect"
            f" {_NEW} under {ome.KEY!r}",
        )
    if found & inside.keys() or inside.keys() & {"version"}:
        return Moved(attributes)  # described under `ome` as well
    rest = {key: value for key, value in attributes.items() if key not in {*found, ome.KEY}}
    below = {
        key: _renumbered(key, attributes[key], _OLD, _NEW) for key in attributes if key in found
    }
    return Moved({**rest, ome.KEY: {"version": _NEW, **below, **inside}})


def _to_old(attributes: Mapping[str, Json]) -> Moved:
    inside = members.mapping(attributes.get(ome.KEY))
    if not inside.keys() & _MEMBERS:
        return Moved(attributes)
    if ome.version_of({}, inside) != _NEW:  # without one, it is 0.5: ome-zarr-py lists labels so
        return Moved(
            attributes,
            f"OME-NGFF {inside['version']} is left as it is: this format can have {_OLD} alone",
        )
    taken = sorted(inside.keys() & _MEMBERS & attributes.keys())
    if taken:
        return Moved(
            attributes,
            f"OME-NGFF metadata stay under {ome.KEY!r}, where readers of this format do not look:"
            f" there are other attributes called {', '.join(taken)}",
        )
    rest = {key: value for key, value in attributes.items() if key != ome.KEY}
    for key, value in inside.items():
        if key in _MEMBERS:
            rest[key] = _renumbered(key, value, _NEW, _OLD)
    left = {key: value for key, value in inside.items() if key not in {*_MEMBERS, "version"}}
    return Moved({**rest, ome.KEY: left} if left else rest)


def _is_ome(member: str, value: Json) -> bool:
    match member, value:
        case "multiscales", [*entries]:
            # Version 0.1 is that of Multiscale Arrays too, which are at home in every format.
            return all(
                isinstance(entry, Mapping) and ("axes" in entry or entry.get("version") == "0.2")
                for entry in entries
            )
        case "plate", {"wells": _}:
            return True
        case "well", {"images": _}:
            return True
        case "image-label", {}:
            return True
        case "bioformats2raw.layout", int():
            return True
    return False


def _is_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _versions(value: Json) -> list[Json]:
    """The versions that a member names."""
    parts = value if isinstance(value, list) else [value]
    found = [part.get("version") for part in parts if isinstance(part, Mapping)]
    return [version for version in found if version is not None]


def _renumbered(member: str, value: Json, old: str, new: str) -> Json:
    """A member with its version: in 0.5 that of images is below `ome` alone."""
    if member == "multiscales" and isinstance(value, list):
        return [_image(entry, new) if isinstance(entry, Mapping) else entry for entry in value]
    if isinstance(value, Mapping) and value.get("version") == old:
        return {**value, "version": new}
    return value


def _image(entry: Mapping[str, Json], new: str) -> dict[str, Json]:
    rest = {key: value for key, value in entry.items() if key != "version"}
    return rest if new == _NEW else {"version": new, **rest}
