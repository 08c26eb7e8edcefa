"""Selections that a page asks for: text becomes integers and slices, and slices become coarser
until reading them is cheap.

This module knows shapes and chunks. It must not read anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

Part = int | slice
Selection = tuple[Part, ...]

MOST_VALUES = 1 << 22
"""Most values in one answer."""
DECODED = 128 << 20
"""Bytes of chunks that one picture may decode; a coarser one is drawn of what takes more."""
MOST_CHUNKS = 1 << 15
"""Chunks that one picture may read, however small they are."""
LARGEST = 1 << 30
"""Bytes of chunks that are never decoded for one answer."""

_PART = re.compile(r"(\d{1,19})|(\d{0,19}):(\d{0,19})(?::(\d{1,19}))?", re.ASCII)


class BadRequest(ValueError):
    """What was asked for has no meaning; the page shows the message."""


class TooMuch(ValueError):
    """What was asked for would take too much memory or time."""


def parse(text: str, shape: Sequence[int]) -> Selection:
    """A selection, of bounds that lie in the shape.

    >>> parse("3,:,2:8:2", (4, 5, 6))
    (3, slice(0, 5, 1), slice(2, 6, 2))
    """
    parts = text.split(",") if text else []
    if len(parts) > len(shape):
        raise BadRequest(f"the array has {len(shape)} dimensions, found {len(parts)} parts")
    parts += [":"] * (len(shape) - len(parts))
    return tuple(
        _part(part.strip(), length, axis)
        for axis, (part, length) in enumerate(zip(parts, shape, strict=True))
    )


def _part(text: str, length: int, axis: int) -> Part:
    found = _PART.fullmatch(text)
    if found is None:
        raise BadRequest(f"dimension {axis}: expected an index or start:stop:step, found {text!r}")
    if found[1] is not None:
        if int(found[1]) >= length:
            raise BadRequest(f"dimension {axis}: {text} is out of bounds, its length is {length}")
        return int(found[1])
    stop = min(int(found[3]), length) if found[3] else length
    start = min(int(found[2] or 0), stop)
    if (step := int(found[4] or 1)) < 1:
        raise BadRequest(f"dimension {axis}: a step is at least 1, found {step}")
    return slice(start, stop, step)


def count(part: slice) -> int:
    return len(range(part.start, part.stop, part.step))


def shape_of(selection: Selection) -> tuple[int, ...]:
    return tuple(count(part) for part in selection if isinstance(part, slice))


def lengths(array: Any) -> tuple[int, ...]:
    """The (longest) length of a chunk along every dimension."""
    return tuple(max(c, default=1) if isinstance(c, tuple) else max(1, c) for c in array.chunks)


def cost(selection: Selection, chunks: Sequence[int], itemsize: int) -> int:
    """Bytes of the decoded chunks that a selection touches."""
    return touched(selection, chunks) * prod(chunks) * max(1, itemsize)


def touched(selection: Selection, chunks: Sequence[int]) -> int:
    """How many chunks a selection touches."""
    return int(prod(map(_touched, selection, chunks)))


def _touched(part: Part, chunk: int) -> int:
    if isinstance(part, int):
        return 1
    number = count(part)
    if number == 0:
        return 0
    last = part.start + (number - 1) * part.step
    return int(min(number, last // chunk - part.start // chunk + 1))


def coarsened(
    selection: Selection, wanted: Sequence[int], chunks: Sequence[int], itemsize: int
) -> Selection:
    """The selection with steps so that no more than `wanted` values remain along a dimension, and
    no more than DECODED bytes are decoded, of no more than MOST_CHUNKS chunks.

    >>> coarsened((slice(0, 1000, 1), 0), [100], (1000, 1), 4)
    (slice(0, 1000, 10), 0)
    """
    parts = list(selection)
    sliced = [axis for axis, part in enumerate(parts) if isinstance(part, slice)]
    for axis, most in zip(sliced, wanted, strict=False):
        part = parts[axis]
        assert isinstance(part, slice)
        parts[axis] = _at_most(part, max(1, most))
    while (
        cost(tuple(parts), chunks, itemsize) > DECODED
        or touched(tuple(parts), chunks) > MOST_CHUNKS
        or prod(_counts(parts)) > MOST_VALUES
    ) and max(_counts(parts), default=1) > 1:
        axis = max(sliced, key=lambda axis: _weight(parts[axis], chunks[axis]))
        part = parts[axis]
        assert isinstance(part, slice)
        parts[axis] = _at_most(part, max(1, count(part) // 2))
    check(tuple(parts), chunks, itemsize)
    return tuple(parts)


def check(selection: Selection, chunks: Sequence[int], itemsize: int) -> None:
    """Refuse what is too large even so."""
    if (found := cost(selection, chunks, itemsize)) > LARGEST:
        raise TooMuch(
            f"this would decode {found >> 20:,} MiB of chunks, more than the {LARGEST >> 20:,} MiB"
            " that the page may; read it in Python, or rechunk the array"
        )


def _counts(parts: Sequence[Part]) -> list[int]:
    return [count(part) for part in parts if isinstance(part, slice)]


def _weight(part: Part, chunk: int) -> tuple[int, int]:
    """The dimension to coarsen next has most chunks, then most values."""
    return _touched(part, chunk), count(part) if isinstance(part, slice) else 0


def _at_most(part: slice, most: int) -> slice:
    """Every n-th value, so that at most so many remain."""
    if count(part) <= most:
        return part
    step = -(-(part.stop - part.start) // most)
    return slice(part.start, part.stop, max(part.step, step))


def shown(selection: Selection) -> str:
    """The selection as Python has it between brackets.

    >>> shown((3, slice(0, 5, 1), slice(2, 6, 2)))
    '3, 0:5, 2:6:2'
    """
    return ", ".join(map(_shown, selection)) or "()"


def _shown(part: Part) -> str:
    if isinstance(part, int):
        return str(part)
    return f"{part.start}:{part.stop}" + (f":{part.step}" if part.step != 1 else "")
