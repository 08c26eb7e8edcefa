"""Links and headings of a page for people, found in one pass.

The page is untrusted, so the time grows with its length alone: every character is looked at once,
whatever is left open, nested or repeated. Links in broken markup are found as a browser finds them.

This module knows HTML's outline. It must not know which pages are listings.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import NamedTuple

HEADING = 200
"""How much of a heading is looked at."""
LONGEST_LINK = 16 * 1024
MOST_HEADINGS = 1000
STEPS = 1024
"""After how many steps the clock is looked at."""

_NAME = re.compile(r"[^\s/>]++")
_BETWEEN = re.compile(r"[\s/]*+")
_ATTRIBUTE = re.compile(r"(=?[^\s/>=]*+)\s*+(=\s*+)?+")
_BARE = re.compile(r"[^\s>]*+")
_RAW = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title")
}
"""What contains nothing but text, and where it ends."""


class Page(NamedTuple):
    links: list[str]
    headings: list[str]


def read_page(text: str, check: Callable[[], None]) -> Page:
    """The targets of all links, and how title and h1 begin; `check` is called now and then, and may
    raise."""
    links: list[str] = []
    headings: list[str] = []
    inside = False
    for kind, value in _tokens(text, check):
        if kind == "link":
            links.append(value)
        elif kind == "heading":
            inside = len(headings) < MOST_HEADINGS
            headings += [""] * inside
        elif kind == "end":
            inside = False
        elif inside and len(headings[-1]) < HEADING:
            headings[-1] += value
    return Page(links, [_plain(heading) for heading in headings])


def _tokens(text: str, check: Callable[[], None]) -> Iterator[tuple[str, str]]:
    """(link, its target), (heading, ""), (end, "") and (text, its beginning), in their order."""
    position = 0
    for step in count(1):
        if not step % STEPS:
            check()
        begin = text.find("<", position)
        if begin != position:
            yield "text", _beginning(text, position, begin)
        if begin < 0:
            return
        following = text[begin + 1 : begin + 2]
        if following.isascii() and following.isalpha():
            name = _NAME.match(text, begin + 1)
            assert name is not None
            tag = name[0].lower()
            target, position = _attributes(text, name.end(), check)
            if position < 0:
                return
            if tag == "a" and target:
                yield "link", target
            elif tag in ("title", "h1"):
                yield "heading", ""
            if tag in _RAW:
                ending = _RAW[tag].search(text, position)
                stop = -1 if ending is None else ending.start()
                yield "text", _beginning(text, position, stop)
                if ending is None:
                    return
                position = stop
        elif text.startswith("<!--", begin):
            position = text.find("-->", begin + 4) + 3
            if position < 3:
                return
        elif following and following in "!?/":
            position = text.find(">", begin + 2) + 1
            if not position:
                return
            if text[begin + 1 : begin + 7].lower().startswith(("/title", "/h1")):
                yield "end", ""
        else:
            position = begin + 1


def _beginning(text: str, start: int, stop: int) -> str:
    return text[start : start + HEADING if stop < 0 else min(stop, start + HEADING)]


def _attributes(text: str, position: int, check: Callable[[], None]) -> tuple[str, int]:
    """The target of a tag, if it has one, and where the tag ends; -1 if it does not."""
    target: str | None = None
    for step in count(1):
        if not step % STEPS:
            check()
        position = _end(_BETWEEN, text, position)
        if position == len(text):
            break
        if text[position] == ">":
            return target or "", position + 1
        attribute = _ATTRIBUTE.match(text, position)
        assert attribute is not None
        start = stop = position = attribute.end()
        if attribute[2] is not None:
            quote = text[start : start + 1]
            if quote and quote in "\"'":
                start += 1
                stop = text.find(quote, start)
                if stop < 0:
                    break
                position = stop + 1
            else:
                stop = position = _end(_BARE, text, start)
        if target is None and attribute[1].lower() == "href":
            target = _plain(text[start:stop]) if stop - start <= LONGEST_LINK else ""
    return "", -1


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    assert found is not None  # it matches nothing too
    return found.end()


def _plain(text: str) -> str:
    """Without character references; nothing if one of them is no character."""
    try:
        return html.unescape(text)
    except (ValueError, OverflowError):
        return ""
