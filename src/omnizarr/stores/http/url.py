"""The URL of a web store, parsed, with its secrets masked where it is shown.

This module knows URLs. It must not know connections.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from omnizarr.errors import StoreError
from omnizarr.stores.secrets import masked_path, masked_query

PORTS = {"http": 80, "https": 443}
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_IN_PATHS = "/%:@!$&'()*+,;=~"
_IN_QUERIES = _IN_PATHS + "?"


class Origin(NamedTuple):
    """A server. Credentials and headers for one origin are never sent to another."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


@dataclass(frozen=True)
class Address:
    """The target of a request. It may hold secrets; `shown` does not."""

    origin: Origin
    path: str
    """Percent-encoded."""
    query: str = ""

    @property
    def target(self) -> str:
        """The target of the request line."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def shown(self) -> str:
        """For messages: without secrets, and without a slash at the end."""
        query = f"?{masked_query(self.query)}" if self.query else ""
        return f"{self.origin}{masked_path(self.path).rstrip('/')}{query}"

    def below(self, key: str, query: str = "") -> Address:
        """The address of a key below this one, which ends with "/"."""
        joined = "&".join(part for part in (query, self.query) if part)
        return Address(self.origin, self.path + quote(key, safe="/"), joined)


@dataclass(frozen=True, repr=False)
class Base:
    """The root of a store, and the credentials in its URL."""

    address: Address
    user: str | None = None
    password: str | None = None

    @property
    def shown(self) -> str:
        if self.user is None:
            return self.address.shown
        # Without a password the name may be a token.
        login = f"{quote(self.user)}:***" if self.password else "***"
        scheme, _, rest = self.address.shown.partition("://")
        return f"{scheme}://{login}@{rest}"


def parse(url: str) -> Base:
    """A store's URL. Its text is never part of an error: it may hold a secret."""
    try:
        parts = urlsplit(url)
        host, user, password = parts.hostname, parts.username, parts.password
    except ValueError:  # urlsplit checks brackets and the letters of the host
        raise StoreError(
            "not a URL of a web store: its host is malformed; expected a URL like"
            " https://host:port/path, with an IPv6 address in brackets"
        ) from None
    try:
        port = parts.port
    except ValueError:
        raise StoreError(
            "not a URL of a web store: its port must be a number from 0 to 65535, as in"
            " https://host:8080/path"
        ) from None
    scheme = parts.scheme.lower()
    if scheme not in PORTS or not host:
        raise StoreError(
            f"a web store has a URL like https://host/path, found the scheme {scheme!r}"
            f" and {'a host' if host else 'no host'}"
        )
    origin = Origin(scheme, _host(host), port or PORTS[scheme])
    path = without_dots(_encoded(parts.path, _IN_PATHS))
    if not path.endswith("/"):
        path += "/"
    address = Address(origin, path, _encoded(parts.query, _IN_QUERIES))
    return Base(
        address,
        None if user is None else unquote(user),
        None if password is None else unquote(password),
    )


def _host(host: str) -> str:
    if host.isascii():
        plain = host.lower()
    else:
        try:
            plain = host.encode("idna").decode("ascii").lower()
        except UnicodeError as error:
            raise StoreError(f"not the name of a host: {host!r}") from error
    if any(character.isspace() or not character.isprintable() for character in plain):
        raise StoreError(f"not the name of a host: {host!r}")
    return plain


def _encoded(text: str, safe: str) -> str:
    """Percent-encode what is not encoded yet."""
    return quote(_BARE_PERCENT.sub("%25", text), safe=safe)


def without_dots(path: str) -> str:
    """The path without "." and ".." (RFC 3986, 5.2.4), beginning with "/"."""
    segments: list[str] = []
    names = path.split("/")
    for name in names:
        if name == "..":
            del segments[-1:]
        elif name != ".":
            segments.append(name)
    joined = "/".join(segments)
    if names[-1] in (".", "..") and not joined.endswith("/"):
        joined += "/"
    return joined if joined.startswith("/") else "/" + joined


def follow(location: str, here: Address) -> Address | None:
    """The target of a `Location` or link on the page `here`; None if it is no web address."""
    from urllib.parse import urljoin

    try:
        parts = urlsplit(urljoin(f"{here.origin}{here.path}", location.strip()))
        host, port = parts.hostname, parts.port
        scheme = parts.scheme.lower()
        if scheme not in PORTS or not host:
            return None
        origin = Origin(scheme, _host(host), port or PORTS[scheme])
    except (ValueError, StoreError):
        return None
    path = without_dots(_encoded(parts.path, _IN_PATHS))
    return Address(origin, path, _encoded(parts.query, _IN_QUERIES))
