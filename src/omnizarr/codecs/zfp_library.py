"""libzfp as zfpy brings it, with all of its four parameters.

Every mode of ZFP is a choice of four numbers, `Parameters`. zfpy's own functions reach most of
them; where its library can be called directly (its wheels for Linux and macOS export it), all are
reached, and the library tells how far it read.

libzfp does not check where its buffers end: the bits decide how far it reads, `maxbits` how far it
writes. The caller therefore passes data that are longer than any stream of that shape (`longest`),
and parameters that `check` has passed.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from math import floor, frexp, ldexp, prod
from typing import Any, NamedTuple

import numpy as np

from omnizarr import limits
from omnizarr.codecs.base import ArrayStage, BytesStage, Step
from omnizarr.codecs.loader import library
from omnizarr.errors import CodecError, DecodeError, LimitError, MetadataError
from omnizarr.model.grids import NDArray, Shape
from omnizarr.model.json import show
from omnizarr.model.store import Buffer

NAME = "zfp"
FAILURES = (RuntimeError, TypeError, ValueError)
"""What zfpy raises."""
MIN_BITS, MAX_BITS, MAX_PRECISION, MIN_EXPONENT = 1, 16658, 64, -1074
TYPES = {"i4": 1, "i8": 2, "f4": 3, "f8": 4}
"""libzfp's numbers of its types."""
_HEAD = {"i4": (1, 5), "i8": (1, 6), "f4": (9, 15), "f8": (12, 19)}
"""Bits that a block begins with, lossy and reversible: `maxbits` must have room for them."""
THIN = 20
"""How many times longer than a large chunk its longest stream may be."""
WINDOW = 8192
"""More bytes than three blocks of `MAX_BITS`. Reading goes forward, so a read past the end
of a stream reads one whole block of nothing but this padding, before anything behind it."""


class Parameters(NamedTuple):
    """libzfp's expert mode; each other mode is a name for some of its settings."""

    minbits: int = MIN_BITS
    maxbits: int = MAX_BITS
    maxprec: int = MAX_PRECISION
    minexp: int = MIN_EXPONENT

    @property
    def reversible(self) -> bool:
        return self.minexp < MIN_EXPONENT


REVERSIBLE = Parameters(minexp=MIN_EXPONENT - 1)


def fixed_rate(rate: float, dimensions: int, kind: str) -> Parameters:
    values = float(4**dimensions)
    if not 0 < rate <= MAX_BITS / values:
        raise MetadataError(
            f"codec {NAME!r}: rate must be above 0 and at most {MAX_BITS / values:g} for"
            f" {dimensions} dimensions, found {show(rate)}"
        )
    bits = max(floor(values * rate + 0.5), _HEAD[kind][0])
    return Parameters(bits, bits)


def fixed_precision(precision: int) -> Parameters:
    """Keep this many bits; 0 means all, as in libzfp."""
    return Parameters(maxprec=min(precision, MAX_PRECISION) or MAX_PRECISION)


def fixed_accuracy(tolerance: float) -> Parameters:
    if not 0 <= tolerance <= sys.float_info.max:
        raise MetadataError(
            f"codec {NAME!r}: tolerance must not be negative, found {show(tolerance)}"
        )
    # The largest power of two that is not above the tolerance.
    return Parameters(minexp=frexp(tolerance)[1] - 1) if tolerance else Parameters()


def check(found: Parameters, kind: str) -> Parameters:
    """The parameters, if libzfp stays within its buffers with them."""
    least = _HEAD[kind][found.reversible]
    if not found.minbits <= MAX_BITS or not max(found.minbits, least) <= found.maxbits:
        raise MetadataError(
            f"codec {NAME!r}: minbits {found.minbits} and maxbits {found.maxbits}; minbits can be"
            f" at most {MAX_BITS}, maxbits must be at least minbits and {least} for this data type"
        )
    if not 0 < found.maxprec <= MAX_PRECISION:
        raise MetadataError(
            f"codec {NAME!r}: maxprec must be between 1 and {MAX_PRECISION}, found {found.maxprec}"
        )
    return found._replace(maxbits=min(found.maxbits, MAX_BITS))


