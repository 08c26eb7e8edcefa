"""Text of a store as HTML: escaped, free of hidden characters, and never long."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

from omnizarr.model.json import plain

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)
"""Control characters, marks that turn or hide the text after them, and halves of pairs, which no
page can hold."""
LONG = 160


def shown(text: object, most: int = LONG) -> str:
    """A text as HTML, at most `most` characters of it.

    >>> shown("<b>\\u202egpj.exe")
    '&lt;b&gt;\\\\u202egpj.exe'
    """
    found = shortened(str(text), most)
    return escape(_HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", found))


def shortened(text: str, most: int) -> str:
    """A text, or its beginning and its end.

    >>> shortened("abcdefghij", 7)
    'abcd…ij'
    """
    if len(text) <= most:
        return text
    end = (most - 1) // 3
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"


def json_text(value: Any, most: int) -> str:
    """The beginning of a value as JSON. No more than that is encoded."""
    found = ""
    try:
        if isinstance(value, str):
            value = value[: most + 1]
        for part in json.JSONEncoder(ensure_ascii=False).iterencode(plain(value)):
            found += part[: most + 1]
            if len(found) > most:
                return found[:most] + "…"
    except (TypeError, ValueError, RecursionError):  # nested too deeply, say
        return found + "…"
    return found


def size(count: int) -> str:
    """A number of bytes.

    >>> size(1536), size(2 * 2**30)
    ('1.50 KiB', '2.00 GiB')
    """
    value, unit = float(count), "bytes"
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if value < 1024 or unit == "EiB":
            break
        value /= 1024
    if unit == "bytes":
        return f"{count} {'byte' if count == 1 else unit}"
    return f"{value:.3g} {unit}" if value >= 100 else f"{value:.2f} {unit}"


def number(count: int, noun: str) -> str:
    """A count with its noun.

    >>> number(1, "chunk"), number(1200, "chunk")
    ('1 chunk', '1,200 chunks')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
