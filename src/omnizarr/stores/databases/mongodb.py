"""`MongoDBStore`: values as documents `{key: …, value: …}` of a MongoDB collection.

The documents are those of zarr-python 2. A unique index on `key` keeps two writers from making two
documents of one key. A value is its own version: a document is replaced only if it still holds the
bytes that were read. The server sends documents whole, so a part of a value costs as much as all.

This module knows MongoDB. It must not know what values mean.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from omnizarr.errors import (
    StoreAccessError,
    StoreError,
    UncertainWriteError,
    ZarrError,
)
from omnizarr.model.paths import DOCUMENT, check_key, check_prefix, deletion_steps, is_key
from omnizarr.model.store import Buffer, ByteRange, Capabilities, Store, Versioned, read_range
from omnizarr.runtime.optional_packages import package
from omnizarr.stores.databases.base import Separator, ServerDatabase, leave_open, refuse_url
from omnizarr.stores.databases.keys import beyond

if TYPE_CHECKING:
    import pymongo

T = TypeVar("T")

BATCH = 100
"""How many keys one query asks for."""
MOST_BYTES = (16 << 20) - (8 << 10)
"""A document takes 16 MiB: the value, and its key and names."""

_REFUSED = {13, 18, 8000}  # Unauthorized, AuthenticationFailed, Atlas' own
_DUPLICATE = 11000
_NOT_PRIMARY = {10107, 13435}  # which writes nothing
_FIELDS = {"key": 1, "value": 1, "_id": 0}
"""What is read of a document; other programs may have put more into it."""


class MongoDBStore(ServerDatabase):
    """Values in a collection of a MongoDB database.

    Parameters
    ----------
    database, collection
        Their names.
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.
    client
        A `pymongo.MongoClient` that is connected already; the caller closes it.
    url
        `mongodb://user:password@host:port/`, with options of the connection.
    read_only
        Refuse every change.
    timeout
        Seconds that a call may take in all.
    **options
        Arguments of `pymongo.MongoClient`: host, port, username, password, tls, …

    Examples
    --------
    >>> store = omnizarr.stores.MongoDBStore(url="mongodb://localhost:27017/")  # doctest: +SKIP
    """

    capabilities = Capabilities(ranges=False, conditional=True, versions=True, remote=True)
    _server = "a MongoDB server"
    _form = "mongodb://user:password@host:port/database.collection"
    _client_class = "pymongo.MongoClient"
    _usual = (
        "host", "port", "username", "password", "authSource", "authMechanism", "tls", "tlsCAFile",
        "tlsCertificateKeyFile", "replicaSet", "directConnection", "readPreference", "w",
        "appname", "connectTimeoutMS", "serverSelectionTimeoutMS", "maxPoolSize", "compressors",
    )  # fmt: skip

    def __init__(
        self,
        database: str = "mongodb_zarr",
        collection: str = "zarr_collection",
        dimension_separator: Separator | None = None,
        *,
        client: pymongo.MongoClient[dict[str, object]] | None = None,
        url: str | None = None,
        read_only: bool = False,
        timeout: float = 30.0,
        **options: object,
    ) -> None:
        for name, value in (("database", database), ("collection", collection)):
            refuse_url("MongoDBStore", name, value, "give it by name, MongoDBStore(url=...)")
        super().__init__(
            client,
            url,
            options,
            read_only=read_only,
            timeout=timeout,
            dimension_separator=dimension_separator,
        )
        if url is not None and "host" in options:
            raise TypeError("a MongoDBStore takes a url or a host, not both")
        self.database = database
        self.collection = collection
        self._open()

    def _open(self) -> None:
        self._pymongo = package("pymongo", "mongodb", "MongoDBStore")
        self._process = os.getpid()
        self._indexed = False
        if self._given is not None:
            self._client = self._given
            self._end = weakref.finalize(self, leave_open)
        else:
            options = {"connect": False, **self._options.value}
            if self._url.value is not None:
                options["host"] = self._url.value
            try:
                self._client = self._pymongo.MongoClient(**options)
            except Exception as error:
                raise self._refusal(error) from None
            self._end = weakref.finalize(self, _close, self._client, self._process)
        try:
            self._documents = self._client[self.database][self.collection]
        except self._pymongo.errors.InvalidName as error:
            self._end()
            raise StoreError(
                f"invalid name of a database or collection: {self.database!r}, {self.collection!r}"
            ) from error
        nodes = self._client.topology_description.server_descriptions()
        self._place = ",".join(sorted(f"{host}:{port}" for host, port in nodes))

    @property
    def identity(self) -> Hashable:
        return "mongodb", self._place, self.database, self.collection

    def __repr__(self) -> str:
        name = f"mongodb://{self._place[:100]}/{self.database}.{self.collection}"
        return f"{type(self).__name__}({name!r})"

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        value = self._find(key)
        return None if value is None else read_range(bytes(value), byte_range)

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        value = self._find(key)  # with its subtype, which the server compares too
        return None if value is None else Versioned(read_range(bytes(value), byte_range), value)

    def _find(self, key: str) -> bytes | None:
        check_key(key)
        found = self._call(f"read {key!r}", lambda: self._documents.find_one({"key": key}, _FIELDS))
        return None if found is None else self._value(found)

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        keys = list(dict.fromkeys(check_key(key) for key, _ in requests))
        values: dict[str, bytes] = {}
        for begin in range(0, len(keys), BATCH):
            some = keys[begin : begin + BATCH]

            def find(some: list[str] = some) -> None:
                with self._documents.find({"key": {"$in": some}}, _FIELDS) as cursor:
                    for found in cursor:
                        value = bytes(self._value(found))
                        if values.setdefault(found["key"], value) != value:
                            raise self._twice()

            self._call("read many keys", find)
        return [
            read_range(values[key], byte_range) if key in values else None
            for key, byte_range in requests
        ]

    def exists(self, key: str) -> bool:
        check_key(key)
        return self._has(f"find {key!r}", {"key": key})

    def _has(self, what: str, condition: dict[str, Any]) -> bool:
        find = self._documents.find_one
        return self._call(what, lambda: find(condition, {"_id": 1})) is not None

    def _value(self, document: dict[str, Any]) -> bytes:
        value = document.get("value")
        if not isinstance(value, bytes):  # `Binary` of another subtype is bytes too
            raise StoreError(
                f"the document has a value of type {type(value).__name__}, expected binary data"
            ).at(self, key=document["key"])
        return value

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        with self._pymongo.timeout(self.timeout):  # one for the index and the value
            document = self._document(key, value)
            self._call(
                f"write {key!r}",
                lambda: self._documents.replace_one({"key": key}, document, upsert=True),
                again=True,
            )

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        try:
            with self._pymongo.timeout(self.timeout):
                document = self._document(key, value)
                try:
                    self._conditionally(key, lambda: self._documents.insert_one(document))
                except UncertainWriteError:
                    if not self._is_there(document.get("_id")):
                        raise
        except StoreError as error:
            if _code(error.__cause__) != _DUPLICATE:
                raise
            return False
        return True

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        if version is None:
            return self.set_if_absent(key, value)
        before = {"key": key, "value": version}
        with self._pymongo.timeout(self.timeout):
            document = self._document(key, value)
            done = self._conditionally(key, lambda: self._documents.replace_one(before, document))
        return bool(done.matched_count)

    def _conditionally(self, key: str, write: Callable[[], T]) -> T:
        """The answer to a write that must not be done twice. A server recognizes what the client
        repeats by its number, so an error means that no attempt was answered."""
        try:
            return self._call(f"write {key!r}", write)
        except StoreError as error:
            cause = error.__cause__
            if not self._is_lost(cause):
                raise
            raise UncertainWriteError(
                f"whether {key!r} was written is unknown: the server's answer was lost;"
                f" look at the value before you do the same again ({cause})"
            ).at(self, key=key) from cause

    def _is_lost(self, error: BaseException | None) -> bool:
        """Whether a write may have been done although this error was raised."""
        errors = self._pymongo.errors
        if isinstance(error, errors.ServerSelectionTimeoutError):
            return False
        if isinstance(error, errors.NotPrimaryError):
            answer = error.details
            return not isinstance(answer, dict) or answer.get("code") not in _NOT_PRIMARY
        return isinstance(error, (errors.ConnectionFailure, errors.WriteConcernError))

    def _is_there(self, name: object) -> bool:
        """Whether the document with this `_id`, which the client made up, was written. Another
        writer who replaces the value does not change it."""
        with suppress(StoreError):  # the first error is the one to report
            return name is not None and self._has("look for a document", {"_id": name})
        return False

    def delete(self, key: str) -> None:
        self.check_writable()
        check_key(key)
        self._call(f"delete {key!r}", lambda: self._documents.delete_many({"key": key}))

    def delete_prefix(self, prefix: str) -> None:
        self.check_writable()
        below = _below(check_prefix(prefix))
        documents = (key for key in self.list_prefix(prefix) if DOCUMENT.search(key))
        for step in deletion_steps(documents):
            for begin in range(0, len(step), BATCH):
                self._delete_many(prefix, {"key": {"$in": step[begin : begin + BATCH]}})
        self._delete_many(prefix, below)

    def _delete_many(self, prefix: str, condition: dict[str, Any]) -> None:
        self._call(f"delete {prefix!r}", lambda: self._documents.delete_many(condition))

    def _document(self, key: str, value: Buffer) -> dict[str, Any]:
        """The document to write; the first one makes the index."""
        self.check_writable()
        check_key(key)
        data = bytes(value)
        if len(data) > MOST_BYTES:
            raise StoreError(
                f"cannot write {len(data)} bytes: a MongoDB document takes at most {MOST_BYTES};"
                " use smaller chunks or shards, or stronger compression"
            ).at(self, key=key)
        if not self._indexed:
            try:
                self._call(
                    "make the unique index on key",
                    lambda: self._documents.create_index("key", unique=True),
                )
            except StoreError as error:
                if _code(error.__cause__) == _DUPLICATE:
                    raise self._twice() from error
                raise
            self._indexed = True
        return {"key": key, "value": data}

    def _twice(self) -> StoreError:
        return StoreError(
            "two documents have the same key; remove one of them, or neither reading"
            " nor writing is certain"
        ).at(self)

    # -- listable -----------------------------------------------------------------------------
    def _keys(self, prefix: str) -> list[str]:
        condition = _below(prefix)

        def find() -> list[Any]:
            with self._documents.find(condition, {"key": 1, "_id": 0}) as cursor:
                return [document.get("key") for document in cursor]

        keys = self._call(f"list {prefix!r}", find)
        return [key for key in keys if type(key) is str and is_key(key)]  # code is a str too

    # -- the server ---------------------------------------------------------------------------
    def _call(self, what: str, function: Callable[[], T], again: bool = False) -> T:
        """The answer, within the deadline. `again`: repeat the call if another writer made the
        same document first."""
        self._check_open(what)
        if self._process != os.getpid() and self._given is None:
            self._open()  # a child must not use its parent's connections
        errors = self._pymongo.errors
        try:
            with self._pymongo.timeout(self.timeout):
                try:
                    return function()
                except errors.DuplicateKeyError:
                    if not again:
                        raise
                    return function()
        except (ZarrError, MemoryError):
            raise
        except errors.PyMongoError as error:
            if isinstance(error, errors.ServerSelectionTimeoutError) or error.timeout:
                raise self._timed_out(what) from error
            kind = StoreAccessError if _code(error) in _REFUSED else StoreError
            raise kind(f"cannot {what}: {error}").at(self) from error
        except Exception as error:  # of a document that the client cannot decode
            raise StoreError(f"cannot {what}: {error}").at(self) from error


def _code(error: BaseException | None) -> int:
    return getattr(error, "code", None) or 0


def _close(client: Any, process: int) -> None:
    if os.getpid() == process:  # a forked child leaves the connections to its parent
        client.close()


def _below(prefix: str) -> dict[str, Any]:
    return {"key": {"$gte": prefix, "$lt": beyond(prefix)}} if prefix else {}


def open_url(url: str, *, mode: str | None, read_only: bool, options: dict[str, Any]) -> Store:
    """`mongodb://user:password@host:port/database.collection`; see `stores.kinds`."""
    path = MongoDBStore._split(url).path.strip("/")
    names = unquote(path)
    if "/" in names or "@" in path:
        # The path is not shown: it may be the end of a password that holds a slash.
        raise StoreError(
            f"the path of a MongoDB URL is database.collection, as in {MongoDBStore._form}, with"
            " user and password percent-encoded; a node below it is named with path=..."
        )
    database, _, collection = names.partition(".")
    for name, value in (("database", database), ("collection", collection)):
        if value:
            options.setdefault(name, value)
    return MongoDBStore(url=url, read_only=read_only, **options)


def adopt(obj: Any, *, read_only: bool) -> Store | None:
    """The store of a collection, or of a client or database with the usual names below it."""
    pymongo = package("pymongo", "mongodb", "MongoDBStore")
    if isinstance(obj, pymongo.collection.Collection):
        database, collection = obj.database.name, obj.name
        client = obj.database.client
    elif isinstance(obj, pymongo.database.Database):
        database, collection, client = obj.name, "zarr_collection", obj.client
    elif isinstance(obj, pymongo.MongoClient):
        database, collection, client = "mongodb_zarr", "zarr_collection", obj
    else:
        return None
    return MongoDBStore(database, collection, client=client, read_only=read_only)
