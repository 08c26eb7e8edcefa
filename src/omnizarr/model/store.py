"""What a store is, whole: the seam, the features that few stores have, and conveniences.

An author of a store derives from `Store` and writes the methods of `model.store_basics.BasicStore`;
`model.store_features` has the optional ones. The methods of this module are the same for all
stores. Concrete stores are in `omnizarr.stores`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from omnizarr.model.paths import check_key
from omnizarr.model.store_facts import (
    Buffer,
    ByteRange,
    Capabilities,
    Feeder,
    FilePrefix,
    Listing,
    Read,
    Sender,
    Versioned,
    VersionedRead,
    listing_of,
    read_range,
    sorted_under,
    span,
)
from omnizarr.model.store_features import Batches, Exclusion, Versions
from omnizarr.model.store_mapping import MappingMethods, adapt

__all__ = [
    "Buffer",
    "ByteRange",
    "Capabilities",
    "Feeder",
    "FilePrefix",
    "Listing",
    "Read",
    "Sender",
    "Store",
    "Versioned",
    "VersionedRead",
    "keys_at",
    "listing_of",
    "read_range",
    "sorted_under",
    "span",
]


class Store(Batches, Versions, Exclusion, MappingMethods):
    """The base of every store. A store is a value: comparable, picklable where it can be.

    A store is also a mutable mapping from str to bytes, as the stores of zarr-python 2 are.
    A subclass must define `get`, `set`, `delete` and `list_prefix`; or, as in zarr-python 2,
    `__getitem__`, `__setitem__`, `__delitem__` and `__iter__`.

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

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        adapt(cls)

    def list(self) -> Iterator[str]:
        """Iterate over every key, sorted.

        Examples
        --------
        >>> list(omnizarr.MemoryStore({"b": b"2", "a/c/0": b"1"}).list())
        ['a/c/0', 'b']
        """
        return self.list_prefix("")

    def check_storable(self, key: str) -> None:
        """Raise if no value can be stored under this key.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.

        Examples
        --------
        >>> omnizarr.MemoryStore().check_storable("a/c/0")
        >>> omnizarr.MemoryStore().check_storable("../a")
        Traceback (most recent call last):
            ...
        omnizarr.errors.InvalidKeyError: invalid store key '../a': ...
        """
        self.check_writable()
        check_key(key)

    def with_read_only(self, read_only: bool = False) -> Store:
        """Give a store of the same values that allows changes, or refuses them.

        Parameters
        ----------
        read_only
            Whether the new store refuses every change.

        Returns
        -------
        Store
            A store of the same kind.

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"key": b"value"}).with_read_only(True)
        >>> store.read_only, store["key"]
        (True, b'value')
        """
        clone = type(self).__new__(type(self))
        clone.__dict__.update(self.__dict__)
        clone.read_only = read_only
        return clone

    @property
    def supports_writes(self) -> bool:
        """Whether values can be set: True of every store that is not read-only.

        Examples
        --------
        >>> store = omnizarr.MemoryStore()
        >>> store.supports_writes, store.with_read_only(True).supports_writes
        (True, False)
        """
        return not self.read_only

    @property
    def supports_deletes(self) -> bool:
        """Whether values can be deleted: True of every store that is not read-only.

        Examples
        --------
        >>> store = omnizarr.MemoryStore()
        >>> store.supports_deletes, store.with_read_only(True).supports_deletes
        (True, False)
        """
        return not self.read_only

    @property
    def supports_listing(self) -> bool:
        """Whether keys can be listed: `capabilities.listable`.

        Examples
        --------
        >>> omnizarr.MemoryStore().supports_listing
        True
        """
        return self.capabilities.listable

    @property
    def supports_partial_writes(self) -> bool:
        """Whether part of a value can be replaced: never, a value is replaced whole.

        Examples
        --------
        >>> omnizarr.MemoryStore().supports_partial_writes
        False
        """
        return False

    @property
    def supports_consolidated_metadata(self) -> bool:
        """Whether groups here gain from consolidated metadata: True unless the store says so.

        Examples
        --------
        >>> omnizarr.MemoryStore().supports_consolidated_metadata
        True
        """
        return not self.capabilities.hierarchies_only

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object = None, error: object = None, trace: object = None) -> None:
        try:
            self.close()
        except Exception:
            # A failure to close must not replace Ctrl-C or SystemExit.
            if error is None or isinstance(error, Exception):
                raise

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
