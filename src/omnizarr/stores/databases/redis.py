"""`RedisStore`: values as strings of a Redis or Valkey server.

The key `a/b` of the store with the prefix `zarr` is the server's key `zarr:a/b`, as in zarr-python
2. Many values come in one round trip. The server answers a range of a missing key with an empty
string, so after an empty answer it is asked how long the value is and whether there is one. A
value's version is its SHA-1, which the server computes where it compares; reading, comparing and
writing are one script, which `redis_once` keeps a client from repeating unnoticed. The server's
answers are trusted.

This module knows Redis. It must not know what values mean.
"""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from omnizarr.errors import (
    StoreAccessError,
    StoreError,
    UncertainWriteError,
    ZarrError,
)
from omnizarr.model.paths import check_key, deletion_steps, is_key
from omnizarr.model.store import Buffer, ByteRange, Capabilities, Store, Versioned
from omnizarr.runtime.optional_packages import package
from omnizarr.stores.databases.base import Separator, ServerDatabase, leave_open
from omnizarr.stores.databases.deadline import bounded, left, within
from omnizarr.stores.databases.redis_once import Once
from omnizarr.stores.databases.redis_ranges import NOTHING, bounds_of, escaped, getting, overlaps
from omnizarr.stores.databases.urls import refuse_unknown, refuse_url

if TYPE_CHECKING:
    import redis

T = TypeVar("T")

_FORM = "redis://user:password@host:port/database?prefix=name, or rediss:// for TLS"

BATCH = 256
"""How many commands go out together."""
MOST_BYTES = 512 << 20
"""The longest string that a server takes unless it is configured otherwise."""

_USUAL = (
    "host", "port", "db", "username", "password", "ssl", "ssl_ca_certs", "ssl_cert_reqs",
    "ssl_certfile", "ssl_keyfile", "client_name", "health_check_interval", "max_connections",
    "protocol", "socket_connect_timeout", "socket_keepalive", "socket_timeout", "unix_socket_path",
)  # fmt: skip
_READ = """
local value = redis.call('GET', KEYS[1])
if not value then return false end
return {redis.sha1hex(value), redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[2])}
"""
_REPLACE = """
local value = redis.call('GET', KEYS[1])
if not value or redis.sha1hex(value) ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1
"""


