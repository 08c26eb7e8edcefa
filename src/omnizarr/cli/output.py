"""Writing for people and for programs: colours, drawings, JSON.

This module knows streams and text. It must not know what is written. Text is written in Unicode
here and falls back to ASCII where the stream's encoding has no better; what comes out of a store
cannot move the cursor or change the terminal, since control characters are escaped.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TextIO

_DRAWING = "├└│─━×→↓·…✓✗█▓▒░"
_ASCII = str.maketrans(
    {
        "├": "|", "└": "`", "│": "|", "─": "-", "×": "x", "→": "->", "↓": "v", "·": "-", "…": "...",
        "✓": "ok", "✗": "no", "█": "#", "▓": "*", "▒": "+", "░": ".", "–": "-", "’": "'",
    }
)  # fmt: skip

_STYLE = re.compile(r"\x1b\[\d\d?m")
# C0 and C1 control characters, and those that change the direction of the text around them.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _escaped(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


def harmless(text: str) -> str:
    """The text with every control character spelled out."""
    return _CONTROL.sub(_escaped, text)


@dataclass(frozen=True)
class Output:
    """A stream, and what it can show."""

    stream: TextIO
    colour: bool
    drawing: bool
    """Whether the encoding has the characters that drawings use."""
    terminal: bool
    width: int

    @classmethod
    def to(cls, stream: TextIO) -> Output:
        terminal = stream.isatty()
        encoding = getattr(stream, "encoding", None) or "ascii"
        try:
            _DRAWING.encode(encoding)
            drawing = True
        except (UnicodeEncodeError, LookupError):
            drawing = False
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        return cls(stream, terminal and not plain, drawing, terminal, _width(stream, terminal))

    def line(self, text: str = "") -> None:
        """Write one line; whatever it holds, it stays one line."""
        parts, end = [], 0
        for match in _STYLE.finditer(text):
            parts += [harmless(text[end : match.start()]), match[0] if self.colour else ""]
            end = match.end()
        whole = "".join([*parts, harmless(text[end:])])
        if not self.drawing:
            whole = whole.translate(_ASCII)
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        self.stream.write(whole.encode(encoding, "backslashreplace").decode(encoding) + "\n")

    def json(self, document: Any) -> None:
        """Write one JSON document, in ASCII, valid whatever the values are."""
        import json

        self.stream.write(json.dumps(plain(document), indent=2, allow_nan=False) + "\n")

    def flush(self) -> None:
        self.stream.flush()


def standard_output() -> Output:
    return Output.to(sys.stdout)


def standard_error() -> Output:
    return Output.to(sys.stderr)


def _width(stream: TextIO, terminal: bool) -> int:
    """Columns to write in; a file is as wide as a usual terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns) > 0:
        return int(columns)
    if terminal:
        try:
            return os.get_terminal_size(stream.fileno()).columns or 80
        except (OSError, ValueError):
            pass
    return 80


# -- styles ------------------------------------------------------------------------------------


def bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m"


def dim(text: str) -> str:
    return f"\x1b[2m{text}\x1b[0m"


def red(text: str) -> str:
    return f"\x1b[31m{text}\x1b[0m"


def yellow(text: str) -> str:
    return f"\x1b[33m{text}\x1b[0m"


def blue(text: str) -> str:
    return f"\x1b[34m{text}\x1b[0m"


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
        return str(value)
    if hasattr(value, "tolist"):
        found = value.tolist()
        return plain(found) if type(found) is not type(value) else str(found)
    return str(value)
