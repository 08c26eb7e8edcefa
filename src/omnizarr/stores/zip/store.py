"""`ZipStore`: all values in one ZIP archive.

A member's name is its key; see `archive` for names that are not keys, and for archives whose
store is one folder down.

Writing. Values up to 64 KiB wait in memory, so that a document that is written again and again
becomes one member; larger ones are appended at once. A new archive grows in a temporary and
gets its name when it is flushed or closed; what had the name before stays until then, and mode "a"
replaces no archive that another process has made meanwhile. An existing
archive is appended to in place: that costs what is appended, and after a crash the archive is
what it was at the last flush (`file` says how). After closing there is one member per key.
One process writes at a time.

This module knows keys, threads and modes. It must not know the format of an archive.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import os
import threading
from collections.abc import Hashable, Iterator, Sequence
from typing import IO, Any, Literal

from omnizarr.errors import NodeNotFoundError, StoreClosedError, StoreError, ZarrError
from omnizarr.keywords import suggests
from omnizarr.model.paths import check_key, check_prefix
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Capabilities,
    Listing,
    Store,
    listing_of,
    read_range,
    sorted_under,
    span,
)
from omnizarr.runtime import forks
from omnizarr.stores import kinds
from omnizarr.stores.zip.archive import Archive
from omnizarr.stores.zip.content import METHODS, STORED, compress
from omnizarr.stores.zip.records import Member

_SMALL = 64 << 10
_MOST_WAITING = 8 << 20
_WORTH_KEEPING = 64 << 20

_stores: dict[forks.Reference, None] = {}


class ZipStore(Store):
    """Values as the members of one ZIP archive.

    Close the store, or use it in a `with` block: the archive lacks what was not flushed.

    Parameters
    ----------
    path
        Path of the archive, or a seekable binary file.
    compression
        As in `zipfile`: 0 stores (chunks are compressed already), 8 deflates, 12 is bzip2, 14 is
        LZMA.
    allowZip64
        Allow archives and members of more than 4 GiB.
    mode
        "r" reads; "a" reads and changes, and creates a missing archive; "w" creates an empty
        archive; "x" creates one and refuses an existing one.
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.
    read_only
        True is mode "r".
    root
        The folder inside the archive that is the store. None finds it: it is "" unless all members
        are in one folder, and that folder holds a metadata document.
    fsync
        Wait until a new archive has reached the disk.

    Raises
    ------
    NodeNotFoundError
        If there is no archive and `mode` is "r".
    StoreError
        If the file is no sound archive.

    Examples
    --------
    >>> with omnizarr.ZipStore("data.zip", mode="w") as store:
    ...     array = omnizarr.save_array(store, np.arange(3))
    >>> omnizarr.load("data.zip")
    array([0, 1, 2])
    """

    # One process writes at a time, so there are no other writers to exclude.
    capabilities = Capabilities(conditional=True, known_sizes=True)

    @suggests
    def __init__(
        self,
        path: str | os.PathLike[str] | IO[bytes],
        compression: int = STORED,
        allowZip64: bool = True,  # noqa: N803 - the name that `zipfile` uses
        mode: Literal["r", "a", "w", "x"] = "a",
        dimension_separator: Literal[".", "/"] | None = None,
        *,
        read_only: bool | None = None,
        root: str | None = None,
        fsync: bool = False,
    ) -> None:
        self._closed = True  # until everything is open
        if mode not in ("r", "a", "w", "x"):
            raise ValueError(f"mode must be 'r', 'a', 'w' or 'x', found {mode!r}")
        if isinstance(compression, bool) or compression not in METHODS:
            known = ", ".join(f"{number} ({name})" for number, name in METHODS.items())
            raise ValueError(f"compression must be one of {known}, found {compression!r}")
        if read_only and mode in ("w", "x"):
            raise ValueError(f"an archive that mode {mode!r} creates cannot be read only")
        self.mode = "r" if read_only else mode
        self.read_only = self.mode == "r"
        self.compression = compression
        self.dimension_separator = dimension_separator
        self.path: str | None = None
        self._name = f"<{type(path).__name__}>"
        self._file: Any = path
        if isinstance(path, str | os.PathLike):
            name: object = os.fspath(path)
            if not isinstance(name, str) or not name or "\0" in name:
                raise ValueError(f"invalid path of an archive: {name!r}")
            kinds.refuse_url(name)
            self._name = os.path.abspath(name)
            self.path = os.path.realpath(name)
            self._file = None
        elif not all(hasattr(path, method) for method in ("read", "seek", "tell")):
            raise TypeError(
                f"expected a path or a seekable binary file, found {type(path).__name__}"
            )
        self._waiting: dict[str, bytes] = {}
        self._waiting_bytes = 0
        self._guard = threading.RLock()
        self._half_changed = False
        """In a forked child: the parent was changing the archive and did not finish in time."""
        self._process = os.getpid()
        self._archive = self._open(root, allowZip64, fsync)
        self._changed = self.mode in ("w", "x")
        self._closed = False
        forks.wait_for(self, "_guard")
        forks.in_child(self._after_fork)
        _stores[forks.Reference(self, _stores.__delitem__)] = None

    def _open(self, root: str | None, wide: bool, fsync: bool) -> Archive:
        if self.path is None:
            empty = self._file.seek(0, os.SEEK_END) == 0
        else:
            empty = not os.path.exists(self.path)
        if self.mode == "x" and not empty:
            raise StoreError("the archive exists; mode 'x' replaces nothing").at(self)
        try:
            return Archive(
                self.path,
                self._file,
                create=self.mode in ("w", "x") or (self.mode == "a" and empty),
                exclusive=self.mode in ("x", "a"),
                root=root,
                wide=wide,
                fsync=fsync,
            )
        except FileNotFoundError as error:
            raise NodeNotFoundError("there is no such archive").at(self) from error
        except ZarrError as error:
            raise error.at(self) from error
        except OSError as error:
            raise StoreError(f"cannot open the archive: {error}").at(self) from error

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, mode={self.mode!r})"

    @property
    def identity(self) -> Hashable:
        return "zip", self.path or id(self._file), self._archive.root

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.read_only or self.path is None:
            raise TypeError(
                f"{self!r} cannot be pickled: only an archive opened by its path with mode='r' can"
            )
        return _reopen, (type(self), self._name, self.dimension_separator, self._archive.root)

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        check_key(key)
        self._check_open()
        if self.read_only:
            return self._get(key, byte_range)
        with self._guard:  # a flush in another thread may move members
            return self._get(key, byte_range)

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        answers: list[Buffer | None] = []
        kept_key, kept = "", None
        for index, (name, byte_range) in enumerate(requests):
            key = self._member(name)
            if key != kept_key:
                kept_key, kept = key, None
                again = index + 1 < len(requests) and requests[index + 1][0] == name
                entry = self._archive.members.get(key) if again else None
                if entry is not None and entry.method != STORED and entry.size <= _WORTH_KEEPING:
                    kept = self.get(key)  # or every part would inflate it again
            if kept is not None:
                answers.append(read_range(kept, byte_range))
            else:
                answers.append(self.get(key, byte_range))
        return answers

    def _member(self, key: str) -> str:
        """The name of a member below the root. Where nothing is written, the name that it has in
        the archive will do as well, as other libraries address it."""
        root = self._archive.root
        if root and self.read_only and key not in self._archive.members and key.startswith(root):
            return key[len(root) :]
        return key

    def _get(self, key: str, byte_range: ByteRange | None) -> Buffer | None:
        key = self._member(key)
        value = self._waiting.get(key)
        if value is not None:
            return read_range(value, byte_range)
        entry = self._entry(key)
        if entry is None:
            return None
        start, stop = (0, entry.size) if byte_range is None else span(byte_range, entry.size)
        try:
            return self._archive.read(key, start, stop)
        except ZarrError as error:
            raise error.at(self, key=key) from error
        except OSError as error:
            raise StoreError(f"cannot read {key!r}: {error}").at(self) from error

    def _entry(self, key: str) -> Member | None:
        entry = self._archive.members.get(key)
        if entry is None:
            try:
                self._archive.check_missing(key)
            except StoreError as error:
                raise error.at(self, key=key) from error
        return entry

    def size(self, key: str) -> int | None:
        check_key(key)
        self._check_open()
        with self._guard:
            key = self._member(key)
            value = self._waiting.get(key)
            if value is not None:
                return len(value)
            entry = self._entry(key)
            return None if entry is None else entry.size

    # -- listable -----------------------------------------------------------------------------
    def list_prefix(self, prefix: str) -> Iterator[str]:
        return sorted_under(self._keys(prefix), check_prefix(prefix))

    def list_dir(self, prefix: str) -> Listing:
        return listing_of(self._keys(prefix), check_prefix(prefix))

    def _keys(self, prefix: str) -> set[str]:
        """All keys, named as the prefix names them."""
        self._check_open()
        with self._guard:
            keys = {*self._archive.keys(), *self._waiting}
        root = self._archive.root
        if root and self.read_only and prefix.startswith(root):
            keys |= {root + key for key in keys}
        return keys

    def unreachable(self) -> list[str]:
        """List members whose names are no keys, such as ``a//b``: no key reads or removes them.

        `omnizarr.check` and `omnizarr.verify` report them.

        Returns
        -------
        list of str
            Their names, quoted.

        Examples
        --------
        >>> with omnizarr.ZipStore("names.zip", mode="w") as store:
        ...     store.set("a", b"value")
        ...     store.unreachable()
        []
        """
        self._check_open()
        with self._guard:
            return self._archive.unreachable()

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self._check_changeable()
        check_key(key)
        data = bytes(value)
        is_large = len(data) > _SMALL
        packed = compress(data, self.compression) if is_large else b""  # may take long: no lock
        with self._guard, self._changing(f"write {key!r}"):
            if is_large:
                self._archive.append(key, data, packed, self.compression)
                self._stop_waiting(key)
                return
            former = self._waiting.get(key)
            # In one step: an interrupt must not leave the key without a value.
            self._waiting[key] = data
            self._waiting_bytes += len(data) + len(key)
            if former is not None:
                self._waiting_bytes -= len(former) + len(key)
            if self._waiting_bytes > _MOST_WAITING:
                self._write_waiting()

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self._check_changeable()
        with self._guard:
            if self.exists(key):
                return False
            self.set(key, value)
            return True

    def delete(self, key: str) -> None:
        self._check_changeable()
        check_key(key)
        with self._guard:
            if key in self._waiting or key in self._archive.members:
                with self._changing(f"delete {key!r}"):
                    self._archive.retire(key)  # first: an interrupt must not show an older value
                    self._stop_waiting(key)

    def _stop_waiting(self, key: str) -> None:
        data = self._waiting.pop(key, None)
        if data is not None:
            self._waiting_bytes -= len(data) + len(key)

    def _write_waiting(self) -> None:
        for key in sorted(self._waiting):
            data = self._waiting[key]
            self._archive.append(key, data, compress(data, self.compression), self.compression)
            self._stop_waiting(key)

    @contextlib.contextmanager
    def _changing(self, doing: str) -> Iterator[None]:
        """Ready the archive for changes, and say what failed if something does."""
        self._check_open()  # another thread may have closed it before we got the lock
        try:
            self._archive.start_writing()
            self._changed = True
            yield
        except StoreError as error:
            raise error.at(f"{self!r}: cannot {doing}") from error
        except OSError as error:
            raise StoreError(f"cannot {doing}: {error}").at(self) from error

    # -- life ---------------------------------------------------------------------------------
    def flush(self) -> None:
        """Make the archive hold everything that was written so far.

        Examples
        --------
        >>> store = omnizarr.ZipStore("data.zip", mode="w")
        >>> store.set("key", b"value")
        >>> store.flush()
        >>> with omnizarr.ZipStore("data.zip", mode="r") as reader:
        ...     list(reader)
        ['key']
        >>> store.close()
        """
        self._check_open()
        if self.read_only:
            return
        self._check_changeable()
        with self._guard:
            if self._changed:
                with self._changing("write the archive"):
                    self._write_waiting()
                    self._archive.commit()
                self._changed = False

    def close(self) -> None:
        with self._guard:
            if self._closed:
                return
            try:
                if os.getpid() == self._process:  # in a forked child the parent writes, not we
                    try:
                        self.flush()
                    finally:
                        self._archive.abandon()
            finally:
                self._closed = True
                self._archive.close()

    @property
    def closed(self) -> bool:
        """The store was closed.

        Examples
        --------
        >>> with omnizarr.ZipStore("data.zip", mode="w") as store:
        ...     store.closed
        False
        >>> store.closed
        True
        """
        return self._closed

    def __del__(self) -> None:
        try:
            self.close()
        except KeyboardInterrupt:
            _interrupt_again()
            self._archive.close()  # or the next writer would find the archive locked
        except Exception:
            pass  # no caller could catch it

    def _after_fork(self) -> None:
        # The thread that forked has the lock, or another thread has it still.
        self._half_changed = not self._guard.acquire(blocking=False)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError(f"{self!r} is closed; open it again")
        if self._half_changed:
            raise StoreError(
                f"{self!r} was being changed when this process was forked, and cannot be used here;"
                " open it again once the parent has closed it"
            )

    def _check_changeable(self) -> None:
        self._check_open()
        self.check_writable()
        if os.getpid() != self._process:
            raise StoreError(f"{self!r} was opened for writing by another process")


def _reopen(
    cls: type[ZipStore], path: str, separator: Literal[".", "/"] | None, root: str
) -> ZipStore:
    return cls(path, mode="r", dimension_separator=separator, root=root)


def _interrupt_again() -> None:
    """Raise KeyboardInterrupt in the main thread a little later. Python prints an exception in
    `__del__` and drops it, so that Ctrl-C would be lost."""
    timer = threading.Timer(0.01, _thread.interrupt_main)
    timer.daemon = True
    timer.start()


@atexit.register
def _close_all() -> None:
    for reference in list(_stores):
        store = reference()
        with contextlib.suppress(Exception):
            if store is not None:
                store.close()
