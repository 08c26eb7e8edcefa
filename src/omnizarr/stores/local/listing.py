"""What a directory of a `LocalStore` holds, without what is not a key.

This module knows names. It must not know values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from omnizarr.model.paths import is_key
from omnizarr.stores.local.containment import Beneath
from omnizarr.stores.local.folder import LIST
from omnizarr.stores.local.temporary_names import RESERVED

FILE, DIRECTORY, LINK = "file", "directory", "link to a directory"


def scan(beneath: Beneath, directory: str) -> list[tuple[str, str]]:
    """(name, what it is) in the order of the keys below."""
    prefix = f"{directory}/" if directory else ""
    found: list[tuple[str, str, str]] = []
    with (
        beneath.folder(directory, LIST) as folder,
        folder.scan() as entries,
    ):
        for entry in entries:
            name = entry.name
            if name.startswith(RESERVED) or not is_key(prefix + name):
                continue
            if entry.is_dir():
                found.append((name + "/", name, LINK if entry.is_symlink() else DIRECTORY))
            elif not (beneath.follow_symlinks and entry.is_symlink() and _is_broken(entry)):
                found.append((name, name, FILE))
    return [(name, kind) for _, name, kind in sorted(found)]


def walk(
    beneath: Beneath, directory: str, scan: Callable[[str], list[tuple[str, str]]]
) -> Iterator[str]:
    """Every key below the directory, sorted; `scan` is the function above with its errors named."""
    # No recursion: how deep the directories go is not ours to choose.
    open_levels = [(directory + "/" if directory else "", iter(scan(directory)))]
    while open_levels:
        prefix, entries = open_levels[-1]
        for name, kind in entries:
            key = prefix + name
            if kind is not FILE:
                if kind is LINK:
                    beneath.check_no_loop(key)
                open_levels.append((key + "/", iter(scan(key))))
                break
            yield key
        else:
            open_levels.pop()


def _is_broken(link: os.DirEntry[str]) -> bool:
    try:
        link.stat()
    except OSError:
        return True
    return False
