"""Which values stand for missing ones: what the caller says, or the attributes `_FillValue` and
`missing_value`, or the fill value where that is what xarray masks; and what `_Unsigned` says.

This module knows three attributes, as CF and xarray write them. It must not know methods.
"""

from __future__ import annotations

import base64
import binascii
import struct
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError
from omnizarr.formats.translation.fill_values import fill_masks
from omnizarr.jobs.pyramids.kernels import as_kind
from omnizarr.nodes.array import Array

FILL, MISSING, UNSIGNED = "_FillValue", "missing_value", "_Unsigned"


def nodata_of(given: Any, array: Array, *, fill_marks: bool = True) -> Any:
    """The first of `marks_of`, or None."""
    return next(iter(marks_of(given, array, fill_marks=fill_marks)), None)


def marks_of(given: Any, array: Array, *, fill_marks: bool = True) -> tuple[Any, ...]:
    """Values of the array's type that stand for missing ones. ``"auto"`` takes the attributes, if
    they make sense; for `_FillValue` else the fill value, where format and dimension names say that
    it marks missing values, unless `fill_marks` is False."""
    dtype = array.dtype
    if given is None or dtype.kind not in "buifcmM":
        return ()
    types = (dtype, meant_type(array))  # numbers in either sign
    if isinstance(given, str) and given == "auto":
        value = _first(array.attrs.get(FILL), types)
        masks = fill_marks and array.dims is not None and fill_masks(array._place.format)
        if value is None and masks:
            value = _as(array.fill_value, dtype)
        told = array.attrs.get(MISSING)
        several = told if isinstance(told, list) and dtype.kind != "c" else [told]
        found = [value, *(_first(one, types) for one in several)]
        return tuple(dict.fromkeys(one for one in found if one is not None))
    value = _first(given, types)
    if value is None:
        raise MetadataError(
            f"nodata: {given!r} is no value of type {dtype}; expected one, None or 'auto'"
        )
    return (value,)


def meant_type(array: Array) -> np.dtype[Any]:
    """The type of an array, with the sign that its values are meant with."""
    told = array.attrs.get(UNSIGNED)
    kind = {"true": "u", "false": "i"}.get(told.lower()) if isinstance(told, str) else None
    return array.dtype if kind is None else as_kind(np.empty(0, array.dtype), kind).dtype


def _first(value: Any, types: tuple[np.dtype[Any], ...]) -> Any:
    """The value as one of the first of these types that it is a value of, in terms of the first."""
    if value is None:
        return None
    found = [one for one in (_as(value, each) for each in types) if one is not None]
    return as_kind(np.asarray(found[0]), types[0].kind)[()] if found else None


def _as(value: Any, dtype: np.dtype[Any]) -> Any:
    """The value as one of a type; None if it is none."""
    if isinstance(value, str) and dtype.kind == "f":  # xarray: base64 of a double
        try:
            value = struct.unpack("<d", base64.b64decode(value, validate=True))[0]
        except (ValueError, binascii.Error, struct.error):
            return None
    if dtype.kind == "c" and isinstance(value, list) and len(value) == 2:  # xarray, too
        parts = [_as(part, np.dtype(float)) for part in value]
        value = None if None in parts else complex(*parts)
    if isinstance(value, str | bool | bytes | list | dict) and dtype.kind not in "bmM":
        return None
    if np.iscomplexobj(value) and dtype.kind != "c":
        return None
    try:
        with np.errstate(all="ignore"):
            found = np.array(value).astype(dtype, casting="unsafe")
            same = bool(found == value) or bool(found != found and value != value)
    except (TypeError, ValueError, OverflowError):
        return None
    if found.ndim or not (same or dtype.kind == "f"):
        return None  # 300 is no byte; a float may be rounded
    return found[()]
