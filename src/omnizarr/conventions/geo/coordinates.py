"""Coordinate variables: which dimension is x or y, and whether its values are evenly spaced.

A coordinate variable is a 1-d array with the centres of the cells along one dimension. This module
knows names, attributes and numbers; it must not know how values are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omnizarr.conventions.geo.facts import Geo
from omnizarr.conventions.geo.transform import Floats, Transform, numbers
from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json

Axis = Literal["y", "x"]

_NAMES: Mapping[str, Axis] = {
    **dict.fromkeys(("x", "lon", "long", "longitude", "easting", "eastings", "rlon", "xc"), "x"),
    **dict.fromkeys(("y", "lat", "latitude", "northing", "northings", "rlat", "yc"), "y"),
}
_STANDARD: Mapping[str, Axis] = {
    **dict.fromkeys(("longitude", "grid_longitude"), "x"),
    **dict.fromkeys(("projection_x_coordinate", "projection_x_angular_coordinate"), "x"),
    **dict.fromkeys(("latitude", "grid_latitude"), "y"),
    **dict.fromkeys(("projection_y_coordinate", "projection_y_angular_coordinate"), "y"),
}
_UNITS: Mapping[str, Axis] = {
    **{f"{degree}{east}": "x" for degree in ("degrees", "degree") for east in ("_east", "_E", "E")},
    **{f"{degree}{to}": "y" for degree in ("degrees", "degree") for to in ("_north", "_N", "N")},
}
_UNEVEN = 0.01
"""The part of a step by which evenly spaced coordinates may differ from a line, as GDAL has it."""


def axis_by_name(name: str | None) -> Axis | None:
    """What a dimension is by its name."""
    return None if name is None else _NAMES.get(name.lower())


def axis_by_attributes(attributes: Mapping[str, Json]) -> Axis | None:
    """What a coordinate variable says of itself: `axis`, `standard_name`, `units`."""
    axis, standard, units = (attributes.get(name) for name in ("axis", "standard_name", "units"))
    if axis in ("X", "Y", "x", "y"):
        return "x" if axis in ("X", "x") else "y"
    found = _STANDARD.get(standard) if isinstance(standard, str) else None
    return found or (_UNITS.get(units) if isinstance(units, str) else None)


def listed(attributes: Mapping[str, Json]) -> list[str]:
    """Names of further coordinates of an array, of which some may be 1-d."""
    found = attributes.get("coordinates")
    return found.split()[:16] if isinstance(found, str) else []


def unpacked(values: npt.NDArray[Any], attributes: Mapping[str, Json], name: str) -> Floats:
    """Coordinates as numbers, with CF's packing undone; `name` is that of their variable."""
    stored = [attributes.get("scale_factor", 1), attributes.get("add_offset", 0)]
    scale, offset = numbers(stored, (2,), f"{name}: scale_factor and add_offset")
    made = np.asarray(values, "f8")
    with np.errstate(all="ignore"):  # what is infinite is on no line
        return made * scale + offset if (scale, offset) != (1, 0) else made


def step_of(
    first: float, last: float, length: int, resolution: float = 0.0
) -> tuple[float, float] | None:
    """The step between evenly spaced values and how far they may be off; None if there is none.
    `resolution` is that of the stored type, relative to a value."""
    if length < 2:
        return None
    step = (last - first) / (length - 1)
    slack = max(_UNEVEN * abs(step), 4 * resolution * max(abs(first), abs(last)))
    return (step, slack) if np.isfinite(step) and slack < abs(step) / 2 else None


def is_even(blocks: Iterable[Floats], first: float, step: float, slack: float) -> bool:
    """Whether values, block after block, are on a line. It stops at the first that is not."""
    start = 0
    for block in blocks:
        expected = first + step * np.arange(start, start + len(block))
        if not (np.abs(block - expected) <= slack).all():
            return False
        start += len(block)
    return True


def transform_from(x: tuple[float, float], y: tuple[float, float]) -> Transform:
    """The transform of evenly spaced centres, each given as its first value and its step."""
    (first_x, step_x), (first_y, step_y) = x, y
    return Transform(step_x, 0.0, first_x - step_x / 2, 0.0, step_y, first_y - step_y / 2)


def attributes_for(geo: Geo, axis: Axis) -> dict[str, Json]:
    """The attributes of a new coordinate variable."""
    for found in [] if geo.crs is None else geo.crs.cs_to_cf():
        if found.get("axis") == axis.upper():
            return dict(found)
    return {"axis": axis.upper()}


def edges(values: Floats) -> tuple[float, float]:
    """The outer edges of cells around these centres, the first cell's first."""
    if len(values) < 2:
        return float(values[0]), float(values[0])
    with np.errstate(all="ignore"):
        first, last = values[1] - values[0], values[-1] - values[-2]
        return float(values[0] - first / 2), float(values[-1] + last / 2)


def overlap(values: Floats, low: float, high: float) -> slice:
    """The cells around centres, in either order, that overlap an interval."""
    rising = len(values) < 2 or values[-1] > values[0]
    centres = values if rising else -values
    wanted = (low, high) if rising else (-high, -low)
    with np.errstate(all="ignore"):
        rises = (np.diff(centres) > 0).all()
    if not rises:
        raise MetadataError("coordinates must rise or fall to select by them")
    between = (centres[1:] + centres[:-1]) / 2
    start = int(np.searchsorted(between, wanted[0], side="right"))
    stop = int(np.searchsorted(between, wanted[1], side="left")) + 1
    first, last = edges(centres) if len(centres) else (0.0, 0.0)
    if wanted[1] <= first or wanted[0] >= last or low > high:
        raise MetadataError(
            f"no cell is between {low} and {high}; the coordinates are from {values[:1]} to"
            f" {values[-1:]}"
        )
    return slice(start, stop)
