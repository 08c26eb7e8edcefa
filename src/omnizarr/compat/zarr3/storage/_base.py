"""`ServedStore`: a store of omnizarr behind zarr-python's asynchronous interface.

omnizarr's own calls go to the store inside; only a caller who awaits a method of the store itself
gets here. A subclass that overrides one of the methods is asked like any foreign store.

This module knows both interfaces. It must not know any one store.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Self, TypeVar

import omnizarr
from omnizarr import ByteRange, aio
from omnizarr.compat.zarr3.abc.store import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    Store,
    SuffixByteRequest,
)
from omnizarr.compat.zarr3.core.buffer import (
    Buffer,
    BufferPrototype,
    default_buffer_prototype,
)
from omnizarr.stores import ReadOnlyStore, as_store

T = TypeVar("T")
_OVERRIDABLE = ("get", "set", "delete", "exists", "list", "list_prefix", "list_dir")


def byte_range_of(request: ByteRequest | None) -> ByteRange | None:
    """zarr-python's request for part of a value, as omnizarr has it."""
    match request:
        case None:
            return None
        case RangeByteRequest(start, end):
            return ByteRange(start, end)
        case OffsetByteRequest(offset):
            return ByteRange(offset)
        case SuffixByteRequest(suffix):
            return ByteRange(-suffix) if suffix else ByteRange(0, 0)
    raise TypeError(f"Unexpected byte_range, got {request}.")


def bytes_of(value: object) -> bytes | memoryview:
    """The bytes of a `Buffer`, or of what NumPy takes for bytes."""
    if isinstance(value, Buffer):
        return value.to_bytes()
    raise TypeError(
        f"{type(value).__name__}: `value` must be a Buffer instance, found {type(value)}"
    )


class ServedStore(Store):
    """The base of the stores of `zarr.storage`.

    Parameters
    ----------
    inner
        A store of omnizarr.
    read_only
        Refuse every change.
    """

    def __init__(self, inner: omnizarr.Store, *, read_only: bool = False) -> None:
        super().__init__(read_only=read_only)
        self._set_inner(inner)

    def _set_inner(self, inner: omnizarr.Store) -> None:
        if self.read_only and not inner.read_only:
            inner = ReadOnlyStore(inner)
        inner.face = self
        self._inner = inner

    def __omnizarr_store__(self) -> omnizarr.Store | None:
        """The store inside; None where a subclass has methods of its own."""
        kind = type(self)
        overridden = any(
            getattr(kind, name) is not getattr(ServedStore, name) for name in _OVERRIDABLE
        )
        return None if overridden else self._inner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "_inner" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._inner, name)

    def __eq__(self, value: object) -> bool:
        return (
            isinstance(value, type(self))
            and self._inner.identity == value._inner.identity
            and self.read_only == value.read_only
        )

    __hash__ = None  # like zarr-python's own

    def with_read_only(self, read_only: bool = False) -> Self:
        clone = type(self).__new__(type(self))
        clone.__dict__.update(self.__dict__)
        clone._read_only = read_only
        inner = self._inner.store if isinstance(self._inner, ReadOnlyStore) else self._inner
        clone._set_inner(inner.with_read_only(read_only))
        clone._is_open = False
        return clone

    @property
    def supports_writes(self) -> bool:
        return True

    @property
    def supports_deletes(self) -> bool:
        return True

    @property
    def supports_listing(self) -> bool:
        return self._inner.capabilities.listable

    @property
    def supports_consolidated_metadata(self) -> bool:
        return self._inner.supports_consolidated_metadata

    # -- without an event loop ------------------------------------------------------------------
    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """Read a value, or part of it."""
        found = self._inner.get(key, byte_range_of(byte_range))
        if found is None:
            return None
        return (prototype or default_buffer_prototype()).buffer.from_bytes(found)

    def set_sync(self, key: str, value: Buffer) -> None:
        """Store a value."""
        self._check_writable()
        self._inner.set(key, bytes_of(value))

    def delete_sync(self, key: str) -> None:
        """Remove a value."""
        self._check_writable()
        self._inner.delete(key)

    # -- awaited --------------------------------------------------------------------------------
    async def _call(self, function: Callable[[], T]) -> T:
        await self._ensure_open()
        # What is in memory, or in the page cache, is read faster than a thread starts.
        quick = self._inner.capabilities.requests == 1
        return function() if quick else await aio.to_thread(function)

    async def get(
        self,
        key: str,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        byte_range_of(byte_range)  # refuses what is none
        return await self._call(
            lambda: ServedStore.get_sync(self, key, prototype=prototype, byte_range=byte_range)
        )

    async def get_partial_values(
        self,
        prototype: BufferPrototype,
        key_ranges: Iterable[tuple[str, ByteRequest | None]],
    ) -> list[Buffer | None]:
        return [await self.get(key, prototype, part) for key, part in key_ranges]

    async def exists(self, key: str) -> bool:
        return await self._call(lambda: self._inner.exists(key))

    async def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        data = bytes_of(value)
        await self._call(lambda: self._inner.set(key, data))

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        self._check_writable()
        data = bytes_of(value)
        await self._call(lambda: self._inner.set_if_absent(key, data))

    async def delete(self, key: str) -> None:
        self._check_writable()
        await self._call(lambda: self._inner.delete(key))

    async def delete_dir(self, prefix: str) -> None:
        self._check_writable()
        path = prefix.strip("/")
        await self._call(lambda: self._inner.delete_prefix(path + "/" if path else ""))

    async def clear(self) -> None:
        self._check_writable()
        await self._call(lambda: self._inner.delete_prefix(""))

    async def getsize(self, key: str) -> int:
        found = await self._call(lambda: self._inner.size(key))
        if found is None:
            raise FileNotFoundError(key)
        return found

    async def list(self) -> AsyncIterator[str]:
        for key in await self._call(lambda: [*self._inner.list()]):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        folder = prefix[: prefix.rfind("/") + 1]
        if folder.startswith("/"):  # no key does
            return
        for key in await self._call(lambda: [*self._inner.list_prefix(folder)]):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        path = prefix.strip("/")
        folder = path + "/" if path else ""
        found = await self._call(lambda: self._inner.list_dir(folder))
        names = [*found.keys, *(below[:-1] for below in found.prefixes)]
        for name in dict.fromkeys(name[len(folder) :] for name in names):
            yield name

    def close(self) -> None:
        super().close()
        self._inner.close()


def served(store: object) -> omnizarr.Store:
    """The store of omnizarr that does the work of one of zarr-python's interface."""
    inner = store.__omnizarr_store__() if isinstance(store, ServedStore) else None
    if inner is None:
        inner = as_store(store)  # a foreign store of zarr-python
        inner.face = store
    return inner


def absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(os.fspath(path))
