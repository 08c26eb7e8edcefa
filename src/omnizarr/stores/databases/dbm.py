"""`DBMStore`: values in a database of the standard library's `dbm`, whichever flavour it is.

Keys are stored as their UTF-8 bytes, as zarr-python 2 does. None of these libraries is safe to use
from several processes (some refuse a second one, some lose its changes), so every call takes a lock
file beside the database and opens the database anew, or, for `dbm.dumb`, reads what was appended
since (see `dbm_dumb`). Other programs do not take that lock.

This module knows `dbm`. It must not know what values mean.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from omnizarr.errors import NodeNotFoundError, StoreError, StoreTimeoutError, ZarrError
from omnizarr.keywords import refuse_unknown
from omnizarr.model.paths import check_key, check_prefix, deletion_steps, is_key
from omnizarr.model.store import Buffer, ByteRange, Capabilities, read_range
from omnizarr.runtime import forks
from omnizarr.stores.databases import forks as database_forks
from omnizarr.stores.databases.base import FileDatabase, Separator, openers
from omnizarr.stores.databases.dbm_dumb import DumbDatabase
from omnizarr.stores.local.containment import Beneath
from omnizarr.stores.local.file_lock import FileLock
from omnizarr.stores.local.temporary_names import name_beside

_FLAVOURS = ("dbm.sqlite3", "dbm.gnu", "dbm.dumb")
"""In the order in which `dbm.open` prefers them; the first one is there from Python 3.13 on. The
library behind `dbm.ndbm` crashes on damaged files, so that flavour has to be asked for."""
_ENDINGS = ("", ".db", ".dat", ".dir", ".pag")
_NO_LOCK = {errno.EROFS, errno.EACCES, errno.EPERM}
_IN_USE = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES}


class MappedDatabase:
    """What `dbm.gnu`, `dbm.ndbm`, `dbm.sqlite3` and their like open: a mapping of bytes."""

    def __init__(self, db: Any) -> None:
        self._db = db

    def keys(self) -> list[bytes]:
        return [bytes(key) for key in self._db.keys()]  # noqa: SIM118 - not every one iterates

    def get(self, key: bytes, byte_range: ByteRange | None) -> bytes | None:
        try:
            value = bytes(self._db[key])
        except KeyError:
            # `dbm.ndbm` raises this for empty values too; only the list of all keys tells.
            if type(self._db).__module__ != "_dbm" or key not in self.keys():
                return None
            value = b""
        return bytes(read_range(value, byte_range))

    def size(self, key: bytes) -> int | None:
        value = self.get(key, None)
        return None if value is None else len(value)

    def set(self, key: bytes, value: bytes) -> None:
        self._db[key] = value

    def delete(self, keys: Iterable[bytes]) -> None:
        for key in keys:
            del self._db[key]


_KEYWORDS = "flag", "mode", "open", "write_lock", "dimension_separator", "read_only", "timeout"


class DBMStore(FileDatabase):
    """Values in a database of Python's `dbm`, which the first `set` creates.

    Parameters
    ----------
    path
        Path of the database, which may consist of several files.
    flag
        "r" for reading, "w" for an existing database, "c" creates a missing one, "n" always begins
        with an empty one.
    mode
        Permissions of new files.
    open
        Function of one flavour, such as `dbm.gnu.open`. None: the flavour of the database, for a
        new one that of `dbm.open`, but never `dbm.ndbm`.
    write_lock
        Accepted for zarr-python 2; writes always take a lock.
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.
    read_only
        Refuse every change.
    timeout
        Seconds that a call waits for a program that has the database open.
    **open_kwargs
        Arguments for `open`.

    Examples
    --------
    >>> with omnizarr.stores.DBMStore("data.dbm") as store:
    ...     store.set("key", b"value")
    ...     list(store)
    ['key']
    """

    capabilities = Capabilities(
        ranges=False, conditional=True, versions=True, concurrent_writes=False
    )
    _kind = "a DBM database"

    def __init__(
        self,
        path: str | os.PathLike[str],
        flag: str = "c",
        mode: int = 0o666,
        open: Callable[..., Any] | None = None,  # noqa: A002 - the name that zarr-python 2 uses
        write_lock: bool = True,
        dimension_separator: Separator | None = None,
        *,
        read_only: bool = False,
        timeout: float = 30.0,
        **open_kwargs: object,
    ) -> None:
        super().__init__(
            path,
            read_only=read_only or flag[:1] == "r",
            timeout=timeout,
            dimension_separator=dimension_separator,
        )
        if flag[:1] not in ("r", "w", "c", "n"):
            raise ValueError(f"flag must begin with r, w, c or n; found {flag!r}")
        self.flag = flag
        self.mode = mode
        self.open = open
        self.open_kwargs = open_kwargs
        if open is None:
            refuse_unknown(open_kwargs, _KEYWORDS, "DBMStore")
        self._open()
        if flag[0] in "rw" and not _exists(self.path):
            raise NodeNotFoundError(f"there is no database {self.path!r}; flag {flag!r} makes none")
        if flag[0] == "n" and not self.read_only:
            self.flag = "c" + flag[1:]  # a copy in another process must not empty it again
            with self._using("empty the database", write=True) as values:
                values.delete(values.keys())

    def _open(self) -> None:
        self._renew_guard()
        forks.in_child(self._renew_guard)
        self._dumb = DumbDatabase(self.path, self.mode)
        self._end = weakref.finalize(self, self._dumb.close)

    def _renew_guard(self) -> None:
        self._guard = threading.RLock()

    @property
    def identity(self) -> Hashable:
        return "dbm", self._real_path

    @property
    def flavour(self) -> str | None:
        """Which module reads and writes the database; None if that is a function of yours.

        Examples
        --------
        >>> import dbm.dumb
        >>> with omnizarr.stores.DBMStore("data.dbm", open=dbm.dumb.open) as store:
        ...     store.flavour
        'dbm.dumb'
        """
        import dbm

        if self.open is not None:
            for name in _FLAVOURS:
                if self.open is getattr(sys.modules.get(name), "open", None):
                    return name
            return None
        found = dbm.whichdb(self.path)
        if found is None:
            return next(name for name in _FLAVOURS if _is_there(name))
        if not found:
            raise StoreError("the file is no database of any flavour of dbm").at(self)
        if found == "dbm.ndbm":
            raise StoreError(
                "this is a database of dbm.ndbm, whose library crashes on damaged files; if you"
                " trust this one, pass open=dbm.ndbm.open"
            ).at(self)
        if not _is_there(found):
            raise StoreError(
                f"this is a database of {found}, which this Python was built without"
            ).at(self)
        return found

    def flush(self) -> None:
        """Every change is in the files when the call returns; here for zarr-python 2's users.

        Examples
        --------
        >>> with omnizarr.stores.DBMStore("data.dbm") as store:
        ...     store.set("key", b"value")
        ...     store.flush()
        """

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self.get_many([(key, byte_range)])[0]

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        names = [(check_key(key).encode(), byte_range) for key, byte_range in requests]
        what = f"read {requests[0][0]!r}" if len(requests) == 1 else "read many keys"
        with self._using(what) as values:
            return [values.get(name, byte_range) for name, byte_range in names]

    def size(self, key: str) -> int | None:
        name = check_key(key).encode()
        with self._using(f"read {key!r}") as values:
            return values.size(name)

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self.setitems({key: value})

    def setitems(self, values: Mapping[str, Buffer]) -> None:
        """Set all values, opening the database once."""
        self.check_writable()
        items = [(check_key(key).encode(), bytes(value)) for key, value in values.items()]
        what = f"write {next(iter(values))!r}" if len(items) == 1 else f"write {len(items)} keys"
        with self._using(what, write=True) as opened:
            for name, data in items:
                opened.set(name, data)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        return self.set_if_version(key, value, None)

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        self.check_writable()
        name, data = check_key(key).encode(), bytes(value)
        with self._using(f"write {key!r}", write=True) as values:
            if version is None and values.size(name) is not None:
                return False
            if version is not None and values.get(name, None) != version:
                return False
            values.set(name, data)
            return True

    def delete(self, key: str) -> None:
        self.check_writable()
        name = check_key(key).encode()
        if not _exists(self.path) and self._end.alive:
            return  # deleting a missing key creates no file
        with self._using(f"delete {key!r}", write=True) as values:
            if values.size(name) is not None:
                values.delete([name])

    def delete_prefix(self, prefix: str) -> None:
        self.check_writable()
        begin = check_prefix(prefix).encode()
        if not _exists(self.path) and self._end.alive:
            return
        with self._using(f"delete {prefix!r}", write=True) as values:
            found = [key for key in values.keys() if key.startswith(begin)]  # noqa: SIM118
            if found:
                names = [key.decode("utf-8", "surrogateescape") for key in found]
                ordered = chain.from_iterable(deletion_steps(names))
                values.delete([name.encode("utf-8", "surrogateescape") for name in ordered])

    # -- listable -----------------------------------------------------------------------------
    def _keys(self, prefix: str) -> list[str]:
        with self._using(f"list {prefix!r}") as values:
            names = values.keys()
        keys = (name.decode("utf-8", "surrogateescape") for name in names)
        return [key for key in keys if key.startswith(prefix) and is_key(key)]

    # -- the open database --------------------------------------------------------------------
    @contextmanager
    def _using(self, what: str, write: bool = False) -> Iterator[DumbDatabase | MappedDatabase]:
        """The database, under the lock file."""
        self._check_open(what)
        if not write and not _exists(self.path):
            yield MappedDatabase({})
            return
        folder, name = os.path.split(self.path)
        lock = FileLock(Beneath(folder, follow_symlinks=True), "", name_beside(name, "lock"))
        try:
            with self._guard, _locked(lock, write), database_forks.Using(self._real_path):
                if self.flavour == "dbm.dumb":
                    yield self._dumb if self._dumb.refresh(write) else MappedDatabase({})
                else:
                    db = self._open_other(what, write)
                    try:
                        yield MappedDatabase(db)
                    finally:
                        db.close()
        except (ZarrError, GeneratorExit):
            raise
        except Exception as error:  # each flavour has an error of its own
            raise StoreError(f"cannot {what}: {error}").at(self) from error

    def _open_other(self, what: str, write: bool) -> Any:
        flavour = self.flavour
        function = self.open
        if function is None:
            assert flavour is not None
            function = importlib.import_module(flavour).open
        flag = ("c" if write and self.flag[0] != "w" else "w" if write else "r") + self.flag[1:]
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                return function(self.path, flag, self.mode, **self.open_kwargs)
            except OSError as error:  # `dbm.gnu` refuses at once what another program has open
                if error.errno not in _IN_USE:
                    raise
                if time.monotonic() > deadline:
                    raise StoreTimeoutError(
                        f"cannot {what}: another program had the database open for"
                        f" {self.timeout} s (timeout=...)"
                    ).at(self) from error
            time.sleep(0.01)


@contextmanager
def _locked(lock: FileLock, write: bool) -> Iterator[None]:
    try:
        lock.__enter__()
    except OSError as error:
        if write or error.errno not in _NO_LOCK:
            raise
        yield  # where no lock file can be made, there is no writer either
        return
    try:
        yield
    finally:
        lock.__exit__()


def _exists(path: str) -> bool:
    return any(os.path.exists(path + ending) for ending in _ENDINGS)


def _is_there(flavour: str) -> bool:
    try:
        importlib.import_module(flavour)
    except ImportError:
        return False
    return True


open_path, open_url = openers(DBMStore, {"flag", "mode", "open", "timeout"}, _exists)
