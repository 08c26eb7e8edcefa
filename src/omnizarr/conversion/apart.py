"""Whether a source and a destination are in each other's way.

What a store occupies is a place on disk (a folder, an archive) or something in this process. Places
on disk are compared by what the file system calls them, not by their names: links of both kinds,
mounts and other spellings lead to the same one. A path that merely leads through the other's folder
counts too, for whoever replaces that folder cuts it off.

This module knows stores and files. It must not know nodes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from omnizarr.conversion.chunks import innermost
from omnizarr.errors import StoreError
from omnizarr.model import paths
from omnizarr.model.store import Store
from omnizarr.stores import LocalStore

_MOST_LINKS = 40


class Location(NamedTuple):
    """Where a node lies: in something known by its identity, and on disk if it is there."""

    store: Store
    path: str

    def __str__(self) -> str:
        return f"{self.store!r}, path {'/' + self.path!r}"

    @property
    def inside(self) -> tuple[Any, str]:
        """The store within all wrappers, and the node's path in it."""
        identity, key = self.store.locate(paths.join(self.path, "x"))
        return identity, paths.parent(key)

    @property
    def file(self) -> str | None:
        """The folder or archive that holds it; None if it is not on disk."""
        from omnizarr.stores import ZipStore  # which is imported when it is first needed

        store = innermost(self.store)
        if isinstance(store, LocalStore):
            return os.path.join(store.path, self.inside[1])
        return store.path if isinstance(store, ZipStore) else None


def check_apart(sources: Iterable[Location], target: Location) -> None:
    """Refuse a destination that lies in a source, around it, or is the same."""
    for source in sources:
        if _overlap(source, target):
            raise _in_the_way(source, target)


def check_nodes_apart(sources: Iterable[Location], targets: Iterable[Location]) -> None:
    """Refuse nodes whose folders are the same: links inside a hierarchy may lead to the other."""
    folders = {_identity(file): source for source in sources if (file := source.file) is not None}
    folders.pop(None, None)
    for target in targets:
        found = folders.get(_identity(target.file)) if target.file is not None else None
        if found is not None:
            raise _in_the_way(found, target)


def _in_the_way(source: Location, target: Location) -> StoreError:
    return StoreError(
        f"the destination ({target}) and the source ({source}) lie inside one another; choose"
        " another place, or no destination at all to change the format in place"
    )


def _overlap(one: Location, other: Location) -> bool:
    (left, path), (right, beside) = one.inside, other.inside
    if left == right:
        begin, end = (f"{found}/" if found else "" for found in (path, beside))
        return begin.startswith(end) or end.startswith(begin)
    here, there = one.file, other.file
    if here is None or there is None:
        return False
    return _is_on_way(here, there) or _is_on_way(there, here)


def _is_on_way(file: str, path: str) -> bool:
    """Whether a path leads to a file or folder, or through it."""
    wanted = _identity(file)
    if wanted is None:
        return False
    return any(_identity(passed) == wanted for passed in _passed(path))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _passed(path: str) -> list[str]:
    """Every folder and link on the way to a path, and what lies there."""
    passed = [os.sep]
    pending = os.path.abspath(path).split(os.sep)[1:]
    links = 0
    here = os.sep
    while pending:
        name = pending.pop(0)
        if name in ("", "."):
            continue
        here = os.path.dirname(here) if name == ".." else os.path.join(here, name)
        passed.append(here)
        if os.path.islink(here) and links < _MOST_LINKS:
            links += 1
            target = os.readlink(here)
            pending = target.split(os.sep) + pending
            here = os.sep if os.path.isabs(target) else os.path.dirname(here)
    return passed
