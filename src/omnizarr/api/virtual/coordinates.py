"""The coordinates of the dimension along which files are joined: one unit, one direction.

Times of files that count from different dates are counted from the date of the first file. Dates
are reckoned here, in the calendars of CF, so that no other package is needed.

This module knows values and units. It must not know files, nor where values came from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.model.codec import Json
from omnizarr.model.grids import NDArray
from omnizarr.model.json import show

_UNITS = {
    1: "us usec usecs microsecond microseconds",
    1_000: "ms msec msecs millisecond milliseconds",
    1_000_000: "s sec secs second seconds",
    60_000_000: "min mins minute minutes",
    3_600_000_000: "h hr hrs hour hours",
    86_400_000_000: "d day days",
}
"""Microseconds, and the names of so long a time."""
_LENGTHS = {name: length for length, names in _UNITS.items() for name in names.split()}
_SINCE = re.compile(r"\s*(\w+)\s+since\s+(.*\S)\s*")
_DATE = re.compile(
    r"(-?\d{1,6})-(\d{1,2})-(\d{1,2})"
    r"(?:[T ]\s*(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6})\d*)?)?)?\s*(?:Z|UTC|GMT|\+?00:?00)?"
)
_GREGORIAN = ("standard", "gregorian", "proleptic_gregorian")
_FIXED = {"noleap": 365, "365_day": 365, "all_leap": 366, "366_day": 366, "360_day": 360}
"""Calendars whose years are all alike, and the days of one."""
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY = 86_400_000_000


def in_units_of_first(
    values: Sequence[NDArray], units: Sequence[Json], calendars: Sequence[Json]
) -> list[NDArray]:
    """All values in the units of the first ones. Raises where they cannot be so expressed."""
    if all(unit == units[0] for unit in units):
        return list(values)
    if any(calendar != calendars[0] for calendar in calendars):
        raise UnsupportedError("their calendars differ")
    calendar = calendars[0] if isinstance(calendars[0], str) else "standard"
    target, origin = _reference(units[0], calendar)
    found: list[NDArray] = []
    for own, unit in zip(values, units, strict=True):
        length, start = _reference(unit, calendar)
        if own.dtype.kind in "iu":
            if own.size and int(np.abs(own.astype("f8")).max()) * length >= 1 << 62:
                raise UnsupportedError("times that are too long to be counted in microseconds")
            moments = own.astype("i8") * length + (start - origin)
            whole = not (moments % target).any()
            found.append(moments // target if whole else moments / target)
        elif own.dtype.kind == "f":
            found.append((own.astype("f8") * length + (start - origin)) / target)
        else:
            raise UnsupportedError(f"times of type {own.dtype} with different units")
    common = np.result_type(*found)
    return [moments.astype(common) for moments in found]


def _reference(units: Json, calendar: str) -> tuple[int, int]:
    """The length of a unit, and the moment that is counted from, in microseconds."""
    match = _SINCE.fullmatch(units) if isinstance(units, str) else None
    date = _DATE.fullmatch(match[2]) if match else None
    if match is None or date is None or match[1].lower() not in _LENGTHS:
        raise UnsupportedError(f"the units {show(units)}, which cannot be converted")
    year, month, day, hour, minute, second = (int(part or 0) for part in date.groups()[:6])
    fraction = int((date[7] or "").ljust(6, "0") or 0)
    days = _days(year, month, day, calendar)
    seconds = (hour * 60 + minute) * 60 + second
    return _LENGTHS[match[1].lower()], days * _DAY + seconds * 1_000_000 + fraction


def _days(year: int, month: int, day: int, calendar: str) -> int:
    """Days since the year 0 of a calendar."""
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        raise UnsupportedError(f"the date {year}-{month}-{day}, which does not exist")
    if calendar in _FIXED:
        if calendar == "360_day":
            return year * 360 + (month - 1) * 30 + day
        lengths = [*_MONTHS]
        lengths[1] += _FIXED[calendar] - 365
        return year * _FIXED[calendar] + sum(lengths[: month - 1]) + day
    old = (year, month, day) < (1582, 10, 15)
    if calendar not in _GREGORIAN or (old and calendar != "proleptic_gregorian"):
        raise UnsupportedError(f"the calendar {calendar!r} in the year {year}")
    before = year - 1
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    passed = sum(_MONTHS[: month - 1]) + (leap and month > 2)
    return before * 365 + before // 4 - before // 100 + before // 400 + passed + day


def check_order(values: Sequence[NDArray], sources: Sequence[str], name: str) -> None:
    """Raise unless the coordinates of all files together rise, or fall, at every step."""
    filled = [(own, source) for own, source in zip(values, sources, strict=True) if own.size]
    everything = np.concatenate([own for own, _ in filled]) if filled else np.zeros(0)
    if everything.dtype.kind not in "iufM" or everything.size < 2:
        return
    example = next((own for own, _ in filled if own.size > 1), everything)
    rising = example[-1] > example[0]
    for own, source in filled:
        if not _ordered(own, rising):
            raise MetadataError(f"the coordinate {name!r} of {source!r} is not in one order")
    for (before, first), (after, second) in pairwise(filled):
        if not _ordered(np.stack([before[-1], after[0]]), rising):
            raise MetadataError(
                f"the coordinate {name!r} ends with {before[-1]} in {first!r}, and begins with"
                f" {after[0]} in {second!r}, the next file: they overlap or are in the wrong order"
            ).advise("give the files as a list in their order, each time once")


def _ordered(values: NDArray, rising: Any) -> bool:
    low, high = (values[:-1], values[1:]) if rising else (values[1:], values[:-1])
    return bool((low < high).all())


def same(one: Any, other: Any) -> bool:
    """Whether two attributes or fill values are equal; NaN is equal to itself."""
    if one is None or other is None:
        return one is other
    if isinstance(one, Mapping) or isinstance(other, Mapping):
        return bool(one == other)
    left, right = np.asarray(one), np.asarray(other)
    if left.shape != right.shape or (left.dtype.kind in "OTSU") != (right.dtype.kind in "OTSU"):
        return False
    floats = left.dtype.kind in "fc" and right.dtype.kind in "fc"
    return bool(np.array_equal(left, right, equal_nan=floats))
