"""Find out which listing a web server offers, and list with it.

First the page at the URL of the folder is tried (nginx, Apache, Python's http.server, Caddy …),
then ListObjectsV2 at the root of the host and one level below, where a bucket may be. What worked
is remembered. A failure is not, because the server may offer a listing later.

This module knows which pages to request. It must not know what they look like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, unquote

from omnizarr.errors import HTTPStatusError, NotListableError, StoreAccessError, StoreError
from omnizarr.model.paths import is_key
from omnizarr.model.store import Listing
from omnizarr.runtime import parallel
from omnizarr.stores.http.client import Client, Policy
from omnizarr.stores.http.connection import Clock
from omnizarr.stores.http.listing import MOST_BYTES, MOST_NAMES, Bucket, parse_bucket, parse_index
from omnizarr.stores.http.url import Address

if TYPE_CHECKING:
    from omnizarr.stores.http.transport import Answer

T = TypeVar("T")

_KINDS = "application/json, text/html;q=0.9, application/xml;q=0.8, */*;q=0.1"
_NOT_OFFERED = frozenset({400, 405, 406, 410, 501})
"""Statuses for a request that a server does not know, besides 401, 403 and 404."""
MOST_EMPTY = 100
"""How many pages of a listing in a row may name nothing new."""
EARNED = 1000
"""After this many names a long listing gets another deadline."""


class _Pace:
    """How long a listing of all keys may take: the deadline for every `EARNED` names."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._next = EARNED
        self.clock = policy.clock()

    def progress(self, names: int) -> None:
        if names >= self._next:
            self._next = names + EARNED
            self.clock = self._policy.clock()


