"""Byte ranges from services that treat the end of a value in different ways.

For a range beyond the end some services return an error, some return other bytes, and some ignore
the range and send everything. An answer of the requested length is believed. Otherwise the size of
the value, or the whole value, decides.

This module knows ranges. It must not know services.
"""

from __future__ import annotations

from collections.abc import Callable

from omnizarr.errors import StoreAccessError, StoreError, StoreTimeoutError
from omnizarr.model.store import Buffer, ByteRange, Read, read_range, span


def exact(
    byte_range: ByteRange | None, fetch: Read, size: Callable[[], int | None] | None = None
) -> Buffer | None:
    """`byte_range` of a value, as all stores define it; None if there is no value.

    `fetch` requests a range. `size` requests the length, where the service can be trusted with it.
    """
    if byte_range is None:
        return fetch(None)
    span(byte_range, 0)  # raises for an invalid range
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
            raise  # the range was valid
        return exact(ByteRange(first, last), fetch, size)  # not every service has suffix ranges
    if value is None:
        return None
    if start == 0:
        return value if stop is None or len(value) <= stop else value[:stop]
    wanted = -start if start < 0 else (stop - start if stop is not None else None)
    return value if len(value) == wanted else _settled(value, byte_range, fetch, size)


def answered(asked: ByteRange | None, answer: Callable[[], Buffer | None], fetch: Read) -> Read:
    """`fetch`, but the request for `asked` takes an answer that came already."""
    return lambda byte_range: answer() if byte_range == asked else fetch(byte_range)


def _settled(
    value: Buffer, byte_range: ByteRange, fetch: Read, size: Callable[[], int | None] | None
) -> Buffer | None:
    """The right part, where `value` is shorter or longer than requested."""
    length = None if size is None else size()
    if length is not None:
        first, last = span(byte_range, length)
        if len(value) == last - first:
            return value
        if len(value) == length:
            return value[first:last]  # the service sent everything
    return _part(byte_range, fetch, None)


def _part(
    byte_range: ByteRange, fetch: Read, size: Callable[[], int | None] | None
) -> Buffer | None:
    """An empty part if `size` is given, else the part of the value, which is fetched whole."""
    if size is not None:
        return None if size() is None else b""
    value = fetch(None)
    return None if value is None else read_range(value, byte_range)
