"""The content of a ZIP member: stored as it is, or compressed with one of four methods.

A compressed member is inflated piece by piece, so that what it grows to is bounded by what is
asked for and by what the directory declares, whatever the compressed bytes would yield. A whole
read checks the declared size and the checksum; a partial read of a stored member reads those
bytes only and cannot check.

This module knows compression methods. It must not know keys or files.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

from omnizarr import limits
from omnizarr.errors import LimitError, StoreError
from omnizarr.model.store import Buffer
from omnizarr.stores.zip.records import ENCRYPTED, Member, ReadAt

STORED, DEFLATED, BZIP2, LZMA = 0, 8, 12, 14
METHODS = {STORED: "stored", DEFLATED: "deflated", BZIP2: "bzip2", LZMA: "lzma"}

_PIECE = 1 << 20
_USUAL_RATIO = 16  # a compressed member may grow this much beyond `limits.max_expansion`


def read_content(
    read: ReadAt, entry: Member, begin: int, start: int = 0, stop: int | None = None
) -> Buffer:
    """Bytes `start` to `stop` of a member whose data begin at `begin`."""
    _check_method(entry)
    stop = entry.size if stop is None else stop
    whole = start == 0 and stop == entry.size
    if entry.method == STORED:
        data = _read_stored(read, entry, begin, start, stop)
    else:
        data = _inflate(read, entry, begin, start, stop)
    if whole and zlib.crc32(data) != entry.crc:
        raise StoreError(
            f"the member's checksum is {zlib.crc32(data):08x}, the directory says {entry.crc:08x}:"
            " it was changed after writing"
        )
    return data


def _check_method(entry: Member) -> None:
    if entry.flags & ENCRYPTED:
        raise StoreError("the member is encrypted, which is not supported")
    if entry.method not in METHODS:
        known = ", ".join(f"{number} ({name})" for number, name in METHODS.items())
        raise StoreError(f"the member has compression method {entry.method}; known are {known}")


def inflated(read: ReadAt, entry: Member, begin: int) -> Iterator[Buffer]:
    """The content of a member from begin to end, in pieces of bounded size, and no more of it than
    the directory declares. Whoever takes them all compares the checksum."""
    _check_method(entry)
    if entry.method == STORED:
        if entry.compressed != entry.size:
            raise _sizes_differ(entry)
        pieces: Iterator[Buffer] = (
            read(begin + at, min(_PIECE, entry.size - at)) for at in range(0, entry.size, _PIECE)
        )
    else:
        pieces = _pieces(read, entry, begin)
    seen = 0
    try:
        for piece in pieces:
            seen += len(piece)
            if seen > entry.size:
                raise _too_much(entry)
            yield piece
    except StoreError:
        raise
    except Exception as error:  # each decompressor has errors of its own
        raise StoreError(f"the member cannot be inflated: {error}") from error


def _sizes_differ(entry: Member) -> StoreError:
    return StoreError(
        f"the member is stored in {entry.compressed} bytes, but is said to have {entry.size}"
    )


def _too_much(entry: Member) -> StoreError:
    return StoreError(f"the member inflates to more than the {entry.size} bytes declared")


def _read_stored(read: ReadAt, entry: Member, begin: int, start: int, stop: int) -> Buffer:
    if entry.compressed != entry.size:
        raise _sizes_differ(entry)
    if stop - start > limits.current.max_chunk_bytes:
        raise _too_large(stop - start, limits.current.max_chunk_bytes, "max_chunk_bytes")
    data = read(begin + start, stop - start)
    if len(data) != stop - start:
        raise StoreError(f"the member is cut off: {len(data)} of {stop - start} bytes are there")
    return data


def _inflate(read: ReadAt, entry: Member, begin: int, start: int, stop: int) -> Buffer:
    expected = max(limits.current.max_expansion, _USUAL_RATIO * entry.compressed)
    cap = min(expected, limits.current.max_chunk_bytes)
    if stop - start > cap:
        raise _too_large(stop - start, cap, "max_expansion")
    wanted = bytearray()
    seen = 0
    try:
        for piece in _pieces(read, entry, begin):
            if seen < stop and seen + len(piece) > start:
                wanted += memoryview(piece)[max(start - seen, 0) : stop - seen]
            seen += len(piece)
            if seen > entry.size:
                raise _too_much(entry)
            if seen >= stop and stop < entry.size:
                return wanted
    except StoreError:
        raise
    except Exception as error:  # each decompressor has errors of its own
        raise StoreError(f"the member cannot be inflated: {error}") from error
    if seen != entry.size:
        raise StoreError(f"the member inflates to {seen} bytes, {entry.size} were declared")
    return wanted


def _pieces(read: ReadAt, entry: Member, begin: int) -> Iterator[bytes]:
    """The inflated bytes in pieces of bounded size, until the stream ends or the input does."""
    at, end = begin, begin + entry.compressed
    if entry.method == LZMA:
        head = bytes(read(at, min(4, entry.compressed)))
        at += 4 + struct.unpack("<2H", head)[1]
        machine = _lzma_machine(bytes(read(begin + 4, min(at, end) - begin - 4)), entry.size)
    else:
        machine = _machine(entry.method)
    waiting = b""
    while not machine.eof:
        if not waiting and getattr(machine, "needs_input", True) and at < end:
            waiting = bytes(read(at, min(_PIECE, end - at)))
            if not waiting:
                return
            at += len(waiting)
        piece = machine.decompress(waiting, _PIECE)
        waiting = getattr(machine, "unconsumed_tail", b"")
        if piece:
            yield piece
        elif at >= end and not waiting:
            return


def _machine(method: int) -> Any:
    if method == DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS)
    import bz2

    return bz2.BZ2Decompressor()


def _lzma_machine(properties: bytes, size: int) -> Any:
    import lzma

    packed, dictionary = struct.unpack("<BL", properties)
    packed, lc = divmod(packed, 9)
    pb, lp = divmod(packed, 5)
    # A dictionary larger than the content is never looked at; it would only be allocated.
    wanted = max(min(dictionary, size), 4096)
    chosen = {"id": lzma.FILTER_LZMA1, "dict_size": wanted, "lc": lc, "lp": lp, "pb": pb}
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[chosen])


def compress(data: Buffer, method: int) -> Buffer:
    """The content of a new member."""
    if method == STORED:
        return data
    if method == DEFLATED:
        machine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        return machine.compress(data) + machine.flush()
    if method == BZIP2:
        import bz2

        return bz2.compress(data)
    import lzma

    lc, lp, pb, dictionary = 3, 0, 2, 1 << 23
    chosen = {"id": lzma.FILTER_LZMA1, "dict_size": dictionary, "lc": lc, "lp": lp, "pb": pb}
    head = struct.pack("<2BHBL", 9, 4, 5, (pb * 5 + lp) * 9 + lc, dictionary)
    return head + lzma.compress(data, lzma.FORMAT_RAW, filters=[chosen])


def _too_large(found: int, cap: int, name: str) -> LimitError:
    return LimitError(
        f"the member would give {found} bytes at once; the cap is {cap} (limits.set({name}=...))"
    )
