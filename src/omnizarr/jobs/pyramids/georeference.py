"""Where a smaller level lies on a map: attributes of the largest level become those of a level.

`spatial:transform`, `spatial:shape` and `spatial:bbox` of the `spatial:` convention, and
`GeoTransform` of a grid mapping variable, count in elements; a level has fewer. All else, the
reference system above all, is the same for all levels. Elements of a level stand for whole blocks,
whatever the method, so the outer corner stays, and a level may reach beyond the last element of the
largest. What is not as expected stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

from omnizarr.conventions.declarations import PROJ, SPATIAL, declare, declared
from omnizarr.conventions.geo import cf, resolution
from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json

TRANSFORM, SHAPE, DIMENSIONS = "spatial:transform", "spatial:shape", "spatial:dimensions"
BOX, REGISTRATION = "spatial:bbox", "spatial:registration"
GEOTRANSFORM = "GeoTransform"


def level_attributes(
    attributes: Mapping[str, Json],
    names: Sequence[str],
    factors: Sequence[int],
    shape: Sequence[int],
) -> dict[str, Json]:
    """The attributes of an array, or of the group around it, at a smaller level. `names`, `factors`
    and `shape` are those of the axes."""
    found = dict(attributes)
    axes = _axes(attributes, names)
    if axes is None:
        return found
    rows, columns = axes
    numbers = _numbers(found.get(TRANSFORM))
    if numbers is not None:
        node = found.get(REGISTRATION) == "node"
        numbers = _coarser(numbers, factors[rows], factors[columns], node)
        found[TRANSFORM] = list(numbers)
        if BOX in found and not numbers[1] and not numbers[3]:
            a, _, c, _, e, f = numbers
            right, bottom = c + a * (shape[columns] - node), f + e * (shape[rows] - node)
            found[BOX] = [min(c, right), min(f, bottom), max(c, right), max(f, bottom)]
    if SHAPE in found:
        found[SHAPE] = [shape[rows], shape[columns]]
    with suppress(MetadataError):
        numbers = cf.transform(found)
        if numbers is not None:  # GDAL's order: c a b f d e
            a, b, c, d, e, f = _coarser(numbers, factors[rows], factors[columns])
            found[GEOTRANSFORM] = " ".join(repr(number) for number in (c, a, b, f, d, e))
    return found


def group_attributes(attributes: Mapping[str, Json], image: Mapping[str, Json]) -> dict[str, Json]:
    """The attributes of a pyramid's group, with what those of the image say of the map: OpenLayers
    looks for all conventions there. Shape and transform are those of a level."""
    stated = [each for each in (PROJ, SPATIAL) if declared(image, each)]
    prefixes = tuple(each.name for each in stated)
    found = {
        name: value
        for name, value in image.items()
        if prefixes and name.startswith(prefixes) and name not in (TRANSFORM, SHAPE)
    }
    return declare({**attributes, **found}, *stated) if stated else dict(attributes)


def _coarser(
    affine: Sequence[float], rows: int, columns: int, node: bool = False
) -> tuple[float, ...]:
    """The transform of blocks of so many rows and columns. It begins at the corner of the first
    one; or in its centre, as that of single elements does then."""
    a, b, c, d, e, f = affine
    if node:
        right, down = (columns - 1) / 2, (rows - 1) / 2
        c, f = c + a * right + b * down, f + d * right + e * down
    return a * columns, b * rows, c, d * columns, e * rows, f


def placed_by_transform(
    documents: Iterable[Mapping[str, Json]], names: Sequence[str]
) -> frozenset[str]:
    """The axes of which a stored transform says where their elements are."""
    for attributes in documents:
        axes = _axes(attributes, names)
        if axes is not None and {TRANSFORM, GEOTRANSFORM} & {*attributes}:
            return frozenset(names[axis] for axis in axes)
    return frozenset()


def _axes(attributes: Mapping[str, Json], names: Sequence[str]) -> tuple[int, int] | None:
    """Which axes are rows and columns: those that are stated, else by their names, else the last
    two, as `Array.geo` finds them."""
    stated = attributes.get(DIMENSIONS)
    pair = (
        (stated[0], stated[1])
        if isinstance(stated, list) and len(stated) == 2 and all(one in names for one in stated)
        else None
    )
    return resolution.axes(tuple(names), pair, {}, located=True)


def _numbers(value: Any) -> tuple[float, ...] | None:
    if not isinstance(value, list) or len(value) != 6:
        return None
    try:
        numbers = tuple(float(one) for one in value)
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if all(map(isfinite, numbers)) else None
