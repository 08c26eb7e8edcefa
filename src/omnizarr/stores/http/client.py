"""One question to a web server: attempts, redirects and errors, all before one deadline.

    client.fetch("GET", address, take, clock, where)

`take(answer)` reads the body and is called anew for every attempt; what it gives is the result.
None means that the server says that there is no such thing. Only GET and HEAD are asked, so asking
again is always safe.

This module knows HTTP. It must not know what is asked for.
"""

from __future__ import annotations

import http.client
import os
import random
import re
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from omnizarr.errors import (
    HTTPStatusError,
    StoreAccessError,
    StoreClosedError,
    StoreError,
    StoreTimeoutError,
)
from omnizarr.runtime import parallel
from omnizarr.stores.http.chunked import Broken, Chunked
from omnizarr.stores.http.connection import Clock, Pool, Security
from omnizarr.stores.http.url import Address, Base, Origin, follow

T = TypeVar("T")

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5
BUSY = frozenset({408, 425, 429})
"""What is worth another attempt, besides every status from 500 but 501 and 505."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
DRAINED = 64 * 1024
"""Bytes of an unwanted body that are read so that its connection can be reused."""
PIECE = 8 * 1024 * 1024
"""What is read at once: no server makes us allocate what it only promises."""
_NUMBER = re.compile(r"[0-9]{1,18}\Z")


@dataclass(frozen=True, repr=False)
class Policy:
    """How to ask. It may hold secrets."""

    deadline: float = 60.0
    timeout: float = 20.0
    """How long a server may be silent before the attempt counts as failed."""
    retries: int = 5
    missing: frozenset[int] = frozenset({404})
    redirects: Literal["origin", True, False] = "origin"
    headers: Mapping[str, str] = field(default_factory=dict)
    """For the origin of the store, and for no other."""

    def clock(self) -> Clock:
        return Clock(self.deadline, min(self.timeout, self.deadline))


class _Busy(Exception):
    """The server asks for another attempt, perhaps after a pause."""

    def __init__(self, error: StoreError, pause: float) -> None:
        self.error = error
        self.pause = pause


class Answer:
    """What came back; its body is read once, never beyond what is asked for."""

    def __init__(self, response: http.client.HTTPResponse, address: Address) -> None:
        self._response = response
        self.address = address
        self.status = response.status
        declared = (response.headers.get("Content-Length") or "").strip()
        self.declared = int(declared) if _NUMBER.match(declared) else None
        empty = response.length == 0  # also what a HEAD is answered with
        self.length = 0 if empty else None if response.chunked else self.declared
        """How long the body is, if that is known ahead."""
        self.framed = self.length is not None or response.chunked
        """Whether a body that breaks off can be told from one that ends."""
        self._position = 0
        self._chunked = Chunked(response.fp) if response.chunked and not empty else None

    def header(self, name: str) -> str | None:
        return self._response.headers.get(name)

    def read(self, count: int) -> bytes:
        """The next `count` bytes, or as many as there are before the proper end."""
        pieces: list[bytes] = []
        wanted = count
        while wanted > 0:
            parallel.check()
            piece = self._piece(min(wanted, PIECE))
            if not piece:
                break
            pieces.append(piece)
            self._position += len(piece)
            wanted -= len(piece)
        if wanted > 0 and self.length is not None and self._position < self.length:
            raise Broken(f"the body ended after {self._position} of {self.length} bytes")
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _piece(self, most: int) -> bytes:
        if self._chunked is None:
            return self._response.read(most)
        if self._response.isclosed():
            return b""
        piece = self._chunked.read(most)
        if not piece:
            self._response.close()  # the connection stays open for the next request
        return piece

    def skip(self, count: int) -> None:
        while count > 0:
            piece = self.read(min(count, DRAINED * 4))
            if not piece:
                return
            count -= len(piece)

    def finish(self) -> bool:
        """Leave the body behind; True if the connection can be used again."""
        try:
            return self._drain()
        except (OSError, http.client.HTTPException, Broken, StoreError):
            return False  # what was wanted has been read

    def _drain(self) -> bool:
        response = self._response
        if not response.isclosed():
            rest = None if self.length is None else self.length - self._position
            if response.will_close or (rest is not None and rest > DRAINED):
                return False
            self.skip(DRAINED)
            if not response.isclosed() and self._piece(1):
                return False
        return response.isclosed() and not response.will_close


class Client:
    """Asks one origin, and others where redirects to them are allowed."""

    def __init__(self, origin: Origin, policy: Policy, security: Security) -> None:
        self.origin = origin
        self.policy = policy
        self._security = security
        self._pool: Pool | None = None
        self._closed = False

    def fetch(
        self,
        method: Literal["GET", "HEAD"],
        address: Address,
        take: Callable[[Answer], T],
        clock: Clock,
        where: str,
        *,
        headers: Mapping[str, str] | None = None,
        accept: frozenset[int] = frozenset({200}),
    ) -> T | None:
        attempt = 0
        while True:
            parallel.check()
            pause = 0.0
            cause: Exception | None = None
            try:
                return self._once(method, address, take, clock, headers or {}, accept)
            except StoreError as error:
                raise error.at(where) from error.__cause__
            except _Busy as busy:
                failure, pause = busy.error.at(where), busy.pause
            except (OSError, http.client.HTTPException, Broken) as error:
                failure, cause = _failed(error, where, clock), error
            attempt += 1
            pause = max(pause, _pause(attempt))
            if attempt > self.policy.retries or pause >= clock.left:
                more = f" (attempt {attempt}, deadline {clock.deadline:g} s)"
                raise _said(failure, more) from cause
            _sleep(pause)

    def close(self) -> None:
        self._closed = True
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def connections(self) -> Pool:
        pool = self._pool
        if pool is None or pool.pid != os.getpid():
            if self._closed:
                raise StoreClosedError("the store was closed")
            # A forked child must not talk on the connections of its parent.
            pool = self._pool = Pool(self._security)
        return pool

    def _once(
        self,
        method: str,
        address: Address,
        take: Callable[[Answer], T],
        clock: Clock,
        headers: Mapping[str, str],
        accept: frozenset[int],
    ) -> T | None:
        """One attempt. Errors do not say where: the caller does."""
        pool = self.connections()
        for _ in range(MOST_REDIRECTS + 1):
            connection = pool.take(address.origin, clock)
            reusable = False
            try:
                answer = Answer(
                    connection.ask(method, address.target, self._headers(address, headers)), address
                )
                status = answer.status
                if status in self.policy.missing:
                    connection.clock = clock.short()
                    reusable = answer.finish()
                    return None
                if status in REDIRECTS:
                    beyond = self._redirected(answer)
                    connection.clock = clock.short()
                    reusable = answer.finish()
                    if beyond is None:
                        return None
                    address = beyond
                    continue
                if status not in accept:
                    raise self._refused(answer)
                result = take(answer)
                connection.clock = clock.short()
                reusable = answer.finish()
                return result
            finally:
                if reusable:
                    pool.give_back(connection)
                else:
                    connection.close()
        raise StoreError(f"more than {MOST_REDIRECTS} redirects, one after the other")

    def _headers(self, address: Address, own: Mapping[str, str]) -> dict[str, str]:
        headers = {"Accept": "*/*", "User-Agent": "omnizarr"}
        if address.origin == self.origin:
            headers.update(self.policy.headers)
        # A range of what a server compressed on the way is no range of the value.
        return {**headers, "Accept-Encoding": "identity", **own}

    def requester(
        self, target: Callable[[str], str], own: Mapping[str, str]
    ) -> Callable[[str], bytes]:
        """What makes the bytes of a GET for the target of a key at the origin."""
        headers = self._headers(Address(self.origin, "/"), own)
        if not any(name.lower() == "host" for name in headers):
            headers["Host"] = str(self.origin).partition("://")[2]
        fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        rest = f" HTTP/1.1\r\n{fields}\r\n".encode("latin-1")
        return lambda key: b"GET " + target(key).encode("ascii") + rest

    def _redirected(self, answer: Answer) -> Address | None:
        """Where to ask instead; None if the server says that it has a folder there."""
        here = answer.address
        beyond = follow(answer.header("Location") or "", here)
        if beyond is None or beyond == here:
            raise HTTPStatusError(
                f"the server answered {_phrase(answer.status)} and did not say where else to ask",
                answer.status,
            )
        folder = beyond.path == here.path + "/" and beyond.query in ("", here.query)
        if beyond.origin == here.origin and folder:
            return None
        hint = "allow_redirects=True follows it, without your credentials"
        if self.policy.redirects is False:
            raise HTTPStatusError(
                f"the server redirects to {beyond.origin}, and redirects are not followed"
                " (allow_redirects=False)",
                answer.status,
            )
        if beyond.origin.scheme == "http" and here.origin.scheme == "https":
            raise HTTPStatusError(
                f"the server redirects from https to {beyond.origin}, where anybody could"
                " change what is read; it is not followed",
                answer.status,
            )
        if beyond.origin != self.origin and self.policy.redirects is not True:
            raise HTTPStatusError(
                f"the server redirects to another origin, {beyond.origin}: {hint}",
                answer.status,
            )
        return beyond

    def _refused(self, answer: Answer) -> Exception:
        status = answer.status
        message = f"the server answered {_phrase(status)}"
        if status in (401, 403, 407):
            given = "were not enough" if self.policy.headers else "are missing"
            hint = f"credentials {given} (headers=, auth=)"
            if status == 403:
                hint += "; some servers say so of missing keys: missing_statuses=(403, 404)"
            return StoreAccessError(f"{message}: {hint}")
        error = HTTPStatusError(message, status)
        if status in BUSY or (status >= 500 and status not in (501, 505)):
            return _Busy(error, _retry_after(answer.header("Retry-After")))
        return error


def headers_of(
    headers: Mapping[str, str] | None, auth: Sequence[str] | None, base: Base
) -> dict[str, str]:
    """What a caller wants to be sent with every request; errors never show a value."""
    found: dict[str, str] = {}
    for name, value in (headers or {}).items():
        text: tuple[object, object] = (name, value)  # whatever the annotation promised
        if not isinstance(text[0], str) or not isinstance(text[1], str):
            raise TypeError("headers must be a mapping from str to str")
        plain = name.isascii() and all(ord(c) < 256 and c not in "\r\n\0" for c in name + value)
        if not plain or not name.strip():
            raise ValueError(f"the header {name!r} has characters that no header can have")
        found[name] = value
    if auth is None and base.user is not None:
        auth = (base.user, base.password or "")
    if auth is not None:
        if isinstance(auth, str) or len(auth) < 2:
            raise TypeError("auth must be a pair of user and password")
        if any(name.lower() == "authorization" for name in found):
            raise TypeError("credentials are given twice: as auth (or in the URL), and in headers")
        token = b64encode(f"{auth[0]}:{auth[1]}".encode()).decode("ascii")
        found["Authorization"] = f"Basic {token}"
    return found


def _phrase(status: int) -> str:
    return f"{status} {http.client.responses.get(status, '')}".strip()


def _said(failure: StoreError, more: str) -> StoreError:
    if isinstance(failure, HTTPStatusError):
        return HTTPStatusError(f"{failure}{more}", failure.status)
    return type(failure)(f"{failure}{more}")


def _failed(error: Exception, where: str, clock: Clock) -> StoreError:
    """What broke between us and the server. The texts of other libraries may hold the URL."""
    if isinstance(error, ssl.SSLCertVerificationError):
        raise StoreError(
            f"{where}: the server's certificate is not trusted: {error.verify_message}"
            " (verify= names a file with other authorities)"
        ) from error
    if isinstance(error, socket.gaierror):
        failure = f"the host has no address ({error.strerror})"
        if error.errno == socket.EAI_NONAME:
            raise StoreError(f"{where}: {failure}; is its name right?") from error
        return StoreError(f"{where}: {failure}")
    if clock.left <= 0:
        return StoreTimeoutError(f"{where}: no whole answer before the deadline")
    if isinstance(error, TimeoutError):
        return StoreTimeoutError(f"{where}: the server fell silent")
    if isinstance(error, Broken):
        return StoreError(f"{where}: {error}")
    if isinstance(error, http.client.IncompleteRead):
        return StoreError(f"{where}: the body broke off")
    if isinstance(error, OSError) and error.strerror:
        return StoreError(f"{where}: the connection failed: {error.strerror}")
    return StoreError(f"{where}: the connection failed: {type(error).__name__}")


def _pause(attempt: int) -> float:
    most = min(LONGEST_PAUSE, SHORTEST_PAUSE * 2.0 ** (attempt - 1))
    return most * random.uniform(0.5, 1.0)


def _sleep(seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        parallel.check()
        time.sleep(min(left, 0.1))


def _retry_after(value: str | None) -> float:
    """Seconds that a server asks for, as a number or as a date."""
    text = (value or "").strip()
    if _NUMBER.match(text):
        return float(text)
    if text:
        from email.utils import parsedate_to_datetime

        try:
            return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        except (ValueError, OverflowError):
            return 0.0
    return 0.0
