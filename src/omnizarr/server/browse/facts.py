"""What the page tells about a node: metadata as stored and as understood, attributes, dimensions.

This module knows the public API of arrays and groups. It must not read values of arrays.
"""

from __future__ import annotations

from math import prod
from typing import Any

import omnizarr
from omnizarr.errors import ZarrError
from omnizarr.server.browse.plain import plain
from omnizarr.server.browse.times import times

PACKED = (
    *("scale_factor", "add_offset", "_FillValue", "missing_value"),
    *("valid_min", "valid_max", "valid_range", "_Unsigned"),
)
"""Attributes that say how values are packed."""
_TITLES = {0: "Zarr 0", 1: "Zarr 1", 2: "Zarr 2", 3: "Zarr 3", "n5": "N5"}
_FAILURES = (ZarrError, ValueError, TypeError, KeyError, ImportError, OSError)


def short(path: str, name: str, node: Any) -> dict[str, Any]:
    """One line of the tree; the node may be the error of one that cannot be read."""
    if isinstance(node, Exception):
        return {"path": path, "name": name, "kind": "damaged"}
    if not isinstance(node, omnizarr.Array):
        return {"path": path, "name": name, "kind": "group"}
    return {
        "path": path,
        "name": name,
        "kind": "array",
        "shape": list(node.shape),
        "dtype": str(node.data_type),
    }


def of_node(node: Any, path: str, group: Any) -> dict[str, Any]:
    """Everything about a node; `group` holds it."""
    name = str(node.zarr_format)
    facts: dict[str, Any] = {
        "path": path,
        "name": path.rpartition("/")[2],
        "kind": "array" if isinstance(node, omnizarr.Array) else "group",
        "format": _TITLES.get(node.zarr_format, name),
        "attributes": plain(node.attrs.asdict()),
        "document": plain(node.metadata.to_dict()),
    }
    if facts["kind"] == "group":
        return facts | {"multiscale": _multiscale(node, path)}
    return facts | _of_array(node, path, group)


def _of_array(array: Any, path: str, group: Any) -> dict[str, Any]:
    problems: list[str] = []
    facts: dict[str, Any] = {
        "shape": list(array.shape),
        "dtype": str(array.data_type),
        "type": value_type(array.dtype),
        "fields": list(array.dtype.names or ()),
        "size": plain(array.size),
        "bytes": None if array.dtype.kind in "OT" else plain(array.nbytes),
        "order": array.order,
        "packed": any(name in array.attrs for name in PACKED),
    }
    try:
        facts |= {
            "fill_value": plain(_fill_value(array)),
            "chunks": lengths_of(array.chunks),
            "shards": None if array.shards is None else lengths_of(array.shards),
            "grid": list(array.cdata_shape),
            "codecs": [_codec(codec) for codec in array.metadata.model.codecs],
        }
    except _FAILURES as error:
        problems.append(str(error))
    facts["dims"] = dimensions(array, path, group)
    above = path.rpartition("/")[0]
    facts["multiscale"] = None if group is None else _multiscale(group, above, path)
    if facts["multiscale"]:
        axes = facts["multiscale"]["axes"]
        for dim, axis in zip(facts["dims"], axes, strict=False):
            dim["name"] = dim["name"] or axis["name"]
            dim["units"] = dim["units"] or axis["unit"]
            dim["type"] = axis["type"]
    facts["map"] = _map(array, group, facts["dims"])
    return facts | {"problems": problems}


def value_type(dtype: Any) -> str:
    """The kind of values, which decides how they are shown."""
    if dtype.names:
        return "record"
    match dtype.kind:
        case "b":
            return "bool"
        case "c":
            return "complex"
        case "i" | "u" | "f":
            return "number"
        case "M":
            return "time"
        case "m":
            return "duration"
        case "V" if _is_number(dtype):
            return "number"
        case _:
            return "text"


def _is_number(dtype: Any) -> bool:
    """Whether it is one of the small types of ml_dtypes."""
    return type(dtype).__module__ != "numpy.dtypes" and dtype.type.__module__ == "ml_dtypes"


def _fill_value(array: Any) -> Any:
    value = array.fill_value
    if value is None or array.dtype.names or str(array.data_type) == str(array.dtype):
        return value
    return array.data_type.fill_to_json(value)


def lengths_of(chunks: Any) -> list[Any]:
    """Chunk lengths; the first ones where they differ."""
    return [list(c[:64]) if isinstance(c, tuple) else c for c in chunks]


