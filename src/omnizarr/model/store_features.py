"""What few stores do in a way of their own: small protocols beside the seam.

Each class here is one of them, with a default that works on `BasicStore` alone or refuses.
`capabilities` says which of them a store supports.

This module knows the basic methods of a store. It must not know any one store.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from omnizarr.errors import StoreError, ValueChangedError
from omnizarr.model.paths import check_prefix, deletion_steps
from omnizarr.model.store_basics import BasicStore
from omnizarr.model.store_facts import (
    Buffer,
    ByteRange,
    Feeder,
    FilePrefix,
    Read,
    Sender,
    Versioned,
)
from omnizarr.runtime import parallel

if TYPE_CHECKING:
    from omnizarr.model.store import Store


class Batches(BasicStore):
    """Many values in one call, for stores where that costs less than one call each."""

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

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a": b"0123", "b": b"4567"})
        >>> store.get_many([("a", None), ("b", omnizarr.ByteRange(-2)), ("c", None)])
        [b'0123', b'67', None]
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

        Examples
        --------
        >>> omnizarr.MemoryStore().feeder(None, requests=8) is None
        True
        """
        return None

    def files(self, prefix: str, *, writing: bool = False) -> FilePrefix | None:
        """Tell where values are files that may be opened by their path now.

        Parameters
        ----------
        prefix
            Prefix of the keys, such as `"a/"`, or `""`.
        writing
            Whether values are to be replaced, each under its lock (docs/design/002).

        Returns
        -------
        FilePrefix or None
            None where values must be asked for with `get`.

        Examples
        --------
        >>> omnizarr.MemoryStore().files("") is None
        True
        """
        return None

    def sender(self, requests: int) -> Sender | None:
        """Give a writer that sends many values from one thread, where that is cheaper.

        Parameters
        ----------
        requests
            Number of requests under way at once.

        Returns
        -------
        Sender or None
            None where a thread for each request is as good.

        Examples
        --------
        >>> omnizarr.MemoryStore().sender(requests=8) is None
        True
        """
        return None


class Versions(BasicStore):
    """Values with an ETag or a revision (`capabilities.versions`, `capabilities.validators`)."""

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

        Examples
        --------
        >>> from omnizarr.stores import SQLiteStore
        >>> with SQLiteStore(":memory:") as store:
        ...     store.set("key", b"value")
        ...     bytes(store.get_versioned("key").value)
        b'value'
        """
        raise StoreError(f"{self!r} does not tell versions of a value apart")

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

        Examples
        --------
        >>> from omnizarr.stores import SQLiteStore
        >>> with SQLiteStore(":memory:") as store:
        ...     store.set("key", b"old")
        ...     seen = store.get_versioned("key").version
        ...     print(store.set_if_version("key", b"new", seen))
        ...     print(store.set_if_version("key", b"late", seen))
        True
        False
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

        Examples
        --------
        >>> from omnizarr.stores import SQLiteStore
        >>> with SQLiteStore(":memory:") as store:
        ...     store.set("key", b"old")
        ...     seen = store.version("key")
        ...     store.set("key", b"new")
        ...     store.version("key") == seen, store.version("missing")
        (False, None)
        """
        found = self.get_versioned(key, ByteRange(0, 0))
        return None if found is None else found.version

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
            It gives a function that reads a `ByteRange`, or with None the whole value. Some stores
            give a `VersionedRead`, which also tells the version.

        Raises
        ------
        ValueChangedError
            By the function, if the value was replaced since the first read.

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"key": b"head body"})
        >>> with store.snapshot("key") as read:
        ...     store.set("key", b"replaced!")
        ...     read(omnizarr.ByteRange(0, 4)), read(omnizarr.ByteRange(5))
        (b'head', b'body')
        """
        if not self.capabilities.versions:
            return nullcontext(lambda byte_range: self.get(key, byte_range))
        return nullcontext(self._one_version(key))

    def _one_version(self, key: str) -> Read:
        """Reads parts of one version of a value, and raises once it was replaced."""
        seen: list[Hashable | None] = []

        def read(byte_range: ByteRange | None) -> Buffer | None:
            found = self.get_versioned(key, byte_range)
            version = None if found is None else found.version
            if seen and version != seen[0]:
                raise ValueChangedError(f"{key!r} was replaced while it was read").at(self)
            seen.append(version)
            return None if found is None else found.value

        return read


class Exclusion(BasicStore):
    """Updates that exclude other writers (`capabilities.conditional`, `capabilities.locks`)."""

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

        Examples
        --------
        >>> store = omnizarr.MemoryStore()
        >>> store.set_if_absent("key", b"first"), store.set_if_absent("key", b"second")
        (True, False)
        >>> store.get("key")
        b'first'
        """
        if self.exists(key):
            return False
        self.set(key, value)
        return True

    def lock(self, key: str) -> AbstractContextManager[object]:
        """Exclude other processes while a value is read, changed and written back.

        A lock is not reentrant. A store with `capabilities.locks` False gives one that does
        nothing.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.

        Examples
        --------
        >>> store = omnizarr.TempStore()
        >>> with store.lock("counter"):
        ...     store.set("counter", bytes([1 + (store.get("counter") or b"0")[0]]))
        >>> store.get("counter")
        b'1'
        >>> store.close()
        """
        return nullcontext()

    def fresh_reads(self) -> AbstractContextManager[object]:
        """Bypass every cache in front of the values, for reads of this thread inside the block.

        Examples
        --------
        >>> from omnizarr.stores import CacheStore
        >>> values = {"key": b"old"}
        >>> store = CacheStore(omnizarr.MemoryStore(values), validate="never")
        >>> first = store.get("key")
        >>> values["key"] = b"new"
        >>> store.get("key")
        b'old'
        >>> with store.fresh_reads():
        ...     store.get("key")
        b'new'
        """
        return nullcontext()

    def locate(self, key: str) -> tuple[Hashable, str]:
        """Name a value inside this process, equally through all wrappers of one store.

        Parameters
        ----------
        key
            Key of the value, such as `"a/zarr.json"`.

        Examples
        --------
        >>> store = omnizarr.MemoryStore()
        >>> below = omnizarr.PrefixStore(store, "a")
        >>> below.locate("c/0") == store.locate("a/c/0")
        True
        """
        return self.identity, key


