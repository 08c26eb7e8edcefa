"""`ZarrPythonStore`: any store of zarr-python as one of ours, Icechunk's sessions among them.

Its methods are awaited in a loop of our own (`loop`), or called at once where the store
can do that. What it holds is what zarr-python sees: both may work on it side by side.

Icechunk: values go into the session; `session.commit` makes them a snapshot, and finds what another
session changed meanwhile (`icechunk.ConflictError`). Until then no other session sees them.

This module knows zarr-python's interface. What single stores make of it, `rules` says.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from omnizarr.errors import NotListableError, ReadOnlyError, StoreError
from omnizarr.keywords import suggests
from omnizarr.model.paths import check_key, check_prefix, is_key
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Capabilities,
    Listing,
    Read,
    Store,
    listing_of,
    sorted_under,
    span,
)
from omnizarr.runtime import parallel
from omnizarr.runtime.properties import cached_property
from omnizarr.stores import deadlines
from omnizarr.stores.exact_ranges import answered, exact
from omnizarr.stores.fsspec.faults import cause, failure
from omnizarr.stores.wrappers.base import PrefixStore, ReadOnlyStore
from omnizarr.stores.zarr_python import rules

if TYPE_CHECKING:
    from zarr.abc.store import Store as ZarrStore

T = TypeVar("T")
DEADLINE = 60.0
REQUESTS = 64
_SYNCHRONOUS = ("get_sync", "set_sync", "delete_sync")
_MISSING = FileNotFoundError, KeyError
_WHOLE = ByteRange(0)


class _Same:
    """Makes stores hashable that can only be compared."""

    def __init__(self, store: Any) -> None:
        self.store: Any = store

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same) or type(self.store) is not type(other.store):
            return False
        return self.store is other.store or bool(self.store == other.store)

    def __hash__(self) -> int:
        return hash(type(self.store))


class ZarrPythonStore(Store):
    """The values of a store of zarr-python, or of a session of Icechunk.

    Parameters
    ----------
    store
        A `zarr.abc.store.Store`.
    read_only
        Refuse every change.
    deadline
        Seconds after which a request is given up.

    Examples
    --------
    >>> import zarr
    >>> inner = zarr.storage.MemoryStore()
    >>> store = omnizarr.stores.ZarrPythonStore(inner)
    >>> array = omnizarr.save_array(store, np.arange(3))
    >>> zarr.open_array(inner)[:]
    array([0, 1, 2])
    """

    @suggests
    def __init__(
        self, store: ZarrStore, *, read_only: bool = False, deadline: float = DEADLINE
    ) -> None:
        if rules.root(store) is None:
            raise TypeError(f"expected a store of zarr-python, found {type(store).__name__}")
        self.store: Any = store
        self.deadline = deadline
        self.read_only = bool(read_only or store.read_only or not store.supports_writes)
        self._rules = rules.rules_for(store)
        self._process = os.getpid()
        self._direct = all(hasattr(store, name) for name in _SYNCHRONOUS) and bool(
            getattr(store, "_supports_sync_io", True)
        )
        self.capabilities = Capabilities(
            listable=bool(store.supports_listing) or self._rules.keys is not None,
            requests=1 if self._direct else REQUESTS,
            gap=Capabilities().gap if self._direct else 1 << 20,
            hierarchies_only=self._rules.nodes,
        )

    @property
    def identity(self) -> Hashable:
        values = getattr(self.store, "_store_dict", None)
        if isinstance(values, dict):  # a MemoryStore; a read-only one shares them
            return "mapping", id(values)
        if self._inside is not None:
            return self._inside.identity
        if rules.is_own(self.store, "ZipStore"):
            return "zip", os.path.realpath(self.store.path), ""
        # Comparing others may compare all their values.
        return "zarr-python", _Same(self.store) if self._rules.nodes else id(self.store)

    def locate(self, key: str) -> tuple[Hashable, str]:
        return (self.identity, key) if self._inside is None else self._inside.locate(key)

    @cached_property
    def _inside(self) -> Store | None:
        """The store that a wrapper of zarr-python (one that logs, or caches) forwards to."""
        if not rules.is_own(self.store, "WrapperStore", subclass=True):
            return None
        inner: Any = self.store._store
        if isinstance(inner, Store):
            return inner
        archive = rules.is_own(inner, "ZipStore")  # which is not to be opened twice
        return ZarrPythonStore(inner) if archive else adopt(inner, read_only=self.read_only)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<{type(self.store).__name__}>)"

    def __getstate__(self) -> dict[str, Any]:
        try:
            store = pickle.dumps(self.store)
        except Exception as error:
            raise TypeError(f"{self!r} cannot be pickled: {error}") from error
        return {"store": store, "read_only": self.read_only, "deadline": self.deadline}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(  # type: ignore[misc]  # it checks and sets everything
            pickle.loads(state["store"]), read_only=state["read_only"], deadline=state["deadline"]
        )

    # -- calling ------------------------------------------------------------------------------
    def _run(self, work: Callable[[], Coroutine[Any, Any, T]], doing: str) -> T:
        """The result of a coroutine of the store; `LookupError`s of missing keys pass."""
        return self._call(lambda: deadlines.run(work, self.deadline), doing)

    def _call(self, function: Callable[[], T], doing: str) -> T:
        if not self._rules.forks and self._process != os.getpid():
            raise StoreError(
                f"cannot {doing}: {self._rules.name} has threads that a forked process lacks;"
                " start processes with spawn, or open the store in each of them"
            ).at(self)
        try:
            return function()
        except _MISSING:
            raise
        except Exception as error:
            self._fail(doing, error)

    def _fail(self, doing: str, error: BaseException) -> NoReturn:
        """Raise our own error for one of the store's; raise one of ours as it is."""
        if isinstance(error, StoreError):
            raise error
        if "read-only" in str(error):
            hint = f": {self._rules.committed}" if self._rules.committed else ""
            ours: StoreError = ReadOnlyError(f"cannot {doing}: the store is read-only{hint}")
        else:
            ours = failure(error, doing)
        raise ours.at(self) from cause(error)

    def check_storable(self, key: str) -> None:
        self.check_writable()
        if not self._rules.holds(check_key(key)):
            raise StoreError(
                f"cannot write {key!r}: {self._rules.name} holds nothing but the documents"
                " (zarr.json) and chunks of Zarr format 3, with '/' between the coordinates of"
                " chunks"
            ).at(self)

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        part = None if byte_range == _WHOLE else byte_range
        return self._exact(key, part, partial(self._fetch, key))

    def _exact(self, key: str, byte_range: ByteRange | None, fetch: Read) -> Buffer | None:
        span(byte_range or ByteRange(0), 0)  # raises for an invalid range
        if not self._rules.holds(check_key(key)):
            return None
        return fetch(byte_range) if self._rules.exact else exact(byte_range, fetch)

    def _fetch(self, key: str, byte_range: ByteRange | None) -> Buffer | None:
        doing = f"read {key!r}"
        try:
            if self._direct:
                part = rules.request(self.store, byte_range)
                memory = rules.prototype(self.store)
                found = self.store.get_sync(key, prototype=memory, byte_range=part)
                return rules.contents(found)
            return self._run(lambda: self._rules.fetch(self.store, key, byte_range), doing)
        except Exception as error:  # for a missing key a store returns None
            self._fail(doing, error)

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        if self._direct or len(requests) < 2:
            return [self.get(key, byte_range) for key, byte_range in requests]
        requests = [(key, None if part == _WHOLE else part) for key, part in requests]
        asked = list(dict.fromkeys(filter(self._askable, requests)))

        work = [partial(self._rules.fetch, self.store, *each) for each in asked]
        found = self._call(
            lambda: deadlines.run_all(work, self.deadline, REQUESTS), "read many values"
        )
        answers = dict(zip(asked, found, strict=True))
        settled: list[Buffer | None] = []
        for key, part in requests:
            fetch: Read = partial(self._fetch, key)
            if (key, part) in answers:
                fetch = answered(part, partial(self._answer, key, answers[key, part]), fetch)
            settled.append(self._exact(key, part, fetch))
        return settled

    def _answer(self, key: str, answer: Buffer | BaseException | None) -> Buffer | None:
        if isinstance(answer, BaseException):
            self._fail(f"read {key!r}", answer)
        return answer

    def _askable(self, request: tuple[str, ByteRange | None]) -> bool:
        """Whether a request can be passed on unchanged."""
        key, byte_range = request
        if not self._rules.holds(check_key(key)):
            return False
        if byte_range is None:
            return True
        start, stop = byte_range
        return stop is None or 0 <= start < stop

    def exists(self, key: str) -> bool:
        if not self._rules.holds(check_key(key)) or self._rules.keys is not None:
            return key in (self._rules.keys or ())
        try:
            return bool(self._run(lambda: self.store.exists(key), f"look for {key!r}"))
        except _MISSING:
            return False

    def size(self, key: str) -> int | None:
        if self._direct or self._rules.keys is not None or not self._rules.holds(check_key(key)):
            return super().size(key)
        try:
            size = int(self._run(lambda: self.store.getsize(key), f"read the size of {key!r}"))
        except _MISSING:
            return None
        # Icechunk says 0 for a chunk that is not there.
        return size if size or self.exists(key) else None

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self.check_storable(key)
        buffer = rules.prototype(self.store).buffer.from_bytes(bytes(value))
        doing = f"write {key!r}"
        try:
            if self._direct:
                self.store.set_sync(key, buffer)
            else:
                self._run(lambda: self.store.set(key, buffer), doing)
        except Exception as error:
            if isinstance(error, KeyError) and self._rules.nodes:
                raise StoreError(
                    f"cannot {doing}: there is no array; write its zarr.json first"
                ).at(self) from error
            self._fail(doing, error)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.check_storable(key)
        return super().set_if_absent(key, value)

    def delete(self, key: str) -> None:
        self.check_writable()
        if not self._rules.holds(check_key(key)):
            return
        doing = f"delete {key!r}"
        if not self.store.supports_deletes:
            raise StoreError(f"cannot {doing}: the store does not delete").at(self)
        if not self._rules.nodes and not self.exists(key):
            return  # some stores remove a whole folder of that name
        try:
            if self._direct:
                self.store.delete_sync(key)
            else:
                self._run(lambda: self.store.delete(key), doing)
        except _MISSING:
            return
        except Exception as error:
            self._fail(doing, error)

    def delete_prefix(self, prefix: str) -> None:
        self.check_writable()
        check_prefix(prefix)
        if not self._rules.nodes or not self.exists(f"{prefix}zarr.json"):
            super().delete_prefix(prefix)
            return
        remove = partial(self.store.delete_dir, prefix) if prefix else self.store.clear
        self._run(remove, f"delete {prefix!r}")

    def move_prefix(self, source: str, target: str) -> None:
        if not self._rules.nodes:
            super().move_prefix(source, target)
            return
        self.check_move(source, target)
        for key in sorted(self.list_prefix(source), key=_documents_first):
            value = self.get(key)
            if value is not None:
                self.set(target + key[len(source) :], value)
        self.delete_prefix(source)

    # -- listable -----------------------------------------------------------------------------
    def _listed(self, names: Callable[[], AsyncIterator[str]], prefix: str) -> list[str]:
        if not self.capabilities.listable:
            raise NotListableError("the store does not list its keys").at(self)

        async def collect() -> list[str]:
            return [name async for name in names()]

        doing = f"list {prefix!r}"
        try:
            return self._run(collect, doing)
        except _MISSING as error:
            self._fail(doing, error)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        check_prefix(prefix)
        if self._rules.keys is not None:
            return sorted_under(self._rules.keys, prefix)
        if self._rules.nodes and prefix and not self.exists(f"{prefix}zarr.json"):
            found = self._listed(self.store.list, prefix)
        else:
            found = self._listed(lambda: self.store.list_prefix(prefix), prefix)
        return sorted_under({key for key in found if is_key(key)}, prefix)

    def list_dir(self, prefix: str) -> Listing:
        check_prefix(prefix)
        if self._rules.keys is not None:
            return listing_of(self._rules.keys, prefix)
        if self._direct:
            return listing_of(self.list_prefix(prefix), prefix)
        # zarr-python gives names, and does not say which of them are keys.
        found = self._listed(lambda: self.store.list_dir(prefix[:-1]), prefix)
        names = sorted({name.strip("/") for name in found if is_key(name.strip("/"))})
        values = parallel.each(lambda name: self.exists(prefix + name), names, REQUESTS)
        keys = [name for name, is_value in zip(names, values, strict=True) if is_value]
        prefixes = set(names).difference(keys)
        if not self._rules.nodes:  # elsewhere a key may also be a prefix of others
            both = parallel.each(lambda name: self._has_below(f"{prefix}{name}/"), keys, REQUESTS)
            prefixes.update(name for name, has in zip(keys, both, strict=True) if has)
        return Listing(
            [prefix + name for name in keys], sorted(f"{prefix}{name}/" for name in prefixes)
        )

    def _has_below(self, prefix: str) -> bool:
        """Whether any key begins with `prefix`; the first one ends the search."""

        async def first() -> bool:
            async for name in self.store.list_prefix(prefix):
                if name.startswith(prefix) and name != prefix:
                    return True
            return False

        try:
            return self._run(first, f"list {prefix!r}")
        except _MISSING:
            return False

    def close(self) -> None:
        self.store.close()


