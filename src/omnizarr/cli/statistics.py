"""Numbers about the values of an array, from one chunk after another.

Values are read twice: for the extremes and moments, and for the histogram between the extremes.
Chunks that are not stored are not read: they count as so many times the fill value. Nothing is
kept but one part of a chunk, and the values of an array that is small.

This module knows arithmetic and chunks. It must not know how results are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omnizarr.cli import stored, values
from omnizarr.cli.stored import Grid

_KEPT_BYTES = 64 << 20
"""An array up to this size is read once."""
Told = Callable[[int, int, str], object]


@dataclass
class Moments:
    """Count, mean and squared distances from the mean, which two batches can be merged into."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, count: int, mean: float, squares: float) -> None:
        if not count:
            return
        total = self.count + count
        apart = mean - self.mean
        self.squares += squares + apart * apart * (self.count * count / total)
        self.mean += apart * (count / total)
        self.count = total

    @property
    def deviation(self) -> float | None:
        return (self.squares / self.count) ** 0.5 if self.count else None


@dataclass
class Statistics:
    """What is known of an array's values. Infinite values count for the extremes alone, NaN for
    nothing."""

    values: int = 0
    nan: int = 0
    infinite: int = 0
    fill: int = 0
    """Values that are equal to the fill value, those of chunks that are not stored included."""
    minimum: Any = None
    maximum: Any = None
    finite: tuple[float, float] = (float("inf"), float("-inf"))
    """The extremes of the finite values, between which the histogram is."""
    moments: Moments = field(default_factory=Moments)
    histogram: Any = None
    edges: Any = None
    chunks_read: int = 0
    chunks_stored: int | None = None
    chunks_possible: int = 0
    numeric: bool = True

    def extremes(self, low: Any, high: Any) -> None:
        self.minimum = low if self.minimum is None else min(self.minimum, low)
        self.maximum = high if self.maximum is None else max(self.maximum, high)


@dataclass(frozen=True)
class Work:
    """Which chunks are read, and how many values are in those that need not be."""

    read: Sequence[tuple[int, ...]] | None
    """None: all of the grid, since the store cannot be listed."""
    stored: int | None
    unread: int
    """Values in chunks that are not stored."""

    def count(self, grid: Grid) -> int:
        return grid.count if self.read is None else len(self.read)


def planned(array: Any, sample: int | None) -> Work:
    """The chunks to read: all that are stored, or some that are spread over them."""
    grid = Grid(array)
    if not array.chunk_store.capabilities.listable:
        if sample is None or sample >= grid.count:
            return Work(None, None, 0)
        return Work([grid.unravelled(n) for n in _spread(grid.count, sample)], None, 0)
    found = array.stored_chunks()
    if sample is not None and sample < len(found):
        return Work([found[number] for number in _spread(len(found), sample)], len(found), 0)
    inside = sum(stored.size(grid.region(each)) for each in found)
    return Work(found, len(found), int(array.size) - inside)


