"""Requests to a web server: attempts, redirects and errors, all before one deadline.

    client.fetch("GET", address, take, clock)

`take(answer)` reads the body, and is called anew for every attempt. `fetch` returns its result, or
None if the server says that there is no such thing. There are only GET and HEAD requests, so
repeating one is always safe.

This module knows HTTP. It must not know what the values are.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar

from omnizarr.errors import (
    HTTPStatusError,
    StoreAccessError,
    StoreClosedError,
    StoreError,
    StoreTimeoutError,
)
from omnizarr.runtime.optional_packages import package
from omnizarr.runtime.properties import cached_property
from omnizarr.stores.http.chunked import Broken
from omnizarr.stores.http.connection import Certificates, Clock, Idle, Security
from omnizarr.stores.http.environment import proxy_for
from omnizarr.stores.http.url import Address, Base, Origin, follow
from omnizarr.stores.options import mapping_of
from omnizarr.stores.retries import RetryPolicy, attempts

if TYPE_CHECKING:
    from omnizarr.stores.http.batch import Line
    from omnizarr.stores.http.transport import Answer, Transport

T = TypeVar("T")

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5
BUSY = frozenset({408, 425, 429})
"""Statuses that are worth another attempt, besides all from 500 on but 501 and 505."""
FIRST_DELAY = 0.1
"""Seconds before the second attempt."""
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


class Client:
    """Asks one origin, and others where redirects to them are allowed."""

    def __init__(self, origin: Origin, policy: Policy, security: Security) -> None:
        self.origin = origin
        self.policy = policy
        self.security = security
        self.certificates = Certificates(security)
        self._attempts = RetryPolicy(policy.retries + 1, FIRST_DELAY)
        self._transport: Transport | None = None
        self._lines: Idle[Line] | None = None
        self._closed = False

    @cached_property
    def is_direct(self) -> bool:
        """Whether there is no proxy to the origin of the store."""
        try:
            return proxy_for(self.origin) is None
        except StoreError:
            return False  # `fetch` raises it

    def fetch(
        self,
        method: Literal["GET", "HEAD"],
        address: Address,
        take: Callable[[Answer], T],
        clock: Clock,
        *,
        headers: Mapping[str, str] | None = None,
        accept: frozenset[int] = frozenset({200}),
    ) -> T | None:
        """Ask until there is an answer, the attempts are used up, or the deadline is near.

        Errors do not say which key was asked for: the caller does."""
        number, failure, cause = 0, StoreError(), None
        for attempt in attempts(self._attempts, clock.end):
            number = attempt.number
            try:
                return self._once(method, address, take, clock, headers or {}, accept)
            except StoreError:
                raise
            except _Busy as busy:
                failure, cause = busy.error, None
                attempt.wait_at_least(busy.pause)
            except (OSError, http.client.HTTPException, Broken) as error:
                failure, cause = _failed(error, clock), error
        through = "" if self.is_direct else f", proxy {proxy_for(self.origin)}"
        failure.args = (f"{failure} (attempt {number}, deadline {clock.deadline:g} s{through})",)
        raise failure from cause

    def close(self) -> None:
        self._closed = True
        if self._transport is not None:
            self._transport.close()
        if self._lines is not None:
            self._lines.close()

    def transport(self) -> Transport:
        """The connections of this process: a forked child must not talk on those of its parent."""
        self._check_open()
        found = self._transport
        if found is None or found.pid != os.getpid():
            package("urllib3", "http", "HTTPStore")
            from omnizarr.stores.http.transport import Transport

            found = self._transport = Transport(self.certificates, self.security.untrusted)
        return found

    def lines(self) -> Idle[Line]:
        """The same for `batch`."""
        self._check_open()
        found = self._lines
        if found is None or found.pid != os.getpid():
            found = self._lines = Idle()
        return found

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError("the store was closed")

    def _once(
        self,
        method: str,
        address: Address,
        take: Callable[[Answer], T],
        clock: Clock,
        headers: Mapping[str, str],
        accept: frozenset[int],
    ) -> T | None:
        """One attempt, redirects included."""
        transport = self.transport()
        for _ in range(MOST_REDIRECTS + 1):
            with transport.ask(method, address, self._headers(address, headers), clock) as answer:
                if answer.status in self.policy.missing:
                    return None
                if answer.status not in REDIRECTS:
                    if answer.status not in accept:
                        raise self._refused(answer)
                    return take(answer)
                beyond = self._redirected(answer)
            if beyond is None:
                return None
            address = beyond
        raise StoreError(f"more than {MOST_REDIRECTS} redirects, one after the other")

    def _headers(self, address: Address, own: Mapping[str, str]) -> dict[str, str]:
        headers = {"Accept": "*/*", "User-Agent": "omnizarr"}
        if address.origin == self.origin:
            headers.update(self.policy.headers)
        # A range of a compressed answer is no range of the value.
        return {**headers, "Accept-Encoding": "identity", **own}

    def requester(self, method: str, own: Mapping[str, str]) -> Callable[[str], bytes]:
        """A function that gives the head of a request for a target at the origin."""
        headers = self._headers(Address(self.origin, "/"), own)
        if not any(name.lower() == "host" for name in headers):
            headers["Host"] = str(self.origin).partition("://")[2]
        fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        rest = f" HTTP/1.1\r\n{fields}\r\n".encode("latin-1")
        begin = f"{method} ".encode("ascii")
        return lambda target: begin + target.encode("ascii") + rest

    def _redirected(self, answer: Answer) -> Address | None:
        """Where to ask instead; None if the server says that there is a folder."""
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
                f"the server redirects from https to {beyond.origin}, where the data could be"
                " changed on the way; it is not followed",
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
        if status == 407 and proxy_for(answer.address.origin) is not None:
            return StoreAccessError(
                f"{message}: the proxy wants other credentials"
                " (HTTP_PROXY=http://user:password@host:port)"
            )
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
    """The headers to send with every request; errors never show a value."""
    found: dict[str, str] = {}
    for name, value in mapping_of("headers", headers).items():
        text: tuple[object, object] = (name, value)  # not all callers are typed
        if not isinstance(text[0], str) or not isinstance(text[1], str):
            raise TypeError("headers must be a mapping from str to str")
        plain = name.isascii() and all(ord(c) < 256 and c not in "\r\n\0" for c in name + value)
        if not plain or not name.strip():
            raise ValueError(f"the header {name!r} has characters that no header can have")
        found[name] = value
    if auth is None and base.user is not None:
        auth = (base.user, base.password or "")
    if auth is not None:
        pair: object = auth  # not all callers are typed
        if isinstance(pair, str | bytes) or not isinstance(pair, Sequence) or len(pair) < 2:
            raise TypeError(
                f"auth must be a pair of user and password; found {type(pair).__name__}"
            )
        if any(name.lower() == "authorization" for name in found):
            raise TypeError("credentials are given twice: as auth (or in the URL), and in headers")
        token = b64encode(f"{auth[0]}:{auth[1]}".encode()).decode("ascii")
        found["Authorization"] = f"Basic {token}"
    return found


def _phrase(status: int) -> str:
    return f"{status} {http.client.responses.get(status, '')}".strip()


def _failed(error: Exception, clock: Clock) -> StoreError:
    """Explain a broken connection, or raise if another attempt cannot help."""
    if isinstance(error, ssl.SSLCertVerificationError):
        raise StoreError(
            f"the server's certificate is not trusted: {error.verify_message}"
            " (verify= or SSL_CERT_FILE names a file with other authorities)"
        ) from error
    if isinstance(error, socket.gaierror):
        failure = f"the host has no address ({error.strerror})"
        if error.errno == socket.EAI_NONAME:
            raise StoreError(f"{failure}; is its name right?") from error
        return StoreError(failure)
    if clock.left <= 0:
        return StoreTimeoutError("no whole answer before the deadline")
    if isinstance(error, TimeoutError):
        return StoreTimeoutError("the server fell silent")
    if isinstance(error, Broken):
        return StoreError(str(error))
    if isinstance(error, http.client.IncompleteRead):
        return StoreError("the body broke off")
    if isinstance(error, OSError) and error.strerror:
        return StoreError(f"the connection failed: {error.strerror}")
    return StoreError(f"the connection failed: {type(error).__name__}")


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
