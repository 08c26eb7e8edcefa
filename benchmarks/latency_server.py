"""A web server that lets one wait: objects in memory, answered after a fixed delay, and counted.

    python benchmarks/latency_server.py --folder data --latency 50

It speaks what a client of S3 or of plain HTTP needs to read and write objects: GET with ranges,
HEAD, PUT and DELETE with conditions, ListObjectsV2. Nothing is verified: every signature is good.
Values live in memory and parsing is done by hand, so that the server is not what is measured:
`--speed` says how many requests it answers in a second.

Requests under `/-/` are neither delayed nor counted: `/-/counts` gives the requests since
the last `/-/reset`, `/-/latency?50` sets the delay in milliseconds, `/-/forget?prefix` removes
objects.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, quote, unquote
from xml.sax.saxutils import escape

try:
    import uvloop
except ImportError:
    uvloop = None  # the standard loop serves as well, at half the speed

HOST = "127.0.0.1"
REASONS = {
    200: b"OK",
    204: b"No Content",
    206: b"Partial Content",
    304: b"Not Modified",
    400: b"Bad Request",
    404: b"Not Found",
    412: b"Precondition Failed",
    416: b"Range Not Satisfiable",
    501: b"Not Implemented",
}
PAGE = 1000
"""How many keys one listing shows, as in S3."""
Headers = dict[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Stored:
    value: bytes
    etag: bytes
    head: bytes
    """The lines that every answer about this object has."""


def stored(value: bytes) -> Stored:
    etag = f'"{blake2b(value, digest_size=16).hexdigest()}"'.encode()
    # As if it were an hour old, as most data are. Clients must not trust the ETag of a value that
    # has just changed, and ask more often.
    changed = date(int(time.time()) - 3600)
    return Stored(value, etag, b"ETag: %b\r\nLast-Modified: %b\r\n" % (etag, changed))


@lru_cache(maxsize=1)
def date(seconds: int) -> bytes:
    """What every server says of the time; clients compare it with `Last-Modified`."""
    return formatdate(seconds, usegmt=True).encode()


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes | memoryview = b""
    head: bytes = b""
    length: int | None = None
    """What Content-Length says, where it is not the length of the body (HEAD)."""


class Objects:
    """What is served, and how often it was asked for."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.values: dict[str, Stored] = {}
        self.counts: Counter[str] = Counter()
        self.bytes = 0

    def load(self, folder: Path) -> None:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.values[file.relative_to(folder).as_posix()] = stored(file.read_bytes())

    def answer(self, method: bytes, target: bytes, headers: Headers, body: bytes) -> Answer:
        place, _, query = target.decode("ascii", "replace").partition("?")
        key = unquote(place.lstrip("/"))
        if "list-type=2" in query:
            self.counts["LIST"] += 1
            return self.listing(key.strip("/"), dict(parse_qsl(query, keep_blank_values=True)))
        self.counts[method.decode("ascii", "replace")] += 1
        if method in (b"GET", b"HEAD"):
            return self.read(key, headers, method == b"HEAD")
        if method == b"PUT":
            return self.write(key, headers, body)
        if method == b"DELETE":
            self.values.pop(key, None)
            return Answer(204)
        return Answer(501)

    def read(self, key: str, headers: Headers, only_head: bool) -> Answer:
        found = self.values.get(key)
        if found is None:
            return Answer(404, b"<Error><Code>NoSuchKey</Code></Error>" if not only_head else b"")
        if headers.get(b"if-match", found.etag) != found.etag:
            return Answer(412, head=found.head)
        if headers.get(b"if-none-match") == found.etag:
            return Answer(304, head=found.head)
        size = len(found.value)
        wanted = headers.get(b"range")
        if only_head:
            return Answer(200, head=found.head + b"Accept-Ranges: bytes\r\n", length=size)
        if wanted is None:
            self.bytes += size
            return Answer(200, found.value, found.head)
        first, _, last = wanted.partition(b"=")[2].partition(b"-")
        start = int(first) if first else max(size - int(last), 0)
        stop = min(int(last) + 1, size) if first and last else size
        if start >= stop:
            return Answer(416, head=b"Content-Range: bytes */%d\r\n" % size)
        self.bytes += stop - start
        line = b"Content-Range: bytes %d-%d/%d\r\n" % (start, stop - 1, size)
        return Answer(206, memoryview(found.value)[start:stop], found.head + line)

    def write(self, key: str, headers: Headers, body: bytes) -> Answer:
        before = self.values.get(key)
        wanted = headers.get(b"if-match")
        if wanted is not None and (before is None or before.etag != wanted):
            return Answer(412)
        if headers.get(b"if-none-match") == b"*" and before is not None:
            return Answer(412)
        made = self.values[key] = stored(body)
        return Answer(200, head=made.head)

    def listing(self, bucket: str, query: dict[str, str]) -> Answer:
        begin, delimiter = f"{bucket}/{query.get('prefix', '')}", query.get("delimiter", "")
        after = query.get("continuation-token") or query.get("start-after", "")
        keys: list[str] = []
        prefixes: dict[str, None] = {}
        last = truncated = ""
        for key in sorted(self.values):
            name = key[len(bucket) + 1 :]
            if not key.startswith(begin) or name <= after or (after and name.startswith(after)):
                continue
            if len(keys) + len(prefixes) >= PAGE:
                truncated = last
                break
            cut = name.find(delimiter, len(begin) - len(bucket) - 1) if delimiter else -1
            if cut >= 0:
                last = name[: cut + len(delimiter)]
                prefixes[last] = None
            else:
                last = name
                keys.append(name)
        parts = ['<?xml version="1.0" encoding="UTF-8"?><ListBucketResult>']
        parts.append(f"<Name>{escape(bucket)}</Name><KeyCount>{len(keys)}</KeyCount>")
        parts.append(f"<IsTruncated>{'true' if truncated else 'false'}</IsTruncated>")
        if truncated:
            parts.append(f"<NextContinuationToken>{escape(truncated)}</NextContinuationToken>")
        for name in keys:
            found = self.values[f"{bucket}/{name}"]
            parts.append(
                f"<Contents><Key>{escape(name)}</Key><Size>{len(found.value)}</Size>"
                f"<ETag>{escape(found.etag.decode())}</ETag>"
                "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            )
        parts += [
            f"<CommonPrefixes><Prefix>{escape(prefix)}</Prefix></CommonPrefixes>"
            for prefix in prefixes
        ]
        return Answer(200, "".join([*parts, "</ListBucketResult>"]).encode())

    def control(self, target: bytes) -> Answer:
        command, _, argument = target.decode()[3:].partition("?")
        if command == "reset":
            self.counts.clear()
            self.bytes = 0
        elif command == "latency":
            self.latency = float(argument) / 1000
        elif command == "forget":
            for key in [key for key in self.values if key.startswith(unquote(argument))]:
                del self.values[key]
        return Answer(200, json.dumps({**self.counts, "bytes": self.bytes}).encode())


class Connection(asyncio.Protocol):
    """One connection: requests are read by hand, one at a time."""

    def __init__(self, objects: Objects, loop: asyncio.AbstractEventLoop) -> None:
        self.objects = objects
        self.loop = loop
        self.pending = bytearray()
        self.transport: Any = None
        self.promised = False
        """Whether "100 Continue" was said for the request that is being read."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.pending += data
        while (end := self.pending.find(b"\r\n\r\n")) >= 0:
            lines = bytes(self.pending[:end]).split(b"\r\n")
            headers: Headers = {}
            for line in lines[1:]:
                name, _, value = line.partition(b":")
                headers[name.lower()] = value.strip()
            length = int(headers.get(b"content-length", 0))
            if len(self.pending) < end + 4 + length:
                if b"expect" in headers and not self.promised:
                    self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                    self.promised = True
                return
            body = bytes(self.pending[end + 4 : end + 4 + length])
            del self.pending[: end + 4 + length]
            self.promised = False
            method, target, _ = lines[0].split(b" ", 2)
            if target.startswith(b"/-/"):
                self.send(self.objects.control(target))
            elif self.objects.latency:
                # What is asked for is looked up when the answer is due, as far away it would be.
                request = method, target, headers, body
                self.loop.call_later(self.objects.latency, self.reply, request)
            else:
                self.reply((method, target, headers, body))

    def reply(self, request: tuple[bytes, bytes, Headers, bytes]) -> None:
        self.send(self.objects.answer(*request))

    def send(self, answer: Answer) -> None:
        if self.transport.is_closing():
            return
        length = len(answer.body) if answer.length is None else answer.length
        lengths = b"" if answer.status in (204, 304) else b"Content-Length: %d\r\n" % length
        head = b"HTTP/1.1 %d %b\r\nDate: %b\r\n%b%b\r\n" % (
            answer.status,
            REASONS[answer.status],
            date(int(time.time())),
            lengths,
            answer.head,
        )
        if answer.body:
            self.transport.writelines([head, answer.body])
        else:
            self.transport.write(head)


async def serve(objects: Objects, port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(objects, loop), HOST, port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# -- for those who use it ----------------------------------------------------------------------


class Server:
    """A server in a process of its own, which ends with the `with` block."""

    def __init__(self, folder: Path | None = None, latency: float = 0) -> None:
        command = [sys.executable, str(Path(__file__).resolve()), "--latency", str(latency)]
        command += ["--attached"] + ([] if folder is None else ["--folder", str(folder)])
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.url = f"http://{HOST}:{self.port}"

    def control(self, command: str) -> dict[str, int]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        try:
            connection.request("GET", f"/-/{command}")
            counts: dict[str, int] = json.loads(connection.getresponse().read())
            return counts
        finally:
            connection.close()

    def latency(self, milliseconds: float) -> None:
        self.control(f"latency?{milliseconds}")

    def forget(self, prefix: str) -> None:
        self.control(f"forget?{quote(prefix)}")

    @contextmanager
    def counting(self) -> Iterator[Counter[str]]:
        """What was asked for in the block, by method."""
        counts: Counter[str] = Counter()
        self.control("reset")
        yield counts
        counts.update(self.control("counts"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()


def speed(seconds: float = 2.0, connections: int = 32) -> float:
    """Requests per second for a value of 10,000 bytes, without delay."""

    async def client(deadline: float, port: int) -> int:
        reader, writer = await asyncio.open_connection(HOST, port)
        count = 0
        while time.perf_counter() < deadline:
            writer.write(b"GET /bucket/key HTTP/1.1\r\nHost: x\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(10_000)
            assert head.startswith(b"HTTP/1.1 200")
            count += 1
        writer.close()
        return count

    async def all_clients(port: int) -> int:
        deadline = time.perf_counter() + seconds
        return sum(await asyncio.gather(*(client(deadline, port) for _ in range(connections))))

    with Server() as server:
        put = http.client.HTTPConnection(HOST, server.port, timeout=60)
        put.request("PUT", "/bucket/key", b"x" * 10_000)
        put.getresponse().read()
        put.close()
        return asyncio.run(all_clients(server.port)) / seconds


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="default: any free one; printed")
    parser.add_argument("--folder", type=Path, help="load these files")
    parser.add_argument("--latency", type=float, default=0, help="milliseconds before each answer")
    parser.add_argument("--attached", action="store_true", help="end when the standard input does")
    parser.add_argument("--speed", action="store_true", help="measure the server itself")
    arguments = parser.parse_args()
    if arguments.speed:
        print(f"{speed():,.0f} requests/s, asked by a client that is no faster")
        return
    if arguments.attached:
        threading.Thread(target=_end_with_input, daemon=True).start()
    objects = Objects(arguments.latency / 1000)
    if arguments.folder is not None:
        objects.load(arguments.folder)
    run = asyncio.run if uvloop is None else uvloop.run
    run(serve(objects, arguments.port))


if __name__ == "__main__":
    main()
