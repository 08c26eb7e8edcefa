"""Send many small requests with one thread over many connections.

A thread for every request costs more than a small value does: it is woken, and waits for the
interpreter's lock, several times. Here one thread sends the requests of all connections and takes
the answers as they come. It takes a third to a half of the time of threads.

Only the ordinary case is handled: an answer of known length. Everything else (redirects, errors,
bodies in chunks, broken connections, silent servers) is left aside, for the caller to repeat in the
ordinary way.

The connections are not those of `transport`: urllib3 has none that do not block.

This module knows sockets and the head of an answer. It must not know what is requested, or what a
status means.
"""

from __future__ import annotations

import re
import selectors
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from omnizarr.errors import StoreError
from omnizarr.runtime.parallel import Desk, Outbox, check
from omnizarr.stores.http.chunked import Broken
from omnizarr.stores.http.client import Client
from omnizarr.stores.http.connection import Clock, addresses

MOST_HEAD = 16 * 1024
MOST_BODY = 1024 * 1024
"""Values above this are left aside: several threads take them faster than one."""
PIECE = 64 * 1024
"""The most that one call reads: a larger buffer would be allocated for every piece."""
PAUSE = 0.05
"""How long to wait for answers before checking for timeouts and cancellation."""
UNUSUAL = 8
"""Stop after this many unusual answers, unless more were usual."""
ONCE = frozenset({"content-length", "content-range", "content-type", "content-encoding", "etag"})
_STATUS = re.compile(rb"HTTP/1\.1 ([1-9][0-9]{2})(?: |\Z)")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)\Z")
_LENGTH = re.compile(r"[0-9]{1,18}\Z")

Items = Desk[Any, Any] | Outbox[Any, Any]


class Unusual(Exception):
    """An answer that is not handled here."""


class Whole:
    """An answer that is in memory, in the form that `ranges` checks."""

    framed = True

    def __init__(self, status: int, fields: dict[str, str], body: bytes) -> None:
        self.status = status
        self._fields = fields
        self._body = body
        self._position = 0
        self.length: int | None = len(body)
        self.declared = self.length

    def header(self, name: str) -> str | None:
        return self._fields.get(name.lower())

    def read(self, count: int) -> bytes:
        begin = self._position
        self._position = min(begin + max(count, 0), len(self._body))
        return self._body[begin : self._position]

    def skip(self, count: int) -> None:
        self.read(count)


def head_of(head: bytes) -> tuple[int, dict[str, str]]:
    """The status and the fields of an answer; raises Unusual for all but the plainest form."""
    lines = head.split(b"\r\n")
    status = _STATUS.match(lines[0])
    if status is None:
        raise Unusual
    fields: dict[str, str] = {}
    for line in lines[1:]:
        field = _FIELD.match(line)
        if field is None:
            raise Unusual
        name = field[1].decode("ascii").lower()
        if name in fields and name in ONCE:
            raise Unusual
        fields[name] = field[2].decode("latin-1").rstrip(" \t")
    if "transfer-encoding" in fields:
        raise Unusual
    return int(status[1]), fields


class Line:
    """One connection, and the item that was requested over it."""

    def __init__(self) -> None:
        self.sock: Any = None
        """None before the first address is tried."""
        self.address: Any = None
        self.addresses: list[Any] = []
        """Addresses that were not tried yet."""
        self.state: Literal["connecting", "greeting", "asking", "idle"] = "idle"
        self.item: Any = None
        self.clock = Clock(0, 0)
        self.until = 0.0
        self.status = 0
        self.fields: dict[str, str] = {}
        self.unsent = memoryview(b"")
        """The rest of a request that the connection has not taken yet."""
        self.writing = False
        """Whether it is waited for the connection to take more."""
        self.pieces: list[bytes] = []
        self.missing = -1
        """Bytes of the body that were not received yet; -1 before the end of the head."""

    def hear(self, data: bytes) -> bool:
        """Take received bytes; True if the answer is complete."""
        if self.missing < 0:
            if self.pieces:
                data = self.pieces.pop() + data
            end = data.find(b"\r\n\r\n")
            if end < 0 and len(data) <= MOST_HEAD:
                self.pieces.append(data)
                return False
            if end < 0 or end > MOST_HEAD:
                raise Unusual
            self.status, self.fields = head_of(data[:end])
            length = self.fields.get("content-length", "")
            if not _LENGTH.match(length) or int(length) > MOST_BODY or self.status < 200:
                raise Unusual
            self.missing = int(length)
            data = data[end + 4 :]
        self.pieces.append(data)
        self.missing -= len(data)
        if self.missing < 0:
            raise Unusual  # an unrequested answer
        return self.missing == 0

    def close(self) -> None:
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def answer(self) -> Whole:
        body = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
        return Whole(self.status, self.fields, body)


