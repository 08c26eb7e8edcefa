"""Blocks of elements become one element: mean, mode, nearest, max, min, in NumPy.

Every method is a `Reduction`: `start` turns values into a state, `combine` joins blocks of a state,
`finish` turns a state back into values. The state of most methods is the values themselves, so that
each level is computed from the one before. The mean carries sums and counts instead: each level is
the mean of all valid elements of the largest level below it, rounded once. A mean of means would
give a block with one valid element the weight of a full one, and would round at every level.

Sums are added in an order that depends on the place of an element in its block alone, so results
do not depend on how an array is cut into regions.

An edge that does not divide evenly is a block of what is there. This module knows arrays in memory.
It must not know stores, chunks or levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import count, product
from math import prod
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from omnizarr.errors import UnsupportedError

Method = Literal["mean", "mode", "nearest", "max", "min", "gaussian"]
METHODS: tuple[Method, ...] = get_args(Method)
Factors = tuple[int, ...]
NDArray = npt.NDArray[Any]

MOST_COMBINED = 1 << 31
"""So many elements may come together in a mean; sums of 32 bits each then fit into 63."""
_SMALL = 16
"""Blocks of at most so many integers are sorted by comparisons of whole planes."""

_METHODS_OF_KIND: dict[str, tuple[Method, ...]] = {
    **dict.fromkeys("buif", METHODS),
    "c": ("mean", "nearest", "gaussian"),
    **dict.fromkeys("mM", ("mode", "nearest", "max", "min")),
}


def check_method(method: Method, dtype: np.dtype[Any]) -> None:
    """Refuse a method that has no meaning for a data type."""
    if method not in METHODS:
        raise ValueError(f"method takes {', '.join(map(repr, METHODS))}; found {method!r}")
    known = _METHODS_OF_KIND.get(dtype.kind, ("nearest",))
    if method not in known:
        raise UnsupportedError(
            f"method {method!r} is not defined for data of type {dtype};"
            f" use {' or '.join(map(repr, known))}"
        )


class State(NamedTuple):
    """What is known of every block: values, or sums of parts of them."""

    parts: tuple[NDArray, ...]
    counts: NDArray | None = None
    """How many valid elements are in each; None if all are."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.parts[0].shape


