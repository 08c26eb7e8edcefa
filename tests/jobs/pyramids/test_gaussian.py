"""The Gaussian filter: against sums of weights, against SciPy, and cut into any regions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from omnizarr.jobs.pyramids.gaussian import gaussian, halo, taps


def whole(values: Any, factors: tuple[int, ...], nodata: Any = None) -> Any:
    region = tuple(slice(0, -(-n // f)) for n, f in zip(values.shape, factors, strict=True))
    return gaussian(values, factors, region, (0,) * values.ndim, nodata)


def naive(values: Any, factors: tuple[int, ...], nodata: Any) -> Any:
    out = np.full([-(-n // f) for n, f in zip(values.shape, factors, strict=True)], np.nan)
    for place in np.ndindex(*out.shape):
        total = weight = 0.0
        for offsets in np.ndindex(*(len(taps(f)) for f in factors)):
            at, w = [], 1.0
            for p, f, o in zip(place, factors, offsets, strict=True):
                at.append(p * f + taps(f)[o][0])
                w *= taps(f)[o][1]
            if all(0 <= a < n for a, n in zip(at, values.shape, strict=True)):
                value = float(values[tuple(at)])
                if value == value and value != nodata:
                    total, weight = total + w * value, weight + w
        own = values[tuple(slice(p * f, (p + 1) * f) for p, f in zip(place, factors, strict=True))]
        if ((own == own) & (own != nodata)).any():
            out[place] = total / weight
    return out


@given(st.data())
def test_sums_of_weights(data: Any) -> None:
    shape = data.draw(nps.array_shapes(min_dims=1, max_dims=2, max_side=8))
    factors = tuple(data.draw(st.integers(1, 4)) for _ in shape)
    values = data.draw(
        nps.arrays("f8", shape, elements=st.sampled_from([0.0, 1.0, 7.5, -3.0, float("nan")]))
    )
    nodata = data.draw(st.sampled_from([None, 1.0]))
    expected = naive(values, factors, nodata)
    if nodata is not None:
        expected[np.isnan(expected)] = nodata
    np.testing.assert_allclose(whole(values, factors, nodata), expected, atol=1e-12)


@given(st.data())
def test_regions_do_not_matter(data: Any) -> None:
    """Bit for bit, wherever an array is cut."""
    shape = data.draw(nps.array_shapes(min_dims=2, max_dims=2, max_side=23))
    factors = tuple(data.draw(st.integers(1, 4)) for _ in shape)
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    values = rng.normal(size=shape).astype("f4")
    values[rng.random(shape) < data.draw(st.sampled_from([0.0, 0.5]))] = np.nan
    expected = whole(values, factors)
    region, part, start = [], [], []
    for n, f in zip(shape, factors, strict=True):
        low = data.draw(st.integers(0, -(-n // f) - 1))
        high = data.draw(st.integers(low + 1, -(-n // f)))
        before, behind = halo(f)
        region.append(slice(low, high))
        start.append(max(0, low * f - before))
        part.append(slice(start[-1], min(n, high * f + behind)))
    found = gaussian(values[tuple(part)], factors, tuple(region), tuple(start), None)
    np.testing.assert_array_equal(found, expected[tuple(region)])


@pytest.mark.parametrize("dtype", ["u1", "i8", "u8", "f4", "?"])
def test_types(dtype: str) -> None:
    values = np.ones((7, 9), dtype) if dtype == "?" else np.full((7, 9), 100, dtype)
    if dtype in ("i8", "u8"):
        values[...] = np.iinfo(dtype).max
    found = whole(values, (2, 3))
    assert found.dtype == values.dtype
    # A float of 64 bits has 53 for the value; nothing wraps around.
    np.testing.assert_allclose(found.astype(float), values[:4, :3].astype(float), rtol=1e-15)


def test_nothing_valid() -> None:
    assert np.isnan(whole(np.full(4, np.nan), (2,))).all()
    assert whole(np.full(4, 9, "u1"), (2,), 9).tolist() == [9, 9]


def test_gaps_do_not_shrink() -> None:
    values = np.array([1, 1, 9, 9, 9, 9, 4, 4], "i2")
    assert whole(values, (2,), 9).tolist() == [1, 9, 9, 4]
    assert whole(values, (4,), 9).tolist() == [1, 4]


def test_a_result_is_not_taken_for_a_missing_one() -> None:
    assert whole(np.array([-1, 1, 0, 0], "i2"), (2,), 0).tolist() == [1, 0]


def test_scipy() -> None:
    """For odd factors a Gaussian filter of SciPy, every third element taken."""
    ndimage = pytest.importorskip("scipy.ndimage")
    values = np.random.default_rng(0).normal(size=(30, 21))
    filtered = ndimage.gaussian_filter(values, 1.0, truncate=4.0, mode="constant")
    inside = ndimage.gaussian_filter(np.ones_like(values), 1.0, truncate=4.0, mode="constant")
    expected = (filtered / inside)[1::3, 1::3]
    np.testing.assert_allclose(whole(values, (3, 3)), expected, rtol=1e-12)
