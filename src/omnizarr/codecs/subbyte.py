"""Numbers of less than 8 bits in one byte each (`int4`, `float6_e3m2fn`, …).

Readers must ignore the unused bits, but ml_dtypes reads some of them as a part of the number. So
they are cleared where bytes become an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from omnizarr.model.dtypes.numeric import width
from omnizarr.model.dtypes.struct import leaves
from omnizarr.model.grids import NDArray


def cleaner(dtype: np.dtype[Any]) -> Callable[[NDArray], None] | None:
    """A function that clears the bits in place; None for types that have no such bits."""
    return _clean if _is_in(dtype) else None


def _is_in(dtype: np.dtype[Any]) -> bool:
    return any(leaf.isbuiltin == 2 and width(leaf) < 8 for leaf in leaves(dtype))


def _clean(array: NDArray) -> None:
    dtype = array.dtype
    if dtype.names is None:
        octets = array.view(np.uint8)
        np.bitwise_and(octets, (1 << width(dtype)) - 1, out=octets)
        return
    for name in dtype.names:
        if _is_in(dtype[name]):
            _clean(array[name])
