"""The header `Range` (RFC 9110, section 14): which bytes of a value are asked for.

This module knows the header. It must not know what the bytes are.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_RANGES = 64
"""More ranges than these are refused: each costs a read."""
_DIGITS = 19
"""Positions beyond these digits are none of any value."""
_SPAN = re.compile(rf"[ \t]*(\d{{0,{_DIGITS}}})-(\d{{0,{_DIGITS}}})[ \t]*\Z", re.ASCII)


class Span(NamedTuple):
    """Bytes of a value, the end excluded."""

    start: int
    stop: int

    @property
    def length(self) -> int:
        return self.stop - self.start


class MalformedRangeError(ValueError):
    """The header does not say what is asked for."""


class UnsatisfiableRangeError(ValueError):
    """No byte of the value is asked for, or some more than once."""


def parse(header: str, size: int) -> list[Span] | None:
    """The spans of a value of `size` bytes; None if the header names another unit than bytes, and
    counts for nothing.

    >>> parse("bytes=0-3, -2", 10)
    [Span(start=0, stop=4), Span(start=8, stop=10)]
    """
    unit, equals, listed = header.partition("=")
    if unit.strip().lower() != "bytes" or not equals:
        return None
    parts = listed.split(",", MOST_RANGES)
    if len(parts) > MOST_RANGES:
        raise UnsatisfiableRangeError(f"at most {MOST_RANGES} ranges may be asked for at once")
    spans = [span for part in parts if (span := _span(part, size)) is not None]
    if not spans:
        raise UnsatisfiableRangeError(f"the value has {size} bytes")
    if len(spans) > 1 and sum(span.length for span in spans) > size:
        raise UnsatisfiableRangeError("the ranges overlap")
    return spans


def _span(part: str, size: int) -> Span | None:
    """None where the range lies behind the end."""
    found = _SPAN.match(part)
    if found is None or not (found[1] or found[2]):
        raise MalformedRangeError("a range is first-last, first- or -length")
    if not found[1]:
        length = min(int(found[2]), size)
        return Span(size - length, size) if length else None
    start = int(found[1])
    last = int(found[2]) if found[2] else size - 1
    if found[2] and last < start:
        raise MalformedRangeError("the last byte of a range comes before the first")
    return Span(start, min(last + 1, size)) if start < size else None
