"""What a Redis server is asked for, and whether that is what it answers.

A server is not trusted, nor is whatever stands between it and us: an answer of another type or
length than was asked for is `Unexpected`.

This module knows commands and answers. It must not know connections.
"""

from __future__ import annotations

from typing import Any

from omnizarr.model.store import ByteRange, Versioned, span

_FARTHEST = 1 << 62
"""Positions beyond this are beyond the end of every value, and the server refuses the number."""
NOTHING = (1, 0)
"""First and last position of an empty range."""


class Unexpected(ValueError):
    """The server answered something else than it was asked for."""

    def __init__(self, answer: object, expected: str) -> None:
        found = f"{len(answer)} bytes" if isinstance(answer, bytes) else type(answer).__name__
        super().__init__(f"the server answered with {found}, expected {expected}")


# -- questions ----------------------------------------------------------------------------------


def bounds_of(byte_range: ByteRange | None) -> tuple[int, int] | None:
    """First and last position as GETRANGE counts; None for the whole value."""
    if byte_range is None:
        return None
    span(byte_range, 0)  # refuses what has no meaning
    start, stop = byte_range
    start = max(-_FARTHEST, min(start, _FARTHEST))
    if stop is None:
        return start, -1
    return (start, min(stop, 2 * _FARTHEST - 1) - 1) if stop > start else NOTHING


def longest(bounds: tuple[int, int] | None) -> int | None:
    """The length of the longest answer that these positions allow; None if they allow any."""
    if bounds is None:
        return None
    first, last = bounds
    if last < 0:
        return -first if first < 0 else None
    return max(last - first + 1, 0)


def overlaps(byte_range: ByteRange | None, length: int) -> bool:
    """Whether there is anything in this range of a value of this length."""
    start, stop = (0, length) if byte_range is None else span(byte_range, length)
    return stop > start


def getting(name: bytes, bounds: tuple[int, int] | None) -> tuple[Any, ...]:
    """The command that reads a value or part of it."""
    if bounds is None:
        return "GET", name
    return ("EXISTS", name) if bounds == NOTHING else ("GETRANGE", name, *bounds)


def escaped(text: bytes) -> bytes:
    """`text` as a pattern that matches nothing else."""
    for special in (b"\\", b"*", b"?", b"[", b"]", b"^", b"-"):
        text = text.replace(special, b"\\" + special)
    return text


# -- answers ------------------------------------------------------------------------------------


def value_of(answer: object, most: int | None = None) -> bytes | None:
    """A value of at most so many bytes, or None."""
    if answer is None:
        return None
    if not isinstance(answer, bytes):
        raise Unexpected(answer, "bytes or nothing")
    if most is not None and len(answer) > most:
        raise Unexpected(answer, f"at most {most}")
    return answer


def number_of(answer: object) -> int:
    if not isinstance(answer, int) or answer < 0:
        raise Unexpected(answer, "a number from 0 on")
    return answer


def done(answer: object) -> bool:
    """True, for an answer that says so."""
    if answer is not True:
        raise Unexpected(answer, "OK")
    return True


def versioned(answer: object, most: int | None) -> Versioned | None:
    """What the script answers that reads a value and its version."""
    if answer is None:
        return None
    if isinstance(answer, list) and len(answer) == 2 and isinstance(answer[0], bytes):
        value = value_of(answer[1], most)
        if value is not None:
            return Versioned(value, answer[0])
    raise Unexpected(answer, "a version and a value")
