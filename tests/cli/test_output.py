"""Streams that cannot show everything, and values that JSON cannot hold."""

from __future__ import annotations

import errno
import io
import json
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.cli.output import (
    Output,
    Styled,
    Unwritable,
    bold,
    columns,
    padded,
    plain,
    red,
    shortened,
    size,
    times,
)


class Terminal(io.TextIOWrapper):
    """A stream of some encoding that says it is a terminal."""

    def __init__(self, encoding: str = "utf-8", terminal: bool = True) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="\n")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def text(self) -> str:
        self.flush()
        return bytes(self.buffer.getvalue()).decode(self.encoding)  # type: ignore[attr-defined]


class Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def written(stream: Terminal, *parts: str | Styled) -> str:
    Output.to(stream).line(*parts)
    return stream.text()


def test_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert written(Terminal(), bold("x")) == "\x1b[1mx\x1b[0m\n"
    assert written(Terminal(terminal=False), bold("x")) == "x\n"
    monkeypatch.setenv("TERM", "dumb")
    assert written(Terminal(), bold("x")) == "x\n"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "")
    assert written(Terminal(), bold("x")) == "x\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "cp437", "utf-16-le"])
def test_every_encoding_can_be_written(encoding: str) -> None:
    text = written(Terminal(encoding), "├── 東京 3×4 → █░ ✓ \udc80")
    assert text.endswith("\n") and "3" in text


def test_ascii_drawings() -> None:
    assert written(Terminal("ascii"), "├── a\n│") == "|-- a\\n|\n"
    assert written(Terminal("ascii"), "└── ü 3×4 →") == "`-- \\xfc 3x4 ->\n"


@given(st.text() | st.sampled_from(["\x1b[31m", "\x1b[8mhidden", "\x1b[0m\x1b[1m"]))
def test_a_line_is_one_line_and_moves_no_cursor(text: str) -> None:
    shown = written(Terminal(), text)
    assert shown.count("\n") == 1
    rest = shown[:-1]
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in rest)


def test_text_brings_no_style_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    shown = written(Terminal(), "\x1b[8ma", red("\x1b[0mb\x1b[8m"), "c")
    assert shown == "\\x1b[8ma\x1b[31m\\x1b[0mb\\x1b[8m\x1b[0mc\n"


def test_streams_that_take_nothing() -> None:
    with pytest.raises(Unwritable, match="could not be written: there is no such stream"):
        Output.to(None).line("x")
    with pytest.raises(Unwritable, match="could not be written: no space left on device"):
        Output.to(Full()).line("x")
    with pytest.raises(Unwritable, match="could not be written: no space left on device"):
        Output.to(Full()).json({})


def test_the_width_of_a_file_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert Output.to(Terminal(terminal=False)).width == 80
    monkeypatch.setenv("COLUMNS", "33")
    assert Output.to(Terminal()).width == 33
    monkeypatch.setenv("COLUMNS", "wide")
    assert Output.to(Terminal()).width == 80


json_like: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
    | st.complex_numbers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(json_like)
def test_json_is_always_valid(value: object) -> None:
    stream = Terminal("ascii")
    Output.to(stream).json({"value": value})

    def refuse(token: str) -> None:
        raise AssertionError(token)

    json.loads(stream.text(), parse_constant=refuse)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (np.float64("-inf"), "-Infinity"),
        (np.int8(-3), -3),
        (2**70, 2**70),
        (np.bool_(True), True),
        (np.datetime64("NaT"), "NaT"),
        (np.longdouble(1.5), "1.5"),
        (1 - 2j, [1.0, -2.0]),
        (b"\xff", "\\xff"),
        ((1, (2, 3)), [1, [2, 3]]),
        (np.array([1.5, np.nan]), [1.5, "NaN"]),
        (np.array([["2020-01-01"], ["NaT"]], "M8[D]"), [["2020-01-01"], ["NaT"]]),
        ({1: {2.5}}, {"1": [2.5]}),
    ],
)
def test_plain(value: object, expected: object) -> None:
    assert plain(value) == expected
    assert type(plain(value)) is type(expected)


def test_words() -> None:
    assert [size(n) for n in (0, 1023, 1024, 5 * 2**30, 2**90)] == [
        "0 B", "1023 B", "1.0 KiB", "5.0 GiB", "1,073,741,824.0 EiB",
    ]  # fmt: skip
    assert times(()) == "scalar" and times((2, (3, 4, 5, 6, 7))) == "2×(3,4,5,6,…)"


@given(st.text(alphabet="aé東京\u0301", max_size=20), st.integers(2, 12))
def test_shortened_and_padded_text_fits(text: str, width: int) -> None:
    short = shortened(text, width)
    assert columns(short) <= max(width, 2)
    assert short == text or short.endswith("…")
    assert columns(padded(short, width)) == width
