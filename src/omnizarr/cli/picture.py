"""Which chunks are stored, as a small picture: a grid of blocks that fits a terminal.

Two dimensions of the chunk grid become rows and columns; the others are folded into each block,
and so are neighbours where the grid is larger than the space. A block's shade says how many of its
chunks are stored. This module knows coordinates only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

SHADES = "·░▒▓█"
"""None of a block's chunks, fewer than a third, fewer than two thirds, most, all."""

_ROWS = 24


@dataclass(frozen=True)
class Picture:
    lines: tuple[str, ...]
    rows: int | None
    """The dimension that runs downwards; None where the only one is wrapped."""
    columns: int | None
    """The dimension that runs to the right; None for a scalar."""
    per_block: tuple[int, ...]
    """How many chunks of every dimension one block stands for."""


def draw(grid: tuple[int, ...], stored: Iterable[tuple[int, ...]], width: int) -> Picture:
    """The picture of a chunk grid, at most `width` characters wide."""
    if not grid:
        return Picture((SHADES[4 if any(True for _ in stored) else 0],), None, None, ())
    if 0 in grid:
        return Picture((), None, None, grid)
    if len(grid) == 1:
        return _wrapped(grid[0], stored, width)
    down, right = _two_longest(grid)
    block = list(grid)
    block[down] = -(-grid[down] // min(grid[down], _ROWS))
    block[right] = -(-grid[right] // min(grid[right], width))
    height, length = -(-grid[down] // block[down]), -(-grid[right] // block[right])
    found = [[0] * length for _ in range(height)]
    for coordinates in stored:
        found[coordinates[down] // block[down]][coordinates[right] // block[right]] += 1
    folded = prod(n for axis, n in enumerate(grid) if axis not in (down, right))
    lines = []
    for row, numbers in enumerate(found):
        tall = min(block[down], grid[down] - row * block[down])
        shades = (
            shade(number, folded * tall * min(block[right], grid[right] - column * block[right]))
            for column, number in enumerate(numbers)
        )
        lines.append("".join(shades))
    return Picture(tuple(lines), down, right, tuple(block))


def _wrapped(length: int, stored: Iterable[tuple[int, ...]], width: int) -> Picture:
    """One dimension, in as many lines as it takes."""
    block = -(-length // (_ROWS * width))
    numbers = [0] * -(-length // block)
    for (coordinate,) in stored:
        numbers[coordinate // block] += 1
    text = "".join(
        shade(number, min(block, length - index * block)) for index, number in enumerate(numbers)
    )
    lines = tuple(text[start : start + width] for start in range(0, len(text), width))
    return Picture(lines, None, 0, (block,))


def _two_longest(grid: tuple[int, ...]) -> tuple[int, int]:
    """The dimensions with the most chunks, in the array's own order; the last ones where equal."""
    first, second = sorted(range(len(grid)), key=lambda axis: (grid[axis], axis))[-2:]
    return min(first, second), max(first, second)


def shade(stored: int, possible: int) -> str:
    if stored <= 0:
        return SHADES[0]
    if stored >= possible:
        return SHADES[4]
    return SHADES[1 + 3 * stored // possible]


# -- weights -----------------------------------------------------------------------------------


def draw_weights(
    grid: tuple[int, ...], weights: Mapping[tuple[int, ...], float], width: int
) -> Picture:
    """The same with a weight for every chunk that is stored: a block's shade says where the mean of
    its chunks is between the least weight (░) and the greatest (█)."""
    low, high = min(weights.values(), default=0.0), max(weights.values(), default=0.0)

    def shaded(found: list[float]) -> str:
        if not found:
            return SHADES[0]
        mean = sum(found) / len(found)
        return SHADES[1 + min(int(4 * (mean - low) / (high - low)), 3)] if high > low else SHADES[4]

    if len(grid) < 1 or 0 in grid:
        return draw(grid, weights, width)
    blocks: dict[tuple[int, int], list[float]] = {}
    if len(grid) == 1:
        block = -(-grid[0] // (_ROWS * width))
        for (coordinate,), weight in weights.items():
            blocks.setdefault((0, coordinate // block), []).append(weight)
        text = "".join(shaded(blocks.get((0, i), [])) for i in range(-(-grid[0] // block)))
        lines = tuple(text[start : start + width] for start in range(0, len(text), width))
        return Picture(lines, None, 0, (block,))
    empty = draw(grid, (), width)
    down, right = empty.rows, empty.columns
    assert down is not None and right is not None
    for coordinates, weight in weights.items():
        place = (
            coordinates[down] // empty.per_block[down],
            coordinates[right] // empty.per_block[right],
        )
        blocks.setdefault(place, []).append(weight)
    lines = tuple(
        "".join(shaded(blocks.get((row, column), [])) for column in range(len(line)))
        for row, line in enumerate(empty.lines)
    )
    return Picture(lines, down, right, empty.per_block)
