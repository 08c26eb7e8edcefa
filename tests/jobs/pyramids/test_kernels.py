"""Kernels against an oracle that looks at one block at a time, in exact arithmetic."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from omnizarr.errors import UnsupportedError
from omnizarr.jobs.pyramids.kernels import METHODS, Reduction, check_method

INTEGERS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", ">i4", "?"]


def blocks(values: Any, factors: tuple[int, ...]) -> Any:
    """Every block: its place, and its elements."""
    places = [range(-(-n // f)) for n, f in zip(values.shape, factors, strict=True)]
    for place in product(*places):
        part = tuple(slice(p * f, (p + 1) * f) for p, f in zip(place, factors, strict=True))
        yield place, values[part]


def missing(value: Any, nodata: Any) -> bool:
    return bool(value != value) or (nodata is not None and bool(value == nodata))


def oracle(values: Any, factors: tuple[int, ...], method: str, nodata: Any) -> Any:
    shape = tuple(-(-n // f) for n, f in zip(values.shape, factors, strict=True))
    out = np.zeros(shape, values.dtype)
    for place, block in blocks(values, factors):
        if method == "nearest":
            out[place] = block[
                tuple(min((f - 1) // 2, n - 1) for f, n in zip(factors, block.shape, strict=True))
            ]
            continue
        valid = [value for value in block.ravel().tolist() if not missing(value, nodata)]
        if not valid:
            out[place] = nodata if nodata is not None else np.nan
        elif method == "mean" and values.dtype.kind in "bui":
            out[place] = round(Fraction(sum(map(int, valid)), len(valid)))  # half to even
        elif method == "mean":
            out[place] = sum(valid) / len(valid)
        elif method == "mode":
            counts = Counter(valid)
            out[place] = min(counts, key=lambda value: (-counts[value], value))
        else:
            out[place] = max(valid) if method == "max" else min(valid)
        if valid and method == "mean" and out.dtype.kind in "iu" and missing(out[place], nodata):
            out[place] = nodata - 1 if nodata > 0 else nodata + 1
    return out


def reduced(values: Any, factors: tuple[int, ...], method: Any, nodata: Any) -> Any:
    reduction = Reduction(method, values.dtype, nodata)
    state = reduction.combine(reduction.start(values), factors)
    return reduction.finish(state, elements(values.shape, factors))


def elements(shape: tuple[int, ...], factors: tuple[int, ...]) -> Any:
    """How many elements each block has."""
    counts: Any = np.ones((), np.int64)
    for n, f in zip(shape, factors, strict=True):
        starts = np.arange(0, n, f)
        counts = np.multiply.outer(counts, np.minimum(starts + f, n) - starts)
    return counts


@st.composite
def cases(draw: Any, dtypes: Any) -> Any:
    dtype = np.dtype(draw(dtypes))
    shape = draw(nps.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=9))
    factors = tuple(draw(st.integers(1, 5)) for _ in shape)
    if dtype.kind in "ui" and draw(st.booleans()):
        known = np.iinfo(dtype)
        few = st.sampled_from([known.min, known.min + 1, 0, 1, 2, 3, known.max - 1, known.max])
        values = draw(nps.arrays(dtype, shape, elements=few))
    else:
        values = draw(nps.arrays(dtype, shape))
    if values.size and draw(st.booleans()):
        nodata = values.ravel()[draw(st.integers(0, values.size - 1))]
    else:
        nodata = None
    return values, factors, nodata


@given(cases(st.sampled_from(INTEGERS)), st.sampled_from(["mean", "mode", "nearest", "max", "min"]))
def test_integers_are_exact(case: Any, method: str) -> None:
    values, factors, nodata = case
    found = reduced(values, factors, method, nodata)
    expected = oracle(values, factors, method, nodata)
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("dtype", "nodata"),
    [(dtype, nodata) for dtype in ("i1", "i8", "f4", "f8", ">f4") for nodata in (0, 7, -7)]
    + [("u1", 7), ("u8", 7)],
)
def test_a_mean_of_valid_elements_is_not_missing(dtype: str, nodata: int) -> None:
    values = np.array([nodata - 1, nodata + 1, nodata, nodata], dtype)
    found = reduced(values, (2,), "mean", values.dtype.type(nodata))
    assert found[0] != nodata == found[1]
    assert abs(float(found[0]) - nodata) <= (1 if found.dtype.kind in "iu" else 1e-6)


@given(
    cases(st.sampled_from(["f4", "f8", ">f4"])), st.sampled_from(["mode", "nearest", "max", "min"])
)
def test_floats_with_gaps(case: Any, method: str) -> None:
    values, factors, nodata = case
    found = reduced(values, factors, method, nodata)
    np.testing.assert_array_equal(found, oracle(values, factors, method, nodata))


@given(
    st.data(), st.sampled_from(["f2", "f4", "f8", "c8", "c16"]), st.sampled_from([None, 1.0, -1e3])
)
def test_means_of_floats(data: Any, dtype: str, nodata: Any) -> None:
    shape = data.draw(nps.array_shapes(min_dims=1, max_dims=3, max_side=9))
    factors = tuple(data.draw(st.integers(1, 5)) for _ in shape)
    plain = st.one_of(st.integers(-1000, 1000), st.just(float("nan")), st.just(1.0))
    values = data.draw(nps.arrays("f8", shape, elements=plain)).astype(dtype)
    found = reduced(values, factors, "mean", nodata)
    expected = oracle(values, factors, "mean", nodata)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, rtol=2e-3 if dtype == "f2" else 1e-6, atol=1e-9)


@given(cases(st.sampled_from(["u1", "u2", "i8", "u8", "f4", "f8"])), st.data())
def test_two_steps_are_one(case: Any, data: Any) -> None:
    """A mean of the second level is that of all elements of the first, whatever is missing."""
    values, factors, nodata = case
    if values.dtype.kind == "f":
        values = np.where(np.abs(values) < 1e6, values, np.nan)
    second = tuple(data.draw(st.integers(1, 3)) for _ in factors)
    both = tuple(f * s for f, s in zip(factors, second, strict=True))
    reduction = Reduction("mean", values.dtype, nodata)
    once = int(np.prod(factors, dtype=int))
    state = reduction.combine(reduction.start(values), factors)
    state = reduction.combine(state, second, once)
    found = reduction.finish(state, elements(values.shape, both))
    expected = oracle(values, both, "mean", nodata)
    if values.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    else:
        np.testing.assert_array_equal(found, expected)


@given(
    st.sampled_from(["u1", "i2", "u4", "i8", "u8", "f4", "f8"]), st.integers(0, 100),
    st.sampled_from(METHODS[:5]), st.sampled_from([None, 5]),
)  # fmt: skip
@example("f4", 5, "mean", 5)
def test_the_state_of_a_fill_value(dtype: str, value: int, method: Any, nodata: Any) -> None:
    """Regions that are not read have the state that reading them would give."""
    values = np.full((5, 7), value, dtype)
    factors = (2, 3)
    reduction = Reduction(method, values.dtype, nodata)
    counts = elements(values.shape, factors)
    read = reduction.combine(reduction.start(values), factors)
    made = reduction.fill(value, counts, 6)
    for one, other in zip(read.parts, made.parts, strict=True):
        np.testing.assert_array_equal(one, other)
    if read.counts is not None:
        assert made.counts is not None
        np.testing.assert_array_equal(read.counts, made.counts)
    np.testing.assert_array_equal(reduction.finish(made, counts), value)


def test_times() -> None:
    values = np.array(["2020-01-03", "NaT", "2020-01-01", "2020-01-01", "NaT"], "M8[D]")
    for method, expected in {
        "max": ["2020-01-03", "2020-01-01", "NaT"],
        "mode": ["2020-01-03", "2020-01-01", "NaT"],
        "nearest": ["2020-01-03", "2020-01-01", "NaT"],
    }.items():
        found = reduced(values, (2,), method, None)
        np.testing.assert_array_equal(found, np.array(expected, "M8[D]"))


@pytest.mark.parametrize(
    ("method", "dtype"),
    [("mean", "M8[s]"), ("max", "c8"), ("mode", "U3"), ("mean", "S3"), ("max", "i4,f4")],
)
def test_methods_without_a_meaning(method: Any, dtype: str) -> None:
    with pytest.raises(UnsupportedError, match="nearest"):
        check_method(method, np.dtype(dtype))
    check_method("nearest", np.dtype(dtype))


def test_text_and_structures_are_picked() -> None:
    text = np.array([["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"]])
    assert reduced(text, (2, 2), "nearest", None).tolist() == [["a", "c"], ["g", "i"]]
    pairs = np.zeros(5, "i4,f4")
    assert reduced(pairs, (3,), "nearest", None).shape == (2,)


def test_too_many_elements() -> None:
    reduction = Reduction("mean", np.dtype("u1"))
    state = reduction.start(np.zeros((2, 2), "u1"))
    with pytest.raises(UnsupportedError, match="fewer levels"):
        reduction.combine(state, (2, 2), 1 << 30)


def test_infinities() -> None:
    values = np.array([np.inf, 1, -np.inf, np.inf, 3, 4], "f4")
    found = reduced(values, (2,), "mean", None)
    assert found[0] == np.inf
    assert isnan(found[1])
    assert found[2] == 3.5
