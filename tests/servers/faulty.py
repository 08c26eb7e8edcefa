"""A web and S3 server that fails on purpose: each request is answered well or with one fault.

Which requests fail and how follows from a seed, the request itself and how often it was asked
before, not from the order in which threads come: a run can be repeated.

    with serve() as faulty:
        faulty.values["bucket/key"] = b"…"
        faulty.plan("short", rate=0.3, seed=1)

It speaks as much S3 as reading, writing (also conditionally), deleting and listing need. Nothing
is checked of signatures. It knows HTTP, and nothing of the library under test.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

STATUSES = {
    "400": 400, "401": 401, "403": 403, "429": 429, "500": 500, "502": 502, "503": 503, "504": 504,
}  # fmt: skip
READING = (
    *STATUSES,
    "reset",  # the connection is reset before the answer
    "broken",  # and in the middle of the body
    "short",  # the body ends before its Content-Length
    "lying length",  # Content-Length and body are shorter than Content-Range says
    "stall",  # no answer
    "drip",  # one byte after the other
    "wrong range",  # other bytes than those asked for, and it says so
    "200 for 206",  # all of the value
    "HTML",  # a page with status 200
    "redirect",  # to another origin
    "garbage",  # no HTTP at all
)
WRITING = (
    *STATUSES,
    "reset",
    "stall",
    "garbage",
    "lost before",  # the connection is reset, and nothing was written
    "lost acknowledgement",  # it was written, and the connection is reset
)
_RANGE = re.compile(r"bytes=(\d*)-(\d*)\Z")
_PAGE = b"<!DOCTYPE html><html><body><h1>Please log in</h1></body></html>"


class Faulty:
    """The server's state, which tests read and write while it runs."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        """By path, the bucket's name included."""
        self.metadata: dict[str, dict[str, str]] = {}
        """What was given with a value that was written, and comes back with it."""
        self.url = ""
        self.elsewhere = ""
        """Another origin, which must not be asked."""
        self.patience = 8.0
        """How long a stalled or dripping answer is held open."""
        self.faults: tuple[str, ...] = ()
        self.rate = 0.0
        self.seed = 0
        self.requests = 0
        self.injected: Counter[str] = Counter()
        self.visitors: list[str] = []
        """Requests to the other origin."""
        self.over = threading.Event()
        self._asked: Counter[str] = Counter()
        self._failed: set[str] = set()
        self.in_a_row = True
        self._guard = threading.Lock()

    def plan(self, *faults: str, rate: float, seed: int = 0, in_a_row: bool = True) -> None:
        """Let a share of the requests fail in these ways. Unless `in_a_row`, a request that is
        repeated fails no second time, so that a client that repeats it must succeed."""
        with self._guard:
            self.faults, self.rate, self.seed, self.in_a_row = faults, rate, seed, in_a_row
            self._asked.clear()
            self._failed.clear()

    def heal(self) -> None:
        self.plan(rate=0.0)

    def choose(self, method: str, path: str, part: str) -> str | None:
        with self._guard:
            self.requests += 1
            if not self.faults:
                return None
            name = f"{method} {path} {part}"
            self._asked[name] += 1
            chance = random.Random(f"{self.seed} {name} {self._asked[name]}")
            if chance.random() >= self.rate or (name in self._failed and not self.in_a_row):
                self._failed.discard(name)
                return None
            known = READING if method in ("GET", "HEAD") else WRITING
            possible = [fault for fault in self.faults if fault in known]
            if not possible:
                return None
            fault = chance.choice(possible)
            self.injected[fault] += 1
            self._failed.add(name)
            return fault

    def put(self, key: str, value: bytes, headers: Any) -> int:
        """The status of a conditional write."""
        with self._guard:
            before = self.values.get(key)
            if headers.get("If-None-Match") == "*" and before is not None:
                return 412
            expected = headers.get("If-Match")
            if expected is not None and (before is None or expected != etag(before)):
                return 412
            self.values[key] = value
            self.metadata[key] = {
                name: said
                for name, said in headers.items()
                if name.lower().startswith("x-amz-meta")
            }
            return 200


def etag(value: bytes) -> str:
    return f'"{hashlib.md5(value).hexdigest()}"'


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    faulty: Faulty

    def log_message(self, *_: Any) -> None:
        pass

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    # -- requests -----------------------------------------------------------------------------
    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        key = unquote(parts.path).lstrip("/")
        asked = self.headers.get("Range") or ""
        fault = self.faulty.choose(self.command, parts.path + "?" + parts.query, asked)
        if self._fails(fault):
            return
        query = parse_qs(parts.query, keep_blank_values=True)
        if "list-type" in query:
            self._answer(200, self._listing(key.strip("/"), query), kind="application/xml")
            return
        value = self.faulty.values.get(key)
        if value is None:
            self._error(404, "NoSuchKey")
            return
        if self.headers.get("If-Match") not in (None, "*", etag(value)):
            self._error(412, "PreconditionFailed")
            return
        self._value(key, value, asked, fault)

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        body = self._body()
        key = unquote(urlsplit(self.path).path).lstrip("/")
        fault = self.faulty.choose("PUT", self.path, "")
        if fault == "lost before" or self._fails(fault):
            self._reset() if fault == "lost before" else None
            return
        status = self.faulty.put(key, body, self.headers)
        if fault == "lost acknowledgement":
            self._reset()
        elif status == 200:
            self._answer(200, b"", {"ETag": etag(body)})
        else:
            self._error(status, "PreconditionFailed")

    def do_DELETE(self) -> None:
        key = unquote(urlsplit(self.path).path).lstrip("/")
        fault = self.faulty.choose("DELETE", self.path, "")
        if fault == "lost before" or self._fails(fault):
            self._reset() if fault == "lost before" else None
            return
        self.faulty.values.pop(key, None)
        if fault == "lost acknowledgement":
            self._reset()
        else:
            self._answer(204, b"")

    def do_POST(self) -> None:
        """Deletion of several objects, the only one of S3's that is needed."""
        body = self._body()
        fault = self.faulty.choose("POST", self.path, hashlib.md5(body).hexdigest())
        if fault == "lost before" or self._fails(fault):
            self._reset() if fault == "lost before" else None
            return
        parts = urlsplit(self.path)
        if "delete" not in parse_qs(parts.query, keep_blank_values=True):
            self._error(501, "NotImplemented")
            return
        bucket = unquote(parts.path).strip("/")
        for found in re.findall(r"<Key>(.*?)</Key>", body.decode()):
            self.faulty.values.pop(f"{bucket}/{_plain(found)}", None)
        if fault == "lost acknowledgement":
            self._reset()
        else:
            self._answer(200, b"<DeleteResult></DeleteResult>", kind="application/xml")

    def _body(self) -> bytes:
        if "chunked" in (self.headers.get("Transfer-Encoding") or ""):
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _listing(self, path: str, query: dict[str, list[str]]) -> bytes:
        bucket = path
        if not bucket:
            return b"<ListAllMyBucketsResult></ListAllMyBucketsResult>"
        prefix = query.get("prefix", [""])[0]
        delimiter = query.get("delimiter", [""])[0]
        most = int(query.get("max-keys", ["1000"])[0])
        after = query.get("continuation-token", [""])[0]
        found: dict[str, str] = {}
        for name, value in sorted(self.faulty.values.copy().items()):
            key = name.partition("/")[2]
            if not name.startswith(bucket + "/") or not key.startswith(prefix):
                continue
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            if cut >= 0:
                below = escape(key[: cut + 1])
                entry = f"<CommonPrefixes><Prefix>{below}</Prefix></CommonPrefixes>"
                found.setdefault(key[: cut + 1], entry)
            else:
                found[key] = (
                    f"<Contents><Key>{escape(key)}</Key><Size>{len(value)}</Size>"
                    f"<LastModified>2024-01-01T00:00:00.000Z</LastModified>"
                    f"<ETag>{escape(etag(value))}</ETag></Contents>"
                )
        names = sorted(name for name in found if name > after)
        page = names[:most]
        more = len(names) > most
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        return (
            '<?xml version="1.0" encoding="UTF-8"?>'
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{escape(bucket)}</Name><Prefix>{escape(prefix)}</Prefix>"
            f"<KeyCount>{len(page)}</KeyCount><MaxKeys>{most}</MaxKeys>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}"
            f"{''.join(found[name] for name in page)}</ListBucketResult>"
        ).encode()

    # -- answers ------------------------------------------------------------------------------
    def _value(self, key: str, value: bytes, asked: str, fault: str | None) -> None:
        headers = {"ETag": etag(value), "Last-Modified": formatdate(0, usegmt=True)}
        headers |= self.faulty.metadata.get(key, {})
        match = _RANGE.match(asked)
        if match is None or fault == "200 for 206":
            self._answer(200, value, headers, fault=fault)
            return
        if match[1]:
            start = int(match[1])
            stop = min(int(match[2]) + 1, len(value)) if match[2] else len(value)
        else:
            start, stop = max(len(value) - int(match[2]), 0), len(value)
        if start >= stop:
            self._answer(416, b"", {"Content-Range": f"bytes */{len(value)}"})
            return
        if fault == "wrong range":
            length = stop - start
            start = 0 if start else min(1, len(value) - 1)
            stop = min(start + length, len(value))
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(value)}"
        self._answer(206, value[start:stop], headers, fault=fault)

    def _answer(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        kind: str = "application/octet-stream",
        fault: str | None = None,
    ) -> None:
        said, sent = len(body), body
        if fault == "lying length":
            sent = body[: len(body) // 2]
            said = len(sent)
        elif fault in ("short", "broken"):
            sent = body[: len(body) // 2]
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        if status != 204:
            self.send_header("Content-Length", str(said))
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault == "drip":
            for index in range(len(sent)):
                self.wfile.write(sent[index : index + 1])
                if self.faulty.over.wait(self.faulty.patience / 40):
                    break
            self.close_connection = True
            return
        self.wfile.write(sent)
        if fault == "broken":
            self._reset()
        elif fault == "short":
            self.close_connection = True

    def _error(self, status: int, code: str, headers: dict[str, str] | None = None) -> None:
        body = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        self._answer(status, body, headers, kind="application/xml")

    def _fails(self, fault: str | None) -> bool:
        """Whether the fault takes the place of the answer."""
        if fault in STATUSES:
            later = {"Retry-After": "0"} if fault in ("429", "503") else {}
            self._error(STATUSES[fault], "Fault", later)
        elif fault == "reset":
            self._reset()
        elif fault == "stall":
            self.faulty.over.wait(self.faulty.patience)
            self._reset()
        elif fault == "HTML":
            self._answer(200, _PAGE, kind="text/html; charset=utf-8")
        elif fault == "redirect":
            self._error(302, "Elsewhere", {"Location": self.faulty.elsewhere + quote(self.path)})
        elif fault == "garbage":
            self.wfile.write(b"\x00\xff\x16 what is this?\r\n" * 3)
            self.close_connection = True
        else:
            return False
        return True

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
        self.close_connection = True


def _plain(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


class _Elsewhere(_Handler):
    """The other origin: who comes here was led away."""

    def do_GET(self) -> None:
        self.faulty.visitors.append(self.path)
        self._answer(200, b"\0" * 64)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, *_: Any) -> None:
        pass  # clients that hang up are what it is for


@contextmanager
def serve() -> Iterator[Faulty]:
    faulty = Faulty()
    handlers = [type("Bound", (kind,), {"faulty": faulty}) for kind in (_Handler, _Elsewhere)]
    servers = [_Server(("127.0.0.1", 0), handler) for handler in handlers]
    faulty.url, faulty.elsewhere = (f"http://127.0.0.1:{one.server_port}" for one in servers)
    threads = [threading.Thread(target=one.serve_forever, daemon=True) for one in servers]
    try:
        for thread in threads:
            thread.start()
        yield faulty
    finally:
        faulty.over.set()
        for one in servers:
            one.shutdown()
            one.server_close()
