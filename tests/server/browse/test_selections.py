"""Selections: what text means, and that no picture costs more than it may."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.server.browse import selections as own

LENGTHS = st.lists(st.integers(1, 10**7), min_size=1, max_size=4)


@st.composite
def asked(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    shape = draw(LENGTHS)
    chunks = [draw(st.integers(1, min(n, 3000))) for n in shape]
    return shape, chunks, [draw(st.integers(1, 3000)) for _ in shape]


@given(asked())
def test_a_picture_is_bounded(given: tuple[list[int], list[int], list[int]]) -> None:
    shape, chunks, wanted = given
    full = own.parse("", shape)
    try:
        found = own.coarsened(full, wanted, chunks, 4)
    except own.TooMuch:
        assert np.prod(chunks, dtype=object) * 4 > own.LARGEST
        return
    sizes = own.shape_of(found)
    assert all(1 <= n <= most for n, most in zip(sizes, wanted, strict=True))
    assert np.prod(sizes, dtype=object) <= own.MOST_VALUES
    assert own.touched(found, chunks) <= own.MOST_CHUNKS
    cheapest = np.prod(chunks, dtype=object) * 4
    assert own.cost(found, chunks, 4) <= max(own.DECODED, cheapest)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 9), st.integers(1, 12))
def test_the_cost_counts_the_chunks_that_are_touched(a: int, b: int, step: int, chunk: int) -> None:
    part = slice(min(a, b), max(a, b), step)
    touched = {index // chunk for index in range(part.start, part.stop, part.step)}
    assert len(touched) * chunk <= own.cost((part,), (chunk,), 1)
    if step <= chunk:
        assert len(touched) * chunk == own.cost((part,), (chunk,), 1)


def test_text() -> None:
    assert own.parse("1,2:9", (3, 5, 7)) == (1, slice(2, 5, 1), slice(0, 7, 1))
    assert own.shown(own.parse("", ())) == "()"
    with pytest.raises(own.BadRequest, match="out of bounds"):
        own.parse("3", (3,))
