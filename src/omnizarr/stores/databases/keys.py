"""Keys in an ordered index: where a prefix ends, and the direct children of one.

Keys are ordered as their UTF-8 bytes are, which is how Python orders str too. An index that is not
in order is damaged, and reading it might never end.

This module knows keys. It must not know any database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from omnizarr.errors import StoreError
from omnizarr.model.paths import is_key
from omnizarr.model.store import Listing


def beyond(prefix: str) -> str:
    """The first str after everything that starts with `prefix`, which ends with "/".

    >>> beyond("a/b/")
    'a/b0'
    """
    return prefix[:-1] + "0"  # the character after "/"


def listing_by_jumps(
    seek: Callable[[str], Iterator[str]],
    prefix: str,
    where: str = "the index",
    room: int | None = None,
) -> Listing:
    """`Store.list_dir` where `seek(start)` gives the stored keys from `start` on, in order. Keys
    below a child are skipped, not read. `room`: all keys together are shorter than this."""
    keys: list[str] = []
    prefixes: list[str] = []
    begin = len(prefix)
    read = 0
    start: str | None = prefix
    while start is not None:
        following, start = seek(start), None
        for key in following:
            if not key.startswith(prefix):
                break
            read += len(key) + 1
            if room is not None and read > room:
                raise StoreError(f"{where} is damaged: it shows more keys than fit into it")
            slash = key.find("/", begin)
            if not is_key(key):
                continue  # one below the same name may be valid
            if slash < 0:
                keys.append(key)
                continue
            name = key[: slash + 1]
            if prefixes and name <= prefixes[-1]:
                raise StoreError(
                    f"{where} is damaged: the key {key!r} comes after {prefixes[-1]!r}"
                )
            prefixes.append(name)
            start = beyond(name)
            break
    return Listing(keys, prefixes)
