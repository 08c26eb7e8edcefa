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

`KeyLocks` are the locks of a store's keys. They are reentrant: the thread that holds one does not
wait for itself. For that, `owned` has the locks that the threads of this process hold.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import get_ident

from omnizarr.errors import ConflictError
from omnizarr.model.store import Buffer
from omnizarr.runtime import forks
from omnizarr.stores.local import files
from omnizarr.stores.local.containment import Beneath
from omnizarr.stores.local.folder import Folder
from omnizarr.stores.local.temporary_names import name_beside

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


# -- the locks of a store's keys --------------------------------------------------------------


@dataclass(eq=False)
class _Owned:
    """A lock that a thread of this process holds."""

    lock: FileLock
    taker: KeyLocks
    has_read: bool = False
    """Whether the value was read through `taker` since the lock was taken."""
    is_new: bool = False
    """Whether there was no value when the lock was taken, or it was deleted since."""


owned: dict[tuple[str, int], list[_Owned]] = {}
"""Locks by path of the value and by thread, for all stores of one directory. (A thread has several
if it lost one with its directory and took the lock again.)"""


def _disown(owner: tuple[str, int], entry: _Owned) -> None:
    entries = owned.get(owner, [])
    if entry in entries:
        entries.remove(entry)
    if not entries:
        owned.pop(owner, None)


class Taken:
    """The directory of a key until the block ends, with the lock that this thread holds already and
    goes on to hold, or without one."""

    __slots__ = ("_held", "_key", "_locks", "folder")

    def __init__(self, held: _Owned | None, locks: KeyLocks, key: str) -> None:
        self._held = held
        self._locks = locks
        self._key = key

    def __enter__(self) -> Taken:
        if self._held is not None:
            self.folder = self._held.lock.folder
        else:
            self.folder = self._locks.beneath.folder(self._key.rpartition("/")[0])
        return self

    def publish(self, value: Buffer, name: str, fsync: bool) -> None:
        """Write the value under its lock, which that ends, or to a temporary beside it."""
        held = self._held
        if held is None:
            files.put(self.folder, name, value, fsync)
        elif not (held.is_new and held.has_read and held.taker is self._locks):
            held.lock.publish(value, name, fsync)
        else:
            self._publish_new(held, value, name, fsync)

    def _publish_new(self, held: _Owned, value: Buffer, name: str, fsync: bool) -> None:
        """The same for a value that was made because there was none. ConflictError if there is one
        now: values that are absent are also stored without a lock."""
        try:
            files.put(self.folder, name, value, fsync, replace=False)
            held.is_new = False
        except FileExistsError as error:
            raise ConflictError(
                f"{self._key!r} was stored by another writer while it was being changed;"
                " read it again"
            ).at(self._locks.store) from error
        except OSError as error:
            if error.errno not in files.NO_LINKS:
                raise
            held.lock.publish(value, name, fsync)

    def __exit__(self, *exc_info: object) -> None:
        if self._held is None:
            self.folder.close()


class KeyLocks:
    """The locks of the keys beneath a root. `ensure` creates a directory; `store` is its name in
    errors."""

    def __init__(self, beneath: Beneath, ensure: Callable[[str], None], store: str) -> None:
        self.beneath = beneath
        self._ensure = ensure
        self.store = store

    def _lock_of(self, key: str, optional: bool) -> FileLock:
        """The lock of a key, not yet taken."""
        parent, _, name = key.rpartition("/")
        return FileLock(self.beneath, parent, name_beside(name, "lock"), self._ensure, optional)

    @contextlib.contextmanager
    def held(self, key: str) -> Iterator[None]:
        """Hold the lock, so that `take` of this thread finds it."""
        if self.current(key) is not None:
            yield
            return
        lock = self._lock_of(key, optional=False)
        owner = f"{self.beneath.base}/{key}", get_ident()
        entry = _Owned(lock, self)
        try:
            try:
                lock.__enter__()
                entry.is_new = not lock.folder.has(key.rpartition("/")[2])
            except OSError as error:
                raise files.failure(self.store, "lock", key, error) from error
            owned.setdefault(owner, []).append(entry)
            yield
        finally:
            try:
                _disown(owner, entry)
            finally:
                lock.__exit__()

    def take(self, key: str, locking: bool) -> FileLock | Taken:
        """The directory of the key for one change, under its lock: the one that this thread holds,
        else a new one, else none, where `locking` is False or the file system has no locks.

        It is taken on entry: an interrupt between taking a lock and entering the block would leave
        the lock taken."""
        held = self.current(key) if owned else None
        if held is None and locking:
            return self._lock_of(key, optional=True)
        return Taken(held, self, key)

    def _of_thread(self, key: str) -> Sequence[_Owned]:
        """The locks on the key that this thread has taken, valid or not."""
        return owned.get((f"{self.beneath.base}/{key}", get_ident()), ()) if owned else ()

    def current(self, key: str) -> _Owned | None:
        """The lock that this thread holds on the key. ConflictError if it held one, read the value,
        and then lost the lock with its directory: what it would write now is out of date."""
        for entry in reversed(self._of_thread(key)):
            if entry.lock.held:
                if entry.lock.is_valid:
                    return entry
                if entry.has_read and entry.taker is self:
                    raise ConflictError(
                        f"{key!r} was deleted or moved while it was being changed; read it again"
                    ).at(self.store)
        return None

    def note_read(self, key: str) -> None:
        """The value is being read: see `current`."""
        for entry in self._of_thread(key):
            entry.has_read |= entry.taker is self

    def prune_later(self, key: str) -> None:
        """The value was deleted: once the lock is released, its directory may be empty."""
        for entry in self._of_thread(key):
            entry.lock.prune_later()
            entry.is_new = True
