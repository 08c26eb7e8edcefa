"""zarr-python 2's `zarr.indexing`: what a selection means, on NumPy arrays.

omnizarr's own selections are in `omnizarr.indexing`; these are for programs that use the names.
"""

from __future__ import annotations

import itertools
import math
import numbers
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.compat.zarr2.errors import (
    ArrayIndexError,
    BoundsCheckError,
    NegativeStepError,
    VindexInvalidSelectionError,
    err_too_many_indices,
)

__all__ = [
    "ArrayIndexError",
    "BoundsCheckError",
    "NegativeStepError",
    "PartialChunkIterator",
    "VindexInvalidSelectionError",
    "ceildiv",
    "ensure_tuple",
    "err_too_many_indices",
    "is_bool_array",
    "is_integer",
    "is_integer_array",
    "is_slice",
    "make_slice_selection",
    "normalize_integer_selection",
    "oindex",
    "oindex_set",
    "replace_ellipsis",
]


def is_integer(x: object) -> bool:
    """Tell whether an object is an integer; a boolean is none.

    Parameters
    ----------
    x
        The object.
    """
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)


def is_integer_array(x: object, ndim: int | None = None) -> bool:
    """Tell whether an object is a NumPy array of integers.

    Parameters
    ----------
    x
        The object.
    ndim
        The number of dimensions it must have.
    """
    return isinstance(x, np.ndarray) and x.dtype.kind in "ui" and ndim in (None, x.ndim)


def is_bool_array(x: object, ndim: int | None = None) -> bool:
    """Tell whether an object is a NumPy array of booleans.

    Parameters
    ----------
    x
        The object.
    ndim
        The number of dimensions it must have.
    """
    return isinstance(x, np.ndarray) and x.dtype.kind == "b" and ndim in (None, x.ndim)


def is_slice(s: object) -> bool:
    """Tell whether an object is a slice.

    Parameters
    ----------
    s
        The object.
    """
    return isinstance(s, slice)


def ceildiv(a: int, b: int) -> int:
    """Divide, rounding up.

    Parameters
    ----------
    a, b
        The numbers.
    """
    return -(-a // b)


def ensure_tuple(v: Any) -> tuple[Any, ...]:
    """Give an object as a tuple.

    Parameters
    ----------
    v
        A tuple, or its only item.
    """
    return v if isinstance(v, tuple) else (v,)


def normalize_integer_selection(dim_sel: int, dim_len: int) -> int:
    """Give an index counted from the start of a dimension.

    Parameters
    ----------
    dim_sel
        The index; negative from the end.
    dim_len
        Length of the dimension.
    """
    index = int(dim_sel)
    if not -dim_len <= index < dim_len:
        raise BoundsCheckError(f"index {index} is out of bounds for a dimension of {dim_len}")
    return index % dim_len


def replace_ellipsis(selection: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Give one entry for every dimension.

    Parameters
    ----------
    selection
        Entries, with an Ellipsis or without.
    shape
        Shape of the array.
    """
    entries = list(ensure_tuple(selection))
    places = [index for index, entry in enumerate(entries) if entry is Ellipsis]
    if len(places) > 1:
        raise ArrayIndexError("an index can only have a single ellipsis ('...')")
    if len(entries) - len(places) > len(shape):
        err_too_many_indices(selection, shape)
    rest = [slice(None)] * (len(shape) - len(entries) + len(places))
    if places:
        entries[places[0] : places[0] + 1] = rest
    else:
        entries += rest
    return tuple(entries)


def oindex(a: npt.NDArray[Any], selection: Any) -> Any:
    """Select along every dimension for itself.

    Parameters
    ----------
    a
        The array.
    selection
        Integers, slices, and lists or arrays of integers or booleans.
    """
    entries, integers = _orthogonal(a, selection)
    return a[entries].squeeze(axis=integers) if integers else a[entries]


def oindex_set(a: npt.NDArray[Any], selection: Any, value: Any) -> None:
    """Write to a selection along every dimension for itself.

    Parameters
    ----------
    a
        The array.
    selection
        As of `oindex`.
    value
        What to write.
    """
    entries, integers = _orthogonal(a, selection)
    values = np.asarray(value)
    if integers and values.ndim:
        values = np.expand_dims(values, axis=integers)
    a[entries] = values


def _orthogonal(a: npt.NDArray[Any], selection: Any) -> tuple[Any, tuple[int, ...]]:
    """An open mesh, and the dimensions of integers, which are lost."""
    entries = replace_ellipsis(selection, a.shape)
    integers = tuple(index for index, entry in enumerate(entries) if is_integer(entry))
    mesh = []
    for entry, length in zip(entries, a.shape, strict=True):
        if isinstance(entry, slice):
            mesh.append(np.arange(length)[entry])
        else:
            found = np.atleast_1d(np.asarray(entry))
            mesh.append(np.flatnonzero(found) if found.dtype.kind == "b" else found)
    return np.ix_(*mesh), integers


def make_slice_selection(selection: tuple[Any, ...]) -> list[slice]:
    """Give integers, and lists of one integer, as slices.

    Parameters
    ----------
    selection
        The entries.
    """
    found = []
    for entry in selection:
        if isinstance(entry, list | np.ndarray):
            if len(entry) != 1:
                raise ArrayIndexError(f"expected slices or integers, found {entry!r}")
            entry = entry[0]
        start = None if isinstance(entry, slice) else int(entry)
        found.append(entry if start is None else slice(start, start + 1, 1))
    return found


class PartialChunkIterator:
    """The runs of neighbouring elements that a selection takes from an array in C order.

    Each is its start and its length, counted in elements, and its own selection.

    Parameters
    ----------
    selection
        Integers and slices with step 1; whole dimensions may be left out at the end.
    arr_shape
        The shape of the array.

    Examples
    --------
    >>> list(PartialChunkIterator((slice(0, 2), slice(1, 3)), (4, 5)))
    [(1, 2, (slice(0, 1, 1), slice(1, 3, None))), (6, 2, (slice(1, 2, 1), slice(1, 3, None)))]
    """

    def __init__(self, selection: Any, arr_shape: tuple[int, ...]) -> None:
        slices = list(make_slice_selection(selection))
        if len(slices) > len(arr_shape):
            err_too_many_indices(selection, arr_shape)
        while len(slices) > 1 and slices[-1].indices(arr_shape[len(slices) - 1]) == (
            0, arr_shape[len(slices) - 1], 1,
        ):  # fmt: skip
            slices.pop()
        self.selection = slices
        self.arr_shape = arr_shape

    def __iter__(self) -> Iterator[tuple[int, int, tuple[slice, ...]]]:
        *outer, last = self.selection
        strides = [math.prod(self.arr_shape[axis + 1 :]) for axis in range(len(self.selection))]
        for corner in itertools.product(*(range(part.start, part.stop) for part in outer)):
            first = (*corner, last.start)
            start = sum(map(operator.mul, first, strides))
            singles = (slice(index, index + 1, 1) for index in corner)
            yield start, (last.stop - last.start) * strides[-1], (*singles, last)
