"""Ranges of values over HTTP: the request header, and checks of the answer.

A server may answer a range with the range, with the whole value, with "not satisfiable", or
wrongly. These cases are distinguished here, so that only the right bytes are returned.

This module knows RFC 9110's ranges. It must not know where they come from.
"""

from __future__ import annotations

import re
import sys
from typing import NamedTuple, Protocol

from omnizarr.errors import StoreError, ValueChangedError
from omnizarr.model.store import ByteRange, span
from omnizarr.stores.http.chunked import Broken

EVERYTHING = sys.maxsize
MOST_SKIPPED = 64 * 1024 * 1024
"""The most that is read and dropped to reach a part, where a server ignores ranges."""
SETTLED = 2
SOON = 64 * 1024
"""A suffix that begins this early is cut from the whole value; a later one is requested."""

_RANGE = re.compile(r"bytes\s+([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)\Z")
_UNSATISFIED = re.compile(r"bytes\s+\*/([0-9]{1,18})\Z")


class Answer(Protocol):
    """The part of an answer that is checked; see `transport.Answer`."""

    @property
    def status(self) -> int: ...
    @property
    def length(self) -> int | None: ...
    @property
    def framed(self) -> bool: ...
    def header(self, name: str, /) -> str | None: ...
    def read(self, count: int, /) -> bytes: ...
    def skip(self, count: int, /) -> None: ...


class Version(NamedTuple):
    """What distinguishes a value of a key from the next one, as far as the server says."""

    etag: str | None
    modified: str | None
    total: int | None
    date: str | None = None
    """When the server answered."""

    @property
    def settled(self) -> bool:
        """Whether the next value cannot look the same.

        A server may make the ETag from a file's time and length, and times are coarse: a value that
        changed less than `SETTLED` seconds before the answer may change again and keep its ETag
        (RFC 9110, 8.8.2.2). An ETag does not tell how it was made."""
        if self.modified is None:
            return self.told
        changed, said = _seconds(self.modified), _seconds(self.date)
        return changed is not None and said is not None and said - changed >= SETTLED

    @property
    def is_new(self) -> bool:
        """Whether it changed so recently that the next value may look the same."""
        changed, said = _seconds(self.modified), _seconds(self.date)
        return changed is not None and said is not None and -1 <= said - changed < SETTLED

    @property
    def strong(self) -> str | None:
        """An ETag that guarantees equal bytes, as `If-Match` needs it."""
        etag = self.etag
        return etag if etag is not None and etag.startswith('"') else None

    @property
    def told(self) -> bool:
        return self.etag is not None or self.modified is not None

    def differs(self, other: Version) -> bool:
        if None not in (self.total, other.total) and self.total != other.total:
            return True
        if self.strong is not None and other.strong is not None:
            return self.strong != other.strong
        if not (self.told and other.told):
            return False  # an answer to a range beyond the end has neither
        return (self.etag, self.modified) != (other.etag, other.modified)


class Unsettled:
    """An unknown version, which equals no other."""

    __slots__ = ()


class RangeAnswer(NamedTuple):
    data: bytes
    version: Version


class Refused(NamedTuple):
    """The server refused the range; `total` is the length of the value, if it is known."""

    total: int | None


def header(byte_range: ByteRange) -> str:
    start, stop = byte_range
    if start < 0:
        return f"bytes={start}"
    return f"bytes={start}-" if stop is None else f"bytes={start}-{stop - 1}"


def version(answer: Answer, total: int | None) -> Version:
    return Version(
        answer.header("ETag"), answer.header("Last-Modified"), total, answer.header("Date")
    )


def _seconds(date: str | None) -> int | None:
    from email.utils import mktime_tz, parsedate_tz

    try:
        found = parsedate_tz(date or "")
        return None if found is None else mktime_tz(found)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


