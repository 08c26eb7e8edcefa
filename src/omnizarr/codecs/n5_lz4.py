"""`n5_lz4`: what N5 calls `lz4`, inside `n5_default`.

Configuration: `blockSize`. Two writers gave the same name to different bytes:

* N5 in Java writes a stream of blocks of `blockSize` bytes (64 at least, 65536 by default), each
  behind the word `LZ4Block`, a token, two lengths and a checksum, and an empty block as its end.
* z5 writes one bare LZ4 block, and its compression level (below 64) as `blockSize`.

On reading, that word identifies the first form: a bare block cannot start with it, because it would
refer to bytes before its own beginning. On writing, `blockSize` chooses the form. (zarr-python's
`lz4` is a third form with members of its own: `numcodecs.lz4`.)
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from omnizarr.codecs.base import (
    BytesStage,
    CodecKind,
    LibraryErrors,
    Step,
    check_size,
    compressed,
    octets,
)
from omnizarr.codecs.configuration import ConfiguredCodec, integer, member
from omnizarr.codecs.loader import library
from omnizarr.codecs.lz4 import check_most
from omnizarr.codecs.xxhash import xxh32
from omnizarr.errors import ChecksumError, DecodeError, EncodeError
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

NAME = "n5_lz4"
MAGIC = b"LZ4Block"
SEED = 0x9747B28C
CHECKSUM_MASK = 0x0FFFFFFF
"""Java keeps 28 bits of the checksum."""
RAW, LZ4 = 0x10, 0x20
SMALLEST, LARGEST = 64, 1 << 25
"""The block sizes that Java's stream takes."""
_HEADER = struct.Struct("<8sBIII")
"""Magic, token, stored length, decoded length, checksum."""


@dataclass(frozen=True)
class N5LZ4Codec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "bytes-bytes"
    blockSize: int = member(  # noqa: N815 - the name that N5 gives it
        integer, default=65536, low=-LARGEST, high=LARGEST
    )
    name: str = NAME

    def prepare(self, stage: BytesStage) -> Step:
        check_most(NAME, stage)
        module = library("numcodecs.lz4", NAME)
        size, blocks = self.blockSize, self.blockSize >= SMALLEST

        def encode(data: Buffer) -> bytes:
            with LibraryErrors(EncodeError, NAME, RuntimeError, ValueError):
                return _stream(data, size, module) if blocks else _bare(data, module)

        def decode_into(data: Buffer, out: NDArray) -> None:
            view = memoryview(data).cast("B")
            decoder = _from_stream if view[: len(MAGIC)] == MAGIC else _unpack
            decoder(view, out, module)

        def decode(data: Buffer) -> memoryview:
            length = stage.size
            if length is None:
                length = _declared(memoryview(data).cast("B"))
                check_size(NAME, stage, length)
            out = np.empty(length, np.uint8)
            decode_into(data, out)
            return out.data

        return Step(compressed(stage), encode, decode, decode_into)


# -- z5's form --------------------------------------------------------------------------------
def _bare(data: Buffer, module: Any) -> bytes:
    return bytes(memoryview(module.compress(data, 1))[4:])  # behind the size that numcodecs adds


def _unpack(view: memoryview, out: NDArray, module: Any) -> None:
    """Decode one LZ4 block whose decoded size is known."""
    if out.size == 0 or not view.nbytes:
        raise DecodeError(f"codec {NAME!r}: {view.nbytes} bytes are no LZ4 block")
    with LibraryErrors(DecodeError, NAME, RuntimeError, ValueError):
        module.decompress(b"".join((out.size.to_bytes(4, "little"), view)), out)


# -- Java's form ------------------------------------------------------------------------------
def _stream(data: Buffer, size: int, module: Any) -> bytes:
    view = memoryview(data).cast("B")
    level = max(0, (size - 1).bit_length() - 10)
    pieces: list[Buffer] = []
    for start in range(0, view.nbytes, size):
        block = view[start : start + size]
        stored: Buffer = memoryview(module.compress(block, 1))[4:]
        method = LZ4
        if len(stored) >= len(block):
            stored, method = block, RAW
        check = xxh32(block, SEED) & CHECKSUM_MASK
        pieces.append(_HEADER.pack(MAGIC, method | level, len(stored), len(block), check))
        pieces.append(stored)
    pieces.append(_HEADER.pack(MAGIC, RAW | level, 0, 0, 0))
    return b"".join(pieces)


class _Block(NamedTuple):
    method: int
    start: int
    """Where its stored bytes begin."""
    stored: int
    length: int
    """How many bytes it decodes to."""
    checksum: int


def _block_at(view: memoryview, position: int) -> _Block:
    if view.nbytes - position < _HEADER.size:
        raise DecodeError(f"codec {NAME!r}: the stream ends inside the header of a block")
    magic, token, stored, length, check = _HEADER.unpack_from(view, position)
    method, start = token & 0xF0, position + _HEADER.size
    if magic != MAGIC or method not in (RAW, LZ4) or length > 1 << (10 + (token & 0x0F)):
        raise DecodeError(f"codec {NAME!r}: at byte {position}: no header of a block")
    if stored > view.nbytes - start or (method == RAW and stored != length):
        raise DecodeError(
            f"codec {NAME!r}: a block of {stored} stored and {length} decoded bytes, with"
            f" {view.nbytes - start} bytes left"
        )
    return _Block(method, start, stored, length, check)


def _from_stream(view: memoryview, out: NDArray, module: Any) -> None:
    position = filled = 0
    while position < view.nbytes:
        method, start, stored, length, check = _block_at(view, position)
        position = start + stored
        if length == 0:
            if stored or position != view.nbytes:
                raise DecodeError(f"codec {NAME!r}: bytes follow the end of the stream")
            break
        if length > out.size - filled:
            raise DecodeError(
                f"codec {NAME!r}: more than the expected {out.size} bytes after decoding"
            )
        target = out[filled : filled + length]
        if method == RAW:
            target[:] = octets(view[start:position])
        else:
            _unpack(view[start:position], target, module)
        if xxh32(target.data, SEED) & CHECKSUM_MASK != check:
            raise ChecksumError(
                f"codec {NAME!r}: the block at byte {start} does not match its checksum"
            )
        filled += length
    if filled != out.size:
        raise DecodeError(
            f"codec {NAME!r}: expected {out.size} bytes after decoding, found {filled}"
        )


def _declared(view: memoryview) -> int:
    """How many bytes a stream says that it holds; a bare block does not say it."""
    if view[: len(MAGIC)] != MAGIC:
        raise DecodeError(f"codec {NAME!r}: the decoded size of a bare LZ4 block is not known")
    position = total = 0
    while position < view.nbytes:
        _, start, stored, length, _ = _block_at(view, position)
        position = start + stored
        total += length
    return total
