"""`RedisStore`: values as strings of a Redis or Valkey server.

The key `a/b` of the store with the prefix `zarr` is the server's key `zarr:a/b`, as in zarr-python
2. Many values come in one round trip. The server answers a range of a missing key with an empty
string, so after an empty answer the whole value is asked for. A value's version is its SHA-1, which
the server computes where it compares; reading, comparing and writing are one script.

This module knows Redis. It must not know what values mean.
"""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal, TypeVar

from omnizarr.errors import (
    StoreAccessError,
    StoreClosedError,
    StoreError,
    StoreTimeoutError,
    ZarrError,
)
from omnizarr.extras import package
from omnizarr.model.paths import check_key, check_prefix, is_key
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Capabilities,
    Listing,
    Store,
    Versioned,
    listing_of,
    read_range,
    span,
)
from omnizarr.stores.database_deadline import bounded, within
from omnizarr.stores.database_urls import refuse_unknown
from omnizarr.stores.durations import seconds
from omnizarr.stores.secrets import Secret

T = TypeVar("T")

_FORM = "redis://user:password@host:port/database?prefix=name, or rediss:// for TLS"

BATCH = 256
"""How many commands go out together."""
MOST_BYTES = 512 << 20
"""The longest string that a server takes unless it is configured otherwise."""

_FARTHEST = 1 << 62
"""Positions beyond this are beyond the end of every value, and the server refuses the number."""
_USUAL = (
    "host", "port", "db", "username", "password", "ssl", "ssl_ca_certs", "ssl_cert_reqs",
    "ssl_certfile", "ssl_keyfile", "client_name", "health_check_interval", "max_connections",
    "protocol", "socket_connect_timeout", "socket_keepalive", "socket_timeout", "unix_socket_path",
)  # fmt: skip
_NOTHING = (1, 0)
"""First and last position of an empty range."""
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


