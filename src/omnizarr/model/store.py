"""What a store is: the interface of every place where bytes can lie.

Document 002 names three capabilities: *readable*, *writeable*, *listable*. `Store` gives all of
them, synchronous and batch-first; a store that lacks one says so (`read_only`, `listable`) and
raises. Only `get`, `set`, `delete` and `list_prefix` must be written; the rest has defaults that
a store overrides where it can do better. Concrete stores live in `omnizarr.stores`.

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
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, Self

from omnizarr.errors import ReadOnlyError, StoreError, ValueChangedError
from omnizarr.model.paths import check_key, check_prefix, deletion_steps, is_key
from omnizarr.runtime import parallel

Buffer = bytes | bytearray | memoryview
"""What a store takes and gives. A caller never writes into a buffer that a store gave."""


class ByteRange(NamedTuple):
    """Part of a value, with the meaning of Python's `value[start:stop]`.

    `ByteRange(-16)` is a suffix: the last 16 bytes, or all of a shorter value. What lies beyond
    the end is left out. A suffix has no stop, and a stop is never negative.
    """

    start: int
    stop: int | None = None


Read = Callable[[ByteRange | None], Buffer | None]
"""Reads part of a value, or all of it; None if there is no such value."""


class Versioned(NamedTuple):
    """A value, or part of one, and what tells it from every other value of its key: an ETag, a
    revision, or where a store has neither, the value itself."""

    value: Buffer
    version: Hashable


class Listing(NamedTuple):
    """What lies directly below a prefix: whole keys, and prefixes that end with "/"."""

    keys: list[str]
    prefixes: list[str]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a store can do beyond the basics; the engine plans with it."""

    listable: bool = True
    ranges: bool = True
    """A ranged `get` is cheaper than a whole one."""
    conditional: bool = False
    """`set_if_absent` is atomic between processes."""
    versions: bool = False
    """`get_versioned` and `set_if_version` work, and are atomic between processes."""
    validators: bool = False
    """`version` works, even where `get_versioned` does not."""
    locks: bool = False
    """`lock` keeps out every other holder and every `set` of the key, of any thread or process."""
    concurrent_writes: bool = True
    """`set` may be called from several threads at once and gains from it."""
    requests: int = 1
    """How many requests the store gains from having under way at once; 1 where answers come
    without a wait, or where `get_many` is one request."""
    remote: bool = False
    """Every call is a request to a service, even where `requests` is 1."""
    gap: int = 64 * 1024
    """Ranges of a value that lie closer together than this are cheaper to read as one."""
    hierarchies_only: bool = False
    """It takes no other keys than those of documents and chunks, and a chunk only after the
    document of its array."""


class Feeder(Protocol):
    """Asks for many values at once, for `parallel.relay`; items are keys and what belongs to
    them."""

    def feed(self, desk: parallel.Desk[tuple[str, Any], Buffer | None], /) -> None:
        """Put the value of every item that the desk gives, or leave the item aside."""

    def get(self, key: str, /) -> Buffer | None:
        """The ordinary way, for what was left aside."""


