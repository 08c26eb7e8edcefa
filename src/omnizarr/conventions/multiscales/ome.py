"""OME-NGFF: 0.4 (attributes of the group) and 0.5 (below `ome`), both ways; 0.2, 0.3 and 0.6 read.

A dataset has one `scale` and at most one `translation` after it; the transformations of the whole
image come after those. 0.3 names axes without types, 0.2 names none. 0.6 keeps the axes in
coordinate systems, and its transformations are read where they scale and translate alone.
https://ngff.openmicroscopy.org/0.5/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnizarr.conventions.multiscales import members
from omnizarr.conventions.multiscales.facts import Axis, Level, Pyramid, check_writable
from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.json import show

OLD, NEW = "ome-0.4", "ome-0.5"
KEY = "ome"
TRANSFORMATIONS = "coordinateTransformations"
_SYSTEMS = "coordinateSystems"
_KNOWN = ("version", "name", "axes", "datasets", "type", "metadata", TRANSFORMATIONS, _SYSTEMS)

Placement = tuple[tuple[float, ...], tuple[float, ...]]


def version_of(entry: Mapping[str, Json], ome: Mapping[str, Json]) -> str:
    """The version, with two numbers: "0.6" for "0.6.dev1"."""
    found = ome.get("version", entry.get("version"))
    if not isinstance(found, str):
        # 0.4 recommends to state it, and writers forget to: its axes have types.
        return "0.5" if ome else "0.4"
    return ".".join(found.replace("-", ".").split(".")[:2])


def read(entry: Mapping[str, Json], where: str, version: str) -> Pyramid:
    """One entry of `multiscales`; MetadataError if it is broken, or has other transformations."""
    axes = _axes(entry, where)
    count = len(axes) or None
    after = _placement(entry.get(TRANSFORMATIONS), f"{where}.{TRANSFORMATIONS}", count)
    if _SYSTEMS in entry:
        after = None  # in 0.6 they lead on to further systems, which are not read here
    levels = []
    for position, dataset in enumerate(members.objects(entry.get("datasets"), f"{where}.datasets")):
        here = f"{where}.datasets[{position}]"
        placed = _placement(dataset.get(TRANSFORMATIONS), f"{here}.{TRANSFORMATIONS}", count)
        levels.append(
            Level(
                members.path(dataset.get("path"), f"{here}.path"),
                None,
                *_composed(placed, after),
                extra=members.rest(dataset, ("path", TRANSFORMATIONS)),
            )
        )
    return Pyramid(
        axes,
        tuple(levels),
        members.text(entry.get("name"), f"{where}.name") or "",
        members.text(entry.get("type"), f"{where}.type"),
        members.mapping(entry.get("metadata")),
        f"ome-{version}",
        members.rest(entry, _KNOWN),
    )


def _axes(entry: Mapping[str, Json], where: str) -> tuple[Axis, ...]:
    listed = entry.get("axes")
    if _SYSTEMS in entry:
        systems = members.objects(entry[_SYSTEMS], f"{where}.{_SYSTEMS}")
        listed, where = systems[0].get("axes"), f"{where}.{_SYSTEMS}[0]"
    if listed is None:
        return ()  # 0.2 has none
    if not isinstance(listed, list):
        raise MetadataError(f"{where}.axes: expected a list, found {show(listed)}")
    return tuple(_axis(axis, f"{where}.axes[{at}]") for at, axis in enumerate(listed))


def _axis(value: Json, where: str) -> Axis:
    if isinstance(value, str):
        return Axis.named(value)  # 0.3
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise MetadataError(f"{where}: expected an object with a name, found {show(value)}")
    unit = value.get("unit")
    return Axis(
        value["name"],
        members.text(value.get("type"), f"{where}.type"),
        unit if isinstance(unit, str) else None,
    )


# -- transformations ------------------------------------------------------------------------------
def _placement(value: Json, where: str, count: int | None) -> Placement | None:
    """Scale and translation of a list of transformations; None if there are none."""
    if value is None or value == []:
        return None
    placed: Placement | None = None
    for position, item in enumerate(members.objects(value, where)):
        one = _transformation(item, f"{where}[{position}]", count)
        placed = _then(placed, one)
    return placed


def _transformation(value: Mapping[str, Json], where: str, count: int | None) -> Placement | None:
    match value.get("type"):
        case "identity":
            return None
        case "scale" if "scale" in value:
            scale = members.numbers(value["scale"], f"{where}.scale", count)
            return scale, (0.0,) * len(scale)
        case "translation" if "translation" in value:
            moved = members.numbers(value["translation"], f"{where}.translation", count)
            return (1.0,) * len(moved), moved
        case "sequence":
            parts = value.get("transformations")
            if isinstance(parts, list) and any(
                isinstance(part, Mapping) and part.get("type") == "sequence" for part in parts
            ):
                raise MetadataError(f"{where}: a sequence must not hold another sequence")
            return _placement(parts, f"{where}.transformations", count)
        case "affine":
            return _diagonal(value.get("affine"), f"{where}.affine", count)
        case kind:
            raise MetadataError(
                f"{where}: the levels of a pyramid are read with transformations of type scale and"
                f" translation, with their numbers; found {show(kind)}"
            )


def _diagonal(value: Json, where: str, count: int | None) -> Placement:
    """An affine matrix that neither rotates nor shears."""
    if not isinstance(value, list) or not value or (count is not None and len(value) != count):
        raise MetadataError(f"{where}: expected a row for each axis, found {show(value)}")
    size = len(value)
    rows = [members.numbers(row, f"{where}[{at}]", size + 1) for at, row in enumerate(value)]
    for at, row in enumerate(rows):
        if any(number for column, number in enumerate(row[:size]) if column != at):
            raise MetadataError(f"{where}: rotations and shears are not read here")
    return tuple(row[at] for at, row in enumerate(rows)), tuple(row[size] for row in rows)


def _then(first: Placement | None, second: Placement | None) -> Placement | None:
    """One transformation after another."""
    if first is None or second is None:
        return first or second
    if len(first[0]) != len(second[0]):
        raise MetadataError("multiscales: transformations with different numbers of axes")
    scale = tuple(one * two for one, two in zip(first[0], second[0], strict=True))
    moved = zip(first[1], *second, strict=True)
    return scale, tuple(one * two + more for one, two, more in moved)


def _composed(placed: Placement | None, after: Placement | None) -> Placement:
    if placed is None and after is not None:
        raise MetadataError(
            "multiscales: the image has coordinateTransformations, but a dataset has none"
        )
    return _then(placed, after) or ((), ())


# -- writing --------------------------------------------------------------------------------------
def write(pyramid: Pyramid, attributes: Mapping[str, Json], version: str) -> dict[str, Json]:
    """The attributes of the group with the pyramid in them, and all else as it is."""
    check_writable(pyramid)
    entry: dict[str, Any] = {
        "axes": [_axis_document(axis) for axis in pyramid.axes],
        "datasets": [_dataset(level) for level in pyramid.levels],
    }
    if pyramid.name:
        entry = {"name": pyramid.name, **entry}
    if pyramid.method is not None:
        entry["type"] = pyramid.method
    if pyramid.metadata:
        entry["metadata"] = dict(pyramid.metadata)
    entry |= pyramid.extra if pyramid.convention.startswith("ome-") else {}
    if version == NEW:
        ome = {**members.mapping(attributes.get(KEY)), "version": "0.5", "multiscales": [entry]}
        return {**attributes, KEY: ome}
    return {**attributes, "multiscales": [{"version": "0.4", **entry}]}


def _axis_document(axis: Axis) -> dict[str, Json]:
    document = {"name": axis.name, "type": axis.type, "unit": axis.unit}
    return {name: value for name, value in document.items() if value is not None}


def _dataset(level: Level) -> dict[str, Json]:
    placed: list[Json] = [{"type": "scale", "scale": list(level.scale)}]
    if any(level.translation):
        placed.append({"type": "translation", "translation": list(level.translation)})
    return {"path": level.path, TRANSFORMATIONS: placed}
