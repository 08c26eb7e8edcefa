"""`LocalStore`: every value is a file below one directory, and its key is its path.

Reading costs four system calls: open, fstat, read, close; the native core makes them in one call of
Python. Nothing is followed out of the root
(see `containment`), nothing but regular files is read, and reading never writes.

A value is written to its lock file beside it, which is then renamed over it (see `file_lock`): a
reader, or whatever comes after a crash, finds the old value or the new one, whole, and a writer
waits while another one reads the value to change it. With `fsync=True` this also holds after a
power failure. Listings hide the files of killed writers; `sweep` removes them.

This module knows files. It must not know what values mean.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from omnizarr import limits
from omnizarr.errors import InvalidKeyError, StoreError, UnsupportedError
from omnizarr.keywords import suggests
from omnizarr.model.paths import DOCUMENT, check_key, check_prefix, deletion_steps
from omnizarr.model.store import Buffer, ByteRange, Capabilities, FilePrefix, Listing, Read, Store
from omnizarr.runtime.properties import cached_property
from omnizarr.stores import kinds
from omnizarr.stores.local import files, leftovers
from omnizarr.stores.local.containment import FILE, LINK, Beneath
from omnizarr.stores.local.file_lock import CAN_PUBLISH, FileLock, is_gone
from omnizarr.stores.local.files import is_missing, read_part
from omnizarr.stores.local.folder import NOFOLLOW, Folder, rename
from omnizarr.stores.local.key_locks import KeyLocks, Taken, owned
from omnizarr.stores.local.several import are_apart, read_many, read_small
from omnizarr.stores.local.snapshot import Snapshot
from omnizarr.stores.local.temporary_names import RESERVED, is_reserved

if TYPE_CHECKING:
    from pathlib import Path

_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A FIFO must not block the open, a terminal must not become ours.
_READ = os.O_RDONLY | _CLOEXEC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)

T = TypeVar("T")
_ATTEMPTS = 1000  # each means that another process removed the directory in between
_DAY = 24 * 60 * 60.0
_CAPABILITIES = {
    locking: Capabilities(conditional=True, locks=locking, validators=True, known_sizes=True)
    for locking in (True, False)
}


class LocalStore(Store):
    """Values as files below one directory, which the first `set` creates. Also `DirectoryStore`.

    Parameters
    ----------
    root
        Path of the directory.
    read_only
        Refuse every change.
    fsync
        Wait until each written value has reached the disk.
    follow_symlinks
        Read through symbolic links, also out of `root`. Writing replaces a link by a
        value and `delete` removes the link, never its target.
    locking
        Exclude other processes in `lock`. Pass False on a file system without locks if only one
        process writes.
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.
    normalize_keys
        A keyword of zarr-python 2; only False, since the case of keys is kept.

    Examples
    --------
    >>> store = omnizarr.LocalStore("data.zarr")
    >>> array = omnizarr.create_array(store, shape=(4,), chunks=2, dtype="i4")
    >>> sorted(store), store.root.name
    (['zarr.json'], 'data.zarr')
    >>> store.leftovers(), store.sweep()
    ((0, 0), [])
    """

    @suggests
    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        read_only: bool = False,
        fsync: bool = False,
        follow_symlinks: bool = False,
        locking: bool = True,
        dimension_separator: Literal[".", "/"] | None = None,
        normalize_keys: bool = False,
    ) -> None:
        if normalize_keys:
            raise UnsupportedError(
                "normalize_keys=True: a LocalStore keeps the case of keys; FSStore can lower it"
            )
        if not isinstance(path := os.fspath(root), str):
            raise TypeError(f"the root must be a str or a path, found {type(path).__name__}")
        if not path or "\0" in path:
            raise InvalidKeyError(f"invalid directory {path!r}")
        kinds.refuse_url(path)
        self.path = os.path.abspath(path)
        self.read_only = read_only
        self.fsync = fsync
        self.follow_symlinks = follow_symlinks
        self.locking = locking
        self.capabilities = _CAPABILITIES[bool(locking)]
        if dimension_separator is not None:
            self.dimension_separator = dimension_separator
        self._beneath = Beneath(self.path.rstrip("/"), follow_symlinks)
        self._read_flags = _READ | (0 if follow_symlinks else NOFOLLOW)

    @property
    def root(self) -> Path:
        """The directory, as a path."""
        from pathlib import Path  # takes longer to import than this module

        return Path(self.path)

    @cached_property
    def _ensure(self) -> leftovers.Ensure:
        return leftovers.Ensure(self._beneath, _DAY)

    @cached_property
    def _locks(self) -> KeyLocks:
        return KeyLocks(self._beneath, self._ensure, repr(self))

    @cached_property
    def identity(self) -> Hashable:
        return "local", os.path.realpath(self.path)

    def above(self, names: Collection[str]) -> Iterator[Store]:
        for path in dict.fromkeys((self.path, os.path.realpath(self.path))):
            while (parent := os.path.dirname(path)) != path:
                if os.path.basename(path) in names:
                    yield LocalStore(parent, read_only=True, follow_symlinks=self.follow_symlinks)
                path = parent

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    def __getstate__(self) -> dict[str, Any]:
        derived = ("identity", "_locks", "_ensure")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        self._admit(key)
        most = limits.current.max_chunk_bytes
        found = self._beneath.read(key, self._read_flags, byte_range, most)
        if type(found) is bytes:
            return found
        if found == -errno.ENOENT:
            return None
        file = self._open(key)
        if file < 0:
            return None
        try:
            return read_part(self, key, file, byte_range)
        finally:
            os.close(file)

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        if len(requests) > 1 and not (self._beneath.reads and are_apart(requests)):
            return read_many(self, requests, self._open, self._beneath.shared)
        usual = type(self).get is LocalStore.get
        read_files = partial(self._beneath.read_many, self._read_flags) if usual else None
        return read_small(requests, self.get, self._admit, read_files)

    def files(self, prefix: str, *, writing: bool = False) -> FilePrefix | None:
        kind, base = type(self), LocalStore
        if writing:
            usual = kind.set is base.set and kind.delete is base.delete
            usual = usual and not self.fsync and self.locking
        else:
            usual = kind is base or (kind.get is base.get and kind.get_many is base.get_many)
        if owned or not usual:
            return None  # a lock must know what its thread does, a subclass what is done
        found = self._beneath.prefixes.get(prefix)
        if found is None:
            self._check(prefix + "0")
            found = self._beneath.files(prefix)
        return found

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        return Snapshot(self, key, self._open)

    def size(self, key: str) -> int | None:
        return None if (status := self._status(key)) is None else status.st_size

    def version(self, key: str) -> Hashable | None:
        return None if (status := self._status(key)) is None else files.version_of(status)

    def _status(self, key: str) -> os.stat_result | None:
        self._locks.note_read(key)
        status = self._look(key, self.follow_symlinks)
        if status is None or stat.S_ISDIR(status.st_mode):
            return None
        if not stat.S_ISREG(status.st_mode):
            raise self._not_a_file(key, status.st_mode)
        return status

    def _look(self, key: str, follow_symlinks: bool = False) -> os.stat_result | None:
        """The status of whatever has the key's path: a value, a directory or anything else."""
        parent, name = self._split(key)
        try:
            with self._beneath.folder(parent) as folder:
                return folder.status(name, follow_symlinks=follow_symlinks)
        except OSError as error:
            if is_missing(error):
                return None
            raise self._failure("read", key, error) from error

    def _check(self, key: str) -> None:
        check_key(key)
        if RESERVED in key and is_reserved(key):
            raise InvalidKeyError(
                f"invalid key {key!r}: {self!r} reserves names that begin with {RESERVED!r}"
            )

    def _split(self, key: str) -> tuple[str, str]:
        """The directory and the name of a key that may be used."""
        self._check(key)
        return key.rpartition("/")[::2]

    def _admit(self, key: str) -> None:
        """Refuse a key that may not be read; note that the others are."""
        check_key(key)
        if RESERVED in key:
            self._check(key)
        if owned:
            self._locks.note_read(key)

    def _open(self, key: str, parent: Folder | None = None) -> int:
        """A descriptor, or -1 if there is no such key. `parent`: its directory, if that is open."""
        self._admit(key)
        try:
            return self._beneath.open(key, self._read_flags, parent)
        except OSError as error:
            if is_missing(error):
                return -1
            if error.errno == errno.ELOOP:
                raise self._not_a_file(key, stat.S_IFLNK) from error
            if error.errno == errno.ENXIO:  # a socket
                raise self._not_a_file(key, stat.S_IFSOCK) from error
            raise self._failure("read", key, error) from error

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        name = self._split(key)[1]
        # A lock file that cannot become the value would stay beside it.
        self._write(
            key, self.locking and CAN_PUBLISH, lambda taken: taken.publish(value, name, self.fsync)
        )

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.check_writable()
        name = self._split(key)[1]
        there = self._look(key)
        if there is not None:
            return self._refused(key, there)
        # A lock holder may have seen that there is no value, and be about to set one.
        return self._write(
            key, self.locking, lambda taken: self._link(key, taken.folder, name, value)
        )

    def _write(self, key: str, locking: bool, put: Callable[[FileLock | Taken], T]) -> T:
        """Call `put` in the directory of the key, under its lock, and again if the directory was
        missing or was removed meanwhile."""
        for attempt in range(_ATTEMPTS):
            try:
                with self._locks.take(key, locking) as taken:
                    return put(taken)
            except StoreError:
                raise
            except OSError as error:
                if not is_gone(error):
                    raise self._failure("write", key, error) from error
                self._make_directory(key, attempt, error)
        raise AssertionError("unreachable: the last attempt raises")

    def _link(self, key: str, folder: Folder, name: str, value: Buffer) -> bool:
        """Write the value to a temporary and give that the name, if it is free."""
        try:
            files.put(folder, name, value, self.fsync, replace=False)
        except FileExistsError:
            return self._refused(key, folder.status(name))
        except OSError as error:
            if error.errno not in files.NO_LINKS:
                raise
            with suppress(FileNotFoundError):  # a file system without hard links: the lock excludes
                return self._refused(key, folder.status(name))
            files.put(folder, name, value, self.fsync)
        self._locks.note_stored(key)
        return True

    def _refused(self, key: str, status: os.stat_result) -> bool:
        if stat.S_ISDIR(status.st_mode):
            raise StoreError(f"cannot write {key!r}: there are keys below it").at(self)
        return False

    def _make_directory(self, key: str, attempt: int, cause: OSError) -> None:
        if attempt == _ATTEMPTS - 1:
            raise self._failure("write", key, cause) from cause
        try:
            self._ensure(key.rpartition("/")[0])
        except FileNotFoundError:
            return  # removed again by another process: the next attempt creates it
        except OSError as error:
            raise self._failure("write", key, error) from error

    def delete(self, key: str) -> None:
        """Remove the value, and the directories above it that are then empty."""
        self.check_writable()
        parent, name = self._split(key)
        there = self._look(key)
        if there is None or stat.S_ISDIR(there.st_mode):
            return
        try:
            with self._locks.take(key, self.locking) as taken:
                taken.remove(name)
        except StoreError:
            raise
        except OSError as error:
            if not is_missing(error):
                raise self._failure("delete", key, error) from error
        self._locks.prune_later(key)  # a lock that is held is a file there
        self._beneath.prune(parent)

    def delete_prefix(self, prefix: str) -> None:
        """Remove everything below `prefix`: it vanishes at once, then its space is freed. Below the
        root, the root's own documents go first, then one entry after the other."""
        self.check_writable()
        if check_prefix(prefix):
            self._remove_directory(prefix[:-1])
            return
        entries = self._scan("")
        names = [name for name, kind in entries if kind is FILE]
        documents = [name for name in names if DOCUMENT.search(name)]
        for step in deletion_steps(documents):
            for name in step:
                self.delete(name)
        for name, kind in entries:
            if kind is not FILE:
                self._remove_directory(name)
        self._remove_files([name for name in names if not DOCUMENT.search(name)])

    def _remove_files(self, names: Sequence[str]) -> None:
        """Remove values in the root, and wait for those that are being changed."""
        try:
            for name in leftovers.remove_unlocked(self._beneath, names):
                self.delete(name)
        except StoreError:
            raise
        except OSError as error:
            raise self._failure("delete", "", error) from error

    def make_prefix(self, prefix: str) -> None:
        super().make_prefix(prefix)
        self._make_directory(prefix, 0, FileNotFoundError(prefix))

    def _remove_directory(self, directory: str) -> None:
        parent, name = self._split(directory)
        try:
            leftovers.remove_directory(self._beneath, parent, name, _DAY)
        except OSError as error:
            if isinstance(error, StoreError) or not is_missing(error):
                raise self._failure("delete", directory + "/", error) from error
        self._beneath.prune(parent)

    def move_prefix(self, source: str, target: str) -> None:
        """Move every key below `source` with one rename."""
        if not source or not target:
            super().move_prefix(source, target)
            return
        self.check_move(source, target)
        (parent, name), (above, new) = self._split(source[:-1]), self._split(target[:-1])
        for attempt in range(_ATTEMPTS):
            there = self._look(source[:-1], follow_symlinks=True)
            if there is None or not stat.S_ISDIR(there.st_mode):
                return
            try:
                with self._beneath.folder(parent) as start, self._beneath.folder(above) as end:
                    rename(start, name, end, new)
                break
            except FileNotFoundError as error:
                self._make_directory(target[:-1], attempt, error)
            except OSError as error:
                raise self._failure("move", f"{source} to {target}", error) from error
        self._beneath.forget()
        self._beneath.prune(parent)

    # -- listable -----------------------------------------------------------------------------
    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._walk(check_prefix(prefix))

    def _walk(self, prefix: str) -> Iterator[str]:
        # No recursion: directories may be nested deeper than Python's stack allows.
        open_levels = [(prefix, iter(self._scan(prefix[:-1])))]
        while open_levels:
            parent, entries = open_levels[-1]
            for name, kind in entries:
                key = parent + name
                if kind is not FILE:
                    if kind is LINK:
                        self._beneath.check_no_loop(key)
                    open_levels.append((key + "/", iter(self._scan(key))))
                    break
                yield key
            else:
                open_levels.pop()

    def list_dir(self, prefix: str) -> Listing:
        keys: list[str] = []
        prefixes: list[str] = []
        directory = check_prefix(prefix)[:-1]
        # Only a looping link itself cannot be listed; its neighbours can.
        self._beneath.check_no_loop(directory)
        for name, kind in self._scan(directory):
            if kind is FILE:
                keys.append(prefix + name)
            else:
                prefixes.append(prefix + name + "/")
        return Listing(keys, prefixes)

    def _scan(self, directory: str) -> list[tuple[str, str]]:
        try:
            return self._beneath.scan(directory)
        except OSError as error:
            if is_missing(error):
                return []
            raise self._failure("list", directory and directory + "/", error) from error

    # -- safe updates -------------------------------------------------------------------------
    def lock(self, key: str) -> AbstractContextManager[object]:
        """Exclude other writers, of any process, until the block ends or sets the key.

        The lock is reentrant: `set`, `delete` and `lock` of the thread that holds it do not wait
        for it. `set` turns the lock file into the value, which releases the lock. Others may store
        a value that is absent: `set` after `get` found none then raises `ConflictError`.
        """
        self.check_writable()
        self._check(key)
        return self._locks.held(key) if self.locking else nullcontext()

    def sweep(self, older_than: float = _DAY, *, dry_run: bool = False) -> list[str]:
        """Remove what killed processes left: temporaries, half-removed directories, free locks.

        Parameters
        ----------
        older_than
            Age in seconds below which files of another machine are kept.
        dry_run
            Remove nothing.

        Returns
        -------
        list of str
            The removed names, relative to the root; with `dry_run` those that would be.
        """
        if dry_run:
            return leftovers.unused(self._beneath, older_than)
        self.check_writable()
        return leftovers.sweep(self._beneath, older_than)

    def leftovers(self) -> tuple[int, int]:
        """Count what `sweep` would remove of killed writers and deletions, and the files in it.

        Free locks are not counted.
        """
        return leftovers.count(self._beneath, _DAY)

    # -- errors -------------------------------------------------------------------------------
    def _failure(self, doing: str, key: str, error: OSError) -> StoreError:
        return files.failure(repr(self), doing, key, error)

    def _not_a_file(self, key: str, mode: int) -> StoreError:
        return files.not_a_file(f"{self!r}: {key!r}", mode)


class NestedDirectoryStore(LocalStore):
    """A `LocalStore` whose new arrays have "/" between chunk coordinates.

    The parameters are those of `LocalStore`.
    """

    dimension_separator = "/"


DirectoryStore = LocalStore
