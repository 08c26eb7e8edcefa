"""The locks of a `LocalStore`: one per key, and which of them this thread holds.

This module knows who holds what. It must not know values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident

from omnizarr.errors import ConflictError
from omnizarr.stores.local import files
from omnizarr.stores.local.containment import Beneath
from omnizarr.stores.local.file_lock import FileLock
from omnizarr.stores.local.folder import Folder
from omnizarr.stores.local.temporary_names import name_beside


@dataclass(eq=False)
class _Held:
    lock: FileLock
    taker: KeyLocks
    has_read: bool = False
    """Whether the one who took the lock has read the value since."""


holding: dict[tuple[str, int], list[_Held]] = {}
"""Locks by path of the value and by thread, so that `set` inside a lock does not wait for itself,
be it through another store of the same directory. (There are several if one was lost.)"""


class KeyLocks:
    """The locks of the keys beneath a root. `ensure` creates a directory; `store` is its name in
    errors."""

    def __init__(self, beneath: Beneath, ensure: Callable[[str], None], store: str) -> None:
        self._beneath = beneath
        self._ensure = ensure
        self._store = store

    def lock_of(self, key: str) -> FileLock:
        """The lock of a key, not yet taken."""
        parent, _, name = key.rpartition("/")
        beneath, ensure = self._beneath, self._ensure
        return FileLock(
            f"{beneath.path(parent)}/{name_beside(name, 'lock')}",
            lambda: ensure(parent),
            lambda: beneath.prune(parent),
            lambda: beneath.folder(parent),
        )

    @contextmanager
    def holding(self, key: str) -> Iterator[None]:
        """Hold the lock, and let this thread's `current` know."""
        lock = self.lock_of(key)
        try:
            lock.__enter__()
        except OSError as error:
            raise files.failure(self._store, "lock", key, error) from error
        owner = f"{self._beneath.base}/{key}", get_ident()
        held = _Held(lock, self)
        holding.setdefault(owner, []).append(held)
        try:
            yield
        finally:
            holding[owner].remove(held)
            if not holding[owner]:
                del holding[owner]
            lock.__exit__()

    @contextmanager
    def excluding(self, key: str, locking: bool) -> Iterator[Folder]:
        """Hold the lock, unless this thread does so already or there are no locks; gives the
        directory in which it holds."""
        held = self.current(key)
        if held is not None:
            yield held.folder
            return
        lock = self.lock_of(key) if locking else None
        if lock is not None:
            try:
                lock.__enter__()
            except OSError as error:
                if error.errno not in files.NO_LOCKS:
                    raise files.failure(self._store, "lock", key, error) from error
                lock = None  # no locks on this disk
        if lock is None:
            with self._beneath.folder(key.rpartition("/")[0]) as folder:
                yield folder
            return
        try:
            yield lock.folder
        finally:
            lock.__exit__()

    def _of_thread(self, key: str) -> Sequence[_Held]:
        """The locks on the key that this thread has taken, valid or not."""
        return holding.get((f"{self._beneath.base}/{key}", get_ident()), ()) if holding else ()

    def current(self, key: str) -> FileLock | None:
        """The lock that this thread holds on the key. ConflictError if it held one, read the value,
        and then lost the lock with its directory: what it would write now is out of date."""
        for held in reversed(self._of_thread(key)):
            if held.lock.held:
                if held.lock.is_valid:
                    return held.lock
                if held.has_read and held.taker is self:
                    raise ConflictError(
                        f"{self._store}: {key!r} was deleted or moved while it was being changed;"
                        " read it again"
                    )
        return None

    def note_read(self, key: str) -> None:
        """The value is being read: see `current`."""
        for held in self._of_thread(key):
            held.has_read |= held.taker is self

    def finish_later(self, key: str) -> None:
        """The value was deleted: once the lock is released, its directory may be empty."""
        for held in self._of_thread(key):
            held.lock.finish_later()
