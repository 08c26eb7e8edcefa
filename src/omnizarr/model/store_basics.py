"""The seam between the engine and stored bytes: what the author of a store writes.

Document 002 names three capabilities: *readable*, *writeable*, *listable*. `BasicStore` has all of
them, synchronous; a store that lacks one says so (`read_only`, `capabilities.listable`) and raises.
Only `get`, `set`, `delete` and `list_prefix` must be written. `model.store_features` has what few
stores do in a way of their own, and `model.store` what all stores share.

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
from collections.abc import Hashable, Iterator
from typing import Any, Literal

from omnizarr.errors import ReadOnlyError
from omnizarr.model.store_facts import Buffer, ByteRange, Capabilities, Listing, listing_of


class BasicStore(ABC):
    """What a store has to be: four methods to write, and some that it may do better."""

    read_only: bool = False
    """Every change raises `ReadOnlyError`."""
    capabilities: Capabilities = Capabilities()
    """What the store can do beyond the basics."""
    dimension_separator: Literal[".", "/"] | None = None
    """What the store would like to see between chunk coordinates of new arrays."""
    preferred_format: int | str | None = None
    """The format of new nodes in an empty store, where no other is asked for."""
    face: Any = None
    """What nodes show as their store in place of this one: the object that it was made for."""

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

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a/c/0": b"012345"})
        >>> store.get("a/c/0"), store.get("a/c/0", omnizarr.ByteRange(2, 4)), store.get("a/c/1")
        (b'012345', b'23', None)
        """

    def size(self, key: str) -> int | None:
        """Tell the length of a value in bytes; None if there is no such key.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a/c/0": b"012345"})
        >>> store.size("a/c/0"), store.size("a/c/1")
        (6, None)
        """
        value = self.get(key)
        return None if value is None else len(value)

    def exists(self, key: str) -> bool:
        """Tell whether there is a value under this key.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a/c/0": b""})
        >>> store.exists("a/c/0"), store.exists("a/c/1")
        (True, False)
        """
        return self.size(key) is not None

    @abstractmethod
    def set(self, key: str, value: Buffer) -> None:
        """Replace a value, whole or not at all.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.
        value
            The bytes. The store keeps a copy of its own.

        Examples
        --------
        >>> store = omnizarr.MemoryStore()
        >>> store.set("a/c/0", b"012345")
        >>> store.get("a/c/0")
        b'012345'
        """

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove a key. A missing key is no error.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a/c/0": b"012345"})
        >>> store.delete("a/c/0")
        >>> store.delete("a/c/0")
        >>> store.get("a/c/0") is None
        True
        """

    @abstractmethod
    def list_prefix(self, prefix: str) -> Iterator[str]:
        """Iterate over every key that starts with a prefix, sorted.

        Parameters
        ----------
        prefix
            `""` or a prefix that ends with "/".

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a/c/1": b"1", "a/c/0": b"0", "b/c/0": b"2"})
        >>> list(store.list_prefix("a/"))
        ['a/c/0', 'a/c/1']
        """

    def list_dir(self, prefix: str) -> Listing:
        """List the direct children of a prefix: keys, and prefixes of longer keys.

        Parameters
        ----------
        prefix
            `""` or a prefix that ends with "/".

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a/zarr.json": b"{}", "a/c/0": b"0", "b/c/0": b"1"})
        >>> store.list_dir("a/")
        Listing(keys=['a/zarr.json'], prefixes=['a/c/'])
        """
        return listing_of(self.list_prefix(prefix), prefix)

    @property
    def identity(self) -> Hashable:
        """Equal for two stores that hold the same values, so that they share in-process locks.

        Examples
        --------
        >>> values, others = {}, {}
        >>> store = omnizarr.MemoryStore(values)
        >>> store.identity == omnizarr.MemoryStore(values).identity
        True
        >>> store.identity == omnizarr.MemoryStore(others).identity
        False
        """
        return id(self)

    def close(self) -> None:  # noqa: B027 - most stores hold nothing
        """Release what the store holds; closing twice is not an error.

        Examples
        --------
        >>> store = omnizarr.TempStore()
        >>> store.close()
        >>> store.close()
        """

    def check_writable(self) -> None:
        """Raise `ReadOnlyError` if the store is read-only.

        Examples
        --------
        >>> store = omnizarr.MemoryStore(read_only=True)
        >>> store.check_writable()
        Traceback (most recent call last):
            ...
        omnizarr.errors.ReadOnlyError: MemoryStore(<0 keys>): the store can only be read
        """
        if self.read_only:
            raise ReadOnlyError("the store can only be read").at(self)