def _spread(length: int, number: int) -> list[int]:
    """So many of the numbers below a length, evenly spread."""
    return [(2 * index + 1) * length // (2 * number) for index in range(number)]


def statistics(
    array: Any, work: Work, bins: int, skip_fill: bool, advance: Told = lambda *_: None
) -> Statistics:
    """Read the chunks and count. Fill values are left out of all but the counts if `skip_fill`."""
    grid = Grid(array)
    found = Statistics(
        chunks_read=work.count(grid), chunks_stored=work.stored, chunks_possible=grid.count
    )
    found.numeric = values.numeric(array.dtype)
    fill = array.metadata.model.fill
    small = array.size * stored.itemsize(array) <= _KEPT_BYTES
    kept: list[Any] = []
    for batch in _batches(array, grid, work, advance):
        _count(found, batch, fill, skip_fill)
        if small and bins:
            kept.append(batch)
    if work.unread:
        _count(found, np.full(1, fill, array.dtype), fill, skip_fill, work.unread)
    finite = found.moments.count
    if bins and finite and found.numeric:
        again = kept if small else _batches(array, grid, work, advance)
        _histogram(found, again, bins, fill, skip_fill, array.dtype)
        if work.unread:
            _into(found, np.full(1, fill, array.dtype), fill, skip_fill, work.unread)
    return found


def passes(array: Any, bins: int) -> int:
    """How often every chunk is read."""
    small = array.size * stored.itemsize(array) <= _KEPT_BYTES
    return 1 if small or not bins or not values.numeric(array.dtype) else 2


def _batches(array: Any, grid: Grid, work: Work, advance: Told) -> Iterator[Any]:
    size = stored.itemsize(array)
    for coordinates in grid.all() if work.read is None else work.read:
        region = grid.region(coordinates)
        for part in stored.parts(region, size, array.chunks):
            yield np.asarray(array.read(part)).reshape(-1)
        advance(1, stored.size(region) * size, array.path)


def _is_fill(batch: Any, fill: Any) -> Any:
    """Where the values are the fill value."""
    if batch.dtype.kind in "fcmM" and fill != fill:
        return batch != batch
    if batch.dtype.kind == "O":  # also arrays, whose == is one
        return np.fromiter((np.array_equal(each, fill) for each in batch), bool, batch.size)
    return batch == np.asarray(fill, batch.dtype)


def _finite(found: Statistics, batch: Any, fill: Any, skip_fill: bool, times: int) -> Any:
    """Those values of a batch, as numbers, that count; the others are counted."""
    equal = _is_fill(batch, fill)
    found.values += batch.size * times
    found.fill += int(equal.sum()) * times
    if not found.numeric:
        return None
    batch = batch[~equal] if skip_fill else batch
    if batch.dtype.kind in "biu":
        return batch
    numbers = values.numbers(batch, batch.dtype.kind)
    valid = ~np.isnan(numbers)
    found.nan += int(batch.size - valid.sum()) * times
    if batch.dtype.kind in "mM":  # exact where a float is not
        return batch[valid].astype("i8")
    return numbers[valid]


def _count(found: Statistics, batch: Any, fill: Any, skip_fill: bool, times: int = 1) -> None:
    numbers = _finite(found, batch, fill, skip_fill, times)
    if numbers is None or not numbers.size:
        return
    found.extremes(numbers.min().item(), numbers.max().item())
    numbers = numbers.astype("f8")
    finite = numbers[np.isfinite(numbers)]
    found.infinite += (numbers.size - finite.size) * times
    if finite.size:
        low, high = found.finite
        found.finite = min(low, float(finite.min())), max(high, float(finite.max()))
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(finite.mean())
            squares = float(np.square(finite - mean).sum())
        found.moments.add(finite.size * times, mean, squares * times)


def _histogram(
    found: Statistics, batches: Any, bins: int, fill: Any, skip_fill: bool, dtype: Any
) -> None:
    low, high = found.finite
    whole = dtype.kind in "biu"
    exact = max(-low, high) < 2**53  # a float is the integer, and has a neighbour 1 above
    if whole and exact and high - low < bins:  # a bin for every integer
        found.edges = np.arange(low, high + 2) - 0.5
    else:
        share = np.linspace(0, 1, bins + 1)
        # Not low + share * (high - low), which may be too large for a number.
        # Rounding may let the edges between neighbours fall.
        edges = np.maximum.accumulate(low * (1 - share) + high * share)
        found.edges = edges if high > low else np.array([low, low])
    found.histogram = np.zeros(len(found.edges) - 1, "i8")
    for batch in batches:
        _into(found, batch, fill, skip_fill)


def _into(found: Statistics, batch: Any, fill: Any, skip_fill: bool, times: int = 1) -> None:
    numbers = _finite(Statistics(), batch, fill, skip_fill, 1)
    finite = numbers.astype("f8")
    finite = finite[np.isfinite(finite)]
    found.histogram += np.histogram(finite, found.edges)[0] * times
