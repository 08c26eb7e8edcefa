"""Which value stands for missing ones: what the caller says, or the attribute `_FillValue`.

This module knows one attribute, as CF and xarray write it. It must not know methods.
"""

from __future__ import annotations

import base64
import binascii
import struct
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError
from omnizarr.nodes.array import Array

ATTRIBUTE = "_FillValue"


def nodata_of(given: Any, array: Array) -> Any:
    """A value of the array's type, or None. ``"auto"`` takes the attribute, if it makes sense."""
    dtype = array.dtype
    if given is None or dtype.kind not in "buifcmM":
        return None
    if isinstance(given, str) and given == "auto":
        found = array.attrs.get(ATTRIBUTE)
        return None if found is None else _as(found, dtype)
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
