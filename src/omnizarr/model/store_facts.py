"""Facts about stores and values: byte ranges, versions, listings, capabilities.

This module knows what a range of a value means. It must not know any store.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from omnizarr.errors import StoreError
from omnizarr.runtime import parallel

Buffer = bytes | bytearray | memoryview
"""What a store takes and gives. A caller never writes into a buffer that a store gave."""


class ByteRange(NamedTuple):
    """Part of a value, with the meaning of Python's `value[start:stop]`.

    Bytes beyond the end of the value are left out. A suffix (a negative `start`) has no stop.

    Examples
    --------
    >>> store = omnizarr.MemoryStore({"key": b"0123456789"})
    >>> store.get("key", omnizarr.ByteRange(2, 5))
    b'234'
    >>> store.get("key", omnizarr.ByteRange(-3))
    b'789'
    """

    start: int
    """First byte; `-16` is a suffix: the last 16 bytes, or all of a shorter value."""
    stop: int | None = None
    """End of the range, exclusive and never negative; None: the end of the value."""


Read = Callable[[ByteRange | None], Buffer | None]
"""Reads part of a value, or all of it; None if there is no such value."""


class VersionedRead(Protocol):
    """A `Read` that knows the version of the value: what some stores give as a snapshot."""

    def __call__(self, byte_range: ByteRange | None, /) -> Buffer | None: ...

    @property
    def version(self) -> Hashable | None:
        """The version of what was read; None if the next value might have the same one."""

    def expect(self, version: Hashable, /) -> bool:
        """Ask for this version before anything was read. False if the value has another one, which
        is then read. If True, every read gives a part of that version or raises
        `ValueChangedError`."""


class Versioned(NamedTuple):
    """A value, or part of one, with its version.

    Examples
    --------
    >>> from omnizarr.stores import SQLiteStore
    >>> with SQLiteStore(":memory:") as store:
    ...     store.set("key", b"value")
    ...     store.get_versioned("key")
    Versioned(value=b'value', version=b'value')
    """

    value: Buffer
    """The bytes."""
    version: Hashable
    """Different for every other value of the key: an ETag, a revision, or where a store has
    neither, the value itself."""


class FilePrefix(NamedTuple):
    """Values that are files: a key below a prefix is the end of a path.

    Examples
    --------
    >>> omnizarr.MemoryStore().files("a/") is None
    True
    """

    path: bytes
    """What stands before the rest of a key."""
    follow_symlinks: bool
    """Whether symbolic links below the store may be followed."""
    tally: Callable[[int, int], None] | None = None
    """Is told how many values, of how many bytes together, the native core has read or written
    there."""


class Listing(NamedTuple):
    """The direct children of a prefix.

    Examples
    --------
    >>> store = omnizarr.MemoryStore({"a/zarr.json": b"{}", "a/c/0": b"1"})
    >>> store.list_dir("a/")
    Listing(keys=['a/zarr.json'], prefixes=['a/c/'])
    """

    keys: list[str]
    """Whole keys, sorted."""
    prefixes: list[str]
    """Whole prefixes, which end with "/", sorted."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a store can do beyond the basics; the engine plans with it.

    Examples
    --------
    >>> omnizarr.MemoryStore().capabilities.conditional
    True
    """

    listable: bool = True
    """`list_prefix` and `list_dir` work."""
    ranges: bool = True
    """A ranged `get` is cheaper than a whole one."""
    conditional: bool = False
    """`set_if_absent` is atomic between processes."""
    versions: bool = False
    """`get_versioned` and `set_if_version` work, and are atomic between processes."""
    validators: bool = False
    """`version` works, even where `get_versioned` does not."""
    locks: bool = False
    """`lock` excludes every other holder and every `set` of the key, in any thread or process."""
    concurrent_writes: bool = True
    """`set` may be called from several threads at once and gains from it."""
    requests: int = 1
    """How many requests the store gains from having under way at once; 1 where answers come
    without a wait, or where `get_many` is one request."""
    remote: bool = False
    """Every call is a request to a service, even where `requests` is 1."""
    gap: int = 64 * 1024
    """Ranges of a value that are closer together than this are cheaper to read as one."""
    known_sizes: bool = False
    """`size` costs next to nothing: no request, and no value is read."""
    deletes_any_version: bool = False
    """`delete` also removes a value that another writer has replaced since it was read, so that an
    update stores an empty chunk instead."""
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


class Sender(Protocol):
    """Stores many values at once, for `parallel.relay`."""

    def send(
        self,
        desk: parallel.Outbox[Any, Any],
        value_of: Callable[[Any], tuple[str, Buffer] | None],
        /,
    ) -> None:
        """Store the key and the value of every item that the desk gives; leave aside what has
        none."""

    def set(self, key: str, value: Buffer, /) -> None:
        """The ordinary way, for what was left aside."""


@runtime_checkable
class Sweepable(Protocol):
    """A store in which killed processes leave files that are no values."""

    def sweep(self) -> list[str]:
        """Remove these files, and give their names."""

    def leftovers(self) -> tuple[int, int]:
        """Count the names that `sweep` would remove, and the files in them."""


@runtime_checkable
class PartlyNamed(Protocol):
    """A store that may hold values whose names are no keys, so that none of them can be read."""

    def unreachable(self) -> list[str]:
        """List their names."""


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
    return (start if start < stop else stop), stop


def read_range(value: Buffer, byte_range: ByteRange | None) -> Buffer:
    """`byte_range` of a value that is in memory; the meaning that every store shares."""
    if byte_range is None:
        return value
    start, stop = span(byte_range, len(value))
    return value[start:stop]


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
