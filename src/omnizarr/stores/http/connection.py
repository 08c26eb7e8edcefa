"""Connections to web servers that keep to a clock, and a pool of them.

Every read from a socket, of headers and of bodies, asks the clock first: a server that sends one
byte a second cannot hold a call beyond its deadline. Names are resolved here, so that addresses
inside the own network can be refused before anything is sent to them.

This module knows sockets and `http.client`. It must not know stores.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import os
import select
import socket
import ssl
import threading
import time
import weakref
from dataclasses import dataclass
from typing import Any

from omnizarr.errors import StoreError
from omnizarr.stores.http.url import PORTS, Origin

MOST_IDLE = 128
"""Connections that are kept for the next request."""


class Clock:
    """How long a call may still take, and how long the other side may be silent."""

    __slots__ = ("deadline", "end", "silence")

    def __init__(self, deadline: float, silence: float) -> None:
        self.deadline = deadline
        self.silence = silence
        self.end = time.monotonic() + deadline

    @property
    def left(self) -> float:
        return self.end - time.monotonic()

    def short(self) -> Clock:
        """For what can be done without: a moment, if there is one left."""
        return Clock(min(0.25, max(self.left, 0.0)), 0.25)

    def patience(self) -> float:
        """How long to wait for the next bytes."""
        left = self.left
        if left <= 0:
            raise TimeoutError("the deadline has passed")
        return min(left, self.silence)


@dataclass(frozen=True)
class Security:
    """How servers prove who they are, and which ones may be asked at all."""

    verify: bool | str = True
    """Whether certificates are checked, or the file with the authorities to check them with."""
    cert: str | tuple[str, str] | None = None
    """Our own certificate and its key, if a server wants to see one."""
    untrusted: bool = False
    """Whether the URL is untrusted and may name a server of our own network."""

    def context(self) -> ssl.SSLContext:
        authorities = self.verify if isinstance(self.verify, str) else None
        try:
            if authorities is not None and os.path.isdir(authorities):
                context = ssl.create_default_context(capath=authorities)
            else:
                context = ssl.create_default_context(cafile=authorities)
            if self.verify is False:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if self.cert is not None:
                files = (self.cert,) if isinstance(self.cert, str) else self.cert
                context.load_cert_chain(*files)
        except (OSError, ssl.SSLError) as error:
            raise StoreError(f"certificates of the option verify or cert: {error}") from error
        context.set_alpn_protocols(["http/1.1"])
        return context


class _Timed(io.RawIOBase):
    """What a socket sends, as long as the clock of its connection allows."""

    def __init__(self, raw: io.RawIOBase, connection: ServerConnection) -> None:
        self._raw = raw
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        connection = self._connection
        if connection.sock is not None:
            connection.sock.settimeout(connection.clock.patience())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Files:
    """What `http.client` takes for a socket to read a response from."""

    def __init__(self, sock: Any, connection: ServerConnection) -> None:
        self._sock = sock
        self._connection = connection

    def makefile(self, mode: str) -> io.BufferedReader:
        raw = self._sock.makefile(mode, buffering=0)
        return io.BufferedReader(_Timed(raw, self._connection), 64 * 1024)


class ServerConnection(http.client.HTTPConnection):
    def __init__(self, origin: Origin, secure: ssl.SSLContext | None, untrusted: bool) -> None:
        self.default_port = PORTS[origin.scheme]
        super().__init__(origin.host, origin.port)
        self.origin = origin
        self.clock = Clock(0, 0)
        self.secure = secure
        self.untrusted = untrusted

    def connect(self) -> None:
        sock = dial(self.origin, self.clock, self.untrusted)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.secure is not None:
                sock.settimeout(self.clock.patience())
                sock = self.secure.wrap_socket(sock, server_hostname=self.host)
        except BaseException:
            sock.close()
            raise
        self.sock = sock

    def ask(self, method: str, target: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        if self.sock is not None:
            self.sock.settimeout(self.clock.patience())
        self.request(method, target, headers=headers)
        return self.getresponse()

    def response_class(  # type: ignore[override]  # a way to make one, as `http.client` calls it
        self, sock: Any, debuglevel: int = 0, method: str | None = None, url: str | None = None
    ) -> http.client.HTTPResponse:
        files: Any = _Files(sock, self)
        return http.client.HTTPResponse(files, debuglevel, method=method, url=url)

    @property
    def usable(self) -> bool:
        """Whether the server kept it open and sent nothing unrequested."""
        if self.sock is None or (isinstance(self.sock, ssl.SSLSocket) and self.sock.pending()):
            return False
        try:
            if hasattr(select, "poll"):
                poll = select.poll()
                poll.register(self.sock, select.POLLIN)
                return not poll.poll(0)
            return not select.select([self.sock], [], [], 0)[0]
        except (OSError, ValueError):
            return False


class Pool:
    """Connections of one process, kept for the next request. Threads share it without a lock."""

    def __init__(self, security: Security) -> None:
        self.pid = os.getpid()
        self.closed = False
        self._security = security
        self._idle: dict[Origin, list[ServerConnection]] = {}
        self._context: ssl.SSLContext | None = None
        weakref.finalize(self, _close_all, self._idle)

    def take(self, origin: Origin, clock: Clock) -> ServerConnection:
        idle = self._idle.setdefault(origin, [])
        while True:
            try:
                connection = idle.pop()
            except IndexError:
                break
            if connection.usable:
                connection.clock = clock
                return connection
            connection.close()
        secure = None
        if origin.scheme == "https":
            if self._context is None:
                self._context = self._security.context()
            secure = self._context
        connection = ServerConnection(origin, secure, self._security.untrusted)
        connection.clock = clock
        return connection

    def give_back(self, connection: ServerConnection) -> None:
        idle = self._idle[connection.origin]
        if len(idle) >= MOST_IDLE:
            connection.close()
            return
        idle.append(connection)
        if self.closed:
            _close_all(self._idle)

    def close(self) -> None:
        self.closed = True
        _close_all(self._idle)


def _close_all(idle: dict[Origin, list[ServerConnection]]) -> None:
    for connections in list(idle.values()):
        while connections:
            try:
                connections.pop().close()
            except IndexError:  # another thread was faster
                break


# -- addresses --------------------------------------------------------------------------------


def addresses(origin: Origin, clock: Clock, untrusted: bool) -> list[Any]:
    """Where the host may be reached, as `socket.getaddrinfo` tells it."""
    found = resolve(origin.host, origin.port, clock)
    if untrusted:
        for *_, address in found:
            refuse_private(origin.host, str(address[0]))
    return found


def dial(origin: Origin, clock: Clock, untrusted: bool) -> socket.socket:
    """A connected socket, to the first address of the host that answers."""
    found = addresses(origin, clock, untrusted)
    failure: OSError = OSError(f"{origin.host} has no address")
    for index, (family, kind, protocol, _, address) in enumerate(found):
        sock = socket.socket(family, kind, protocol)
        try:
            # One address that does not answer leaves time for the others.
            sock.settimeout(max(0.05, clock.patience() / (len(found) - index)))
            sock.connect(address)
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure


def resolve(host: str, port: int, clock: Clock) -> list[Any]:
    """The addresses of a host; a resolver that hangs is left behind when the time is over."""
    answer: list[Any] = []
    failure: list[OSError] = []

    def ask() -> None:
        try:
            answer.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            failure.append(error)
        except UnicodeError as error:
            failure.append(OSError(f"not the name of a host: {error}"))

    if _is_literal(host):
        ask()
    else:
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(clock.patience())
    if failure:
        raise failure[0]
    if not answer:
        raise TimeoutError(f"the name {host} was not resolved in time")
    return answer


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


_PUBLIC = ipaddress.IPv6Network("2000::/3")
"""Public addresses; any other means this machine, this site, or something reserved."""
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
_EXAMPLES = ipaddress.IPv6Network("3fff::/20")
_PROTOCOLS = ipaddress.IPv4Network("192.0.0.0/24")
_ISATAP = (0x00005EFE, 0x02005EFE)
"""What stands before the address of a version 4 in one of version 6 (RFC 5214, 6.1)."""


def refuse_private(host: str, address: str) -> None:
    """Raise unless everybody on the Internet could ask this address too."""
    found = ipaddress.ip_address(address.partition("%")[0])
    seen: list[ipaddress.IPv4Address | ipaddress.IPv6Address] = [found]
    public = True
    if isinstance(found, ipaddress.IPv6Address):
        last = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        # Where there is an address inside, it counts as well.
        if found.ipv4_mapped or found in _TRANSLATED:
            seen = [last]
        elif found.sixtofour or found.teredo:
            seen += [inner for inner in (found.sixtofour, *(found.teredo or ())) if inner]
        else:
            public = found in _PUBLIC and found not in _EXAMPLES
            if (int(found) >> 32) & 0xFFFFFFFF in _ISATAP:
                seen.append(last)
    if not public or any(
        not one.is_global or one.is_multicast or one in _PROTOCOLS for one in seen
    ):
        raise StoreError(
            f"{host} has the address {address}, which is not public, and the URL was given as"
            " untrusted; leave out untrusted=True if you mean it"
        )
