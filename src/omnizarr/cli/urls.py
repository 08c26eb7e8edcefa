"""URLs that a person types, and the options that open them.

A URL may go on inside the store: `s3://bucket/data.zarr/group/array`. What may be secret in a URL
or in an option is never shown. This module knows how URLs are spelled. It must not open anything.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from omnizarr.stores import masked_url, store_kind

HELP = "an option of the store, such as endpoint=URL or token=TEXT; may be repeated"
_LOCAL = ("file", "sqlite", "lmdb", "dbm", "reference")
"""Schemes whose URL names a file or folder of this machine."""
DATABASES = ("sqlite", "lmdb", "dbm")
_FIXED = ("redis", "rediss", "valkey", "valkeys", "mongodb", "mongodb+srv")
"""Schemes whose path is not a path in one store."""
_MOST_LEVELS = 12
_SECRET = re.compile(r"key|secret|token|password|sas|signature|credential|auth", re.IGNORECASE)


def is_url(text: str) -> bool:
    return "://" in text


def masked(url: str) -> str:
    """The URL without the passwords and signatures that it may hold."""
    return masked_url(url, ("prefix",) if url.partition("://")[0].lower() in _FIXED else ())


def places(url: str, node: str) -> Iterator[tuple[str, str]]:
    """Every URL of a store that may be meant, and the path in it, the nearest first."""
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme in _LOCAL:
        yield _local(scheme, rest, node)
        return
    yield url, node
    if "::" in url or scheme in _FIXED:
        return
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    for _ in range(_MOST_LEVELS):
        path, slash, name = path.rpartition("/")
        if not slash or not name:
            return
        node = f"{unquote(name)}/{node}" if node else unquote(name)
        yield parts._replace(path=path).geturl(), node


def _local(scheme: str, rest: str, node: str) -> tuple[str, str]:
    """A file or folder that exists, and the rest of the path."""
    outer, inner = rest.rstrip("/"), node
    while not exists(outer):
        above, slash, name = outer.rpartition("/")
        if not slash or not above:
            return f"{scheme}://{rest}", node
        outer, inner = above, f"{name}/{inner}" if inner else name
    if scheme == "lmdb":
        found = not os.path.isdir(outer) or os.path.exists(os.path.join(outer, "data.mdb"))
    else:
        found = scheme == "file" or not os.path.isdir(outer) or _is_parquet(outer)
    if not found:
        return f"{scheme}://{rest}", node  # nothing of that kind is there, which is said on opening
    return f"{scheme}://{outer}", inner


def _is_parquet(folder: str) -> bool:
    """Whether a folder is one of references, which have a folder for each variable."""
    return os.path.exists(os.path.join(folder, ".zmetadata"))


def exists(path: str) -> bool:
    """Whether a file, a folder or a database is there; a DBM database has files of other names."""
    if os.path.lexists(path):
        return True
    known = store_kind(path) if path else None
    return known is not None and known.is_there(path)


def takes_options(file: str) -> bool:
    """Whether what is opened there is anything but a plain folder or an archive."""
    if is_url(file):
        return not file.lower().startswith("file://")
    return store_kind(file) is not None


# -- options -----------------------------------------------------------------------------------


def option(text: str) -> tuple[str, Any]:
    """KEY=VALUE. The value is text, or JSON: a number, true, false, null, "…", […] or {…}."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        from argparse import ArgumentTypeError

        raise ArgumentTypeError("expected KEY=VALUE")  # and not what was found: it may be secret
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value


def secrets(options: Mapping[str, Any]) -> Iterator[str]:
    """What must not be shown, of the values of options."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from secrets(value)
        elif _SECRET.search(name) and isinstance(value, str | int) and len(str(value)) > 3:
            yield str(value)


def hidden(text: str, options: Mapping[str, Any]) -> str:
    """The text without them."""
    for secret in secrets(options):
        text = text.replace(secret, "***")
    return text


def add_option(parser: Any, name: str = "--storage-option", help: str = HELP) -> None:  # noqa: A002
    parser.add_argument(
        name, metavar="KEY=VALUE", type=option, action="append", default=[], help=help
    )
