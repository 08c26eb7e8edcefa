"""Stores around a store: read-only, below a prefix, or with each value read once.

A wrapper changes one thing and forwards everything else to the store inside, locks and identity
included. `WrapperStore` is the base for more of them.

This module knows the interface of stores. It must not know any one store.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from omnizarr.errors import StoreError
from omnizarr.keywords import suggests
from omnizarr.model.paths import check_key, check_prefix, normalize_path
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Feeder,
    FilePrefix,
    Listing,
    Read,
    Store,
    Versioned,
)


class WrapperStore(Store):
    """Forwards every call to another store; the base of wrappers.

    Closing the wrapper closes the store inside.

    Parameters
    ----------
    store
        The store inside.

    Examples
    --------
    >>> class Shouting(omnizarr.stores.WrapperStore):
    ...     def set(self, key, value):
    ...         super().set(key, bytes(value).upper())
    >>> store = Shouting(omnizarr.MemoryStore())
    >>> store.set("key", b"value")
    >>> store.get("key")
    b'VALUE'
    """

    @suggests
    def __init__(self, store: Store) -> None:
        if not isinstance(store, Store):
            raise TypeError(f"expected a store to wrap, found {type(store).__name__}")
        self.store = store
        self.read_only = store.read_only
        self.capabilities = store.capabilities
        self.dimension_separator = store.dimension_separator
        self.preferred_format = store.preferred_format

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r})"

    def _inner(self, key: str) -> str:
        """The key of the store inside."""
        return key

    def _inner_prefix(self, prefix: str) -> str:
        """The prefix of the store inside."""
        return prefix

    def _to_change(self, key: str) -> str:
        """The key of the store inside, for a change; raises if it must not be changed."""
        return self._inner(key)

    def _prefix_to_change(self, prefix: str) -> str:
        """The prefix of the store inside, for a change; raises if it must not be changed."""
        return self._inner_prefix(prefix)

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self.store.get(self._inner(key), byte_range)

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        return self.store.get_many([(self._inner(key), part) for key, part in requests])

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        return self.store.snapshot(self._inner(key))

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        return self.store.get_versioned(self._inner(key), byte_range)

    def version(self, key: str) -> Hashable | None:
        return self.store.version(self._inner(key))

    def exists(self, key: str) -> bool:
        return self.store.exists(self._inner(key))

    def size(self, key: str) -> int | None:
        return self.store.size(self._inner(key))

    def set(self, key: str, value: Buffer) -> None:
        self.store.set(self._to_change(key), value)

    def check_storable(self, key: str) -> None:
        self.store.check_storable(self._to_change(key))

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        return self.store.set_if_absent(self._to_change(key), value)

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        return self.store.set_if_version(self._to_change(key), value, version)

    def delete(self, key: str) -> None:
        self.store.delete(self._to_change(key))

    def delete_prefix(self, prefix: str) -> None:
        self.store.delete_prefix(self._prefix_to_change(prefix))

    def make_prefix(self, prefix: str) -> None:
        self.store.make_prefix(self._inner_prefix(prefix))

    def move_prefix(self, source: str, target: str) -> None:
        self.store.move_prefix(self._prefix_to_change(source), self._prefix_to_change(target))

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self.store.list_prefix(self._inner_prefix(prefix))

    def list_dir(self, prefix: str) -> Listing:
        return self.store.list_dir(self._inner_prefix(prefix))

    def with_read_only(self, read_only: bool = False) -> Store:
        if not read_only and self.read_only:
            raise StoreError("the store inside can only be read").at(self)
        return ReadOnlyStore(self) if read_only and not self.read_only else self

    def check_writable(self) -> None:
        if self.read_only and self.store.read_only:
            self.store.check_writable()  # it knows the reason
        super().check_writable()

    @property
    def identity(self) -> Hashable:
        return self.store.identity

    def locate(self, key: str) -> tuple[Hashable, str]:
        return self.store.locate(key)

    def above(self, names: Collection[str]) -> Iterator[Store]:
        return self.store.above(names)

    def lock(self, key: str) -> AbstractContextManager[object]:
        return self.store.lock(self._inner(key))

    def fresh_reads(self) -> AbstractContextManager[object]:
        return self.store.fresh_reads()

    def close(self) -> None:
        self.store.close()


class ReadOnlyStore(WrapperStore):
    """The same values, but every change raises `ReadOnlyError`.

    Parameters
    ----------
    store
        The store inside.

    Examples
    --------
    >>> store = omnizarr.ReadOnlyStore(omnizarr.MemoryStore({"key": b"value"}))
    >>> store.set("key", b"other")
    Traceback (most recent call last):
        ...
    omnizarr.errors.ReadOnlyError: ReadOnlyStore(MemoryStore(<1 keys>)): the store can only be read
    """

    @suggests
    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.read_only = True

    def with_read_only(self, read_only: bool = False) -> Store:
        return self if read_only else self.store.with_read_only(False)

    def feeder(self, byte_range: ByteRange | None, requests: int) -> Feeder | None:
        return self.store.feeder(byte_range, requests)

    def files(self, prefix: str, *, writing: bool = False) -> FilePrefix | None:
        # A subclass may do more than read.
        return self.store.files(prefix) if type(self) is ReadOnlyStore and not writing else None

    def _to_change(self, key: str) -> str:
        self.check_writable()
        return key

    def _prefix_to_change(self, prefix: str) -> str:
        self.check_writable()
        return prefix

    def make_prefix(self, prefix: str) -> None:
        self.check_writable()

    def lock(self, key: str) -> AbstractContextManager[object]:
        check_key(key)
        return nullcontext()  # nothing can be changed, so no writer has to be excluded


class RememberingStore(WrapperStore):
    """Reads every value once; made for a few lookups that belong together, then thrown away."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._answers: dict[tuple[str, ByteRange | None], Buffer | None] = {}

    def __repr__(self) -> str:
        return repr(self.store)

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self.get_many([(key, byte_range)])[0]

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        new = [request for request in dict.fromkeys(requests) if request not in self._answers]
        if new:
            self._answers.update(zip(new, self.store.get_many(new), strict=True))
        return [self._answers[request] for request in requests]


