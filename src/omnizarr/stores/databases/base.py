"""What the stores of all databases share: arguments, URLs, pickling, closing.

`DatabaseStore` is the base of all; `FileDatabase` of those in files, `ServerDatabase` of those that
a client talks to. A subclass keeps its arguments in public members and secrets, which are pickled;
what `_open` makes of them is private and is not pickled.

This module must not know any database.
"""

from __future__ import annotations

import os
import re
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Literal
from urllib.parse import SplitResult, unquote, urlsplit

from omnizarr.errors import (
    InvalidKeyError,
    NodeNotFoundError,
    StoreClosedError,
    StoreError,
    StoreTimeoutError,
)
from omnizarr.model.paths import check_prefix
from omnizarr.model.store import ByteRange, Listing, Store, Versioned, listing_of, read_range
from omnizarr.runtime.properties import cached_property
from omnizarr.stores import kinds
from omnizarr.stores.options import seconds
from omnizarr.stores.secrets import Secret, masked_url

Separator = Literal[".", "/"]
Opener = Callable[..., Store]


class DatabaseStore(Store):
    """A store that `_open` opens and `_end` closes."""

    _end: weakref.finalize[..., Any]
    _given: Any = None
    """A client or environment that the caller opened and will close."""
    _instead: ClassVar[tuple[str, str]]
    """What `_given` is called, and how to open a store that needs none."""

    def __init__(
        self, *, read_only: bool, timeout: float, dimension_separator: Separator | None
    ) -> None:
        self.read_only = read_only
        self.timeout = timeout
        if dimension_separator is not None:
            self.dimension_separator = dimension_separator

    @abstractmethod
    def _open(self) -> None:
        """Prepare what calls need, and `_end`, which closes it."""

    def __getstate__(self) -> dict[str, Any]:
        if self._given is not None:
            kind, way = self._instead
            raise TypeError(
                f"{self!r} uses {kind} of the caller, which cannot be pickled; open the store"
                f" {way} instead"
            )
        return {
            name: value
            for name, value in self.__dict__.items()
            if not name.startswith("_") or isinstance(value, Secret)
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def close(self) -> None:
        self._end()

    def _check_open(self, what: str) -> None:
        if not self._end.alive:
            raise StoreClosedError(f"the store was closed; open it again to {what}").at(self)

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        value = self.get(key)
        if value is None:
            return None
        return Versioned(read_range(value, byte_range), bytes(value))

    @abstractmethod
    def _keys(self, prefix: str) -> Iterable[str]:
        """The valid keys that start with a valid prefix, in any order."""

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return iter(sorted(self._keys(check_prefix(prefix))))

    def list_dir(self, prefix: str) -> Listing:
        return listing_of(self._keys(check_prefix(prefix)), prefix)


class FileDatabase(DatabaseStore):
    """A database at a local path."""

    _kind: ClassVar[str]
    """What the path names, with its article."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool,
        timeout: float,
        dimension_separator: Separator | None,
    ) -> None:
        super().__init__(
            read_only=read_only,
            timeout=seconds("timeout", timeout, zero=True),
            dimension_separator=dimension_separator,
        )
        name = os.fspath(path)
        if not isinstance(name, str):
            raise TypeError(f"the path must be a str or a path, found {type(name).__name__}")
        refuse_url(type(self).__name__, "path", name, "open it with omnizarr.stores.as_store(url)")
        if not name or "\0" in name:
            raise InvalidKeyError(f"invalid path of {self._kind}: {name!r}")
        kinds.refuse_url(name)
        self.path = os.path.abspath(name)

    @cached_property
    def _real_path(self) -> str:
        return os.path.realpath(self.path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"


class ServerDatabase(DatabaseStore):
    """A database behind a client: one of the caller, or one made of a URL and options."""

    _instead = "a client", "with a URL"
    _server: ClassVar[str]
    _form: ClassVar[str]
    """What a URL looks like."""
    _client_class: ClassVar[str]
    _usual: ClassVar[tuple[str, ...]]
    """The options that most callers need."""

    def __init__(
        self,
        client: Any,
        url: str | None,
        options: dict[str, Any],
        *,
        read_only: bool,
        timeout: float,
        dimension_separator: Separator | None,
    ) -> None:
        if client is not None and (url is not None or options):
            raise TypeError(
                f"a {type(self).__name__} takes a client, or a url and options, not both"
            )
        super().__init__(
            read_only=read_only,
            timeout=seconds("timeout", timeout),
            dimension_separator=dimension_separator,
        )
        self._given = client
        self._url = Secret(url)
        self._options = Secret(options)

    def _timed_out(self, what: str) -> StoreTimeoutError:
        return StoreTimeoutError(
            f"cannot {what}: no whole answer within {self.timeout:g} s (timeout=...)"
        ).at(self)

    def _refusal(self, error: Exception) -> Exception:
        """The error for a URL or options that the client library refused. It shows nothing of
        theirs but the names of options, because the values may be secret."""
        text = str(error)
        names = self._options.value
        unknown = [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
        if unknown:
            return TypeError(
                f"{self._server} does not take the storage_options {sorted(unknown)} with these"
                f" values; usual are timeout, {', '.join(self._usual)}, and others that"
                f" {self._client_class} takes"
            )
        if isinstance(error, TypeError):
            return TypeError(f"{self._client_class} does not take these storage_options")
        return StoreError(
            f"invalid URL or options of {self._server}: {type(error).__name__}; expected"
            f" {self._form}, with user and password percent-encoded"
        )

    @classmethod
    def _split(cls, url: str) -> SplitResult:
        try:
            return urlsplit(url)
        except ValueError:  # which shows the URL
            raise StoreError(f"invalid URL of {cls._server}; expected {cls._form}") from None


def leave_open() -> None:
    """Close nothing: the client belongs to the caller."""


def local_path(url: str) -> str:
    """The path in `scheme:///absolute/path` or `scheme://relative/path`."""
    scheme, _, rest = url.partition("://")
    wrong = "?" in rest or "#" in rest or "://" in rest or not rest.strip("/")
    if wrong or re.match("[^/]*:[^/]*@", rest):
        raise StoreError(
            f"{masked_url(url)!r}: expected {scheme}:///absolute/path or {scheme}://relative/path;"
            " options are given as storage_options"
        )
    if scheme.lower() == "sqlite" and rest.startswith("//"):
        rest = "/" + rest.lstrip("/")  # as SQLAlchemy spells an absolute path
    path = unquote(rest)
    if os.name == "nt" and re.match(r"/[A-Za-z]:/", path):
        path = path[1:]
    return path


def refuse_url(store: str, name: str, value: object, instead: str) -> None:
    """Raise a TypeError if an argument that is no URL is one. The URL is not shown, because it
    may hold a password."""
    if isinstance(value, str) and "://" in value:
        raise TypeError(f"the {name} of a {store} is no URL, found one: {instead}")


def openers(
    store: type[FileDatabase],
    known: set[str],
    exists: Callable[[str], bool] = os.path.exists,
) -> tuple[Opener, Opener]:
    """`open_path` and `open_url` of a database in files, as `stores.kinds` describes them."""
    kind = store._kind
    make: Callable[..., Store] = store  # each takes options of its own

    def open_path(
        path: str, *, mode: str | None, read_only: bool, options: dict[str, Any]
    ) -> Store:
        if unknown := sorted(set(options) - known):
            raise TypeError(f"{kind} takes the storage_options {sorted(known)}, not {unknown}")
        if mode in ("r", "r+") and not exists(path):
            what = kind.partition(" ")[2]
            raise NodeNotFoundError(f"there is no {what} {path!r}; mode {mode!r} creates none")
        return make(path, read_only=read_only, **options)

    def open_url(url: str, *, mode: str | None, read_only: bool, options: dict[str, Any]) -> Store:
        return open_path(local_path(url), mode=mode, read_only=read_only, options=options)

    return open_path, open_url
