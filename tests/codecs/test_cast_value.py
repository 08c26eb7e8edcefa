"""`cast_value` against exact arithmetic: every rounding, every type, what is out of range."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.codecs import Chain
from omnizarr.codecs.cast_value import ROUNDINGS
from omnizarr.errors import EncodeError, MetadataError
from omnizarr.model.dtypes import from_json
from tests.codecs.support import LITTLE, make, v3

SMALL = [
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3",
    "float8_e4m3fn", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
]  # fmt: skip
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def chain(source: str, target: str, **options: Any) -> Chain:
    cast = v3("cast_value", data_type=target, **options)
    return make([cast, LITTLE], (1,), from_json(source).numpy, None)


def cast(made: Chain, value: Any, target: str) -> Any:
    """One value as it is stored; "error" if it is refused."""
    try:
        data = made.encode(np.array([value]).astype(made.dtype))
    except EncodeError:
        return "error"
    return np.frombuffer(data, from_json(target).numpy)[0]


def finite(name: str) -> list[float]:
    """All finite values of a float type of at most 16 bits, in order."""
    dtype = from_json(name).numpy
    bits = 8 * dtype.itemsize if dtype.itemsize > 1 or name[5] == "8" else int(name[5])
    with np.errstate(invalid="ignore"):  # of the NaNs among them
        every = np.arange(1 << bits, dtype=f"u{dtype.itemsize}").view(dtype).astype(np.float64)
    return sorted({float(x) for x in every[np.isfinite(every)]})


def expected(x: float, values: list[float], rounding: str) -> Any:
    """By definition; None where a tie goes to the even one, which a list does not show."""
    top, step = values[-1], values[-1] - values[-2]
    # One more value on both sides: what rounds to it is out of range.
    values = [-top - step, *values, top + step]
    if abs(x) >= top + step:
        return "error"
    place = int(np.searchsorted(values, x, "right"))
    below, above = values[place - 1], values[place]
    down, up = Fraction(x) - Fraction(below), Fraction(above) - Fraction(x)
    if down == 0:
        return below
    match rounding:
        case "towards-zero":
            found = below if x > 0 else above
        case "towards-positive":
            found = above
        case "towards-negative":
            found = below
        case "nearest-away" if down == up:
            found = above if x > 0 else below
        case "nearest-even" if down == up:
            return None
        case _:
            found = below if down < up else above
    return "error" if abs(found) > top else found


@pytest.mark.slow
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("target", [*SMALL, "float16", "bfloat16"])
def test_floats_are_rounded(target: str, rounding: str) -> None:
    values = finite(target)
    top, step = values[-1], values[-1] - values[-2]
    rng = np.random.default_rng(1)
    middle = [(a + b) / 2 for a, b in pairwise(values)]
    numbers = [
        *rng.choice(values, 10),
        *rng.choice(middle, 10),
        *rng.normal(0, min(top, 1e6) / 3, 10),
        *(sign * (top + part * step) for part in (0, 0.49, 0.5, 0.51, 1, 9) for sign in (1, -1)),
    ]
    made = chain("float64", target, rounding=rounding)
    for x in map(float, numbers):
        wanted = expected(x, values, rounding)
        found = cast(made, x, target)
        if wanted is not None:
            assert found == wanted if wanted == "error" else float(found) == wanted, x


@pytest.mark.parametrize("rounding", ROUNDINGS)
@given(st.integers(-(2**63), 2**64 - 1))
def test_integers_become_floats(rounding: str, number: int) -> None:
    source = "uint64" if number >= 2**63 else "int64"
    for target in ("float32", "float64"):
        made = chain(source, target, rounding=rounding)
        data = made.encode(np.array([number], source))
        found = np.frombuffer(data, target)[0]
        ends = [np.nextafter(found, np.array(end, target)) for end in (-np.inf, np.inf)]
        down, here, up = (Fraction(float(x)) - number for x in (ends[0], found, ends[1]))
        if here == 0:
            continue
        match rounding:
            case "towards-zero":
                assert here < 0 < up if number > 0 else down < 0 < here
            case "towards-positive":
                assert down < 0 < here
            case "towards-negative":
                assert here < 0 < up
            case "nearest-even":
                assert abs(here) <= min(-down, up)
            case _:
                assert abs(here) <= min(-down, up)
                if abs(here) in (-down, up):  # a tie: the larger magnitude
                    assert (here > 0) == (number > 0)


@given(st.floats(-1e30, 1e30), st.sampled_from(INTEGERS))
def test_floats_wrap(number: float, target: str) -> None:
    info = np.iinfo(target)
    exact = (round(number) - int(info.min)) % (int(info.max) - int(info.min) + 1) + int(info.min)
    assert int(cast(chain("float64", target, out_of_range="wrap"), number, target)) == exact


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from([*INTEGERS, "int4", "uint2"]))
def test_integers_wrap_and_clamp(number: int, target: str) -> None:
    bits = int(target.removeprefix("u").removeprefix("int"))
    low = 0 if target[0] == "u" else -(1 << bits - 1)
    high = low + (1 << bits) - 1
    wrapped = cast(chain("int64", target, out_of_range="wrap"), number, target)
    assert int(wrapped) == (number - low) % (1 << bits) + low
    clamped = cast(chain("int64", target, out_of_range="clamp"), number, target)
    assert int(clamped) == min(max(number, low), high)
    found = cast(chain("int64", target), number, target)
    assert found == number if low <= number <= high else isinstance(found, str)


@pytest.mark.parametrize(
    ("source", "target", "number", "clamped"),
    [
        ("float64", "int64", 2.0**63, 2**63 - 1),  # which is no float64
        ("float64", "uint64", 2.0**64, 2**64 - 1),
        ("float32", "int32", -3e9, -(2**31)),
        ("float64", "float32", 1e39, np.inf),
        ("float64", "float16", -65520.0, -np.inf),
        ("int32", "float16", 65520, np.inf),
        ("float64", "float8_e4m3fn", 1e3, 448),  # it has no infinity
        ("float64", "float4_e2m1fn", -7.5, -6),
    ],
)
def test_out_of_range(source: str, target: str, number: Any, clamped: Any) -> None:
    assert cast(chain(source, target), number, target) == "error"
    found = cast(chain(source, target, out_of_range="clamp"), number, target)
    assert (int(found) if isinstance(clamped, int) else float(found)) == clamped


@pytest.mark.parametrize("out_of_range", [None, "clamp", "wrap"])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_no_integer_is_infinite(number: float, out_of_range: str | None) -> None:
    made = chain("float64", "int8", out_of_range=out_of_range)
    assert cast(made, number, "int8") == "error"
    scalar_map = {"encode": [["NaN", 1], ["Infinity", 2], ["-Infinity", 3]]}
    mapped = chain("float64", "int8", out_of_range=out_of_range, scalar_map=scalar_map)
    assert cast(mapped, number, "int8") == {np.inf: 2, -np.inf: 3}.get(number, 1)


def test_specials_of_floats_stay() -> None:
    made = chain("float64", "float16")
    assert np.isnan(cast(made, np.nan, "float16"))
    assert cast(made, -np.inf, "float16") == -np.inf
    assert np.signbit(cast(made, -0.0, "float16"))
    assert cast(chain("float64", "float4_e2m1fn"), np.nan, "float4_e2m1fn") == "error"
    assert cast(chain("float64", "float4_e2m1fn"), np.inf, "float4_e2m1fn") == "error"


def test_a_half_just_below() -> None:
    made = chain("float64", "int64", rounding="nearest-away")
    numbers = {0.49999999999999994: 0, 0.5: 1, -2.5: -3, 2.0**52 - 0.5: 2**52}
    for number, wanted in numbers.items():
        assert cast(made, number, "int64") == wanted


@pytest.mark.parametrize(
    "options",
    [
        {"data_type": "float32", "out_of_range": "wrap"},
        {"data_type": "complex64"},
        {"data_type": "string"},
        {"data_type": "int8", "rounding": "up"},
        {"data_type": "int8", "out_of_range": "saturate"},
        {"data_type": "int8", "scalar_map": [[1, 2]]},
        {"data_type": "int8", "scalar_map": {"both": []}},
        {"data_type": "int8", "scalar_map": {"encode": [["NaN", 300]]}},
        {"data_type": "int8", "scalar_map": {"encode": [["NaN"]]}},
        {"data_type": "int8", "extra": 1},
        {},
    ],
)
def test_configurations_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(MetadataError):
        make([v3("cast_value", **options), LITTLE], (1,), "<f8", None)


def test_small_types_are_there() -> None:
    assert all(hasattr(ml_dtypes, name) for name in SMALL)
