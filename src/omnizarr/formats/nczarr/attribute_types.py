"""The netCDF types of attributes, which `_nczarr_attr` keeps beside them as NumPy type strings.

JSON has one kind of number and one kind of text. `">S1"` is netCDF's char, `"|S128"` its string,
`"|J0"` JSON that belongs to NCZarr. Attributes without a type are text in JSON to netCDF-C: objects
and nested lists. What it reads wrongly, or ends the process at, is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from omnizarr.errors import UnsupportedError
from omnizarr.formats.dimensions import ATTRIBUTE as DIMENSIONS
from omnizarr.formats.nczarr.markers import ARRAY, GROUP, RESERVED, SUPERBLOCK, TYPES
from omnizarr.model.codec import Json
from omnizarr.model.json import show

CHAR, STRING, JSON = ">S1", "|S128", "|J0"
OF_THE_VARIABLE = frozenset(
    (
        *("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"),
        *("actual_range", "flag_values", "flag_masks"),
    )
)
"""Attributes that CF wants in the type of the stored values."""
NUMBERS = {f"<{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)} | {"<f4", "<f8"}
_NAMED = {"NaN", "Infinity", "-Infinity"}
_INTEGERS = tuple((text, np.iinfo(text)) for text in ("<i4", "<i8", "<u8"))
_CONTROL = re.compile(r"[\x00-\x07\x0b\x0e-\x1f]")
_MOST_NAME = 255
"""Bytes of a name that netCDF-C finds again."""


def with_types(
    attributes: Mapping[str, Json], dtype: np.dtype[Any] | None = None
) -> dict[str, Json]:
    """The attributes with the types of all of them: those that are stored where they still fit.

    dtype: that of the array that has the attributes."""
    stored = known_types(attributes)
    types: dict[str, Json] = {}
    for name, value in attributes.items():
        if name in RESERVED:
            types[name] = JSON
        elif name != DIMENSIONS:
            if not 0 < len(name.encode("utf-8", "surrogatepass")) <= _MOST_NAME:
                raise _refused(name, value, f"its name has none or more than {_MOST_NAME} bytes")
            before = stored.get(name)
            found = before if before and fits(value, before) else _inferred(name, value, dtype)
            if found is not None:
                types[name] = found
    return {**attributes, TYPES: {"types": {**types, TYPES: JSON}}}


def known_types(attributes: Mapping[str, Json]) -> dict[str, str]:
    """The types that are stored and known, by attribute; no stranger's text breaks this."""
    marker = attributes.get(TYPES)
    types = marker.get("types") if isinstance(marker, dict) else None
    if not isinstance(types, dict):
        return {}
    found: dict[str, str] = {}
    for name, text in types.items():
        if not isinstance(text, str):
            continue
        number = text.replace("|", "<")
        if text == CHAR or number in NUMBERS:
            found[name] = number
        elif text.startswith("|S"):
            found[name] = STRING
    return found


def fits(value: Json, text: str) -> bool:
    """Whether a value can have a type."""
    items = value if isinstance(value, list) else [value]
    if text == CHAR:
        return isinstance(value, str)
    if text == STRING:
        return all(isinstance(item, str) for item in items)
    dtype = np.dtype(text)
    if dtype.kind == "f":
        return all(_is_number(item) or _is_named(item) for item in items)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return all(isinstance(item, int) and low <= item <= high for item in items)


def _is_named(value: Json) -> bool:
    return isinstance(value, str) and value in _NAMED


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and _in_range(value)


def _in_range(value: int | float) -> bool:
    return isinstance(value, float) or -(1 << 63) <= value < 1 << 64


def _inferred(name: str, value: Json, dtype: np.dtype[Any] | None) -> str | None:
    items = value if isinstance(value, list) else [value]
    if dtype is not None and name in OF_THE_VARIABLE:
        own = dtype.newbyteorder("<").str.replace("|", "<")
        if own in NUMBERS and fits(value, own):
            return own
    texts = [item for item in items if isinstance(item, str)]
    if any(_CONTROL.search(text) for text in texts):
        raise _refused(name, value, "text with control characters")
    if isinstance(value, str):
        # netCDF4-python does the same: text beyond ASCII is a string.
        return CHAR if value.isascii() else STRING
    if not all(isinstance(item, str | int | float) for item in items):
        if len(texts) not in (0, len(items)) and isinstance(value, list):
            raise _refused(name, value, "a list of text and other values")
        return None  # text in JSON
    if not items:
        return "<f8"
    if len(texts) == len(items):
        return STRING
    if texts:
        raise _refused(name, value, "a list of text and numbers")
    if all(isinstance(item, bool) for item in items):
        return "<u1"
    if not all(_in_range(item) for item in items):
        raise _refused(name, value, "an integer of more than 64 bits")
    for text, info in _INTEGERS:
        if all(isinstance(item, int) and info.min <= item <= info.max for item in items):
            return text
    return "<f8"


def _refused(name: str, value: Json, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"netCDF-C reads no attribute such as {show(name)}: {what}, {show(value)}",
        what="attributes",
    )


def value_in_json(value: Any) -> Json:
    """A value of NumPy, or Python, as netCDF-C writes it: text for numbers that JSON has not."""
    found = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    if isinstance(found, list | tuple):
        return [value_in_json(item) for item in found]
    if isinstance(found, float) and not math.isfinite(found):
        return "NaN" if math.isnan(found) else "Infinity" if found > 0 else "-Infinity"
    return found


def typed(attributes: Mapping[str, Json]) -> dict[str, Any]:
    """The attributes without NCZarr's own, numbers as NumPy's where their type is stored."""
    types = known_types(attributes)
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        if name in (SUPERBLOCK, GROUP, ARRAY, TYPES, DIMENSIONS):
            continue
        text = types.get(name)
        if text in NUMBERS and fits(value, text):
            values = np.array(value, np.dtype(text).newbyteorder("="))
            found[name] = values if isinstance(value, list) else values[()]
        else:
            found[name] = value
    return found


def types_of(attributes: Mapping[str, Any]) -> dict[str, str]:
    """The types that values of NumPy among attributes have, and floats, which may be NaN."""
    found: dict[str, str] = {}
    for name, value in attributes.items():
        items = value if isinstance(value, list | tuple) else [value]
        if items and all(type(item) is float for item in items):
            found[name] = "<f8"
        elif isinstance(value, np.generic | np.ndarray):
            text = value.dtype.newbyteorder("<").str.replace("|", "<")
            if text in NUMBERS:
                found[name] = text
    return found
