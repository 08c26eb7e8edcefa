"""`RedisStore`: values as strings of a Redis or Valkey server.

The key `a/b` of the store with the prefix `zarr` is the server's key `zarr:a/b`, as in zarr-python
2. Many values come in one round trip. The version of a value is its SHA-1, which the server
computes where it compares; reading, comparing and writing are one script.

The client library repeats what a broken connection interrupted. A conditional write must not be
repeated unnoticed: it would meet its own result, and success would look like a conflict. So it is
sent over one connection by hand, and a lost answer is an error.

This module knows Redis. It must not know what values mean. The server's answers are trusted.
"""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from omnizarr.errors import (
    StoreAccessError,
    StoreError,
    UncertainWriteError,
    ZarrError,
)
from omnizarr.model.paths import check_key, deletion_steps, is_key
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Capabilities,
    Store,
    Versioned,
    read_range,
    span,
)
from omnizarr.runtime.optional_packages import package
from omnizarr.stores.databases.base import Separator, ServerDatabase, leave_open, refuse_url

if TYPE_CHECKING:
    import redis

BATCH = 256
"""How many commands go out together."""
MOST_BYTES = 512 << 20
"""The longest string that a server takes unless it is configured otherwise."""
_FARTHEST = 1 << 62
"""Positions beyond this are beyond the end of every value, and the server refuses the number."""
_REFUSED = ("NOAUTH", "NOPERM", "WRONGPASS")
_EMPTY = (1, 0)
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


class _LostAnswerError(Exception):
    """A command was sent, and its answer did not come."""


