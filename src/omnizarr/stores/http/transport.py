"""Requests through urllib3, bound to the deadline of the call that makes them.

    with transport.ask("GET", address, headers, clock) as answer:
        answer.read(100)

urllib3 brings connections that are kept and reused, TLS, and proxies. What it lacks is added here:

- A deadline for the whole call. Its timeouts begin anew with every read, so a server that sends one
  byte a second is never too slow; and resolving a name has no timeout at all. Here sockets look at
  the deadline before every read.
- Strict chunk sizes (`chunked`): it takes -1 for a size, and then reads whatever comes.
- URLs without secrets in logs and errors: it logs the whole request line. It is given the masked
  URL, and `putrequest` sends the real one.
- Idle connections without a lock, which a fork could leave locked in the child.

This module knows urllib3, which it imports at once: import it when a request is made. It must not
know what a status means.
"""

from __future__ import annotations

import http.client
import os
import queue
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from urllib3 import PoolManager, ProxyManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError, ProxyError
from urllib3.response import BaseHTTPResponse

from omnizarr.errors import StoreAccessError, StoreError
from omnizarr.runtime import parallel
from omnizarr.stores.http.chunked import Broken, Chunked
from omnizarr.stores.http.connection import MOST_IDLE, Clock, dial
from omnizarr.stores.http.environment import Proxy
from omnizarr.stores.http.ranges import PIECE
from omnizarr.stores.http.url import Address, Origin

DRAINED = 64 * 1024
"""Bytes of an unwanted body that are read so that its connection can be reused."""
_NUMBER = re.compile(r"[0-9]{1,18}\Z")
_TUNNEL = re.compile(r"Tunnel connection failed: (401|403|407)\b")


@dataclass(frozen=True)
class _Call:
    """The request that this thread makes."""

    address: Address
    clock: Clock
    untrusted: bool


_call: ContextVar[_Call | None] = ContextVar("omnizarr.http.call", default=None)


def _limit(sock: socket.socket) -> None:
    """Let the next operation of a socket take no longer than the call has time."""
    call = _call.get()
    if call is not None:
        sock.settimeout(call.clock.patience())


class _Socket(socket.socket):
    def recv_into(self, *arguments: Any) -> int:
        _limit(self)
        return super().recv_into(*arguments)

    def recv(self, *arguments: Any) -> bytes:
        _limit(self)
        return super().recv(*arguments)


class _SecureSocket(ssl.SSLSocket):
    def do_handshake(self, block: bool = False) -> None:
        _limit(self)
        super().do_handshake(block)

    def recv_into(self, *arguments: Any) -> int:
        _limit(self)
        return super().recv_into(*arguments)

    def recv(self, *arguments: Any) -> bytes:
        _limit(self)
        return super().recv(*arguments)


class _Response(http.client.HTTPResponse):
    def begin(self) -> None:
        super().begin()
        if self.chunked and self.length is None:  # a HEAD has the length 0
            self.fp: Any = Chunked(self.fp)
            self.chunked = False


class _Connection(HTTPConnection):
    response_class = _Response

    def _new_conn(self) -> socket.socket:
        call = _call.get()
        assert call is not None
        return dial(self.host, self.port or 0, call.clock, call.untrusted, _Socket)

    def putrequest(self, method: str, url: str, *arguments: Any, **options: Any) -> None:
        call = _call.get()
        assert call is not None
        # A proxy that forwards requests is sent the whole URL.
        origin = "" if url.startswith("/") else str(call.address.origin)
        super().putrequest(method, origin + call.address.target, *arguments, **options)


class _SecureConnection(_Connection, HTTPSConnection):
    pass


class _Idle:
    """Idle connections, the last one first, as urllib3 uses `queue.LifoQueue`."""

    def __init__(self, maxsize: int) -> None:
        self._most = maxsize
        self._connections: list[HTTPConnection | None] = []

    def get(self, block: bool = True, timeout: float | None = None) -> HTTPConnection | None:
        try:
            return self._connections.pop()
        except IndexError:
            raise queue.Empty from None

    def put(self, item: HTTPConnection | None, block: bool = True) -> None:
        if len(self._connections) < self._most:
            self._connections.append(item)
        elif item is not None:
            item.close()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection
    QueueCls: Any = _Idle


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection
    QueueCls: Any = _Idle

    def _validate_conn(self, conn: Any) -> None:
        """Connect, without urllib3's warning: verify=False was asked for."""
        if conn.is_closed:
            conn.connect()


