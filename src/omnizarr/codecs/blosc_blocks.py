"""The blocks of a blosc container, taken apart in Python and NumPy.

For containers whose inner compressor the c-blosc at hand does not have (Snappy) or no longer
understands (zstd before 0.8). It knows how blocks are split and shuffled; how a piece is
decompressed is the caller's. The header and the table of block starts are already checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from omnizarr.errors import DecodeError
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

if TYPE_CHECKING:
    from omnizarr.codecs.blosc import Header

SHUFFLE, BITSHUFFLE, DONT_SPLIT = 0x01, 0x04, 0x10
MAX_SPLITS, MIN_BUFFERSIZE = 16, 128

Decompress = Callable[[memoryview, int], bytes | bytearray]
"""A compressed piece and the size it must have, to its bytes."""


def decode_blocks(data: Buffer, header: Header, out: NDArray, decompress: Decompress) -> None:
    """Fill `out` from a container whose pieces `decompress` understands."""
    view = memoryview(data).cast("B")
    starts = np.frombuffer(data, "<u4", header.nblocks, 16).tolist()
    # Each stored byte belongs to one block. Without this, a small container whose blocks all
    # start at one place could ask for any amount of work.
    left = len(view) - 16 - 4 * header.nblocks
    for number, start in enumerate(starts):
        begin = number * header.blocksize
        size = min(header.blocksize, header.nbytes - begin)
        splits = _splits(header, size)
        pieces = []
        for _ in range(splits):
            length = int.from_bytes(view[start : start + 4], "little")
            piece = view[start + 4 : start + 4 + length]
            if len(piece) != length:
                raise DecodeError(f"codec 'blosc': block {number} runs beyond the data")
            start += 4 + length
            left -= 4 + length
            if left < 0:
                raise DecodeError(f"codec 'blosc': block {number} overlaps other blocks")
            try:
                raw = length == size // splits
                pieces.append(bytes(piece) if raw else decompress(piece, size // splits))
            except DecodeError as error:
                raise error.at(f"codec 'blosc': block {number}") from error
        block = np.frombuffer(b"".join(pieces), np.uint8)
        if len(block) != size:
            raise DecodeError(f"codec 'blosc': block {number} has {len(block)} bytes of {size}")
        out[begin : begin + size] = unshuffle(block, header)


def _splits(header: Header, size: int) -> int:
    """Into how many pieces, one per byte of an element, a block of this size was cut."""
    if (
        size == header.blocksize
        and not header.flags & DONT_SPLIT
        and header.typesize <= MAX_SPLITS
        and size // header.typesize >= MIN_BUFFERSIZE
    ):
        return header.typesize
    return 1


def unshuffle(block: npt.NDArray[np.uint8], header: Header) -> npt.NDArray[np.uint8]:
    """The bytes of one block in the order of its elements."""
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
