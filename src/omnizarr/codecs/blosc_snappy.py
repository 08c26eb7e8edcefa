"""Snappy blocks inside blosc containers, decoded in Python.

Builds of c-blosc no longer come with Snappy, but GDAL, TensorStore and all Zarr libraries up to
2.2 wrote it. Slow next to a native library, and enough to get the data out.
"""

from __future__ import annotations

from omnizarr.errors import DecodeError


def snappy(data: memoryview, expected: int) -> bytes:
    """One raw Snappy block that must decode to `expected` bytes."""
    out = bytearray()
    try:
        size, position = _varint(data)
        if size != expected:
            raise DecodeError(f"snappy: expected {expected} bytes, the block declares {size}")
        end = len(data)
        while position < end and len(out) <= size:
            tag = data[position]
            kind = tag & 3
            position += 1
            if kind == 0:
                length = (tag >> 2) + 1
                if length > 60:
                    width = length - 60
                    length = int.from_bytes(data[position : position + width], "little") + 1
                    position += width
                if position + length > end:
                    raise DecodeError("snappy: a literal runs beyond the block")
                out += data[position : position + length]
                position += length
                continue
            if kind == 1:
                length = (tag >> 2 & 7) + 4
                offset = tag >> 5 << 8 | data[position]
                position += 1
            else:
                width = 2 if kind == 2 else 4
                length = (tag >> 2) + 1
                offset = int.from_bytes(data[position : position + width], "little")
                position += width
            if position > end:
                raise DecodeError("snappy: the block ends inside a copy")
            if not 0 < offset <= len(out):
                raise DecodeError("snappy: a copy reaches before the block")
            chunk = out[len(out) - offset : len(out) - offset + length]
            if len(chunk) < length:
                chunk = (chunk * (length // len(chunk) + 1))[:length]
            out += chunk
    except IndexError as error:
        raise DecodeError("snappy: the block ends early") from error
    if len(out) != size:
        raise DecodeError(f"snappy: expected {size} bytes, found {len(out)}")
    return bytes(out)


def _varint(data: memoryview) -> tuple[int, int]:
    value = position = 0
    while position < 5:
        octet = data[position]
        value |= (octet & 0x7F) << 7 * position
        position += 1
        if octet < 0x80:
            return value, position
    raise DecodeError("snappy: the length is not valid")
