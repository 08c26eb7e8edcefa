"""What a key says, entry by entry, before any rule of how entries combine.

NumPy's classification is the specification: what is an integer, a slice, a mask or an index
array; how many dimensions each entry takes; where the Ellipsis is; which values are out of
bounds. `resolve` gives entries that cover every dimension of a shape, checked and counted from
the start of the axis.

This module knows shapes and keys. It must not know transforms, chunks or data.
"""

from __future__ import annotations

from operator import index as as_integer
from typing import Any, NamedTuple

import numpy as np

from omnizarr.errors import BoundsCheckError, InvalidIndexError, SelectionError
from omnizarr.model.grids import IntArray, NDArray, Shape


class Span(NamedTuple):
    """A slice, resolved: `length` indices from `start`, `step` apart."""

    start: int
    step: int
    length: int


class Picks(NamedTuple):
    """Index arrays that broadcast to one shape: one of integers, or one per dimension of a mask.

    `arrays` is empty for a boolean without dimensions, which takes none."""

    arrays: tuple[NDArray, ...]
    """Of any integer type until `within` has checked them."""
    shape: Shape
    axis: int
    """The first dimension that they index."""
    checked: bool
    """Whether every index is known to be within its axis (those of a mask are)."""


class Gap:
    """Where an Ellipsis stood: it separates index arrays even if it covers no dimension."""


GAP = Gap()

KeyEntry = int | Span | Picks | Gap | None
"""None is a new axis."""

_EXPECTED = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean"
    " arrays are valid indices"
)


def resolve(key: Any, shape: Shape) -> tuple[list[KeyEntry], bool]:
    """The entries of a key for an array of this shape, and whether any of them is an array."""
    items: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
    used = gaps = 0
    arrays = False
    for item in items:
        kind = type(item)
        if kind is int or kind is slice:
            used += 1
        elif item is Ellipsis:
            gaps += 1
        elif item is not None:
            items, used, gaps, arrays = _classify(items)
            break
    if gaps > 1:
        raise SelectionError("an index can only have a single ellipsis ('...')")
    if used > len(shape):
        raise SelectionError(
            f"too many indices for array: array is {len(shape)}-dimensional,"
            f" but {used} were indexed"
        )
    entries: list[KeyEntry] = []
    axis = 0
    for item in items:
        kind = type(item)
        if kind is slice:
            entries.append(span(item, shape[axis]))
            axis += 1
        elif kind is int:
            length = shape[axis]
            if not -length <= item < length:
                raise out_of_bounds(item, axis, length)
            entries.append(item if item >= 0 else item + length)
            axis += 1
        elif item is None:
            entries.append(None)
        elif item is Ellipsis:
            end = axis + len(shape) - used
            entries.append(GAP)
            entries.extend([Span(0, 1, length) for length in shape[axis:end]])
            axis = end
        else:
            picks = _mask(item, axis, shape) if item.dtype == bool else _integers(item, axis)
            entries.append(picks)
            axis += len(picks.arrays)
    if axis < len(shape):
        entries.extend([Span(0, 1, length) for length in shape[axis:]])
    return entries, arrays


def span(item: slice, length: int) -> Span:
    """A slice along an axis of this length."""
    try:
        start, stop, step = item.indices(length)
    except (TypeError, ValueError) as error:
        raise InvalidIndexError(f"invalid slice {item}: {error}") from error
    if step == 1:
        return Span(start, 1, stop - start if stop > start else 0)
    return Span(start, step, len(range(start, stop, step)))


def out_of_bounds(index: int, axis: int, length: int) -> BoundsCheckError:
    return BoundsCheckError(f"index {index} is out of bounds for axis {axis} with size {length}")


def within(array: NDArray, axis: int, length: int) -> IntArray:
    """The indices counted from the start of the axis; always an array of our own.

    They are compared in their own type: the cast that follows would turn a large uint64 into a
    negative index."""
    if array.size:
        lowest, highest = int(array.min()), int(array.max())
        if highest >= length:
            raise out_of_bounds(highest, axis, length)
        if lowest < -length:
            raise out_of_bounds(lowest, axis, length)
        if lowest < 0:
            signed = array.astype(np.intp, copy=False)
            return np.where(signed < 0, signed + length, signed)
    return array.astype(np.intp)


def _classify(items: tuple[Any, ...]) -> tuple[tuple[Any, ...], int, int, bool]:
    """The items as int, slice, None, Ellipsis or array; how many dimensions they take; how many
    are Ellipsis; whether any is an array."""
    plain: list[Any] = []
    used = gaps = 0
    arrays = False
    for item in items:
        if item is None:
            pass
        elif item is Ellipsis:
            gaps += 1
        elif isinstance(item, slice):
            used += 1
        else:
            item = _integer_or_array(item)
            if isinstance(item, np.ndarray):
                arrays = True
                used += item.ndim if item.dtype == bool else 1
            else:
                used += 1
        plain.append(item)
    return tuple(plain), used, gaps, arrays


def _integer_or_array(item: Any) -> int | NDArray:
    given = isinstance(item, np.ndarray)
    if not given and not isinstance(item, (bool, np.bool_)):
        try:
            return as_integer(item)
        except TypeError:
            pass
    try:
        array = np.asarray(item)
    except ValueError as error:
        raise InvalidIndexError(f"{_EXPECTED}; a nested list is ragged: {error}") from error
    if not given and array.size == 0 and array.dtype == np.float64:
        # An empty list has no type of its own.
        array = array.astype(np.intp)
    if array.dtype.kind not in "iub":
        if given:
            raise SelectionError(
                f"arrays used as indices must be of integer (or boolean) type, found {array.dtype}"
            )
        raise SelectionError(f"{_EXPECTED}, found {type(item).__name__}: {item!r:.80}")
    if array.ndim == 0 and array.dtype != bool:
        return int(array)
    return array


def _integers(array: NDArray, axis: int) -> Picks:
    shape = array.shape
    if array.size > 1 and 0 in array.strides:
        # Repeated by broadcasting: one of each says as much.
        array = array[tuple(slice(None) if stride else slice(0, 1) for stride in array.strides)]
    return Picks((array,), shape, axis, checked=False)


def _mask(mask: NDArray, axis: int, shape: Shape) -> Picks:
    if mask.ndim == 0:
        return Picks((), (int(bool(mask)),), axis, checked=True)
    for offset, (found, length) in enumerate(zip(mask.shape, shape[axis:], strict=False)):
        if found != length:
            raise SelectionError(
                f"boolean index did not match indexed array along axis {axis + offset};"
                f" size of axis is {length} but size of corresponding boolean axis is {found}"
            )
    arrays = mask.nonzero()
    return Picks(arrays, arrays[0].shape, axis, checked=True)