def blocks(shape: Shape) -> int:
    return prod(-(-length // 4) for length in shape)


def size_of(bits: int) -> int:
    """Bytes of so many bits; libzfp reads and writes words of 64."""
    return -(-bits // 64) * 8


def longest(shape: Shape, kind: str, found: Parameters) -> int:
    """No decoder reads, and no encoder writes, more bytes than this."""
    values = 4 ** len(shape)
    precision = min(found.maxprec, 8 * int(kind[1])) if not found.reversible else 8 * int(kind[1])
    # A bit plane is its bits, and at worst as many tests between them.
    block = _HEAD[kind][found.reversible] + 2 * values * (precision + 1)
    return size_of(blocks(shape) * max(found.minbits, min(found.maxbits, block))) + 64


def allowed(nbytes: int) -> int:
    """The longest stream that a chunk of so many bytes may have, in memory that is reserved.

    A block has 4 values along every dimension, however few of them the chunk has: a thin one of
    four dimensions can take a hundred times its bytes.
    """
    return min(limits.current.max_chunk_bytes, THIN * nbytes + limits.current.max_expansion)


def check_room(name: str, shape: Shape, nbytes: int, room: int) -> int:
    """`room`, the bytes of the longest stream; LimitError if it is out of proportion."""
    if room <= allowed(nbytes):
        return room
    raise LimitError(
        f"codec {name!r}: a stream for a chunk of shape {shape} ({nbytes} bytes) can take {room}"
        f" bytes, in blocks of 4 along every dimension; the limit is {allowed(nbytes)}"
        " (omnizarr.limits.set(max_chunk_bytes=…, max_expansion=…) raises it)"
    )


def empty(name: str, stage: ArrayStage) -> Step:
    """A chunk without elements, which libzfp does not take: no bytes."""

    def encode(array: NDArray) -> bytes:
        return b""

    def decode(data: Buffer) -> NDArray:
        if len(data):
            raise DecodeError(f"codec {name!r}: {len(data)} bytes for a chunk without elements")
        return np.empty(stage.shape, stage.dtype)

    return Step(BytesStage(0, 0), encode, decode)


class ZfpFunctions(NamedTuple):
    compress: Callable[[NDArray, Parameters], bytes]
    """Of a C-contiguous array of one of `TYPES`."""
    decompress: Callable[[NDArray, int, NDArray, Parameters], None]
    """From flat `uint8`, of which the first so many bytes are the stream and the rest is zero,
    into a C-contiguous array; ValueError if the stream is of another length."""


@cache
def zfp_functions() -> ZfpFunctions:
    module = library("zfpy", NAME)
    try:
        direct = _direct(ctypes.CDLL(module.__file__))
        probe = np.arange(4, dtype="i4")
        if direct.compress(probe, REVERSIBLE) == module.compress_numpy(probe, write_header=False):
            return direct
    except (OSError, AttributeError, TypeError, ValueError):
        pass  # not exported on this platform
    return _plain(module)


def _plain(module: Any) -> ZfpFunctions:
    """What zfpy's own functions can do."""

    def options(found: Parameters, dimensions: int) -> dict[str, float]:
        default = Parameters()
        if found == REVERSIBLE:
            return {}
        if found == default._replace(minbits=found.minbits, maxbits=found.minbits):
            return {"rate": found.minbits / 4**dimensions}
        if found == default._replace(maxprec=found.maxprec):
            return {"precision": found.maxprec}
        if found == default._replace(minexp=found.minexp):
            return {"tolerance": ldexp(1.0, found.minexp)}
        raise CodecError(
            f"codec {NAME!r}: {found} is an expert mode that zfpy's Python functions do not have,"
            " and its library cannot be called directly on this platform; use fixed_rate,"
            " fixed_precision, fixed_accuracy or reversible"
        )

    def compress(array: NDArray, found: Parameters) -> bytes:
        settings = options(found, array.ndim)
        return bytes(module.compress_numpy(array, write_header=False, **settings))

    def decompress(data: NDArray, length: int, out: NDArray, found: Parameters) -> None:
        settings = options(found, out.ndim)
        kind = TYPES[out.dtype.str[1:]]
        results = []
        for padding in (0, 255):  # bytes after the stream must not matter
            data[length : length + WINDOW] = padding
            results.append(module._decompress(data, kind, out.shape, **settings))
        if results[0].tobytes() != results[1].tobytes():
            raise ValueError(f"the stream of {length} bytes ends early")
        out[...] = results[0]

    return ZfpFunctions(compress, decompress)


def _direct(shared: ctypes.CDLL) -> ZfpFunctions:
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint

    def function(name: str, result: Any, *arguments: Any) -> Any:
        found = getattr(shared, name)
        found.restype, found.argtypes = result, arguments
        return found

    fields = [
        function(f"zfp_field_{n}d", pointer, pointer, ctypes.c_int, *[size] * n)
        for n in (1, 2, 3, 4)
    ]
    free_field = function("zfp_field_free", None, pointer)
    open_bits = function("stream_open", pointer, pointer, size)
    close_bits = function("stream_close", None, pointer)
    open_stream = function("zfp_stream_open", pointer, pointer)
    close_stream = function("zfp_stream_close", None, pointer)
    parameters = [number, number, number, ctypes.c_int]
    set_parameters = function("zfp_stream_set_params", ctypes.c_int, pointer, *parameters)
    room = function("zfp_stream_maximum_size", size, pointer, pointer)
    set_bits = function("zfp_stream_set_bit_stream", None, pointer, pointer)
    rewind = function("zfp_stream_rewind", None, pointer)
    encode = function("zfp_compress", size, pointer, pointer)
    decode = function("zfp_decompress", size, pointer, pointer)

    def run(
        array: NDArray, found: Parameters, data: NDArray | None, work: Any
    ) -> tuple[int, NDArray]:
        """Let libzfp work on an array and bytes; how many bytes it has passed."""
        lengths = array.shape[::-1]  # the fastest dimension comes first
        kind = TYPES[array.dtype.str[1:]]
        field = fields[array.ndim - 1](array.ctypes.data, kind, *lengths)
        stream = open_stream(None)
        bits = None
        try:
            if not field or not stream or not set_parameters(stream, *found):
                raise ValueError(f"libzfp does not take {found}")
            if data is None:
                data = np.zeros(room(stream, field), np.uint8)
            bits = open_bits(data.ctypes.data, data.size)
            set_bits(stream, bits)
            rewind(stream)
            passed: int = work(stream, field)
            if passed == 0:
                raise ValueError("libzfp reports a failure")
            return passed, data
        finally:
            if bits:
                close_bits(bits)
            if stream:
                close_stream(stream)
            if field:
                free_field(field)

    def compress(array: NDArray, found: Parameters) -> bytes:
        length, data = run(array, found, None, encode)
        return data[:length].tobytes()

    def decompress(data: NDArray, length: int, out: NDArray, found: Parameters) -> None:
        used, _ = run(out, found, data, decode)
        if used != size_of(8 * length):
            raise ValueError(f"the stream has {length} bytes, where decoding takes {used}")
        if length % 8:  # the rest of the last word must not matter; no other word was read
            data[length:used] = 255
            again = np.empty_like(out)
            if run(again, found, data, decode)[0] != used or again.tobytes() != out.tobytes():
                raise ValueError(f"the stream of {length} bytes ends early")

    return ZfpFunctions(compress, decompress)