class Transport:
    """Connections of one process to the origins that it asked.

    proxy: which proxy an origin is asked through.
    context: what certificates are checked with.
    """

    def __init__(
        self,
        proxy: Callable[[Origin], Proxy | None],
        context: Callable[[], ssl.SSLContext],
        untrusted: bool,
    ) -> None:
        self.pid = os.getpid()
        self._proxy = proxy
        self._context = context
        self._untrusted = untrusted
        self._managers: dict[Origin, PoolManager] = {}

    @contextmanager
    def ask(
        self, method: str, address: Address, headers: Mapping[str, str], clock: Clock
    ) -> Iterator[Answer]:
        """Send a request. The connection is reused if the body was read to its end, or nearly.

        Errors are those of sockets and `http.client`, `Broken`, or a `StoreError`."""
        call = _Call(address, clock, self._untrusted)
        token = _call.set(call)
        try:
            manager = self._manager(address.origin)
            with _unwrapped(manager):
                response = manager.urlopen(
                    method,
                    address.shown,
                    headers=headers,
                    timeout=clock.patience(),
                    redirect=False,
                    retries=False,
                    preload_content=False,
                    decode_content=False,
                )
            answer = Answer(response, address, method)
            try:
                yield answer
            except BaseException:
                answer.leave(reuse=False)
                raise
            _call.set(replace(call, clock=clock.short()))
            answer.leave(reuse=True)
        finally:
            _call.reset(token)

    def close(self) -> None:
        for manager in list(self._managers.values()):
            manager.clear()

    def _manager(self, origin: Origin) -> PoolManager:
        manager = self._managers.get(origin)
        if manager is None:
            manager = self._managers.setdefault(origin, self._new_manager(origin))
        return manager

    def _new_manager(self, origin: Origin) -> PoolManager:
        proxy = self._proxy(origin)
        options: dict[str, Any] = {"maxsize": MOST_IDLE}
        if origin.scheme == "https":
            options["ssl_context"] = self._secure()
        manager: PoolManager
        if proxy is None:
            manager = PoolManager(**options)
        elif self._untrusted:
            raise StoreError(
                f"the proxy {proxy} chooses the address of {origin}, so untrusted=True cannot be"
                " honoured; name the host in NO_PROXY, or leave out untrusted=True"
            )
        else:
            if proxy.url.startswith("https:"):
                options["proxy_ssl_context"] = self._secure()
            manager = ProxyManager(proxy.url, proxy_headers=dict(proxy.headers), **options)
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
        return manager

    def _secure(self) -> ssl.SSLContext:
        context = self._context()
        context.sslsocket_class = _SecureSocket
        return context


class Answer:
    """The answer of a server. Its body is read once, and only as far as it is wanted."""

    def __init__(self, response: BaseHTTPResponse, address: Address, method: str) -> None:
        self._response = response
        self._position = 0
        self.address = address
        self.status = response.status
        lengths = {text.strip() for text in (self.header("Content-Length") or "").split(",")}
        length = lengths.pop()
        self.declared = int(length) if not lengths and _NUMBER.match(length) else None
        coding = (self.header("Transfer-Encoding") or "").strip().lower()
        empty = method == "HEAD" or response.length_remaining == 0
        self.length = 0 if empty else None if coding else self.declared
        """The length of the body, if it is known ahead."""
        self.framed = self.length is not None or coding == "chunked"
        """Whether a body that breaks off can be told from one that ends."""

    def header(self, name: str) -> str | None:
        return self._response.headers.get(name)

    def read(self, count: int) -> bytes:
        """The next `count` bytes, or as many as there are before the proper end."""
        pieces: list[bytes] = []
        wanted = count
        while wanted > 0:
            parallel.check()
            with _unwrapped():
                piece = self._response.read(min(wanted, PIECE), decode_content=False)
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

    def leave(self, reuse: bool) -> None:
        """Give the connection back, open if what is left of the body is short."""
        response = self._response
        try:
            if reuse and not response.closed and self._is_short():
                self.skip(DRAINED + 1)
        except (OSError, http.client.HTTPException, Broken):
            pass  # what was wanted has been read
        finally:
            if not response.closed:
                response.close()
            response.release_conn()

    def _is_short(self) -> bool:
        connection = self._response.connection
        if connection is None or connection.is_closed or not self.framed:
            return False  # the server closes it
        return self.length is None or self.length - self._position <= DRAINED


@contextmanager
def _unwrapped(manager: PoolManager | None = None) -> Iterator[None]:
    """Raise the errors that urllib3 wraps, as they were."""
    try:
        yield
    except HTTPError as error:
        cause: BaseException = error
        while isinstance(cause, HTTPError):
            inner = [each for each in cause.args if isinstance(each, BaseException)]
            following = inner[0] if inner else cause.__cause__
            if following is None:
                break
            cause = following
        proxy = None if manager is None else manager.proxy
        if isinstance(error, ProxyError) and proxy is not None and isinstance(cause, OSError):
            raise _refused_by_proxy(f"{proxy.host}:{proxy.port}", cause) from cause
        if isinstance(cause, HTTPError):
            raise http.client.HTTPException(type(cause).__name__) from cause
        raise cause from cause.__cause__


def _refused_by_proxy(proxy: str, cause: OSError) -> OSError:
    if isinstance(cause, ssl.SSLCertVerificationError | TimeoutError):
        return cause
    refused = _TUNNEL.search(str(cause))
    if refused is not None:
        return StoreAccessError(
            f"the proxy {proxy} answered {refused[1]}: it wants other credentials, or does not"
            " allow this server (HTTPS_PROXY=http://user:password@host:port)"
        )
    return OSError(cause.errno or 0, f"the proxy {proxy}: {cause.strerror or cause}")
