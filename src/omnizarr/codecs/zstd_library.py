"""libzstd as numcodecs brings it, with contexts that are kept.

numcodecs makes a new context for every call, which costs some 15 µs: more than decoding a small
chunk. Where the library inside numcodecs' extension module can be reached (its wheels for Linux
and macOS export it), one context per thread is kept and used through `ctypes`, which releases the
interpreter lock as numcodecs does. Everywhere else numcodecs' own functions serve.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from omnizarr.codecs.loader import library
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer


class ZstdFunctions(NamedTuple):
    compress: Callable[[Buffer, int, bool], Buffer]
    decompress_into: Callable[[Buffer, NDArray], int]
    """Decode into flat `uint8` of any size; how many bytes were put there."""
    decompress_stream: Callable[[Buffer], bytes]
    """Decode frames of undeclared size. Not bounded: the caller has done that."""


@cache
def zstd_functions() -> ZstdFunctions:
    module = library("numcodecs.zstd", "zstd")
    try:
        shared = ctypes.CDLL(module.__file__)
        if _is_mixed(shared):
            return _plain(module)
        direct = _direct(shared, module)
        probe = np.empty(5, np.uint8)
        packed = direct.compress(b"probe", 1, True)
        if direct.decompress_into(packed, probe) == 5 and probe.tobytes() == b"probe":
            return direct
    except (OSError, AttributeError, RuntimeError, TypeError):
        pass  # not exported on this platform
    return _plain(module)


def _is_mixed(shared: ctypes.CDLL) -> bool:
    """Whether the process had another libzstd for all when this one was loaded (netCDF-C loads one
    so): then the functions in here call those of the other one, which has other contexts."""
    try:
        first = ctypes.CDLL(None).ZSTD_freeCCtx
    except (AttributeError, TypeError):  # TypeError: there is no such thing on Windows
        return False
    return _address(first) != _address(shared.ZSTD_freeCCtx)


def _address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value


def _plain(module: Any) -> ZstdFunctions:
    from omnizarr.codecs.zstd import frame_sizes

    def decompress_into(data: Buffer, out: NDArray) -> int:
        declared = frame_sizes(data)[0]
        if declared == 0:
            return 0
        if declared is not None and declared > out.size:
            raise ValueError(f"{declared} bytes declared where {out.size} are expected")
        module.decompress(data, out)
        # A frame of undeclared size has to fill `out` exactly, or numcodecs raises.
        return out.size if declared is None else declared

    return ZstdFunctions(module.compress, decompress_into, module.decompress)


COPIED = 16 * 1024
_LEVEL, _CHECKSUM = 100, 201  # ZSTD_c_compressionLevel, ZSTD_c_checksumFlag


class _ZstdContext:
    """A context that is freed with the thread that owns it."""

    def __init__(self, pointer: int | None, free: Callable[[int], Any]) -> None:
        if not pointer:
            raise MemoryError("libzstd could not allocate a context")
        self.pointer = pointer
        self._free = free
        self.parameters: tuple[int, bool] | None = None

    def __del__(self) -> None:
        if hasattr(self, "_free"):
            self._free(self.pointer)


def _direct(shared: ctypes.CDLL, module: Any) -> ZstdFunctions:
    pointer, size = ctypes.c_void_p, ctypes.c_size_t

    def function(name: str, result: Any, *arguments: Any) -> Any:
        found = getattr(shared, name)
        found.restype, found.argtypes = result, arguments
        return found

    new_decoder = function("ZSTD_createDCtx", pointer)
    free_decoder = function("ZSTD_freeDCtx", size, pointer)
    decode = function("ZSTD_decompressDCtx", size, pointer, pointer, size, pointer, size)
    new_encoder = function("ZSTD_createCCtx", pointer)
    free_encoder = function("ZSTD_freeCCtx", size, pointer)
    set_parameter = function("ZSTD_CCtx_setParameter", size, pointer, ctypes.c_int, ctypes.c_int)
    encode = function("ZSTD_compress2", size, pointer, pointer, size, pointer, size)
    bound = function("ZSTD_compressBound", size, size)
    error_name = function("ZSTD_getErrorName", ctypes.c_char_p, size)
    # Error codes are the last few values of size_t; no buffer is that long.
    first_error = (1 << 8 * ctypes.sizeof(size)) - 1024
    local = threading.local()
    address = ctypes.addressof
    cell: Callable[[Any], Any] = ctypes.c_char.from_buffer

    def check(code: int) -> int:
        if code >= first_error:
            raise RuntimeError(error_name(code).decode())
        return code

    def compress(data: Buffer, level: int, checksum: bool) -> Buffer:
        try:
            context = local.encoder
        except AttributeError:
            context = local.encoder = _ZstdContext(new_encoder(), free_encoder)
        if context.parameters != (level, checksum):
            check(set_parameter(context.pointer, _LEVEL, level))
            check(set_parameter(context.pointer, _CHECKSUM, checksum))
            context.parameters = (level, checksum)
        source = np.frombuffer(data, np.uint8)
        out = np.empty(bound(source.size), np.uint8)
        length = encode(context.pointer, out.ctypes.data, out.size, source.ctypes.data, source.size)
        return out[: check(length)].tobytes()

    def decompress_into(data: Buffer, out: NDArray) -> int:
        try:
            context = local.decoder
        except AttributeError:
            context = local.decoder = _ZstdContext(new_decoder(), free_decoder)
        # `c_void_p` takes bytes directly. Getting the address of another buffer takes longer than
        # copying a small one.
        source: Any = data
        if type(data) is not bytes:
            small = len(data) <= COPIED
            source = bytes(data) if small else np.frombuffer(data, np.uint8).ctypes.data
        target = address(cell(out)) if out.size else None
        code: int = decode(context.pointer, target, out.size, source, len(data))
        return code if code < first_error else check(code)

    return ZstdFunctions(compress, decompress_into, module.decompress)
