"""Index pages of folders, as web servers show them: programs find the members of groups by them.

This module knows listings and HTML. It must not know requests.
"""

from __future__ import annotations

from html import escape
from urllib.parse import quote

import omnizarr
from omnizarr.errors import NodeNotFoundError
from omnizarr.server.requests import RequestError
from omnizarr.server.visible import shown
from omnizarr.stores import Store

MOST_ENTRIES = 20_000
"""A folder of more is not listed: part of it would look like all of it."""


def index_page(store: Store, prefix: str, *, groups_only: bool) -> bytes:
    """The page for a prefix. `groups_only`: no folders of chunks."""
    if not store.capabilities.listable:
        raise RequestError(404, "this store cannot be listed")
    if groups_only and not _is_group(store, prefix.rstrip("/")):
        raise RequestError(404, "there is no group here")
    listing = shown(store, store.list_dir(prefix))
    count = len(listing.keys) + len(listing.prefixes)
    if not count and prefix:
        raise RequestError(404, "there is nothing below this prefix")
    if count > MOST_ENTRIES:
        raise RequestError(501, f"{count} entries are too many to list")
    title = f"Index of /{escape(prefix)}"
    links = [_link(key[len(prefix) :]) for key in (*listing.prefixes, *listing.keys)]
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{title}</title></head><body><h1>{title}</h1><pre>",
            *links,
            "</pre></body></html>\n",
        ]
    ).encode("utf-8", "replace")


def _link(name: str) -> str:
    here = "./" if ":" in name else ""  # or what stands before it would be a scheme
    return f'<a href="{here}{quote(name, safe="/")}">{escape(name)}</a>'


def _is_group(store: Store, path: str) -> bool:
    try:
        return isinstance(omnizarr.open(store, path=path, mode="r"), omnizarr.Group)
    except NodeNotFoundError:
        return False
