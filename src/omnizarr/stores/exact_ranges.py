"""Byte ranges from services that disagree on what lies beyond the end of a value.

Some answer a range that begins there with an error, some with other bytes than those asked for, and
some ignore the range and send everything. What comes back is believed if it has the length that
was asked for; else the value's size, or the value itself, settles what the answer must be.

This module knows ranges. It must not know who is asked.
"""

from __future__ import annotations

from collections.abc import Callable

from omnizarr.errors import StoreAccessError, StoreError, StoreTimeoutError
from omnizarr.model.store import Buffer, ByteRange, Read, read_range, span


def exact(
    byte_range: ByteRange | None, fetch: Read, size: Callable[[], int | None] | None = None
) -> Buffer | None:
    """`byte_range` of a value, with the meaning that all stores share; None if there is none.

    `fetch` asks the service, `size` its idea of the value's length, where that can be trusted.
    """
    if byte_range is None:
        return fetch(None)
    span(byte_range, 0)  # refuses what has no meaning
    start, stop = byte_range
    if stop is not None and stop <= start:
        return _part(byte_range, fetch, size)
    try:
        value = fetch(byte_range)
    except (StoreAccessError, StoreTimeoutError):
        raise
    except StoreError:
        if size is None:
            return _part(byte_range, fetch, None)
        length = size()
        if length is None:
            return None
        first, last = span(byte_range, length)
        if first == last:
            return b""
        if start >= 0:
            raise  # the range was sound
        return exact(ByteRange(first, last), fetch, size)  # not every service knows suffixes
    if value is None:
        return None
    if start == 0:
        return value if stop is None or len(value) <= stop else value[:stop]
    wanted = -start if start < 0 else (stop - start if stop is not None else None)
    return value if len(value) == wanted else _settled(value, byte_range, fetch, size)


def _settled(
    value: Buffer, byte_range: ByteRange, fetch: Read, size: Callable[[], int | None] | None
) -> Buffer | None:
    """The answer, where `value` is shorter or longer than asked for."""
    length = None if size is None else size()
    if length is not None:
        first, last = span(byte_range, length)
        if len(value) == last - first:
            return value
        if len(value) == length:
            return value[first:last]  # all of it came
    return _part(byte_range, fetch, None)


def _part(
    byte_range: ByteRange, fetch: Read, size: Callable[[], int | None] | None
) -> Buffer | None:
    """The part of a value of which the size is asked, or which is fetched whole."""
    if size is not None:
        return None if size() is None else b""
    value = fetch(None)
    return None if value is None else read_range(value, byte_range)
