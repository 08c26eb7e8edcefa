"""Windows: equally large boxes in an array, each a sample, and the chunks that they begin in.

Windows are counted in C order of their places. All windows that begin in the same chunk are a
*unit*, the amount that is read and shuffled as one. Where no window crosses the edge of a chunk,
no two units need the same chunk.

This module knows integers. It must not know arrays, stores or frameworks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Windows:
    """Windows along some axes. Those that would reach beyond the array are left out.

    >>> windows = Windows(lengths=(10, 4), size=(4, 4), stride=(3, 4))
    >>> windows.counts, len(windows)
    ((3, 1), 3)
    >>> windows.origins([0, 2]).tolist()
    [[0, 0], [6, 0]]
    """

    lengths: Shape
    size: Shape
    stride: Shape

    @property
    def counts(self) -> Shape:
        """How many there are along each axis."""
        return tuple(
            max(0, (length - size) // stride + 1)
            for length, size, stride in zip(self.lengths, self.size, self.stride, strict=True)
        )

    def __len__(self) -> int:
        return prod(self.counts)

    def origins(self, samples: npt.ArrayLike) -> Integers:
        """First index along each axis, one row for each sample."""
        places = np.unravel_index(np.asarray(samples, np.int64), self.counts)
        return np.stack(places, axis=-1) * np.asarray(self.stride, np.int64)


@dataclass(frozen=True)
class Units:
    """Windows by the chunk that they begin in.

    >>> windows = Windows(lengths=(10,), size=(1,), stride=(1,))
    >>> units = units_of(windows, [(4, 4, 2)])
    >>> units.sizes.tolist(), units.samples(1).tolist()
    ([4, 4, 2], [4, 5, 6, 7])
    >>> units.holding([9, 0]).tolist()
    [2, 0]
    """

    counts: Shape
    """How many windows there are along each axis."""
    edges: tuple[Integers, ...]
    """For each axis the numbers of the windows that begin a unit, and behind them their count."""

    @property
    def shape(self) -> Shape:
        """How many units there are along each axis."""
        return tuple(len(edges) - 1 for edges in self.edges)

    @property
    def sizes(self) -> Integers:
        """How many samples each unit has."""
        sizes = np.ones((), np.int64)
        for edges in self.edges:
            sizes = np.multiply.outer(sizes, np.diff(edges))
        return sizes.reshape(-1)

    def samples(self, unit: int) -> Integers:
        """The samples of a unit, ascending."""
        place = np.unravel_index(unit, self.shape)
        ranges = [np.arange(e[at], e[at + 1]) for e, at in zip(self.edges, place, strict=True)]
        return np.ravel_multi_index(np.ix_(*ranges), self.counts).reshape(-1).astype(np.int64)

    def holding(self, samples: npt.ArrayLike) -> Integers:
        """The unit of each sample."""
        places = np.unravel_index(np.asarray(samples, np.int64), self.counts)
        found = [
            np.searchsorted(edges, place, side="right") - 1
            for edges, place in zip(self.edges, places, strict=True)
        ]
        return np.asarray(np.ravel_multi_index(found, self.shape), np.int64)


def units_of(windows: Windows, chunks: Sequence[Sequence[int]]) -> Units:
    """The units for chunks of these lengths along each axis."""
    counts = windows.counts
    edges: list[Any] = []
    for lengths, stride, count in zip(chunks, windows.stride, counts, strict=True):
        starts = np.cumsum([0, *lengths[:-1]], dtype=np.int64)
        first = np.minimum(-(-starts // stride), count)  # the first window from there on
        edges.append(np.unique([0, *first, count]))
    if 0 in counts:
        edges = [np.zeros(1, np.int64) for _ in edges]
    return Units(counts, tuple(edges))
