"""What a store is: the interface between the engine and stored bytes.

Document 002 names three capabilities: *readable*, *writeable*, *listable*. `Store` has all of
them, synchronous and batch-first; a store that lacks one says so (`read_only`, `listable`) and
raises. Only `get`, `set`, `delete` and `list_prefix` must be written; the rest has defaults that
a store overrides where it can do better. Concrete stores are in `omnizarr.stores`.

Rules that every store keeps (`omnizarr.testing` checks them):

* A key is validated with `model.paths.check_key` before anything else happens.
* Missing means missing: `get` answers None only if the key does not exist. Every other failure
  raises `StoreError` (or an `OSError` of its own).
* `set` replaces a value whole or not at all, and keeps its own copy of the bytes.
* An empty value is a value.
* `delete` of a missing key is not an error.
* Listings are sorted, and show no temporary or lock file of the store's own. They show nothing
  that `get` would refuse as a key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Self

from omnizarr.errors import ReadOnlyError, StoreError
from omnizarr.model.paths import check_key, check_prefix, deletion_steps
from omnizarr.model.store_facts import (
    Buffer,
    ByteRange,
    Capabilities,
    Feeder,
    Listing,
    OneVersion,
    Read,
    Versioned,
    listing_of,
    read_range,
    sorted_under,
    span,
)
from omnizarr.model.store_mapping import StoreMapping
from omnizarr.runtime import parallel

__all__ = [
    "Buffer",
    "ByteRange",
    "Capabilities",
    "Feeder",
    "Listing",
    "Read",
    "Store",
    "Versioned",
    "keys_at",
    "listing_of",
    "read_range",
    "sorted_under",
    "span",
]


class Store(StoreMapping, ABC):
    """The base of every store. A store is a value: comparable, picklable where it can be.

    A store is also a mutable mapping from str to bytes, as the stores of zarr-python 2 are.
    A subclass must define `get`, `set`, `delete` and `list_prefix`.

    Every method raises `InvalidKeyError` for a key that could leave the store, `StoreError` if the
    store fails, `ReadOnlyError` for a change of a read-only store, and `NotListableError` for a
    listing where `capabilities.listable` is False.

    Examples
    --------
    >>> store = omnizarr.MemoryStore()
    >>> store.set("a/b", b"value")
    >>> store.get("a/b"), store.get("missing")
    (b'value', None)
    >>> list(store)
    ['a/b']
    """

    read_only: bool = False
    """Every change raises `ReadOnlyError`."""
    capabilities: Capabilities = Capabilities()
    """What the store can do beyond the basics."""
    dimension_separator: Literal[".", "/"] | None = None
    """What the store would like to see between chunk coordinates of new arrays."""

    # -- readable -----------------------------------------------------------------------------
    @abstractmethod
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        """Read a value, or part of it.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.
        byte_range
            The part to read; None: the whole value.

        Returns
        -------
        bytes, bytearray, memoryview or None
            The bytes, not to be written to; None if there is no such key.

        Raises
        ------
        InvalidKeyError
            If the key could leave the store, or no store can hold it.
        StoreError
            If the store fails. A failure is never reported as a missing key.
        """

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        """Read many values, or parts of them, in one call.

        Parameters
        ----------
        requests
            Pairs of a key and a byte range; the range None is the whole value.

        Returns
        -------
        list
            One answer per request, in order, as `get` gives it.
        """
        found: list[Buffer | None] = []
        for key, byte_range in requests:
            parallel.check()
            found.append(self.get(key, byte_range))
        return found

    def feeder(self, byte_range: ByteRange | None, requests: int) -> Feeder | None:
        """Give a reader that asks for many values from one thread, where that is cheaper.

        Parameters
        ----------
        byte_range
            The part of every value to read; None: whole values.
        requests
            Number of requests under way at once.

        Returns
        -------
        Feeder or None
            None where a thread for each request is as good.
        """
        return None

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        """Open one version of a value, to read several parts of it.

        A writer that replaces the value meanwhile is not seen, or the read raises. A store without
        versions reads whatever is stored at each call.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.

        Returns
        -------
        context manager
            It gives a function that reads a `ByteRange`, or with None the whole value.

        Raises
        ------
        ValueChangedError
            By the function, if the value was replaced since the first read.
        """
        if not self.capabilities.versions:
            return nullcontext(lambda byte_range: self.get(key, byte_range))
        return nullcontext(OneVersion(self, key))

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        """Read a value, or part of it, with the version that `set_if_version` takes.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.
        byte_range
            The part to read; None: the whole value.

        Returns
        -------
        Versioned or None
            None if there is no such key.

        Raises
        ------
        StoreError
            If `capabilities.versions` is False.
        """
        raise StoreError(f"{self!r} does not tell versions of a value apart")

    def version(self, key: str) -> Hashable | None:
        """Tell the version of a value without reading it.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.

        Returns
        -------
        Hashable or None
            Different for every other value of the key: an ETag, or what a file system knows of a
            file. None if there is no such key.

        Raises
        ------
        StoreError
            If neither `capabilities.versions` nor `capabilities.validators` is True.
        """
        found = self.get_versioned(key, ByteRange(0, 0))
        return None if found is None else found.version

    def exists(self, key: str) -> bool:
        """Tell whether there is a value under this key.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.
        """
        return self.size(key) is not None

    def size(self, key: str) -> int | None:
        """Tell the length of a value in bytes; None if there is no such key.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.
        """
        value = self.get(key)
        return None if value is None else len(value)

    # -- writeable ----------------------------------------------------------------------------
    @abstractmethod
    def set(self, key: str, value: Buffer) -> None:
        """Replace a value, whole or not at all.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.
        value
            The bytes. The store keeps a copy of its own.
        """

    def check_storable(self, key: str) -> None:
        """Raise if no value can be stored under this key.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.
        """
        self.check_writable()
        check_key(key)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        """Set a value only if the key does not exist.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.
        value
            The bytes. The store keeps a copy of its own.

        Returns
        -------
        bool
            True if the value was set. With `capabilities.conditional`, only one of several
            processes gets True.
        """
        if self.exists(key):
            return False
        self.set(key, value)
        return True

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        """Replace a value only if it still has this version.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.
        value
            The bytes. The store keeps a copy of its own.
        version
            As `get_versioned` gave it; None: set only if there is no such key.

        Returns
        -------
        bool
            True if the value was set.

        Raises
        ------
        StoreError
            If `capabilities.versions` is False.
        """
        raise StoreError(f"{self!r} does not tell versions of a value apart")

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove a key. A missing key is no error.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.
        """

    def delete_prefix(self, prefix: str) -> None:
        """Remove every key that starts with a prefix.

        All go at once, or in the order of `model.paths.deletion_steps`, so that an interruption
        leaves no array without its metadata.

        Parameters
        ----------
        prefix
            `""` or a prefix that ends with "/".
        """
        for step in deletion_steps(self.list_prefix(prefix)):
            for key in step:
                self.delete(key)

    def make_prefix(self, prefix: str) -> None:
        """Create an empty directory, on a store that has directories.

        Parameters
        ----------
        prefix
            `""` or a prefix that ends with "/".
        """
        self.check_writable()
        check_prefix(prefix)

    def move_prefix(self, source: str, target: str) -> None:
        """Give every key that starts with `source` the prefix `target` instead.

        Stores without a rename copy first, documents last, and delete afterwards, so that an
        interruption leaves every value where it was.

        Parameters
        ----------
        source, target
            Prefixes, which end with "/". There must be no key below `target`.

        Raises
        ------
        ReadOnlyError
            If the store is read-only.
        StoreError
            If a key exists below `target`, or `target` is inside `source`.
        """
        self.check_move(source, target)
        for step in reversed(deletion_steps(self.list_prefix(source))):
            for key in step:
                value = self.get(key)
                if value is not None:
                    self.set(target + key[len(source) :], value)
        self.delete_prefix(source)

    # -- listable -----------------------------------------------------------------------------
    @abstractmethod
    def list_prefix(self, prefix: str) -> Iterator[str]:
        """Iterate over every key that starts with a prefix, sorted.

        Parameters
        ----------
        prefix
            `""` or a prefix that ends with "/".
        """

    def list(self) -> Iterator[str]:
        """Iterate over every key, sorted."""
        return self.list_prefix("")

    def list_dir(self, prefix: str) -> Listing:
        """List the direct children of a prefix: keys, and prefixes of longer keys.

        Parameters
        ----------
        prefix
            `""` or a prefix that ends with "/".
        """
        return listing_of(self.list_prefix(prefix), prefix)

    # -- safe updates -------------------------------------------------------------------------
    @property
    def identity(self) -> Hashable:
        """Equal for two stores that hold the same values, so that they share in-process locks."""
        return id(self)

    def locate(self, key: str) -> tuple[Hashable, str]:
        """Name a value inside this process, equally through all wrappers of one store.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.
        """
        return self.identity, key

    def above(self, names: Collection[str]) -> Iterator[Store]:
        """Iterate over the directories around this store, as stores.

        These are the ones from which the path to this store begins with one of `names`. A store
        that cannot tell has none.

        Parameters
        ----------
        names
            Names of directories, such as "c".
        """
        return iter(())

    def lock(self, key: str) -> AbstractContextManager[object]:
        """Exclude other processes while a value is read, changed and written back.

        A lock is not reentrant. A store with `capabilities.locks` False gives one that does
        nothing.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.
        """
        return nullcontext()

    def fresh_reads(self) -> AbstractContextManager[object]:
        """Bypass every cache in front of the values, for reads of this thread inside the block."""
        return nullcontext()

    # -- life ---------------------------------------------------------------------------------
    def close(self) -> None:
        """Release what the store holds; closing twice is not an error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object = None, error: object = None, trace: object = None) -> None:
        try:
            self.close()
        except Exception:
            # A failure to close must not replace Ctrl-C or SystemExit.
            if error is None or isinstance(error, Exception):
                raise

    def check_writable(self) -> None:
        """Raise `ReadOnlyError` if the store is read-only."""
        if self.read_only:
            raise ReadOnlyError(f"{self!r} was opened for reading only")

    def check_move(self, source: str, target: str) -> None:
        """Raise unless `move_prefix` can move `source` to `target`.

        Parameters
        ----------
        source, target
            Prefixes, which end with "/".
        """
        self.check_writable()
        check_prefix(source)
        check_prefix(target)
        if target.startswith(source):
            raise StoreError(f"cannot move {source!r} into itself ({target!r})").at(self)
        if next(iter(self.list_prefix(target)), None) is not None:
            raise StoreError(f"cannot move {source!r} to {target!r}, which has keys already").at(
                self
            )

    # A store is a value: two handles on the same values are equal.
    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Store) or type(self) is not type(other):
            return NotImplemented
        return self.identity == other.identity

    def __hash__(self) -> int:
        return hash((type(self), self.identity))


def keys_at(store: Store, prefix: str) -> Iterator[str]:
    """Every key that starts with `prefix`; a text that is neither empty nor ends with "/" is a key,
    which is given if it exists."""
    if not prefix or prefix.endswith("/"):
        return store.list_prefix(prefix)
    return iter([prefix] if store.exists(prefix) else [])
