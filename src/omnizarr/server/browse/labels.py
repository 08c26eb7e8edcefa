"""What stands along an axis: coordinate values, decoded times, names.

This module reads coordinate arrays. It must not know HTTP.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import omnizarr
from omnizarr.server.browse.facts import coordinate, value_type
from omnizarr.server.browse.plain import number
from omnizarr.server.browse.selections import BadRequest, TooMuch, parse, shape_of
from omnizarr.server.browse.times import times
from omnizarr.server.browse.values import chosen, read, wire

_MOST = 5_000
_EXACT = 1 << 53
"""JavaScript's numbers miss some of the integers beyond."""


def along(array: Any, path: str, group: Any, dim: int, text: str) -> dict[str, Any]:
    """Values and texts of a dimension, of the positions in a selection ("10:20:2")."""
    if not 0 <= dim < array.ndim:
        raise BadRequest(f"the array has {array.ndim} dimensions, found dimension {dim}")
    length = array.shape[dim]
    if sum(shape_of(parse(text, (length,)))) > _MOST:
        raise TooMuch(f"at most {_MOST:,} labels are given at once")
    names = array.dims or (None,) * array.ndim
    found = coordinate(group, path, names[dim], length)
    if found is None:
        return {"values": None, "texts": None}
    variable = found[1]
    selection = chosen(variable, text)
    if selection != parse(text, (length,)):
        raise TooMuch("the coordinates would take too long to read")
    values = np.atleast_1d(read(variable, _holder(variable), selection, True))
    kind = value_type(values.dtype)
    attributes = variable.attrs.asdict()
    if kind == "number":
        numbers = _numbers(values)
        meant = times(attributes.get("units"), attributes.get("calendar"))
        texts = None if meant is None else meant.text(numbers)
        if (
            texts is None
            and values.dtype.kind in "iu"
            and max(map(abs, numbers), default=0) >= _EXACT
        ):
            texts = [str(value) for value in values]
        return {"values": list(map(number, numbers)), "texts": texts}
    header, _ = wire(values)
    texts = header.get("texts") or [str(value) for value in values]
    return {"values": None, "texts": texts}


def _numbers(values: Any) -> list[float]:
    """Numbers of 64 bits; of narrower ones those that are written alike."""
    if values.dtype.kind == "f" and values.dtype.itemsize < 8:
        return [float(str(value)) for value in values]
    return [float(value) for value in values.astype("f8")]


def _holder(variable: Any) -> Any:
    above = variable.path.rpartition("/")[0]
    return omnizarr.open_group(variable.store, path=above, mode="r")
