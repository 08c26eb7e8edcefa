"""Addresses of web servers, connections to them, and the time and trust that they get.

Names are resolved here, so that addresses inside the own network can be refused before anything is
sent to them, and so that a resolver that hangs does not hold a call beyond its deadline.

This module knows sockets. It must not know HTTP.
"""

from __future__ import annotations

import ipaddress
import os
import select
import socket
import ssl
import threading
import time
import weakref
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from omnizarr.errors import StoreError
from omnizarr.runtime.properties import cached_property
from omnizarr.stores.http.environment import authorities

MOST_IDLE = 128
"""Connections to one server that are kept for the next request."""


class Clock:
    """How long a call may still take, and how long the server may be silent."""

    __slots__ = ("deadline", "end", "silence")

    def __init__(self, deadline: float, silence: float) -> None:
        self.deadline = deadline
        self.silence = silence
        self.end = time.monotonic() + deadline

    @property
    def left(self) -> float:
        return self.end - time.monotonic()

    def short(self) -> Clock:
        """A clock for optional work: a quarter of a second, if there is as much."""
        return Clock(min(0.25, max(self.left, 0.0)), 0.25)

    def patience(self) -> float:
        """How long to wait for the next bytes."""
        left = self.left
        if left <= 0:
            raise TimeoutError("the deadline has passed")
        return min(left, self.silence)


@dataclass(frozen=True)
class Security:
    """How servers prove who they are, and which ones may be reached."""

    verify: bool | str = True
    """Whether certificates are checked, or a file or folder of authorities to check them with. With
    True, the environment may name one."""
    cert: str | tuple[str, str] | None = None
    """A client certificate and its key."""
    untrusted: bool = False
    """Whether the URL is untrusted, so that a server of the own network is refused."""

    def context(self) -> ssl.SSLContext:
        option, path = "the option verify or cert", None
        if isinstance(self.verify, str):
            path = self.verify
        elif self.verify:
            option, path = authorities() or (option, None)
        try:
            if path is not None and os.path.isdir(path):
                context = ssl.create_default_context(capath=path)
            else:
                context = ssl.create_default_context(cafile=path)
            if self.verify is False:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if self.cert is not None:
                files = (self.cert,) if isinstance(self.cert, str) else self.cert
                context.load_cert_chain(*files)
        except (OSError, ssl.SSLError) as error:
            raise StoreError(f"certificates of {option}: {error}") from error
        context.set_alpn_protocols(["http/1.1"])
        return context


class Certificates:
    """The context that all connections of a store share, made when the first one needs it."""

    def __init__(self, security: Security) -> None:
        self._security = security

    @cached_property
    def context(self) -> ssl.SSLContext:
        return self._security.context()


class Connection(Protocol):
    sock: Any

    def close(self) -> None: ...


C = TypeVar("C", bound=Connection)


class Idle(Generic[C]):
    """Open connections to one server, kept for the next request.

    Threads share it without a lock, which a fork could leave locked in the child."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._connections: list[C] = []
        self._closed = False
        weakref.finalize(self, _close_all, self._connections)

    def take(self) -> C | None:
        """A connection that the server kept open and sent nothing on."""
        while True:
            try:
                found = self._connections.pop()
            except IndexError:
                return None
            if _is_quiet(found.sock):
                return found
            found.close()

    def give_back(self, connection: C) -> None:
        if len(self._connections) >= MOST_IDLE:
            connection.close()
            return
        self._connections.append(connection)
        if self._closed:
            self.close()

    def close(self) -> None:
        self._closed = True
        _close_all(self._connections)


def _close_all(connections: list[Any]) -> None:
    while connections:
        try:
            connections.pop().close()
        except IndexError:  # another thread took the last one
            return


def _is_quiet(sock: Any) -> bool:
    if sock is None or (isinstance(sock, ssl.SSLSocket) and sock.pending()):
        return False
    try:
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(sock, select.POLLIN)
            return not poll.poll(0)
        return not select.select([sock], [], [], 0)[0]
    except (OSError, ValueError):
        return False


def addresses(host: str, port: int, clock: Clock, untrusted: bool) -> list[Any]:
    """The addresses of a host, in the form of `socket.getaddrinfo`."""
    found = resolve(host, port, clock)
    if untrusted:
        for *_, address in found:
            refuse_private(host, str(address[0]))
    return found


def dial(
    host: str, port: int, clock: Clock, untrusted: bool, kind: type[socket.socket]
) -> socket.socket:
    """A connected socket, to the first address of the host that answers."""
    found = addresses(host, port, clock, untrusted)
    failure: OSError = OSError(f"{host} has no address")
    for index, (family, type_, protocol, _, address) in enumerate(found):
        sock = kind(family, type_, protocol)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
    """The addresses of a host; a resolver that hangs is abandoned when the time is over."""
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
"""What precedes an IPv4 address inside an IPv6 address (RFC 5214, 6.1)."""


def refuse_private(host: str, address: str) -> None:
    """Raise unless the address is public."""
    found = ipaddress.ip_address(address.partition("%")[0])
    seen: list[ipaddress.IPv4Address | ipaddress.IPv6Address] = [found]
    public = True
    if isinstance(found, ipaddress.IPv6Address):
        last = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        # An IPv4 address inside counts as well.
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
