"""Lines and heat maps from characters.

This module knows numbers and characters. It must not know what is drawn.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from omnizarr.cli.output import Output

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""The bits of a braille character: two columns of four dots."""
_BRAILLE = 0x2800
_GREYS = "░▒▓█"
_COLOURS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
"""From dark blue over green to yellow: told apart also without seeing red and green."""


def line(numbers: Any, low: float, high: float, rows: int, out: Output) -> list[str]:
    """A line of values in braille, two values in a column; of stars where there is no braille."""
    per_column, dots = (2, 4) if out.drawing else (1, 1)
    if per_column == 1:
        numbers = numbers[::2]
    height = rows * dots
    width = -(-len(numbers) // per_column)
    cells = np.zeros((rows, width), "i4")
    level = _levels(numbers, low, high, height)
    for x, (before, y) in enumerate(pairwise([None, *level])):
        if y is None:
            continue
        for dot in _between(before, y):
            down = height - 1 - dot
            bit = _DOTS[x % 2][down % 4] if dots == 4 else 1
            cells[down // dots, x // per_column] |= bit
    if dots == 1:
        return ["".join("*" if cell else " " for cell in row).rstrip() for row in cells]
    return ["".join(chr(_BRAILLE + int(cell)) for cell in row) for row in cells]


def _between(before: int | None, y: int) -> range:
    """The heights from the value before, which has a dot of its own, to this one."""
    if before is None or before == y:
        return range(y, y + 1)
    return range(before + 1, y + 1) if before < y else range(y, before)


def _levels(numbers: Any, low: float, high: float, height: int) -> list[int | None]:
    """At which of so many heights every value is; None for one that is not finite."""
    scaled = _scaled(numbers, low, high)
    return [None if s != s else min(int(s * height), height - 1) for s in scaled.tolist()]


def _scaled(numbers: Any, low: float, high: float) -> Any:
    """The values from 0 to 1; NaN where they are not finite."""
    finite = np.where(np.isfinite(numbers), numbers, np.nan)
    if high <= low:
        return np.where(np.isnan(finite), np.nan, 0.5)
    # Halves, so that the distance between the largest numbers is a number.
    return (finite / 2 - low / 2) / (high / 2 - low / 2)


def heat_map(numbers: Any, low: float, high: float, out: Output) -> list[str]:
    """A map in colours, two rows in a line; in greys where there are no colours. The text holds
    nothing but what is made here."""
    scaled = _scaled(numbers, low, high)
    if not out.colour:
        return ["".join(map(_grey, row)).rstrip() for row in scaled.tolist()]
    lines = []
    for top in range(0, len(scaled), 2):
        upper = scaled[top]
        lower = scaled[top + 1] if top + 1 < len(scaled) else np.full_like(upper, np.nan)
        cells = map(_cell, upper.tolist(), lower.tolist())
        lines.append(f"{''.join(cells)}\x1b[0m")
    return lines


def _grey(share: float) -> str:
    return " " if share != share else _GREYS[min(int(share * 4), 3)]


def _cell(upper: float, lower: float) -> str:
    """A character whose upper half has one colour, and its lower half another."""
    if upper != upper and lower != lower:
        return "\x1b[0m "
    if upper != upper:
        return f"\x1b[0m\x1b[38;2;{_colour(lower)}m▄"
    behind = "\x1b[49m" if lower != lower else f"\x1b[48;2;{_colour(lower)}m"
    return f"\x1b[38;2;{_colour(upper)}m{behind}▀"


def _colour(share: float) -> str:
    place = share * (len(_COLOURS) - 1)
    first = min(int(place), len(_COLOURS) - 2)
    mixed = (
        round(a + (b - a) * (place - first))
        for a, b in zip(_COLOURS[first], _COLOURS[first + 1], strict=True)
    )
    return ";".join(map(str, mixed))