class RedisStore(ServerDatabase):
    """Values of a Redis or Valkey server.

    Parameters
    ----------
    prefix
        Keys on the server begin with it and ":".
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.
    client
        A `redis.Redis` or `valkey.Valkey`, or the client of a cluster, that is connected already
        and does not decode responses; the caller closes it.
    url
        `redis://user:password@host:port/database`, or `rediss://` for TLS.
    read_only
        Refuse every change.
    timeout
        Seconds to wait for a connection and for each answer; a given client has its own.
    **options
        Arguments of `redis.Redis`: host, port, db, username, password, ssl, …

    Examples
    --------
    >>> store = omnizarr.stores.RedisStore(url="redis://localhost:6379/0")  # doctest: +SKIP
    """

    capabilities = Capabilities(conditional=True, versions=True, remote=True)
    _server = "a Redis server"
    _form = "redis://user:password@host:port/database?prefix=name, or rediss:// for TLS"
    _client_class = "redis.Redis"
    _usual = (
        "host", "port", "db", "username", "password", "ssl", "ssl_ca_certs", "ssl_cert_reqs",
        "ssl_certfile", "ssl_keyfile", "client_name", "health_check_interval", "max_connections",
        "protocol", "socket_connect_timeout", "socket_keepalive", "socket_timeout",
        "unix_socket_path",
    )  # fmt: skip

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
                "retry": Retry(NoBackoff(), 1, (redis.ConnectionError,)),
                **self._options.value,
            }
            url = self._url.value
            try:
                client = (
                    redis.Redis(**options) if url is None else redis.Redis.from_url(url, **options)
                )
                pool = client.connection_pool
                pool.connection_class(**pool.connection_kwargs)  # which refuses unknown names
            except (TypeError, ValueError) as error:
                raise self._refusal(error) from None
        self._client = client
        library = type(client).__module__.partition(".")[0]
        self._errors = package(f"{library}.exceptions", "redis", "RedisStore")
        place = _place(client)
        if place.get("decode_responses"):
            raise TypeError("the client decodes responses, and values are bytes: decode_responses")
        if "path" in place:
            self._place = str(place["path"])
        else:
            self._place = f"{place.get('host', 'localhost')}:{place.get('port', 6379)}"
        self._database = int(place.get("db") or 0)
        self._read = client.register_script(_READ)
        self._replace = client.register_script(_REPLACE).sha
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
        wanted = [(self._name(key), byte_range) for key, byte_range in requests]
        what = f"read {requests[0][0]!r}" if len(requests) == 1 else "read many keys"
        answers: list[Buffer | None] = []
        for begin in range(0, len(wanted), BATCH):
            answers += self._read_batch(what, wanted[begin : begin + BATCH])
        return answers

    def _read_batch(
        self, what: str, wanted: Sequence[tuple[bytes, ByteRange | None]]
    ) -> list[Buffer | None]:
        bounds = [_bounds(byte_range) for _, byte_range in wanted]
        answers = self._pipeline(
            what, [_reading(name, each) for (name, _), each in zip(wanted, bounds, strict=True)]
        )
        unclear: list[int] = []
        for index, each in enumerate(bounds):
            if each == _EMPTY:
                answers[index] = b"" if answers[index] else None
            elif each is not None and not answers[index]:
                unclear.append(index)
        if unclear:
            # GETRANGE answers alike for a missing key and for a value that ends before the range.
            values = self._pipeline(what, [("GET", wanted[index][0]) for index in unclear])
            for index, value in zip(unclear, values, strict=True):
                answers[index] = None if value is None else read_range(value, wanted[index][1])
        return answers

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        name = self._name(key)
        bounds = _bounds(byte_range) or (0, -1)
        with self._translated(f"read {key!r}"):
            found = self._read(keys=[name], args=bounds)
        return None if found is None else Versioned(found[1], found[0])

    def exists(self, key: str) -> bool:
        name = self._name(key)
        with self._translated(f"find {key!r}"):
            return bool(self._client.exists(name))

    def size(self, key: str) -> int | None:
        name = self._name(key)
        with self._translated(f"measure {key!r}"):
            # The length of a missing key is 0 too.
            return self._client.strlen(name) or super().size(key)

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        name, data = self._name(key), self._data(key, value)
        with self._translated(f"write {key!r}"):
            self._client.set(name, data)

    def setitems(self, values: Mapping[str, Buffer]) -> None:
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
        return self._conditionally(
            key, lambda: self._once(name, "SET", name, data, "NX") is not None
        )

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        if version is None:
            return self.set_if_absent(key, value)
        self.check_writable()
        name, data = self._name(key), self._data(key, value)
        arguments = 1, name, data, version

        def replace() -> bool:
            try:
                answer = self._once(name, "EVALSHA", self._replace, *arguments)
            except self._errors.NoScriptError:  # which the server then keeps
                answer = self._once(name, "EVAL", _REPLACE, *arguments)
            return bool(answer)

        return self._conditionally(key, replace)

    def delete(self, key: str) -> None:
        self.check_writable()
        name = self._name(key)
        with self._translated(f"delete {key!r}"):
            self._client.delete(name)

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
        pattern = _escaped(begin + prefix.encode()) + b"*"
        with self._translated(f"list {prefix!r}"):
            names = list(self._client.scan_iter(match=pattern, count=1000))
        keys = (name[len(begin) :].decode("utf-8", "surrogateescape") for name in names)
        return {key for key in keys if is_key(key)}

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
        with self._translated(what), self._client.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            answers: list[Any] = pipeline.execute()
            return answers

    def _conditionally(self, key: str, send: Callable[[], bool]) -> bool:
        """Whether it was written. After a lost answer the same is sent again: if that writes, the
        first attempt did not. If not, it is unknown whose value was found."""
        errors = self._errors
        with self._translated(f"write {key!r}"):
            try:
                return send()
            except _LostAnswerError as lost:
                cause = lost.__cause__
            if not isinstance(cause, (errors.TimeoutError, TimeoutError)):
                with suppress(Exception):  # the first error is the one to report
                    if send():
                        return True
            raise UncertainWriteError(
                f"whether {key!r} was written is unknown: the server's answer was lost; look at the"
                " value before you do the same again"
            ).at(self, key=key) from cause

    def _once(self, name: bytes, *command: Any) -> Any:
        """The answer to a command for a key that the client does not repeat. Every error but
        `_LostAnswerError` means that nothing was done."""
        errors = self._errors
        with self._client_of(name).client() as client:  # which has a connection of its own
            client.connection.send_command(*command)  # if it fails, no server has all of it
            try:
                return client.parse_response(client.connection, command[0])
            except (errors.AuthenticationError, errors.BusyLoadingError):
                raise  # answers, though subclasses of ConnectionError
            except (errors.ConnectionError, errors.TimeoutError, OSError) as error:
                client.connection.disconnect()
                raise _LostAnswerError from error

    def _client_of(self, name: bytes) -> Any:
        """The client of the server that has a key: a cluster has several."""
        client = self._client
        if not hasattr(client, "get_node_from_key"):
            return client
        of_node = getattr(client, "get_redis_connection", None) or client.get_valkey_connection
        return of_node(client.get_node_from_key(name))

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        """Check that the store is open, and raise what the client raises as errors of a store."""
        self._check_open(what)
        errors = self._errors
        try:
            yield
        except (ZarrError, MemoryError):
            raise
        except (errors.TimeoutError, TimeoutError) as error:
            raise self._timed_out(what) from error
        except Exception as error:
            refusals = errors.AuthenticationError, errors.NoPermissionError, errors.ReadOnlyError
            refused = isinstance(error, refusals) or str(error).startswith(_REFUSED)
            kind = StoreAccessError if refused else StoreError
            raise kind(f"cannot {what}: {error}").at(self) from error


