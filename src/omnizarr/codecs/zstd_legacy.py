"""Frames of zstd 0.7, decoded in Python and NumPy.

The blosc inside zarr 1.1 wrote them (magic number 0xFD2FB527). Their format was not yet today's
(RFC 8878), and current builds of libzstd refuse it. Slow next to a native library, and enough to
get the data out.

A frame is a header, blocks, and an end mark of three bytes that may carry a checksum. A compressed
block is a section of literals and a section of sequences: take so many literals, then repeat so
many bytes from so far back. Unlike in RFC 8878, the headers of blocks and literals are big-endian,
the end of a frame is a block of its own that holds 22 bits of the checksum, and after no literals
the two most recent offsets change places, while the third stays. How bits become symbols is known
to `zstd_legacy_entropy`.

It must not know of blosc: it is handed one frame and the size that the frame has to have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from omnizarr.codecs.zstd_legacy_entropy import (
    Huffman,
    build_table,
    decode_literals,
    end_mark,
    read_counts,
    read_huffman,
)
from omnizarr.errors import ChecksumError, DecodeError

MAGIC_TAIL = b"\xb5\x2f\xfd"
MAX_BLOCK = 1 << 17
COMPRESSED, RAW, RLE, END = range(4)
"""Kinds of blocks."""
HUFFMAN, REPEAT, RAW_LITERALS, RLE_LITERALS = range(4)
"""Kinds of literals."""
PREDEFINED, SINGLE, PREVIOUS, DESCRIBED = range(4)
"""Where a table for sequences comes from."""


@dataclass(frozen=True, eq=False)
class BitField:
    """One of the three numbers of a sequence: a code, and extra bits that refine it."""

    bases: Sequence[int]
    extra: Sequence[int]
    default: Sequence[int]
    default_log: int
    most_log: int


def _ranges(first: int, *widths: tuple[int, int]) -> tuple[list[int], list[int]]:
    """Bases and extra bits of codes that cover the numbers from `first` on without a gap."""
    extra = [bits for bits, times in widths for _ in range(times)]
    bases = [first]
    for bits in extra[:-1]:
        bases.append(bases[-1] + (1 << bits))
    return bases, extra


_ONES = tuple((bits, 1) for bits in range(7, 17))
LITERALS = BitField(
    *_ranges(0, (0, 16), (1, 4), (2, 2), (3, 2), (4, 1), (6, 1), *_ONES),
    (4, 3, *[2] * 11, 1, 1, 1, *[2] * 9, 3, 2, *[1] * 5, *[-1] * 4),
    6,
    9,
)
MATCHES = BitField(
    *_ranges(3, (0, 32), (1, 4), (2, 2), (3, 2), (4, 2), (5, 1), *_ONES),
    (1, 4, 3, *[2] * 6, *[1] * 37, *[-1] * 7),
    6,
    9,
)
OFFSETS = BitField(
    [1 << code for code in range(29)],
    range(29),
    (*[1] * 6, 2, 2, 2, *[1] * 15, *[-1] * 5),
    5,
    8,
)

Cell = tuple[int, int, int, int]
"""Extra bits and base of the number, then bits and base of the next state."""


class Tables(NamedTuple):
    literals: list[Cell]
    offsets: list[Cell]
    matches: list[Cell]


def decompress_legacy(data: memoryview, expected: int) -> bytearray:
    """One frame of an old zstd, which must decode to `expected` bytes."""
    first = data[0] if len(data) >= 4 and bytes(data[1:4]) == MAGIC_TAIL else 0
    if 0x22 <= first < 0x27:
        raise DecodeError(
            f"a frame of zstd 0.{first - 0x20}; 0.7 and from 0.8 on can be read. Rewrite the data"
            " with the software of its time"
        )
    if first != 0x27:
        raise DecodeError("corrupt: no zstd frame, or one that zstd cannot decode")
    return _Frame(data, expected).decode()


class _Frame:
    """What one frame carries from block to block."""

    def __init__(self, data: memoryview, expected: int) -> None:
        self.data = data
        self.expected = expected
        self.out = bytearray()
        self.huffman: Huffman | None = None
        self.tables: Tables | None = None
        self.recent = (1, 4, 8)

    def decode(self) -> bytearray:
        data, expected, out = self.data, self.expected, self.out
        checksum, position = self._header()
        while True:
            header = int.from_bytes(data[position : position + 3], "big")
            kind, size = header >> 22, header & 0x7FFFF
            position += 3
            if kind == END and position == len(data):
                break
            stored = 1 if kind == RLE else size
            if kind == END or position + stored > len(data):
                raise DecodeError("zstd 0.7: the blocks do not end where the frame does")
            block = data[position : position + stored]
            position += stored
            if kind == COMPRESSED:
                self._compressed(block)
            elif len(out) + size > expected:
                raise self._too_long()
            else:
                out += bytes(block) * size if kind == RLE else block
        if len(out) != expected:
            raise DecodeError(f"zstd 0.7: expected {expected} bytes, found {len(out)}")
        if checksum and xxh64(out) >> 11 & 0x3FFFFF != header & 0x3FFFFF:
            raise ChecksumError("zstd 0.7: the content does not match its checksum")
        return out

    def _header(self) -> tuple[bool, int]:
        """Whether the frame has a checksum, and where its blocks begin."""
        data = self.data
        descriptor = data[4] if len(data) > 4 else 0
        single = bool(descriptor & 0x20)
        position = 5 if single else 6
        dictionary = (0, 1, 2, 4)[descriptor & 3]
        if descriptor & 8 or any(data[position : position + dictionary]):
            raise DecodeError("zstd 0.7: the frame needs a dictionary or an unknown feature")
        position += dictionary
        width = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
        size = int.from_bytes(data[position : position + width], "little")
        size += 256 if width == 2 else 0
        position += width
        if position > len(data):
            raise DecodeError("zstd 0.7: the data ends inside the frame header")
        if width and size != self.expected:
            raise DecodeError(
                f"zstd 0.7: expected {self.expected} bytes, the frame declares {size}"
            )
        return bool(descriptor & 4), position

    def _too_long(self) -> DecodeError:
        return DecodeError(f"zstd 0.7: expected {self.expected} bytes, found more")

    def _compressed(self, block: memoryview) -> None:
        if not 3 <= len(block) < MAX_BLOCK:
            raise DecodeError(f"zstd 0.7: a compressed block of {len(block)} bytes is not valid")
        before = len(self.out)
        literals, taken = self._literals(block)
        self._sequences(block[taken:], literals)
        if len(self.out) == before:
            # No encoder does this; it would be work without end.
            raise DecodeError("zstd 0.7: a compressed block of nothing")

    def _literals(self, block: memoryview) -> tuple[bytes, int]:
        """The literals of a block, and how many bytes their section took."""
        kind, form = block[0] >> 6, block[0] >> 4 & 3
        if kind >= RAW_LITERALS:
            width = max(form, 1)
            size = int.from_bytes(block[:width], "big") & (0x1F, 0xFFF, 0xFFFFF)[width - 1]
            stored = size if kind == RAW_LITERALS else 1
        else:
            width = max(form, 1) + 2
            bits = (10, 14, 18)[width - 3]
            fields = int.from_bytes(block[:width], "big")
            size, stored = fields >> bits & (1 << bits) - 1, fields & (1 << bits) - 1
        taken = width + stored
        if taken > len(block) or size > MAX_BLOCK or len(self.out) + size > self.expected:
            raise DecodeError(f"zstd 0.7: {size} literals in {stored} bytes do not fit the block")
        content = block[width:taken]
        if kind >= RAW_LITERALS:
            return bytes(content) * (1 if kind == RAW_LITERALS else size), taken
        if kind == HUFFMAN:
            self.huffman, used = read_huffman(content)
            content = content[used:]
        if self.huffman is None or (kind == REPEAT and form != 1):
            raise DecodeError("zstd 0.7: literals repeat a table where there is none to repeat")
        return decode_literals(content, size, self.huffman, 1 if form == 1 else 4), taken

    def _sequences(self, section: memoryview, literals: bytes) -> None:
        """Carry out the sequences of a block; literals that are left over follow the last one."""
        out = self.out
        count, position = _sequence_count(section)
        if count == 0:
            if position != len(section):
                raise DecodeError("zstd 0.7: bytes follow a block without sequences")
            out += literals
            return
        modes = section[position] if position < len(section) else 0
        position += 1
        tables = []
        for number, field in enumerate((LITERALS, OFFSETS, MATCHES)):
            mode = modes >> 6 - 2 * number & 3
            previous = self.tables[number] if self.tables else None
            table, used = _sequence_table(section[position:], field, mode, previous)
            tables.append(table)
            position += used
        self.tables = Tables(*tables)
        self._execute(section[position:], count, self.tables, literals)

    def _execute(self, stream: memoryview, count: int, tables: Tables, literals: bytes) -> None:
        """Read sequences from their stream, and carry each out at once."""
        out, expected = self.out, self.expected
        literal_table, offset_table, match_table = tables
        first, second, third = self.recent
        produced, taken, available = len(out), 0, len(literals)
        from_bytes = int.from_bytes
        # A sequence reads less than 16 bytes. Zeros precede the stream, which begins at bit 128.
        padded = bytes(16) + stream
        position = 128 + end_mark(stream)
        tail = from_bytes(padded[-16:], "little")
        shift = 8 * len(padded) - 128
        starts = []
        for table in tables:
            position -= len(table).bit_length() - 1
            starts.append(tail >> position - shift & len(table) - 1)
        state, offset_state, match_state = starts
        for left in range(count - 1, -1, -1):
            if position < 128:
                raise DecodeError("zstd 0.7: the sequences end early")
            literal_extra, run, literal_bits, literal_next = literal_table[state]
            offset_extra, offset, offset_bits, offset_next = offset_table[offset_state]
            match_extra, length, match_bits, match_next = match_table[match_state]
            top = position + 7 >> 3
            word = from_bytes(padded[top - 16 : top], "little")
            at = position + 128 - 8 * top
            before = at
            if offset_extra:
                at -= offset_extra
                offset += word >> at & (1 << offset_extra) - 1
            if match_extra:
                at -= match_extra
                length += word >> at & (1 << match_extra) - 1
            if literal_extra:
                at -= literal_extra
                run += word >> at & (1 << literal_extra) - 1
            if left:
                at -= literal_bits
                state = literal_next + (word >> at & (1 << literal_bits) - 1)
                at -= match_bits
                match_state = match_next + (word >> at & (1 << match_bits) - 1)
                at -= offset_bits
                offset_state = offset_next + (word >> at & (1 << offset_bits) - 1)
            position += at - before

            if offset > 3:
                offset -= 3
                first, second, third = offset, first, second
            else:
                # 1 to 3 name recent offsets; after no literals, the first two change places.
                if run == 0 and offset < 3:
                    offset = 3 - offset
                if offset == 2:
                    first, second = second, first
                elif offset == 3:
                    first, second, third = third, first, second
                offset = first
            produced += run + length
            if produced > expected:
                raise self._too_long()
            if run:
                out += literals[taken : taken + run]
                taken += run
            start = produced - length - offset
            if taken > available or start < 0:
                raise DecodeError("zstd 0.7: a sequence copies bytes that do not exist")
            if offset >= length:
                out += out[start : start + length]
            else:
                repeated = out[start:]
                out += (repeated * (length // offset + 1))[:length]
        if position != 128:
            raise DecodeError("zstd 0.7: the sequences do not end where their block does")
        self.recent = first, second, third
        if produced + available - taken > expected:
            raise self._too_long()
        out += literals[taken:]


def _sequence_count(section: memoryview) -> tuple[int, int]:
    """How many sequences follow, and the size of that number in bytes."""
    first = section[0] if len(section) else 0xFF
    width = 1 if first < 0x80 else 2 if first < 0xFF else 3
    if len(section) < width:
        raise DecodeError("zstd 0.7: the block ends where its sequences should begin")
    if width == 1:
        return first, 1
    if width == 2:
        return (first - 0x80 << 8) + section[1], 2
    return section[1] + (section[2] << 8) + 0x7F00, 3


def _sequence_table(
    section: memoryview, field: BitField, mode: int, previous: list[Cell] | None
) -> tuple[list[Cell], int]:
    """The table for one field of the sequences, and how many bytes described it."""
    if mode == PREDEFINED:
        return _predefined(field), 0
    if mode == SINGLE:
        if not len(section) or section[0] >= len(field.bases):
            raise DecodeError("zstd 0.7: the only code of a sequence table is not valid")
        return [(field.extra[section[0]], field.bases[section[0]], 0, 0)], 1
    if mode == PREVIOUS:
        if previous is None:
            raise DecodeError("zstd 0.7: sequences repeat a table where there is none to repeat")
        return previous, 0
    counts, log, used = read_counts(section, len(field.bases) - 1, field.most_log)
    return _cells(field, counts, log), used


@cache
def _predefined(field: BitField) -> list[Cell]:
    return _cells(field, field.default, field.default_log)


def _cells(field: BitField, counts: Sequence[int], log: int) -> list[Cell]:
    extra, bases = field.extra, field.bases
    cells = build_table(counts, log)
    return [(extra[symbol], bases[symbol], bits, base) for symbol, bits, base in cells]


P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
WORD = (1 << 64) - 1


def xxh64(data: bytes | bytearray) -> int:
    """XXH64 with seed 0."""
    stripes = len(data) // 32
    lanes = [P1 + P2 & WORD, P2, 0, -P1 & WORD]
    words = memoryview(data)[: 32 * stripes]
    if stripes:
        for number in range(4):
            lane = lanes[number]
            for word in np.frombuffer(words, "<u8")[number::4].tolist():
                lane = _round(lane, word)
            lanes[number] = lane
        value = sum(_rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            value = (value ^ _round(0, lane)) * P1 + P4 & WORD
    else:
        value = P5
    value = value + len(data) & WORD
    position, end = 32 * stripes, len(data)
    while position + 8 <= end:
        word = int.from_bytes(data[position : position + 8], "little")
        value = _rotate(value ^ _round(0, word), 27) * P1 + P4 & WORD
        position += 8
    if position + 4 <= end:
        word = int.from_bytes(data[position : position + 4], "little")
        value = _rotate(value ^ word * P1 & WORD, 23) * P2 + P3 & WORD
        position += 4
    for octet in data[position:]:
        value = _rotate(value ^ octet * P5 & WORD, 11) * P1 & WORD
    value = (value ^ value >> 33) * P2 & WORD
    value = (value ^ value >> 29) * P3 & WORD
    return value ^ value >> 32


def _round(lane: int, word: int) -> int:
    return _rotate(lane + word * P2 & WORD, 31) * P1 & WORD


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> 64 - by) & WORD
