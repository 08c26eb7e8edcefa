"""What the variable-length codecs share: their frame.

A 32-bit little-endian count, then for each item its length in bytes (32 bits, little-endian) and
its bytes. The count is known from the chunk's shape, so it is compared before anything is
allocated; the lengths are checked against the data item by item.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.codecs.base import ArrayStage
from omnizarr.errors import DecodeError, EncodeError
from omnizarr.model.store import Buffer

LENGTH = struct.Struct("<I")


def pack(name: str, items: list[bytes]) -> bytes:
    """Items in their frame."""
    try:
        lengths = map(LENGTH.pack, map(len, items))
        return b"".join(
            chain((LENGTH.pack(len(items)),), chain.from_iterable(zip(lengths, items, strict=True)))
        )
    except struct.error as error:
        raise EncodeError(f"codec {name!r}: an item of 4 GiB or more") from error


def check_count(name: str, stage: ArrayStage, data: Buffer) -> int:
    """The number of items, which must be that of the chunk and can lie in the data at all."""
    length, expected = len(data), stage.size
    if length < 4:
        raise DecodeError(f"codec {name!r}: {length} bytes, fewer than the 4 of the item count")
    found = int.from_bytes(data[:4], "little")
    if found != expected:
        raise DecodeError(
            f"codec {name!r}: expected {expected} items for a chunk of shape {stage.shape},"
            f" found {found}"
        )
    if length < 4 + 4 * found:
        raise DecodeError(f"codec {name!r}: {found} items cannot lie in {length} bytes")
    return found


def unpack(name: str, decoder: Any, stage: ArrayStage, data: Buffer) -> npt.NDArray[Any]:
    """The items as objects, decoded by numcodecs, which checks every length as it goes."""
    count = check_count(name, stage, data)
    items = np.empty(count, object)
    try:
        decoder.decode(data, items)
    except (ValueError, TypeError) as error:
        raise DecodeError(f"codec {name!r}: {error}") from error
    return items


def check_end(name: str, data: Buffer, lengths: Iterable[int], count: int) -> None:
    """Refuse bytes behind the last item."""
    used = 4 + 4 * count + sum(lengths)
    if used != len(data):
        raise DecodeError(f"codec {name!r}: {len(data) - used} bytes follow the last item")


def refuse(name: str, items: list[Any], wanted: type) -> EncodeError:
    """The error for the first item that is not of the wanted type."""
    for place, item in enumerate(items):
        if not isinstance(item, wanted):
            return EncodeError(
                f"codec {name!r}: element {place} is {item!r} ({type(item).__name__}), not"
                f" {wanted.__name__}; missing values need a value of their own"
            )
    return EncodeError(f"codec {name!r}: an element is not {wanted.__name__}")
