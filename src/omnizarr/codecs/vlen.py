"""The frame that all variable-length codecs use.

A 32-bit little-endian count, then for each item its length in bytes (32 bits, little-endian) and
its bytes. The count is known from the chunk's shape, so it is compared before anything is
allocated; the lengths are checked against the data item by item.

The native core reads and writes frames where it is installed. Without it numcodecs finds the items,
as Python objects.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from omnizarr.codecs.base import ArrayStage, ColumnCoder, LibraryErrors, check_writable, column_of
from omnizarr.errors import DecodeError, EncodeError
from omnizarr.model import packing
from omnizarr.model.column import OBJECT, Column
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer
from omnizarr.runtime import native_core

LENGTH = struct.Struct("<I")


def columns(name: str, stage: ArrayStage, text: bool) -> ColumnCoder:
    """Frames to and from the two buffers of a column."""

    def encode(column: Column) -> bytes:
        column = column.compact()
        check_writable(f"codec {name!r}", 4 + 4 * column.size + column.nbytes)
        with LibraryErrors(EncodeError, name, ValueError):
            return packing.join_frame(column.offsets, column.data)

    def decode(data: Buffer) -> Column:
        check_count(name, stage, data)
        with LibraryErrors(DecodeError, name, ValueError):
            column = Column(*packing.split_frame(data, stage.size), stage.shape, text)
            column.check()
        return column

    return ColumnCoder(encode, decode)


def encode_array(name: str, coder: ColumnCoder, array: NDArray, text: bool) -> bytes:
    """Encode an array of strings, or of objects that are strings, as a frame."""
    frame: bytes = coder.encode(column_of(f"codec {name!r}", array, text))
    return frame


def objects(
    name: str, decoder: Any, stage: ArrayStage, coder: ColumnCoder, data: Buffer
) -> NDArray:
    """Decode a frame to flat objects, with the native core or with numcodecs.

    Errors are the same in both cases.
    """
    if native_core.core() is not None:
        return coder.decode(data).numpy(OBJECT).reshape(-1)
    try:
        return unpack(name, decoder, stage, data)
    except DecodeError:
        coder.decode(data)
        raise


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
    """The number of items. It must be that of the chunk, and that many must fit into the data."""
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
        raise DecodeError(f"codec {name!r}: {found} items do not fit into {length} bytes")
    return found


def unpack(name: str, decoder: Any, stage: ArrayStage, data: Buffer) -> NDArray:
    """The items as objects, decoded by numcodecs, which checks every length as it goes."""
    count = check_count(name, stage, data)
    items = np.empty(count, object)
    with LibraryErrors(DecodeError, name, ValueError, TypeError):
        decoder.decode(data, items)
    return items


def check_end(name: str, data: Buffer, lengths: Iterable[int], count: int) -> None:
    """Refuse bytes behind the last item."""
    used = 4 + 4 * count + sum(lengths)
    if used != len(data):
        raise DecodeError(f"codec {name!r}: {len(data) - used} bytes follow the last item")
