"""Removing directories, and what killed processes left: temporaries, half-removed directories,
free locks.

This module knows names and who made them. It must not know keys or values.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from omnizarr.stores.local import files
from omnizarr.stores.local.containment import Beneath
from omnizarr.stores.local.file_lock import is_free, remove_if_free
from omnizarr.stores.local.folder import LIST, Folder, rename
from omnizarr.stores.local.temporary_names import (
    RESERVED,
    is_abandoned,
    name_beside,
    temporary_name,
)


class Ensure:
    """Creates directories. The first time, what killed deletions left in the root is removed."""

    def __init__(self, beneath: Beneath, older_than: float) -> None:
        self._beneath = beneath
        self._older_than = older_than
        self._swept = False

    def __call__(self, directory: str) -> None:
        self._beneath.ensure(directory)
        if not self._swept:
            self._swept = True
            with self._beneath.folder("", LIST) as root:
                remove_deleted(root, self._older_than)


def sweep(beneath: Beneath, older_than: float) -> list[str]:
    """Remove everything unused; give the names, relative to the root."""
    removed = []
    for directory, folder, name in _reserved(beneath):
        if _remove_abandoned(folder, name, older_than) or (
            name.endswith(".lock") and remove_if_free(folder, name)
        ):
            removed.append(f"{directory}/{name}" if directory else name)
    return sorted(removed)


def unused(beneath: Beneath, older_than: float) -> list[str]:
    """What `sweep` would remove."""
    return sorted(
        f"{directory}/{name}" if directory else name
        for directory, folder, name in _reserved(beneath)
        if _is_abandoned(folder, name, older_than)
        or (name.endswith(".lock") and is_free(folder, name))
    )


def remove_aside(beneath: Beneath, folder: Folder, name: str, older_than: float) -> None:
    """Remove a directory: rename it, so that it vanishes at once, and then remove what is in it.
    What killed processes left of such removals is removed, too. It is renamed into the root, where
    it is found again, or stays where it is if that cannot be."""
    aside = temporary_name("deleted")
    with beneath.folder("", LIST) as root:
        place = root
        try:
            rename(folder, name, root, aside)
        except FileNotFoundError:
            return
        except OSError:  # another disk, or no right to write in the root
            rename(folder, name, folder, aside)
            place = folder
        files.remove_tree(place.of(aside), place.fd)
        remove_deleted(root, older_than)


def remove_directory(beneath: Beneath, parent: str, name: str, older_than: float) -> None:
    """Remove a directory aside. Of a link to one, the link goes and its target stays."""
    try:
        with beneath.folder(parent) as folder:
            mode = folder.status(name).st_mode
            if stat.S_ISLNK(mode):
                if stat.S_ISDIR(folder.status(name, follow_symlinks=True).st_mode):
                    folder.unlink(name)
            elif stat.S_ISDIR(mode):
                remove_aside(beneath, folder, name, older_than)
    finally:
        beneath.forget()


def remove_unlocked(beneath: Beneath, names: Sequence[str]) -> list[str]:
    """Remove files in the root that have no lock file; give the names of the others."""
    if not names:
        return []
    locked: list[str] = []
    with beneath.folder("", LIST) as root:
        present = set(root.names())
        for name in names:
            if name_beside(name, "lock") in present:
                locked.append(name)
            else:
                with suppress(FileNotFoundError):
                    root.unlink(name)
    return locked


def remove_deleted(folder: Folder, older_than: float) -> None:
    """Remove half-removed directories of the folder that no process is removing."""
    for name in folder.names():
        if name.startswith(RESERVED) and name.endswith(".deleted"):
            _remove_abandoned(folder, name, older_than)


def count(beneath: Beneath, older_than: float) -> tuple[int, int]:
    """How many temporaries and half-removed directories are unused, and how many files are in
    them."""
    names = found = 0
    for directory, folder, name in _reserved(beneath):
        if _is_abandoned(folder, name, older_than):
            names += 1
            at = f"{directory}/{name}" if directory else name
            found += sum(len(inside) for *_, inside in os.walk(beneath.path(at))) or 1
    return names, found


def _reserved(beneath: Beneath) -> Iterator[tuple[str, Folder, str]]:
    """Every reserved name, with the directory that it is in."""
    waiting = [""]
    while waiting:
        directory = waiting.pop()
        try:
            folder = beneath.folder(directory, LIST)
        except (FileNotFoundError, NotADirectoryError):
            continue
        with folder:
            reserved = []
            with folder.scan() as entries:
                for entry in entries:
                    if entry.name.startswith(RESERVED):
                        reserved.append(entry.name)
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(f"{directory}/{entry.name}" if directory else entry.name)
            for name in reserved:
                yield directory, folder, name


def _is_abandoned(folder: Folder, name: str, older_than: float) -> bool:
    try:
        age = time.time() - folder.status(name).st_mtime
    except FileNotFoundError:
        return False
    return bool(is_abandoned(name, age, older_than))


def _remove_abandoned(folder: Folder, name: str, older_than: float) -> bool:
    if not _is_abandoned(folder, name, older_than):
        return False
    files.remove_tree(folder.of(name), folder.fd)
    return True
