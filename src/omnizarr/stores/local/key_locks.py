"""The locks of a store's keys.

They are reentrant: the thread that holds one does not wait for itself. For that, `owned` has the
locks that the threads of this process hold.

Values that are absent may be stored without a lock, and those in the root are deleted without one
(docs/design/002). So what a holder makes of the value that it has read must not replace another
one: `Taken` raises `ConflictError`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import get_ident

from omnizarr.errors import ConflictError
from omnizarr.model.store import Buffer
from omnizarr.stores.local import files
from omnizarr.stores.local.containment import Beneath
from omnizarr.stores.local.file_lock import FileLock
from omnizarr.stores.local.folder import Folder
from omnizarr.stores.local.temporary_names import name_beside

_NO_VALUE = ()


@dataclass(eq=False)
class _Owned:
    """A lock that a thread of this process holds."""

    lock: FileLock
    taker: KeyLocks
    has_read: bool = False
    """Whether the value was read through `taker` since the lock was taken."""
    seen: tuple[int, ...] | None = None
    """What tells the value that was last read from another one, `_NO_VALUE` if there was none or it
    was deleted; None if it was not read, or is the holder's own since."""


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
        """Write the value under its lock, which that ends, or to a temporary beside it.
        ConflictError if what was read is no longer there."""
        held = self._held
        if held is None:
            files.put(self.folder, name, value, fsync)
        elif self._is_absent(held, name):
            self._publish_new(held, value, name, fsync)
        else:
            held.lock.publish(value, name, fsync)

    def _publish_new(self, held: _Owned, value: Buffer, name: str, fsync: bool) -> None:
        try:
            files.put(self.folder, name, value, fsync, replace=False)
            held.seen = None
        except FileExistsError as error:
            raise self._overtaken() from error
        except OSError as error:
            # Without links no other writer stores anything without a lock.
            if error.errno not in files.NO_LINKS or not self._is_absent(held, name):
                raise
            held.lock.publish(value, name, fsync)

    def remove(self, name: str) -> None:
        """Remove the value. ConflictError as in `publish`."""
        if self._held is None or not self._is_absent(self._held, name):
            self.folder.unlink(name)

    def _is_absent(self, held: _Owned, name: str) -> bool:
        """Whether no value was found, and none is there now."""
        if held.seen is None:
            return False
        if held.seen != _facts(self.folder, name):
            raise self._overtaken()
        return held.seen == _NO_VALUE

    def _overtaken(self) -> ConflictError:
        return ConflictError(
            f"{self._key!r} was changed by another writer while it was being changed; read it again"
        ).at(self._locks.store)

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
        """The value is being read: see `current` and `Taken.publish`."""
        for entry in self._of_thread(key):
            entry.has_read |= entry.taker is self
            if entry.lock.held:
                entry.seen = _facts(entry.lock.folder, key.rpartition("/")[2])

    def note_stored(self, key: str) -> None:
        """The holder itself has stored the value that was absent."""
        for entry in self._of_thread(key):
            entry.seen = None

    def prune_later(self, key: str) -> None:
        """The value was deleted: once the lock is released, its directory may be empty."""
        for entry in self._of_thread(key):
            entry.lock.prune_later()
            entry.seen = _NO_VALUE


def _facts(folder: Folder, name: str) -> tuple[int, ...]:
    try:
        # Without the inode, which not all file systems keep.
        return files.facts(folder.status(name))[1:]
    except FileNotFoundError:
        return _NO_VALUE
