"""The picture of stored chunks: as large as asked, and no chunk is lost in it."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.cli.picture import SHADES, draw, draw_weights, shade


def test_two_dimensions() -> None:
    assert draw((2, 3), [(0, 0), (1, 2)], 10).lines == ("█··", "··█")


def test_other_dimensions_are_folded() -> None:
    drawn = draw((4, 2, 3), [(0, 0, 0), (1, 0, 2), (1, 1, 2)], 10)
    assert drawn.lines == ("▒··", "··█", "···", "···")
    assert (drawn.rows, drawn.columns, drawn.per_block) == (0, 2, (1, 2, 1))


def test_one_dimension_is_wrapped() -> None:
    assert draw((7,), [(0,), (6,)], 3).lines == ("█··", "···", "█")


def test_no_dimension_and_no_chunk() -> None:
    assert draw((), [()], 8).lines == ("█",)
    assert draw((), [], 8).lines == ("·",)
    assert draw((0, 4), [], 8).lines == ()


@pytest.mark.parametrize(
    ("stored", "possible", "expected"),
    [(0, 9, "·"), (1, 9, "░"), (3, 9, "▒"), (6, 9, "▓"), (8, 9, "▓"), (9, 9, "█"), (1, 1, "█")],
)
def test_shades(stored: int, possible: int, expected: str) -> None:
    assert shade(stored, possible) == expected


@given(st.data())
def test_every_chunk_is_in_the_picture(data: st.DataObject) -> None:
    grid = tuple(data.draw(st.lists(st.integers(1, 90), min_size=1, max_size=4)))
    width = data.draw(st.integers(1, 40))
    some = st.tuples(*(st.integers(0, n - 1) for n in grid))
    stored = data.draw(st.sets(some, max_size=12))
    drawn = draw(grid, stored, width)
    assert all(len(line) <= width for line in drawn.lines) and len(drawn.lines) <= 24
    text = "".join(drawn.lines)
    assert set(text) <= set(SHADES)
    assert (set(text) == {"·"}) == (not stored)
    assert ("·" not in text and set(text) == {"█"}) == (len(stored) == prod(grid))
    full = draw(grid, np.ndindex(grid), width) if prod(grid) < 5000 else None
    assert full is None or set("".join(full.lines)) == {"█"}


def test_weights_shade_blocks() -> None:
    assert draw_weights((5,), {(0,): 1.0, (2,): 3.0, (3,): 5.0}, 10).lines == ("░·▓█·",)
    drawn = draw_weights((2, 3), {(0, 0): 1.0, (1, 2): 9.0}, 10)
    assert drawn.lines == ("░··", "··█") and (drawn.rows, drawn.columns) == (0, 1)
    assert draw_weights((2, 2), {(0, 0): 4.0}, 10).lines == ("█·", "··")
    assert draw_weights((), {(): 4.0}, 10).lines == ("█",)
    assert draw_weights((0, 3), {}, 10).lines == ()
    folded = draw_weights((100,) * 2, {(row, 0): float(row) for row in range(100)}, 50)
    assert folded.per_block == (5, 2) and folded.lines[0][0] == "░" and folded.lines[-1][0] == "█"
    assert all(line[1:] == "·" * 49 for line in folded.lines)
