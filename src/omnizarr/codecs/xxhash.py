"""XXH32, the checksum inside Java's LZ4 streams (`n5_lz4`).

Four lanes of 32 bits advance together, 16 bytes of input at a time. They are held in one Python
integer, 64 bits apart, so that one multiplication serves all four and no carry meets a neighbour;
the products with the input are made for the whole input at once. Where the package `xxhash` is
installed it does the same a hundred times as fast.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np

from omnizarr.model.store import Buffer

_P1, _P2, _P3, _P4, _P5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_WORD = 0xFFFFFFFF
_LANES = sum(_WORD << shift for shift in (0, 64, 128, 192))


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _WORD


def xxh32(data: Buffer, seed: int = 0) -> int:
    """The XXH32 of some bytes."""
    return _chosen()(data, seed)


@cache
def _chosen() -> Callable[[Buffer, int], int]:
    try:
        found: Callable[[Buffer, int], int] = import_module("xxhash").xxh32_intdigest
    except (ImportError, AttributeError):
        return in_python
    return found


def in_python(data: Buffer, seed: int = 0) -> int:
    """The same without help."""
    view = memoryview(data).cast("B")
    size = view.nbytes
    stripes = size // 16
    if stripes:
        words = np.frombuffer(view[: 16 * stripes], "<u4").astype(np.uint64)
        terms = ((words * np.uint64(_P2)) & np.uint64(_WORD)).astype("<u8").tobytes()
        starts = (seed + _P1 + _P2, seed + _P2, seed, seed - _P1)
        lanes = sum((start & _WORD) << (64 * i) for i, start in enumerate(starts))
        for position in range(0, len(terms), 32):
            lanes += int.from_bytes(terms[position : position + 32], "little")
            lanes &= _LANES
            lanes = ((lanes << 13) | (lanes >> 19)) & _LANES
            lanes = (lanes * _P1) & _LANES
        parts = [(lanes >> (64 * i)) & _WORD for i in range(4)]
        turns = zip(parts, (1, 7, 12, 18), strict=True)
        value = sum(_rotated(part, bits) for part, bits in turns)
    else:
        value = seed + _P5
    value = (value + size) & _WORD
    position = 16 * stripes
    while position + 4 <= size:
        word = int.from_bytes(view[position : position + 4], "little")
        value = (_rotated((value + word * _P3) & _WORD, 17) * _P4) & _WORD
        position += 4
    for byte in view[position:]:
        value = (_rotated((value + byte * _P5) & _WORD, 11) * _P1) & _WORD
    value = ((value ^ (value >> 15)) * _P2) & _WORD
    value = ((value ^ (value >> 13)) * _P3) & _WORD
    return value ^ (value >> 16)
