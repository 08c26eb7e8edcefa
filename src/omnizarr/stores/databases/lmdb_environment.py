"""The LMDB environment of one path: shared, grown, closed before a fork.

LMDB forbids that a process opens a path twice, so all stores on one path share one environment,
which is closed with the last of them. If its file was deleted or replaced, the next store and the
next change open the new one: a change to the old file would be lost.

The memory map cannot change while a transaction of this process is open. Growing waits until there
is none, and new transactions wait until it has grown.

This module knows LMDB. It must not know what a store is.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from omnizarr.errors import StoreAccessError, StoreError, StoreTimeoutError
from omnizarr.runtime import forks
from omnizarr.runtime.optional_packages import package
from omnizarr.stores.databases import forks as database_forks

T = TypeVar("T")

FIRST_MAP = 256 << 20 if sys.platform != "win32" else 16 << 20  # there the file takes all of it

_shared: dict[str, Environment] = {}
_guard = threading.RLock()  # a store that is collected gives its environment back at any point


def _after_fork() -> None:
    global _guard
    _guard = threading.RLock()


forks.in_child(_after_fork)


def library() -> Any:
    return package("lmdb", "lmdb", "LMDBStore")


class Environment:
    """The environment of a path; `release` it once for every `acquire`."""

    def __init__(self, path: str, map_size: int, fsync: bool, given: Any) -> None:
        self.path = path
        self.lmdb = library()
        self.fsync = fsync
        self.map_size = map_size
        self.users = 0
        self.writers = 0
        """How many of the stores may write."""
        self._given = given
        """An environment that the caller opened, and will close."""
        self._process = os.getpid()
        self._env: Any = given
        self._writable = given is not None and not given.flags().get("readonly", False)
        self._file = _file_at(self.data_path)
        """Device and inode of the file that is open."""
        self._begin()
        forks.in_child(self._begin)
        database_forks.watch(self)

    def _begin(self) -> None:
        """No thread of this process uses the environment."""
        self._changed = threading.Condition(threading.RLock())
        self._writing = threading.Lock()
        """Held by the thread whose transaction writes. It waits for no other thread meanwhile."""
        self._inside: Counter[int] = Counter()
        """Open transactions by thread."""
        self._waiting = 0
        """How many threads wait to be alone; no other transaction may begin meanwhile."""

    def __repr__(self) -> str:
        return f"LMDBStore({self.path!r})"

    # -- life ---------------------------------------------------------------------------------
    @property
    def data_path(self) -> str:
        return os.path.join(self.path, "data.mdb") if os.path.isdir(self.path) else self.path

    def before_fork(self) -> None:
        if self._given is None:
            self.close()

    def close(self) -> None:
        with self._changed:
            env, self._env = self._env, None
            if env is None or self._given is not None or self._process != os.getpid():
                return
            if self._inside:
                self._env = env  # in use; a fork does not wait for ever
                return
            if self._writable:
                env.sync(True)
            env.close()

    def _moved(self) -> bool:
        """Whether the open file is no longer the one at the path."""
        return _file_at(self.data_path) != self._file

    def follow(self) -> None:
        """Close an environment whose file was deleted or replaced; the next call opens the file
        that it then finds."""
        with self._changed:
            if self._env is None or self._process != os.getpid() or not self._moved():
                return
            self.close()
            if self._given is not None or self._env is not None:
                self._env = self._env or self._given
                raise StoreError(
                    "the environment was deleted or replaced while this process has the"
                    " old one open and in use; close the stores and snapshots of the old one first"
                ).at(self)

    def _ready(self, write: bool, timeout: float) -> Any:
        """The open environment; None for a read if there is no file."""
        if self._given is not None:
            if self._process != os.getpid():
                raise StoreError("the environment was opened by the parent process").at(self)
            return self._given
        moved = write and self._env is not None and self._moved()
        if self._env is not None and (self._writable or not self.writers) and not moved:
            return self._env
        with self._alone(timeout):
            if moved:
                self.follow()
            if self._env is not None and not self._writable and self.writers:
                self._env.close()
                self._env = None
            if self._env is None:
                if not write and not os.path.exists(self.data_path):
                    return None
                self._env = self._open(bool(self.writers))
            return self._env

    def _open(self, writable: bool) -> Any:
        known = os.path.getsize(self.data_path) if os.path.exists(self.data_path) else 0
        options: dict[str, Any] = {
            "map_size": max(self.map_size, 2 * known),
            "subdir": not os.path.isfile(self.path),
            "readonly": not writable,
            "create": writable,
            "sync": self.fsync,
            "metasync": self.fsync,
            "max_spare_txns": os.cpu_count() or 1,
        }
        if writable:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
        try:
            env = self.lmdb.open(self.path, **options)
        except self.lmdb.Error as error:
            folder = os.path.dirname(self.data_path)
            if writable or os.access(folder, os.W_OK):
                raise
            # Where no lock file can be made, there is no writer either.
            try:
                env = self.lmdb.open(self.path, **options, lock=False)
            except self.lmdb.Error:
                raise error from None
        self._process = os.getpid()
        self._writable = writable
        self._file = _file_at(self.data_path)
        return env

    # -- transactions -------------------------------------------------------------------------
    @contextmanager
    def reading(self, what: str, timeout: float) -> Iterator[Any]:
        """A transaction that sees one state; None if nothing was ever written."""
        with self._translated(what), database_forks.Using(self.path), self._inner():
            while True:
                env = self._ready(False, timeout)
                if env is None:
                    yield None
                    return
                try:
                    transaction = env.begin(buffers=True)
                    break
                except self.lmdb.MapResizedError:
                    self._resize(0, timeout)
            process = os.getpid()
            try:
                yield transaction
            finally:
                if os.getpid() == process:
                    transaction.abort()

    def write(self, what: str, function: Callable[[Any], T], needed: int, timeout: float) -> T:
        """Call `function(transaction)` and commit; again with a larger map if it was full."""
        with self._translated(what), database_forks.Using(self.path), self._inner():
            while True:
                env = self._ready(True, timeout)
                try:
                    # LMDB keeps writers of other processes waiting; for one of the same process
                    # py-lmdb 1.8 raises instead.
                    with self._writing, env.begin(write=True, buffers=True) as transaction:
                        return function(transaction)
                except self.lmdb.MapResizedError:
                    self._resize(0, timeout)
                except self.lmdb.MapFullError:
                    size = env.info()["map_size"]
                    self._resize(2 * size + 2 * needed, timeout, size)

    def _resize(self, size: int, timeout: float, before: int | None = None) -> None:
        """Give the map this size; 0: the one that another process gave it."""
        with self._alone(timeout):
            if self._env is None or (before not in (None, self._env.info()["map_size"])):
                return  # another thread was faster
            self._env.set_mapsize(size)

    @contextmanager
    def _inner(self) -> Iterator[None]:
        thread = threading.get_ident()
        process = os.getpid()
        with self._changed:
            while self._waiting and not self._inside[thread]:
                self._changed.wait()
            self._inside[thread] += 1
        try:
            yield
        finally:
            if os.getpid() == process:
                with self._changed:
                    self._inside[thread] -= 1
                    if not self._inside[thread]:
                        del self._inside[thread]
                    self._changed.notify_all()

    @contextmanager
    def _alone(self, timeout: float) -> Iterator[None]:
        """Wait until this thread's only transaction is the one that is being prepared, and no other
        thread has one."""
        thread = threading.get_ident()
        deadline = time.monotonic() + timeout
        with self._changed:
            if self._inside[thread] > 1:
                raise StoreError(
                    "the memory map cannot be changed while this thread reads a"
                    " snapshot; write after it, or open the store with a larger map_size"
                ).at(self)
            # A thread that waits here is between two transactions and counts as outside.
            self._inside.pop(thread)
            self._waiting += 1
            self._changed.notify_all()
            try:
                while self._inside:
                    left = deadline - time.monotonic()
                    if left <= 0 or not self._changed.wait(left):
                        raise StoreTimeoutError(
                            f"another thread kept a snapshot open for {timeout} s, so"
                            " the memory map could not be changed"
                        ).at(self)
                yield  # no transaction begins: the lock is held
            finally:
                self._waiting -= 1
                self._inside[thread] = 1
                self._changed.notify_all()

    # -- failures -----------------------------------------------------------------------------
    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except StoreError:  # which may be an OSError too
            raise
        except (self.lmdb.Error, OSError) as error:
            denied = isinstance(error, PermissionError | self.lmdb.ReadonlyError) or (
                "Permission denied" in str(error)
            )
            kind = StoreAccessError if denied else StoreError
            raise kind(f"cannot {what}: {error}").at(self) from error


def _file_at(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def acquire(
    path: str, *, writable: bool, map_size: int, fsync: bool, given: Any = None
) -> Environment:
    """The environment of a path, which every caller must release."""
    with _guard:
        environment = _shared.get(path)
        if environment is None:
            environment = _shared[path] = Environment(path, map_size, fsync, given)
        else:
            environment.follow()
        environment.users += 1
        environment.writers += writable
        environment.fsync |= fsync
        return environment


def release(environment: Environment, writable: bool) -> None:
    with _guard:
        environment.users -= 1
        environment.writers -= writable
        if environment.users == 0:
            if _shared.get(environment.path) is environment:
                del _shared[environment.path]
            environment.close()
