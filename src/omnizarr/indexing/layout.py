"""The working array: what parts of a plan index, and how it becomes the caller's array.

The working array has one dimension per axis of the source, so that a chunk fits into it without
a change of shape:

* a constant has length 1, and the result drops it;
* a stride keeps its result dimension, always ascending: a negative step is a flip of the result;
* index arrays that go together are put along the first of their axes, flattened; the result splits
  that axis into their dimensions. Their other axes have length 1.

All of these are views. Only a result dimension that repeats (longer than 1 and used by no axis)
is not: reading broadcasts it, writing takes its last element, as NumPy does.

This module knows transforms and arrays' shapes. It must not know chunks.
"""

from __future__ import annotations

from math import prod
from types import EllipsisType

import numpy as np

from omnizarr.indexing.pieces import Points, Run
from omnizarr.indexing.transform import Constant, Indexed, Stride, Transform
from omnizarr.model.grids import IntArray, NDArray, Shape


class WorkingLayout:
    """How a working array and the result of one transform relate."""

    __slots__ = ("_dimensions", "_flips", "_target", "shape")

    def __init__(
        self, target: Shape, shape: Shape, dimensions: list[Shape], flips: set[int]
    ) -> None:
        self._target = target
        self.shape = shape
        self._dimensions = dimensions
        """Per axis the result dimensions that it holds."""
        self._flips = flips
        """Axes that the result shows backwards."""

    @property
    def repeats(self) -> bool:
        """Whether a result dimension only repeats the others."""
        used = {dimension for group in self._dimensions for dimension in group}
        return any(n != 1 and dimension not in used for dimension, n in enumerate(self._target))

    @property
    def merges(self) -> bool:
        """Whether one dimension of the working array holds several of the result."""
        return any(len(group) > 1 for group in self._dimensions)

    @property
    def _plain(self) -> bool:
        return (
            self.shape == self._target
            and not self._flips
            and self._dimensions == [(dimension,) for dimension in range(len(self._target))]
        )

    def _index(self, absent: int | None) -> tuple[slice | int | EllipsisType | None, ...]:
        """Flips what is flipped; `absent` stands for axes that the result does not have. The
        Ellipsis makes it a view even if nothing else is left."""
        flips = self._flips
        index: list[slice | int | EllipsisType | None] = [
            (slice(None, None, -1) if axis in flips else slice(None)) if group else absent
            for axis, group in enumerate(self._dimensions)
        ]
        return (*index, ...)

    def result(self, working: NDArray) -> NDArray:
        """The caller's array: a view, unless a dimension repeats."""
        if self._plain:
            return working
        target = self._target
        view = working[self._index(0)]
        present = [dimension for group in self._dimensions for dimension in group]
        if present != list(range(len(target))):
            view = view.reshape([target[dimension] for dimension in present])
            view = view.transpose(sorted(range(len(present)), key=present.__getitem__))
            used = set(present)
            view = view[(*(slice(None) if d in used else None for d in range(len(target))), ...)]
        elif view.ndim != len(target):
            view = view.reshape(target)
        return np.broadcast_to(view, target).copy() if self.repeats else view

    def working(self, result: NDArray) -> NDArray:
        """The working array for values of the result's shape: a view where strides allow."""
        if self._plain:
            return result
        target = self._target
        if 0 in target:
            return np.empty(self.shape, dtype=result.dtype)
        present = [dimension for group in self._dimensions for dimension in group]
        if present != list(range(len(target))):
            used = set(present)
            places = {dimension: place for place, dimension in enumerate(sorted(present))}
            result = result[(*(slice(None) if d in used else -1 for d in range(len(target))), ...)]
            result = result.transpose([places[dimension] for dimension in present])
        if self.merges:
            result = result.reshape(
                [prod([target[d] for d in group]) for group in self._dimensions if group]
            )
        return result[self._index(None)]


def factorise(transform: Transform) -> tuple[list[Run], list[Points], WorkingLayout]:
    """The independent factors of a selection, and the layout of the array that they fill."""
    runs: list[Run] = []
    lengths: list[int] = []
    dimensions: list[Shape] = []
    flips: set[int] = set()
    shape = transform.shape
    for axis, expression in enumerate(transform.axes):
        if type(expression) is Stride:
            dimension, start, step = expression
            count = shape[dimension]
            if (dimension,) in dimensions:
                break
            if step < 0:
                start += (count - 1) * step
                step = -step
                flips.add(axis)
            runs.append(Run(axis, start, step, count, 0))
            lengths.append(count)
            dimensions.append((dimension,))
        elif type(expression) is Constant:
            runs.append(Run(axis, expression.value, 1, 1, 0))
            lengths.append(1)
            dimensions.append(())
        else:
            break
    else:
        return runs, [], WorkingLayout(shape, tuple(lengths), dimensions, flips)
    return _factorise_arrays(transform)


def _factorise_arrays(transform: Transform) -> tuple[list[Run], list[Points], WorkingLayout]:
    """The same where axes have index arrays or share a result dimension."""
    runs: list[Run] = []
    points: list[Points] = []
    lengths: list[int] = []
    dimensions: list[Shape] = []
    flips: set[int] = set()
    shape = transform.shape
    shared = _shared(transform)
    together: list[tuple[list[int], set[int]]] = []
    arrays: dict[int, Indexed] = {}
    for axis, expression in enumerate(transform.axes):
        if type(expression) is Stride:
            dimension, start, step = expression
            count = shape[dimension]
            if dimension not in shared:
                if step < 0:
                    start += (count - 1) * step
                    flips.add(axis)
                runs.append(Run(axis, start, abs(step), count, 0))
                lengths.append(count)
                dimensions.append((dimension,))
                continue
            steps = np.arange(count, dtype=np.intp)
            expression = Indexed(start + step * steps, (dimension,))
        elif type(expression) is Constant:
            runs.append(Run(axis, expression.value, 1, 1, 0))
            lengths.append(1)
            dimensions.append(())
            continue
        assert type(expression) is Indexed
        arrays[axis] = expression
        lengths.append(1)
        dimensions.append(())
        axes, covered = [axis], set(expression.dimensions)
        for other in [group for group in together if not covered.isdisjoint(group[1])]:
            together.remove(other)
            axes = other[0] + axes
            covered |= other[1]
        together.append((sorted(axes), covered))
    for axes, covered in together:
        order = tuple(sorted(covered))
        full = tuple(shape[dimension] for dimension in order)
        lengths[axes[0]] = prod(full)
        dimensions[axes[0]] = order
        indices = tuple(_flat(arrays[axis], order, full) for axis in axes)
        points.append(Points(tuple(axes), indices, 0))
    return runs, points, WorkingLayout(shape, tuple(lengths), dimensions, flips)


def _shared(transform: Transform) -> set[int]:
    """Result dimensions that more than one axis depends on."""
    seen: set[int] = set()
    shared: set[int] = set()
    for expression in transform.axes:
        if type(expression) is Stride:
            (shared if expression.dimension in seen else seen).add(expression.dimension)
        elif type(expression) is Indexed:
            shared.update(seen.intersection(expression.dimensions))
            seen.update(expression.dimensions)
    return shared


def _flat(expression: Indexed, dimensions: Shape, shape: Shape) -> IntArray:
    """The index array, repeated over all these dimensions and flattened."""
    if expression.dimensions == dimensions:
        return expression.array.reshape(-1)
    own = iter(expression.array.shape)
    expanded = [next(own) if d in expression.dimensions else 1 for d in dimensions]
    return np.broadcast_to(expression.array.reshape(expanded), shape).reshape(-1)
