"""The tags of GeoTIFF and GDAL for an array: where it is, what its bands are, what "no data" is.

This module knows attributes and tags. It must not know tiles, nor files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import numpy as np

from omnizarr.api.virtual.gdal_metadata import METADATA, ROLES
from omnizarr.conventions.geo import geokeys
from omnizarr.errors import ZarrError
from omnizarr.jobs.pyramids.nodata import nodata_of
from omnizarr.nodes.array import Array

Tag = tuple[int, str, int, Any, bool]
_SCALE, _TIEPOINT, _MATRIX, _NODATA = 33550, 33922, 34264, 42113
_DIRECTORY, _DOUBLES, _TEXTS = 34735, 34736, 34737
_MEMBERS = {member: role for role, member in ROLES.items()}
_INTERPRETED = {"red", "green", "blue", "alpha"}


def is_point(array: Array) -> bool:
    """Whether values belong to the centres of their cells."""
    return array.attrs.get("AREA_OR_POINT") == "Point" or _registration(array) == "node"


def _registration(array: Array) -> str:
    try:
        return array.geo.registration
    except ZarrError:
        return "pixel"


def obstacles(array: Array) -> list[str]:
    """What the tags cannot express."""
    found = []
    try:
        crs = array.geo.crs
        if geokeys.keys_for(crs) is None:
            found.append(
                f"GeoTIFF's keys cannot express the reference system {crs.name!r}; give the array"  # type: ignore[union-attr]  # None has keys
                " another one, or leave it out with crs=False"
            )
    except ZarrError as error:
        found.append(f"the reference system: {error}; leave it out with crs=False")
    return found


def place_tags(array: Array, crs: bool) -> list[Tag]:
    """Where the array is."""
    geo, point = array.geo, is_point(array)
    system = geo.crs if crs else None
    keys = geokeys.keys_for(system, point=point)
    if crs and system is None and "geotiff_keys" in array.attrs:
        keys = geokeys.given(array.attrs["geotiff_keys"], point=point) or keys
    transform = geo.transform
    if keys is None or (transform is None and len(keys.directory) == 8):
        return []  # nothing is known but the kind of raster
    tags: list[Tag] = [(_DIRECTORY, "H", len(keys.directory), keys.directory, True)]
    if keys.doubles:
        tags.append((_DOUBLES, "d", len(keys.doubles), keys.doubles, True))
    if keys.text:
        tags.append((_TEXTS, "s", 0, keys.text, True))
    if transform is None:
        return tags
    a, b, c, d, e, f = transform
    if point:
        c, f = c + (a + b) / 2, f + (d + e) / 2
    if b == 0 and d == 0 and e < 0:
        tags.append((_SCALE, "d", 3, (a, -e, 0.0), True))
        tags.append((_TIEPOINT, "d", 6, (0.0, 0.0, 0.0, c, f, 0.0), True))
    else:
        rows = (a, b, 0.0, c, d, e, 0.0, f, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        tags.append((_MATRIX, "d", 16, rows, True))
    return tags


def nodata_tags(array: Array, given: Any) -> list[Tag]:
    """The value that means "no data": the one given, or for "auto" what the array says."""
    value = nodata_of(given, array)
    if value is None or np.asarray(value).dtype.kind not in "iuf":
        return []
    number = np.asarray(value)[()]
    if number != number:
        text = "nan"
    elif np.asarray(value).dtype.kind == "f":
        text = repr(float(number)) if abs(float(number)) != float("inf") else str(float(number))
    else:
        text = str(int(number))
    return [(_NODATA, "s", 0, text, True)]


def bands_of(array: Array, count: int) -> list[dict[str, Any]]:
    """What is known of each band."""
    found = array.attrs.get("bands")
    listed = found if isinstance(found, list) and len(found) == count else [{}] * count
    bands = [dict(band) if isinstance(band, Mapping) else {} for band in listed]
    for name, member in (("scale_factor", "scale"), ("add_offset", "offset"), ("units", "unit"),
                         ("long_name", "description")):  # fmt: skip
        value = array.attrs.get(name)
        several = value if isinstance(value, list) and len(value) == count else None
        for at, band in enumerate(bands):
            own = value if several is None else several[at]
            if own is not None and (member != "description" or count == 1 or several is not None):
                band.setdefault(member, own)
    return bands


def colours(bands: list[dict[str, Any]]) -> list[str]:
    """The colour that each band stands for, "" if none is known."""
    return [str(band.get("color_interpretation", "")) for band in bands]


def metadata_tags(array: Array, bands: list[dict[str, Any]]) -> list[Tag]:
    """GDAL's metadata of the image and its bands."""
    root = ElementTree.Element("GDALMetadata")
    domains = array.attrs.get("gdal_metadata")
    _items(root, domains if isinstance(domains, Mapping) else {}, None)
    for number, band in enumerate(bands):
        for member, role in _MEMBERS.items():
            value = band.get(member)
            if value in (None, "") or not isinstance(value, str | int | float):
                continue
            if role == "colorinterp":
                value = str(value).capitalize() if value in _INTERPRETED else value
            _item(root, role.upper(), value, sample=str(number), role=role)
        own = band.get("metadata")
        _items(root, own if isinstance(own, Mapping) else {}, number)
    if not len(root):
        return []
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    data = text.encode("ascii", "xmlcharrefreplace").decode("ascii")
    return [(METADATA, "s", 0, data, True)]


def _items(root: ElementTree.Element, domains: Mapping[str, Any], sample: int | None) -> None:
    for domain, items in domains.items():
        for name, value in (items if isinstance(items, Mapping) else {}).items():
            more = {"domain": domain} if domain else {}
            if sample is not None:
                more["sample"] = str(sample)
            _item(root, name, value, **more)


def _item(root: ElementTree.Element, name: str, value: object, **attributes: str) -> None:
    item = ElementTree.SubElement(root, "Item", {"name": name, **attributes})
    item.text = "".join(c for c in str(value) if c in "\t\n" or c >= " ")
