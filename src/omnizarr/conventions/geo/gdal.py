"""GDAL's own convention (document 003, 4.4.2): the attribute `_CRS` of an array.

`_CRS` is an object with `url`, `wkt` and `projjson`, which are read in this order. It says nothing
about the transform: the 1-d coordinate variables do. `AREA_OR_POINT` is "Point" if a value belongs
to the centre of its cell and not to the whole of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from omnizarr.conventions.geo import crs as systems
from omnizarr.conventions.geo.crs import Definition
from omnizarr.conventions.geo.facts import Geo, Registration, Stated
from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.json import show

ATTRIBUTE = "_CRS"
POINT = "AREA_OR_POINT"
_URL = "http://www.opengis.net/def/crs/EPSG/0/"


def stated(attributes: Mapping[str, Json]) -> Stated | None:
    """What the attributes of an array state; None if it does not follow this convention."""
    if attributes.get(ATTRIBUTE) is None:
        return None
    return Stated("gdal", definitions(attributes[ATTRIBUTE]), registration=registered(attributes))


def definitions(found: Json) -> tuple[Definition, ...]:
    """The definitions that `_CRS` has, the one that counts first."""
    if not isinstance(found, Mapping) or not found.keys() & {"url", "wkt", "projjson"}:
        raise MetadataError(
            f"{ATTRIBUTE} must be an object with url, wkt or projjson, found {show(found)}"
        )
    made = [
        systems.text(found[name], f"{ATTRIBUTE}.{name}")
        for name in ("url", "wkt")
        if found.get(name) is not None
    ]
    if found.get("projjson") is not None:
        made.append(systems.members(found["projjson"], f"{ATTRIBUTE}.projjson", "projjson"))
    return tuple(made)


def registered(attributes: Mapping[str, Json]) -> Registration | None:
    """What `AREA_OR_POINT` says, which others write without `_CRS`."""
    names: dict[object, Registration] = {"Area": "pixel", "Point": "node"}
    found = attributes.get(POINT)
    return names.get(found) if isinstance(found, str) else None


def attributes_for(geo: Geo) -> dict[str, Json]:
    """The attributes of an array that state these facts."""
    made = point(geo)
    if geo.crs is not None:
        texts = {"wkt": geo.crs.to_wkt(), "projjson": json.loads(geo.crs.to_json())}
        coded = by_code(systems.code(geo.crs) or "").get(ATTRIBUTE, {})
        made[ATTRIBUTE] = {**texts, **coded}
    return made


def by_code(code: str) -> dict[str, Json]:
    """The attribute for a code such as "EPSG:32631", which needs no pyproj."""
    authority, _, number = code.partition(":")
    return {ATTRIBUTE: {"url": _URL + number}} if authority == "EPSG" else {}


def point(geo: Geo) -> dict[str, Json]:
    """`AREA_OR_POINT` alone."""
    return {POINT: "Point" if geo.registration == "node" else "Area"}


def without(attributes: Mapping[str, Json]) -> dict[str, Json]:
    """The attributes without this convention."""
    return {name: value for name, value in attributes.items() if name not in (ATTRIBUTE, POINT)}
