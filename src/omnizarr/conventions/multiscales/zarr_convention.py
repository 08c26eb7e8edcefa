"""The convention `multiscales` of 2026: an object whose layout says what each level is made from.

`transform` leads from the indices of a level to those of the level in `derived_from`, or, where
there is none, to the world. `spatial:transform`, where a level has one, says where it is on a map,
in the order of rasterio and from the corners of its pixels; then that is the world.
https://github.com/zarr-conventions/multiscales
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from omnizarr.conventions.declarations import MULTISCALES, declare
from omnizarr.conventions.multiscales import members
from omnizarr.conventions.multiscales.facts import Level, Pyramid, check_writable
from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json

NAME = "multiscales"
PLACE = "spatial:transform"
_KNOWN = ("layout", "resampling_method")
_LEVEL = ("asset", "derived_from", "transform")
_Transform = tuple[tuple[float, ...], tuple[float, ...]]


def read(value: Mapping[str, Json], attributes: Mapping[str, Json]) -> Pyramid:
    """The object `multiscales`; MetadataError if it is broken."""
    layout = members.objects(value.get("layout"), "multiscales.layout")
    relative: dict[str, tuple[str | None, _Transform]] = {}
    for position, item in enumerate(layout):
        where = f"multiscales.layout[{position}]"
        path = members.path(item.get("asset"), f"{where}.asset")
        if path in relative:
            raise MetadataError(f"{where}.asset: the level {path!r} is there twice")
        source = item.get("derived_from")
        parent = None if source is None else members.path(source, f"{where}.derived_from")
        relative[path] = parent, _transform(item, where)
    levels = []
    registration = attributes.get("spatial:registration", "pixel")
    dims = _dimensions(attributes.get("spatial:dimensions"))
    for item, path in zip(layout, relative, strict=True):
        mapped = _on_map(item, path, registration)
        scale, translation = mapped or _absolute(path, relative)
        extra = members.rest(item, _LEVEL)
        levels.append(Level(path, None, scale, translation, extra, mapped is not None, dims))
    return Pyramid(
        (),
        tuple(levels),
        "",
        members.text(value.get("resampling_method"), "multiscales.resampling_method"),
        {},
        NAME,
        members.rest(value, _KNOWN),
    )


def _transform(item: Mapping[str, Json], where: str) -> _Transform:
    # Drafts had scale and translation beside `asset`.
    transform = members.mapping(item.get("transform", item))
    scale = transform.get("scale")
    translation = transform.get("translation")
    scales = () if scale is None else members.numbers(scale, f"{where}.transform.scale")
    if translation is None:
        return scales, (0.0,) * len(scales)
    moved = members.numbers(
        translation, f"{where}.transform.translation", len(scales) if scales else None
    )
    return scales or (1.0,) * len(moved), moved


def _absolute(path: str, relative: Mapping[str, tuple[str | None, _Transform]]) -> _Transform:
    """What leads from a level's indices through all levels that it is derived from."""
    parent, (scale, translation) = relative[path]
    seen = {path}
    while parent is not None and scale:
        if parent in seen or parent not in relative:
            what = "from itself" if parent in seen else f"from {parent!r}, which is no level"
            raise MetadataError(f"multiscales: the level {path!r} is derived {what}")
        seen.add(parent)
        parent, (factors, moved) = relative[parent]
        if not factors:
            factors, moved = (1.0,) * len(scale), (0.0,) * len(scale)
        if len(factors) != len(scale):
            raise MetadataError(f"multiscales: scales of different lengths above level {path!r}")
        both = zip(translation, factors, moved, strict=True)
        translation = tuple(one * factor + more for one, factor, more in both)
        scale = tuple(one * factor for one, factor in zip(scale, factors, strict=True))
    return scale, translation


def _on_map(item: Mapping[str, Json], path: str, registration: Json) -> _Transform | None:
    """Scale and translation of rows and columns on a map, if the level says so."""
    if PLACE not in item:
        return None
    affine = members.numbers(item[PLACE], f"multiscales: level {path!r}: {PLACE}", 6)
    if affine[1] or affine[3]:
        return None  # a rotated map has no scale along its axes
    half = 0.0 if registration == "node" else 0.5
    scale = affine[4], affine[0]
    return scale, (affine[5] + half * scale[0], affine[2] + half * scale[1])


def _dimensions(value: Json) -> tuple[str, str] | None:
    names = value if isinstance(value, list) else []
    return (str(names[0]), str(names[1])) if len(names) == 2 else None


# -- writing --------------------------------------------------------------------------------------
def write(pyramid: Pyramid, attributes: Mapping[str, Json]) -> dict[str, Json]:
    """The attributes of the group with the pyramid in them, declared, and all else as it is."""
    check_writable(pyramid)
    layout: list[dict[str, Any]] = []
    before: Level | None = None
    for level in pyramid.levels:
        item: dict[str, Any] = {"asset": level.path}
        if before is not None:
            item["derived_from"] = before.path
        item["transform"] = _relative(level, before)
        if before is not None and pyramid.method is not None:
            item["resampling_method"] = pyramid.method
        layout.append({**item, **level.extra})
        before = level
    value: dict[str, Any] = {"layout": layout}
    if pyramid.method is not None:
        value["resampling_method"] = pyramid.method
    if pyramid.convention == NAME:
        value |= pyramid.extra
    return {**declare(attributes, MULTISCALES), "multiscales": value}


def _relative(level: Level, before: Level | None) -> dict[str, Json]:
    if before is None:
        if PLACE in level.extra:  # which says where it is
            level = replace(
                level, scale=(1.0,) * len(level.scale), translation=(0.0,) * len(level.scale)
            )
        return {"scale": list(level.scale), "translation": list(level.translation)}
    scale = [one / above for one, above in zip(level.scale, before.scale, strict=True)]
    moved = zip(level.translation, before.translation, before.scale, strict=True)
    return {"scale": scale, "translation": [(one - above) / unit for one, above, unit in moved]}
