"""From a value and a request to an answer: conditions, ranges, compressed documents.

This module knows HTTP. It must not know stores beyond `values.Value`.
"""

from __future__ import annotations

import gzip
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from omnizarr.server import ranges
from omnizarr.server.requests import Request, RequestError
from omnizarr.server.values import Buffer, Value

BLOCK = 256 * 1024
"""What is read and sent at a time."""
_LEAST_GZIP = 256
_MOST_GZIP = 16 << 20
_JSON_NAMES = frozenset({".zarray", ".zgroup", ".zattrs", ".zmetadata", "meta", "attrs"})


class Piece(NamedTuple):
    """A part of an answer's body: text, then bytes of the value."""

    text: bytes
    span: ranges.Span


@dataclass
class Answer:
    """What is sent. The body is `body`, or else `pieces` of the value."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: Buffer = b""
    pieces: tuple[Piece, ...] = ()

    @property
    def length(self) -> int:
        if self.pieces:
            return sum(len(piece.text) + piece.span.length for piece in self.pieces)
        return len(self.body)

    def blocks(self, value: Value) -> Iterator[Buffer]:
        """The body, some at a time."""
        for text, (start, stop) in self.pieces:
            if text:
                yield text
            for begin in range(start, stop, BLOCK):
                yield value.part(begin, min(begin + BLOCK, stop))


def is_document(key: str) -> bool:
    """Whether a key is called like a document in JSON."""
    name = key.rpartition("/")[2]
    return name in _JSON_NAMES or name.endswith(".json")


def answer(request: Request, key: str, value: Value) -> Answer:
    """The answer to a request for a value."""
    etag = value.etag
    headers = {
        "accept-ranges": "bytes",
        "cache-control": "no-cache",  # which lets it be kept, and asked for with its ETag
        "content-type": "application/json" if is_document(key) else "application/octet-stream",
    }
    packed = None
    if is_document(key):
        headers["vary"] = "accept-encoding"
        fits = _LEAST_GZIP <= value.size <= _MOST_GZIP
        if fits and request.takes_gzip and "range" not in request.headers:
            packed = gzip.compress(value.part(0, value.size), 6, mtime=0)
            headers["content-encoding"] = "gzip"
            etag = None if etag is None else f'{etag[:-1]}-gzip"'
    if etag is not None:
        headers["etag"] = etag
    if request.fails_match(etag):
        raise RequestError(412, "the value has another ETag", **_etag(etag))
    if request.has_already(etag):
        kept = ("etag", "vary", "cache-control")
        return Answer(304, {name: headers[name] for name in kept if name in headers})
    if packed is not None:
        return Answer(200, headers, packed)
    header = request.range_for(etag)
    spans = None if header is None else _spans(header, value.size)
    if spans is None:
        return Answer(200, headers, pieces=(Piece(b"", ranges.Span(0, value.size)),))
    if len(spans) == 1:
        headers["content-range"] = _content_range(spans[0], value.size)
        return Answer(206, headers, pieces=(Piece(b"", spans[0]),))
    return _multipart(headers, spans, value.size)


def _spans(header: str, size: int) -> list[ranges.Span] | None:
    try:
        return ranges.parse(header, size)
    except ranges.MalformedRangeError as error:
        raise RequestError(400, f"malformed Range: {error}") from error
    except ranges.UnsatisfiableRangeError as error:
        raise RequestError(416, str(error), content_range=f"bytes */{size}") from error


def _multipart(headers: dict[str, str], spans: list[ranges.Span], size: int) -> Answer:
    boundary = secrets.token_hex(16)
    kind = headers["content-type"]
    pieces = [
        Piece(
            (
                f"\r\n--{boundary}\r\ncontent-type: {kind}\r\n"
                f"content-range: {_content_range(span, size)}\r\n\r\n"
            ).encode(),
            span,
        )
        for span in spans
    ]
    pieces.append(Piece(f"\r\n--{boundary}--\r\n".encode(), ranges.Span(0, 0)))
    headers["content-type"] = f"multipart/byteranges; boundary={boundary}"
    return Answer(206, headers, pieces=tuple(pieces))


def _content_range(span: ranges.Span, size: int) -> str:
    return f"bytes {span.start}-{span.stop - 1}/{size}"


def _etag(etag: str | None) -> dict[str, str]:
    return {} if etag is None else {"etag": etag}


def refusal(error: RequestError, key: str | None = None) -> Answer:
    """The answer that says what was wrong."""
    facts: dict[str, object] = {"status": error.status, "error": error.error}
    if key is not None:
        facts["key"] = key
    headers = {"content-type": "application/json", "cache-control": "no-store", **error.headers}
    body = json.dumps(facts, ensure_ascii=True).encode()
    return Answer(error.status, headers, body)
