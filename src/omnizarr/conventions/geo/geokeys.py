"""Reference systems as the keys of GeoTIFF 1.1, both ways.

Registered systems are EPSG codes. Others are the parameters of one of the projections in
`_PROJECTIONS`, on a registered datum or on an ellipsoid of two numbers, in metres. CF's grid
mappings lead from and to pyproj's objects.

This module knows keys. It must not know tags, nor files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from omnizarr.conventions.geo import crs as systems

if TYPE_CHECKING:
    import pyproj

USER_DEFINED = 32767
MODEL, RASTER, CITATION = 1024, 1025, 1026
GEODETIC, GEODETIC_CITATION, DATUM, ANGULAR = 2048, 2049, 2050, 2054
SEMI_MAJOR, SEMI_MINOR, INVERSE_FLATTENING = 2057, 2058, 2059
PROJECTED, PROJECTED_CITATION, PROJECTION, METHOD, LINEAR = 3072, 3073, 3074, 3075, 3076
VERTICAL = 4096
_METRE, _DEGREE = 9001, 9102
_MOST_KEYS = 1 << 10
_EASTING, _NORTHING = ("false_easting", 3082), ("false_northing", 3083)
_ORIGIN = "latitude_of_projection_origin"

_PROJECTIONS: dict[int, tuple[str, tuple[tuple[str, int], ...]]] = {
    1: ("transverse_mercator", (
        ("longitude_of_central_meridian", 3080), (_ORIGIN, 3081),
        ("scale_factor_at_central_meridian", 3092), _EASTING, _NORTHING)),
    8: ("lambert_conformal_conic", (
        ("standard_parallel", 3078), ("standard_parallel", 3079),
        ("longitude_of_central_meridian", 3084), (_ORIGIN, 3085),
        ("false_easting", 3086), ("false_northing", 3087))),
    10: ("lambert_azimuthal_equal_area", (
        ("longitude_of_projection_origin", 3088), (_ORIGIN, 3089), _EASTING, _NORTHING)),
    11: ("albers_conical_equal_area", (
        ("standard_parallel", 3078), ("standard_parallel", 3079),
        ("longitude_of_central_meridian", 3080), (_ORIGIN, 3081), _EASTING, _NORTHING)),
    12: ("azimuthal_equidistant", (
        ("longitude_of_projection_origin", 3088), (_ORIGIN, 3089), _EASTING, _NORTHING)),
    24: ("sinusoidal", (("longitude_of_projection_origin", 3088), _EASTING, _NORTHING)),
}  # fmt: skip
"""CF's name, and CF's parameters with their keys, by the number of the method."""


class Keys(NamedTuple):
    """The three tags: the directory, numbers and texts."""

    directory: tuple[int, ...]
    doubles: tuple[float, ...]
    text: str


# -- reading --------------------------------------------------------------------------------------
def system(keys: Mapping[int, Any]) -> pyproj.CRS | None:
    """The reference system of keys without a code; None if they are none of those known here."""
    method, linear = keys.get(METHOD), keys.get(LINEAR, _METRE)
    angular = keys.get(ANGULAR, _DEGREE)
    if method not in _PROJECTIONS or linear != _METRE or angular != _DEGREE:
        return None
    name, parameters = _PROJECTIONS[method]
    mapping: dict[str, Any] = {"grid_mapping_name": name}
    for parameter, key in parameters:
        default = 1.0 if parameter.startswith("scale") else 0.0
        value = float(keys.get(key, default))
        if parameter in mapping:
            value = [mapping[parameter], value]  # type: ignore[assignment]  # two parallels
        mapping[parameter] = value
    pyproj = systems.pyproj_package()
    base = _geodetic(pyproj, keys)
    if base is None:
        return None
    conversion = pyproj.CRS.from_cf(mapping).coordinate_operation
    title = str(keys.get(PROJECTED_CITATION) or keys.get(CITATION) or "unknown").strip("|\0 ")
    return pyproj.crs.ProjectedCRS(conversion, title or "unknown", geodetic_crs=base)  # type: ignore[no-any-return]


def _geodetic(pyproj: Any, keys: Mapping[int, Any]) -> Any:
    code, datum = keys.get(GEODETIC, USER_DEFINED), keys.get(DATUM, USER_DEFINED)
    if 0 < code < USER_DEFINED:
        return pyproj.CRS.from_epsg(code)
    if 0 < datum < USER_DEFINED:
        return pyproj.crs.GeographicCRS(datum=pyproj.crs.Datum.from_epsg(datum))
    axis, flattening = keys.get(SEMI_MAJOR), keys.get(INVERSE_FLATTENING)
    if axis is None or (flattening is None and keys.get(SEMI_MINOR) is None):
        return None
    shape = {"inverse_flattening": flattening} if flattening else {
        "semi_minor_axis": keys.get(SEMI_MINOR, axis)
    }  # fmt: skip
    ellipsoid = pyproj.crs.datum.CustomEllipsoid(semi_major_axis=axis, **shape)
    return pyproj.crs.GeographicCRS(datum=pyproj.crs.datum.CustomDatum(ellipsoid=ellipsoid))


# -- writing --------------------------------------------------------------------------------------
def keys_for(crs: pyproj.CRS | None, *, point: bool = False) -> Keys | None:
    """The keys of a system; None if GeoTIFF cannot express it.

    Parameters
    ----------
    crs
        The system; None writes the kind of raster alone.
    point
        Whether values belong to the centres of pixels.
    """
    found: dict[int, int | float | str] = {RASTER: 2 if point else 1}
    if crs is not None:
        horizontal: Any = crs
        if crs.is_compound:
            horizontal, vertical = crs.sub_crs_list[:2]
            code = vertical.to_epsg()
            if code is None:
                return None
            found[VERTICAL] = code
        if horizontal.is_bound:
            horizontal = horizontal.source_crs
        own = _horizontal(horizontal)
        if own is None:
            return None
        found |= own
    return _packed(found)


def given(stored: object, *, point: bool = False) -> Keys | None:
    """The keys that `virtualize` kept, because it knows no system for them; None if they are not
    such."""
    found: dict[int, int | float | str] = {}
    if not isinstance(stored, Mapping) or len(stored) > _MOST_KEYS:
        return None
    for key, value in stored.items():
        fits = isinstance(value, float | str) or (type(value) is int and 0 <= value < 1 << 16)
        if not (str(key).isdecimal() and len(str(key)) < 6 and fits):
            return None
        found[int(key)] = _ascii(value) if isinstance(value, str) else value
    return _packed({**found, RASTER: 2 if point else 1})


def _horizontal(crs: Any) -> dict[int, int | float | str] | None:
    code = crs.to_epsg(min_confidence=100) or crs.to_epsg()
    found: dict[int, int | float | str] = {CITATION: _ascii(crs.name)}
    if crs.is_geographic:
        if crs.is_derived:  # a rotated pole, say
            return None
        found[MODEL] = 2
        base = _base(crs)
        return None if base is None else found | base
    if crs.is_geocentric and code:
        return found | {MODEL: 3, GEODETIC: code}
    if not crs.is_projected:
        return None
    found[MODEL] = 1
    if code:
        return found | {PROJECTED: code}
    mapping = crs.to_cf()
    base = _base(crs.geodetic_crs)
    method = next((number for number, (name, _) in _PROJECTIONS.items()
                   if name == mapping.get("grid_mapping_name")), None)  # fmt: skip
    metres = all(axis.unit_conversion_factor == 1 for axis in crs.axis_info)
    if method is None or base is None or not metres:
        return None
    found |= base | {PROJECTED: USER_DEFINED, PROJECTION: USER_DEFINED, METHOD: method,
                     LINEAR: _METRE}  # fmt: skip
    used = {"grid_mapping_name"}
    parallels = mapping.get("standard_parallel")
    several = list(parallels) if isinstance(parallels, list | tuple) else [parallels] * 2
    for parameter, key in _PROJECTIONS[method][1]:
        value = several.pop(0) if parameter == "standard_parallel" else mapping.get(parameter)
        if value is None:
            value = 1.0 if parameter.startswith("scale") else 0.0
        found[key] = float(value)
        used.add(parameter)
    left = {name for name in mapping if name.startswith(("standard_p", "scale_f", "latitude_of"))}
    return None if left - used else found


def _base(crs: Any) -> dict[int, int | float | str] | None:
    """The keys of a geodetic system."""
    code = crs.to_epsg(min_confidence=100) or crs.to_epsg()
    if code:
        return {GEODETIC: code, ANGULAR: _DEGREE}
    ellipsoid, meridian = crs.ellipsoid, crs.prime_meridian
    if ellipsoid is None or (meridian is not None and meridian.longitude):
        return None
    found: dict[int, int | float | str] = {
        GEODETIC: USER_DEFINED, GEODETIC_CITATION: _ascii(crs.name), DATUM: USER_DEFINED,
        ANGULAR: _DEGREE, SEMI_MAJOR: float(ellipsoid.semi_major_metre),
    }  # fmt: skip
    datum = crs.datum.to_json_dict().get("id", {}) if crs.datum else {}
    if datum.get("authority") == "EPSG" and isinstance(datum.get("code"), int):
        found[DATUM] = datum["code"]
    elif crs.datum is not None and "World Geodetic System 1984" in crs.datum.name:
        found[DATUM] = 6326
    if ellipsoid.inverse_flattening:
        found[INVERSE_FLATTENING] = float(ellipsoid.inverse_flattening)
    else:
        found[SEMI_MINOR] = float(ellipsoid.semi_minor_metre)
    return found


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode().replace("|", " ")


def _packed(found: Mapping[int, int | float | str]) -> Keys:
    directory = [1, 1, 0, len(found)]
    doubles: list[float] = []
    text = ""
    for key in sorted(found):
        value = found[key]
        if isinstance(value, str):
            directory += [key, 34737, len(value) + 1, len(text)]
            text += value + "|"
        elif isinstance(value, float):
            directory += [key, 34736, 1, len(doubles)]
            doubles.append(value)
        else:
            directory += [key, 0, 1, value]
    return Keys(tuple(directory), tuple(doubles), text)