def _check_silence(sock: Any) -> None:
    """Refuse bytes that arrive before the next request: they would be taken for its answer."""
    try:
        sock.recv(1)
    except (BlockingIOError, ssl.SSLWantReadError):
        return
    raise Unusual


class Batch:
    """Sends requests to one origin.

    most: how many requests are under way at once.
    key_of: names an item; None if it is left aside at once.
    request: gives the bytes to send for an item.
    judge: gives the value of an item from its answer. What it raises for is left aside.
    """

    def __init__(
        self,
        client: Client,
        most: int,
        key_of: Callable[[Any], str | None],
        request: Callable[[Any], bytes],
        judge: Callable[[Any, Whole], Any],
    ) -> None:
        self._client = client
        self._idle = client.lines()
        self._origin = client.origin
        self._clock = client.policy.clock
        self._most = most
        self._key_of = key_of
        self._request = request
        self._judge = judge
        self._clocks: dict[str | None, Clock] = {}
        self._addresses: list[Any] = []
        self._selector = selectors.DefaultSelector()
        self._lines: set[Line] = set()
        self._usual = self._unusual = 0

    @property
    def fits(self) -> bool:
        """Whether most answers are usual, so that requests in batches are worthwhile."""
        return self._unusual < UNUSUAL or self._unusual < self._usual

    def clock_of(self, key: str) -> Clock:
        """What is left of the time of an item that was left aside."""
        return self._clocks.pop(key) if key in self._clocks else self._clock()

    def run(self, desk: Items) -> None:
        try:
            if desk.signal is not None:
                self._selector.register(desk.signal, selectors.EVENT_READ)
            self._run(desk)
        finally:
            self._selector.close()
            for line in self._lines:
                line.close()

    def _run(self, desk: Items) -> None:
        look = time.monotonic() + PAUSE
        while not desk.stopped:
            check()
            while len(self._lines) < self._most and self.fits and not desk.ended:
                item = self._take(desk, wait=not self._lines)
                if item is None:
                    break
                self._begin(item, desk)
            if not self._lines:
                if desk.ended or not self.fits:
                    return
                continue
            for key, _ in self._selector.select(PAUSE):
                if key.data is not None:
                    self._advance(key.data, desk)
                else:
                    key.fileobj.recv(PIECE)  # type: ignore[union-attr]  # the signal of the desk
            now = time.monotonic()
            if now > look:
                look = now + PAUSE
                for line in [line for line in self._lines if line.until < now]:
                    self._give_up(line, desk)

    def _take(self, desk: Items, *, wait: bool = False) -> Any:
        """The next item that is not left aside."""
        while True:
            item = desk.take(wait=wait)
            if item is None or self._key_of(item) is not None:
                return item
            desk.aside(item)

    # -- one connection -----------------------------------------------------------------------
    def _begin(self, item: Any, desk: Items) -> None:
        """Ask for an item over a connection that is open already, or a new one."""
        line: Line | None = None
        try:
            clock = self._clock()
            line = self._idle.take() or Line()
            self._lines.add(line)
            line.item, line.clock, line.until = item, clock, time.monotonic() + clock.patience()
            if line.sock is not None:
                self._selector.register(line.sock, selectors.EVENT_READ, line)
                self._ask(line)
                return
            if not self._addresses:
                self._addresses = addresses(
                    self._origin.host, self._origin.port, clock, self._client.security.untrusted
                )
            line.addresses = list(self._addresses)
            self._dial(line)
        except (OSError, StoreError, Unusual):
            if line is None:
                desk.aside(item)
            else:
                self._leave(line, desk)

    def _dial(self, line: Line) -> None:
        if not line.addresses:
            raise Unusual
        # One address that does not answer leaves time for the others.
        line.until = time.monotonic() + max(0.05, line.clock.patience() / len(line.addresses))
        line.address = family, kind, protocol, _, address = line.addresses.pop(0)
        line.sock = sock = socket.socket(family, kind, protocol)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.state = "connecting"
        sock.connect_ex(address)  # `_connected` looks at the outcome
        self._selector.register(sock, selectors.EVENT_WRITE, line)

    def _redial(self, line: Line) -> None:
        """Try the next address of the host."""
        self._selector.unregister(line.sock)
        line.close()
        self._dial(line)

    def _connected(self, line: Line) -> None:
        sock = line.sock
        if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._redial(line)
            return
        self._selector.unregister(sock)
        # Later connections try this address first.
        self._addresses.sort(key=lambda address: address is not line.address)
        line.until = time.monotonic() + line.clock.patience()
        if self._origin.scheme == "https":
            line.sock = sock = self._client.certificates.context.wrap_socket(
                sock, server_hostname=self._origin.host, do_handshake_on_connect=False
            )
        line.state = "greeting"
        self._selector.register(sock, selectors.EVENT_READ, line)
        self._greet(line)

    def _greet(self, line: Line) -> None:
        sock = line.sock
        if isinstance(sock, ssl.SSLSocket):
            try:
                sock.do_handshake()
            except ssl.SSLWantReadError:
                self._selector.modify(sock, selectors.EVENT_READ, line)
                return
            except ssl.SSLWantWriteError:
                self._selector.modify(sock, selectors.EVENT_WRITE, line)
                return
            self._selector.modify(sock, selectors.EVENT_READ, line)
        self._ask(line)

    def _ask(self, line: Line) -> None:
        _check_silence(line.sock)
        line.state, line.missing, line.pieces = "asking", -1, []
        line.unsent = memoryview(self._request(line.item))
        self._send(line)

    def _send(self, line: Line) -> None:
        with suppress(BlockingIOError, ssl.SSLWantWriteError):
            line.unsent = line.unsent[line.sock.send(line.unsent) :]
        if bool(line.unsent) != line.writing:
            line.writing = not line.writing
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if line.writing else 0)
            self._selector.modify(line.sock, events, line)

    def _advance(self, line: Line, desk: Items) -> None:
        try:
            if line.state == "connecting":
                self._connected(line)
            elif line.state == "greeting":
                self._greet(line)
            else:
                if line.unsent:
                    self._send(line)
                self._listen(line, desk)
        except (OSError, Unusual):
            self._leave(line, desk)

    def _listen(self, line: Line, desk: Items) -> None:
        sock = line.sock
        more = True
        while more:
            try:
                data = sock.recv(PIECE)
            except (BlockingIOError, ssl.SSLWantReadError):
                return
            if not data or line.state == "idle":
                raise Unusual
            if line.hear(data):
                self._heard(line, desk)
                return
            # Bytes that TLS has buffered do not make the socket readable.
            more = isinstance(sock, ssl.SSLSocket)

    def _heard(self, line: Line, desk: Items) -> None:
        item = line.item
        if line.unsent:
            raise Unusual  # an answer to a part of the request
        try:
            value = self._judge(item, line.answer())
        except (StoreError, Broken) as error:
            raise Unusual from error
        desk.put(item, value)
        self._usual += 1
        line.item = None
        following = None
        if line.fields.get("connection", "").lower() not in ("", "keep-alive"):
            self._drop(line)
            return
        if not desk.stopped and self.fits and not desk.ended:
            following = self._take(desk)
        if following is None:
            self._selector.unregister(line.sock)
            self._lines.discard(line)
            self._idle.give_back(line)
            return
        clock = self._clock()
        line.item, line.clock, line.until = following, clock, time.monotonic() + clock.patience()
        self._ask(line)

    def _give_up(self, line: Line, desk: Items) -> None:
        """Handle a connection that has waited too long."""
        try:
            if line.state == "connecting" and line.addresses:
                self._redial(line)
                return
        except (OSError, Unusual):
            pass
        self._leave(line, desk, silent=True)

    def _leave(self, line: Line, desk: Items, *, silent: bool = False) -> None:
        """Close a connection and leave its item to the ordinary way. Silence does not count as an
        unusual answer."""
        item, line.item = line.item, None
        self._drop(line)
        self._unusual += not silent
        if item is not None:
            self._clocks[self._key_of(item)] = line.clock
            desk.aside(item)

    def _drop(self, line: Line) -> None:
        self._lines.discard(line)
        if line.sock is not None:
            with suppress(KeyError, ValueError):  # not yet, or no longer there
                self._selector.unregister(line.sock)
        line.close()
