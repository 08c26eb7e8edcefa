"""Arrays of one type as arrays of another, where NumPy's `astype` alone is not enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def cast(array: Array, dtype: np.dtype[Any]) -> Array:
    """`array` as `dtype`; the same array where it is that already."""
    if array.dtype.kind in "mM" and dtype.kind == array.dtype.kind:
        # Of times without a unit, `astype` keeps the byte order that they have.
        if array.dtype == dtype and array.dtype.byteorder == dtype.byteorder:
            return array
        result = np.empty(array.shape, dtype)
        result[...] = array
        return result
    if array.dtype.kind == "T" and dtype.kind not in "TO":
        # From its strings, `astype` forgets to swap bytes, and imaginary parts come out wrong.
        between = dtype.newbyteorder("=") if dtype.kind in "US" else np.dtype(object)
        array = array.astype(between)
    elif dtype.kind == "T" and array.dtype.kind not in "TO":
        array = array.astype(array.dtype.newbyteorder("="), copy=False)  # likewise, to strings
    return array.astype(dtype, copy=False)