class RedisStore(Store):
    """Values of a Redis or Valkey server, under keys that begin with `prefix` and ":".

    client: a `redis.Redis` or `valkey.Valkey` that is connected already; the caller closes it. It
        must not decode responses.
    url: `redis://user:password@host:port/database`, or `rediss://` for TLS.
    timeout: how many seconds a call may take in all; a client that was given has its own.
    options: what `redis.Redis` takes: host, port, db, username, password, ssl, …
    dimension_separator: what new arrays should have between chunk coordinates.
    """

    capabilities = Capabilities(conditional=True, versions=True)

    def __init__(
        self,
        prefix: str = "zarr",
        dimension_separator: Literal[".", "/"] | None = None,
        *,
        client: Any = None,
        url: str | None = None,
        read_only: bool = False,
        timeout: float = 30.0,
        **options: Any,
    ) -> None:
        if not isinstance(prefix, str):
            raise TypeError(f"the prefix must be a str, found {type(prefix).__name__}")
        if client is not None and (url is not None or options):
            raise TypeError("a RedisStore takes a client, or a url and options, not both")
        self.prefix = prefix
        self.read_only = read_only
        self.timeout = seconds("timeout", timeout)
        if dimension_separator is not None:
            self.dimension_separator = dimension_separator
        self._given = client
        self._url = Secret(url)
        self._options = Secret(options)
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
        self._replace = client.register_script(_REPLACE)
        self._end = weakref.finalize(self, client.close if self._given is None else _leave_open)

    @cached_property
    def identity(self) -> Hashable:
        return "redis", self._place, self._database, self.prefix

    def __repr__(self) -> str:
        name = f"redis://{self._place}/{self._database}"
        return f"{type(self).__name__}({name!r}, prefix={self.prefix!r})"

    def __getstate__(self) -> dict[str, Any]:
        if self._given is not None:
            raise TypeError(
                f"{self!r} uses a client that was given to it, which cannot be pickled; open the"
                " store with a URL instead"
            )
        kept = ["prefix", "read_only", "timeout", "dimension_separator"]
        kept += ["_given", "_url", "_options"]
        return {name: self.__dict__[name] for name in kept if name in self.__dict__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def close(self) -> None:
        self._end()

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self.get_many([(key, byte_range)])[0]

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        wanted = [(self._name(key), _bounds(byte_range)) for key, byte_range in requests]
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
    ) -> list[Buffer | None]:
        found = self._pipeline(what, [_getting(name, bounds) for name, bounds in batch])
        unclear: list[int] = []
        for index, (_, bounds) in enumerate(batch):
            if bounds == _NOTHING:
                found[index] = b"" if found[index] else None
            elif bounds is not None and not found[index]:
                unclear.append(index)  # is the value missing, or does it end before?
        if unclear:
            whole = self._pipeline(what, [("GET", batch[index][0]) for index in unclear])
            for index, value in zip(unclear, whole, strict=True):
                byte_range = ranges[index]
                found[index] = None if value is None else read_range(value, byte_range)
        return found

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        name = self._name(key)
        first, last = _bounds(byte_range) or (0, -1)
        found = self._call(
            f"read {key!r}", lambda: self._read(keys=[name], args=[first, last]), repeat=True
        )
        return None if found is None else Versioned(found[1], bytes(found[0]))

    def exists(self, key: str) -> bool:
        name = self._name(key)
        return bool(self._call(f"find {key!r}", lambda: self._client.exists(name), repeat=True))

    def size(self, key: str) -> int | None:
        name = self._name(key)
        what = f"measure {key!r}"
        length = int(self._call(what, lambda: self._client.strlen(name), repeat=True))
        if length:
            return length
        value = self._call(what, lambda: self._client.get(name), repeat=True)
        return None if value is None else len(value)

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        name, data = self._name(key), self._data(key, value)
        self._call(f"write {key!r}", lambda: self._client.set(name, data), repeat=True)

    def update(self, values: Any) -> None:
        """Set all values, many in one round trip."""
        self.check_writable()
        commands = [
            ("SET", self._name(key), self._data(key, value)) for key, value in values.items()
        ]
        for begin in range(0, len(commands), BATCH):
            self._pipeline(f"write {len(commands)} keys", commands[begin : begin + BATCH])

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.check_writable()
        name, data = self._name(key), self._data(key, value)
        return bool(self._call(f"write {key!r}", lambda: self._client.set(name, data, nx=True)))

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        if version is None:
            return self.set_if_absent(key, value)
        self.check_writable()
        name, data = self._name(key), self._data(key, value)
        return bool(
            self._call(f"write {key!r}", lambda: self._replace(keys=[name], args=[data, version]))
        )

    def delete(self, key: str) -> None:
        self.check_writable()
        name = self._name(key)
        self._call(f"delete {key!r}", lambda: self._client.delete(name), repeat=True)

    def delete_prefix(self, prefix: str) -> None:
        self.check_writable()
        commands = [("DEL", self._name(key)) for key in self.list_prefix(prefix)]
        for begin in range(0, len(commands), BATCH):
            self._pipeline(f"delete {prefix!r}", commands[begin : begin + BATCH])

    # -- listable -----------------------------------------------------------------------------
    def list_prefix(self, prefix: str) -> Iterator[str]:
        return iter(sorted(self._keys(prefix)))

    def list_dir(self, prefix: str) -> Listing:
        return listing_of(self._keys(prefix), prefix)

    def _keys(self, prefix: str) -> builtins.set[str]:
        """SCAN shows everything that is there all the while, some of it twice."""
        begin = f"{self.prefix}:".encode()
        pattern = _escaped(begin + check_prefix(prefix).encode()) + b"*"
        names = self._call(
            f"list {prefix!r}",
            lambda: set(self._client.scan_iter(match=pattern, count=1000)),
            repeat=True,
        )
        keys = (name[len(begin) :].decode("utf-8", "surrogateescape") for name in names)
        return {key for key in keys if is_key(key)}

    # -- the server ---------------------------------------------------------------------------
    def _name(self, key: str) -> bytes:
        return f"{self.prefix}:{check_key(key)}".encode()

    def _data(self, key: str, value: Buffer) -> bytes:
        data = bytes(value)
        if len(data) > MOST_BYTES:
            raise StoreError(
                f"{self!r}: cannot write {key!r}: {len(data)} bytes, and a Redis server takes"
                f" {MOST_BYTES}; use smaller chunks or shards"
            )
        return data

    def _pipeline(self, what: str, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answers to many commands, in one round trip."""

        def send() -> list[Any]:
            with self._client.pipeline(transaction=False) as pipeline:
                for command in commands:
                    pipeline.execute_command(*command)
                return list(pipeline.execute())

        result: list[Any] = self._call(what, send, repeat=True)
        return result

    def _call(self, what: str, function: Callable[[], T], repeat: bool = False) -> T:
        """The answer. What may be done twice is, if the connection broke."""
        if not self._end.alive:
            raise StoreClosedError(f"{self!r} was closed; open it again to {what}")
        with self._translated(what), within(self.timeout):
            try:
                return function()
            except self._errors.TimeoutError:
                raise
            except self._errors.ConnectionError as error:
                if not repeat or isinstance(error, self._errors.AuthenticationError):
                    raise
            return function()

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        errors = self._errors
        try:
            yield
        except ZarrError:
            raise
        except (errors.TimeoutError, TimeoutError) as error:
            raise StoreTimeoutError(
                f"{self!r}: cannot {what}: no whole answer within {self.timeout:g} s (timeout=...)"
            ) from error
        except self._refusals as error:
            raise StoreAccessError(f"{self!r}: cannot {what}: {error}") from error
        except self._failures as error:
            if str(error).startswith(("NOAUTH", "NOPERM", "WRONGPASS")):
                raise StoreAccessError(f"{self!r}: cannot {what}: {error}") from error
            raise StoreError(f"{self!r}: cannot {what}: {error}") from error
        except OSError as error:
            raise StoreError(f"{self!r}: cannot {what}: {error}") from error


def _leave_open() -> None:
    """The client belongs to the caller."""


def _bounds(byte_range: ByteRange | None) -> tuple[int, int] | None:
    """First and last position as GETRANGE counts; None for the whole value."""
    if byte_range is None:
        return None
    span(byte_range, 0)  # refuses what has no meaning
    start, stop = byte_range
    start = max(-_FARTHEST, min(start, _FARTHEST))
    if stop is None:
        return start, -1
    return (start, min(stop, 2 * _FARTHEST - 1) - 1) if stop > start else _NOTHING


def _getting(name: bytes, bounds: tuple[int, int] | None) -> tuple[Any, ...]:
    if bounds is None:
        return "GET", name
    return ("EXISTS", name) if bounds == _NOTHING else ("GETRANGE", name, *bounds)


def _escaped(text: bytes) -> bytes:
    """`text` as a pattern that matches nothing else."""
    for special in (b"\\", b"*", b"?", b"[", b"]", b"^", b"-"):
        text = text.replace(special, b"\\" + special)
    return text


def open_url(url: str, *, mode: str | None, read_only: bool, options: dict[str, Any]) -> Store:
    """`redis://user:password@host:port/database?prefix=name`; see `stores.kinds`."""
    from urllib.parse import parse_qsl, urlencode, urlsplit

    parts = _parts(urlsplit, url)
    database = parts.path.strip("/")
    if database and not (database.isascii() and database.isdigit()):
        raise StoreError(
            f"the path of a Redis URL is the number of a database, found {parts.path!r}; expected"
            f" {_FORM}, and a node below it is named with path=..."
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
