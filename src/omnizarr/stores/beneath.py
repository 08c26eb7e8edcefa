"""The directories of a store, and the proof that each of them lies beneath the root.

A symbolic link inside a store could lead anywhere. Before a directory is used for the first
time, each of its parents and the directory itself are looked at: a link must resolve beneath the
root. What was proved is remembered, which makes the proof cost nothing per value. The trade: a
directory that somebody replaces by a link *while the store is open* is not noticed. Whoever can
do that can write into the store anyway; what is guarded against is a store that arrives with
links in it.

This module knows directories. It must not know keys' values or how they are written.
"""

from __future__ import annotations

import errno
import os
import stat

from omnizarr.errors import StoreError
from omnizarr.model.paths import ancestors
from omnizarr.properties import cached_property
from omnizarr.stores.files import is_missing

_MOST_REMEMBERED = 1 << 16


class Beneath:
    """Directories beneath `root`, named relative to it with "/" between; "" is the root."""

    def __init__(self, root: str, follow_symlinks: bool) -> None:
        self.root = root
        self.follow_symlinks = follow_symlinks
        self.known: set[str] = {""}
        """Directories that were proved to lie beneath the root."""

    @cached_property
    def real_root(self) -> str:
        return os.path.realpath(self.root)

    def path(self, directory: str) -> str:
        return f"{self.root}/{directory}" if directory else self.root or "/"

    def enter(self, directory: str) -> bool:
        """Prove that `directory` lies beneath the root; False if it does not exist."""
        if directory in self.known:
            return True
        for below in _from_the_top(directory):
            if below in self.known:
                continue
            path = self.path(below)
            try:
                mode = os.lstat(path).st_mode
            except OSError as error:
                if is_missing(error):
                    return False
                raise
            if stat.S_ISLNK(mode):
                self._check_link(path)
                if not os.path.isdir(path):
                    return False
            elif not stat.S_ISDIR(mode):
                return False
            self._remember(below)
        return True

    def ensure(self, directory: str) -> None:
        """Create `directory` and its parents where they are missing, beneath the root only."""
        os.makedirs(self.root or "/", exist_ok=True)
        for below in _from_the_top(directory):
            self.known.discard(below)
            path = self.path(below)
            try:
                os.mkdir(path)
            except FileExistsError:
                # Not there any more is no error: who called tries again.
                if not self.enter(below) and os.path.lexists(path) and not os.path.isdir(path):
                    raise NotADirectoryError(
                        errno.ENOTDIR, "a value, not a directory", path
                    ) from None
            else:
                self._remember(below)

    def prune(self, directory: str) -> None:
        """Remove `directory` and its parents as far as they are empty, never the root."""
        while directory:
            try:
                os.rmdir(self.path(directory))
            except OSError:
                return  # not empty, gone already, or not ours to remove
            self.known.discard(directory)
            directory = directory.rpartition("/")[0]

    def forget(self) -> None:
        """Directories were moved or removed: prove them again."""
        self.known = {""}

    def check_no_loop(self, directory: str) -> None:
        """Raise if the symbolic link `directory` leads to one of its own parents."""
        target = os.path.realpath(self.path(directory))
        parent = directory
        while parent:
            parent = parent.rpartition("/")[0]
            if os.path.realpath(self.path(parent)) == target:
                raise StoreError(
                    f"the symbolic link {self.path(directory)!r} leads to its own parent"
                )

    def _check_link(self, path: str) -> None:
        if self.follow_symlinks:
            return
        target = os.path.realpath(path)
        if target != self.real_root and not target.startswith(os.path.join(self.real_root, "")):
            raise StoreError(
                f"the symbolic link {path!r} leads outside the store (to {target!r});"
                " pass follow_symlinks=True if you trust it"
            )

    def _remember(self, directory: str) -> None:
        if len(self.known) >= _MOST_REMEMBERED:
            self.forget()
        self.known.add(directory)


def _from_the_top(directory: str) -> list[str]:
    """'a/b/c' as ['a', 'a/b', 'a/b/c']."""
    return [*ancestors(directory)[1:], directory] if directory else []
