"""Arrays of one type as arrays of another, where NumPy's `astype` alone is not enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.model.dtypes.time import finer
from omnizarr.model.grids import NDArray


def cast(array: NDArray, dtype: np.dtype[Any]) -> NDArray:
    """`array` as `dtype`; the same array where it is that already.

    ValueError for times that the unit of `dtype` does not reach."""
    source = array.dtype
    if source is dtype:
        return array
    if source == dtype and source.kind not in "mM":
        return array.astype(dtype, copy=False)
    if source.kind in "mM" or dtype.kind in "mM":
        return _times(array, dtype)
    if source.kind == "T" and dtype.kind not in "TO":
        # From its strings, `astype` forgets to swap bytes, and imaginary parts come out wrong.
        between = dtype.newbyteorder("=") if dtype.kind in "US" else np.dtype(object)
        array = array.astype(between)
    elif dtype.kind == "T" and source.kind not in "TO":
        array = array.astype(source.newbyteorder("="), copy=False)  # likewise, to strings
    return array.astype(dtype, copy=False)


def _times(array: NDArray, dtype: np.dtype[Any]) -> NDArray:
    """To or from times. Of those without a unit `astype` keeps the byte order that they have, so
    bytes are swapped here."""
    if array.dtype == dtype and array.dtype.byteorder == dtype.byteorder:
        return array
    found = _swapped(array, "=")
    if dtype.kind == "T":
        return found.astype(dtype)
    result = found.astype(dtype.newbyteorder("="))
    if result.dtype.kind == found.dtype.kind and finer(result.dtype, found.dtype):
        wrong = (result.astype(found.dtype) != found) & ~np.isnat(found)
        if wrong.any():
            first = found.reshape(-1)[int(np.argmax(wrong))]
            raise ValueError(f"{first} is outside what 64 bits of {dtype} reach")
    return _swapped(result, dtype.byteorder)


def _swapped(array: NDArray, order: Any) -> NDArray:
    dtype = array.dtype
    if dtype.kind == "T" or dtype.byteorder == order:
        return array
    if dtype.kind not in "mM":
        return array.astype(dtype.newbyteorder(order))
    ticks = np.ascontiguousarray(array).view(np.dtype("i8").newbyteorder(dtype.byteorder))
    wanted = ticks.astype(np.dtype("i8").newbyteorder(order))
    # Without dimensions `ascontiguousarray` adds one.
    return wanted.view(dtype.newbyteorder(order)).reshape(array.shape)
