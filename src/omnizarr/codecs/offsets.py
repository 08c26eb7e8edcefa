"""Document 004's layout of text and byte strings: all offsets, padding, all data.

A chunk of n elements has n + 1 offsets (signed, 32 bits, or 64 in the large types), zeros up to the
next multiple of 64 bytes, then the data; element i is data[offsets[i] : offsets[i + 1]]. The codec
`bytes` stores text and byte strings in this layout, which is Arrow's layout in memory: a column is
two views of the chunk, without a copy. Every offset and every element of text is checked first.

This module knows one layout. It must not know Arrow, stores or formats.
"""

from __future__ import annotations

import numpy as np

from omnizarr.codecs.base import ArrayStage, ColumnCoder, Step, check_writable, column_of, unknown
from omnizarr.errors import DecodeError, EncodeError
from omnizarr.model.column import Column
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

ALIGNMENT = 64
TYPES = {
    "string": (True, 4),
    "LargeString": (True, 8),
    "binary": (False, 4),
    "LargeBinary": (False, 8),
}
"""By the name of the data type: whether it is text, and the bytes of an offset."""


def data_start(count: int, width: int) -> int:
    """Where the data of a chunk of `count` elements begin."""
    return -(-(count + 1) * width // ALIGNMENT) * ALIGNMENT


def prepare(stage: ArrayStage, endian: str | None) -> Step:
    """The step for a stage whose `type_name` is one of `TYPES`."""
    shape, dtype, count = stage.shape, stage.dtype, stage.size
    text, width = TYPES[stage.type_name]
    stored = np.dtype(f"i{width}").newbyteorder("big" if endian == "big" else "little")
    end = (count + 1) * width
    start = data_start(count, width)
    name = f"data type {stage.type_name!r}"

    def encode(array: NDArray) -> memoryview:
        return encode_column(column_of(name, array, text))

    def encode_column(column: Column) -> memoryview:
        column = column.compact()
        if width == 4 and column.nbytes > np.iinfo(np.int32).max:
            large = "arrow-large-string" if text else "arrow-large-binary"
            raise EncodeError(
                f"{name}: a chunk of {column.nbytes} bytes is more than offsets of 32 bits reach;"
                f" create the array with dtype={large!r}, or with smaller chunks"
            )
        check_writable(name, start + column.nbytes)
        chunk = np.zeros(start + column.nbytes, np.uint8)
        chunk[:end].view(stored)[:] = column.offsets
        chunk[start:] = column.data
        return chunk.data

    def decode_column(data: Buffer) -> Column:
        octets = np.frombuffer(data, np.uint8)
        if octets.size < start and octets.size != end:
            raise DecodeError(
                f"{name}: a chunk of shape {shape} has {start} bytes of offsets and padding, found"
                f" {octets.size}"
            )
        if octets[end:start].any():
            raise DecodeError(f"{name}: the bytes between offsets and data are not zero")
        # In a shard a chunk may begin at any byte; users of the offsets need them aligned.
        offsets = np.require(octets[:end].view(stored), stored.newbyteorder("="), "A")
        column = Column(offsets, octets[start:], shape, text)
        try:
            column.check()
        except ValueError as error:
            raise DecodeError(f"{name}: {error}") from error
        rest = column.data[int(offsets[-1]) :]
        if rest.size >= ALIGNMENT or rest.any():
            raise DecodeError(f"{name}: {rest.size} bytes follow the last element")
        return column

    def decode(data: Buffer) -> NDArray:
        return decode_column(data).numpy(dtype)

    def decode_into(data: Buffer, out: NDArray) -> None:
        decode_column(data).into(out)

    columns = ColumnCoder(encode_column, decode_column)
    return Step(unknown(), encode, decode, decode_into=decode_into, columns=columns)
