"""A selection as a person types it: `0,10:20,:` or `0,...`, one part for every dimension.

This module knows integers, slices and shapes. It must not know what is selected from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from omnizarr.cli.places import Problem

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}\Z")
Part = int | slice | None
"""An index, a slice, or None for the dots that stand for as many `:` as there is room for."""


def selection(text: str) -> tuple[Part, ...]:
    """
    >>> selection("0,10:20,:")
    (0, slice(10, 20, None), slice(None, None, None))
    """
    parts = tuple(_part(part.strip(), text) for part in text.split(","))
    if parts.count(None) > 1:
        raise _refused("... once at most", text)
    return parts


def _part(part: str, text: str) -> Part:
    if part == "...":
        return None
    ends = part.split(":")
    if len(ends) > 3 or not all(_INTEGER.match(end) or not end for end in ends) or not part:
        raise _refused("a selection such as 0,10:20,: or 5,...", text)
    numbers = [int(end) if end else None for end in ends]
    if len(numbers) == 1:
        return numbers[0]
    if len(numbers) == 3 and numbers[2] is not None and numbers[2] < 1:
        raise _refused("steps from 1 on", text)
    return slice(*numbers)


def _refused(expected: str, text: str) -> Exception:
    from argparse import ArgumentTypeError

    return ArgumentTypeError(f"expected {expected}, found {text!r}")


Chosen = tuple[int | range, ...]
"""For every dimension of an array the index, or the indices, that are read."""


def fitted(parts: Sequence[Part], shape: tuple[int, ...], where: object) -> Chosen:
    """A selection from an array of that shape; parts that are left out at the end are `:`."""
    given = len(parts) - (None in parts)
    if given > len(shape):
        raise Problem(
            f"{where}: the selection has {given} parts, and the array {len(shape)} dimensions",
            "--at takes one part for every dimension, such as 0,10:20,:",
        )
    dots = [slice(None)] * (len(shape) - given)
    at = parts.index(None) if None in parts else len(parts)
    whole = [*parts[:at], *dots, *parts[at + 1 :]]
    return tuple(
        _fitted(part, n, axis, where)
        for axis, (part, n) in enumerate(zip(whole, shape, strict=True))
    )


def _fitted(part: Part, length: int, axis: int, where: object) -> int | range:
    if isinstance(part, slice):
        return range(length)[part]
    assert part is not None
    if not -length <= part < length:
        known = f"they go from 0 to {length - 1:,}" if length else "it is empty"
        raise Problem(f"{where}: dimension {axis} has no index {part}", known)
    return part % length


def as_index(chosen: Chosen) -> tuple[int | slice, ...]:
    """The selection as arrays take it; steps are positive."""
    return tuple(
        each if isinstance(each, int) else slice(each.start, max(each.stop, each.start), each.step)
        for each in chosen
    )


def shown(chosen: Chosen, shape: tuple[int, ...]) -> str:
    """
    >>> shown((0, range(2, 9), range(5)), (3, 10, 5))
    '[0, 2:9, :]'
    """
    return f"[{', '.join(map(_shown, chosen, shape))}]"


def _shown(each: int | range, length: int) -> str:
    if isinstance(each, int):
        return str(each)
    if each == range(length):
        return ":"
    text = f"{each.start}:{each.stop}"
    return text if each.step == 1 else f"{text}:{each.step}"


def flat(chosen: Chosen, dimensions: int) -> Chosen:
    """The selection with this many dimensions at most: the first index of the others, the last
    dimensions are kept. A selection of nothing stays what it is."""
    kept = [axis for axis, each in enumerate(chosen) if isinstance(each, range)]
    folded = kept[: max(len(kept) - dimensions, 0)] if all(lengths(chosen)) else []
    return tuple(
        each[0] if axis in folded and isinstance(each, range) else each
        for axis, each in enumerate(chosen)
    )


def lengths(chosen: Chosen) -> tuple[int, ...]:
    """The shape of what is read."""
    return tuple(len(each) for each in chosen if isinstance(each, range))


def names(array: Any, chosen: Chosen) -> list[str]:
    """What to call the dimensions that are kept."""
    dims = array.dims or (None,) * array.ndim
    return [
        dims[axis] or f"dimension {axis}"
        for axis, each in enumerate(chosen)
        if isinstance(each, range)
    ]