class RedisStore(ServerDatabase):
    """Values of a Redis or Valkey server.

    Parameters
    ----------
    prefix
        Keys on the server begin with it and ":".
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.
    client
        A `redis.Redis` or `valkey.Valkey` that is connected already and does not decode responses;
        the caller closes it.
    url
        `redis://user:password@host:port/database`, or `rediss://` for TLS.
    read_only
        Refuse every change.
    timeout
        Seconds that a call may take in all; a given client has its own for each answer.
    **options
        Arguments of `redis.Redis`: host, port, db, username, password, ssl, …

    Examples
    --------
    >>> store = omnizarr.stores.RedisStore(url="redis://localhost:6379/0")  # doctest: +SKIP
    """

    capabilities = Capabilities(conditional=True, versions=True, remote=True)

    def __init__(
        self,
        prefix: str = "zarr",
        dimension_separator: Separator | None = None,
        *,
        client: redis.Redis | object | None = None,
        url: str | None = None,
        read_only: bool = False,
        timeout: float = 30.0,
        **options: object,
    ) -> None:
        if not isinstance(prefix, str):
            raise TypeError(f"the prefix must be a str, found {type(prefix).__name__}")
        refuse_url("RedisStore", "prefix", prefix, "give it by name, RedisStore(url=...)")
        super().__init__(
            client,
            url,
            options,
            read_only=read_only,
            timeout=timeout,
            dimension_separator=dimension_separator,
        )
        self.prefix = prefix
        self._open()

    def _open(self) -> None:
        client = self._given
        if client is None:
            redis = package("redis", "redis", "RedisStore")
            from redis.backoff import NoBackoff
            from redis.retry import Retry

            options = {
                "socket_timeout": self.timeout,
                "socket_connect_timeout": self.timeout,
                "retry": Retry(NoBackoff(), 0),  # reads are repeated here, inside the deadline
                **self._options.value,
            }
            url = self._url.value
            try:
                client = (
                    redis.Redis(**options) if url is None else redis.Redis.from_url(url, **options)
                )
                pool = client.connection_pool
                pool.connection_class = bounded(pool.connection_class)
                pool.connection_class(**pool.connection_kwargs)  # which refuses unknown names
            except TypeError as error:
                refuse_unknown(error, self._options.value, _USUAL, "a Redis server", "redis.Redis")
            except ValueError as error:
                # The cause might show the URL.
                raise StoreError(
                    f"invalid URL or options of a Redis server: {type(error).__name__}; expected"
                    f" {_FORM}"
                ) from None
        self._client = client
        library = type(client).__module__.partition(".")[0]
        self._errors = errors = package(f"{library}.exceptions", "redis", "RedisStore")
        self._refusals = (
            errors.AuthenticationError,
            errors.NoPermissionError,
            errors.ReadOnlyError,
        )
        name = "ValkeyError" if hasattr(errors, "ValkeyError") else "RedisError"
        self._failures: type[Exception] = getattr(errors, name)
        pool = getattr(client, "connection_pool", None)
        place = {} if pool is None else pool.connection_kwargs
        if place.get("decode_responses"):
            raise TypeError("the client decodes responses, and values are bytes: decode_responses")
        if "path" in place:
            self._place = str(place["path"])
        else:
            self._place = f"{place.get('host', 'localhost')}:{place.get('port', 6379)}"
        self._database = int(place.get("db") or 0)
        self._read = client.register_script(_READ)
        self._replace = client.register_script(_REPLACE).sha
        self._once = Once(client, errors)
        self._end = weakref.finalize(self, client.close if self._given is None else leave_open)

    @property
    def identity(self) -> Hashable:
        return "redis", self._place, self._database, self.prefix

    def __repr__(self) -> str:
        name = f"redis://{self._place}/{self._database}"
        return f"{type(self).__name__}({name!r}, prefix={self.prefix!r})"

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self.get_many([(key, byte_range)])[0]

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        wanted = [(self._name(key), bounds_of(byte_range)) for key, byte_range in requests]
        what = f"read {requests[0][0]!r}" if len(requests) == 1 else "read many keys"
        answers: list[Buffer | None] = []
        for begin in range(0, len(wanted), BATCH):
            batch = wanted[begin : begin + BATCH]
            with within(self.timeout):
                answers += self._batch(
                    what, batch, [each for _, each in requests[begin : begin + BATCH]]
                )
        return answers

    def _batch(
        self,
        what: str,
        batch: Sequence[tuple[bytes, tuple[int, int] | None]],
        ranges: Sequence[ByteRange | None],
        tries: int = 2,
    ) -> list[Buffer | None]:
        found = self._pipeline(what, [getting(name, bounds) for name, bounds in batch])
        unclear: list[int] = []
        for index, (_, bounds) in enumerate(batch):
            if bounds == NOTHING:
                found[index] = b"" if found[index] else None
            elif bounds is not None and not found[index]:
                unclear.append(index)  # is the value missing, or does it end before?
        lengths = self._lengths(what, [batch[index][0] for index in unclear])
        again: list[int] = []
        for index, length in zip(unclear, lengths, strict=True):
            found[index] = None if length is None else b""
            if length and overlaps(ranges[index], length):
                again.append(index)  # it has been written since
        if again:
            if not tries:
                raise StoreError(f"cannot {what}: it changes all the while").at(self)
            rest = [batch[index] for index in again], [ranges[index] for index in again]
            for index, value in zip(again, self._batch(what, *rest, tries - 1), strict=True):
                found[index] = value
        return found

    def _lengths(self, what: str, names: Sequence[bytes]) -> list[int | None]:
        """How long values are; None for those that are missing, whose length is 0 for the server.
        Whether one is there is asked before and after, as it may come or go in between."""
        commands = [(each, name) for name in names for each in ("EXISTS", "STRLEN", "EXISTS")]
        answers = self._pipeline(what, commands) if commands else []
        return [
            length or (0 if before and after else None)
            for before, length, after in zip(*[iter(answers)] * 3, strict=True)
        ]

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        name = self._name(key)
        bounds = bounds_of(byte_range)
        found = self._call(f"read {key!r}", lambda: self._read(keys=[name], args=bounds or (0, -1)))
        return None if found is None else Versioned(found[1], found[0])

    def exists(self, key: str) -> bool:
        name = self._name(key)
        return self._call(f"find {key!r}", lambda: bool(self._client.exists(name)))

    def size(self, key: str) -> int | None:
        return self._lengths(f"measure {key!r}", [self._name(key)])[0]

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        name, data = self._name(key), self._data(key, value)
        self._call(f"write {key!r}", lambda: self._client.set(name, data))

    def update(self, values: Mapping[str, Buffer]) -> None:
        """Set all values, many in one round trip."""
        self.check_writable()
        commands = [
            ("SET", self._name(key), self._data(key, value)) for key, value in values.items()
        ]
        what = f"write {len(commands)} keys"
        for begin in range(0, len(commands), BATCH):
            self._pipeline(what, commands[begin : begin + BATCH])

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.check_writable()
        name, data = self._name(key), self._data(key, value)

        def add(doubt: str) -> bool:
            return self._once(doubt, "SET", name, data, "NX") is not None

        return self._conditionally(key, add)

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        if version is None:
            return self.set_if_absent(key, value)
        self.check_writable()
        name, data = self._name(key), self._data(key, value)
        arguments = 1, name, data, version

        def replace(doubt: str) -> bool:
            try:
                answer = self._once(doubt, "EVALSHA", self._replace, *arguments)
            except self._errors.NoScriptError:  # which the server then keeps
                answer = self._once(doubt, "EVAL", _REPLACE, *arguments)
            return bool(answer)

        return self._conditionally(key, replace)

    def delete(self, key: str) -> None:
        self.check_writable()
        name = self._name(key)
        self._call(f"delete {key!r}", lambda: self._client.delete(name))

    def delete_prefix(self, prefix: str) -> None:
        self.check_writable()
        keys = chain.from_iterable(deletion_steps(self.list_prefix(prefix)))
        commands = [("DEL", self._name(key)) for key in keys]
        for begin in range(0, len(commands), BATCH):
            self._pipeline(f"delete {prefix!r}", commands[begin : begin + BATCH])

    # -- listable -----------------------------------------------------------------------------
    def _keys(self, prefix: str) -> builtins.set[str]:
        """SCAN shows everything that is there all the while, some of it twice."""
        begin = f"{self.prefix}:".encode()
        pattern = escaped(begin + prefix.encode()) + b"*"

        def scan() -> builtins.set[str]:
            keys: set[str] = set()
            cursor = 0
            while True:
                left()  # a client that was given does not look at the time
                cursor, names = self._client.scan(cursor, match=pattern, count=1000)
                for name in names:
                    key = name[len(begin) :].decode("utf-8", "surrogateescape")
                    if is_key(key):
                        keys.add(key)
                if not cursor:
                    return keys

        return self._call(f"list {prefix!r}", scan)

    # -- the server ---------------------------------------------------------------------------
    def _name(self, key: str) -> bytes:
        return f"{self.prefix}:{check_key(key)}".encode()

    def _data(self, key: str, value: Buffer) -> bytes:
        data = bytes(value)
        if len(data) > MOST_BYTES:
            raise StoreError(
                f"cannot write {key!r}: {len(data)} bytes, and a Redis server takes"
                f" {MOST_BYTES}; use smaller chunks or shards"
            ).at(self)
        return data

    def _pipeline(self, what: str, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answers to many commands, in one round trip."""

        def send() -> list[Any]:
            with self._client.pipeline(transaction=False) as pipeline:
                for command in commands:
                    pipeline.execute_command(*command)
                answers: list[Any] = pipeline.execute()
                return answers

        return self._call(what, send)

    def _call(self, what: str, function: Callable[[], T]) -> T:
        """The answer to what may be done twice: it is, if the connection broke."""
        self._check_open(what)
        with self._translated(what), within(self.timeout):
            try:
                return function()
            except self._errors.TimeoutError:
                raise
            except self._errors.ConnectionError as error:
                if isinstance(error, self._errors.AuthenticationError):
                    raise
            return function()

    def _conditionally(self, key: str, send: Callable[[str], bool]) -> bool:
        """Whether it was written. After a lost answer the same is asked for again: what is written
        now was not written before, or is gone again. If not, nobody can tell."""
        what = f"write {key!r}"
        doubt = (
            f"{self!r}: whether {key!r} was written is unknown: the server's answer was lost; look"
            " at the value before you do the same again"
        )
        errors = self._errors
        self._check_open(what)
        with self._translated(what), within(self.timeout):
            try:
                return send(doubt)
            except UncertainWriteError as error:
                lost = error
            except errors.ConnectionError as error:  # nothing was sent
                if isinstance(error, errors.AuthenticationError):
                    raise
                return send(doubt)
            if not isinstance(lost.__cause__, (errors.TimeoutError, TimeoutError)):
                with suppress(Exception):  # what was lost first is what the caller must hear of
                    if send(doubt):
                        return True
            raise lost

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        errors = self._errors
        try:
            yield
        except (ZarrError, MemoryError):
            raise
        except (errors.TimeoutError, TimeoutError) as error:
            raise self._timed_out(what) from error
        except self._refusals as error:
            raise StoreAccessError(f"cannot {what}: {error}").at(self) from error
        except self._failures as error:
            if str(error).startswith(("NOAUTH", "NOPERM", "WRONGPASS")):
                raise StoreAccessError(f"cannot {what}: {error}").at(self) from error
            raise StoreError(f"cannot {what}: {error}").at(self) from error
        except OSError as error:
            raise StoreError(f"cannot {what}: {error}").at(self) from error


def open_url(url: str, *, mode: str | None, read_only: bool, options: dict[str, Any]) -> Store:
    """`redis://user:password@host:port/database?prefix=name`; see `stores.kinds`."""
    from urllib.parse import parse_qsl, urlencode, urlsplit

    parts = _parts(urlsplit, url)
    database = parts.path.strip("/")
    if database and not (database.isascii() and database.isdigit()):
        raise StoreError(
            f"the path of a Redis URL is the number of a database, as in {_FORM}, with user and"
            " password percent-encoded; a node below it is named with path=..."
        )
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    prefix = str(query.pop("prefix", options.pop("prefix", "zarr")))
    scheme = {"valkey": "redis", "valkeys": "rediss"}.get(parts.scheme, parts.scheme)
    plain = parts._replace(scheme=scheme, query=urlencode(query), fragment="").geturl()
    return RedisStore(prefix, url=plain, read_only=read_only, **options)


def _parts(split: Callable[[str], Any], url: str) -> Any:
    try:
        parts = split(url)
        _ = parts.port
    except ValueError:
        raise StoreError(f"invalid URL of a Redis server; expected {_FORM}") from None
    return parts


def adopt(obj: Any, *, read_only: bool) -> Store | None:
    """The store of a client of redis-py or valkey-py."""
    if not hasattr(obj, "register_script") or not hasattr(obj, "scan_iter"):
        return None
    if ".asyncio" in type(obj).__module__:
        raise TypeError("a RedisStore takes a client without asyncio, such as redis.Redis")
    return RedisStore(client=obj, read_only=read_only)
