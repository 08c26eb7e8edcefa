"""Bounded decompression with the stream objects of the standard library.

`zlib`, `bz2` and `lzma` all offer an object with `decompress(data, max_length)`, `eof` and
`unused_data`. Asking for one byte more than may come tells an honest stream from a bomb after at
most that many bytes. Further streams behind the first (gzip members, xz streams) are fed in small
windows, because `unused_data` copies what is left and would make many tiny members quadratic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from omnizarr.codecs.base import BytesStage, Step, check_size, compressed
from omnizarr.errors import DecodeError
from omnizarr.model.store import Buffer

WINDOW = 1 << 16


class Stream(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: Buffer, max_length: int, /) -> bytes: ...


def stream_step(
    name: str,
    stage: BytesStage,
    compress: Callable[[Buffer], bytes],
    new: Callable[[], Stream],
    failures: tuple[type[Exception], ...],
    *,
    several: bool = False,
    endless: bool = False,
    block: tuple[Any, ...] | None = None,
) -> Step:
    """A step whose bytes are one stream, or `several` in a row with zero bytes as padding.

    `new` makes a decompressor. Streams that are `endless` have no end mark; the promised size is
    their end. No more bytes are decoded than the stage allows. `block` is that of the step.
    """
    size = stage.size
    most = stage.limit if size is None else size

    def decode(data: Buffer) -> bytes:
        view = memoryview(data)
        try:
            stream = new()
            result = stream.decompress(data, most + 1)
            rest = stream.unused_data
            if not stream.eof:
                if len(result) <= most and not (endless and len(result) == size):
                    raise DecodeError(
                        f"codec {name!r}: the stream ends early: {len(result)} bytes decoded of"
                        f" {view.nbytes} stored ones"
                        + ("" if size is None else f", expected {size}")
                    )
            elif rest and not several:
                raise DecodeError(f"codec {name!r}: {len(rest)} bytes follow the end of the stream")
            elif rest.strip(b"\0"):
                result = _further(name, new, view[view.nbytes - len(rest) :], result, most)
        except failures as error:
            raise DecodeError(f"codec {name!r}: corrupt stream: {error}") from error
        if len(result) != size:
            check_size(name, stage, len(result))
        return result

    return Step(compressed(stage), compress, decode, block=block)


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
