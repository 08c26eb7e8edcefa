"""A lock between processes (and threads) that leaves nothing behind.

The lock is a file beside the value, locked with `flock`. A process holds the lock if its open file
is locked *and* still has the lock's name. The holder unlinks the name as its last act. A process
that waited for the unlinked file then finds that the name is gone or belongs to a newer file, and
starts again. Only a holder unlinks, and only its own file, so two
holders can never exist. A killed holder leaves an inert file: its lock ended with the process.

`flock` belongs to the open file, which a forked child shares. Hence the explicit unlock before
closing, and the hook that closes the child's copies, so that a child can neither prolong a lock
nor wait for one that it has itself.

A holder may also *become* the value: it writes into the lock file and renames that over the
value (`publish`). The name of the lock is gone with the rename, which releases it; so writing a
value under its lock costs hardly more than writing it to a temporary.

A holder keeps the directory open, and every name is looked up in that directory, not by its path:
when the directory is moved away and another one takes its place, the lock file of that name there
belongs to another holder and must not be renamed or unlinked. In the directory itself only its
holder removes a lock file. A lock that moved away with its directory excludes no process any more:
`is_valid` says so. docs/design/002 has the whole argument.

On Windows an open file can be neither unlinked nor renamed; the lock file stays, hidden, and is
reused, and `publish` is not available (`CAN_PUBLISH`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable

from omnizarr.model.store import Buffer
from omnizarr.runtime import forks
from omnizarr.stores.local import files
from omnizarr.stores.local.containment import Beneath
from omnizarr.stores.local.folder import Folder

_FLAGS = (
    os.O_RDWR
    | os.O_CREAT
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO of that name must not hold us up
)
_ATTEMPTS = 1000  # each means that the directory was removed in between

_open_files: set[int] = set()
_NO_FOLDER = Folder(None)

CAN_PUBLISH = sys.platform != "win32"

if sys.platform == "win32":
    import msvcrt

    def _acquire(file: int) -> None:
        while True:
            with contextlib.suppress(OSError):  # raised after ten seconds of waiting
                msvcrt.locking(file, msvcrt.LK_LOCK, 1)
                return

    def _try_acquire(file: int) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

    def _release(file: int, folder: Folder, name: str) -> None:
        _unlock(file)

else:
    import fcntl

    def _acquire(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _try_acquire(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)

    def _release(file: int, folder: Folder, name: str) -> None:
        try:
            with contextlib.suppress(FileNotFoundError):  # the directory was moved away and emptied
                if os.path.samestat(folder.status(name), os.fstat(file)):
                    folder.unlink(name)
        finally:
            _unlock(file)


def _close_in_child() -> None:
    for file in _open_files:
        with contextlib.suppress(OSError):
            os.close(file)
    _open_files.clear()


forks.in_child(_close_in_child)


def is_gone(error: OSError) -> bool:
    """Whether it says that a name, or the open directory in which it was looked up, is gone."""
    return error.errno in (errno.ENOENT, errno.ESTALE)


def _named(path: str, file: int) -> os.stat_result | None:
    """The state of the open file if `path` still names it; None if not."""
    try:
        there = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    here = os.fstat(file)
    same = here.st_ino == there.st_ino and here.st_dev == there.st_dev
    # Without a name: it was removed between the two looks.
    return here if same and here.st_nlink else None


def _open(folder: Folder, name: str, flags: int) -> int:
    # A child must know every open file, or it could not close its copy: no fork in between.
    with forks.postponed:
        file = os.open(folder.of(name), flags, 0o666, dir_fd=folder.fd)
        _open_files.add(file)
    return file


def _close(file: int) -> None:
    _open_files.discard(file)
    os.close(file)


def _give_up(file: int) -> None:
    with contextlib.suppress(OSError):  # it need not be locked
        _unlock(file)
    _close(file)


class FileLock:
    """Exclude every other holder of the lock `name` in a directory. Not reentrant.

    `ensure` creates the directory where it is missing; an empty one is removed after the release.
    With `optional`, the block is entered without a lock on a file system that has none.
    """

    __slots__ = (
        *("_beneath", "_created", "_directory", "_ensure", "_file", "_name", "_optional", "_path"),
        *("_process", "_size", "folder"),
    )

    def __init__(
        self,
        beneath: Beneath,
        directory: str,
        name: str,
        ensure: Callable[[str], None] | None = None,
        optional: bool = False,
    ) -> None:
        self._beneath = beneath
        self._directory = directory
        self._name = name
        self._ensure = ensure or beneath.ensure
        self._optional = optional
        self._path = f"{beneath.path(directory)}/{name}"
        self.folder = _NO_FOLDER
        """The directory in which the lock is held."""
        self._created = False
        """Whether the directory may be empty after the release."""
        self._file = -1
        self._process = 0
        self._size = 0
        """Not 0: there is something in the lock file."""

    def __enter__(self) -> FileLock:
        attempts = 0
        try:
            while True:
                try:
                    folder = self.folder = self._beneath.folder(self._directory)
                    file = _open(folder, self._name, _FLAGS)
                except OSError as error:
                    self.folder.close()
                    attempts += 1
                    self._make_directory(attempts, error)
                    continue
                try:
                    _acquire(file)
                    state = _named(self._path, file)
                    if state is not None:
                        if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1:
                            raise OSError(
                                errno.EINVAL,
                                f"{self._path!r} has the name of a lock file, and is not a regular"
                                " file with one link; remove it",
                            )
                        self._size = state.st_size
                        self._process = os.getpid()
                        self._file = file  # no call after this one, where an interrupt could arrive
                        return self
                except BaseException as error:
                    _give_up(file)
                    if self._optional and getattr(error, "errno", None) in files.NO_LOCKS:
                        return self
                    raise
                _give_up(file)
                folder.close()
        except BaseException:
            self.folder.close()
            raise

    def _make_directory(self, attempts: int, cause: OSError) -> None:
        if not is_gone(cause):
            raise cause
        if attempts > _ATTEMPTS:
            raise OSError(
                errno.EBUSY, "its directory is removed again and again", self._path
            ) from cause
        with contextlib.suppress(FileNotFoundError):  # removed again: try again
            self._ensure(self._directory)
        self._created = True

    @property
    def held(self) -> bool:
        """Whether this process holds the lock."""
        return self._file >= 0 and self._process == os.getpid()

    def prune_later(self) -> None:
        """Remove the directory after the release if it is empty then."""
        self._created = True

    @property
    def is_valid(self) -> bool:
        """Whether the lock excludes others: its path still names the file that is locked."""
        return _named(self._path, self._file) is not None

    def remove(self, name: str) -> None:
        """Remove the value."""
        self.folder.unlink(name)

    def publish(self, value: Buffer, name: str, fsync: bool) -> None:
        """Write the value into the lock file and rename that to `name`, which ends the lock. Where
        that cannot be, write it to a temporary beside it.

        An error that `is_gone` if the directory was moved away and is being removed."""
        file = self._file
        if file < 0 or not CAN_PUBLISH:
            files.put(self.folder, name, value, fsync)
            return
        if self._size:  # what a killed writer left, or an attempt that failed
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
        self._size = 1
        files.write_fully(file, value)
        if fsync:
            os.fsync(file)
        else:
            os.close(os.dup(file))  # a network file system tells of failed writes only here
        self.folder.replace(self._name, name)
        self._file = -1
        self._created = False  # the directory holds a value now
        try:
            if fsync:
                self.folder.sync()
        finally:
            try:
                _unlock(file)
                _close(file)
            except OSError:
                pass  # the value is in place, whatever happens now
            self.folder.close()

    def __exit__(self, *exc_info: object) -> None:
        if self._file < 0:
            self.folder.close()  # published, or without a lock
            return
        if self._process != os.getpid():
            return  # a forked child: the parent holds the lock
        file, self._file = self._file, -1
        try:
            _release(file, self.folder, self._name)
        finally:
            _close(file)
            self.folder.close()
            if self._created:
                self._beneath.prune(self._directory)


def remove_if_free(folder: Folder, name: str) -> bool:
    """Remove a lock file that no process holds; True if it was removed."""
    try:
        file = _open(folder, name, _FLAGS & ~os.O_CREAT)
    except OSError:
        return False
    try:
        if not _try_acquire(file):
            return False
        try:
            free = os.path.samestat(folder.status(name), os.fstat(file))
        except FileNotFoundError:
            free = False
        _release(file, folder, name)
        return free
    finally:
        _close(file)


def is_free(folder: Folder, name: str) -> bool:
    """Whether no process holds the lock of a lock file."""
    try:
        file = _open(folder, name, _FLAGS & ~os.O_CREAT)
    except OSError:
        return False
    try:
        return _try_acquire(file)
    finally:
        _close(file)  # which gives the lock back
