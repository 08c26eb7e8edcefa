"""`LMDBStore`: values in an LMDB environment, a memory-mapped tree of sorted keys.

Keys are stored as their UTF-8 bytes in the unnamed database, as zarr-python 2 does. A value is its
own version: it is replaced only if it still holds the bytes that were read, inside the one write
transaction that LMDB allows at a time in all processes. Values are copied out of the map. LMDB
trusts its file: a damaged one can crash the process, so open only files that you trust.

This module knows keys and transactions. `lmdb_environment` knows the environment.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from omnizarr.errors import InvalidKeyError
from omnizarr.keywords import suggests
from omnizarr.model.paths import check_key, check_prefix, is_key
from omnizarr.model.store import Buffer, ByteRange, Capabilities, Listing, Read, Store, span
from omnizarr.stores.databases.base import FileDatabase, Separator, openers
from omnizarr.stores.databases.keys import listing_by_jumps
from omnizarr.stores.databases.lmdb_environment import FIRST_MAP, acquire, library, release

if TYPE_CHECKING:
    import lmdb

T = TypeVar("T")

MOST_KEY_BYTES = 511
"""What LMDB is usually built with."""


class LMDBStore(FileDatabase):
    """Values in an LMDB environment, which the first `set` creates.

    Parameters
    ----------
    path
        Path of the environment's directory.
    read_only
        Refuse every change, and create no file but LMDB's own lock file.
    map_size
        First size of the memory map in bytes; it grows by itself.
    fsync
        Wait until each change has reached the disk. Without it, changes survive a killed process
        but perhaps not a loss of power.
    timeout
        Seconds that a change waits for other threads when the map must grow.
    environment
        An `lmdb.Environment` that is open already; the caller closes it.
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.
    buffers
        A keyword of zarr-python 2, without effect: values are read without a copy where it is safe.

    Examples
    --------
    >>> with omnizarr.stores.LMDBStore("data.lmdb") as store:
    ...     store.set("key", b"value")
    ...     list(store)
    ['key']
    """

    capabilities = Capabilities(conditional=True, versions=True, concurrent_writes=False)
    _kind = "an LMDB environment"
    _instead = "an environment", "by its path"

    @suggests
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        map_size: int = FIRST_MAP,
        fsync: bool = False,
        timeout: float = 30.0,
        environment: lmdb.Environment | None = None,
        dimension_separator: Separator | None = None,
        buffers: bool = True,
    ) -> None:
        library()
        super().__init__(
            path, read_only=read_only, timeout=timeout, dimension_separator=dimension_separator
        )
        self.map_size = map_size
        self.fsync = fsync
        self._given = environment
        self._open()

    def _open(self) -> None:
        self._environment = acquire(
            self._real_path,
            writable=not self.read_only,
            map_size=self.map_size,
            fsync=self.fsync,
            given=self._given,
        )
        self._end = weakref.finalize(self, release, self._environment, not self.read_only)

    @property
    def identity(self) -> Hashable:
        return "lmdb", self._real_path

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self.get_many([(key, byte_range)])[0]

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        names = [(self._name(key), byte_range) for key, byte_range in requests]
        what = f"read {requests[0][0]!r}" if len(requests) == 1 else "read many keys"
        with self._reading(what) as transaction:
            if transaction is None:
                return [None] * len(names)
            return [_copy(transaction.get(name), byte_range) for name, byte_range in names]

    @contextmanager
    def snapshot(self, key: str) -> Iterator[Read]:
        name = self._name(key)
        with self._reading(f"read {key!r}") as transaction:
            # The map stays as it is until the transaction ends; any thread may copy from it.
            value = None if transaction is None else transaction.get(name)
            yield lambda byte_range: _copy(value, byte_range)

    def size(self, key: str) -> int | None:
        name = self._name(key)
        with self._reading(f"measure {key!r}") as transaction:
            value = None if transaction is None else transaction.get(name)
            return None if value is None else len(value)

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self.setitems({key: value})

    def setitems(self, values: Mapping[str, Buffer]) -> None:
        """Set all values in one transaction."""
        self.check_writable()
        items = [(self._name(key), bytes(value)) for key, value in values.items()]

        def change(transaction: Any) -> None:
            for name, data in items:
                transaction.put(name, data)

        what = f"write {next(iter(values))!r}" if len(items) == 1 else f"write {len(items)} keys"
        self._write(what, change, sum(len(data) for _, data in items))

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.check_writable()
        name, data = self._name(key), bytes(value)
        return self._write(
            f"write {key!r}",
            lambda transaction: bool(transaction.put(name, data, overwrite=False)),
            len(data),
        )

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        if version is None:
            return self.set_if_absent(key, value)
        self.check_writable()
        name, data = self._name(key), bytes(value)

        def change(transaction: Any) -> bool:
            found = transaction.get(name)
            if found is None or found != version:
                return False
            return bool(transaction.put(name, data))

        return self._write(f"write {key!r}", change, len(data))

    def delete(self, key: str) -> None:
        self.check_writable()
        name = self._name(key)
        if self.exists(key):  # deleting a missing key creates no file
            self._write(f"delete {key!r}", lambda transaction: transaction.delete(name))

    def delete_prefix(self, prefix: str) -> None:
        self.check_writable()
        if next(self.list_prefix(prefix), None) is None:
            return

        def change(transaction: Any) -> None:
            for key in _keys(transaction, prefix):
                transaction.delete(key.encode())

        self._write(f"delete {prefix!r}", change)

    def move_prefix(self, source: str, target: str) -> None:
        self.check_move(source, target)

        def change(transaction: Any) -> None:
            for key in _keys(transaction, source):
                value = bytes(transaction.get(key.encode()))
                transaction.put(self._name(target + key[len(source) :]), value)
                transaction.delete(key.encode())

        if next(self.list_prefix(source), None) is not None:
            self._write(f"move {source!r}", change)

    # -- listable -----------------------------------------------------------------------------
    def _keys(self, prefix: str) -> list[str]:
        with self._reading(f"list {prefix!r}") as transaction:
            return [] if transaction is None else _keys(transaction, prefix)

    def list_dir(self, prefix: str) -> Listing:
        check_prefix(prefix)
        with self._reading(f"list {prefix!r}") as transaction:
            if transaction is None:
                return Listing([], [])
            with transaction.cursor() as cursor:
                return listing_by_jumps(lambda start: _following(cursor, start), prefix, repr(self))

    # -- transactions -------------------------------------------------------------------------
    def _name(self, key: str) -> bytes:
        name = check_key(key).encode()
        if len(name) > MOST_KEY_BYTES:
            raise InvalidKeyError(
                f"the key {key[:40]!r}… has {len(name)} bytes; LMDB allows"
                f" {MOST_KEY_BYTES}. Use shorter names, or another store"
            ).at(self)
        return name

    def _reading(self, what: str) -> AbstractContextManager[Any]:
        self._check_open(what)
        return self._environment.reading(what, self.timeout)

    def _write(self, what: str, function: Callable[[Any], T], needed: int = 0) -> T:
        self._check_open(what)
        return self._environment.write(what, function, needed, self.timeout)


def _copy(value: Any, byte_range: ByteRange | None) -> bytes | None:
    if value is None:
        return None
    if byte_range is None:
        return bytes(value)
    start, stop = span(byte_range, len(value))
    return bytes(value[start:stop])


def _following(cursor: Any, start: str) -> Iterator[str]:
    """The keys from `start` on; bytes that are no text become a str that is no key."""
    if cursor.set_range(start.encode()) if start else cursor.first():
        for name in cursor.iternext(keys=True, values=False):
            yield bytes(name).decode("utf-8", "surrogateescape")


def _keys(transaction: Any, prefix: str) -> list[str]:
    found: list[str] = []
    with transaction.cursor() as cursor:
        for key in _following(cursor, prefix):
            if not key.startswith(prefix):
                break
            if is_key(key):
                found.append(key)
    return found


def _is_there(path: str) -> bool:
    library()  # a missing package is reported first
    return os.path.exists(os.path.join(path, "data.mdb") if os.path.isdir(path) else path)


open_path, open_url = openers(LMDBStore, {"map_size", "fsync", "timeout"}, _is_there)


def adopt(obj: Any, *, read_only: bool) -> Store | None:
    """The store of an `lmdb.Environment` that the caller opened."""
    if not isinstance(obj, library().Environment):
        return None
    return LMDBStore(
        obj.path(), environment=obj, read_only=read_only or bool(obj.flags()["readonly"])
    )
