"""URLs and options of databases.

This module knows how they are spelled. It must not know any database.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from omnizarr.errors import StoreError
from omnizarr.stores.secrets import masked_url


def local_path(url: str) -> str:
    """The path in `scheme:///absolute/path` or `scheme://relative/path`."""
    scheme, _, rest = url.partition("://")
    wrong = "?" in rest or "#" in rest or "://" in rest or not rest.strip("/")
    if wrong or re.match("[^/]*:[^/]*@", rest):
        raise StoreError(
            f"{masked_url(url)!r}: expected {scheme}:///absolute/path or {scheme}://relative/path;"
            " options are given as storage_options"
        )
    if scheme.lower() == "sqlite" and rest.startswith("//"):
        rest = "/" + rest.lstrip("/")  # as SQLAlchemy spells an absolute path
    path = unquote(rest)
    if os.name == "nt" and re.match(r"/[A-Za-z]:/", path):
        path = path[1:]
    return path


def refuse_url(store: str, name: str, value: object, instead: str) -> None:
    """Raise a TypeError if what a store was given as another argument is a URL, of which nothing
    is shown: it may hold a password."""
    if isinstance(value, str) and "://" in value:
        raise TypeError(f"the {name} of a {store} is no URL, found one: {instead}")


def refuse_unknown(
    error: Exception, options: Mapping[str, Any], usual: Iterable[str], what: str, client: str
) -> None:
    """Raise a TypeError if a client's error names an option that was given: nothing else of its
    text is shown, for it may hold values."""
    text = str(error)
    unknown = [name for name in options if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    if unknown:
        raise TypeError(
            f"{what} does not take the storage_options {sorted(unknown)} with these values; usual"
            f" are timeout, {', '.join(usual)}, and others that {client} takes"
        ) from None
    if isinstance(error, TypeError):
        raise TypeError(f"{client} does not take these storage_options") from None
