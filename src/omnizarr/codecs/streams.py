"""Bounded decompression with the stream objects of the standard library.

`zlib`, `bz2` and `lzma` all offer an object with `decompress(data, max_length)`, `eof` and
`unused_data`. Asking for one byte more than may come tells an honest stream from a bomb after at
most that many bytes. Further streams behind the first (gzip members, xz streams) are fed in small
windows, because `unused_data` copies what is left and would make many tiny members quadratic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from omnizarr.codecs.base import BytesStage, check_size
from omnizarr.errors import DecodeError
from omnizarr.model.store import Buffer

WINDOW = 1 << 16


class Stream(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: Buffer, max_length: int, /) -> bytes: ...


def decompress(
    name: str,
    new: Callable[[], Stream],
    failures: tuple[type[Exception], ...],
    data: Buffer,
    stage: BytesStage,
    *,
    several: bool = False,
    endless: bool = False,
) -> bytes:
    """All bytes of one stream, or of `several` in a row, never more than the stage allows.

    `endless` streams have no end mark; the promised size is their end. Zero bytes between and
    after several streams are padding.
    """
    size = stage.size
    most = stage.limit if size is None else size
    try:
        stream = new()
        result = stream.decompress(data, most + 1)
        if stream.eof:
            if stream.unused_data:
                if not several or not stream.unused_data.strip(b"\0"):
                    rest = 0 if several else len(stream.unused_data)
                    _refuse_rest(name, rest)
                else:
                    start = memoryview(data).nbytes - len(stream.unused_data)
                    result = _further(name, new, memoryview(data)[start:], result, most)
        elif len(result) <= most and not (endless and len(result) == size):
            raise DecodeError(
                f"codec {name!r}: the stream ends early: {len(result)} bytes decoded of"
                f" {memoryview(data).nbytes} stored ones"
                + ("" if size is None else f", expected {size}")
            )
    except failures as error:
        raise DecodeError(f"codec {name!r}: corrupt stream: {error}") from error
    if len(result) != size:
        check_size(name, stage, len(result))
    return result


def _refuse_rest(name: str, rest: int) -> None:
    if rest:
        raise DecodeError(f"codec {name!r}: {rest} bytes follow the end of the stream")


def _further(
    name: str, new: Callable[[], Stream], data: memoryview, first: bytes, most: int
) -> bytes:
    pieces = [first]
    total = len(first)
    position, stream = 0, new()
    started = False
    while position < len(data) and total <= most:
        window = data[position : position + WINDOW]
        if not started:
            # Padding occurs between streams only.
            skipped = len(window) - len(bytes(window).lstrip(b"\0"))
            position += skipped
            if skipped == len(window):
                continue
            window = data[position : position + WINDOW]
        started = True
        piece = stream.decompress(window, most - total + 1)
        pieces.append(piece)
        total += len(piece)
        position += len(window)
        if stream.eof:
            position -= len(stream.unused_data)
            stream, started = new(), False
    if started and total <= most:
        raise DecodeError(f"codec {name!r}: the last of several streams ends early")
    return b"".join(pieces)
