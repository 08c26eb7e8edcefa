"""Requests over urllib3's connections, bound to the deadline of the call that makes them.

    with transport.ask("GET", address, headers, clock) as answer:
        answer.read(100)

urllib3 brings TLS and tunnels through proxies, which may use TLS themselves. What it lacks is here:

- A deadline for the whole call. Its timeouts begin anew with every read, so a server that sends one
  byte a second is never too slow; and resolving a name has no timeout at all. Here sockets look at
  the deadline before every read.
- Strict chunk sizes (`chunked`): it takes -1 for a size, and then reads whatever comes.
- Speed, and logs without secrets. Its pools, requests and responses more than double the processor
  time of a small value (0.59 against 0.25 ms over loopback), and log the whole request line,
  signatures included. So its connections are kept here, and used as those of `http.client`, from
  which they inherit.

This module knows urllib3, which it imports at once: import it when a request is made. It must not
know what a status means.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection, ProxyConfig

from omnizarr.errors import StoreAccessError, StoreError
from omnizarr.runtime import parallel
from omnizarr.stores.http.chunked import Broken, Chunked
from omnizarr.stores.http.connection import Certificates, Clock, Idle, dial
from omnizarr.stores.http.environment import Proxy, proxy_for
from omnizarr.stores.http.url import Address, Origin

PIECE = 8 * 1024 * 1024
"""The most that is read at once: a server cannot make us allocate what it only announces."""
DRAINED = 64 * 1024
"""Bytes of an unwanted body that are read so that its connection can be reused."""
_NUMBER = re.compile(r"[0-9]{1,18}\Z")
_TUNNEL = re.compile(r"Tunnel connection failed: ([0-9]{3})\b")

_clock: ContextVar[Clock | None] = ContextVar("omnizarr.http.clock", default=None)
"""The clock of the call that this thread makes."""


def _limit(sock: socket.socket) -> None:
    """Let the next operation of a socket take no longer than the call has time."""
    clock = _clock.get()
    if clock is not None:
        sock.settimeout(clock.patience())


class _Socket(socket.socket):
    def recv_into(self, *arguments: Any) -> int:
        _limit(self)
        return super().recv_into(*arguments)

    def recv(self, *arguments: Any) -> bytes:
        _limit(self)
        return super().recv(*arguments)


class _SecureSocket(_Socket, ssl.SSLSocket):
    def do_handshake(self, block: bool = False) -> None:
        _limit(self)
        super().do_handshake(block)


class _Response(http.client.HTTPResponse):
    def begin(self) -> None:
        super().begin()
        self.is_chunked = self.chunked and self.length is None  # a HEAD has the length 0
        if self.is_chunked:
            self.fp: Any = Chunked(self.fp)
            self.chunked = False


class _Connection(HTTPConnection):
    response_class = _Response
    untrusted = False

    def _new_conn(self) -> socket.socket:
        clock = _clock.get()
        assert clock is not None
        return dial(self.host, self.port or 0, clock, self.untrusted, _Socket)

    # Those of urllib3 log URLs and take more time: see above.
    request = http.client.HTTPConnection.request  # type: ignore[assignment]
    putrequest = http.client.HTTPConnection.putrequest
    putheader = http.client.HTTPConnection.putheader
    getresponse = http.client.HTTPConnection.getresponse  # type: ignore[assignment]


class _SecureConnection(_Connection, HTTPSConnection):
    pass


class Transport:
    """Connections of one process."""

    def __init__(self, certificates: Certificates, untrusted: bool) -> None:
        self.pid = os.getpid()
        self._certificates = certificates
        self._untrusted = untrusted
        self._routes: dict[Origin, tuple[Idle[_Connection], Proxy | None]] = {}

    @contextmanager
    def ask(
        self, method: str, address: Address, headers: Mapping[str, str], clock: Clock
    ) -> Iterator[Answer]:
        """Send a request. The connection is reused if the body was read to its end, or nearly.

        Errors are those of sockets and `http.client`, `Broken`, or a `StoreError`."""
        idle, proxy = self._route(address.origin)
        target = address.target
        if proxy is not None and address.origin.scheme == "http":
            target = f"{address.origin}{target}"
            headers = {**headers, **proxy.headers}
        connection = idle.take() or self._connection(address.origin, proxy)
        reusable = False
        token = _clock.set(clock)
        try:
            if connection.is_closed:
                with _naming(proxy):
                    connection.connect()
            _limit(connection.sock)
            connection.request(method, target, headers=headers)
            response: Any = connection.getresponse()
            answer = Answer(response, address)
            yield answer
            _clock.set(clock.short())
            reusable = answer.finish()
        finally:
            _clock.reset(token)
            if reusable:
                idle.give_back(connection)
            else:
                connection.close()

    def close(self) -> None:
        for idle, _ in list(self._routes.values()):
            idle.close()

    def _route(self, origin: Origin) -> tuple[Idle[_Connection], Proxy | None]:
        found = self._routes.get(origin)
        if found is None:
            proxy = proxy_for(origin)
            if proxy is not None and self._untrusted:
                raise StoreError(
                    f"the proxy {proxy} chooses the address of {origin}, so untrusted=True cannot"
                    " be honoured; name the host in NO_PROXY, or leave out untrusted=True"
                )
            found = self._routes.setdefault(origin, (Idle(), proxy))
        return found

    def _connection(self, origin: Origin, proxy: Proxy | None) -> _Connection:
        place = proxy.origin if proxy is not None else origin
        if "https" not in (origin.scheme, place.scheme):
            connection = _Connection(place.host, place.port)
        else:
            context = self._certificates.context
            context.sslsocket_class = _SecureSocket
            connection = _SecureConnection(
                place.host,
                place.port,
                ssl_context=context,
                proxy_config=ProxyConfig(context, False, None, None),
            )
        connection.untrusted = self._untrusted
        if proxy is not None and origin.scheme == "https":
            connection.set_tunnel(origin.host, origin.port, proxy.headers, place.scheme)
        return connection


class Answer:
    """The answer of a server. Its body is read once, and only as far as it is wanted."""

    def __init__(self, response: _Response, address: Address) -> None:
        self._response = response
        self._position = 0
        self.address = address
        self.status = response.status
        declared = (self.header("Content-Length") or "").strip()
        self.declared = int(declared) if _NUMBER.match(declared) else None
        coded = self.header("Transfer-Encoding") is not None
        empty = response.length == 0  # also the answer to a HEAD
        self.length = 0 if empty else None if coded else self.declared
        """The length of the body, if it is known ahead."""
        self.framed = self.length is not None or response.is_chunked
        """Whether a body that breaks off can be told from one that ends."""

    def header(self, name: str) -> str | None:
        return self._response.headers.get(name)

    def read(self, count: int) -> bytes:
        """The next `count` bytes, or as many as there are before the proper end."""
        pieces: list[bytes] = []
        wanted = count
        while wanted > 0:
            parallel.check()
            piece = self._response.read(min(wanted, PIECE))
            if not piece:
                break
            pieces.append(piece)
            self._position += len(piece)
            wanted -= len(piece)
        if wanted > 0 and self.length is not None and self._position < self.length:
            raise Broken(f"the body ended after {self._position} of {self.length} bytes")
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def skip(self, count: int) -> None:
        while count > 0:
            piece = self.read(min(count, DRAINED * 4))
            if not piece:
                return
            count -= len(piece)

    def finish(self) -> bool:
        """Read the rest of the body if it is short; True if the connection can be used again."""
        response = self._response
        if response.will_close or not self.framed:
            return False
        if self.length is not None and self.length - self._position > DRAINED:
            return False
        try:
            self.skip(0 if response.isclosed() else DRAINED + 1)
        except (OSError, http.client.HTTPException, Broken):
            return False  # what was wanted has been read
        return response.isclosed()


@contextmanager
def _naming(proxy: Proxy | None) -> Iterator[None]:
    """Name the proxy that has no address or refuses a tunnel, but do not repeat its words."""
    try:
        yield
    except OSError as error:
        if proxy is not None and isinstance(error, socket.gaierror):
            raise OSError(0, f"the proxy has no address ({error.strerror})") from error
        status = _TUNNEL.match(str(error))
        if status is None:
            raise
        if status[1] not in ("401", "403", "407"):
            raise OSError(0, f"the proxy answered {status[1]}") from None
        raise StoreAccessError(
            f"the proxy {proxy} answered {status[1]}: it wants other credentials, or does not"
            " allow this server (HTTPS_PROXY=http://user:password@host:port)"
        ) from None
