"""Boxes: integers and slices of step 1, planned without an object for each axis on the way.

Most reads are of this kind, and many of them of one chunk, where the cost of planning counts. `box`
gives the plan that `partition` would give for the same key, or None for any other key, whatever is
wrong with it: `indexing.select` knows all keys and all errors.

This module knows keys, grids and integers. It must not know stores, codecs or data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from omnizarr import limits
from omnizarr.indexing.pieces import Run
from omnizarr.indexing.plan import ChunkPart, Plan, only_part
from omnizarr.indexing.transform import Constant, Stride, Transform
from omnizarr.model.grids import Grid, NDArray, Shape

# Makes a run from a tuple of its fields, without a Python frame.
_run: Callable[[tuple[int, ...]], Run] = partial(tuple.__new__, Run)


class Box(Plan):
    """A plan of consecutive indices along every axis. An integer is one index, and its axis is not
    part of the result; nothing else tells the working array from the result, so each is a view of
    the other."""

    __slots__ = ("_dropped", "_found", "target")
    target: Shape

    def __init__(
        self, grid: Grid, runs: list[Run], dropped: int, shape: Shape, target: Shape
    ) -> None:
        self.grid = grid
        self.shape = shape
        self._runs = runs
        self._points = []
        self._groups = []
        self._chosen = None
        self._dropped = dropped
        """A bit for each axis that an integer selects from."""
        self.target = target
        self._found: ChunkPart | None = None

    @property
    def transform(self) -> Transform:
        axes: list[Constant | Stride] = []
        dimension = 0
        for axis, start, step, _, _ in self._runs:
            if self._dropped >> axis & 1:
                axes.append(Constant(start))
            else:
                axes.append(Stride(dimension, start, step))
                dimension += 1
        return Transform(self.grid.array_shape, self.target, tuple(axes))

    viewable = True
    dense = True

    def result(self, working: NDArray) -> NDArray:
        return working.reshape(self.target)

    def working(self, result: NDArray) -> NDArray:
        return result if result.shape == self.shape else result.reshape(self.shape)

    view = working

    @property
    def _only(self) -> ChunkPart | None:
        """The part, if there is only one. The native core does not ask."""
        if self.empty or self._chosen is not None:
            return None
        if self._found is None:
            grid = self.grid
            self._found = only_part(self._runs, grid.axes, grid.array_shape)
        return self._found

    @property
    def count(self) -> int:
        return super().count if self._only is None else 1

    def parts(self) -> Iterator[ChunkPart]:
        only = self._only
        return super().parts() if only is None else iter((only,))


def box(key: Any, grid: Grid) -> Box | None:
    """The plan of `array[key]` for an array that the grid cuts; None if the key has anything but
    integers within their axes and slices of step 1, or too many of them."""
    items: tuple[Any, ...] = key if type(key) is tuple else (key,)
    axes = grid.axes
    if len(items) > len(axes) or len(axes) > limits.current.max_dimensions:
        return None
    runs: list[Run] = []
    shape: list[int] = []
    target: list[int] = []
    dropped = 0
    for number, (item, axis) in enumerate(zip(items, axes, strict=False)):
        length = axis.length
        if type(item) is slice:
            try:
                start, stop, step = item.indices(length)
            except (TypeError, ValueError):
                return None
            if step != 1:
                return None
            count = stop - start if stop > start else 0
            target.append(count)
        elif type(item) is int and -length <= item < length:
            start, count = item if item >= 0 else item + length, 1
            dropped |= 1 << number
        else:
            return None
        shape.append(count)
        runs.append(_run((number, start, 1, count, 0)))
    for axis in islice(axes, len(items), None):
        runs.append(_run((len(shape), 0, 1, axis.length, 0)))
        shape.append(axis.length)
        target.append(axis.length)
    return Box(grid, runs, dropped, tuple(shape), tuple(target))