class Store(ABC):
    """The base of every store. A store is a value: comparable, picklable where it can be."""

    read_only: bool = False
    capabilities: Capabilities = Capabilities()
    dimension_separator: Literal[".", "/"] | None = None
    """What the store would like to see between chunk coordinates of new arrays."""

    # -- readable -----------------------------------------------------------------------------
    @abstractmethod
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        """The value, or part of it; None if there is no such key."""

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        """One answer per request, in order."""
        found: list[Buffer | None] = []
        for key, byte_range in requests:
            parallel.check()
            found.append(self.get(key, byte_range))
        return found

    def feeder(self, byte_range: ByteRange | None, requests: int) -> Feeder | None:
        """What asks for this part of many values in one thread, with so many requests under way,
        where that is cheaper than a thread for each; None where it is not."""
        return None

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        """A function that reads parts of one value, all of the same version where the store can:
        a writer that replaces the value meanwhile is not seen, or the read raises
        `ValueChangedError`."""
        if not self.capabilities.versions:
            return nullcontext(lambda byte_range: self.get(key, byte_range))
        return nullcontext(_OneVersion(self, key))

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        """`get`, with the version that `set_if_version` takes; see `capabilities.versions`."""
        raise StoreError(f"{self!r} does not tell versions of a value apart")

    def version(self, key: str) -> Hashable | None:
        """What tells the value from every other one of its key, without reading it: an ETag, or
        what a file system knows of a file; None if there is no such key."""
        found = self.get_versioned(key, ByteRange(0, 0))
        return None if found is None else found.version

    def exists(self, key: str) -> bool:
        return self.size(key) is not None

    def size(self, key: str) -> int | None:
        """Length of the value in bytes; None if there is no such key."""
        value = self.get(key)
        return None if value is None else len(value)

    # -- writeable ----------------------------------------------------------------------------
    @abstractmethod
    def set(self, key: str, value: Buffer) -> None:
        """Replace the value, whole or not at all."""

    def check_storable(self, key: str) -> None:
        """Raise if there can be no value under this key."""
        self.check_writable()
        check_key(key)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        """Set only if the key does not exist; True if it was set."""
        if self.exists(key):
            return False
        self.set(key, value)
        return True

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        """Replace the value only if it still has this version (None: only if there is none);
        True if it was set. See `capabilities.versions`."""
        raise StoreError(f"{self!r} does not tell versions of a value apart")

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove the key if it exists."""

    def delete_prefix(self, prefix: str) -> None:
        """Remove every key that starts with `prefix` ("" or ending with "/"): all at once, or in
        the order of `model.paths.deletion_steps`."""
        for step in deletion_steps(self.list_prefix(prefix)):
            for key in step:
                self.delete(key)

    def make_prefix(self, prefix: str) -> None:
        """Show `prefix` though nothing lies below it, on a store that has directories."""
        self.check_writable()
        check_prefix(prefix)

    def move_prefix(self, source: str, target: str) -> None:
        """Give every key that starts with `source` the prefix `target` instead.

        Nothing may lie below `target`. Stores without a rename copy first, documents last, and
        delete afterwards, so that an interruption leaves every value where it was.
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
        """Every key that starts with `prefix` ("" or ending with "/"), sorted."""

    def list(self) -> Iterator[str]:
        return self.list_prefix("")

    def list_dir(self, prefix: str) -> Listing:
        """What lies directly below `prefix` ("" or ending with "/")."""
        return listing_of(self.list_prefix(prefix), prefix)

    # -- safe updates -------------------------------------------------------------------------
    @property
    def identity(self) -> Hashable:
        """Equal for two stores that hold the same values, so that they share in-process locks."""
        return id(self)

    def locate(self, key: str) -> tuple[Hashable, str]:
        """What names a value inside this process, equal through all wrappers of one store."""
        return self.identity, key

    def above(self, names: Collection[str]) -> Iterator[Store]:
        """The places around this store, as stores: those from which the path to its root begins
        with one of `names`. None where a store cannot tell what lies around it."""
        return iter(())

    def lock(self, key: str) -> AbstractContextManager[object]:
        """Exclude other processes while a value is read, changed and written back.

        Stores that cannot do so give a lock that does nothing and say `capabilities.locks = False`.
        A lock is not reentrant.
        """
        return nullcontext()

    # -- as a mapping, which zarr-python 2's stores are ---------------------------------------
    def __getitem__(self, key: str) -> bytes:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return bytes(value)

    def __setitem__(self, key: str, value: Buffer) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        if not self.exists(key):
            raise KeyError(key)
        self.delete(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and is_key(key) and self.exists(key)

    def __iter__(self) -> Iterator[str]:
        return self.list()

    def __len__(self) -> int:
        return sum(1 for _ in self.list())

    def __bool__(self) -> bool:
        return True  # an empty store is a store

    def keys(self) -> Iterator[str]:
        return self.list()

    def items(self) -> Iterator[tuple[str, bytes]]:
        return ((key, self[key]) for key in self.list())

    def values(self) -> Iterator[bytes]:
        return (self[key] for key in self.list())

    def update(self, values: Mapping[str, Buffer]) -> None:
        for key, value in values.items():
            self.set(key, value)

    # -- life ---------------------------------------------------------------------------------
    def close(self) -> None:  # noqa: B027 - closing is optional
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
        if self.read_only:
            raise ReadOnlyError(f"{self!r} was opened for reading only")

    def check_move(self, source: str, target: str) -> None:
        """Raise unless `move_prefix(source, target)` can be honoured."""
        self.check_writable()
        check_prefix(source)
        check_prefix(target)
        if target.startswith(source):
            raise StoreError(f"{self!r}: cannot move {source!r} into itself ({target!r})")
        if next(iter(self.list_prefix(target)), None) is not None:
            raise StoreError(
                f"{self!r}: cannot move {source!r} to {target!r}: something lies there"
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


class _OneVersion:
    """Reads parts of one version of a value, and raises once it was replaced."""

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key
        self._seen: list[Hashable | None] = []

    def __call__(self, byte_range: ByteRange | None) -> Buffer | None:
        found = self._store.get_versioned(self._key, byte_range)
        version = None if found is None else found.version
        if self._seen and version != self._seen[0]:
            raise ValueChangedError(
                f"{self._store!r}: {self._key!r} was replaced while it was read"
            )
        self._seen.append(version)
        return None if found is None else found.value


def span(byte_range: ByteRange, size: int) -> tuple[int, int]:
    """First and last position of `byte_range` in a value of `size` bytes, inside the value."""
    start, stop = byte_range
    if start < 0:
        if stop is not None:
            raise StoreError(f"invalid {byte_range}: a suffix (negative start) has no stop")
        return max(size + start, 0), size
    if stop is None or stop > size:
        stop = size
    elif stop < 0:
        raise StoreError(f"invalid {byte_range}: stop must not be negative")
    return min(start, stop), stop


def read_range(value: Buffer, byte_range: ByteRange | None) -> Buffer:
    """`byte_range` of a value that is in memory; the meaning that every store shares."""
    if byte_range is None:
        return value
    start, stop = span(byte_range, len(value))
    return value[start:stop]


def keys_at(store: Store, prefix: str) -> Iterator[str]:
    """Every key that starts with `prefix`. What is neither empty nor ends with "/" is no prefix but
    a key: that one, if it exists."""
    if not prefix or prefix.endswith("/"):
        return store.list_prefix(prefix)
    return iter([prefix] if store.exists(prefix) else [])


def sorted_under(keys: Iterable[str], prefix: str) -> Iterator[str]:
    """The keys that start with `prefix`, sorted."""
    return iter(sorted(key for key in keys if key.startswith(prefix)))


def listing_of(keys: Iterable[str], prefix: str) -> Listing:
    """`Store.list_dir` for a store that knows all its keys; they may come in any order."""
    begin = len(prefix)
    direct: list[str] = []
    below: set[str] = set()
    for key in keys:
        if key.startswith(prefix):
            slash = key.find("/", begin)
            if slash < 0:
                direct.append(key)
            else:
                below.add(key[: slash + 1])
    return Listing(sorted(direct), sorted(below))
