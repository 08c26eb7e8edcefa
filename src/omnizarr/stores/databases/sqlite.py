"""`SQLiteStore`: values as rows of a table in one SQLite file.

The table is `zarr(k TEXT PRIMARY KEY, v BLOB)`, which zarr-python 2 reads and writes too. A
value is its own version: a row is replaced only if it still holds the bytes that were read.

SQLite has no checksums, but it stores each key twice: in the table's row and in the index of the
primary key. Every lookup goes through the index and compares its key with that of the row. For a
key that is not in the index its neighbours are compared: a damaged key still has its old position.
The first listing of a store compares the whole index with the table; later ones, what they read.

This module knows the table. `sqlite_file` knows the file. Neither must know what values mean.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import weakref
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from omnizarr.errors import StoreError
from omnizarr.keywords import suggests
from omnizarr.model.paths import check_key, check_prefix, is_key
from omnizarr.model.store import Buffer, ByteRange, Capabilities, Listing, Read, read_range, span
from omnizarr.stores.databases.base import FileDatabase, Separator, openers
from omnizarr.stores.databases.keys import beyond, listing_by_jumps
from omnizarr.stores.databases.sqlite_file import ConnectionPool, is_open, size_of
from omnizarr.stores.local.temp import new_folder, remove_own

__all__ = ["SQLiteStore", "is_open", "open_path", "open_url"]

AT_ONCE = 64 * 1024
"""Values up to this size come with their row, larger ones in parts."""
MOST_KEYS = 500
"""How many keys one statement asks for."""
_NAME = re.compile(r"(?!sqlite_)[A-Za-z_][A-Za-z0-9_]*\Z", re.I)


class _Row(NamedTuple):
    rowid: int
    kind: str
    size: int
    value: bytes | None
    """None if it is larger than AT_ONCE."""


class SQLiteStore(FileDatabase):
    """Values in a table of a SQLite file, which the first `set` creates.

    Parameters
    ----------
    path
        Path of the file; ``":memory:"`` is a temporary one that is removed with the store.
    read_only
        Refuse every change; the file is opened for reading and nothing is created.
    table
        Name of the table.
    timeout
        Seconds that a call waits for the writers of other processes.
    fsync
        Wait until each change has reached the disk. Without it a loss of power may undo the last
        changes, but leaves a sound file.
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.

    Examples
    --------
    >>> with omnizarr.stores.SQLiteStore("data.sqlite") as store:
    ...     store.set("key", b"value")
    ...     list(store)
    ['key']
    """

    capabilities = Capabilities(conditional=True, versions=True, concurrent_writes=False)
    _kind = "a SQLite file"
    _folder: weakref.finalize[..., object] | None = None
    """Removes the directory of a temporary file."""

    @suggests
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        table: str = "zarr",
        timeout: float = 30.0,
        fsync: bool = False,
        dimension_separator: Separator | None = None,
    ) -> None:
        if os.fspath(path) == ":memory:":
            folder = new_folder("", "omnizarr")
            self._folder = weakref.finalize(self, remove_own, folder, os.getpid())
            path = os.path.join(folder, "values.sqlite")
        super().__init__(
            path, read_only=read_only, timeout=timeout, dimension_separator=dimension_separator
        )
        if not _NAME.match(table):
            raise ValueError(f"a table's name is made of letters, digits and _; found {table!r}")
        self.table = table
        self.fsync = fsync
        self._open()

    def _open(self) -> None:
        self._pool = ConnectionPool(self.path, self.table, self.read_only, self.timeout, self.fsync)
        self._end = weakref.finalize(self, self._pool.close)
        # `i` is read from the index alone, `r` from the row.
        self._both = both = (
            f'FROM "{self.table}" AS i LEFT JOIN "{self.table}" AS r ON r.rowid = i.rowid WHERE'
        )
        self._select = (
            # Only of a BLOB is the length known before it is read.
            "SELECT i.rowid, typeof(r.v), CASE typeof(r.v) WHEN 'blob' THEN length(r.v) END,"
            f" CASE WHEN typeof(r.v) = 'blob' AND length(r.v) <= {AT_ONCE} THEN r.v END, i.k, r.k"
            f" {both} i.k"
        )
        self._select_keys = f"SELECT i.k, i.k IS r.k {both}"
        self._select_all = f"{self._select_keys} 1 ORDER BY i.k"
        self._insert = f'INSERT INTO "{self.table}"(k, v) VALUES (?, ?) ON CONFLICT(k) DO'
        self._compared = False  # the whole index with the table

    def __getstate__(self) -> dict[str, Any]:
        if self._folder is not None:
            from pickle import PicklingError

            raise PicklingError(f"{self!r} is removed with this object; use a file of your own")
        return super().__getstate__()

    def close(self) -> None:
        super().close()
        if self._folder is not None:
            self._folder()

    @property
    def identity(self) -> Hashable:
        return "sqlite", self._real_path, self.table.lower()

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        check_key(key)
        with self._pool.reading(f"read {key!r}") as db:
            if db is None:
                return None
            row = self._row(db, key)
            if row is None:
                return None
            if row.value is not None:
                return read_range(row.value, byte_range)
            with _transaction(db):  # the row and its parts must be of one version
                row = self._row(db, key)
                return None if row is None else self._part(db, key, row, byte_range)

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        keys = [check_key(key) for key, _ in requests]
        if not keys:
            return []
        with self._pool.reading("read many keys") as db:
            if db is None:
                return [None] * len(keys)
            with _transaction(db):
                rows: dict[str, _Row] = {}
                distinct = list(dict.fromkeys(keys))
                for begin in range(0, len(distinct), MOST_KEYS):
                    some = distinct[begin : begin + MOST_KEYS]
                    marks = ",".join("?" * len(some))
                    for *row, key, again in db.execute(f"{self._select} IN ({marks})", some):
                        if key != again:
                            raise self._pool.damaged(f"read {key!r}")
                        rows[key] = _Row(*row)
                self._check_missing(db, [key for key in distinct if key not in rows])
                return [
                    self._part(db, key, rows[key], byte_range) if key in rows else None
                    for key, byte_range in requests
                ]

    @contextmanager
    def snapshot(self, key: str) -> Iterator[Read]:
        check_key(key)
        with self._pool.reading(f"read {key!r}") as db:
            if db is None:
                yield lambda byte_range: None
                return
            process = os.getpid()
            guard = threading.Lock()  # one thread at a time may use a connection
            with _transaction(db):
                row = self._row(db, key)

                def read(byte_range: ByteRange | None) -> Buffer | None:
                    if os.getpid() != process:
                        raise StoreError(f"{key!r} is being read by the parent process").at(self)
                    with guard:
                        return None if row is None else self._part(db, key, row, byte_range)

                yield read

    def size(self, key: str) -> int | None:
        check_key(key)
        with self._pool.reading(f"read {key!r}") as db:
            row = None if db is None else self._row(db, key)
            return None if row is None else row.size

    def _row(self, db: sqlite3.Connection, key: str) -> _Row | None:
        found = db.execute(f"{self._select} = ?", (key,)).fetchone()
        if found is None:
            self._check_missing(db, [key])
            return None
        if found[4] != found[5]:
            raise self._pool.damaged(f"read {key!r}")
        return self._checked(key, _Row(*found[:4]))

    def _check_missing(self, db: sqlite3.Connection, keys: list[str]) -> None:
        """Raise if one of the keys may be in the table but was damaged in the index."""
        high: str | None = ""  # of the last two neighbours; None is beyond all keys
        for key in sorted(keys):
            if high is None or key < high:
                continue  # between the same two
            what = f"look for {key!r}"
            self._check_before(db, key, what)
            high = next(self._from(db, key, what), None)

    def _from(self, db: sqlite3.Connection, start: str, what: str) -> Iterator[str]:
        """The keys from `start` on, as the index has them, each compared with its row; "" for an
        entry that is no text. Such entries come before or after all keys."""
        select = f"{self._select_keys} i.k >= ? ORDER BY i.k" if start else self._select_all
        for key, same in db.execute(select, (start,) if start else ()):
            if not same:
                raise self._pool.damaged(what)
            yield key if isinstance(key, str) else ""

    def _check_before(self, db: sqlite3.Connection, key: str, what: str) -> None:
        """Raise if the entry before `key` in the index is damaged.

        Its true key may be after `key`: then a search for `key` ends behind it.
        """
        before = f"{self._select_keys} i.k < ? ORDER BY i.k DESC LIMIT 1"
        found = db.execute(before, (key,)).fetchone()
        hidden = False
        if found is None:  # nothing is before `key`, or what is there became NULL, which `<` skips
            found = db.execute(f"{self._select_all} LIMIT 1").fetchone()
            hidden = found is not None and isinstance(found[0], str) and found[0] < key
        if hidden or (found is not None and not found[1]):
            raise self._pool.damaged(what)

    def _checked(self, key: str, row: _Row) -> _Row:
        if row.kind != "blob":
            raise StoreError(f"the value of {key!r} is {row.kind}, expected a BLOB").at(self)
        return row

    def _part(
        self, db: sqlite3.Connection, key: str, row: _Row, byte_range: ByteRange | None
    ) -> Buffer:
        self._checked(key, row)
        if row.value is not None:
            return read_range(row.value, byte_range)
        start, stop = (0, row.size) if byte_range is None else span(byte_range, row.size)
        if start == stop:
            return b""
        if row.size > size_of(db):
            raise self._pool.damaged(f"read {key!r}")
        with db.blobopen(self.table, "v", row.rowid, readonly=True) as blob:
            blob.seek(start)
            return blob.read(stop - start)

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self.setitems({key: value})

    def setitems(self, values: Mapping[str, Buffer]) -> None:
        """Set all values in one transaction."""
        self.check_writable()
        rows = [(check_key(key), bytes(value)) for key, value in values.items()]
        what = f"write {rows[0][0]!r}" if len(rows) == 1 else f"write {len(rows)} keys"
        with self._pool.writing(what) as db:
            db.executemany(f"{self._insert} UPDATE SET v = excluded.v", rows)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.check_writable()
        check_key(key)
        with self._pool.writing(f"write {key!r}") as db:
            return db.execute(f"{self._insert} NOTHING", (key, bytes(value))).rowcount == 1

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        if version is None:
            return self.set_if_absent(key, value)
        self.check_writable()
        check_key(key)
        with self._pool.writing(f"write {key!r}") as db:
            cursor = db.execute(
                f'UPDATE "{self.table}" SET v = ? WHERE k = ? AND v = ?',
                (bytes(value), key, version),
            )
            return cursor.rowcount == 1

    def delete(self, key: str) -> None:
        self.check_writable()
        check_key(key)
        if not os.path.exists(self.path) and not self._pool.closed:
            return  # deleting a missing key creates no file
        with self._pool.writing(f"delete {key!r}") as db:
            db.execute(f'DELETE FROM "{self.table}" WHERE k = ?', (key,))

    def delete_prefix(self, prefix: str) -> None:
        self.check_writable()
        where, bounds = _below(check_prefix(prefix))
        if not os.path.exists(self.path) and not self._pool.closed:
            return
        with self._pool.writing(f"delete {prefix!r}") as db:
            db.execute(f'DELETE FROM "{self.table}" WHERE {where}', bounds)

    def move_prefix(self, source: str, target: str) -> None:
        self.check_move(source, target)
        where, bounds = _below(source)
        with self._pool.writing(f"move {source!r}") as db:
            db.execute(
                f'UPDATE "{self.table}" SET k = ? || substr(k, ?) WHERE {where}',
                (target, len(source) + 1, *bounds),
            )

    # -- listable -----------------------------------------------------------------------------
    def _keys(self, prefix: str) -> list[str]:
        what = f"list {prefix!r}"
        with self._pool.reading(what) as db:
            if db is None:
                return []
            with _transaction(db):
                if not self._compared:
                    self._compare(db, what)
                    self._compared = True
                self._check_before(db, prefix, what)
                room = size_of(db)
                keys: list[str] = []
                for key in self._from(db, prefix, what):
                    if not key.startswith(prefix):
                        break
                    room -= len(key) + 1
                    valid = is_key(key)  # what cannot be decoded has another order in Python
                    if room < 0 or (valid and keys and key <= keys[-1]):
                        raise self._pool.damaged(what)
                    if valid:
                        keys.append(key)
        return keys

    def _compare(self, db: sqlite3.Connection, what: str) -> None:
        """Raise unless the index has an entry for every row of the table, with the row's key."""
        # A damaged tree may have no end: neither is followed further than a sound one can go.
        rows = f'SELECT rowid AS n FROM "{self.table}" NOT INDEXED LIMIT {size_of(db) // 4}'
        sums = "SELECT count(*), sum(n & 4294967295)"
        count, total = db.execute(f"{sums} FROM ({rows})").fetchone()
        entries = f"SELECT i.rowid AS n, i.k IS r.k AS same {self._both} 1 LIMIT {count + 1}"
        found = db.execute(f"{sums}, sum(same) FROM ({entries})").fetchone()
        if found != (count, total, count or None):
            raise self._pool.damaged(what)

    def list_dir(self, prefix: str) -> Listing:
        check_prefix(prefix)
        what = f"list {prefix!r}"
        with self._pool.reading(what) as db:
            if db is None:
                return Listing([], [])

            def seek(start: str) -> Iterator[str]:
                self._check_before(db, start, what)
                return self._from(db, start, what)

            with _transaction(db):
                return listing_by_jumps(seek, prefix, repr(self), size_of(db))


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All reads inside see one state of the database."""
    process = os.getpid()
    db.execute("BEGIN")
    try:
        yield
    finally:
        if os.getpid() == process and db.in_transaction:
            db.execute("ROLLBACK")


def _below(prefix: str) -> tuple[str, tuple[str, ...]]:
    """A condition for the keys that start with `prefix`, and its parameters."""
    if not prefix:
        return "typeof(k) = 'text'", ()
    return "k >= ? AND k < ?", (prefix, beyond(prefix))


open_path, open_url = openers(SQLiteStore, {"table", "timeout", "fsync"})
