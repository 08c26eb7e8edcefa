"""Byte ranges as Redis counts them, and patterns for SCAN.

This module knows commands. It must not know connections.
"""

from __future__ import annotations

from typing import Any

from omnizarr.model.store import ByteRange, span

_FARTHEST = 1 << 62
"""Positions beyond this are beyond the end of every value, and the server refuses the number."""
NOTHING = (1, 0)
"""First and last position of an empty range."""


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
