"""Which value stands for missing ones: what the caller says, or the attribute `_FillValue`, or the
fill value where that is what xarray masks.

This module knows one attribute, as CF and xarray write it. It must not know methods.
"""

from __future__ import annotations

import base64
import binascii
import struct
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError
from omnizarr.formats.translation.fill_values import fill_masks
from omnizarr.nodes.array import Array

ATTRIBUTE = "_FillValue"


def nodata_of(given: Any, array: Array, *, fill_marks: bool = True) -> Any:
    """A value of the array's type, or None. ``"auto"`` takes the attribute, if it makes sense; else
    the fill value, where format and dimension names say that it marks missing values, unless
    `fill_marks` is False."""
    dtype = array.dtype
    if given is None or dtype.kind not in "buifcmM":
        return None
    if isinstance(given, str) and given == "auto":
        found = array.attrs.get(ATTRIBUTE)
        value = None if found is None else _as(found, dtype)
        masks = fill_marks and array.dims is not None and fill_masks(array._place.format)
        return _as(array.fill_value, dtype) if value is None and masks else value
    value = _as(given, dtype)
    if value is None:
        raise MetadataError(
            f"nodata: {given!r} is no value of type {dtype}; expected one, None or 'auto'"
        )
    return value


def _as(value: Any, dtype: np.dtype[Any]) -> Any:
    """The value as one of a type; None if it is none."""
    if isinstance(value, str) and dtype.kind == "f":  # xarray: base64 of a double
        try:
            value = struct.unpack("<d", base64.b64decode(value, validate=True))[0]
        except (ValueError, binascii.Error, struct.error):
            return None
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
