"""What is done with an open database of `dbm`, whichever flavour it is.

This module knows the flavours. It must not know what a store is.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Sequence
from contextlib import closing
from typing import Any, Protocol
from urllib.parse import quote

from omnizarr.errors import StoreError
from omnizarr.model.store import ByteRange, read_range, span
from omnizarr.stores.databases.dbm_dumb import DumbDatabase

_DICT = re.compile(
    r"\s*CREATE\s+TABLE\s+Dict\s*\(\s*key\s+BLOB\s+UNIQUE\s+NOT\s+NULL\s*,"
    r"\s*value\s+BLOB\s+NOT\s+NULL\s*\)\s*\Z",
    re.IGNORECASE,
)
"""The table of `dbm.sqlite3`. A view, a trigger or an index of functions would be run."""


_HEADS = {
    0x13579ACE: "=28xi",
    0x13579ACD: "=28xi",
    0x13579ACF: "=32xq",
    0x13579AD0: "=28xi",
    0x13579AD1: "=32xq",
}
"""Where a file of `dbm.gnu` says at which byte its next block is to begin, by its first number."""
MOST_GAP = 16 << 20
"""How far beyond the end of the file that may be; it is less than a block."""


class Values(Protocol):
    """What is done with an open database."""

    def get(self, key: bytes, byte_range: ByteRange | None) -> bytes | None: ...
    def size(self, key: bytes) -> int | None: ...
    def set(self, key: bytes, value: bytes) -> None: ...
    def delete(self, keys: Sequence[bytes]) -> None: ...
    def keys(self) -> list[bytes]: ...


class Nothing:
    """A database that does not exist yet."""

    def get(self, key: bytes, byte_range: ByteRange | None) -> bytes | None:
        return None

    def size(self, key: bytes) -> int | None:
        return None

    def set(self, key: bytes, value: bytes) -> None:
        raise AssertionError("writing creates the database")

    def delete(self, keys: Sequence[bytes]) -> None:
        return None

    def keys(self) -> list[bytes]:
        return []


class Dumb:
    def __init__(self, db: DumbDatabase) -> None:
        self._db = db

    def get(self, key: bytes, byte_range: ByteRange | None) -> bytes | None:
        size = self.size(key)
        if size is None:
            return None
        start, stop = (0, size) if byte_range is None else span(byte_range, size)
        return self._db.get(key, start, stop)

    def size(self, key: bytes) -> int | None:
        place = self._db.places.get(key)
        return None if place is None else place[1]

    def set(self, key: bytes, value: bytes) -> None:
        self._db.set(key, value)

    def delete(self, keys: Sequence[bytes]) -> None:
        if len(keys) == len(self._db.places):
            self._db.clear()
        else:
            self._db.delete(keys)

    def keys(self) -> list[bytes]:
        return list(self._db.places)


class Other:
    """What `dbm.gnu`, `dbm.ndbm`, `dbm.sqlite3` and their like open: a mapping of bytes."""

    def __init__(self, db: Any) -> None:
        self._db = db

    def get(self, key: bytes, byte_range: ByteRange | None) -> bytes | None:
        try:
            value = bytes(self._db[key])
        except KeyError:
            # `dbm.ndbm` says this of empty values too; only the list of all keys tells.
            if type(self._db).__module__ != "_dbm" or key not in self.keys():
                return None
            value = b""
        return bytes(read_range(value, byte_range))

    def size(self, key: bytes) -> int | None:
        value = self.get(key, None)
        return None if value is None else len(value)

    def set(self, key: bytes, value: bytes) -> None:
        self._db[key] = value

    def delete(self, keys: Sequence[bytes]) -> None:
        for key in keys:
            del self._db[key]

    def keys(self) -> list[bytes]:
        return [bytes(key) for key in self._db.keys()]  # noqa: SIM118 - not every one iterates


def check_gnu(path: str) -> None:
    """Raise `StoreError` if `dbm.gnu` would fill the disk up to a place far beyond the end of its
    file before it writes anything, in one call that nothing interrupts."""
    with open(path, "rb") as file:
        head = file.read(64)
        size = os.fstat(file.fileno()).st_size
    form = _HEADS.get(struct.unpack_from("=I", head)[0]) if len(head) >= 40 else None
    if form is None:
        return
    (following,) = struct.unpack_from(form, head)
    if not 0 < following <= size + MOST_GAP:
        raise StoreError(
            f"{path!r} is damaged: its next block is to begin at byte {following}, but the file has"
            f" {size}; copy what can be read"
        )


def check_sqlite(path: str) -> None:
    """Raise `StoreError` unless the file holds what `dbm.sqlite3` makes."""
    import sqlite3  # not in every Python, and needed by one flavour only

    with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT type, sql FROM sqlite_master WHERE lower(tbl_name) = 'dict'")
        for kind, sql in rows.fetchall():
            made_by_sqlite = kind == "index" and sql is None
            if not made_by_sqlite and not (kind == "table" and _DICT.match(str(sql))):
                raise StoreError(
                    f"{path!r}: expected the table of dbm.sqlite3, found the {kind}"
                    f" {str(sql)[:200]!r}"
                )