def _codec(spec: Any) -> dict[str, Any]:
    return {"name": str(spec.name), "configuration": plain(spec.configuration or {})}


# -- dimensions ------------------------------------------------------------------------------------


def dimensions(array: Any, path: str, group: Any) -> list[dict[str, Any]]:
    """Name, length and coordinates of every dimension."""
    names = array.dims or (None,) * array.ndim
    return [
        {
            "name": name,
            "length": length,
            "type": None,
            "units": None,
            "coordinates": None,
            "centres": None,
            **_coordinate_facts(group, path, name, length),
        }
        for name, length in zip(names, array.shape, strict=True)
    ]


def _coordinate_facts(group: Any, path: str, name: str | None, length: int) -> dict[str, Any]:
    found = coordinate(group, path, name, length)
    if found is None:
        return {}
    where, array = found
    units, calendar = (array.attrs.get(key) for key in ("units", "calendar"))
    timed = array.dtype.kind == "M" or times(units, calendar) is not None
    return {
        "coordinates": where,
        "units": plain(units) if isinstance(units, str) else None,
        "type": "time" if timed else None,
    }


def coordinate(group: Any, path: str, name: str | None, length: int) -> tuple[str, Any] | None:
    """The array of one dimension that has its name, in the group or one above; and its path."""
    parts = path.split("/")[:-1]
    while group is not None and name and "/" not in name:
        try:
            found = group.get(name)
        except _FAILURES:
            found = None
        if isinstance(found, omnizarr.Array) and found.shape == (length,):
            return "/".join([*parts, name]), found
        if not parts:
            break
        parts.pop()
        above = group.path.rpartition("/")[0]
        try:
            group = omnizarr.open_group(group.store, path=above, mode="r")
        except _FAILURES:
            break
    return None


# -- pyramids and maps -----------------------------------------------------------------------------


def _multiscale(group: Any, above: str, level: str | None = None) -> dict[str, Any] | None:
    """The levels of the pyramid that a group describes; None if it does not have `level`."""
    if not any(key in group.attrs for key in ("multiscales", "ome", "zarr_conventions")):
        return None
    try:
        found = group.multiscale
        inner = len(group.path) + 1 if group.path else 0
        paths = ["/".join(filter(None, (above, each.path[inner:]))) for each in found.levels]
        if level is not None and level not in paths:
            return None
        return {
            "levels": [
                {"path": path, "shape": list(each.shape)}
                for path, each in zip(paths, found.levels, strict=True)
            ],
            "axes": [{"name": a.name, "type": a.type, "unit": a.unit} for a in found.axes],
            "scales": plain(found.scales),
            "convention": found.convention,
        }
    except _FAILURES:
        return None


_MAPPED = ("grid_mapping", "_CRS", "proj:code", "proj:wkt2", "proj:projjson", "spatial:transform")


def _map(array: Any, group: Any, dims: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The reference system, where the attributes have one and pyproj is installed. Dimensions of y
    and x that have no coordinates get the centres of the cells, by the transform."""
    above = {} if group is None or array.ndim < 2 else group.attrs
    if not any(key in array.attrs or key in above for key in _MAPPED):
        return None
    try:
        geo = array.geo
        for dim, centres in _centres(geo, dims):
            if dim["coordinates"] is None:
                dim["centres"] = centres
        crs = geo.crs
        if crs is None:
            return None
        code = crs.to_string()[:200]
        return {"crs": crs.name, "code": code}
    except Exception as error:  # pyproj has errors of its own, and the page has the attributes
        return {"problem": str(error)[:500]}


def _centres(geo: Any, dims: list[dict[str, Any]]) -> list[tuple[dict[str, Any], list[float]]]:
    """The dimensions of y and x, each with its first centre and the step to the next one."""
    transform, by_name = geo.transform, {dim["name"]: dim for dim in dims}
    if transform is None or transform.b or transform.d:  # turned: no axis has centres of its own
        return []
    y, x = (
        by_name[name] if name else dims[at] for name, at in zip(geo.dims, (-2, -1), strict=True)
    )
    a, _, c, _, e, f = map(float, transform)
    return [(y, [f + e / 2, e]), (x, [c + a / 2, a])]


def grid_of(array: Any) -> tuple[int, ...]:
    """How many stored values (chunks, or shards) the array has along every dimension."""
    if array.shards is None:
        return tuple(array.cdata_shape)
    return tuple(len(sizes) for sizes in array.write_chunk_sizes)


def possible(array: Any) -> int:
    return prod(grid_of(array))
