"""The transpose codec, where libraries import it from."""

from collections.abc import Iterable
from typing import Any

from omnizarr import codecs
from omnizarr.compat.zarr3.codecs._refined import Refined

__all__ = ["TransposeCodec"]


class TransposeCodec(Refined, codecs.TransposeCodec):
    """The axes of a chunk in another order.

    Parameters
    ----------
    order
        A permutation of the axes.

    Raises
    ------
    TypeError
        If the order is no sequence of integers; "C" and "F" are none.
    """

    refines = codecs.TransposeCodec
    is_fixed_size = True

    def __init__(self, order: Any) -> None:
        axes = tuple(order) if isinstance(order, Iterable) else (order,)
        if not all(hasattr(axis, "__index__") for axis in axes):
            raise TypeError(f"Expected an iterable of integers. Got {order!r} instead.")
        super().__init__(axes)
