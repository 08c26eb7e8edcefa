"""Listings that web servers offer: index pages for people, JSON ones, and S3's XML.

A page counts as a listing only if it says so; any other page would look like an empty folder. Only
links to names directly below the page count: links up, elsewhere, or to another order of the page
are no members of the folder.

This module knows what such pages look like. It must not request them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from urllib.parse import unquote

from omnizarr.errors import StoreError
from omnizarr.model.paths import is_key
from omnizarr.model.store import Listing
from omnizarr.stores.http.pages import STEPS, read_page
from omnizarr.stores.http.url import Address, follow

MOST_BYTES = 32 * 1024 * 1024
"""The longest page that is read."""
DEEPEST = 16
"""How deep elements of S3's XML may be nested; a listing has three levels."""
MOST_NAMES = 10_000_000
"""A listing with more entries is refused as endless."""

# How titles of pages begin: of nginx, Apache, lighttpd, http-server and others; Python's
# http.server; Jetty; serve.
_TITLE = re.compile(
    r"\s*(index of|directory listing|listing of|directory:|files within)\b|\s*directory: ",
    re.IGNORECASE,
)


def _unhurried() -> None:
    """No deadline."""


def parse_index(
    body: bytes, kind: str, page: Address, prefix: str, check: Callable[[], None] = _unhurried
) -> Listing | None:
    """The listing of `prefix` in an index page at `page`; None if it is no index page.

    `check` is called now and then, and raises when the time is over."""
    if kind == "application/json" or kind.endswith("+json"):
        names = _names_of_json(body)
    elif kind in ("text/html", "application/xhtml+xml"):
        names = _names_of_html(body, page, check)
    else:
        names = None
    return None if names is None else _listing(names, prefix)


def _names_of_html(body: bytes, page: Address, check: Callable[[], None]) -> list[str] | None:
    found = read_page(body.decode("utf-8", errors="replace"), check)
    if not any(_TITLE.match(heading) for heading in found.headings):
        return None
    names: list[str] = []
    for number, link in enumerate(found.links):
        if not number % STEPS:
            check()
        if link.startswith(("?", "#")):
            continue
        target = follow(link, page)
        if (
            target is None
            or target.origin != page.origin
            or target.query
            or not target.path.startswith(page.path)
        ):
            continue
        name = target.path[len(page.path) :]
        plain = unquote(name.removesuffix("/"), errors="replace")
        if plain and "/" not in plain:
            names.append(plain + "/" if name.endswith("/") else plain)
    return names


def _names_of_json(body: bytes) -> list[str] | None:
    """Entries of nginx have `type`, those of Caddy `is_dir`."""
    try:
        entries = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entries, list):
        return None
    names: list[str] = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            return None
        if not {"type", "is_dir"} & entry.keys():
            return None
        name = entry["name"].removesuffix("/")
        if "/" in name:
            return None
        folder = entry.get("type") == "directory" or entry.get("is_dir") is True
        names.append(name + "/" if folder else name)
    return names


def _listing(names: Iterable[str], prefix: str) -> Listing:
    keys: set[str] = set()
    prefixes: set[str] = set()
    for name in names:
        if is_key(prefix + name.removesuffix("/")):
            (prefixes if name.endswith("/") else keys).add(prefix + name)
    return Listing(sorted(keys), sorted(prefixes))


# -- S3 ---------------------------------------------------------------------------------------


class Bucket(NamedTuple):
    """One page of ListObjectsV2."""

    keys: list[str]
    prefixes: list[str]
    token: str | None
    """The continuation token for the next page."""


def parse_bucket(body: bytes, check: Callable[[], None] = _unhurried) -> Bucket | None:
    """A page of an S3-style listing; None if it is something else."""
    from xml.parsers import expat

    if b"<ListBucketResult" not in body[:4096]:
        return None
    keys: list[str] = []
    prefixes: list[str] = []
    found: dict[str, str] = {}
    path: list[str] = []
    text: list[str] = []

    steps = 0

    def start(tag: str, _: Any) -> None:
        nonlocal steps
        steps += 1
        if not steps % STEPS:
            check()
        if len(path) == DEEPEST:
            raise StoreError("the listing nests elements in elements too deeply")
        path.append(tag.rpartition(":")[2])
        text.clear()

    def end(_: str) -> None:
        inside = "/".join(path[1:])
        value = "".join(text)
        if inside == "Contents/Key":
            keys.append(value)
        elif inside == "CommonPrefixes/Prefix":
            prefixes.append(value)
        elif inside in ("IsTruncated", "NextContinuationToken"):
            found[inside] = value
        path.pop()
        text.clear()

    def refuse(*_: Any) -> None:
        raise StoreError("the listing declares XML entities, which no listing needs")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text.append
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        raise StoreError(f"the listing is no well-formed XML: {error}") from error
    token = None
    if found.get("IsTruncated", "").strip().lower() == "true":
        token = found.get("NextContinuationToken")
        if not token:
            raise StoreError("the listing is incomplete and does not say how to go on")
    return Bucket(keys, prefixes, token)
