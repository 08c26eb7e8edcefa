"""Boxes: integers and slices of step 1, planned without an object for each axis on the way.

Most reads are of this kind, and many of them of one chunk, where the cost of planning counts. `box`
gives the plan that `partition` would give for the same key, or None for any other key, whatever is
wrong with it: `indexing.select` knows all keys and all errors.

This module knows keys, grids and integers. It must not know stores, codecs or data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from omnizarr import limits
from omnizarr.indexing.pieces import Groups, Points, Run
from omnizarr.indexing.plan import ChunkPart, Plan, only_part
from omnizarr.indexing.transform import Constant, Stride, Transform
from omnizarr.model.grids import Grid, NDArray, Shape


class Box(Plan):
    """A plan of consecutive indices along every axis. An integer is one index, and its axis is not
    part of the result; nothing else tells the working array from the result, so each is a view of
    the other."""

    __slots__ = ("_found", "_items", "_starts", "target")
    target: Shape

    def __init__(
        self, grid: Grid, items: tuple[Any, ...], starts: Shape, shape: Shape, target: Shape
    ) -> None:
        self.grid = grid
        self.shape = shape
        self._items = items
        """What selects along each axis: an integer or a slice."""
        self._starts = starts
        self.target = target
        self._chosen = None
        self._found: ChunkPart | None = None

    @property
    def transform(self) -> Transform:
        axes: list[Constant | Stride] = []
        dimension = 0
        for item, start in zip(self._items, self._starts, strict=True):
            if type(item) is int:
                axes.append(Constant(start))
            else:
                axes.append(Stride(dimension, start, 1))
                dimension += 1
        return Transform(self.grid.array_shape, self.target, tuple(axes))

    viewable = True
    dense = True

    def result(self, working: NDArray) -> NDArray:
        return working.reshape(self.target)

    def working(self, result: NDArray) -> NDArray:
        return result if self.target == self.shape else result.reshape(self.shape)

    view = working

    @property
    def factors(self) -> tuple[Shape, list[Points]]:
        return self._starts, []

    def _cut(self) -> tuple[list[Run], list[Groups]]:
        each = enumerate(zip(self._starts, self.shape, strict=True))
        return [Run(axis, start, 1, count, 0) for axis, (start, count) in each], []

    @property
    def _only(self) -> ChunkPart | None:
        """The part, if there is only one. The native core does not ask."""
        if self.empty or self._chosen is not None:
            return None
        if self._found is None:
            grid = self.grid
            self._found = only_part(self._cut()[0], grid.axes, grid.array_shape)
        return self._found

    @property
    def count(self) -> int:
        return super().count if self._only is None else 1

    def parts(self) -> Iterator[ChunkPart]:
        only = self._only
        return super().parts() if only is None else iter((only,))


def box(key: Any, grid: Grid) -> Box | None:
    """The plan of `array[key]` for an array that the grid cuts; None if the key has anything but
    integers within their axes, slices of step 1 and one `...`, or too many of them."""
    items: tuple[Any, ...] = key if type(key) is tuple else (key,)
    lengths = grid.array_shape
    if len(items) < len(lengths):
        items += (slice(None),) * (len(lengths) - len(items))
    if len(lengths) > limits.current.max_dimensions:
        return None
    if len(items) > len(lengths):
        return _spread(key, grid)
    starts: list[int] = []
    shape: list[int] = []
    target: list[int] = []
    for item, length in zip(items, lengths):  # noqa: B905 - as many; `strict` takes its time
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
        else:
            return _spread(key, grid)
        starts.append(start)
        shape.append(count)
    return Box(grid, items, tuple(starts), tuple(shape), tuple(target))


def _spread(key: Any, grid: Grid) -> Box | None:
    """The same with slices in place of one `...`; None if there is none, or if all else are
    integers: the result is an array then, and not a scalar."""
    items: tuple[Any, ...] = key if type(key) is tuple else (key,)
    places = [place for place, item in enumerate(items) if item is ...]
    if len(places) != 1:
        return None
    before, behind = items[: places[0]], items[places[0] + 1 :]
    axes = (slice(None),) * (len(grid.array_shape) - len(before) - len(behind))
    plan = box((*before, *axes, *behind), grid)
    return plan if plan is not None and plan.target else None
