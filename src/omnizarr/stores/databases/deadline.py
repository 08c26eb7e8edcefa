"""One deadline for all that a call sends and receives, whatever a client does in between.

Clients know a time for each step: to connect, to wait for each answer, each repetition anew. Here a
connection's socket never waits longer than the call that it works for has time left.

This module knows sockets, and connections that make one in `_connect`. It must not know what is
sent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_call = threading.local()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Everything that this thread does in the block ends in time. The outermost block counts."""
    if getattr(_call, "until", None) is not None:
        yield
        return
    _call.until = time.monotonic() + seconds
    try:
        yield
    finally:
        _call.until = None


def left() -> float | None:
    """The seconds that are left; None outside of a call."""
    until = getattr(_call, "until", None)
    if until is None:
        return None
    remaining: float = until - time.monotonic()
    if remaining <= 0:
        raise TimeoutError("no time is left")
    return remaining


class _Socket:
    """A socket that keeps to the deadline of the call in which it is used."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._timeout: float | None = inner.gettimeout()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds
        self._inner.settimeout(seconds)

    def gettimeout(self) -> float | None:
        return self._timeout

    def _ready(self) -> Any:
        if self._timeout != 0:
            remaining = left()
            known = [each for each in (remaining, self._timeout) if each is not None]
            self._inner.settimeout(min(known, default=None))
        return self._inner

    def recv(self, *arguments: Any) -> Any:
        return self._ready().recv(*arguments)

    def recv_into(self, *arguments: Any) -> Any:
        return self._ready().recv_into(*arguments)

    def send(self, *arguments: Any) -> Any:
        return self._ready().send(*arguments)

    def sendall(self, *arguments: Any) -> Any:
        return self._ready().sendall(*arguments)


def bounded(connection: type[Any]) -> type[Any]:
    """The class of connections, with sockets that keep to the deadline."""

    class Bounded(connection):  # type: ignore[misc]  # whichever class the client has
        def _connect(self) -> Any:
            remaining = left()
            if remaining is not None:
                self.socket_connect_timeout = remaining
            return _Socket(super()._connect())

    return Bounded
