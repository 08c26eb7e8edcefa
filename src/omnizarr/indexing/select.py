"""Selections: a key applied to a transform gives the transform of what it selects.

One function per way of indexing. Each turns the key into a transform of the view's own shape
and composes: `x[first][second]` needs no rule beyond those of one key.

* `basic_and_advanced`: exactly `ndarray.__getitem__`.
* `orthogonal` (`oindex`): every entry acts on its own axis, in place.
* `coordinates` (`vindex`): integers and arrays broadcast together, their dimensions come first,
  slices follow.
* `mask`: one boolean array of the view's shape.
* `blocks`: integers and slices that count chunks.

This module knows shapes and grids. It must not know stores, codecs or data.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_integer
from typing import Any

import numpy as np

from omnizarr import limits
from omnizarr.errors import BoundsCheckError, SelectionError, VindexInvalidSelectionError
from omnizarr.indexing.entries import KeyEntry, Picks, Span, resolve, span, within
from omnizarr.indexing.transform import Constant, Expression, Stride, Transform, compose, indexed
from omnizarr.model.grids import Grid, IntArray, Shape


def basic_and_advanced(transform: Transform, key: Any) -> Transform:
    """`view[key]` as NumPy does it."""
    entries, arrays = resolve(key, transform.shape)
    if not arrays:
        return compose(transform, _basic(transform.shape, entries))
    joined = [position for position, entry in enumerate(entries) if isinstance(entry, (int, Picks))]
    # Arrays (and integers beside them) that stand together put their dimensions where they
    # stand; anything between them, even an empty Ellipsis, moves those to the front.
    adjacent = joined[-1] - joined[0] + 1 == len(joined)
    return compose(transform, _vectorised(transform.shape, entries, joined[0] if adjacent else 0))


def orthogonal(transform: Transform, key: Any) -> Transform:
    """`view.oindex[key]`: integers drop their axis, arrays replace it by their dimensions."""
    entries, arrays = resolve(key, transform.shape)
    if not arrays:
        return compose(transform, _basic(transform.shape, entries))
    shape: list[int] = []
    axes: list[Expression] = []
    for entry in entries:
        if isinstance(entry, Picks):
            dimensions = range(len(shape), len(shape) + len(entry.shape))
            shape.extend(entry.shape)
            axes.extend(indexed(array, dimensions) for array in _checked(entry, transform.shape))
        else:
            _append(entry, axes, shape)
    return compose(transform, _selection(transform.shape, shape, axes))


def coordinates(transform: Transform, key: Any) -> Transform:
    """`view.vindex[key]`: points, whose dimensions come first, then what slices keep."""
    try:
        entries, arrays = resolve(key, transform.shape)
    except BoundsCheckError:
        raise
    except SelectionError as error:
        raise VindexInvalidSelectionError(
            f"coordinate selection of shape {transform.shape}: {error}"
        ) from error
    if not arrays:
        return compose(transform, _basic(transform.shape, entries))
    return compose(transform, _vectorised(transform.shape, entries, 0))


def mask(transform: Transform, key: Any) -> Transform:
    """The elements of the view where a boolean array of its shape is true, in C order."""
    if isinstance(key, tuple) and len(key) == 1:
        (key,) = key
    array = np.asarray(key)
    if array.dtype != bool:
        raise SelectionError(
            f"a mask selection needs one boolean array of shape {transform.shape},"
            f" found an array of {array.dtype}"
        )
    if array.shape != transform.shape:
        raise SelectionError(
            f"the mask has shape {array.shape}, the array has shape {transform.shape};"
            " a mask selection needs one boolean for each element"
        )
    return basic_and_advanced(transform, array)


def blocks(transform: Transform, key: Any, grid: Grid) -> Transform:
    """The elements of whole chunks, chosen by integers and slices that count chunks.

    An integer keeps its axis, for a block has one."""
    if grid.array_shape != transform.shape:
        raise SelectionError(
            f"blocks are counted along a grid of shape {grid.array_shape}, the selection has shape"
            f" {transform.shape}; select blocks from the array itself, not from a view of it"
        )
    items = key if isinstance(key, tuple) else (key,)
    gaps = sum(1 for item in items if item is Ellipsis)
    if gaps > 1:
        raise SelectionError("an index can only have a single ellipsis ('...')")
    missing = len(grid.axes) - (len(items) - gaps)
    if missing < 0:
        raise SelectionError(
            f"too many block indices: the array is {len(grid.axes)}-dimensional,"
            f" but {len(items) - gaps} were given"
        )
    spread: list[Any] = []
    for item in items if gaps else (*items, Ellipsis):
        spread.extend([slice(None)] * missing if item is Ellipsis else [item])
    return basic_and_advanced(
        transform, tuple(_block(item, axis, grid) for axis, item in enumerate(spread))
    )


def _block(item: Any, dimension: int, grid: Grid) -> slice:
    axis = grid.axes[dimension]
    count = axis.count
    if isinstance(item, slice):
        first, step, taken = span(item, count)
        if step != 1:
            raise SelectionError(
                f"block selection along axis {dimension} must have step 1, found {item}"
            )
    else:
        try:
            if isinstance(item, bool):  # a mask to NumPy, not a number
                raise TypeError("a bool does not count blocks")
            first = as_integer(item)
        except TypeError as error:
            raise SelectionError(
                "block selections are made of integers and slices with step 1;"
                f" found {type(item).__name__} for axis {dimension}"
            ) from error
        if not -count <= first < count:
            raise BoundsCheckError(
                f"block index {first} is out of bounds for axis {dimension} with {count} chunks"
            )
        first, taken = first % count, 1
    if not taken:
        return slice(0, 0)
    last = first + taken - 1
    return slice(axis.start(first), min(axis.start(last) + axis.size(last), axis.length))


def _basic(source: Shape, entries: list[KeyEntry]) -> Transform:
    shape: list[int] = []
    axes: list[Expression] = []
    for entry in entries:
        if type(entry) is int:
            axes.append(Constant(entry))
        else:
            _append(entry, axes, shape)
    return _selection(source, shape, axes)


def _append(entry: KeyEntry, axes: list[Expression], shape: list[int]) -> None:
    """One entry that is no array: its expression, and the result dimension that it makes."""
    if type(entry) is Span:
        axes.append(Stride(len(shape), entry.start, entry.step))
        shape.append(entry.length)
    elif type(entry) is int:
        axes.append(Constant(entry))
    elif entry is None:
        shape.append(1)


def _vectorised(source: Shape, entries: list[KeyEntry], position: int) -> Transform:
    """Arrays and integers together; their broadcast dimensions stand where the entry at
    `position` stands."""
    picks = [entry for entry in entries if isinstance(entry, Picks)]
    try:
        common = np.broadcast_shapes(*(entry.shape for entry in picks))
    except ValueError as error:
        raise SelectionError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            + " ".join(str(entry.shape) for entry in picks)
        ) from error
    first = sum(1 for entry in entries[:position] if entry is None or isinstance(entry, Span))
    dimensions = range(first, first + len(common))
    shape: list[int] = []
    axes: list[Expression] = []
    for place, entry in enumerate(entries):
        if place == position:
            shape.extend(common)
        if not isinstance(entry, Picks):
            _append(entry, axes, shape)
        elif 0 in common:
            # NumPy does not check indices if nothing is selected.
            axes.extend([indexed(np.zeros(common, dtype=np.intp), dimensions)] * len(entry.arrays))
        else:
            own = dimensions[len(common) - len(entry.shape) :]
            axes.extend(indexed(array, own) for array in _checked(entry, source))
    return _selection(source, shape, axes)


def _selection(source: Shape, shape: list[int], axes: list[Expression]) -> Transform:
    if len(shape) > limits.current.max_dimensions:
        raise SelectionError(
            f"number of dimensions must be within [0, {limits.current.max_dimensions}],"
            f" indexing result would have {len(shape)}"
        )
    return Transform(source, tuple(shape), tuple(axes))


def _checked(picks: Picks, source: Shape) -> Sequence[IntArray]:
    if picks.checked:
        return picks.arrays
    return [
        within(array, picks.axis + offset, source[picks.axis + offset])
        for offset, array in enumerate(picks.arrays)
    ]
