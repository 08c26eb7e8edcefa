"""Writing for people and for programs: colours, drawings, JSON.

This module knows streams and text. It must not know what is written. Text is written in Unicode
here and falls back to ASCII where the stream's encoding has no better; what comes out of a store
cannot move the cursor or change the terminal, since control characters are escaped. Styles are a
type of their own, not characters in the text, so that no text can bring its own.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TextIO

_DRAWING = "├└│─━×→↓·…✓✗█▓▒░"
_ASCII = str.maketrans(
    {
        "├": "|", "└": "`", "│": "|", "─": "-", "×": "x", "→": "->", "↓": "v", "·": "-", "…": "...",
        "✓": "ok", "✗": "no", "█": "#", "▓": "*", "▒": "+", "░": ".", "–": "-", "’": "'",
    }
)  # fmt: skip

# C0 and C1 control characters, and those that change the direction of the text around them.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _escaped(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


def harmless(text: str) -> str:
    """The text with every control character spelled out."""
    return _CONTROL.sub(_escaped, text)


class Styled(NamedTuple):
    """Text in a style, for `Output.line`."""

    style: int
    text: str


class Unwritable(Exception):
    """The stream that a command writes to takes no more."""

    hint: str | None = None


@dataclass(frozen=True)
class Output:
    """A stream, and what it can show."""

    stream: TextIO | None
    """None where the program was started without one."""
    colour: bool
    drawing: bool
    """Whether the encoding has the characters that drawings use."""
    terminal: bool
    width: int

    @classmethod
    def to(cls, stream: TextIO | None) -> Output:
        terminal = stream is not None and stream.isatty()
        encoding = getattr(stream, "encoding", None) or "ascii"
        try:
            _DRAWING.encode(encoding)
            drawing = True
        except (UnicodeEncodeError, LookupError):
            drawing = False
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        return cls(stream, terminal and not plain, drawing, terminal, _width(stream, terminal))

    def line(self, *parts: str | Styled) -> None:
        """Write one line; whatever it holds, it stays one line."""
        self.own("".join(self._shown(part) for part in parts) + "\n")

    def _shown(self, part: str | Styled) -> str:
        if not isinstance(part, Styled):
            return harmless(part)
        text = harmless(part.text)
        return f"\x1b[{part.style}m{text}\x1b[0m" if self.colour else text

    def json(self, document: Any) -> None:
        """Write one JSON document, in ASCII, valid whatever the values are."""
        import json

        self._write(json.dumps(plain(document), indent=2, allow_nan=False) + "\n")

    def own(self, text: str) -> None:
        """Write text of the program's own, as it is."""
        if not self.drawing:
            text = text.translate(_ASCII)
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        self._write(text.encode(encoding, "backslashreplace").decode(encoding))

    def _write(self, text: str) -> None:
        try:
            if self.stream is None:
                raise OSError("there is no such stream")
            self.stream.write(text)
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as error:
            raise _unwritable(error) from error

    def flush(self) -> None:
        try:
            if self.stream is not None:
                self.stream.flush()
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as error:
            raise _unwritable(error) from error


def _unwritable(error: Exception) -> Unwritable:
    reason = getattr(error, "strerror", None) or str(error)
    return Unwritable(f"the output could not be written: {reason.lower()}")


def standard_output() -> Output:
    return Output.to(sys.stdout)


def standard_error() -> Output:
    return Output.to(sys.stderr)


def _width(stream: TextIO | None, terminal: bool) -> int:
    """Columns to write in; a file is as wide as a usual terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns) > 0:
        return int(columns)
    if stream is not None and terminal:
        try:
            return os.get_terminal_size(stream.fileno()).columns or 80
        except (OSError, ValueError):
            pass
    return 80


# -- styles ------------------------------------------------------------------------------------


def bold(text: str) -> Styled:
    return Styled(1, text)


def dim(text: str) -> Styled:
    return Styled(2, text)


def red(text: str) -> Styled:
    return Styled(31, text)


def green(text: str) -> Styled:
    return Styled(32, text)


def yellow(text: str) -> Styled:
    return Styled(33, text)


def blue(text: str) -> Styled:
    return Styled(34, text)


# -- text --------------------------------------------------------------------------------------


def columns(text: str) -> int:
    """How many columns of a terminal the text takes."""
    text = harmless(text)
    if text.isascii():
        return len(text)
    import unicodedata

    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) != 0 for character in text)


def padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def shortened(text: str, width: int) -> str:
    """The text, cut where it is longer than `width` columns."""
    if columns(text) <= width:
        return text
    kept = text[: max(width - 1, 1)]
    while columns(kept) > max(width - 1, 1):
        kept = kept[:-1]
    return kept + "…"


def count(number: int, noun: str) -> str:
    """
    >>> count(1, "array"), count(1200, "array")
    ('1 array', '1,200 arrays')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(number: float) -> str:
    """
    >>> size(1536)
    '1.5 KiB'
    """
    unit = "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if number < 1024 or unit == "EiB":
            break
        number /= 1024
    return f"{number:.0f} B" if unit == "B" else f"{number:,.1f} {unit}"


def times(shape: Any) -> str:
    """
    >>> times((730, 91, 180))
    '730×91×180'
    """
    return "×".join(_length(length) for length in shape) if shape else "scalar"


def _length(length: Any) -> str:
    if not isinstance(length, tuple):
        return str(length)
    shown = ",".join(map(str, length[:4]))
    return f"({shown}{',…' if len(length) > 4 else ''})"


# -- values ------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A value as JSON can hold it: what is no JSON number becomes a string."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value)
        case float():
            number = float(value)
            if number != number:
                return "NaN"
            if number in (float("inf"), float("-inf")):
                return "Infinity" if number > 0 else "-Infinity"
            return number
        case complex():
            return [plain(value.real), plain(value.imag)]
        case bytes() | bytearray() | memoryview():
            return bytes(value).decode("utf-8", "backslashreplace")
        case Mapping():
            return {str(name): plain(item) for name, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in "mM" and kind:
        return [plain(item) for item in value] if value.ndim else str(value)
    if hasattr(value, "tolist"):
        found = value.tolist()
        return plain(found) if type(found) is not type(value) else str(found)
    return str(value)