def check_content(answer: Answer, key: str, allow_html: bool) -> None:
    """Refuse what cannot be the value: HTML pages, and encodings that were not requested."""
    if answer.status == 412:
        raise ValueChangedError("the value was replaced while it was read")
    if answer.status not in (200, 206):
        return
    encoding = (answer.header("Content-Encoding") or "identity").strip().lower()
    if encoding != "identity":
        raise StoreError(
            f"the server sends the value encoded ({encoding[:40]!r}), though it was asked not to;"
            " ranges of it cannot be read: store it without Content-Encoding"
        )
    kind = (answer.header("Content-Type") or "").partition(";")[0].strip().lower()
    if (
        kind in ("text/html", "application/xhtml+xml")
        and not key.lower().endswith((".html", ".htm"))
        and not allow_html
    ):
        raise StoreError(
            f"the server answered {answer.status} with an HTML page instead of a value: a login or"
            " error page, or one that it shows for everything it does not have"
            " (allow_html=True takes it as the value)"
        )


def take_all(answer: Answer) -> RangeAnswer:
    """The whole value."""
    _check_framed(answer)
    data = answer.read(EVERYTHING if answer.length is None else answer.length)
    return RangeAnswer(data, version(answer, len(data)))


def take_bounded(answer: Answer, start: int, stop: int | None) -> RangeAnswer | Refused:
    """`value[start:stop]`, which is not empty by its bounds."""
    if answer.status == 416:
        return _unsatisfied(answer)
    if answer.status == 200:
        return _slice(answer, start, stop)
    first, last, total = _content_range(answer)
    ends = stop is not None and last == stop - 1
    at_end = total is not None and last == total - 1 and (stop is None or last < stop)
    if first != start or not (ends or at_end):
        raise StoreError(
            f"the server was asked for {header(ByteRange(start, stop))} and answered with"
            f" {answer.header('Content-Range')!r}"
        )
    return RangeAnswer(_exactly(answer, last - first + 1), version(answer, total))


def take_suffix(answer: Answer, count: int) -> RangeAnswer | Refused:
    """The last `count` bytes, or all of a shorter value."""
    if answer.status == 416:
        return _unsatisfied(answer)
    if answer.status == 206:
        first, last, total = _content_range(answer)
        if total is None or last != total - 1 or first != max(total - count, 0):
            return Refused(total)  # it does not understand suffixes
        return RangeAnswer(_exactly(answer, last - first + 1), version(answer, total))
    if answer.status == 200 and answer.length is not None:
        begin = max(answer.length - count, 0)
        return Refused(answer.length) if begin > SOON else _slice(answer, begin, None)
    return Refused(None)


def _check_framed(answer: Answer) -> None:
    if not answer.framed:
        raise StoreError(
            "the server does not say how long the value is, so a whole one cannot be told from a"
            " part"
        )


def _slice(answer: Answer, start: int, stop: int | None) -> RangeAnswer:
    """A part of the whole value that the server sends; the rest is not read."""
    _check_framed(answer)
    total = answer.length
    begin = start if total is None else min(start, total)
    if begin > MOST_SKIPPED and begin != total:
        raise StoreError(
            f"the server ignores ranges, and {begin} bytes would have to be read before the wanted"
            f" ones; the most is {MOST_SKIPPED}. Use a server that supports ranges"
        )
    if total is None:
        answer.skip(start)
        data = answer.read(EVERYTHING if stop is None else stop - start)
        return RangeAnswer(data, version(answer, None))
    first, last = span(ByteRange(start, stop), total)
    if first < last:
        answer.skip(first)
    return RangeAnswer(answer.read(last - first), version(answer, total))


def _exactly(answer: Answer, count: int) -> bytes:
    """The body, which must have the length of the announced range."""
    if answer.length is not None and answer.length != count:
        raise Broken(f"the server announces a range of {count} bytes in a body of {answer.length}")
    data = answer.read(count)
    if len(data) != count or (answer.length is None and answer.read(1)):
        raise Broken(f"the server announces a range of {count} bytes and sends another length")
    return data


def _content_range(answer: Answer) -> tuple[int, int, int | None]:
    text = (answer.header("Content-Range") or "").strip()
    match = _RANGE.match(text)
    if match is None:
        raise StoreError(f"the server answered 206 without saying which range: {text[:80]!r}")
    first, last = int(match[1]), int(match[2])
    total = None if match[3] == "*" else int(match[3])
    if first > last or (total is not None and last >= total):
        raise StoreError(f"the server answered with a range that cannot be: {text!r}")
    return first, last, total


def _unsatisfied(answer: Answer) -> Refused:
    match = _UNSATISFIED.match((answer.header("Content-Range") or "").strip())
    return Refused(None if match is None else int(match[1]))
