"""The directories of a store: nothing outside of the root can be opened through them.

A symbolic link inside a store could lead anywhere. On Linux one system call (`openat2`) opens a
path and fails if any part of it is a link. Where it fails for that reason, or does not exist, the
path is walked: each directory is opened in the one above it, without following links, and a link
that is met is resolved and the walk begins again at the root with what it leads to, if that is
beneath the root. So replacing a directory by a link meanwhile cannot lead out of the store.

Links in the root's own path are resolved once, when they are first met.

Where directories have no descriptors (Windows), each directory is looked at before it is first
used. That is remembered, and a directory that is replaced by a link *while the store is open* is
not noticed there.

This module knows directories. It must not know values or how they are written.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

from omnizarr.errors import NotAFileError
from omnizarr.model.paths import ancestors, is_key
from omnizarr.model.store import ByteRange, FilePrefix
from omnizarr.runtime.properties import cached_property
from omnizarr.stores.local.folder import (
    HAS_DESCRIPTORS,
    LIST,
    NOFOLLOW,
    SEARCH,
    Folder,
    Open,
    ReadFile,
    opener,
    read_files,
    reader,
)
from omnizarr.stores.local.temporary_names import RESERVED

FILE, DIRECTORY, LINK = "file", "directory", "link to a directory"

_MOST_REMEMBERED = 1 << 16
_MOST_LINKS = 40
_WALK = {-errno.ELOOP, -errno.EINTR, -errno.EAGAIN}
"""Answers of the one system call after which the path is walked."""
_NOT_A_DIRECTORY = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}  # what systems say of a link


class Beneath:
    """Directories beneath `root`, named relative to it with "/" between; "" is the root."""

    def __init__(self, root: str, follow_symlinks: bool) -> None:
        self.root = root
        self.follow_symlinks = follow_symlinks
        self._direct: Open | None = None if follow_symlinks else opener()
        self._read_file: ReadFile | None = None if self._direct is None else reader()
        self._prefix = os.fsencode(root) + b"/"
        """What stands before a key: the root as it was given. A link in it is refused, like any
        other, and whatever is done then asks for `base`, which resolves it for the next time."""
        self.prefixes: dict[str, FilePrefix] = {}
        """What `files` gave."""

    def __reduce__(self) -> Any:
        return Beneath, (self.root, self.follow_symlinks)

    @cached_property
    def base(self) -> str:
        """The root's path without a "/" at its end, and without links unless they are followed."""
        root = self.root or "/"
        file = -1 if self._direct is None else self._direct(os.fsencode(root), SEARCH)
        if file >= 0:
            os.close(file)  # there are no links
        elif not self.follow_symlinks:
            root = os.path.realpath(root)
        base = root.rstrip("/")
        self._prefix = os.fsencode(base) + b"/"
        return base

    @cached_property
    def _proved(self) -> set[str]:
        """Directories that were proved to be beneath the root, where there are no descriptors."""
        return set()

    @property
    def reads(self) -> bool:
        """Whether `read` can do more than refuse."""
        return self._read_file is not None

    def files(self, prefix: str) -> FilePrefix | None:
        """The path before the rest of a key; None where one system call cannot open a path
        beneath the root alone."""
        if self._direct is None and not self.follow_symlinks:
            return None
        self.base  # noqa: B018 - the path that is handed out leads through no link
        found = FilePrefix(self._prefix + prefix.encode(), self.follow_symlinks)
        if len(self.prefixes) < _MOST_REMEMBERED:
            self.prefixes[prefix] = found
        return found

    def path(self, directory: str) -> str:
        return f"{self.base}/{directory}" if directory else self.base or "/"

    def read(self, key: str, flags: int, part: ByteRange | None, most: int) -> bytes | int:
        """A regular file, or part of it, opened and read in one call. Minus the number of an error
        if it has more than `most` bytes or anything else is unusual: `open` it to find out what.
        ENOENT always means that there is no such file."""
        read = self._read_file
        if read is None:
            return -errno.ENOSYS
        start, stop = part or (0, None)
        return read(self._prefix + key.encode(), flags, start, stop, most)

    def read_many(self, flags: int, keys: list[str], stop: int, most: int) -> list[bytes | int]:
        """`read` for the first `stop` bytes of many files, all in one call."""
        return read_files(self._prefix, keys, flags, stop, most)

    def open(self, key: str, flags: int, parent: Folder | None = None) -> int:
        """Open a file to read it, in the folder `parent` if that is open already; a negative
        number, or an error, if there is none. What stands in its place may be a directory or a
        device; a link is not followed unless all are."""
        if parent is not None:
            return os.open(key[key.rfind("/") + 1 :], flags, dir_fd=parent.fd)
        direct = self._direct
        if direct is not None:
            file = direct(self._prefix + key.encode(), flags)
            if file >= 0 or file == -errno.ENOENT:
                return file
            if file not in _WALK:
                raise OSError(-file, os.strerror(-file), self.path(key))
        if self.follow_symlinks:
            return os.open(f"{self.base}/{key}", flags)
        directory, _, name = key.rpartition("/")
        with self.folder(directory) as folder:
            if not HAS_DESCRIPTORS:  # Windows would follow a link, and refuse to open a directory
                mode = folder.status(name).st_mode
                if stat.S_ISLNK(mode) or stat.S_ISDIR(mode):
                    code = errno.ELOOP if stat.S_ISLNK(mode) else errno.ENOENT
                    raise OSError(code, os.strerror(code), self.path(key))
            return os.open(folder.of(name), flags | NOFOLLOW, dir_fd=folder.fd)

    def shared(self, directory: str) -> Folder | None:
        """A directory to open several files in; None where each is opened by its path."""
        if self.follow_symlinks or not HAS_DESCRIPTORS:
            return None
        try:
            return self.folder(directory)
        except OSError:
            return None  # opening the first file says why

    def folder(self, directory: str, flags: int = SEARCH) -> Folder:
        """Open a directory. FileNotFoundError or NotADirectoryError if there is none; StoreError if
        a link leads out of the store."""
        direct = self._direct
        if direct is not None:
            file = direct(self._prefix + directory.encode(), flags)
            if file >= 0:
                return Folder(file)
            if file not in _WALK:
                raise OSError(-file, os.strerror(-file), self.path(directory))
        path = self.path(directory)
        if not HAS_DESCRIPTORS:
            if not self.follow_symlinks:
                self._prove(directory)
            elif not os.path.isdir(path):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            return Folder(None, path.rstrip("/") + "/")
        if self.follow_symlinks or not directory:
            return Folder(os.open(path, flags))
        return Folder(self._walk(directory.split("/"), flags))

    def _walk(self, names: list[str], flags: int) -> int:
        """A descriptor of the directory, from one opened without following links to the next."""
        for _ in range(_MOST_LINKS):
            current = os.open(self.base or "/", SEARCH if names else flags)
            for depth, name in enumerate(names, 1):
                step = flags if depth == len(names) else SEARCH
                try:
                    below = os.open(name, step | NOFOLLOW, dir_fd=current)
                except OSError as error:
                    if error.errno not in _NOT_A_DIRECTORY or not _is_link(name, current):
                        raise
                    names = self._target("/".join(names[:depth])) + names[depth:]
                    break
                finally:
                    os.close(current)
                current = below
            else:
                return current
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self.path("/".join(names)))

    def _target(self, link: str) -> list[str]:
        """The names from the root to what a link leads to."""
        path = self.path(link)
        target, base = os.path.realpath(path), os.path.realpath(self.base or "/")
        if target != base and not target.startswith(os.path.join(base, "")):
            raise NotAFileError(
                f"the symbolic link {path!r} leads outside the store (to {target!r});"
                " pass follow_symlinks=True if you trust it"
            )
        return [name for name in target[len(base) :].split(os.sep) if name]

    def _prove(self, directory: str) -> None:
        """What `folder` does, for systems without descriptors of directories."""
        for below in ["", *_from_the_top(directory)]:
            path = self.path(below)
            if below in self._proved and os.path.isdir(path):
                continue
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode) and below:
                self._target(below)
            if not os.path.isdir(path):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            if len(self._proved) >= _MOST_REMEMBERED:
                self._proved = set()
            self._proved.add(below)

    def ensure(self, directory: str) -> None:
        """Create `directory` and its parents where they are missing, beneath the root only."""
        missing: list[str] = []
        while True:
            try:
                self.folder(directory).close()
                break
            except FileNotFoundError:
                if not directory:
                    os.makedirs(self.base or "/", exist_ok=True)
                    break
                missing.append(directory)
                directory = directory.rpartition("/")[0]
        for below in reversed(missing):
            parent, _, name = below.rpartition("/")
            with self.folder(parent) as folder:
                try:
                    os.mkdir(folder.of(name), dir_fd=folder.fd)
                except FileExistsError:
                    if stat.S_ISLNK(folder.status(name).st_mode):  # it leads nowhere
                        raise NotADirectoryError(
                            errno.ENOTDIR, "a broken link, not a directory", self.path(below)
                        ) from None

    def prune(self, directory: str) -> None:
        """Remove `directory` and its parents as far as they are empty, never the root."""
        while directory:
            parent, _, name = directory.rpartition("/")
            try:
                with self.folder(parent) as folder:
                    os.rmdir(folder.of(name), dir_fd=folder.fd)
            except OSError:
                return  # not empty, gone already, or not ours to remove
            directory = parent

    def forget(self) -> None:
        """Directories were moved or removed: prove them again."""
        self._proved = set()

    def scan(self, directory: str) -> list[tuple[str, str]]:
        """(name, what it is) of all that may be part of a key, in the order of the keys below."""
        prefix = f"{directory}/" if directory else ""
        found: list[tuple[str, str, str]] = []
        with self.folder(directory, LIST) as folder, folder.scan() as entries:
            for entry in entries:
                name = entry.name
                if name.startswith(RESERVED) or not is_key(prefix + name):
                    continue
                if _leads_to_directory(entry):
                    found.append((name + "/", name, LINK if entry.is_symlink() else DIRECTORY))
                elif not (self.follow_symlinks and entry.is_symlink() and _is_broken(entry)):
                    found.append((name, name, FILE))
        return [(name, kind) for _, name, kind in sorted(found)]

    def check_no_loop(self, directory: str) -> None:
        """Raise if `directory`, through a symbolic link, is one of its own parents."""
        file = (
            -1 if self._direct is None else self._direct(self._prefix + directory.encode(), SEARCH)
        )
        if file >= 0:
            os.close(file)
            return  # there is no link on the way
        target = os.path.realpath(self.path(directory))
        if target == self.path(directory):
            return  # there is no link on the way
        parent = directory
        while parent:
            parent = parent.rpartition("/")[0]
            if os.path.realpath(self.path(parent)) == target:
                raise NotAFileError(
                    f"the symbolic link {self.path(directory)!r} leads to its own parent"
                )


def _is_link(name: str, directory: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _from_the_top(directory: str) -> list[str]:
    """'a/b/c' as ['a', 'a/b', 'a/b/c']."""
    return [*ancestors(directory)[1:], directory] if directory else []


def _leads_to_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return False  # a link to itself leads nowhere, like one to what is missing


def _is_broken(link: os.DirEntry[str]) -> bool:
    try:
        link.stat()
    except OSError:
        return True
    return False
