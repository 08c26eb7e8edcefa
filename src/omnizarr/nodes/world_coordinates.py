"""Indices from world coordinates: along an axis, the element ``i`` is at ``i * scale + first``.

This module must not know where scales come from, or what is read.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from omnizarr.errors import BoundsCheckError, SelectionError

if TYPE_CHECKING:
    from omnizarr.nodes.multiscale import Multiscale

Bounds = tuple[float | None, float | None] | float


class Selection(NamedTuple):
    """Elements of one level: ``m.levels[selection.level][selection.key]``."""

    level: int
    key: tuple[slice | int, ...]


class WorldIndexer:
    """``image.world``: see `Multiscale.world`."""

    def __init__(self, image: Multiscale) -> None:
        self._image = image

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        ndim = len(self._image.axes)
        if Ellipsis in items:
            at = items.index(Ellipsis)
            items[at : at + 1] = [slice(None)] * (ndim - len(items) + 1)
        if len(items) > ndim:
            raise SelectionError(f"{len(items)} indices for the {ndim} axes of an image")
        bounds: dict[str, Bounds] = {}
        resolution: dict[str, float] = {}
        for axis, item in zip(self._image.axes, items, strict=False):
            if isinstance(item, slice):
                bounds[axis.name] = item.start, item.stop
                if item.step is not None:
                    resolution[axis.name] = item.step
            else:
                bounds[axis.name] = item
        return self._image.read(bounds, resolution=resolution or None)


def level_at(level: Any, count: int) -> int:
    """The position of a level that a caller names; from the end if negative, as in a list."""
    if isinstance(level, bool) or not isinstance(level, int | np.integer):
        raise TypeError(f"level takes a whole number, found {level!r}")
    if not -count <= level < count:
        raise BoundsCheckError(f"there is no level {level}; the image has {count}")
    return int(level) % count


def indices(scale: float, first: float, length: int, bounds: Bounds) -> slice | int | None:
    """The elements of an axis within a pair of bounds, or the one nearest to a number; None if the
    number is outside of the axis."""
    try:
        if not isinstance(bounds, tuple | list):
            index = (float(bounds) - first) / scale if scale else 0.0
            return max(round(index), 0) if -0.5 <= index < length - 0.5 else None
        start, stop = bounds
        low = -inf if start is None else float(start)
        high = inf if stop is None else float(stop)
        if low != low or high != high:
            raise ValueError("NaN")
    except (OverflowError, TypeError, ValueError):
        raise SelectionError(
            f"bounds are a number, or a pair of numbers or None; found {bounds!r}"
        ) from None
    if scale < 0:  # towards lower coordinates, as the rows of a map that is north up
        up = -scale, -first, length
        return slice(_count(*up, -high, closed=True), _count(*up, -low, closed=True))
    return slice(_count(scale, first, length, low), _count(scale, first, length, high))


def _count(scale: float, first: float, length: int, bound: float, closed: bool = False) -> int:
    """How many elements are at coordinates below `bound`, or at it as well if `closed`.

    It is searched for among the coordinates: a quotient could be off by one."""
    start, stop = 0, length
    while start < stop:
        middle = (start + stop) // 2
        at = middle * scale + first
        if at < bound or (closed and at == bound):
            start = middle + 1
        else:
            stop = middle
    return start
