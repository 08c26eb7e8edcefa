"""Bodies in chunks (RFC 9112, 7.1), read strictly and in bounded pieces.

`http.client` and urllib3 take every size that `int` reads. With a size of -1 they read until the
server stops sending. Here a size that is no plain hexadecimal number is an error.

This module knows the chunked coding. It must not know sockets.
"""

from __future__ import annotations

import io
import re
from typing import BinaryIO

from omnizarr.errors import StoreError

MOST_LINE = 8 * 1024
MOST_TRAILERS = 128
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n\Z")


class Broken(Exception):
    """The connection gave less than was promised; another attempt may do better."""


class Chunked(io.BufferedIOBase):
    """The body that `file` holds in chunks. It does not read beyond the end of the body."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = 0
        """Bytes of the chunk that were not read yet."""
        self._begun = False
        self._ended = False

    def read(self, most: int | None = -1, /) -> bytes:
        """The next bytes, `most` of them unless the body ends before; b"" after its end."""
        if most is None or most < 0:
            raise ValueError("a body is read in pieces of a given size")
        found = bytearray()
        while len(found) < most and not self._ended:
            if not self._left:
                self._next()
                continue
            data = self._file.read(min(self._left, most - len(found)))
            if not data:
                raise Broken("the body broke off within a chunk")
            self._left -= len(data)
            found += data
        return bytes(found)

    def _next(self) -> None:
        if self._begun and self._line() not in (b"\r\n", b"\n"):
            raise StoreError("the server sends a chunk of another length than it says")
        line = self._line()
        size = _SIZE.match(line)
        if size is None:
            raise StoreError(f"the server sends a chunk of the size {line[:40]!r}, which is none")
        self._begun = True
        self._left = int(size[1], 16)
        if self._left:
            return
        for _ in range(MOST_TRAILERS):
            if self._line() in (b"\r\n", b"\n"):
                self._ended = True
                return
        raise StoreError(f"the server sends more than {MOST_TRAILERS} lines after the last chunk")

    def _line(self) -> bytes:
        line = self._file.readline(MOST_LINE + 1)
        if len(line) > MOST_LINE:
            raise StoreError(f"the server sends a line of more than {MOST_LINE} bytes in a body")
        if not line.endswith(b"\n"):
            raise Broken("the body broke off between chunks")
        return line

    def close(self) -> None:
        self._file.close()
        super().close()
