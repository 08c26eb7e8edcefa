"""Variable-size elements as two buffers: moving them to and from NumPy arrays.

Element `i` of a column is `data[offsets[i] : offsets[i + 1]]`. The functions here are the
reference: where the native core is installed it does the same work, with the same errors.
None of them trusts its offsets: a wrong one raises ValueError, it never becomes a slice.

This module knows bytes and NumPy. It must not know chunks, codecs or Arrow.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer
from omnizarr.runtime import native_core

Offsets = npt.NDArray[np.integer[Any]]
Octets = npt.NDArray[np.uint8]

WIDEST = 64
"""Elements up to this size are moved together; longer ones one by one."""
BLOCK = 1 << 14
"""How many elements are moved together."""
ASCII = 0x80
PASSES = 16
"""How often places that cannot be lengths are dropped from a frame before giving up."""


def check_offsets(offsets: Offsets, length: int) -> None:
    """Refuse offsets that decrease, or that are outside `length` bytes."""
    if not offsets.size:
        raise ValueError("no offsets, expected at least 1")
    if (
        int(offsets[0]) >= 0
        and int(offsets[-1]) <= length
        and not (offsets[1:] < offsets[:-1]).any()
    ):
        return
    low = 0
    for place, value in enumerate(offsets.tolist()):
        if not low <= value <= length:
            raise ValueError(f"offset {place} is {value}, expected {low} … {length}")
        low = value


def check_text(offsets: Offsets, data: Octets) -> None:
    """Refuse offsets that do not fit, and elements that are not UTF-8."""
    core = native_core.core()
    if core is not None:
        core.check_text(offsets, data)
        return
    check_offsets(offsets, data.size)
    used = data[int(offsets[0]) : int(offsets[-1])]
    if _is_ascii(used):
        return
    # All of it must be UTF-8, and no element may begin inside a character.
    starts = offsets[offsets < int(offsets[-1])]
    try:
        str(used.data, "utf-8")
        whole = not ((data[starts] & 0xC0) == 0x80).any()
    except UnicodeDecodeError:
        whole = False
    if whole:
        return
    for place, item in enumerate(items(offsets, data)):
        try:
            item.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"item {place} is not UTF-8") from error


def _is_ascii(data: Octets) -> bool:
    return data.size == 0 or int(data.max()) < ASCII


def items(offsets: Offsets, data: Octets) -> Iterator[bytes]:
    """The elements one by one."""
    whole = data.tobytes()
    bounds = offsets.tolist()
    return (whole[start:stop] for start, stop in pairwise(bounds))


# -- to NumPy -----------------------------------------------------------------------------------


def _check_room(offsets: Offsets, out: NDArray) -> None:
    """Refuse an array that has not exactly one place for each element."""
    if offsets.size and offsets.size - 1 != out.size:
        raise ValueError(f"expected {out.size} items, found {offsets.size - 1}")


def fill_text(offsets: Offsets, data: Octets, out: NDArray) -> None:
    """The elements into a flat, contiguous array of NumPy's StringDType."""
    core = native_core.core()
    if core is not None:
        core.text_fill(offsets, data, out)
        return
    _check_room(offsets, out)
    check_text(offsets, data)
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    width = min(WIDEST, int(lengths.max(initial=1)))
    padded = np.concatenate([data, np.zeros(width, np.uint8)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, width)
    for begin in range(0, out.size, BLOCK):
        block = slice(begin, begin + BLOCK)
        rows = windows[starts[block]]
        rows *= np.arange(width) < lengths[block, None]
        out[block] = rows.reshape(-1).view(f"S{width}")
    # NumPy drops NULs at the end of an element of fixed width; such elements go one by one.
    alone = lengths > width
    full = np.flatnonzero(lengths)
    alone[full] |= data[starts[full] + lengths[full] - 1] == 0
    for place in np.flatnonzero(alone).tolist():
        start = int(starts[place])
        out[place] = data[start : start + int(lengths[place])].tobytes().decode()


def fill_objects(offsets: Offsets, data: Octets, text: bool, out: NDArray) -> None:
    """The elements as str or bytes into a flat array of objects."""
    core = native_core.core()
    if core is not None:
        core.column_objects(offsets, data, text, out)
        return
    _check_room(offsets, out)
    if text:
        check_text(offsets, data)
        out[:] = [item.decode() for item in items(offsets, data)]
    else:
        check_offsets(offsets, data.size)
        out[:] = list(items(offsets, data))


# -- from NumPy ---------------------------------------------------------------------------------


def from_text(array: NDArray) -> tuple[Offsets, Octets]:
    """A flat array of StringDType as offsets and data."""
    if isinstance(getattr(array.dtype, "na_object", None), str):
        array = array.astype(np.dtypes.StringDType())  # its missing values are that text
    core = native_core.core()
    if core is not None:
        found: tuple[Offsets, Octets] = core.text_column(np.ascontiguousarray(array))
        return found
    values = array.tolist()
    if not set(map(type, values)) <= {str}:
        place = next(place for place, item in enumerate(values) if not isinstance(item, str))
        raise ValueError(f"item {place} is missing")
    return _from_strings(values)


def from_objects(array: NDArray, text: bool) -> tuple[Offsets, Octets]:
    """A flat array of str (or of bytes) as offsets and data; TypeError for anything else."""
    core = native_core.core()
    if core is not None:
        found: tuple[Offsets, Octets] = core.objects_column(np.ascontiguousarray(array), text)
        return found
    values = array.tolist()
    wanted: Any = str if text else (bytes, bytearray)
    if not set(map(type, values)) <= {str if text else bytes}:
        for place, item in enumerate(values):
            if not isinstance(item, wanted):
                raise TypeError(f"item {place} is {type(item).__name__}")
    return _from_strings(values) if text else _joined(values)


def _from_strings(values: list[str]) -> tuple[Offsets, Octets]:
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    try:
        data = "".join(values).encode()
    except UnicodeEncodeError:
        return _joined(_encoded(values))  # which names the item
    if len(data) != int(lengths.sum()):
        ascii_only = np.fromiter(map(str.isascii, values), np.bool_, len(values))
        for place in np.flatnonzero(~ascii_only).tolist():
            lengths[place] = len(values[place].encode())
    return _offsets(lengths), np.frombuffer(data, np.uint8)


def _encoded(values: list[str]) -> list[bytes]:
    encoded: list[bytes] = []
    try:
        encoded.extend(item.encode() for item in values)
    except UnicodeEncodeError as error:
        raise ValueError(f"item {len(encoded)} is not UTF-8") from error
    return encoded


def _joined(values: list[Any]) -> tuple[Offsets, Octets]:
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    return _offsets(lengths), np.frombuffer(b"".join(values), np.uint8)


def _offsets(lengths: npt.NDArray[np.int64]) -> Offsets:
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def from_fixed(array: NDArray) -> tuple[Offsets, Octets]:
    """A flat array of fixed-width text (U) or bytes (S) as offsets and data, U in UTF-8."""
    array = np.ascontiguousarray(array)
    if not array.nbytes:
        return np.zeros(array.size + 1, np.int64), np.zeros(0, np.uint8)
    if array.dtype.kind == "U":
        native_order = array.astype(array.dtype.newbyteorder("="), copy=False)
        points = native_order.view(np.uint32).reshape(array.size, -1)
        if int(points.max()) >= ASCII:
            return _joined(_encoded(array.tolist()))
        octets = points.astype(np.uint8)
    else:
        octets = array.view(np.uint8).reshape(array.size, -1)
    width = octets.shape[1]
    # Only NULs at the end are padding.
    lengths = width - np.argmax(octets[:, ::-1] != 0, axis=1)
    lengths[~octets.any(axis=1)] = 0
    return _offsets(lengths), octets[np.arange(width) < lengths[:, None]]


# -- frames: each element behind its length -----------------------------------------------------

_LENGTH = struct.Struct("<I")


def split_frame(frame: Buffer, count: int) -> tuple[Offsets, Octets]:
    """The items of numcodecs' frame: a count, then for each item its length and its bytes."""
    core = native_core.core()
    if core is not None:
        found: tuple[Offsets, Octets] = core.frame_split(frame, count)
        return found
    length = len(frame)
    if length < 4:
        raise ValueError(f"{length} bytes, fewer than the 4 of the item count")
    (stated,) = _LENGTH.unpack_from(frame)
    if stated != count:
        raise ValueError(f"expected {count} items, found {stated}")
    if length < 4 + 4 * count:
        raise ValueError(f"{count} items cannot lie in {length} bytes")
    octets = np.frombuffer(frame, np.uint8)
    places = _lengths_at(octets, count)
    if places is not None:
        return _apart(octets, places)
    parts: list[Any] = []
    view, place = memoryview(frame), 4
    for index in range(count):
        if place + 4 > length:
            raise ValueError(f"item {index} has no length: only {length - place} bytes are left")
        (size,) = _LENGTH.unpack_from(frame, place)
        place += 4
        if size > length - place:
            raise ValueError(f"item {index} has {size} bytes, but only {length - place} are left")
        parts.append(view[place : place + size])
        place += size
    if place != length:
        raise ValueError(f"{length - place} bytes follow the last item")
    return _joined(parts)


def _lengths_at(frame: Octets, count: int) -> NDArray | None:
    """Where the lengths of a frame's items are, found for all at once; None if that fails.

    A length below 2¹⁶ ends with two zeros, so that every place before two zeros may be one. Those
    that no other one leads to are dropped, until the rest is one chain from the first item to the
    end of the frame: there is no other.
    """
    zero = frame == 0
    places = np.flatnonzero(zero[6:-1] & zero[7:]) + 4
    for _ in range(PASSES):
        after = places + 4 + frame[places] + (frame[places + 1].astype(np.int64) << 8)
        if places.size < count:
            return None
        if places.size == count and count:
            whole = places[0] == 4 and after[-1] == frame.size
            return places if whole and (after[:-1] == places[1:]).all() else None
        reached = np.zeros(frame.size + 1, np.bool_)
        reached[4] = True
        reached[after[after <= frame.size]] = True
        places = places[reached[places]]
    return None


def _apart(frame: Octets, places: NDArray) -> tuple[Offsets, Octets]:
    """The items of a frame whose lengths are at these places."""
    inside = np.ones(frame.size, np.bool_)
    inside[:4] = False
    for octet in range(4):
        inside[places + octet] = False
    offsets = np.zeros(places.size + 1, np.int64)
    offsets[1:] = np.append(places[1:], frame.size) - 4 * np.arange(2, places.size + 2)
    return offsets, frame[inside]


def join_frame(offsets: Offsets, data: Octets) -> bytes:
    """The inverse."""
    core = native_core.core()
    if core is not None:
        frame: bytes = core.frame_join(offsets, data)
        return frame
    check_offsets(offsets, data.size)
    lengths = np.diff(offsets)
    if lengths.size >= 1 << 32:
        raise ValueError(f"{lengths.size} items, more than 32 bits can count")
    if lengths.size and int(lengths.max()) >= 1 << 32:
        raise ValueError(f"item {int(np.argmax(lengths >= 1 << 32))} has 4 GiB or more")
    first, last = int(offsets[0]), int(offsets[-1])
    result = np.empty(4 + 4 * lengths.size + last - first, np.uint8)
    inside = np.ones(result.size, np.bool_)
    places = offsets[:-1].astype(np.int64) - first + 4 * np.arange(1, lengths.size + 1)
    for at, values in ((np.zeros(1, np.int64), np.array([lengths.size])), (places, lengths)):
        for octet, column in enumerate(values.astype("<u4").view(np.uint8).reshape(-1, 4).T):
            result[at + octet] = column
            inside[at + octet] = False
    result[inside] = data[first:last]
    return result.tobytes()


# -- choosing -----------------------------------------------------------------------------------


def take(offsets: Offsets, data: Octets, indices: npt.NDArray[np.int64]) -> tuple[Offsets, Octets]:
    """The elements at `indices`, in that order."""
    core = native_core.core()
    if core is not None:
        found: tuple[Offsets, Octets] = core.column_take(offsets, data, indices)
        return found
    check_offsets(offsets, data.size)
    count = offsets.size - 1
    outside = (indices < 0) | (indices >= count)
    if outside.any():
        raise IndexError(f"index {indices[np.argmax(outside)]} of {count} items")
    starts = offsets[:-1][indices].astype(np.int64)
    lengths = offsets[1:][indices].astype(np.int64) - starts
    chosen = _offsets(lengths)
    places = np.repeat(starts - chosen[:-1], lengths) + np.arange(int(chosen[-1]))
    return chosen, data[places]