@dataclass(frozen=True)
class Reduction:
    """One method for one data type. `nodata`, and NaN or NaT, are ignored as far as possible."""

    method: Method
    dtype: np.dtype[Any]
    nodata: Any = None
    """A value of the data type that stands for missing ones; None if there is none."""
    others: tuple[Any, ...] = ()
    """Further ones; what is computed from them alone is `nodata`."""

    @property
    def sums(self) -> bool:
        """Whether the state holds sums and counts."""
        return self.method == "mean"

    def start(self, values: NDArray) -> State:
        """The state of single elements."""
        values = self.meant(values)
        if not self.sums:
            return State((values,))
        missing = missing_in(values, self.nodata)
        if missing is not None:
            values = np.where(missing, values.dtype.type(0), values)
        counts = None if missing is None else (~missing).view(np.uint8)
        if self.dtype.kind in "ui" and self.dtype.itemsize == 8:
            # 64 bits hold no sum of such numbers: the upper and the lower half are added apart.
            low = (values & values.dtype.type(0xFFFFFFFF)).astype(np.uint64)
            return State(((values >> values.dtype.type(32)).astype(np.int64), low), counts)
        return State((values,), counts)

    def meant(self, values: NDArray) -> NDArray:
        """Stored values with the sign of the data type, and one value for all missing ones."""
        values = as_kind(values, self.dtype.kind)
        if not self.others:
            return values
        return np.where(np.isin(values, self.others), self.nodata, values)

    def combine(self, state: State, factors: Factors, elements: int = 1) -> State:
        """Blocks of `factors` elements of a state, of which each holds at most `elements`."""
        if self.method == "nearest":
            return State((_picked(state.parts[0], factors),))
        if not self.sums:
            found = blockwise(state.parts[0], factors, self._values)
            return State((found.astype(self.dtype, copy=False),))  # NumPy's has native byte order
        if elements * prod(factors) > MOST_COMBINED:
            raise UnsupportedError(
                f"a mean of {elements * prod(factors)} elements; at most {MOST_COMBINED} are"
                " added up. Ask for fewer levels or smaller factors"
            )
        total = elements * prod(factors)
        parts = tuple(
            blockwise(part, factors, _sum(self.sum_type(at, total)))
            for at, part in enumerate(state.parts)
        )
        counts = state.counts
        if counts is not None:
            counts = blockwise(counts, factors, _sum(np.dtype(np.uint32)))
        return State(parts, counts)

    def sum_type(self, part: int, elements: int) -> np.dtype[Any]:
        """What holds a sum of so many elements."""
        if self.dtype.kind in "fc":
            return np.result_type(self.dtype, np.complex128 if self.dtype.kind == "c" else float)
        if self.dtype.itemsize == 8:
            return np.dtype((np.int64, np.uint64)[part])
        largest = 1 if self.dtype.kind == "b" else 2 ** (8 * self.dtype.itemsize)
        small = np.uint32 if self.dtype.kind in "bu" else np.int32
        return np.dtype(small if largest * elements < 1 << 31 else np.int64)

    @property
    def part_count(self) -> int:
        """How many parts a state has."""
        return 2 if self.sums and self.dtype.kind in "ui" and self.dtype.itemsize == 8 else 1

    def finish(self, state: State, elements: NDArray | int = 1) -> NDArray:
        """The values of a state whose blocks hold `elements`, where the state does not count
        them; it broadcasts."""
        if not self.sums:
            return state.parts[0]
        counts: Any = elements if state.counts is None else state.counts
        empty = None
        if state.counts is not None and not counts.all():
            empty = counts == 0
            counts = np.maximum(counts, 1)
        values = self._divided(state.parts, counts)
        keep_apart(values, (self.nodata, *self.others))
        if empty is not None:
            values[empty] = np.nan if self.nodata is None else self.nodata
        return values

    def _divided(self, parts: tuple[NDArray, ...], counts: Any) -> NDArray:
        if self.dtype.kind in "fc":
            with np.errstate(all="ignore"):  # infinities, and sums too large for the type
                quotient: NDArray = parts[0] / counts
                return quotient.astype(self.dtype, copy=False)
        if len(parts) == 1:
            return rounded(parts[0], counts).astype(self.dtype, copy=False)
        high, low = parts
        whole, rest = np.divmod(high, np.asarray(counts, np.int64))
        counts = np.asarray(counts, np.uint64)
        # What is left of the upper halves is below 2^31, and so is the number of lower halves.
        lower = (rest.astype(np.uint64) << np.uint64(32)) + low
        # Whether a half is rounded up depends on the last bit of the sum of both: as the upper
        # part is even, on that of the lower.
        value = (whole.astype(np.uint64) << np.uint64(32)) + rounded(lower, counts)
        return value.view(np.int64).astype(self.dtype) if self.dtype.kind == "i" else value

    def fill(self, value: Any, counts: NDArray, elements: int) -> State:
        """The state of blocks that hold `counts` elements of one value, of `elements` at most."""
        one = self.start(np.full((), value, self.dtype))
        if not self.sums:
            return State((np.broadcast_to(one.parts[0], counts.shape),))
        parts = tuple(
            np.multiply(part, counts, dtype=self.sum_type(at, elements), casting="unsafe")
            for at, part in enumerate(one.parts)
        )
        valid = None if one.counts is None else (counts * one.counts).astype(np.uint32)
        return State(parts, valid)

    def _values(self, values: NDArray, factors: Factors) -> NDArray:
        """Whole blocks, by a method whose state is the values."""
        if self.method == "mode":
            return _mode(values, factors, self.nodata)
        return self._extreme(values, factors)

    def _extreme(self, values: NDArray, factors: Factors) -> NDArray:
        largest = self.method == "max"
        better = np.fmax if largest else np.fmin  # both prefer a number to NaN
        if self.nodata is None or _is_nan(self.nodata):
            return _along_axes(values, factors, better)
        missing = values == self.nodata
        found = _along_axes(
            np.where(missing, _limit(values.dtype, least=largest), values), factors, better
        )
        if values.dtype.kind in "fmM":
            gone = np.isnan(found)
        else:
            gone = _along_axes(missing, factors, np.logical_and)
        found[gone] = self.nodata
        return found


