"""`Store`: the asynchronous interface of zarr-python's stores, for authors of stores.

A subclass works wherever omnizarr takes a store: its methods are awaited in a loop of omnizarr's
own. omnizarr's stores, which are not asynchronous, are in `omnizarr.stores`.

This module knows the interface. It must not know how omnizarr calls it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeAlias, runtime_checkable

from omnizarr.compat.zarr3.core.buffer.core import Buffer, BufferPrototype

__all__ = [
    "ByteGetter",
    "ByteRequest",
    "ByteSetter",
    "OffsetByteRequest",
    "RangeByteRequest",
    "Store",
    "SuffixByteRequest",
    "SupportsDeleteSync",
    "SupportsGetSync",
    "SupportsSetSync",
    "SupportsSyncStore",
    "SyncByteGetter",
    "SyncByteSetter",
    "set_or_delete",
]

_GAP = 1 << 20
_MOST = 16 << 20
_AT_ONCE = 10


@dataclass(frozen=True, slots=True)
class RangeByteRequest:
    """The bytes from `start` up to, and without, `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class OffsetByteRequest:
    """The bytes from `offset` to the end."""

    offset: int


@dataclass(frozen=True, slots=True)
class SuffixByteRequest:
    """The last `suffix` bytes, or all where there are fewer."""

    suffix: int


ByteRequest: TypeAlias = RangeByteRequest | OffsetByteRequest | SuffixByteRequest


class Store(ABC):
    """The base of a store that is written for zarr-python.

    Parameters
    ----------
    read_only
        Refuse every change.
    """

    _read_only: bool
    _is_open: bool

    def __init__(self, *, read_only: bool = False) -> None:
        self._is_open = False
        self._read_only = read_only

    # -- what omnizarr asks -------------------------------------------------------------------
    def __omnizarr_path__(self, path: str) -> object:
        """What a node at `path` shows as its `store_path`."""
        from omnizarr.compat.zarr3.storage._common import StorePath

        return StorePath(self, path)

    def __omnizarr_metadata__(self, metadata: Any) -> Any:
        """What a node of this store shows as its `metadata`."""
        from omnizarr.compat.zarr3.core.metadata import shown

        return shown(metadata)

    def __omnizarr_documents__(self, documents: dict[str, bytes], new: bool) -> dict[str, bytes]:
        """What is written for these documents; `new`: for those of a new node."""
        from omnizarr.compat.zarr3.core.metadata.documents import spelled

        return spelled(documents, new)

    def __omnizarr_awaited__(self, node: Any) -> Any:
        """The awaited form of a node of this store."""
        from omnizarr.compat.zarr3._asynchronous import wrapped

        return wrapped(node)

    # -- opening and closing --------------------------------------------------------------------
    @classmethod
    async def open(cls, *args: Any, **kwargs: Any) -> Self:
        """Make a store and open it; the arguments are those of the class."""
        store = cls(*args, **kwargs)
        await store._open()
        return store

    async def _open(self) -> None:
        if self._is_open:
            raise ValueError("store is already open")
        self._is_open = True

    async def _ensure_open(self) -> None:
        if not self._is_open:
            await self._open()

    def close(self) -> None:
        """Close the store."""
        self._is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- what the store can ---------------------------------------------------------------------
    @property
    def read_only(self) -> bool:
        """Whether every change is refused."""
        return self._read_only

    def with_read_only(self, read_only: bool = False) -> Store:
        """Return another handle on the same values, read-only or not."""
        raise NotImplementedError(
            f"with_read_only is not implemented for the {type(self)} store type."
        )

    def _check_writable(self) -> None:
        if self.read_only:
            raise ValueError("store was opened in read-only mode and does not support writing")

    @property
    @abstractmethod
    def supports_writes(self) -> bool:
        """Whether values can be set."""

    @property
    @abstractmethod
    def supports_deletes(self) -> bool:
        """Whether values can be removed."""

    @property
    @abstractmethod
    def supports_listing(self) -> bool:
        """Whether keys can be listed."""

    @property
    def supports_partial_writes(self) -> Literal[False]:
        """Whether part of a value can be replaced: never."""
        return False

    @property
    def supports_consolidated_metadata(self) -> bool:
        """Whether metadata may be consolidated; False for a store that has its own way."""
        return True

    @abstractmethod
    def __eq__(self, value: object) -> bool: ...

    __hash__ = None  # type: ignore[assignment]  # a subclass says how it is compared

    # -- reading --------------------------------------------------------------------------------
    @abstractmethod
    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Read a value, or part of it; None if there is no such key."""

    @abstractmethod
    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Read many values or parts of them, in the given order; None for each missing key."""

    @abstractmethod
    async def exists(self, key: str) -> bool:
        """Tell whether there is such a key."""

    async def _get_many(
        self, requests: Iterable[tuple[str, BufferPrototype, ByteRequest | None]]
    ) -> AsyncGenerator[tuple[str, Buffer | None], None]:
        for key, prototype, byte_range in requests:
            yield key, await self.get(key, prototype, byte_range)

    async def get_ranges(
        self,
        key: str,
        byte_ranges: Sequence[ByteRequest | None],
        *,
        prototype: BufferPrototype,
        max_concurrency: int = _AT_ONCE,
        max_gap_bytes: int = _GAP,
        max_coalesced_bytes: int = _MOST,
    ) -> AsyncIterator[Sequence[tuple[int, Buffer | None]]]:
        """Read many parts of one value; near ones with one request.

        Each answer names the places of its parts in `byte_ranges`. Failures, and a missing key as
        a `FileNotFoundError`, are raised as an exception group.
        """
        from omnizarr.compat.zarr3.core._coalesce import coalesced_get

        async for found in coalesced_get(
            partial(self.get, key, prototype),
            byte_ranges,
            max_concurrency=max_concurrency,
            max_gap_bytes=max_gap_bytes,
            max_coalesced_bytes=max_coalesced_bytes,
        ):
            yield found

    def get_ranges_sync(
        self,
        key: str,
        byte_ranges: Sequence[ByteRequest | None],
        *,
        prototype: BufferPrototype,
        max_gap_bytes: int = _GAP,
        max_coalesced_bytes: int = _MOST,
    ) -> Sequence[tuple[int, Buffer | None]]:
        """Read many parts of one value without an event loop, where the store has `get_sync`."""
        from omnizarr.compat.zarr3.core._coalesce import answers, coalesce_ranges, request_of

        if not isinstance(self, SupportsGetSync):
            raise TypeError(f"{type(self).__name__} does not support synchronous reads")
        groups, single = coalesce_ranges(
            byte_ranges, max_gap_bytes=max_gap_bytes, max_coalesced_bytes=max_coalesced_bytes
        )
        results: list[tuple[int, Buffer | None]] = []
        missing: list[Exception] = []
        for index, part in single:
            found = self.get_sync(key, prototype=prototype, byte_range=part)
            results.append((index, found))
            missing += [FileNotFoundError(key)] if found is None else []
        for group in groups:
            found = self.get_sync(key, prototype=prototype, byte_range=request_of(group))
            if found is None:
                missing.append(FileNotFoundError(key))
            else:
                results.extend(answers(group, found))
        if missing:
            raise ExceptionGroup("chunk read failed", missing)
        return results

    async def getsize(self, key: str) -> int:
        """Return the number of bytes of a value; FileNotFoundError if there is no such key."""
        from omnizarr.compat.zarr3.core.buffer.core import default_buffer_prototype

        value = await self.get(key, prototype=default_buffer_prototype())
        if value is None:
            raise FileNotFoundError(key)
        return len(value)

    async def getsize_prefix(self, prefix: str) -> int:
        """Return the number of bytes of all values below a prefix."""
        from omnizarr.compat.zarr3.core.common import concurrent_map

        keys = [(key,) async for key in self.list_prefix(_folder(prefix))]
        return sum(await concurrent_map(keys, self.getsize, limit=_AT_ONCE))

    # -- writing --------------------------------------------------------------------------------
    @abstractmethod
    async def set(self, key: str, value: Buffer) -> None:
        """Store a value."""

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Store a value unless there is one; a subclass makes that safe against other writers."""
        if not await self.exists(key):
            await self.set(key, value)

    async def _set_many(self, values: Iterable[tuple[str, Buffer]]) -> None:
        await asyncio.gather(*(self.set(key, value) for key, value in values))

    @abstractmethod
    async def delete(self, key: str) -> None:
        """Remove a value."""

    async def delete_dir(self, prefix: str) -> None:
        """Remove every value below a prefix."""
        if not (self.supports_deletes and self.supports_listing):
            raise NotImplementedError
        self._check_writable()
        async for key in self.list_prefix(_folder(prefix)):
            await self.delete(key)

    async def clear(self) -> None:
        """Remove every value."""
        if not (self.supports_deletes and self.supports_listing):
            raise NotImplementedError
        self._check_writable()
        await self.delete_dir("")

    # -- listing --------------------------------------------------------------------------------
    @abstractmethod
    def list(self) -> AsyncIterator[str]:
        """Iterate over every key."""

    @abstractmethod
    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Iterate over every key that begins with `prefix`."""

    @abstractmethod
    def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Iterate over the names of keys and of prefixes directly below `prefix`."""

    async def is_empty(self, prefix: str) -> bool:
        """Tell whether there is no key below a prefix."""
        if not self.supports_listing:
            raise NotImplementedError
        async for _ in self.list_prefix(_folder(prefix)):
            return False
        return True


def _folder(prefix: str) -> str:
    return prefix if not prefix or prefix.endswith("/") else prefix + "/"


@runtime_checkable
class ByteGetter(Protocol):
    """One value that can be read."""

    async def get(
        self, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None: ...


@runtime_checkable
class ByteSetter(Protocol):
    """One value that can be read and replaced."""

    async def get(
        self, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None: ...

    async def set(self, value: Buffer) -> None: ...

    async def delete(self) -> None: ...

    async def set_if_not_exists(self, default: Buffer) -> None: ...


@runtime_checkable
class SyncByteGetter(Protocol):
    """One value that can be read without an event loop."""

    def get_sync(
        self, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None: ...


@runtime_checkable
class SyncByteSetter(SyncByteGetter, Protocol):
    """One value that can be read and replaced without an event loop."""

    def set_sync(self, value: Buffer) -> None: ...

    def delete_sync(self) -> None: ...


@runtime_checkable
class SupportsGetSync(Protocol):
    """A store that reads without an event loop."""

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None: ...


@runtime_checkable
class SupportsSetSync(Protocol):
    """A store that writes without an event loop."""

    def set_sync(self, key: str, value: Buffer) -> None: ...


@runtime_checkable
class SupportsDeleteSync(Protocol):
    """A store that deletes without an event loop."""

    def delete_sync(self, key: str) -> None: ...


@runtime_checkable
class SupportsSyncStore(SupportsGetSync, SupportsSetSync, SupportsDeleteSync, Protocol):
    """A store that needs no event loop."""


def _store_supports_sync_io(store: object) -> bool:
    return isinstance(store, SupportsSyncStore) and getattr(store, "_supports_sync_io", True)


async def set_or_delete(byte_setter: ByteSetter, value: Buffer | None) -> None:
    """Replace a value, or remove it if `value` is None."""
    if value is None:
        await byte_setter.delete()
    else:
        await byte_setter.set(value)
