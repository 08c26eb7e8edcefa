"""Times of CF as text, beside NumPy's dates and cftime."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.server.browse.times import times


@given(st.integers(-200_000, 200_000))
def test_days(days: int) -> None:
    meant = times("days since 2000-03-01", "proleptic_gregorian")
    assert meant is not None
    assert meant.text([days]) == [str(np.datetime64("2000-03-01") + days)]


@pytest.mark.parametrize("calendar", ["noleap", "360_day", "all_leap", "standard"])
@given(hours=st.integers(0, 10**6))
def test_calendars(calendar: str, hours: int) -> None:
    cftime = pytest.importorskip("cftime")
    expected = cftime.num2date(hours, "hours since 1900-02-27 06:00", calendar)
    meant = times("hours since 1900-02-27 06:00", calendar)
    assert meant is not None
    other = meant.text([hours, 0])[0]
    assert other == expected.strftime("%Y-%m-%d %H:%M")


def test_seconds_and_what_is_no_time() -> None:
    meant = times("seconds since 1970-01-01T00:00:00Z")
    assert meant is not None
    assert meant.text([0, 1.5]) == ["1970-01-01 00:00:00", "1970-01-01 00:00:01.500"]
    assert meant.text([float("nan"), 1e300]) == ["–", "–"]
    early = times("days since 0001-01-01")
    assert early is not None and early.text([-1, 0]) == ["–", "0001-01-01"]
    for units in ("K", "days", "days since yesterday", "fortnights since 2000-01-01", None, 5):
        assert times(units) is None
    assert times("days since 2000-01-01", "lunar") is None


MIXED = [None, "standard", "gregorian", "Gregorian"]


@pytest.mark.parametrize("calendar", MIXED)
def test_the_reform(calendar: str | None) -> None:
    meant = times("days since 1582-10-04", calendar)
    assert meant is not None and meant.text([-1, 0, 1]) == [
        "1582-10-03",
        "1582-10-04",
        "1582-10-15",
    ]
    hours = times("hours since 0001-01-01", calendar)
    assert hours is not None and hours.text([17557920]) == ["2003-12-30"]


@pytest.mark.parametrize("calendar", ["standard", "julian", "proleptic_gregorian", "noleap"])
@pytest.mark.parametrize("start", ["0001-01-01", "1582-10-04", "1582-10-15", "1900-03-01 12:00"])
@given(hours=st.integers(0, 10**7))
def test_early_dates(calendar: str, start: str, hours: int) -> None:
    cftime = pytest.importorskip("cftime")
    units = f"hours since {start}"
    meant = times(units, calendar)
    assert meant is not None
    expected = cftime.num2date(hours, units, calendar).strftime("%Y-%m-%d %H:%M")
    assert meant.text([hours, 0.5])[0] == expected.strip().rjust(16, "0")


@pytest.mark.parametrize(
    ("start", "calendar"),
    [
        *(("2001-02-29", "noleap"), ("2000-02-29", "noleap"), ("2001-02-29", "standard")),
        *(("2001-02-31", "360_day"), ("2001-04-31", "all_leap"), ("1582-10-10", "standard")),
        *(("1500-02-29", "proleptic_gregorian"), ("2000-01-01 24:00", "standard")),
    ],
)
def test_dates_that_do_not_exist(start: str, calendar: str) -> None:
    assert times(f"days since {start}", calendar) is None


def test_moments_are_rounded_to_milliseconds() -> None:
    meant = times("days since 2000-01-01")
    assert meant is not None
    assert meant.text([1 - 1e-12, 0.1 + 0.2]) == ["2000-01-02 00:00", "2000-01-01 07:12"]
    assert meant.text([1e9, -1e9]) == ["–", "–"]