def _place(client: Any) -> dict[str, Any]:
    """The arguments of a client's connections; for a cluster, to one of its servers."""
    if hasattr(client, "connection_pool"):
        return dict(client.connection_pool.connection_kwargs)
    node = client.get_default_node()
    return {**client.get_connection_kwargs(), "host": node.host, "port": node.port}


def _bounds(byte_range: ByteRange | None) -> tuple[int, int] | None:
    """First and last position as GETRANGE counts; None for the whole value."""
    if byte_range is None:
        return None
    span(byte_range, 0)  # refuses what has no meaning
    start, stop = byte_range
    start = max(-_FARTHEST, min(start, _FARTHEST))
    if stop is None:
        return start, -1
    return (start, min(stop, 2 * _FARTHEST - 1) - 1) if stop > start else _EMPTY


def _reading(name: bytes, bounds: tuple[int, int] | None) -> tuple[Any, ...]:
    """The command that reads a value or part of it."""
    if bounds is None:
        return "GET", name
    return ("EXISTS", name) if bounds == _EMPTY else ("GETRANGE", name, *bounds)


def _escaped(text: bytes) -> bytes:
    """A pattern of SCAN that matches `text` alone."""
    for special in (b"\\", b"*", b"?", b"[", b"]", b"^", b"-"):
        text = text.replace(special, b"\\" + special)
    return text


def open_url(url: str, *, mode: str | None, read_only: bool, options: dict[str, Any]) -> Store:
    """`redis://user:password@host:port/database?prefix=name`; see `stores.kinds`."""
    parts = RedisStore._split(url)
    database = parts.path.strip("/")
    if database and not (database.isascii() and database.isdigit()):
        raise StoreError(
            f"the path of a Redis URL is the number of a database, as in {RedisStore._form}, with"
            " user and password percent-encoded; a node below it is named with path=..."
        )
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    prefix = str(query.pop("prefix", options.pop("prefix", "zarr")))
    scheme = {"valkey": "redis", "valkeys": "rediss"}.get(parts.scheme, parts.scheme)
    plain = parts._replace(scheme=scheme, query=urlencode(query), fragment="").geturl()
    return RedisStore(prefix, url=plain, read_only=read_only, **options)


def adopt(obj: Any, *, read_only: bool) -> Store | None:
    """The store of a client of redis-py or valkey-py."""
    if not hasattr(obj, "register_script") or not hasattr(obj, "scan_iter"):
        return None
    if ".asyncio" in type(obj).__module__:
        raise TypeError("a RedisStore takes a client without asyncio, such as redis.Redis")
    return RedisStore(client=obj, read_only=read_only)
