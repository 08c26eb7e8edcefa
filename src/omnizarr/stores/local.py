"""`LocalStore`: every value is a file below one directory, and its key is its path.

Reading costs four system calls: open, fstat, read, close. Nothing is followed out of the root
(see `beneath`), nothing but regular files is read, and reading never writes.

A value is written to its lock file beside it, which is then renamed over it (see `file_lock`): a
reader, or whatever comes after a crash, finds the old value or the new one, whole, and a writer
waits while another one reads the value to change it. With `fsync=True` this also holds for a loss
of power. What a killed writer leaves is hidden from listings; `sweep` removes it.

This module knows files. It must not know what values mean.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal

from omnizarr import limits
from omnizarr.errors import InvalidKeyError, LimitError, StoreError
from omnizarr.model.paths import check_key, check_prefix, deletion_steps, is_key
from omnizarr.model.store import Buffer, ByteRange, Capabilities, Listing, Read, Store, span
from omnizarr.properties import cached_property
from omnizarr.stores import files
from omnizarr.stores.beneath import Beneath
from omnizarr.stores.file_lock import CAN_PUBLISH, FileLock
from omnizarr.stores.files import is_missing, read_fully
from omnizarr.stores.temporary import RESERVED, is_reserved, name_beside, temporary_name

if TYPE_CHECKING:
    from pathlib import Path

_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A FIFO must not block the open, a terminal must not become ours.
_READ = os.O_RDONLY | _CLOEXEC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)

_ATTEMPTS = 1000  # each means that somebody removed the directory in between
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_DAY = 24 * 60 * 60.0


class LocalStore(Store):
    """Values as files below the directory `root`, which is created by the first `set`.

    read_only: refuse every change.
    fsync: wait until each written value has reached the disk.
    follow_symlinks: read through symbolic links, also those that lead out of `root`. (Writing
        replaces a link by a value and `delete` removes the link, never its target.)
    locking: exclude other processes in `lock`; say False on a file system without locks if only
        one process writes.
    dimension_separator: what new arrays should have between chunk coordinates.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        read_only: bool = False,
        fsync: bool = False,
        follow_symlinks: bool = False,
        locking: bool = True,
        dimension_separator: Literal[".", "/"] | None = None,
    ) -> None:
        path = os.fspath(root)
        if not isinstance(path, str):
            raise TypeError(f"the root must be a str or a path, found {type(path).__name__}")
        if not path or "\0" in path:
            raise InvalidKeyError(f"invalid directory {path!r}")
        self.path = os.path.abspath(path)
        self.read_only = read_only
        self.fsync = fsync
        self.follow_symlinks = follow_symlinks
        self.locking = locking
        self.capabilities = Capabilities(conditional=True, locks=locking, validators=True)
        if dimension_separator is not None:
            self.dimension_separator = dimension_separator
        self._beneath = Beneath(self.path.rstrip("/"), follow_symlinks)
        self._held: dict[tuple[str, int], FileLock] = {}
        """Locks by key and thread, so that `set` inside a lock does not wait for itself."""
        self._read_flags = _READ | (0 if follow_symlinks else _NOFOLLOW)

    @property
    def root(self) -> Path:
        from pathlib import Path  # takes longer to import than this module

        return Path(self.path)

    @cached_property
    def identity(self) -> Hashable:
        return "local", os.path.realpath(self.path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "identity"}
        return state | {"_held": {}}

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        file = self._open(key)
        if file < 0:
            return None
        try:
            return self._read(file, key, byte_range)
        finally:
            os.close(file)

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        answers: list[Buffer | None] = []
        last: str | None = None
        file = -1
        try:
            for key, byte_range in requests:
                if key != last:
                    if file >= 0:
                        file, closing = -1, file
                        os.close(closing)
                    file = self._open(key)
                    last = key
                answers.append(None if file < 0 else self._read(file, key, byte_range))
        finally:
            if file >= 0:
                os.close(file)
        return answers

    @contextmanager
    def snapshot(self, key: str) -> Iterator[Read]:
        # The open file stays what it is when another one takes its name.
        file = self._open(key)
        try:
            if file < 0:
                yield lambda byte_range: None
            else:
                yield lambda byte_range: self._read(file, key, byte_range)
        finally:
            if file >= 0:
                os.close(file)

    def size(self, key: str) -> int | None:
        status = self._status(key)
        return None if status is None else status.st_size

    def version(self, key: str) -> Hashable | None:
        status = self._status(key)
        return None if status is None else files.version_of(status)

    def _status(self, key: str) -> os.stat_result | None:
        path = self._find(key)
        if path is None:
            return None
        try:
            status = os.stat(path, follow_symlinks=self.follow_symlinks)
        except OSError as error:
            if is_missing(error):
                return None
            raise self._failure("read", key, error) from error
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise self._not_a_file(key, status.st_mode)
        return status if stat.S_ISREG(status.st_mode) else None

    def _find(self, key: str) -> str | None:
        """The path of the key's file; None if its directory does not exist."""
        check_key(key)
        if RESERVED in key and is_reserved(key):
            raise InvalidKeyError(
                f"invalid key {key!r}: {self!r} reserves names that begin with {RESERVED!r}"
            )
        beneath = self._beneath
        directory = key.rpartition("/")[0]
        if directory not in beneath.known:
            try:
                if not beneath.enter(directory):
                    return None
            except OSError as error:
                raise self._failure("reach", key, error) from error
        return f"{beneath.root}/{key}"

    def _open(self, key: str) -> int:
        """A descriptor, or -1 if there is no such key."""
        path = self._find(key)
        if path is None:
            return -1
        try:
            return os.open(path, self._read_flags)
        except OSError as error:
            if is_missing(error):
                return -1
            if error.errno == errno.ELOOP:
                raise self._not_a_file(key, stat.S_IFLNK) from error
            if error.errno == errno.ENXIO:  # a socket
                raise self._not_a_file(key, stat.S_IFSOCK) from error
            raise self._failure("read", key, error) from error

    def _read(self, file: int, key: str, byte_range: ByteRange | None) -> Buffer | None:
        try:
            status = os.fstat(file)
            mode = status.st_mode
            if not stat.S_ISREG(mode):
                if stat.S_ISDIR(mode):
                    return None
                raise self._not_a_file(key, mode)
            start, stop = 0, status.st_size
            if byte_range is not None:
                start, stop = span(byte_range, stop)
            length = stop - start
            if length > limits.current.max_chunk_bytes:
                raise LimitError(
                    f"{self!r}: reading {length} bytes of {key!r} at once; the cap is"
                    f" {limits.current.max_chunk_bytes} (limits.set(max_chunk_bytes=...))"
                )
            return read_fully(file, length, start)
        except StoreError:
            raise
        except OSError as error:
            raise self._failure("read", key, error) from error

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        path, directory = self._target(key)
        held = self._held.get((key, get_ident()))
        try:
            if held is not None and held.held:
                held.publish(value, path, self.fsync)
            elif self.locking and CAN_PUBLISH:
                self._publish(key, path, directory, value)
            else:
                self._replace(key, path, directory, value)
        except FileNotFoundError:  # the lock's directory was removed under it
            self._replace(key, path, directory, value)
        except OSError as error:
            if isinstance(error, StoreError):
                raise
            raise self._failure("write", key, error) from error
        if self.fsync:
            files.sync_directory(directory)

    def _publish(self, key: str, path: str, directory: str, value: Buffer) -> None:
        """Write the value while nobody else reads it to change it."""
        lock = self._file_lock(key, directory)
        try:
            lock.__enter__()
        except OSError as error:
            if error.errno not in files.NO_LOCKS:
                raise
            self._replace(key, path, directory, value)  # no locks on this disk
            return
        try:
            lock.publish(value, path, self.fsync)
        finally:
            lock.__exit__()

    def _replace(self, key: str, path: str, directory: str, value: Buffer) -> None:
        """Write the value to a temporary and rename that."""
        for attempt in range(_ATTEMPTS):
            try:
                files.put(directory, path, value, self.fsync)
                return
            except FileNotFoundError as error:
                self._make_directory(key, attempt, error)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.check_writable()
        path, directory = self._target(key)
        try:
            # Who holds the lock may have seen that there is no value, and be about to set one.
            with nullcontext() if os.path.lexists(path) else self._excluding(key):
                return self._link(key, path, directory, value)
        except StoreError as error:
            if getattr(error.__cause__, "errno", None) not in files.NO_LOCKS:
                raise
            return self._link(key, path, directory, value)  # no locks on this disk

    def _link(self, key: str, path: str, directory: str, value: Buffer) -> bool:
        """Write the value to a temporary and give that the name, if it is free."""
        for attempt in range(_ATTEMPTS):
            try:
                files.put(directory, path, value, self.fsync, replace=False)
                if self.fsync:
                    files.sync_directory(directory)
                return True
            except FileExistsError:
                if os.path.isdir(path):
                    raise StoreError(f"{self!r}: cannot write {key!r}: keys lie below it") from None
                return False
            except FileNotFoundError as error:
                self._make_directory(key, attempt, error)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise self._failure("write", key, error) from error
                with self._excluding(key):  # a file system without hard links
                    return super().set_if_absent(key, value)
        raise AssertionError("unreachable: the last attempt raises")

    def _target(self, key: str) -> tuple[str, str]:
        """Path and directory of a key that will be written; the directory may be missing."""
        path = self._find(key) or f"{self._beneath.root}/{key}"
        return path, path.rpartition("/")[0]

    def _make_directory(self, key: str, attempt: int, cause: OSError) -> None:
        if attempt == _ATTEMPTS - 1:
            raise self._failure("write", key, cause) from cause
        try:
            self._beneath.ensure(key.rpartition("/")[0])
        except FileNotFoundError:
            return  # removed again by somebody else: the next attempt creates it
        except OSError as error:
            raise self._failure("write", key, error) from error

    def delete(self, key: str) -> None:
        """Remove the value, and the directories above it that are then empty."""
        self.check_writable()
        path = self._find(key)
        if path is None or not os.path.lexists(path):
            return
        with self._excluding(key):
            try:
                os.unlink(path)
            except OSError as error:
                if is_missing(error) or os.path.isdir(path):
                    return
                raise self._failure("delete", key, error) from error
            held = self._held.get((key, get_ident()))
            if held is not None:
                held.finish_later()  # the lock is a file there
        self._beneath.prune(key.rpartition("/")[0])

    def delete_prefix(self, prefix: str) -> None:
        """Remove everything below `prefix`: it vanishes at once, then its space is freed."""
        self.check_writable()
        if check_prefix(prefix):
            self._remove_directory(prefix[:-1])
            return
        is_directory = dict(self._scan(""))
        for name in filter(is_directory.get, is_directory):
            self._remove_directory(name)
        for step in deletion_steps(name for name in is_directory if not is_directory[name]):
            for name in step:
                self.delete(name)

    def make_prefix(self, prefix: str) -> None:
        super().make_prefix(prefix)
        self._make_directory(prefix, 0, FileNotFoundError(prefix))

    def _remove_directory(self, directory: str) -> None:
        parent = directory.rpartition("/")[0]
        path = self._find(directory)
        if path is None:
            return
        try:
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode) and os.path.isdir(path):
                os.unlink(path)  # the link goes, what it leads to stays
            elif stat.S_ISDIR(mode):
                aside = f"{path.rpartition('/')[0]}/{temporary_name('deleted')}"
                os.rename(path, aside)
                files.remove_tree(aside)
        except OSError as error:
            if not is_missing(error):
                raise self._failure("delete", directory + "/", error) from error
        finally:
            self._beneath.forget()
        self._beneath.prune(parent)

    def move_prefix(self, source: str, target: str) -> None:
        """One rename, whatever lies below `source`."""
        if not source or not target:
            super().move_prefix(source, target)
            return
        self.check_move(source, target)
        for attempt in range(_ATTEMPTS):
            start, end = self._find(source[:-1]), self._target(target[:-1])[0]
            if start is None or not os.path.isdir(start):
                return
            try:
                os.rename(start, end)
                break
            except FileNotFoundError as error:
                self._make_directory(target[:-1], attempt, error)
            except OSError as error:
                raise self._failure("move", f"{source} to {target}", error) from error
        self._beneath.forget()
        self._beneath.prune(source[:-1].rpartition("/")[0])

    # -- listable -----------------------------------------------------------------------------
    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._walk(check_prefix(prefix)[:-1])

    def list_dir(self, prefix: str) -> Listing:
        keys: list[str] = []
        prefixes: list[str] = []
        for name, is_directory in self._scan(check_prefix(prefix)[:-1]):
            if is_directory and os.path.islink(self._beneath.path(prefix + name)):
                self._beneath.check_no_loop(prefix + name)
            (prefixes if is_directory else keys).append(prefix + name + "/" * is_directory)
        return Listing(keys, prefixes)

    def _walk(self, directory: str) -> Iterator[str]:
        # No recursion: how deep the directories go is not ours to choose.
        open_levels = [(directory + "/" if directory else "", iter(self._scan(directory)))]
        while open_levels:
            prefix, entries = open_levels[-1]
            for name, is_directory in entries:
                key = prefix + name
                if is_directory:
                    if os.path.islink(self._beneath.path(key)):
                        self._beneath.check_no_loop(key)
                    open_levels.append((key + "/", iter(self._scan(key))))
                    break
                yield key
            else:
                open_levels.pop()

    def _scan(self, directory: str) -> list[tuple[str, bool]]:
        """(name, is it a directory) in the order of the keys below, without what is not a key."""
        prefix = f"{directory}/" if directory else ""
        found: list[tuple[str, str, bool]] = []
        try:
            if not self._beneath.enter(directory):
                return []
            with os.scandir(self._beneath.path(directory)) as entries:
                for entry in entries:
                    name = entry.name
                    if name.startswith(RESERVED) or not is_key(prefix + name):
                        continue
                    is_directory = entry.is_dir()
                    if self.follow_symlinks and entry.is_symlink() and not os.path.exists(entry):
                        continue
                    found.append((name + "/" if is_directory else name, name, is_directory))
        except OSError as error:
            if is_missing(error):
                return []
            raise self._failure("list", prefix, error) from error
        return [(name, is_directory) for _, name, is_directory in sorted(found)]

    # -- safe updates -------------------------------------------------------------------------
    def lock(self, key: str) -> AbstractContextManager[object]:
        """Keep other writers out, of any process, until the block ends or sets the key."""
        self.check_writable()
        return self._locked(key) if self.locking else nullcontext()

    def _excluding(self, key: str) -> AbstractContextManager[object]:
        """The lock, unless this thread has it."""
        held = self._held.get((key, get_ident()))
        return nullcontext() if held is not None and held.held else self.lock(key)

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        lock = self._file_lock(key, self._target(key)[1])
        try:
            lock.__enter__()
        except OSError as error:
            raise self._failure("lock", key, error) from error
        owner = key, get_ident()
        self._held[owner] = lock  # an earlier one of this thread ended when it set the key
        try:
            yield
        finally:
            self._held.pop(owner, None)
            lock.__exit__()

    def _file_lock(self, key: str, directory: str) -> FileLock:
        parent, _, name = key.rpartition("/")
        beneath = self._beneath
        return FileLock(
            f"{directory}/{name_beside(name, 'lock')}",
            lambda: beneath.ensure(parent),
            lambda: beneath.prune(parent),
        )

    def sweep(self, older_than: float = _DAY) -> list[str]:
        """Remove what killed processes left: temporaries, half-removed directories, free locks.

        Files of another machine are removed only if they are older than `older_than` seconds.
        Gives the removed names, relative to the root."""
        self.check_writable()
        return files.sweep(self.path, older_than)

    # -- errors -------------------------------------------------------------------------------
    def _failure(self, doing: str, key: str, error: OSError) -> StoreError:
        return files.failure(repr(self), doing, key, error)

    def _not_a_file(self, key: str, mode: int) -> StoreError:
        return files.not_a_file(f"{self!r}: {key!r}", mode)


class NestedDirectoryStore(LocalStore):
    """A `LocalStore` whose new arrays have "/" between chunk coordinates."""

    dimension_separator = "/"


DirectoryStore = LocalStore
