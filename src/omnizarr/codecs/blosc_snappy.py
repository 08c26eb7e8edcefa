"""Blosc containers whose blocks are compressed with Snappy, decoded in Python and NumPy.

Builds of c-blosc no longer come with Snappy, but GDAL, TensorStore and all Zarr libraries up to
2.2 wrote it. Slow next to a native library, and enough to get the data out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import DecodeError
from omnizarr.model.store import Buffer

if TYPE_CHECKING:
    from omnizarr.codecs.blosc import Header

SHUFFLE, BITSHUFFLE, DONT_SPLIT = 0x01, 0x04, 0x10
MAX_SPLITS, MIN_BUFFERSIZE = 16, 128


def decompress_snappy(data: Buffer, header: Header, out: npt.NDArray[Any]) -> None:
    """Decode a container whose header and table of block starts are already checked."""
    view = memoryview(data)
    starts = np.frombuffer(data, "<u4", header.nblocks, 16).tolist()
    for number, start in enumerate(starts):
        begin = number * header.blocksize
        size = min(header.blocksize, header.nbytes - begin)
        whole = size == header.blocksize
        splits = 1
        if (
            whole
            and not header.flags & DONT_SPLIT
            and header.typesize <= MAX_SPLITS
            and size // header.typesize >= MIN_BUFFERSIZE
        ):
            splits = header.typesize
        pieces = []
        for _ in range(splits):
            length = int.from_bytes(view[start : start + 4], "little")
            piece = view[start + 4 : start + 4 + length]
            if len(piece) != length:
                raise DecodeError(f"codec 'blosc': block {number} runs beyond the data")
            start += 4 + length
            raw = length == size // splits
            pieces.append(bytes(piece) if raw else snappy(piece, size // splits))
        block = np.frombuffer(b"".join(pieces), np.uint8)
        if len(block) != size:
            raise DecodeError(f"codec 'blosc': block {number} has {len(block)} bytes of {size}")
        out[begin : begin + size] = _unshuffle(block, header)


def _unshuffle(block: npt.NDArray[np.uint8], header: Header) -> npt.NDArray[np.uint8]:
    typesize, size = header.typesize, len(block)
    count = size // typesize
    used = count * typesize
    body, rest = block[:used], block[used:]
    if header.flags & SHUFFLE and typesize > 1:
        body = body.reshape(typesize, count).T.reshape(-1)
    elif header.flags & BITSHUFFLE and size >= typesize:
        if count % 8:
            return block
        bits = np.unpackbits(body.reshape(typesize * 8, -1), axis=1, bitorder="little")
        body = np.packbits(bits.T, axis=1, bitorder="little").reshape(-1)
    return np.concatenate([body, rest])


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
