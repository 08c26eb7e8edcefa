"""Names of selections that libraries import for their annotations and checks."""

from __future__ import annotations

import numbers
from types import EllipsisType
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from omnizarr.compat.zarr3._asynchronous import AsyncIndex as AsyncOIndex
from omnizarr.compat.zarr3._asynchronous import AsyncIndex as AsyncVIndex

__all__ = ["AsyncOIndex", "AsyncVIndex", "BasicIndexer"]

IntSequence: TypeAlias = list[int] | npt.NDArray[np.intp]
Selector: TypeAlias = int | slice | npt.NDArray[Any]
SelectorTuple: TypeAlias = tuple[Selector, ...] | Selector
BasicSelector: TypeAlias = int | slice | EllipsisType
BasicSelection: TypeAlias = BasicSelector | tuple[BasicSelector, ...]
CoordinateSelection: TypeAlias = Any
MaskSelection: TypeAlias = npt.NDArray[np.bool_]
OrthogonalSelection: TypeAlias = Any
Selection: TypeAlias = Any
Fields: TypeAlias = str | list[str] | tuple[str, ...]


def is_integer(x: Any) -> TypeGuard[int]:
    """Tell whether this is an integer, and no truth value."""
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)


def is_scalar(value: Any, dtype: np.dtype[Any]) -> bool:
    """Tell whether a value is one element of a dtype."""
    if np.isscalar(value) or getattr(value, "shape", None) == ():
        return True
    return isinstance(value, tuple) and dtype.names is not None and len(value) == len(dtype.names)


def is_slice(s: Any) -> TypeGuard[slice]:
    """Tell whether this is a slice."""
    return isinstance(s, slice)


def is_integer_list(x: Any) -> bool:
    """Tell whether this is a list of integers."""
    return isinstance(x, list) and len(x) > 0 and all(map(is_integer, x))


def is_bool_array(x: Any, ndim: int | None = None) -> bool:
    """Tell whether this is an array of truth values."""
    return _is_array(x, "b", ndim)


def is_integer_array(x: Any, ndim: int | None = None) -> bool:
    """Tell whether this is an array of integers."""
    return _is_array(x, "iu", ndim)


def _is_array(x: Any, kinds: str, ndim: int | None) -> bool:
    found = hasattr(x, "shape") and hasattr(x, "dtype") and x.dtype.kind in kinds
    return bool(found and (ndim is None or len(x.shape) == ndim))


class BasicIndexer:
    """The shape of what a selection of integers and slices reads.

    Parameters
    ----------
    selection
        The selection.
    shape
        Shape of the array.
    chunk_grid
        Taken for compatibility: omnizarr plans which chunks are read.
    """

    def __init__(self, selection: Any, shape: tuple[int, ...], chunk_grid: Any = None) -> None:
        self.shape: tuple[int, ...] = np.broadcast_to(np.zeros(()), shape)[selection].shape
