"""The entropy coders inside zstd 0.7 frames: FSE tables and Huffman literals.

It knows how counts, weights and streams of bits are laid out; what the symbols mean is the
caller's (`zstd_legacy`). Nothing here allocates more than a fixed multiple of one zstd block.

Streams of bits are written forwards and read backwards: the highest set bit of the last byte is
an end mark, and each field is directly below the one read before it. A position counts the bits
that are left, so reading `n` bits at `position` means those from `position - n` up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.errors import DecodeError

MAX_HUFFMAN_BITS = 12
MAX_WEIGHTS = 255
MAX_WEIGHT_LOG = 8  # the encoder never took more than 5
UNIFORM_COUNTS = (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128)
"""How many weights of 1 the first bytes 242 to 255 of a Huffman description stand for."""


State = tuple[int, int, int]
"""One cell of an FSE table: its symbol, how many bits lead from it, and to which cell on."""


def end_mark(stream: memoryview) -> int:
    """How many bits a stream has below its end mark."""
    if not len(stream) or not stream[-1]:
        raise DecodeError("zstd 0.7: a stream of bits lacks its end mark")
    return 8 * len(stream) - 9 + stream[-1].bit_length()


def read_counts(data: memoryview, highest: int, most_log: int) -> tuple[list[int], int, int]:
    """Normalized counts of symbols 0 to `highest`, the table's log, and how many bytes they took.

    A count of −1 means "less than one". Each takes just as many bits as what is left to share out
    needs, the smaller values one bit less; after a count of 0, pairs of bits count further zeros.
    """
    field = int.from_bytes(data[:512], "little")
    log = (field & 15) + 5
    if log > most_log:
        raise DecodeError(f"zstd 0.7: an FSE table of 2^{log} cells; at most 2^{most_log} expected")
    used = 4
    remaining = (1 << log) + 1
    counts: list[int] = []
    while remaining > 1 and len(counts) <= highest:
        width = remaining.bit_length()
        half = 1 << width - 1
        short = 2 * half - 1 - remaining
        value = field >> used & half - 1
        if value < short:
            used += width - 1
        else:
            value = field >> used & 2 * half - 1
            used += width
            if value >= half:
                value -= short
        count = value - 1
        counts.append(count)
        remaining -= abs(count)
        zeros = 3 if count == 0 else 0
        while zeros == 3 and len(counts) <= highest:
            zeros = field >> used & 3
            used += 2
            counts += [0] * zeros
    taken = used + 7 >> 3
    if remaining != 1 or len(counts) > highest + 1 or taken > len(data):
        raise DecodeError("zstd 0.7: the counts of an FSE table are corrupt")
    return counts, log, taken


def build_table(counts: Sequence[int], log: int) -> list[State]:
    """The cells of an FSE table, spread as the encoder did."""
    size = 1 << log
    symbols = [0] * size
    top = size - 1
    for symbol, count in enumerate(counts):
        if count == -1:
            symbols[top] = symbol
            top -= 1
    position, step = 0, (size >> 1) + (size >> 3) + 3
    mask = size - 1
    for symbol, count in enumerate(counts):
        for _ in range(count):
            symbols[position] = symbol
            position = position + step & mask
            while position > top:
                position = position + step & mask
    following = [abs(count) for count in counts]
    cells = []
    for symbol in symbols:
        number = following[symbol]
        following[symbol] = number + 1
        bits = log + 1 - number.bit_length()
        cells.append((symbol, bits, (number << bits) - size))
    return cells


class Huffman(NamedTuple):
    """A decoding table: for every `log` bits ahead, the symbol and the length of its code."""

    log: int
    symbols: npt.NDArray[np.uint8]
    lengths: npt.NDArray[np.uint8]


def read_huffman(data: memoryview) -> tuple[Huffman, int]:
    """A Huffman table, and how many bytes its description took."""
    first = data[0] if len(data) else 0
    stored = 0 if first >= 242 else (first - 126) // 2 if first >= 128 else first
    taken = 1 + stored
    if taken > len(data):
        raise DecodeError("zstd 0.7: the block ends inside a Huffman table")
    description = data[1:taken]
    if first >= 242:
        weights = [1] * UNIFORM_COUNTS[first - 242]
    elif first >= 128:
        halves = [half for octet in description for half in (octet >> 4, octet & 15)]
        weights = halves[: first - 127]
    else:
        weights = _compressed_weights(description)
    return _huffman_table(weights), taken


def _huffman_table(weights: list[int]) -> Huffman:
    """Weight w > 0 means a code of `log + 1 - w` bits. The last weight makes the sum a power of 2,
    and is not stored."""
    corrupt = DecodeError("zstd 0.7: the weights of a Huffman table are corrupt")
    if not weights or max(weights) > MAX_HUFFMAN_BITS:
        raise corrupt
    total = sum(1 << weight >> 1 for weight in weights)
    log = total.bit_length()
    last = (1 << log) - total
    if not 0 < log <= MAX_HUFFMAN_BITS or last & last - 1:
        raise corrupt
    full = np.array([*weights, last.bit_length()])
    ones = int((full == 1).sum())
    if ones < 2 or ones % 2:
        raise corrupt
    # The longest codes, which are the smallest weights, begin with the smallest bits.
    order = np.argsort(full, kind="stable")[int((full == 0).sum()) :]
    ordered = full[order]
    cells = 1 << ordered - 1
    symbols = np.repeat(order.astype(np.uint8), cells)
    return Huffman(log, symbols, np.repeat((log + 1 - ordered).astype(np.uint8), cells))


def _compressed_weights(data: memoryview) -> list[int]:
    """Weights that are FSE-coded themselves, by two states that take turns."""
    counts, log, taken = read_counts(data, MAX_WEIGHTS, MAX_WEIGHT_LOG)
    table = build_table(counts, log)
    stream = data[taken:]
    position = end_mark(stream)
    # At most 127 bytes. Bits before the first are read as zeros, by the state that comes last.
    field = int.from_bytes(stream, "little") << 32
    mask = (1 << log) - 1
    current = field >> position + 32 - log & mask
    other = field >> position + 32 - 2 * log & mask
    position -= 2 * log
    if position < 0:
        raise DecodeError("zstd 0.7: the weights of a Huffman table end early")
    weights: list[int] = []
    while len(weights) < MAX_WEIGHTS - 1:
        symbol, bits, base = table[current]
        weights.append(symbol)
        position -= bits
        if position < 0:
            weights.append(table[other][0])
            return weights
        current, other = other, base + (field >> position + 32 & (1 << bits) - 1)
    raise DecodeError(f"zstd 0.7: a Huffman table of more than {MAX_WEIGHTS} weights")


def decode_literals(data: memoryview, count: int, table: Huffman, streams: int) -> bytes:
    """`count` literals from one stream, or from four that carry a quarter each."""
    if streams == 1:
        return bytes(_decode_stream(data, count, table))
    lengths = [int.from_bytes(data[at : at + 2], "little") for at in (0, 2, 4)]
    quarter = (count + 3) // 4
    if sum(lengths) + 6 >= len(data) or 3 * quarter > count:
        raise DecodeError("zstd 0.7: four streams of literals do not fit their section")
    out = bytearray()
    position = 6
    for length in lengths:
        out += _decode_stream(data[position : position + length], quarter, table)
        position += length
    return bytes(out + _decode_stream(data[position:], count - 3 * quarter, table))


def _decode_stream(stream: memoryview, count: int, table: Huffman) -> bytearray:
    """`count` symbols from one stream, which they must use up.

    NumPy first decodes at every bit as if a code began there; the loop then only has to walk from
    code to code. Index `position + 1` of the two strings belongs to `position`; one bit too many
    leads to index 0, which leads nowhere.
    """
    position = end_mark(stream)
    log = table.log
    octets = np.zeros(len(stream) + 5, np.uint32)
    octets[2:-3] = np.frombuffer(stream, np.uint8)
    windows = octets[:-3] | octets[1:-2] << 8 | octets[2:-1] << 16
    shifts = np.arange(8, dtype=np.uint32)
    ahead = (windows[:, None] >> shifts & (1 << log) - 1).astype(np.uint16).reshape(-1)
    # Two zero bytes precede the stream: the code at `position` begins at bit 16 + position.
    ahead = ahead[16 - log : 16 - log + position + 1]
    lengths = np.zeros(position + 2, np.uint8)
    lengths[1:] = table.lengths[ahead]
    early = lengths[1 : log + 1]
    np.minimum(early, np.arange(1, len(early) + 1), out=early, casting="unsafe")
    symbols = b"\0" + table.symbols[ahead].tobytes()
    steps = lengths.tobytes()
    out = bytearray(count)
    at = position + 1
    for index in range(count):
        out[index] = symbols[at]
        at -= steps[at]
    if at != 1:
        raise DecodeError("zstd 0.7: a stream of literals does not end where it should")
    return out