def as_kind(values: NDArray, kind: str) -> NDArray:
    """The same bits as integers with a sign, or without; other values as they are."""
    own = values.dtype.kind
    if own == kind or {own, kind} != {"i", "u"}:
        return values
    return values.view(values.dtype.str.replace(own, kind))


def missing_in(values: NDArray, nodata: Any) -> NDArray | None:
    """Which elements are missing: NaN, NaT and those equal to `nodata`; None if none is."""
    missing: NDArray | None = None
    if values.dtype.kind in "fcmM":
        missing = np.isnan(values)
    if nodata is not None and not _is_nan(nodata):
        equal = values == nodata
        missing = equal if missing is None else missing | equal
    return missing if missing is not None and missing.any() else None


def keep_apart(values: NDArray, marks: Iterable[Any]) -> None:
    """Let a result that happens to be a mark of missing values be the nearest value that is none,
    towards 0 if it can: it is not missing. GDAL does so too."""
    if values.dtype.kind not in "iuf":
        return
    known = {*marks} - {None}
    for mark in known:
        same = values == mark
        if same.any():
            values[same] = next(one for one in _beside(mark, values.dtype) if one not in known)


def _beside(mark: Any, dtype: np.dtype[Any]) -> Iterator[Any]:
    """The values around a mark, the nearest first, and of two the one towards 0."""
    down = mark > 0
    if dtype.kind == "f":
        while True:
            yield (mark := np.nextafter(mark, dtype.type(-np.inf if down else np.inf)))
    step, limits = -1 if down else 1, np.iinfo(dtype)
    for distance in count(1):
        for one in (int(mark) + step * distance, int(mark) - step * distance):
            if limits.min <= one <= limits.max:
                yield one


def rounded(sums: NDArray, counts: Any) -> NDArray:
    """Integers divided by positive counts, half to even."""
    found: NDArray
    if np.ndim(counts) == 0 and (int(counts) & (int(counts) - 1)) == 0:
        bits = sums.dtype.type(int(counts).bit_length() - 1)
        if not bits:
            return sums
        # Just below one half, and one more where the result would be odd.
        half = sums.dtype.type((int(counts) >> 1) - 1)
        found = (sums + half + ((sums >> bits) & sums.dtype.type(1))) >> bits
        return found
    counts = np.asarray(counts).astype(sums.dtype)
    whole = sums // counts
    rest = sums - whole * counts
    beyond = counts - rest  # compared with the rest instead of doubling it, which may overflow
    found = whole + ((rest > beyond) | ((rest == beyond) & (whole & 1).astype(bool)))
    return found


# -- blocks -----------------------------------------------------------------------------------


def blockwise(
    values: NDArray, factors: Factors, function: Callable[[NDArray, Factors], NDArray]
) -> NDArray:
    """`function(values, factors)` for what divides evenly, and for what is left at each edge."""
    pieces = list(_pieces(values.shape, factors))
    if len(pieces) == 1:
        source, _, divisors = pieces[0]
        return function(values[source], divisors)
    out: NDArray | None = None
    for source, target, divisors in pieces:
        found = function(values[source], divisors)
        if out is None:
            out = np.empty(_reduced(values.shape, factors), found.dtype)
        out[target] = found
    assert out is not None
    return out


