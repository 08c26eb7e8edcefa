"""The functions of `omnizarr_native` in plain Python, with the same errors: what the tests compare
with. A column is `(offsets, data)` as a list and bytes; a result is made of lists and bytes too."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

Column = tuple[list[int], bytes]


def split(frame: bytes, count: int) -> list[bytes]:
    length = len(frame)
    if length < 4:
        raise ValueError(f"{length} bytes, fewer than the 4 of the item count")
    found = int.from_bytes(frame[:4], "little")
    if found != count:
        raise ValueError(f"expected {count} items, found {found}")
    if length < 4 + 4 * found:
        raise ValueError(f"{found} items cannot lie in {length} bytes")
    items, place = [], 4
    for i in range(found):
        if place + 4 > length:
            raise ValueError(f"item {i} has no length: only {length - place} bytes are left")
        size = int.from_bytes(frame[place : place + 4], "little")
        place += 4
        if size > length - place:
            raise ValueError(f"item {i} has {size} bytes, but only {length - place} are left")
        items.append(frame[place : place + size])
        place += size
    if place < length:
        raise ValueError(f"{length - place} bytes follow the last item")
    return items


def join(items: list[bytes]) -> bytes:
    parts = [len(items).to_bytes(4, "little")]
    for item in items:
        parts += [len(item).to_bytes(4, "little"), item]
    return b"".join(parts)


def column(items: list[bytes]) -> Column:
    offsets = [0]
    for item in items:
        offsets.append(offsets[-1] + len(item))
    return offsets, b"".join(items)


def items(offsets: list[int], data: bytes) -> list[bytes]:
    if not offsets:
        raise ValueError("no offsets, expected at least 1")
    low = 0
    for i, value in enumerate(offsets):
        if not low <= value <= len(data):
            raise ValueError(f"offset {i} is {value}, expected {low} … {len(data)}")
        low = value
    return [data[a:b] for a, b in pairwise(offsets)]


def decoded(found: list[bytes]) -> list[str]:
    texts = []
    for i, item in enumerate(found):
        try:
            texts.append(item.decode())
        except UnicodeDecodeError:
            raise ValueError(f"item {i} is not UTF-8") from None
    return texts


def from_objects(values: list[Any], text: bool) -> Column:
    for i, value in enumerate(values):
        if not isinstance(value, str if text else (bytes, bytearray)):
            raise TypeError(f"item {i} is {type(value).__name__}")
    found = []
    for i, value in enumerate(values):
        try:
            found.append(value.encode() if text else bytes(value))
        except UnicodeEncodeError:
            raise ValueError(f"item {i} is not UTF-8") from None
    return column(found)


def take(offsets: list[int], data: bytes, indices: list[int]) -> Column:
    found = items(offsets, data)
    for i in indices:
        if not 0 <= i < len(found):
            raise IndexError(f"index {i} of {len(found)} items")
    return column([found[i] for i in indices])


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a call returns, in plain Python, or the type and text of what it raises."""
    try:
        return plain(function(*arguments))
    except (ValueError, TypeError, IndexError) as error:
        return type(error).__name__, str(error)


def plain(value: Any) -> Any:
    """Columns as lists and bytes; their types and flags are checked on the way."""
    if isinstance(value, tuple) and isinstance(value[0], np.ndarray):
        offsets, data = value
        assert offsets.dtype == np.int64 and offsets.dtype.isnative and data.dtype == np.uint8
        for array in value:
            assert array.flags.c_contiguous and array.flags.writeable and array.ndim == 1
        return offsets.tolist(), data.tobytes()
    return value
