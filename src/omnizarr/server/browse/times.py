"""Times of CF: numbers since a date, in its calendars, as text.

"days since 2000-01-01" in the calendars that data really have. This module knows numbers and text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1e-9),
}
_SINCE = re.compile(
    r"\s*(\w+)\s+since\s+(\d{1,4})-(\d{1,2})-(\d{1,2})"
    r"(?:[T\s]+(\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2}(?:\.\d+)?))?)?\s*(?:Z|UTC|\+?0{1,2}:?0{0,2})?\s*",
    re.IGNORECASE | re.ASCII,
)
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_REFORM = 2_299_161
"""The day number of 1582-10-15, which follows 1582-10-04 in the mixed calendar."""
_SOLAR = {"standard": _REFORM, "gregorian": _REFORM, "proleptic_gregorian": 0, "julian": 1 << 40}
"""Calendars with the day number from which on they are Gregorian; before it they are Julian."""
_WITHOUT = {"noleap": _MONTHS, "365_day": _MONTHS}
_LEAP = (31, 29, *_MONTHS[2:])
_EVEN = {"all_leap": _LEAP, "366_day": _LEAP, "360_day": (30,) * 12, **_WITHOUT}


@dataclass(frozen=True)
class Times:
    """A unit and its first moment."""

    seconds: float
    start: tuple[int, int, int, int, int, float]
    calendar: str

    def text(self, values: Sequence[float]) -> list[str]:
        """Each value as a date, with the time of day where one of them has any."""
        found = [self._moment(value) for value in values]
        known = [moment for moment in found if moment is not None]
        midnight = all(second == 0 for _, second in known)
        whole = all(second % 60 == 0 for _, second in known)
        return ["–" if moment is None else _written(*moment, midnight, whole) for moment in found]

    def _moment(self, value: float) -> tuple[str, float] | None:
        """The date, and the second of its day."""
        if not math.isfinite(value):
            return None
        try:
            return self._place(value)
        except (OverflowError, ValueError):
            return None

    def _place(self, value: float) -> tuple[str, float]:
        year, month, day, hour, minute, second = self.start
        since = hour * 3600 + minute * 60 + second
        more, milliseconds = divmod(round((since + value * self.seconds) * 1000), 86_400_000)
        number = _number(year, month, day, self.calendar) + more
        year, month, day = _date(number, self.calendar)
        first = 1 if self.calendar in _SOLAR else 0
        if not first <= year <= 9999:
            raise ValueError("a year that is not written with four digits")
        return f"{year:04}-{month:02}-{day:02}", milliseconds / 1000


def _number(year: int, month: int, day: int, calendar: str) -> int:
    """The number of a day: days since the first one of the calendar."""
    if calendar not in _SOLAR:
        months = _EVEN[calendar]
        return year * sum(months) + sum(months[: month - 1]) + day - 1
    # Years begin in March, so that the leap day is their last.
    early = month < 3
    years, months_before = year + 4800 - early, month - 3 + 12 * early
    number = day + (153 * months_before + 2) // 5 + 365 * years + years // 4
    gregorian = number - years // 100 + years // 400 - 32045
    julian = number - 32083
    return gregorian if gregorian >= _SOLAR[calendar] else julian


def _date(number: int, calendar: str) -> tuple[int, int, int]:
    """Year, month and day of the number of a day."""
    if calendar not in _SOLAR:
        months = _EVEN[calendar]
        year, rest = divmod(number, sum(months))
        month = 0
        while rest >= months[month]:
            rest -= months[month]
            month += 1
        return year, month + 1, rest + 1
    centuries = 0
    days = number + 32082
    if number >= _SOLAR[calendar]:
        days = number + 32044
        centuries = (4 * days + 3) // 146097
        days -= 146097 * centuries // 4
    years = (4 * days + 3) // 1461
    days -= 1461 * years // 4
    month = (5 * days + 2) // 153
    day = days - (153 * month + 2) // 5 + 1
    late = month // 10
    return 100 * centuries + years - 4800 + late, month + 3 - 12 * late, day


def _exists(year: int, month: int, day: int, calendar: str) -> bool:
    return _date(_number(year, month, day, calendar), calendar) == (year, month, day)


def _written(date: str, second: float, midnight: bool, whole: bool) -> str:
    if midnight:
        return date
    minutes, second = divmod(second, 60)
    text = f"{date} {int(minutes) // 60:02}:{int(minutes) % 60:02}"
    return text if whole else f"{text}:{second:06.3f}".removesuffix(".000")


def times(units: object, calendar: object = None) -> Times | None:
    """What units of time mean; None if they mean none, or begin at a date that does not exist.

    >>> times("hours since 2000-01-01").text([0, 36.5])
    ['2000-01-01 00:00', '2000-01-02 12:30']
    >>> times("days since 2001-02-28", "noleap").text([1.0])
    ['2001-03-01']
    >>> times("days since 1582-10-04").text([1.0])
    ['1582-10-15']
    """
    found = _SINCE.fullmatch(units) if isinstance(units, str) and len(units) < 200 else None
    name = str(calendar or "standard").lower()
    if found is None or found[1].lower() not in _SECONDS or name not in {*_SOLAR, *_EVEN}:
        return None
    year, month, day, hour, minute = (int(found[group] or 0) for group in range(2, 7))
    second = float(found[7] or 0)
    if not (1 <= month <= 12 and hour < 24 and minute < 60 and second < 60):
        return None
    if not (year or name in _EVEN) or not _exists(year, month, day, name):
        return None
    start = (year, month, day, hour, minute, second)
    return Times(_SECONDS[found[1].lower()], start, name)
