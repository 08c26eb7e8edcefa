"""The connections of one SQLite file: opening, lending, checking.

Threads come and go with every call, so connections belong to no thread: each is lent to one thread
at a time, and kept for the next. Writers of one process queue here, because SQLite's own waiting is
a sleep; writers of several processes wait for each other in SQLite.

A file may be deleted or replaced while it is open. Changes through a connection to the old file
would be lost, and closing it would delete the log of the new file. So such connections are closed
before another one is opened and before every change.

A file may come from a stranger. Nothing that it defines is run: a table with triggers, with indexes
of expressions, or of another form than expected is refused.

This module knows SQLite. It must not know what a store is.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import quote

from omnizarr.errors import (
    StoreAccessError,
    StoreClosedError,
    StoreError,
    StoreTimeoutError,
)
from omnizarr.runtime import forks
from omnizarr.stores.databases import forks as database_forks

MOST_IDLE = 16
JOURNAL = "WAL"
"""Readers see the state before a change while it is written."""

_WAITED = {5, 6}  # SQLITE_BUSY, SQLITE_LOCKED
_FORBIDDEN = {3, 8}  # SQLITE_PERM, SQLITE_READONLY
_CANNOT_OPEN = 14
_NOT_A_DATABASE = 26
_TABLE = re.compile(
    r"""
    \s* CREATE \s+ TABLE \s+ ["'`\[]? \w+ ["'`\]]? \s*
    \( \s* ["'`\[]?k["'`\]]? \s+ TEXT (\s+NOT\s+NULL)? \s+ PRIMARY \s+ KEY (\s+NOT\s+NULL)? \s*
    , \s* ["'`\[]?v["'`\]]? \s+ BLOB (\s+NOT\s+NULL)? \s*
    \) \s* \Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""The only table that is used. Others may compare keys in another way or run functions."""

_NAMES_A_FILE = bytes.fromhex("d9d505f920a163d7")
"""How a rollback journal ends that names a journal of several files."""

_guard = threading.Lock()
_writing: dict[str, threading.Lock] = {}
"""The queue of this process's writers, by file."""
_inherited: list[object] = []
"""Connections of the parent, kept so that nothing closes them."""


def _after_fork() -> None:
    global _guard
    _guard = threading.Lock()
    _writing.clear()


forks.in_child(_after_fork)


@dataclass
class Lent:
    """A connection, and what is known of the file through it."""

    db: sqlite3.Connection
    process: int
    file: tuple[int, int] | None
    """Device and inode of what it has open."""
    schema: int | None = None
    """The version of the schema in which the table was found and checked."""
    prepared: bool = False
    """Ready for writing: write-ahead log, table."""


def _file_at(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


_pools: weakref.WeakSet[ConnectionPool] = weakref.WeakSet()


def is_open(path: str) -> bool:
    """Whether this process has the file open. Opening such a file and closing it again would end
    every lock that the process has on it, SQLite's included."""
    real_path = os.path.realpath(path)
    return any(pool.real_path == real_path for pool in list(_pools))


class ConnectionPool:
    """Connections to `path`. One that is `read_only` creates and changes no file."""

    def __init__(self, path: str, table: str, read_only: bool, timeout: float, fsync: bool) -> None:
        self.path = path
        self.real_path = os.path.realpath(path)
        self.table = table
        self.read_only = read_only
        self.timeout = timeout
        self.fsync = fsync
        self.closed = False
        self._idle: list[Lent] = []
        self._wrote = False
        self._renew_guard()
        forks.in_child(self._renew_guard)
        database_forks.watch(self)
        _pools.add(self)

    def _renew_guard(self) -> None:
        self._guard = threading.RLock()  # a store that is collected closes its pool at any point

    def __repr__(self) -> str:
        return f"SQLiteStore({self.path!r})"

    # -- lending ------------------------------------------------------------------------------
    @contextmanager
    def reading(self, what: str) -> Iterator[sqlite3.Connection | None]:
        """A connection; None if there is no file or no table yet."""
        with self._lending(what, create=False) as lent:
            if lent is not None and lent.schema is None:
                self._find_table(lent)
            yield None if lent is None or lent.schema is None else lent.db

    @contextmanager
    def writing(self, what: str) -> Iterator[sqlite3.Connection]:
        """A connection inside a transaction that is committed at the end of the block."""
        with _guard:
            lock = _writing.setdefault(self.real_path, threading.Lock())
        if not lock.acquire(timeout=self.timeout):
            raise self._timed_out(what)
        try:
            with self._lending(what, create=True) as lent:
                assert lent is not None
                db = lent.db
                if not lent.prepared:
                    self._prepare(lent)
                db.execute("BEGIN IMMEDIATE")
                try:
                    if lent.schema != _schema(db):  # a new index might run functions
                        self._find_table(lent)
                    yield db
                    db.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        if db.in_transaction:
                            db.execute("ROLLBACK")
                    raise
        finally:
            lock.release()

    @contextmanager
    def _lending(self, what: str, create: bool) -> Iterator[Lent | None]:
        with database_forks.Using(self.real_path):
            process = os.getpid()
            with self._guard:
                if self.closed:
                    raise StoreClosedError(f"the store was closed; open it again to {what}").at(
                        self
                    )
                if create:
                    self._drop_moved()
                lent = self._idle.pop() if self._idle else None
            try:
                if lent is None and (create or os.path.exists(self.path)):
                    self._follow()
                    lent = Lent(self._open(create), process, _file_at(self.path))
                yield lent
            except (sqlite3.Error, OverflowError, UnicodeError) as error:
                raise self._failure(what, error) from error
            finally:
                if lent is not None:
                    self._take_back(lent)

    def _follow(self) -> None:
        """Have every pool of this process close what it has open of a file that was deleted or
        replaced."""
        for pool in list(_pools):
            if pool.real_path == self.real_path:
                pool._drop_moved()

    def _drop_moved(self) -> None:
        with self._guard:
            if not self._idle:
                return
            now = _file_at(self.path)
            moved = [lent for lent in self._idle if lent.file != now]
            self._idle = [lent for lent in self._idle if lent.file == now]
        for lent in moved:
            lent.db.close()  # SQLite does not touch the log of another file

    def _take_back(self, lent: Lent) -> None:
        if os.getpid() != lent.process:
            _inherited.append(lent)
            return
        with self._guard:
            if len(self._idle) < MOST_IDLE and not (self.closed or lent.db.in_transaction):
                self._idle.append(lent)
                return
        lent.db.close()

    def before_fork(self) -> None:
        with self._guard:
            while self._idle:
                self._idle.pop().db.close()

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back. A file without other
        users is left as one file, which can be read from a read-only place."""
        self.closed = True
        _pools.discard(self)
        if database_forks.was_inherited(self.real_path):
            return
        with database_forks.Using(self.real_path):  # SQLite holds locks while it closes
            with self._guard:
                last = self._idle.pop() if self._idle else None
                self.before_fork()
            if last is None:
                return
            unmoved = last.file == _file_at(self.path)
            if self._wrote and unmoved and os.getpid() == last.process:
                with suppress(sqlite3.Error):
                    _set_busy_timeout(last.db, 0)
                    last.db.execute("PRAGMA journal_mode = DELETE")
            last.db.close()

    # -- opening ------------------------------------------------------------------------------
    def _open(self, create: bool) -> sqlite3.Connection:
        mode = "ro" if self.read_only else "rwc" if create else "rw"
        if not self.read_only:
            self._check_journal()
        try:
            return self._connect(f"mode={mode}")
        except sqlite3.Error as error:
            # A file with a write-ahead log needs files beside it even for reading. Where none can
            # be made, there is no writer either.
            alone = not os.path.exists(self.path + "-wal")
            if self.read_only and _code(error) == _CANNOT_OPEN and alone:
                return self._connect("mode=ro&immutable=1")
            raise

    def _check_journal(self) -> None:
        """Refuse a journal that names a file, which SQLite would delete, wherever it is."""
        try:
            with open(f"{self.real_path}-journal", "rb") as file:
                file.seek(-len(_NAMES_A_FILE), os.SEEK_END)
                end = file.read()
        except OSError:
            return  # there is none, or it is too short, or SQLite cannot read it either
        if end == _NAMES_A_FILE:
            raise StoreError(
                "a change of several files was interrupted, or the journal beside this"
                " one was made to have another file deleted; open it with SQLite itself if you"
                " trust it"
            ).at(self)

    def _connect(self, query: str) -> sqlite3.Connection:
        db = sqlite3.connect(
            f"file:{quote(self.path)}?{query}",
            uri=True,
            timeout=self.timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            # What cannot be decoded is no key, and is left out of listings as such.
            db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA cell_size_check = ON")
            db.execute("PRAGMA foreign_keys = OFF")
            if sys.version_info >= (3, 12):
                db.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
                db.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
                db.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)
            encoding = db.execute("PRAGMA encoding").fetchone()
            if encoding != ("UTF-8",):
                raise StoreError(f"text is stored as {encoding}, expected UTF-8").at(self)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, lent: Lent) -> None:
        """Make the file ready for writing."""
        db = lent.db
        if lent.schema is None:
            self._find_table(lent)  # before anything is changed
        try:
            db.execute(f"PRAGMA journal_mode = {JOURNAL}")
        except sqlite3.OperationalError as error:
            if _code(error) not in _WAITED:
                raise  # readers of the old journal are there: it is as safe, only slower
        db.execute(f"PRAGMA synchronous = {'FULL' if self.fsync else 'NORMAL'}")
        if lent.schema is None:
            db.execute(f'CREATE TABLE IF NOT EXISTS "{self.table}"(k TEXT PRIMARY KEY, v BLOB)')
            self._find_table(lent)
        self._wrote = lent.prepared = True

    def _find_table(self, lent: Lent) -> None:
        """Learn whether the table exists; raises if something else has its name."""
        db = lent.db
        schema = _schema(db)
        # A trigger may name our table though its row does not.
        rows = db.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE lower(tbl_name) = ?1"
            " OR instr(lower(sql), 'trigger') AND instr(lower(sql), ?1)",
            (self.table.lower(),),
        ).fetchall()
        # An index of anything but columns runs functions at every change.
        odd = db.execute(
            "SELECT DISTINCT i.name FROM pragma_index_list(?) AS i, pragma_index_xinfo(i.name) AS x"
            " WHERE i.partial OR x.cid < -1 OR x.coll <> 'BINARY'",
            (self.table,),
        ).fetchall()
        unfit = [("index", name, "") for (name,) in odd]
        for kind, name, sql in rows:
            text = sql if isinstance(sql, str) else ""
            if kind != "index" and not (kind == "table" and _TABLE.match(text)):
                unfit.append((kind, name, text))
        if unfit:
            kind, name, text = unfit[0]
            raise StoreError(
                f"expected a table {self.table}(k TEXT PRIMARY KEY, v BLOB) without"
                f" triggers, and indexes of its columns, found the {kind} {name!r}: {text[:200]!r}"
            ).at(self)
        lent.schema = schema if rows else None

    # -- failures -----------------------------------------------------------------------------
    def damaged(self, what: str) -> StoreError:
        return StoreError(
            f"cannot {what}: the file is damaged: it shows more than fits into it, keys"
            " that are not in order, or an index that differs from the table"
        ).at(self)

    def _timed_out(self, what: str) -> StoreTimeoutError:
        return StoreTimeoutError(
            f"cannot {what}: another writer did not finish within {self.timeout} s (timeout=...)"
        ).at(self)

    def _failure(self, what: str, error: Exception) -> StoreError:
        code = _code(error)
        if code in _WAITED:
            return self._timed_out(what)
        folder = os.path.dirname(os.path.abspath(self.path))
        if code == _NOT_A_DATABASE:
            return StoreError(
                "the file is not a SQLite database, or is encrypted or damaged; check the path, or"
                " choose another one for a new store"
            ).at(self)
        if code == _CANNOT_OPEN and not os.path.isdir(folder):
            return StoreError(f"cannot {what}: there is no folder {folder!r}; make it").at(self)
        kind = StoreAccessError if code in _FORBIDDEN else StoreError
        return kind(f"cannot {what}: {error}").at(self)


def _schema(db: sqlite3.Connection) -> int:
    (version,) = db.execute("PRAGMA schema_version").fetchone()
    return int(version)


def size_of(db: sqlite3.Connection) -> int:
    """How many bytes the database has, in the state that the transaction sees."""
    (pages,), (size,) = (
        db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size")
    )
    return int(pages) * int(size)


def _code(error: Exception) -> int:
    """SQLite's primary result code; 0 where there is none."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def _set_busy_timeout(db: sqlite3.Connection, seconds: float) -> None:
    db.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
