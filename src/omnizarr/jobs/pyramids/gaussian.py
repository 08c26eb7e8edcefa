"""A Gaussian filter that keeps one element of every block, in NumPy.

The weights of a result are centred on its block, so that it lies where the mean of the block would:
at ``i * factor + (factor - 1) / 2``. As in scikit-image, sigma is a third of the factor and the
filter ends at four sigma. Missing elements, and what is beyond the array, have no weight: sums are
divided by the sum of the weights that remain (normalised convolution). A block of missing elements
alone stays missing: gaps would shrink from level to level otherwise.

The filter is separable: an axis after the other. This module knows arrays in memory and where they
lie in a larger one. It must not know stores, chunks or levels.
"""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.jobs.pyramids.kernels import Factors, keep_apart, missing_in

NDArray = npt.NDArray[Any]
_TRUNCATE = 4.0


def taps(factor: int) -> list[tuple[int, float]]:
    """Places and weights of one result, counted from the first element of its block."""
    if factor == 1:
        return [(0, 1.0)]
    sigma, centre = factor / 3, (factor - 1) / 2
    radius = int(_TRUNCATE * sigma + 0.5)
    places = range(-radius, factor + radius)
    weights = [
        (at, exp(-((at - centre) ** 2) / (2 * sigma**2)))
        for at in places
        if abs(at - centre) <= radius
    ]
    whole = sum(weight for _, weight in weights)
    return [(at, weight / whole) for at, weight in weights]


def halo(factor: int) -> tuple[int, int]:
    """How many elements before and behind its block a result needs."""
    found = taps(factor)
    return -found[0][0], found[-1][0] - (factor - 1)


def gaussian(
    values: NDArray,
    factors: Factors,
    region: tuple[slice, ...],
    start: tuple[int, ...],
    nodata: Any,
    others: tuple[Any, ...] = (),
) -> NDArray:
    """The results of `region`, a part of the smaller array, from elements of the larger one that
    begin at `start` and reach as far as the halo, or to the end of the array. No element of these
    is one of the `others`, and no result becomes one."""
    dtype = values.dtype
    result: NDArray
    missing = missing_in(values, nodata)
    precise = np.result_type(dtype, np.complex128 if dtype.kind == "c" else np.float64)
    weights: NDArray | None = None
    inner: NDArray | None = None
    sums = values.astype(precise)
    if missing is not None:
        sums[missing] = 0
        weights = inner = (~missing).astype(np.float64)
    scale: Any = 1.0
    for axis, (factor, part, first) in enumerate(zip(factors, region, start, strict=True)):
        if factor == 1:
            continue
        length = sums.shape[axis]
        weighted = taps(factor)
        sums = _along(sums, axis, factor, part, first, weighted)
        if weights is None or inner is None:
            inside = _along(np.ones(length), 0, factor, part, first, weighted)
            scale = scale * inside.reshape([-1 if n == axis else 1 for n in range(values.ndim)])
        else:
            weights = _along(weights, axis, factor, part, first, weighted)
            block = [(at, 1.0) for at in range(factor)]
            inner = _along(inner, axis, factor, part, first, block)
    scale = scale if weights is None else weights
    with np.errstate(all="ignore"):
        found = sums / scale
    if inner is not None:
        empty = inner <= 0
        found[empty] = 0 if dtype.kind not in "fc" else np.nan
    if dtype.kind in "fc":
        with np.errstate(all="ignore"):
            result = found.astype(dtype)
    elif dtype.kind == "b":
        result = found > 0.5
    else:
        known = np.iinfo(dtype)
        np.rint(found, out=found)
        # A float of 64 bits may round beyond the largest integer of 64 bits.
        high = found >= float(known.max)
        result = np.where(high, 0, np.maximum(found, known.min)).astype(dtype)
        result[high] = known.max
    keep_apart(result, (nodata, *others))
    if inner is not None and nodata is not None:
        result[empty] = nodata
    return result


def _along(
    values: NDArray, axis: int, factor: int, part: slice, first: int, taps: list[tuple[int, float]]
) -> NDArray:
    """The weighted sums along one axis. Taps are added in their order, whatever the region is, so
    that every element comes out the same."""
    length, count = values.shape[axis], part.stop - part.start
    shape = list(values.shape)
    shape[axis] = count
    out = np.zeros(shape, values.dtype)
    before = (slice(None),) * axis
    for at, weight in taps:
        origin = part.start * factor + at - first
        # Only results whose tap is inside what is there.
        low = max(0, -(origin // factor))
        high = min(count, (length - 1 - origin) // factor + 1)
        if low >= high:
            continue
        begin = origin + low * factor
        taken = values[(*before, slice(begin, begin + (high - low - 1) * factor + 1, factor))]
        out[(*before, slice(low, high))] += weight * taken
    return out
