"""Keys in an ordered index: where a prefix ends, and what lies directly below one.

Keys are ordered as their UTF-8 bytes are, which is how Python orders str too.

This module knows keys. It must not know any database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from omnizarr.model.paths import is_key
from omnizarr.model.store import Listing


def beyond(prefix: str) -> str:
    """The first str after everything that starts with `prefix`, which ends with "/".

    >>> beyond("a/b/")
    'a/b0'
    """
    return prefix[:-1] + "0"  # the character after "/"


def listing_by_jumps(seek: Callable[[str], Iterator[str]], prefix: str) -> Listing:
    """`Store.list_dir` where `seek(start)` gives the stored keys from `start` on, in order: what
    lies below a name is jumped over, not read."""
    keys: list[str] = []
    prefixes: list[str] = []
    begin = len(prefix)
    start: str | None = prefix
    while start is not None:
        following, start = seek(start), None
        for key in following:
            if not key.startswith(prefix):
                break
            slash = key.find("/", begin)
            if slash < 0:
                if is_key(key):
                    keys.append(key)
                continue
            if not is_key(key):
                continue  # one below the same name may be valid
            prefixes.append(key[: slash + 1])
            start = beyond(key[: slash + 1])
            break
    return Listing(keys, prefixes)
