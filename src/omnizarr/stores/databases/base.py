"""What the stores of databases have in common, whichever database it is.

`DatabaseStore` is the base of all; `FileDatabase` of those in files, `ServerDatabase` of those that
a client talks to. A subclass keeps what it was asked for in public members and secrets, which
travel in a pickle; what `_open` makes of them is private and does not.

This module knows options, pickles and the end of a store. It must not know any database.
"""

from __future__ import annotations

import os
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Literal

from omnizarr.errors import (
    InvalidKeyError,
    NodeNotFoundError,
    StoreClosedError,
    StoreTimeoutError,
)
from omnizarr.model.paths import check_prefix
from omnizarr.model.store import ByteRange, Listing, Store, Versioned, listing_of, read_range
from omnizarr.runtime.properties import cached_property
from omnizarr.stores import kinds
from omnizarr.stores.databases.urls import local_path, refuse_url
from omnizarr.stores.durations import seconds
from omnizarr.stores.secrets import Secret

Separator = Literal[".", "/"]
Opener = Callable[..., Store]


class DatabaseStore(Store):
    """A store that is opened by `_open` and ended by `_end`."""

    _end: weakref.finalize[..., Any]
    _given: Any = None
    """What the caller opened and will close."""
    _instead: ClassVar[tuple[str, str]]
    """What `_given` is, and how to open a store that needs none."""

    def __init__(
        self, *, read_only: bool, timeout: float, dimension_separator: Separator | None
    ) -> None:
        self.read_only = read_only
        self.timeout = timeout
        if dimension_separator is not None:
            self.dimension_separator = dimension_separator

    @abstractmethod
    def _open(self) -> None:
        """Make ready what calls need, and `_end`, which closes it."""

    def __getstate__(self) -> dict[str, Any]:
        if self._given is not None:
            kind, way = self._instead
            raise TypeError(
                f"{self!r} uses {kind} that was given to it, which cannot be pickled; open the"
                f" store {way} instead"
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
            raise StoreClosedError(f"{self!r} was closed; open it again to {what}")

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
    """What lies at the path, with its article."""

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
    """A database behind a client: one that was given, or one made of a URL and options."""

    _instead = "a client", "with a URL"

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


def leave_open() -> None:
    """The end of a store whose client belongs to the caller."""


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
