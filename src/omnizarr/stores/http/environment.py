"""What the environment says about connections: proxies, and whose certificates to trust.

The names are those that curl and most programs know: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and
NO_PROXY in capital or small letters (small ones win), REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE,
SSL_CERT_FILE and SSL_CERT_DIR. On Windows and macOS the settings of the system count where no proxy
is named.

This module knows the environment. It must not know connections.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from urllib.parse import unquote, urlsplit

from omnizarr.errors import StoreError
from omnizarr.stores.http.url import PORTS, Origin

BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables that name a file or folder of authorities; the first one counts. OpenSSL itself reads
SSL_CERT_FILE and SSL_CERT_DIR."""


@dataclass(frozen=True)
class Proxy:
    """A proxy. Its headers may hold a password; they are never shown."""

    origin: Origin
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return str(self.origin)


def proxy_for(origin: Origin) -> Proxy | None:
    """The proxy that the environment names for an origin."""
    from urllib.request import getproxies

    named = getproxies()
    url = named.get(origin.scheme) or named.get("all")
    if not url or _is_exempt(origin, named.get("no", "")):
        return None
    return _parse(url, origin)


def _parse(url: str, origin: Origin) -> Proxy:
    """A proxy's URL. Its text is never part of an error: it may hold a password."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host:
        raise StoreError(
            f"the environment names a proxy for {origin} whose URL cannot be read; expected"
            " something like http://user:password@host:3128"
        )
    scheme = parts.scheme.lower()
    if scheme not in PORTS:
        raise StoreError(
            f"the environment names a proxy of the kind {scheme!r} for {origin}; only http and"
            f" https proxies are supported. Set {origin.scheme.upper()}_PROXY, or name the host in"
            " NO_PROXY"
        )
    headers: dict[str, str] = {}
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {b64encode(login.encode()).decode('ascii')}"
    return Proxy(Origin(scheme, host, port or PORTS[scheme]), headers)


def _is_exempt(origin: Origin, exempt: str) -> bool:
    """Whether NO_PROXY, or the settings of the system, exempt an origin from proxies."""
    from urllib.request import proxy_bypass

    if exempt.strip() == "*":
        return True
    try:
        address = ip_address(origin.host)
    except ValueError:
        return bool(proxy_bypass(f"{origin.host}:{origin.port}"))
    for entry in exempt.split(","):
        try:
            if address in ip_network(entry.strip().strip("[]"), strict=False):
                return True
        except ValueError:
            continue  # the name of a host
    return address.version == 4 and bool(proxy_bypass(f"{origin.host}:{origin.port}"))


def authorities() -> tuple[str, str] | None:
    """The variable that names a file or folder of authorities, and its value."""
    for name in BUNDLES:
        value = os.environ.get(name)
        if value:
            return name, value
    return None