class Index:
    def __init__(self, client: Client, root: Address) -> None:
        self._client = client
        self._root = root
        self._pages = False
        """Whether an index page was seen."""
        self._bucket: tuple[Address, str] | None = None
        """Where ListObjectsV2 was answered, and the prefix of the store in that bucket."""

    def list_dir(self, prefix: str) -> Listing:
        return self._list_dir(prefix, self._client.policy.clock())

    def _list_dir(self, prefix: str, clock: Clock) -> Listing:
        try:
            return self._find(prefix, clock)
        except StoreError as error:
            raise error.at(key=prefix or None) from error.__cause__

    def _find(self, prefix: str, clock: Clock) -> Listing:
        if self._bucket is None:
            listing = self._page(prefix, clock)
            if listing is not None:
                return listing
            if not self._pages:
                self._find_bucket(clock)
        if self._bucket is not None:
            return self._in_bucket(prefix, "/", clock)
        if prefix and not self._is_shown(prefix, clock):
            return Listing([], [])
        raise NotListableError(
            "the server offers no listing, so its keys are unknown."
            " Name what you want to open (path=…). A group with consolidated metadata can be"
            " browsed when it is opened itself; where there are none, ask the owner of the data to"
            " write them (omnizarr.consolidate_metadata) or to switch on an index"
        )

    def list_prefix(self, prefix: str, workers: int) -> Iterator[str]:
        pace = _Pace(self._client.policy)
        first = self._list_dir(prefix, pace.clock)
        if self._bucket is not None:
            yield from self._in_bucket(prefix, "", pace.clock, pace).keys
            return
        keys = list(first.keys)
        level = first.prefixes
        folders = 0
        while level:
            below: list[str] = []
            for begin in range(0, len(level), EARNED):
                batch = level[begin : begin + EARNED]
                found = parallel.each(
                    lambda folder: self._list_dir(folder, pace.clock), batch, workers
                )
                folders += len(batch)
                for listing in found:
                    keys += listing.keys
                    below += listing.prefixes
                pace.progress(len(keys) + folders)
                if len(keys) + len(below) + folders > MOST_NAMES:
                    raise StoreError(f"more than {MOST_NAMES} names: it has no end")
            level = below
        yield from sorted(keys)

    # -- pages --------------------------------------------------------------------------------
    def _page(self, prefix: str, clock: Clock) -> Listing | None:
        address = self._root.below(prefix)

        def take(answer: Answer) -> Listing | None:
            kind = (answer.header("Content-Type") or "").partition(";")[0].strip().lower()
            return parse_index(_body(answer), kind, answer.address, prefix, _hurry(clock))

        listing = self._offered(address, take, clock)
        if listing is not None:
            self._pages = True
        return listing

    def _is_shown(self, prefix: str, clock: Clock) -> bool:
        """Whether the page of the parent folder, if there is one, shows this folder."""
        above = prefix[:-1].rpartition("/")[0]
        above = above + "/" if above else ""
        listing = self._page(above, clock)
        if listing is None:
            return not above or self._is_shown(above, clock)
        return prefix in listing.prefixes

    # -- S3 -----------------------------------------------------------------------------------
    def _find_bucket(self, clock: Clock) -> None:
        path = unquote(self._root.path)[1:]
        first, slash, rest = path.partition("/")
        candidates = [("/", path)]
        if slash:
            candidates.append((f"/{quote(first)}/", rest))
        for root, inside in candidates:
            address = Address(self._root.origin, root, self._root.query)
            page = self._ask_bucket(address, inside, "/", None, clock)
            # A bucket that shows nothing of the store may be another one.
            if page is not None and (page.keys or page.prefixes):
                self._bucket = address, inside
                return

    def _in_bucket(
        self, prefix: str, delimiter: str, clock: Clock, pace: _Pace | None = None
    ) -> Listing:
        assert self._bucket is not None
        address, inside = self._bucket
        begin = len(inside)
        keys: set[str] = set()
        prefixes: set[str] = set()
        token: str | None = None
        empty = 0
        while True:
            page = self._ask_bucket(address, inside + prefix, delimiter, token, clock)
            if page is None:
                raise StoreError("the server no longer answers ListObjectsV2")
            before = len(keys) + len(prefixes)
            keys.update(key[begin:] for key in page.keys if key.startswith(inside + prefix))
            prefixes.update(key[begin:] for key in page.prefixes if key.startswith(inside + prefix))
            if page.token is None:
                break
            names = len(keys) + len(prefixes)
            empty = empty + 1 if names == before else 0
            if page.token == token or empty > MOST_EMPTY or names > MOST_NAMES:
                raise StoreError(f"the listing of {prefix!r} has no end")
            token = page.token
            if pace is not None:
                pace.progress(names)
                clock = pace.clock
        return Listing(
            sorted(key for key in keys if is_key(key)),
            sorted(below for below in prefixes if below.endswith("/") and is_key(below[:-1])),
        )

    def _ask_bucket(
        self,
        address: Address,
        prefix: str,
        delimiter: str,
        token: str | None,
        clock: Clock,
    ) -> Bucket | None:
        query = f"list-type=2&prefix={quote(prefix, safe='')}"
        if delimiter:
            query += f"&delimiter={quote(delimiter, safe='')}"
        if token is not None:
            query += f"&continuation-token={quote(token, safe='')}"
        return self._offered(
            address.below("", query),
            lambda answer: parse_bucket(_body(answer), _hurry(clock)),
            clock,
        )

    def _offered(
        self, address: Address, take: Callable[[Answer], T | None], clock: Clock
    ) -> T | None:
        """The result of `take`; None if the server does not offer this."""
        try:
            return self._client.fetch("GET", address, take, clock, headers={"Accept": _KINDS})
        except StoreAccessError:
            return None
        except HTTPStatusError as error:
            if error.status in _NOT_OFFERED:
                return None
            raise


def _hurry(clock: Clock) -> Callable[[], None]:
    """A function that a parser calls now and then; it raises when the time is over."""

    def check() -> None:
        parallel.check()
        clock.patience()

    return check


def _body(answer: Answer) -> bytes:
    if answer.length is not None and answer.length > MOST_BYTES:
        raise StoreError(f"the page has {answer.length} bytes; {MOST_BYTES} are read at the most")
    if not answer.framed:
        raise StoreError("the server does not say how long its page is")
    body = answer.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        raise StoreError(f"the page is longer than {MOST_BYTES} bytes, which are read at the most")
    return body