class PrefixStore(WrapperStore):
    """The values of a store below a prefix, as a store of their own.

    Parameters
    ----------
    store
        The store inside.
    prefix
        Such as "a/b" or "a/b/".

    Examples
    --------
    >>> inner = omnizarr.MemoryStore({"a/b": b"value", "c": b""})
    >>> list(omnizarr.PrefixStore(inner, "a"))
    ['b']
    """

    @suggests
    def __init__(self, store: Store, prefix: str) -> None:
        super().__init__(store)
        path = normalize_path(prefix)
        self.prefix = path + "/" if path else ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r}, {self.prefix!r})"

    def _inner(self, key: str) -> str:
        return self.prefix + check_key(key)

    def _inner_prefix(self, prefix: str) -> str:
        return self.prefix + check_prefix(prefix)

    def move_prefix(self, source: str, target: str) -> None:
        if not source or not target:
            raise StoreError("the root of a prefix cannot be moved").at(self)
        super().move_prefix(source, target)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        begin = len(self.prefix)
        keys = super().list_prefix(prefix)
        return (key[begin:] for key in keys)

    def list_dir(self, prefix: str) -> Listing:
        begin = len(self.prefix)
        keys, prefixes = super().list_dir(prefix)
        return Listing([key[begin:] for key in keys], [below[begin:] for below in prefixes])

    @property
    def identity(self) -> Hashable:
        return self.store.identity, self.prefix

    def locate(self, key: str) -> tuple[Hashable, str]:
        return self.store.locate(self.prefix + key)

    def above(self, names: Collection[str]) -> Iterator[Store]:
        yield from above(self.store, self.prefix, names)
        yield from self.store.above(names)


def read_rest(
    store: Store,
    requests: Sequence[tuple[str, ByteRange | None]],
    answers: list[Buffer | None],
    rest: Sequence[int],
) -> None:
    """Fill in the answers to the requests with these numbers, read from `store` in one batch."""
    if rest:
        found = store.get_many([requests[index] for index in rest])
        for index, answer in zip(rest, found, strict=True):
            answers[index] = answer


def above(store: Store, prefix: str, names: Collection[str]) -> Iterator[Store]:
    """What `Store.above` gives for the root `prefix` of a larger store, up to that store itself."""
    parts = prefix.rstrip("/").split("/")
    for depth, name in enumerate(parts):
        if name in names:
            yield PrefixStore(store, "/".join(parts[:depth])) if depth else store
