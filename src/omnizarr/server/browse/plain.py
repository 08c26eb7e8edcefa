"""Anything that attributes and documents hold, as JSON that every browser reads, and no more of it
than a page can show.

This module knows Python's and NumPy's values. It must not know nodes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

_LONGEST = 20_000
_MOST = 20_000
"""Members of all objects and lists together."""
_DEEPEST = 32
_EXACT = 1 << 53
CUT = "… (cut)"


def plain(value: object) -> Any:
    """The value as JSON has it; numbers that JSON or JavaScript has not become text.

    >>> plain({"a": [1, float("nan"), 2**60], "b": np.float32(0.5)})
    {'a': [1, 'NaN', '1152921504606846976'], 'b': 0.5}
    """
    return _plain(value, 0, [_MOST])


def _plain(value: object, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    match value:
        case None | bool():
            return value
        case np.bool_():
            return bool(value)
        case np.timedelta64():  # which is one of NumPy's integers
            return str(value)
        case str():
            return value if len(value) <= _LONGEST else value[:_LONGEST] + CUT
        case int() | np.integer():
            return int(value) if abs(int(value)) < _EXACT else _digits(int(value))
        case float() | np.floating():
            return number(float(value))
        case Mapping():
            return _members(value, depth, left)
        case np.ndarray():
            return _items(value[: left[0] + 1].tolist() if value.ndim else [value[()]], depth, left)
        case list() | tuple() | set() | frozenset():
            return _items(list(value), depth, left)
        case _:
            text = str(value)
            return text if len(text) <= _LONGEST else text[:_LONGEST] + CUT


def number(value: float) -> float | str:
    """A number; those that are not finite are text."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _digits(value: int) -> str:
    """The digits of a large integer; Python refuses to write thousands of them."""
    return str(value) if value.bit_length() < 4096 else hex(value)[:_LONGEST]


def _members(value: Mapping[Any, Any], depth: int, left: list[int]) -> Any:
    if depth > _DEEPEST:
        return CUT
    found: dict[str, Any] = {}
    for name, member in value.items():
        if left[0] <= 0:
            found["…"] = CUT
            break
        found[str(name)[:_LONGEST]] = _plain(member, depth + 1, left)
    return found


def _items(value: list[Any], depth: int, left: list[int]) -> Any:
    if depth > _DEEPEST:
        return CUT
    found: list[Any] = []
    for item in value:
        if left[0] <= 0:
            found.append(CUT)
            break
        found.append(_plain(item, depth + 1, left))
    return found