def _documents_first(key: str) -> tuple[bool, int, str]:
    """The order in which keys of nodes are written, groups before their members."""
    return not key.endswith("zarr.json"), key.count("/"), key


# -- for `stores.kinds` -------------------------------------------------------------


def adopt(obj: Any, *, read_only: bool) -> Store | None:
    """The store of a store of zarr-python, of a path in one, or of a session of Icechunk."""
    package_name = type(obj).__module__.partition(".")[0]
    if package_name == "icechunk" and not hasattr(obj, "get"):
        if type(obj).__name__ == "Repository":
            raise TypeError(
                "an Icechunk repository is read and written through a session: give"
                " repository.readonly_session(branch='main') or .writable_session('main')"
            )
        obj = getattr(obj, "store", None)
    if type(obj).__name__ == "StorePath" and hasattr(obj, "store"):
        inner = adopt(obj.store, read_only=read_only or obj.read_only)
        return PrefixStore(inner, obj.path) if inner is not None and obj.path else inner
    if rules.root(obj) is None:
        return None
    return _same_place(obj, read_only or obj.read_only) or ZarrPythonStore(obj, read_only=read_only)


def _same_place(store: Any, read_only: bool) -> Store | None:
    """Our own store for the same files, where zarr-python keeps no state in memory."""
    kind = type(store)
    if rules.is_own(store, "LocalStore"):
        from omnizarr.stores.local.store import LocalStore

        return LocalStore(store.root, read_only=read_only)
    if rules.is_own(store, "ZipStore") and store.read_only:
        from omnizarr.stores.zip.store import ZipStore

        return ZipStore(store.path, mode="r")
    if rules.is_own(store, "FsspecStore"):
        from omnizarr.stores.fsspec.store import FsspecStore

        return FsspecStore(store.fs, store.path, read_only=read_only)
    if rules.is_own(store, "ObjectStore"):
        from omnizarr.stores import kinds

        return kinds.adopt(store.store, read_only=read_only)
    inner = getattr(store, "store", None)
    if kind.__module__ == "omnizarr.integrations.zarr_python.stores" and isinstance(inner, Store):
        return ReadOnlyStore(inner) if read_only and not inner.read_only else inner
    return None