class Prefixes(BasicStore):
    """Everything below a prefix at once, for stores that have directories or bulk requests."""

    def delete_prefix(self, prefix: str) -> None:
        """Remove every key that starts with a prefix.

        All go at once, or in the order of `model.paths.deletion_steps`, so that an interruption
        leaves no array without its metadata.

        Parameters
        ----------
        prefix
            `""` or a prefix that ends with "/".

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a/zarr.json": b"{}", "a/c/0": b"0", "b": b"1"})
        >>> store.delete_prefix("a/")
        >>> list(store)
        ['b']
        """
        self.check_writable()
        workers = self.capabilities.requests if self.capabilities.concurrent_writes else 1
        for step in deletion_steps(self.list_prefix(prefix)):
            parallel.each(self.delete, step, workers)

    def make_prefix(self, prefix: str) -> None:
        """Create an empty directory, on a store that has directories.

        Parameters
        ----------
        prefix
            `""` or a prefix that ends with "/".

        Examples
        --------
        >>> store = omnizarr.TempStore()
        >>> store.make_prefix("a/")
        >>> store.list_dir("").prefixes
        ['a/']
        >>> store.close()
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

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a/zarr.json": b"{}", "a/c/0": b"0"})
        >>> store.move_prefix("a/", "b/")
        >>> list(store)
        ['b/c/0', 'b/zarr.json']
        """
        self.check_move(source, target)
        for step in reversed(deletion_steps(self.list_prefix(source))):
            for key in step:
                value = self.get(key)
                if value is not None:
                    self.set(target + key[len(source) :], value)
        self.delete_prefix(source)

    def check_move(self, source: str, target: str) -> None:
        """Raise unless `move_prefix` can move `source` to `target`.

        Parameters
        ----------
        source, target
            Prefixes, which end with "/".

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a/zarr.json": b"{}"})
        >>> store.check_move("a/", "b/")
        >>> store.check_move("a/", "a/b/")
        Traceback (most recent call last):
            ...
        omnizarr.errors.StoreError: MemoryStore(<1 keys>): cannot move 'a/' into itself ('a/b/')
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

    def above(self, names: Collection[str]) -> Iterator[Store]:
        """Iterate over the directories around this store, as stores.

        These are the ones from which the path to this store begins with one of `names`. A store
        that cannot tell has none.

        Parameters
        ----------
        names
            Names of directories, such as "c".

        Examples
        --------
        >>> store = omnizarr.TempStore()
        >>> inner = omnizarr.LocalStore(store.root / "a" / "c")
        >>> [outer.root.name for outer in inner.above(["c"])]
        ['a']
        >>> store.close()
        """
        return iter(())
