"""Where on Earth a TIFF image lies, from the tags of GeoTIFF and GDAL, as attributes.

Written are the conventions `proj:` (the code of the coordinate reference system, also as GDAL's
`_CRS`) and `spatial:` (the affine transform), and coordinates of the centres of rows and columns
where they are straight.

This module knows tags. It must not know tiles, nor files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omnizarr.conventions.declarations import PROJ, SPATIAL, Convention, declare
from omnizarr.conventions.geo import gdal, geokeys
from omnizarr.conventions.geo.transform import transform_of
from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.grids import NDArray

_SCALE, _TIEPOINT, _MATRIX, _NODATA = 33550, 33922, 34264, 42113
_DIRECTORY, _DOUBLES, _TEXTS = 34735, 34736, 34737
_MOST_KEYS = 1 << 10
_MOST_STEPS = 1 << 20
"""The coordinates of longer sides are left out: the transform says the same."""


@dataclass(frozen=True)
class Placed:
    """What the tags say of one level."""

    attributes: dict[str, Json] = field(default_factory=dict)
    coordinates: dict[str, NDArray] = field(default_factory=dict)
    nodata: float | int | None = None
    geographic: bool = False

    def fill(self, dtype: np.dtype[Any]) -> Any:
        """The value that means "no data", if the type can hold it."""
        if self.nodata is None or dtype.kind not in "iuf":
            return None
        if dtype.kind == "f":
            with np.errstate(over="ignore"):
                return np.dtype(dtype).type(self.nodata)
        info = np.iinfo(dtype)
        whole = math.isfinite(self.nodata) and int(self.nodata) == self.nodata
        return dtype.type(self.nodata) if whole and info.min <= self.nodata <= info.max else None

    def axis(self, name: str) -> dict[str, Json]:
        """The attributes of a coordinate."""
        if not self.geographic:
            return {"standard_name": f"projection_{name}_coordinate"}
        long = name == "x"
        return {
            "standard_name": "longitude" if long else "latitude",
            "units": "degrees_east" if long else "degrees_north",
        }


def describe(page: Any, scale: Sequence[float], size: tuple[int, int]) -> Placed:
    """The facts of a level whose pixels are `scale` (rows, columns) times as large as those of the
    page with the tags, and which has `size` rows and columns."""
    keys = _keys(page)
    transform = _transform(page, keys)
    attributes: dict[str, Json] = {}
    coordinates: dict[str, NDArray] = {}
    used: list[Convention] = []
    code, geographic = _code(keys)
    nodata = _nodata(page.tags.valueof(_NODATA))
    if transform is not None:
        a, b, c, d, e, f = transform
        a, b, d, e = a * scale[1], b * scale[0], d * scale[1], e * scale[0]
        attributes |= {
            "spatial:dimensions": ["y", "x"], "spatial:transform": [a, b, c, d, e, f],
        }  # fmt: skip
        used.append(SPATIAL)
        if b == 0 and d == 0 and max(size) <= _MOST_STEPS:
            coordinates["x"] = c + (np.arange(size[1]) + 0.5) * a
            coordinates["y"] = f + (np.arange(size[0]) + 0.5) * e
    found = {"proj:code": code} if code is not None else _other_system(keys)
    attributes |= found
    if code is not None:  # GDAL before 3.13 does not know proj:code
        attributes |= gdal.by_code(code)
    if found and "geotiff_keys" not in found:
        used.insert(0, PROJ)
    if keys.get(geokeys.RASTER) == 2:
        attributes["AREA_OR_POINT"] = "Point"
    if used:
        attributes = declare(attributes, *used)
    return Placed(attributes, coordinates, nodata, geographic)


def _transform(page: Any, keys: Mapping[int, Any]) -> tuple[float, ...] | None:
    """From columns and rows to coordinates, as (a, b, c, d, e, f): x = a column + b row + c."""
    matrix = _numbers(page.tags.valueof(_MATRIX), 16)
    scale = _numbers(page.tags.valueof(_SCALE), 3)
    tie = _numbers(page.tags.valueof(_TIEPOINT), 6)
    if matrix is not None:
        a, b, _, c, d, e, _, f = matrix[:8]
    elif scale is not None and tie is not None:
        a, b, c = scale[0], 0.0, tie[3] - tie[0] * scale[0]
        d, e, f = 0.0, -scale[1], tie[4] + tie[1] * scale[1]
    else:
        return None
    if keys.get(geokeys.RASTER) == 2:  # tie points are centres of pixels
        c, f = c - (a + b) / 2, f - (d + e) / 2
    try:
        return transform_of((a, b, c, d, e, f))
    except MetadataError:  # pixels without a size, say
        return None


def _numbers(value: Any, count: int) -> list[float] | None:
    if not isinstance(value, tuple | list) or len(value) < count:
        return None
    found = [float(number) for number in value[:count]]
    return found if all(map(math.isfinite, found)) else None


def _code(keys: Mapping[int, Any]) -> tuple[str | None, bool]:
    """The EPSG code, and whether it is one of longitudes and latitudes."""
    geographic = keys.get(geokeys.MODEL) == 2 or geokeys.PROJECTED not in keys
    code = keys.get(geokeys.GEODETIC if geographic else geokeys.PROJECTED)
    if isinstance(code, int) and 0 < code < geokeys.USER_DEFINED:
        return f"EPSG:{code}", geographic
    return None, False


def _keys(page: Any) -> dict[int, Any]:
    """The keys of GeoTIFF by their numbers."""
    tags = [page.tags.valueof(code) for code in (_DIRECTORY, _DOUBLES, _TEXTS)]
    directory, doubles, texts = tags
    if not isinstance(directory, tuple | list) or not all(type(n) is int for n in directory):
        return {}
    doubles = doubles if isinstance(doubles, tuple | list) else ()
    texts = texts if isinstance(texts, str) else ""
    found: dict[int, Any] = {}
    for at in range(4, min(len(directory), 4 * _MOST_KEYS) - 3, 4):
        key, tag, count, value = directory[at : at + 4]
        if tag == 0:
            found[key] = value
        elif tag == _DOUBLES and count == 1 and value < len(doubles):
            found[key] = float(doubles[value])
        elif tag == _TEXTS:
            found[key] = texts[value : value + count].rstrip("|\0")
    return found


def _other_system(keys: Mapping[int, Any]) -> dict[str, Json]:
    """A system without a code, as WKT; its keys, if that is not possible."""
    if keys.get(geokeys.MODEL) not in (1, 2, 3) and geokeys.METHOD not in keys:
        return {}
    try:
        crs = geokeys.system(keys)
    except Exception:  # pyproj is not there, or keys that it does not understand
        crs = None
    if crs is not None:
        return {"proj:wkt2": crs.to_wkt()}
    return {"geotiff_keys": {str(key): value for key, value in keys.items()}}


def _nodata(value: Any) -> float | int | None:
    try:
        text = value.strip("\0 ") if isinstance(value, str) else ""
        whole = text.lstrip("+-").isdigit() and len(text) <= 20  # as far as integers reach
        return int(text) if whole else float(text) if text else None
    except ValueError:
        return None
