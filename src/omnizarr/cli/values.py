"""Values of arrays as short text, for tables.

This module knows NumPy's types. It must not know where values come from.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def text(value: Any) -> str:
    """
    >>> text(np.float32(0.1)), text(np.True_), text("a"), text(b"x"), text(np.datetime64("2020-01"))
    ('0.1', 'true', '"a"', 'b"x"', '2020-01')
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bytes):
        return f"b{json.dumps(value.decode('utf-8', 'backslashreplace'), ensure_ascii=False)}"
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.void) and value.dtype.names:
        fields = (f"{name}: {text(value[name])}" for name in value.dtype.names)
        return f"{{{', '.join(fields)}}}"
    if isinstance(value, np.void):
        return value.tobytes().hex()
    if isinstance(value, np.ndarray):
        return f"[{', '.join(map(text, value.reshape(-1)[:8]))}{', …' if value.size > 8 else ''}]"
    if value is None:
        return "none"
    return str(value)


def single(values: Any) -> Any:
    """The one value of an array without dimensions, with its type."""
    return values[()] if isinstance(values, np.ndarray) else values


def numbers(values: Any, kind: str) -> Any:
    """Values as numbers for a drawing: times as their number of units, NaT as NaN, complex numbers
    as their absolute values. None if the type is none of numbers."""
    found = np.asarray(values)
    if kind in "mM":
        made = found.astype("i8").astype("f8")
        made[np.isnat(found)] = np.nan
        return made
    if kind == "c":
        return np.abs(found).astype("f8")
    if kind in "biuf":
        return found.astype("f8")
    if kind == "V" and found.dtype.names is None and found.dtype.type is not np.void:
        return found.astype("f8")  # ml_dtypes
    return None


def numeric(dtype: Any) -> bool:
    """Whether `numbers` can be made of values of a type."""
    return dtype.kind in "biufcmM" or (
        dtype.kind == "V" and dtype.names is None and dtype.type is not np.void
    )
