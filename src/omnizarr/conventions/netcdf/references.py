"""Attributes of CF that name other variables, and the variables that are coordinates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WORDS = re.compile(r"[^\s:]+:?")


def named(attribute: str, value: Any) -> tuple[str, ...]:
    """The variables that an attribute names. `grid_mapping`, `cell_measures` and `formula_terms`
    have keys before names: `"crs: x y"`."""
    if not isinstance(value, str):
        return ()
    words = _WORDS.findall(value)
    if attribute in ("cell_measures", "formula_terms"):
        return tuple(word for word in words if not word.endswith(":"))
    return tuple(word.rstrip(":") for word in words)


def coordinates(
    variables: Mapping[str, tuple[tuple[str, ...], Mapping[str, Any]]],
) -> tuple[str, ...]:
    """The names of the coordinates among variables, given by dimensions and attributes: those that
    are named as their one dimension, and those that a `coordinates` attribute names."""
    own = [name for name, (dimensions, _) in variables.items() if dimensions == (name,)]
    told = [
        name
        for _, attributes in variables.values()
        for name in named("coordinates", attributes.get("coordinates"))
        if name in variables
    ]
    return tuple(dict.fromkeys(own + told))
