"""CF's convention (document 003, 4.4.1; CF conventions, 5.6): a grid mapping variable.

An array names it in its attribute `grid_mapping`, alone or, in the extended form, with the
coordinates that it holds for: "osgb: x y wgs84: lat lon". The variable has `crs_wkt`, or parameters
that belong to `grid_mapping_name`. GDAL, rioxarray and odc-geo add `spatial_ref`, the same text,
and `GeoTransform`, six numbers in GDAL's order.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from omnizarr.conventions.geo import crs as systems
from omnizarr.conventions.geo.facts import Geo, Stated
from omnizarr.conventions.geo.transform import Transform, numbers, transform_of
from omnizarr.errors import MetadataError
from omnizarr.model import paths
from omnizarr.model.codec import Json
from omnizarr.model.json import show

ATTRIBUTE = "grid_mapping"
USUAL_NAME = "spatial_ref"
"""The variable's name where there is none yet; rioxarray and odc-geo call it so."""
_TEXTS = ("crs_wkt", USUAL_NAME)
_TRANSFORM = "GeoTransform"
_LONGEST = 256
"""Longer names are those of no variable."""


class GridMapping(NamedTuple):
    """A grid mapping variable that an array names."""

    name: str
    coordinates: tuple[str, ...] = ()
    """The coordinates that it holds for; empty in the simple form."""


def grid_mappings(attributes: Mapping[str, Json]) -> tuple[GridMapping, ...]:
    """The grid mappings that an array names."""
    found = attributes.get(ATTRIBUTE)
    if found is None:
        return ()
    words = found.split() if isinstance(found, str) else []
    if len(words) == 1 and not words[0].endswith(":"):
        return (GridMapping(words[0]),)
    starts = [place for place, word in enumerate(words) if word.endswith(":") and len(word) > 1]
    if not starts or starts[0] != 0:
        raise MetadataError(
            f"{ATTRIBUTE} must be the name of a variable, or 'name: coordinate coordinate …',"
            f" found {show(found)}"
        )
    ends = [*starts[1:], len(words)]
    return tuple(
        GridMapping(words[start][:-1], tuple(words[start + 1 : end]))
        for start, end in zip(starts, ends, strict=True)
    )


def chosen(attributes: Mapping[str, Json], dims: Collection[str | None]) -> GridMapping | None:
    """The grid mapping of the array's own dimensions, of several."""
    found = grid_mappings(attributes)
    own = [each for each in found if any(name in dims for name in each.coordinates)]
    return next(iter(own or found), None)


def places(name: str, group: str) -> Iterator[str]:
    """The paths at which a variable that an array in `group` names may be: beside it, then in the
    groups above; a name with a slash is a path. Nothing outside the store."""
    if "/" in name:
        found = [posixpath.normpath(posixpath.join("/" + group, name)).strip("/")]
    else:
        above = [group, *reversed(paths.ancestors(group))]
        found = [paths.join(each, name) for each in above]
    yield from (path for path in found if len(name) < _LONGEST and paths.is_key(path))


def is_grid_mapping(variable: Mapping[str, Json]) -> bool:
    """Whether a variable describes a reference system."""
    return not variable.keys().isdisjoint((*_TEXTS, "grid_mapping_name"))


def stated(variable: Mapping[str, Json], inherited: bool = False) -> Stated:
    """What the attributes of a grid mapping variable state; `inherited` if no array names it."""
    made = [systems.text(variable[name], name) for name in _TEXTS if variable.get(name) is not None]
    if isinstance(variable.get("grid_mapping_name"), str):
        wanted = {name: value for name, value in variable.items() if name not in _TEXTS}
        made.append(systems.members(wanted, ATTRIBUTE, "cf"))
    definitions = tuple(dict.fromkeys(made))
    return Stated("cf", definitions, transform(variable), inherited=inherited)


def transform(variable: Mapping[str, Json]) -> Transform | None:
    """The transform of a grid mapping variable; None if it has none."""
    found = variable.get(_TRANSFORM)
    if found is None:
        return None
    items: Json = found
    if isinstance(found, str):
        try:
            items = [float(word) for word in found.replace(",", " ").split()]
        except ValueError:
            items = None
    if items is None or not isinstance(items, list):
        raise MetadataError(f"{_TRANSFORM} must be six numbers, found {show(found)}")
    c, a, b, f, d, e = numbers(items, (6,), _TRANSFORM)
    return transform_of((a, b, c, d, e, f), _TRANSFORM)


def variable_for(geo: Geo) -> dict[str, Json]:
    """The attributes of a grid mapping variable that states these facts."""
    made: dict[str, Json] = {}
    if geo.crs is not None:
        made = json.loads(json.dumps(geo.crs.to_cf()))
        made |= dict.fromkeys(_TEXTS, geo.crs.to_wkt())
    if geo.transform is not None:
        a, b, c, d, e, f = geo.transform
        made[_TRANSFORM] = " ".join(map(repr, (c, a, b, f, d, e)))
    return made


def same_grid(variable: Mapping[str, Json], geo: Geo) -> bool:
    """Whether a variable states exactly these facts already."""
    return is_grid_mapping(variable) and variable_for(geo).items() <= dict(variable).items()


def without(attributes: Mapping[str, Json]) -> dict[str, Json]:
    """The attributes of an array without its grid mapping."""
    return {name: value for name, value in attributes.items() if name != ATTRIBUTE}