def _reduced(shape: tuple[int, ...], factors: Factors) -> tuple[int, ...]:
    return tuple(-(-length // factor) for length, factor in zip(shape, factors, strict=True))


Slices = tuple[slice, ...]


def _pieces(shape: tuple[int, ...], factors: Factors) -> Iterator[tuple[Slices, Slices, Factors]]:
    """What divides evenly, and the edges: where they are, where they go, and their factors."""
    per_axis = []
    for length, factor in zip(shape, factors, strict=True):
        blocks, rest = divmod(length, factor)
        parts = (
            [(slice(0, blocks * factor), slice(0, blocks), factor)] if blocks or not rest else []
        )
        if rest:
            parts.append((slice(blocks * factor, length), slice(blocks, blocks + 1), rest))
        per_axis.append(parts)
    for piece in product(*per_axis):
        yield tuple(p[0] for p in piece), tuple(p[1] for p in piece), tuple(p[2] for p in piece)


def offset(factor: int) -> int:
    """Which element of a block the method "nearest" takes along an axis: the one before the
    middle."""
    return (factor - 1) // 2


def _picked(values: NDArray, factors: Factors) -> NDArray:
    """One element of every block; the last one of an edge that ends before it."""
    for axis, (length, factor) in enumerate(zip(values.shape, factors, strict=True)):
        before = (slice(None),) * axis
        if 0 < length % factor <= offset(factor):
            places = np.minimum(np.arange(0, length, factor) + offset(factor), length - 1)
            values = values[(*before, places)]
        else:
            values = values[(*before, slice(offset(factor), None, factor))]
    return values


def _sum(dtype: np.dtype[Any]) -> Callable[[NDArray, Factors], NDArray]:
    def added(one: NDArray, other: NDArray) -> NDArray:
        with np.errstate(all="ignore"):
            found: NDArray = np.add(one, other, dtype=dtype)
        return found

    def summed(values: NDArray, factors: Factors) -> NDArray:
        return _along_axes(values, factors, added).astype(dtype, copy=False)

    return summed


def _along_axes(
    values: NDArray, factors: Factors, function: Callable[[NDArray, NDArray], NDArray]
) -> NDArray:
    """Elements of whole blocks joined two by two, axis after axis. The first axis goes first: its
    slices are contiguous, and it leaves less for the others."""
    for axis, factor in enumerate(factors):
        before = (slice(None),) * axis
        values = reduce(
            function, (values[(*before, slice(at, None, factor))] for at in range(factor))
        )
    return values


# -- mode -------------------------------------------------------------------------------------


def _mode(values: NDArray, factors: Factors, nodata: Any) -> NDArray:
    """The most frequent element of whole blocks; the smallest of several."""
    if prod(factors) == 1:
        return values
    starts = product(*map(range, factors))
    planes = [
        values[tuple(slice(at, None, n) for at, n in zip(start, factors, strict=True))]
        for start in starts
    ]
    planes = _sorted(planes)
    ignored = nodata is not None and not _is_nan(nodata)
    number = values.dtype.kind in "fmM"
    best = planes[0].copy()
    if ignored or number:  # what stays if nothing is valid
        best[...] = _not_a_number(values.dtype) if nodata is None else nodata
    most = np.zeros(best.shape, np.min_scalar_type(len(planes)))
    run = np.zeros_like(most)
    for at, plane in enumerate(planes):
        if at:
            run *= plane == planes[at - 1]
        run += most.dtype.type(1)
        better = run > most
        if ignored:
            better &= plane != nodata
        if number:
            better &= ~np.isnan(plane)
        np.copyto(best, plane, where=better)
        np.copyto(most, run, where=better)
    return best


def _sorted(planes: list[NDArray]) -> list[NDArray]:
    """The same elements, at every place in ascending order."""
    if len(planes) > _SMALL or planes[0].dtype.kind not in "bui":  # NaN breaks comparisons
        return list(np.sort(np.stack(planes), axis=0))
    for one, other in _exchanges(len(planes)):
        planes[one], planes[other] = (
            np.minimum(planes[one], planes[other]),
            np.maximum(planes[one], planes[other]),
        )
    return planes


def _exchanges(count: int) -> Iterator[tuple[int, int]]:
    """Batcher's merge exchange: the comparisons that sort so many elements."""
    step = 1 << max(0, (count - 1).bit_length() - 1)
    first = step
    while step:
        distance, gap, offset = first, step, 0
        while True:
            for at in range(count - gap):
                if at & step == offset:
                    yield at, at + gap
            if distance == step:
                break
            gap, offset, distance = distance - step, step, distance >> 1
        step >>= 1


def _not_a_number(dtype: np.dtype[Any]) -> NDArray:
    return np.array("NaT" if dtype.kind in "mM" else np.nan, dtype)


def _is_nan(value: Any) -> bool:
    return bool(value != value)


def _limit(dtype: np.dtype[Any], *, least: bool) -> Any:
    """What loses to every other value: the least or the largest integer, or NaN."""
    if dtype.kind == "b":
        return not least
    if dtype.kind in "fmM":
        return _not_a_number(dtype)
    known = np.iinfo(dtype)
    return dtype.type(known.min if least else known.max)
