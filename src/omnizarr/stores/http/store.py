"""`HTTPStore`: values of a web server, for reading.

Only 404 means that a value is missing. Every answer is checked: the range, the length, the content
type. Listing works where the server offers one;
elsewhere it raises, because an empty listing would be wrong.

This module knows which requests a value needs. It must not know connections.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from urllib.parse import unquote

from omnizarr.errors import (
    HTTPStatusError,
    ReadOnlyError,
    StoreAccessError,
    StoreError,
    ValueChangedError,
)
from omnizarr.keywords import suggests
from omnizarr.model.paths import check_key, check_prefix
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Capabilities,
    Listing,
    Read,
    Versioned,
    span,
)
from omnizarr.runtime import parallel
from omnizarr.runtime.optional_packages import package
from omnizarr.stores.http import url as http_url
from omnizarr.stores.http.batch import Unusual, Whole
from omnizarr.stores.http.batch_reader import Feeder, feeder_of
from omnizarr.stores.http.client import Client, Policy, headers_of
from omnizarr.stores.http.connection import Clock, Security
from omnizarr.stores.http.index import Index
from omnizarr.stores.http.options import authorities, certificate, statuses
from omnizarr.stores.http.ranges import (
    RangeAnswer,
    Refused,
    Unsettled,
    Version,
    check_content,
    header,
    take_all,
    take_bounded,
    take_suffix,
    version,
)
from omnizarr.stores.http.snapshot import Snapshot
from omnizarr.stores.options import count, mapping_of, refuse_unknown, seconds, switch
from omnizarr.stores.secrets import Secret
from omnizarr.stores.unwritable import UnwritableStore

if TYPE_CHECKING:
    from omnizarr.stores.http.transport import Answer

T = TypeVar("T")

REQUESTS = 64
GAP = 1024 * 1024
ATTEMPTS = 4
"""Attempts to read a suffix of a value whose length keeps changing."""
_NO_SUFFIX = frozenset({400, 416, 501})
"""Statuses with which servers refuse a suffix range; 416 also means an empty value."""
_NO_HEAD = frozenset({400, 405, 501})


@dataclass(frozen=True)
class _Options:
    """All arguments of a store, for a pickle. The headers hold its secrets."""

    url: str
    policy: Policy
    security: Security
    allow_html: bool
    requests: int

    def __repr__(self) -> str:
        return "_Options(…)"


class HTTPStore(UnwritableStore):
    """The values below a URL of a web server, read-only.

    Requests go through the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names, unless NO_PROXY
    names the host.

    Parameters
    ----------
    url
        Such as "https://example.org/data.zarr".
    headers
        Sent with every request to the origin of `url`, never to another.
    auth
        User and password for basic authentication; a URL may carry them too.
    deadline
        Seconds that a call may take, all attempts included.
    timeout
        Seconds of silence after which an attempt counts as failed; None: half of `deadline`, at
        most 20.
    retries
        How often a failed attempt is repeated: broken connections, 408, 429 and 5xx.
    missing_statuses
        Statuses that mean that there is no such key.
    allow_redirects
        "origin" follows redirects within the origin, True also others (never from https to http),
        False none.
    untrusted
        Refuse servers with addresses that are not public.
    verify
        Whether certificates are checked, or a file or folder of authorities. With True, the
        environment may name one (REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR).
    cert
        File of a client certificate, or a pair of it and its key.
    allow_html
        Accept HTML pages as values of any key.
    requests
        Number of requests under way at once.

    Examples
    --------
    >>> store = omnizarr.stores.HTTPStore("https://example.org/data.zarr", retries=2)
    >>> store, store.url
    (HTTPStore('https://example.org/data.zarr'), 'https://example.org/data.zarr')
    >>> root = omnizarr.open_group(store, "r")  # doctest: +SKIP
    """

    @suggests
    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        auth: Sequence[str] | None = None,
        deadline: float = 60.0,
        timeout: float | None = None,
        retries: int = 5,
        missing_statuses: Iterable[int] = (404,),
        allow_redirects: Literal["origin"] | bool = "origin",
        untrusted: bool = False,
        verify: bool | str = True,
        cert: str | tuple[str, str] | None = None,
        allow_html: bool = False,
        requests: int = REQUESTS,
    ) -> None:
        deadline = seconds("deadline", deadline)
        if allow_redirects not in ("origin", True, False):
            raise ValueError("allow_redirects must be 'origin', True or False")
        package("urllib3", "http", "HTTPStore")
        base = http_url.parse(url)
        policy = Policy(
            deadline=deadline,
            # Half of a short deadline, so that a stalled attempt leaves time for another.
            timeout=min(20.0, deadline / 2) if timeout is None else seconds("timeout", timeout),
            retries=count("retries", retries, 0),
            missing=statuses(missing_statuses),
            redirects=allow_redirects,
            headers=headers_of(headers, auth, base),
        )
        security = Security(authorities(verify), certificate(cert), switch("untrusted", untrusted))
        allow_html = switch("allow_html", allow_html)
        self._set(_Options(url, policy, security, allow_html, count("requests", requests, 1)))

    def _set(self, options: _Options) -> None:
        base = http_url.parse(options.url)
        self.read_only = True
        self.capabilities = Capabilities(
            listable=False, versions=True, requests=options.requests, gap=GAP
        )
        self._options = options
        self._root = base.address
        self._repr = f"{type(self).__name__}({base.shown!r})"
        self._client = Client(base.address.origin, options.policy, options.security)
        self._index = Index(self._client, self._root)
        self._has_suffix = True
        self._has_head = True
        self._feeder: Feeder | None = None
        """The last one that was made."""

    def __getstate__(self) -> dict[str, Any]:
        return {"options": Secret(self._options)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(state["options"].value)

    def __repr__(self) -> str:
        return self._repr

    @property
    def url(self) -> str:
        """The URL, without secrets."""
        return self._root.shown

    @property
    def identity(self) -> Hashable:
        if not self._root.query:
            return "http", *self._root.origin, self._root.path
        from hashlib import sha256  # a query may hold a signature

        digest = sha256(self._root.query.encode()).hexdigest()
        return "http", *self._root.origin, self._root.path, digest

    def locate(self, key: str) -> tuple[Hashable, str]:
        kind, scheme, host, port, path, *query = cast("tuple[Any, ...]", self.identity)
        return (kind, scheme, host, port, *query), unquote(path).lstrip("/") + key

    # -- reading ------------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        part = self._read(check_key(key), byte_range, self._clock())
        return None if part is None else part.data

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        for key, _ in requests:
            check_key(key)
        workers = self.capabilities.requests
        return parallel.each(lambda request: self.get(*request), requests, workers)

    def feeder(self, byte_range: ByteRange | None, requests: int) -> Feeder | None:
        if self._feeder is not None and not self._feeder.fits:
            return None  # most answers of the server were unusual
        missing, allow_html = self._options.policy.missing, self._options.allow_html

        def is_there(key: str, answer: Whole) -> bool:
            if answer.status in missing:
                return False
            if answer.status not in (200, 206):
                raise Unusual
            check_content(answer, key, allow_html)
            return True

        def ordinary(key: str, clock: Clock) -> Buffer | None:
            part = self._read(key, byte_range, clock)
            return None if part is None else part.data

        def target(key: str) -> str:
            return self._root.below(check_key(key)).target

        found = feeder_of(self._client, target, byte_range, requests, is_there, ordinary)
        self._feeder = found or self._feeder
        return found

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        return nullcontext(Snapshot(self, check_key(key)))

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        clock = self._clock()
        part = self._read(check_key(key), byte_range, clock)
        if part is None:
            return None
        found = part.version
        if not found.told and byte_range is None:
            return Versioned(part.data, part.data)
        if not found.told and not part.data:
            # An answer to a range beyond the end has no version.
            headed = self._head(key, clock)
            if headed is not None and headed.total == found.total:
                found = headed
        if not found.settled:
            return Versioned(part.data, Unsettled())
        return Versioned(part.data, found.strong or (found.etag, found.modified, found.total))

    def exists(self, key: str) -> bool:
        return self._head(check_key(key), self._clock()) is not None

    def size(self, key: str) -> int | None:
        clock = self._clock()
        found = self._head(check_key(key), clock)
        return None if found is None else self._length(key, found, clock)

    def _clock(self) -> Clock:
        return self._options.policy.clock()

    def _read(
        self, key: str, byte_range: ByteRange | None, clock: Clock, match: str | None = None
    ) -> RangeAnswer | None:
        if byte_range is None or byte_range == (0, None):
            whole = self._ask(key, None, clock, match, take_all)
            assert not isinstance(whole, Refused)
            return whole
        span(byte_range, 0)  # raises for a range without meaning
        start, stop = byte_range
        if start < 0:
            return self._read_suffix(key, -start, clock, match)
        if stop is not None and start >= stop:
            found = self._head(key, clock)
            return None if found is None else RangeAnswer(b"", found)
        return self._read_bounded(key, start, stop, clock, match)

    def _read_bounded(
        self, key: str, start: int, stop: int | None, clock: Clock, match: str | None
    ) -> RangeAnswer | None:
        part = self._ask(
            key,
            ByteRange(start, stop),
            clock,
            match,
            lambda answer: take_bounded(answer, start, stop),
        )
        if not isinstance(part, Refused):
            return part
        found = Version(None, None, part.total)
        if part.total is None:
            headed = self._head(key, clock)
            if headed is None:
                return None
            found = headed._replace(total=self._length(key, headed, clock))
        if found.total is None or found.total > start:
            raise HTTPStatusError(
                f"the server refuses {header(ByteRange(start, stop))} of {found.total} bytes", 416
            ).at(self, key=key)
        return RangeAnswer(b"", found)

    def _read_suffix(
        self, key: str, count: int, clock: Clock, match: str | None
    ) -> RangeAnswer | None:
        total: int | None = None
        if self._has_suffix:
            part = self._ask(
                key,
                ByteRange(-count),
                clock,
                match,
                lambda answer: take_suffix(answer, count),
                more=_NO_SUFFIX,
            )
            if not isinstance(part, Refused):
                return part
            total = part.total
            if total == 0:
                return RangeAnswer(b"", Version(None, None, 0))
        for _ in range(ATTEMPTS):
            if total is None:
                found = self._head(key, clock)
                if found is None:
                    return None
                total = self._length(key, found, clock)
                if total == 0:
                    return RangeAnswer(b"", found)
            start = max(total - count, 0)
            part = self._read_bounded(key, start, total, clock, match)
            if part is None or part.version.total in (None, total):
                self._has_suffix = False  # the length and a plain range work
                return part
            total = None  # the value was replaced by one of another length
        raise ValueChangedError("its length changes with every request").at(self, key=key)

    def _ask(
        self,
        key: str,
        byte_range: ByteRange | None,
        clock: Clock,
        match: str | None,
        take: Callable[[Answer], RangeAnswer | Refused],
        more: frozenset[int] = frozenset(),
    ) -> RangeAnswer | Refused | None:
        """Send a GET and check the answer; None if there is no such key."""
        headers: dict[str, str] = {}
        accept = {200, *more}
        if byte_range is not None:
            headers["Range"] = header(byte_range)
            accept |= {206, 416}
        if match is not None:
            headers["If-Match"] = match
            accept.add(412)

        def checked(answer: Answer) -> RangeAnswer | Refused:
            check_content(answer, key, self._options.allow_html)
            return take(answer)

        return self._fetch("GET", key, checked, clock, headers, frozenset(accept))

    def _fetch(
        self,
        method: Literal["GET", "HEAD"],
        key: str,
        take: Callable[[Answer], T],
        clock: Clock,
        headers: Mapping[str, str] | None = None,
        accept: frozenset[int] = frozenset({200}),
    ) -> T | None:
        try:
            return self._client.fetch(
                method, self._root.below(key), take, clock, headers=headers, accept=accept
            )
        except StoreError as error:
            raise error.at(self, key=key) from error.__cause__

    def _head(self, key: str, clock: Clock) -> Version | None:
        """The version and length of a value, without its data; None if there is none."""

        def take(answer: Answer) -> Version:
            check_content(answer, key, self._options.allow_html)
            return version(answer, answer.declared)

        if self._has_head:
            try:
                return self._fetch("HEAD", key, take, clock)
            except HTTPStatusError as error:
                if error.status not in _NO_HEAD:
                    raise
            except StoreAccessError:
                pass  # a signature may be good for GET alone
        found = self._first_byte(key, clock)
        self._has_head = False
        return found

    def _first_byte(self, key: str, clock: Clock) -> Version | None:
        part = self._ask(
            key, ByteRange(0, 1), clock, None, lambda answer: take_bounded(answer, 0, 1)
        )
        if isinstance(part, Refused):
            return Version(None, None, part.total)
        return None if part is None else part.version

    def _length(self, key: str, found: Version, clock: Clock) -> int:
        if found.total is None and self._has_head:
            found = self._first_byte(key, clock) or found
        if found.total is None:
            raise StoreError("the server does not say how long the value is").at(self, key=key)
        return found.total

    # -- listing ------------------------------------------------------------------------------
    def list_dir(self, prefix: str) -> Listing:
        check_prefix(prefix)
        try:
            return self._index.list_dir(prefix)
        except StoreError as error:
            raise error.at(self) from error.__cause__

    def list_prefix(self, prefix: str) -> Iterator[str]:
        check_prefix(prefix)
        return self._list_prefix(prefix)

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        try:
            yield from self._index.list_prefix(prefix, self.capabilities.requests)
        except StoreError as error:
            raise error.at(self) from error.__cause__

    # -- writing: a web server takes nothing ------------------------------------------------------
    def check_writable(self) -> None:
        raise (
            ReadOnlyError("web stores can only be read")
            .at(self)
            .advise("write to a local folder or to object storage")
        )

    def close(self) -> None:
        self._client.close()


# -- opening ----------------------------------------------------------------------------------


def open_url(url: str, *, mode: str | None, read_only: bool, options: dict[str, Any]) -> HTTPStore:
    """See `stores.kinds`. fsspec's `client_kwargs` with headers and auth is understood too."""
    given = dict(options)
    client = mapping_of("client_kwargs", given.pop("client_kwargs", None))
    if client.get("trust_env") is True:  # the environment always counts here
        client = {name: value for name, value in client.items() if name != "trust_env"}
    known = [*inspect.signature(HTTPStore.__init__).parameters][2:]
    refuse_unknown("storage_options for a web store", given, (*known, "client_kwargs"))
    refuse_unknown("client_kwargs for a web store", client, ("headers", "auth"))
    if "headers" in client:
        given["headers"] = {
            **mapping_of("headers of client_kwargs", client["headers"]),
            **mapping_of("headers", given.get("headers")),
        }
    if "auth" in client:
        given.setdefault("auth", client["auth"])
    return HTTPStore(url, **given)
