"""Whether values that are appended mean what those of the array mean.

Values are stored as they are. So where they come with names of dimensions, or with the attributes
that say what a number stands for, these must be the array's: else dimensions of one length would be
exchanged, and a day would be stored with the date of another.

This module knows names and attributes. It must not know values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from omnizarr.api.virtual.coordinates import in_units_of_first, same
from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.nodes.array import Array
from omnizarr.nodes.data.values import names_of

_MEANING = {"units": None, "calendar": None, "scale_factor": 1, "add_offset": 0}
"""Attributes, and what it means that an array has none; None: nothing is known."""


def check_agreement(given: Any, array: Array) -> None:
    """Raise if the values say that they are something else than what the array holds."""
    named, stored = names_of(given) or (), array.dims or ()
    moved = any(name in stored and stored.index(name) != at for at, name in enumerate(named))
    if moved and named != stored:
        raise MetadataError(
            f"the values have the dimensions {named}, the array has {stored}; transpose them first"
        ).at(array.store, path=array.path)
    found = getattr(given, "attrs", None)
    if not isinstance(found, Mapping):
        return
    own, other = _meaning(array.attrs), _meaning(found)
    for name, default in _MEANING.items():
        left, right = own.get(name, default), other.get(name)
        if left is None or right is None or same(left, right):
            continue
        if name == "units" and _same_times(own, other):
            continue
        raise MetadataError(
            f"the attribute {name!r}: {left!r} of the array, {right!r} of the values; values are"
            " stored as they are, so convert them first"
        ).at(array.store, path=array.path)


def _meaning(attributes: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: attributes[name] for name in _MEANING if name in attributes}
    # HDF5 has byte strings, and numbers as arrays of one element.
    return {
        name: value.decode() if isinstance(value, bytes) else np.squeeze(value).tolist()
        for name, value in found.items()
    }


def _same_times(own: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether units are one reference of time in two spellings."""
    probe = np.array([0, 1])
    units, calendars = ([each.get(name) for each in (own, other)] for name in ("units", "calendar"))
    try:
        return np.array_equal(
            in_units_of_first([probe, probe], [str(unit) for unit in units], calendars)[1], probe
        )
    except UnsupportedError:
        return False
