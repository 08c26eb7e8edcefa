"""Rules of OME-NGFF 0.4 and 0.5 for what is around images: plates, wells, labels, channels.

These members mean the same in both versions, and stand where the images of a version stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from omnizarr.conventions.multiscales import level_rules, members
from omnizarr.errors import MetadataError
from omnizarr.model import paths
from omnizarr.model.codec import Json
from omnizarr.model.finding import At, Finding
from omnizarr.model.json import show

if TYPE_CHECKING:
    from omnizarr.conventions.rules import NodeFacts, Nodes

_COLOR = re.compile(r"[0-9a-fA-F]{6}\Z")
_NAME = re.compile(r"[A-Za-z0-9]+\Z")


def found(attributes: Mapping[str, Json], path: str) -> bool:
    """Whether attributes have such members beside others, as 0.4 has them."""
    return (
        "image-label" in attributes
        or "wells" in members.mapping(attributes.get("plate"))
        or "images" in members.mapping(attributes.get("well"))
        or (paths.name_of(path) == "labels" and isinstance(attributes.get("labels"), list))
    )


def check(
    node: NodeFacts, nodes: Nodes, at: At, attributes: Mapping[str, Json], version: str
) -> Iterator[Finding]:
    """Findings about the members among `attributes`: those of the group, or those under `ome`."""
    for member, rule in _RULES.items():
        if member not in attributes or (member == "omero" and "multiscales" not in attributes):
            continue
        value = attributes[member]
        stated = value.get("version") if isinstance(value, Mapping) else None
        if member != "omero" and stated is not None and stated != version:
            yield at.error(member, f"{member}.version: expected {version!r}, found {show(stated)}")
        try:
            yield from rule(node, nodes, at, value)
        except MetadataError as error:
            yield at.error(member, str(error))


def _labels(node: NodeFacts, nodes: Nodes, at: At, value: Json) -> Iterator[Finding]:
    if not isinstance(value, list):
        yield at.error("labels", f"labels: expected a list of paths, found {show(value)}")
        return
    for position, item in enumerate(value):
        yield from _member(node, nodes, at, "labels", f"labels[{position}]", item)


def _plate(node: NodeFacts, nodes: Nodes, at: At, value: Json) -> Iterator[Finding]:
    plate = _object(value, "plate")
    places: list[dict[str, int]] = []
    for kind in ("rows", "columns"):
        listed = members.objects(plate.get(kind), f"plate.{kind}")
        names = [item.get("name") for item in listed]
        places.append({name: index for index, name in enumerate(names) if isinstance(name, str)})
        for name in names:
            if not isinstance(name, str) or not _NAME.match(name):
                yield at.error(
                    "plate",
                    f"plate.{kind}: expected names of letters and digits, found {show(name)}",
                )
        if len(places[-1]) < len(names):
            yield at.error("plate", f"plate.{kind}: the names must be different")
    for position, well in enumerate(members.objects(plate.get("wells"), "plate.wells")):
        where, path = f"plate.wells[{position}]", well.get("path")
        pair = path.split("/") if isinstance(path, str) else []
        if len(pair) != 2 or pair[0] not in places[0] or pair[1] not in places[1]:
            yield at.error(
                "plate",
                f"{where}.path: expected a row and a column of the plate, found {show(path)}",
            )
        else:
            told = [well.get("rowIndex"), well.get("columnIndex")]
            expected = [places[0][pair[0]], places[1][pair[1]]]
            if told != expected:
                yield at.error(
                    "plate",
                    f"{where}: expected {expected} as rowIndex and columnIndex, found {show(told)}",
                )
        yield from _member(node, nodes, at, "plate", f"{where}.path", path)


def _well(node: NodeFacts, nodes: Nodes, at: At, value: Json) -> Iterator[Finding]:
    for position, image in enumerate(
        members.objects(_object(value, "well").get("images"), "well.images")
    ):
        where, path = f"well.images[{position}].path", image.get("path")
        if isinstance(path, str) and not _NAME.match(path):
            yield at.error("well", f"{where}: expected letters and digits, found {show(path)}")
        yield from _member(node, nodes, at, "well", where, path)


def _image_label(node: NodeFacts, nodes: Nodes, at: At, value: Json) -> Iterator[Finding]:
    label = _object(value, "image-label")
    seen: dict[str, list[Json]] = {}
    for kind in ("colors", "properties"):
        if label.get(kind) is None:
            continue
        listed = members.objects(label[kind], f"image-label.{kind}")
        seen[kind] = [item.get("label-value") for item in listed]
        if not all(type(item) is int for item in seen[kind]):
            yield at.error("image-label", f"image-label.{kind}: label-value must be an integer")
        elif kind == "colors" and len(set(seen[kind])) < len(seen[kind]):
            yield at.error("image-label", "image-label.colors: label-value must be different")
        for item in listed if kind == "colors" else ():
            rgba = item.get("rgba")
            sound = isinstance(rgba, list) and all(type(part) is int for part in rgba)
            if rgba is not None and (
                not sound or len(rgba) != 4 or not 0 <= min(rgba) <= max(rgba) < 256
            ):
                yield at.error(
                    "image-label", f"image-label.colors: expected 4 numbers of 0 to 255, found"
                    f" {show(rgba)}"
                )  # fmt: skip


def _omero(node: NodeFacts, nodes: Nodes, at: At, value: Json) -> Iterator[Finding]:
    channels = members.objects(_object(value, "omero").get("channels"), "omero.channels")
    for position, channel in enumerate(channels):
        where = f"omero.channels[{position}]"
        color, window = channel.get("color"), members.mapping(channel.get("window"))
        if not isinstance(color, str) or not _COLOR.match(color):
            yield at.error(
                "omero", f"{where}.color: expected 6 hexadecimal digits, found {show(color)}"
            )
        numbers = [window.get(name) for name in ("min", "max", "start", "end")]
        if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers):
            yield at.error(
                "omero", f"{where}.window: expected the numbers min, max, start and end, found"
                f" {show(channel.get('window'))}"
            )  # fmt: skip


def _member(
    node: NodeFacts, nodes: Nodes, at: At, section: str, where: str, value: Json
) -> Iterator[Finding]:
    """A group that is named must be there."""
    path = members.path(value, where)
    found = nodes.get(paths.join(node.path, path))
    if found is None:
        yield level_rules.missing(node, at, section, "group", path)
    elif not found.is_group:
        yield at.error(section, f"{where}: {path!r} is an array, not a group")


def _object(value: Json, where: str) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise MetadataError(f"{where}: expected an object, found {show(value)}")
    return value


_RULES: dict[str, Callable[[NodeFacts, Nodes, At, Json], Iterator[Finding]]] = {
    "omero": _omero,
    "labels": _labels,
    "plate": _plate,
    "well": _well,
    "image-label": _image_label,
}
