"""The writing half of Google's XML interface, before an emulator that has only the reading one.

obstore speaks the XML interface. The emulator (fake-gcs-server) keeps objects, generations and
conditions, and answers GET, HEAD, DELETE and listings of that interface, but writes are taken only
by the JSON one. This process passes everything on as it is, except for

    PUT /bucket/object                      an upload, with x-goog-if-generation-match
    PUT with x-goog-copy-source             a copy
    POST ?uploads, PUT ?uploadId, POST ?uploadId      an upload in parts

which it says in the words of the JSON interface. Run as `python gcs_gateway.py PORT UPSTREAM_PORT`.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
from urllib.parse import parse_qs, quote, unquote

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_parts: dict[str, dict[int, bytes]] = {}


class Message:
    """A request or an answer: first line, headers, body."""

    def __init__(self, head: bytes, body: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        self.first = lines[0]
        self.headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
        self.headers = {name.lower(): value for name, value in self.headers.items()}
        self.raw = head + body
        self.body = body


async def receive(reader: asyncio.StreamReader, *, bodiless: bool = False) -> Message | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    found = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    body = b""
    if not bodiless and found:
        body = await reader.readexactly(int(found[1]))
    elif not bodiless and b"chunked" in head.lower():
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readexactly(2)
        head = re.sub(rb"(?i)\r\ntransfer-encoding: [^\r]*", b"", head)
        head = head[:-2] + b"content-length: %d\r\n\r\n" % len(body)
    return Message(head, body)


async def exchange(upstream: Stream, raw: bytes, *, bodiless: bool = False) -> Message:
    reader, writer = upstream
    writer.write(raw)
    await writer.drain()
    answer = await receive(reader, bodiless=bodiless)
    assert answer is not None, "the emulator closed the connection"
    return answer


def request(method: str, target: str, headers: dict[str, str], body: bytes) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {v}" for name, v in headers.items())]
    return "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode("latin-1") + body


def answer(status: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode("latin-1") + body


async def write(upstream: Stream, asked: Message, path: str, query: dict[str, list[str]]) -> bytes:
    bucket, _, name = path.lstrip("/").partition("/")
    name = unquote(name)
    headers = {"host": asked.headers["host"]}
    if "x-goog-copy-source" in asked.headers:
        source = unquote(asked.headers["x-goog-copy-source"]).lstrip("/").partition("/")[2]
        here, there = quote(source, safe=""), quote(name, safe="")
        target = f"/storage/v1/b/{bucket}/o/{here}/rewriteTo/b/{bucket}/o/{there}"
        given = await exchange(upstream, request("POST", target, headers, b""))
        return answer(given.first.split(" ", 1)[1], {}, given.body)
    body = asked.body
    if "uploadId" in query:
        body = b"".join(part for _, part in sorted(_parts.pop(query["uploadId"][0]).items()))
    target = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(name, safe='')}"
    if "x-goog-if-generation-match" in asked.headers:
        target += f"&ifGenerationMatch={asked.headers['x-goog-if-generation-match']}"
    kept = ("content-type", "x-goog-meta-")
    headers |= {n: value for n, value in asked.headers.items() if n.startswith(kept)}
    given = await exchange(upstream, request("POST", target, headers, body))
    status = given.first.split(" ", 1)[1]
    if not status.startswith("200"):
        return answer(status, {}, given.body)
    facts = json.loads(given.body)
    tags = {"etag": f'"{facts["etag"]}"', "x-goog-generation": str(facts["generation"])}
    done = f"<CompleteMultipartUploadResult><ETag>{tags['etag']}</ETag>"
    text = f"{done}</CompleteMultipartUploadResult>".encode() if "uploadId" in query else b""
    return answer("200 OK", tags, text)


async def respond(upstream: Stream, asked: Message) -> bytes:
    method, target, _ = asked.first.split(" ")
    path, _, text = target.partition("?")
    query = parse_qs(text, keep_blank_values=True)
    if path.startswith(("/storage/", "/upload/", "/_internal/", "/download/")):
        method = "PASS"
    if method == "POST" and "uploads" in query:
        number = secrets.token_hex(8)
        _parts[number] = {}
        body = f"<InitiateMultipartUploadResult><UploadId>{number}</UploadId>"
        return answer("200 OK", {}, f"{body}</InitiateMultipartUploadResult>".encode())
    if method == "PUT" and "partNumber" in query:
        _parts[query["uploadId"][0]][int(query["partNumber"][0])] = asked.body
        return answer("200 OK", {"etag": f'"{query["partNumber"][0]}"'})
    if method == "PUT" or (method == "POST" and "uploadId" in query):
        return await write(upstream, asked, path, query)
    given = await exchange(upstream, asked.raw, bodiless=asked.first.startswith("HEAD "))
    return given.raw


async def serve(port: int, behind: int) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = await asyncio.open_connection("127.0.0.1", behind)
        try:
            while (asked := await receive(reader)) is not None:
                writer.write(await respond(upstream, asked))
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
            upstream[1].close()

    server = await asyncio.start_server(connected, "127.0.0.1", port, backlog=512, limit=1 << 26)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
