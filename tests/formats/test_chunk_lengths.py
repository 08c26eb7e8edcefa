"""Chunk lengths that no chunk can have: what is read, and what is left to the parsers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from omnizarr.formats.chunk_lengths import chunk_shape, each

JUNK = st.sampled_from([-1, 1.0, 2.5, None, "1", {}])


def test_a_valid_chunk_shape_is_returned_itself() -> None:
    stored = [4, 5]
    assert chunk_shape(stored, "chunks", (0, 9)) == (stored, (), None)
    assert chunk_shape(stored, "chunks", (0, 9)).value is stored


def test_a_length_of_0_moves_chunks_and_warns_where_the_dimension_is_not_empty() -> None:
    for zero in (0, False):
        silent = chunk_shape([zero, 4], "chunks", (0, 4))
        assert silent.value == [1, 4]
        assert silent.repair is not None
        assert silent.repair.warning == ""
    told = chunk_shape([0, 0], "chunks", (0, 3))
    assert told.repair is not None
    assert "chunk shape [0, 0] is read as [1, 1]" in told.repair.warning


def test_true_is_only_spelled_anew() -> None:
    found = chunk_shape([True, 4], "chunks", (5, 4))
    assert found.repair is None
    assert [type(length) for length in found.value] == [int, int]
    assert len(found.departures) == 1


def test_0_is_read_as_the_length_of_inner_chunks() -> None:
    assert chunk_shape([0, 6], "chunk_shape", (5, 5), (4, 3)).value == [4, 6]


def test_messages_stay_short() -> None:
    found = chunk_shape([0] * 1000, "chunks", (1,) * 1000)
    assert found.repair is not None
    assert len(found.repair.warning) < 600


def test_each_keeps_what_it_does_not_change() -> None:
    stored = [1, [2]]
    assert each(lambda item: item, stored) is stored
    assert each(lambda item: item, "text") == "text"


@given(st.data())
def test_no_other_value_is_changed(data: st.DataObject) -> None:
    """Valid lengths and junk stay as they are; after the repair no 0 and no boolean is left."""
    lengths = st.one_of(st.integers(0, 9), st.booleans(), JUNK, st.just([1, 2]))
    stored: list[Any] = data.draw(st.lists(lengths, max_size=4))
    shape = tuple(data.draw(st.integers(0, 3)) for _ in stored)
    units = tuple(data.draw(st.integers(1, 5)) for _ in stored)
    found = chunk_shape(stored, "chunks", shape, units)
    assert found.value == [
        unit if type(n) in (int, bool) and not n else 1 if n is True else n
        for n, unit in zip(stored, units, strict=True)
    ]
    assert not any(type(n) is bool or (type(n) is int and n == 0) for n in found.value)
    zeros = [type(n) in (int, bool) and not n for n in stored]
    assert (found.repair is not None) == any(zeros)
    warns = any(zero and length for zero, length in zip(zeros, shape, strict=True))
    assert (found.repair is not None and found.repair.warning != "") == warns
    assert (found.departures != ()) == (found.value is not stored)


@given(st.lists(st.integers(0, 3), max_size=4), st.integers(0, 4))
def test_another_number_of_dimensions_is_left_to_the_parser(stored: list[int], ndim: int) -> None:
    found = chunk_shape(stored, "chunks", (5,) * ndim)
    if ndim != len(stored):
        assert found == (stored, (), None)
