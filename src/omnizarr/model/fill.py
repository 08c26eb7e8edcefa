"""Whether a block of values is nothing but fill value."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.model.column import Column
from omnizarr.model.grids import NDArray


def is_fill(block: NDArray | Column, fill: NDArray) -> bool:
    """Whether every element is the fill value, bit for bit (so −0.0 is not 0.0, NaN is NaN)."""
    if block.size == 0 or block.dtype.itemsize == 0:
        return True
    if isinstance(block, Column):
        value: Any = fill[()]
        return block.is_all(value)
    dtype = block.dtype
    if dtype.kind == "T":
        return bool(block.flat[0] == fill[()] and (block == fill).all())
    if dtype.hasobject:
        value = fill[()]
        first = block.flat[0]
        if type(first) is not type(value) or first != value:
            return False
        return all(type(item) is type(value) and item == value for item in block.flat)
    octets = fill.tobytes()
    # A view, not a scalar: that would lose trailing zero bytes.
    corner: NDArray = block[(0,) * block.ndim + (Ellipsis,)]
    if corner.tobytes() != octets:
        return False
    pattern = np.frombuffer(octets, np.uint8)
    for unsigned in (np.uint64, np.uint32, np.uint16, np.uint8):
        width = np.dtype(unsigned).itemsize
        if dtype.itemsize % width == 0:
            break
    rows = np.ascontiguousarray(block).reshape(-1).view(np.uint8).view(unsigned)
    return bool((rows.reshape(-1, dtype.itemsize // width) == pattern.view(unsigned)).all())
