"""Transforms: a selection as a function from result coordinates to array coordinates.

Every axis of the source array has one expression that says which index a result coordinate
leads to: a constant, a stride along one result dimension, or an index array over some of them.
A result dimension that no expression names is a new axis: it only repeats.

A selection of a view is the composition of two transforms, which makes views lazy: nothing is
read, and index arrays are the only thing that takes memory.

This module knows integers only: no chunks, no data, and no rule of what a key means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from omnizarr.errors import BoundsCheckError
from omnizarr.model.grids import IntArray, Shape


class Constant(NamedTuple):
    """The same index everywhere."""

    value: int


class Stride(NamedTuple):
    """`start + step * coordinate` along one result dimension; the step is not 0."""

    dimension: int
    start: int
    step: int


@dataclass(frozen=True, slots=True, eq=False)
class Indexed:
    """`array[coordinates]` over some result dimensions, which ascend.

    The array has exactly the lengths of those dimensions, none of them 1 (see `indexed`)."""

    array: IntArray
    dimensions: tuple[int, ...]


Expression = Constant | Stride | Indexed


@dataclass(frozen=True, slots=True, eq=False)
class Transform:
    """Maps every element of a result of `shape` to a position in an array of `source_shape`."""

    source_shape: Shape
    shape: Shape
    axes: tuple[Expression, ...]
    """One expression per axis of the source."""

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_identity(self) -> bool:
        """Whether this is known to select everything as it is."""
        return self.axes is _identity_axes(len(self.shape)) and self.shape == self.source_shape


@lru_cache(maxsize=128)
def _identity_axes(ndim: int) -> tuple[Expression, ...]:
    # One object per rank, so that `is_identity` costs nothing.
    return tuple(Stride(dimension, 0, 1) for dimension in range(ndim))


def identity(shape: Shape) -> Transform:
    """The transform that selects all of an array."""
    return Transform(shape, shape, _identity_axes(len(shape)))


def fitted(transform: Transform, shape: Shape) -> Transform:
    """The same elements of an array that has this shape now. BoundsCheckError if some are gone."""
    if transform.source_shape == shape:
        return transform
    fits = len(transform.source_shape) == len(shape)
    if fits and 0 not in transform.shape:
        for expression, length in zip(transform.axes, shape, strict=True):
            if type(expression) is Constant:
                most = expression.value
            elif type(expression) is Stride:
                last = transform.shape[expression.dimension] - 1
                most = max(expression.start, expression.start + expression.step * last)
            else:
                assert type(expression) is Indexed
                most = int(expression.array.max())
            fits = fits and most < length
    if not fits:
        raise BoundsCheckError(
            f"a view or selection of the array when it had shape {transform.source_shape} reaches"
            f" beyond the shape that it has now, {shape}; select again"
        )
    return Transform(shape, transform.shape, transform.axes)


def indexed(array: IntArray, dimensions: Sequence[int]) -> Expression:
    """The expression for an index array whose dimensions are these result dimensions.

    Dimensions of length 1 are left out, whatever the result's length is: the array does not
    vary along them. That is what tells `numpy.ix_` from a list of points."""
    keep = [length != 1 for length in array.shape]
    if not all(keep):
        array = array[tuple(slice(None) if kept else 0 for kept in keep)]
    if not any(keep):
        return Constant(int(array))
    return Indexed(array, tuple(d for d, kept in zip(dimensions, keep, strict=True) if kept))


def compose(first: Transform, second: Transform) -> Transform:
    """The transform of `x[first][second]`, where `second` selects from `first`'s result."""
    if first.is_identity:
        return second
    axes: list[Expression] = []
    maps = second.axes
    for expression in first.axes:
        if type(expression) is Stride:
            dimension, start, step = expression
            then = maps[dimension]
            if type(then) is Stride:
                axes.append(Stride(then.dimension, start + step * then.start, step * then.step))
            elif type(then) is Constant:
                axes.append(Constant(start + step * then.value))
            else:
                assert type(then) is Indexed
                axes.append(Indexed(start + step * then.array, then.dimensions))
        elif type(expression) is Constant:
            axes.append(expression)
        else:
            assert type(expression) is Indexed
            axes.append(_gather(expression, second))
    return Transform(first.source_shape, second.shape, tuple(axes))


def _gather(expression: Indexed, second: Transform) -> Expression:
    """An index array, itself selected from by `second`."""
    maps = [second.axes[dimension] for dimension in expression.dimensions]
    result: list[int] = sorted(
        {
            dimension
            for then in maps
            for dimension in (
                then.dimensions
                if type(then) is Indexed
                else (then.dimension,)
                if type(then) is Stride
                else ()
            )
        }
    )
    place = {dimension: position for position, dimension in enumerate(result)}
    lengths = [second.shape[dimension] for dimension in result]
    if 0 in lengths:
        return indexed(np.empty(lengths, dtype=np.intp), result)
    if not any(type(then) is Indexed for then in maps):
        # Slices and integers only: a view of the array, with its dimensions in result order.
        array = expression.array[
            tuple(
                then.value if type(then) is Constant else _as_slice(then, second.shape)
                for then in maps
            )
        ]
        order = [then.dimension for then in maps if type(then) is Stride]
        return indexed(array.transpose(np.argsort(order)) if order else array, result)
    key: list[IntArray | int] = []
    for then in maps:
        if type(then) is Constant:
            key.append(then.value)
            continue
        shape = [1] * len(result)
        if type(then) is Stride:
            array = then.start + then.step * np.arange(second.shape[then.dimension], dtype=np.intp)
            shape[place[then.dimension]] = array.size
        else:
            assert type(then) is Indexed
            array = then.array
            for dimension, length in zip(then.dimensions, array.shape, strict=True):
                shape[place[dimension]] = length
        key.append(array.reshape(shape))
    return indexed(expression.array[tuple(key)], result)


def _as_slice(expression: Expression, shape: Shape) -> slice:
    assert type(expression) is Stride
    start, step = expression.start, expression.step
    stop = start + step * shape[expression.dimension]
    return slice(start, stop if stop >= 0 else None, step)
