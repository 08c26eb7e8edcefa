"""The header `Range` against Python's slices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.server.ranges import (
    MOST_RANGES,
    MalformedRangeError,
    Span,
    UnsatisfiableRangeError,
    parse,
)

sizes = st.integers(0, 40)


@given(size=sizes, first=st.integers(0, 50), length=st.integers(1, 50))
def test_first_and_last(size: int, first: int, length: int) -> None:
    value = bytes(range(size))
    header = f"bytes={first}-{first + length - 1}"
    if first >= size:
        with pytest.raises(UnsatisfiableRangeError):
            parse(header, size)
    else:
        [(start, stop)] = parse(header, size) or []
        assert value[start:stop] == value[first : first + length]


@given(size=sizes, count=st.integers(0, 50))
def test_suffix_and_open(size: int, count: int) -> None:
    value = bytes(range(size))
    if size and count:
        [(start, stop)] = parse(f"bytes=-{count}", size) or []
        assert value[start:stop] == value[-count:]
    else:
        with pytest.raises(UnsatisfiableRangeError):
            parse(f"bytes=-{count}", size)
    if count < size:
        assert parse(f"bytes={count}-", size) == [Span(count, size)]


@given(st.text(max_size=30))
def test_nothing_else_is_raised(text: str) -> None:
    for header in (text, f"bytes={text}"):
        try:
            spans = parse(header, 10)
        except (MalformedRangeError, UnsatisfiableRangeError):
            continue
        assert spans is None or all(0 <= start < stop <= 10 for start, stop in spans)


@pytest.mark.parametrize(
    "listed", ["", "-", "5-2", "a-b", "1-2-3", "0-99999999999999999999", "٣-٤", "0-1,,2-3"]
)
def test_malformed(listed: str) -> None:
    with pytest.raises(MalformedRangeError):
        parse(f"bytes={listed}", 10)


def test_several() -> None:
    assert parse("bytes=0-1, 4-5 ,-1", 10) == [Span(0, 2), Span(4, 6), Span(9, 10)]
    assert parse("bytes=0-1,50-60", 10) == [Span(0, 2)]
    assert parse("lines=0-1", 10) is None
    many = ",".join(f"{n}-{n}" for n in range(MOST_RANGES + 1))
    for header in (f"bytes={many}", "bytes=0-,0-", "bytes=" + "," * 10**6):
        with pytest.raises((UnsatisfiableRangeError, MalformedRangeError)):
            parse(header, 10)
