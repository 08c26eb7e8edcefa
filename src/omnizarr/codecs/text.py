"""Text of a fixed length: NumPy's `U`, four bytes for each character.

NumPy accepts any four bytes as a character, and fails only when a string is made of them, with an
error of the interpreter. So decoded characters are checked here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.errors import DecodeError
from omnizarr.model.dtypes.struct import leaves
from omnizarr.model.grids import NDArray

LAST = 0x10FFFF
"""The last code point of Unicode."""


def is_in(dtype: np.dtype[Any]) -> bool:
    """Whether elements of this type are text, or have fields that are."""
    return any(leaf.kind == "U" and leaf.itemsize > 0 for leaf in leaves(dtype))


def check(array: NDArray) -> None:
    """DecodeError if there is a character that Unicode does not have."""
    dtype = array.dtype
    if dtype.names is not None:
        for name in dtype.names:
            if is_in(dtype[name]):
                check(array[name])
    elif array.size:
        points = np.ascontiguousarray(array).view(np.dtype("u4").newbyteorder(dtype.byteorder))
        highest = int(points.max())
        if highest > LAST:
            raise DecodeError(f"text: {highest:#x} is no character of Unicode ({LAST:#x} at most)")
