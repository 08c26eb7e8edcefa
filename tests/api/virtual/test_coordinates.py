"""Times in other units and calendars: cftime is the oracle."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.api.virtual.coordinates import in_units_of_first
from omnizarr.errors import UnsupportedError

CALENDARS = ("standard", "proleptic_gregorian", "noleap", "all_leap", "360_day")
UNITS = ("seconds", "minutes", "hours", "days")
dates = st.tuples(st.integers(1583, 2400), st.integers(1, 12), st.integers(1, 28))


@given(dates, dates, st.sampled_from(UNITS), st.sampled_from(UNITS), st.sampled_from(CALENDARS),
       st.integers(-100_000, 100_000), st.booleans())  # fmt: skip
def test_the_moment_stays_the_same(
    first: tuple[int, int, int], second: tuple[int, int, int], one: str, other: str, calendar: str,
    value: int, floating: bool,
) -> None:  # fmt: skip
    cftime = import_module("cftime")
    units = [f"{unit} since {y:04}-{m}-{d:02} 06:30:00"
             for unit, (y, m, d) in ((one, first), (other, second))]  # fmt: skip
    values = np.array([value], "f8" if floating else "i4")
    converted = in_units_of_first([np.array([0]), values], units, [calendar] * 2)
    expected = cftime.num2date(value, units[1], calendar)
    found = cftime.num2date(float(converted[1][0]), units[0], calendar)
    assert abs((found - expected).total_seconds()) < 1e-3


def test_whole_numbers_stay_whole() -> None:
    values = [np.array([0, 1], "i4"), np.array([0, 24], "i2")]
    units = ["days since 2000-01-01", "hours since 2001-01-01T00:00Z"]
    found = in_units_of_first(values, units, [None, None])
    assert found[1].tolist() == [366, 367] and found[1].dtype == np.int64


@pytest.mark.parametrize(
    ("units", "calendar"),
    [
        ("days since 1500-01-01", "standard"), ("days since 2000-13-01", "standard"),
        ("years since 2000-01-01", "standard"), ("days since 2000-01-01 +05:00", "standard"),
        ("days since then", "standard"), ("m", "standard"), (5, "standard"),
        ("days since 2000-01-01", "julian"), (f"days since {'9' * 400}-01-01", "standard"),
    ],
)  # fmt: skip
def test_what_cannot_be_converted(units: object, calendar: str) -> None:
    values = [np.arange(3), np.arange(3)]
    with pytest.raises(UnsupportedError):
        in_units_of_first(values, ["hours since 2000-01-01", units], [calendar] * 2)  # type: ignore[list-item]
    with pytest.raises(UnsupportedError, match="calendars differ"):
        in_units_of_first(
            values, ["hours since 2000-01-01", "days since 2000-01-01"], ["noleap", "360_day"]
        )
