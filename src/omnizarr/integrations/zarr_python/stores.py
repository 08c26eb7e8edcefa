"""`as_zarr_store`: our stores, as stores of zarr-python.

    zarr.open_group(as_zarr_store("x.sqlite"))
    xarray.open_zarr(as_zarr_store("https://example.org/x.zarr"))

zarr-python then reads and writes through them, with their promises: a value is replaced whole or
not at all, a fault is an error and never a missing chunk. Calls run in threads of their own, as
many at once as the store gains from; where answers come without a wait, zarr-python's synchronous
methods are there too.

This module knows zarr-python's interface. It must not know any one of our stores.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Self, TypeVar

from omnizarr.keywords import suggests
from omnizarr.model.paths import is_key, normalize_path
from omnizarr.model.store import ByteRange, Store
from omnizarr.runtime.optional_packages import package
from omnizarr.stores import ReadOnlyStore, StoreLike, as_store

package("zarr", "zarr", "omnizarr.integrations.zarr_python")  # says what to install

from zarr.abc.store import (  # noqa: E402
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
)
from zarr.abc.store import Store as ZarrStore  # noqa: E402
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype  # noqa: E402

T = TypeVar("T")
_LEAST_THREADS = 4


@suggests
def as_zarr_store(
    store: StoreLike,
    *,
    read_only: bool = False,
    storage_options: Mapping[str, object] | None = None,
) -> OmnizarrStore:
    """Give zarr-python a store of omnizarr.

    Parameters
    ----------
    store
        A store, or what `omnizarr.open` takes for one: a URL, a path, …
    read_only
        Refuse every change.
    storage_options
        Arguments of the store that a URL or path opens.

    Returns
    -------
    OmnizarrStore
        A `zarr.abc.store.Store`.

    Examples
    --------
    >>> import zarr
    >>> store = as_zarr_store({})
    >>> array = zarr.create_array(store, shape=3, chunks=3, dtype="i4")
    >>> omnizarr.open_array(store.store, "r").shape
    (3,)
    """
    return OmnizarrStore(store, read_only=read_only, storage_options=storage_options)


class OmnizarrStore(ZarrStore):
    """A store of omnizarr as a `zarr.abc.store.Store`; `store` is the one inside.

    Parameters
    ----------
    store
        A store, or what `omnizarr.open` takes for one: a URL, a path, …
    read_only
        Refuse every change.
    storage_options
        Arguments of the store that a URL or path opens.

    Examples
    --------
    >>> import zarr
    >>> store = OmnizarrStore({})
    >>> array = zarr.create_array(store, shape=3, chunks=3, dtype="i4")
    >>> array[:] = 7
    >>> list(store.store)
    ['c/0', 'zarr.json']
    """

    supports_writes: bool = True
    supports_deletes: bool = True
    supports_partial_writes: bool = False  # type: ignore[assignment]  # zarr-python has a property
    supports_listing: bool = True

    def __init__(
        self,
        store: StoreLike,
        *,
        read_only: bool = False,
        storage_options: Mapping[str, object] | None = None,
    ) -> None:
        ours = as_store(store, storage_options=storage_options)
        super().__init__(read_only=read_only or ours.read_only)
        self.store: Store = ours
        self.supports_listing = ours.capabilities.listable
        self._opened_here = not isinstance(store, Store)
        self._threads: tuple[int, ThreadPoolExecutor] | None = None

    # -- a value ------------------------------------------------------------------------------
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, OmnizarrStore)
            and self.store == other.store
            and self.read_only == other.read_only
        )

    __hash__ = None  # type: ignore[assignment]  # like zarr-python's own

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r})"

    __str__ = __repr__

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_threads": None}

    def with_read_only(self, read_only: bool = False) -> OmnizarrStore:
        inner = self.store
        if not read_only and type(inner) is ReadOnlyStore:
            inner = inner.store
        return type(self)(inner, read_only=read_only)

    def close(self) -> None:
        """End the threads, and close the store inside unless it was given as one."""
        super().close()
        if self._opened_here:
            self.store.close()
        if self._threads is not None and self._threads[0] == os.getpid():
            self._threads[1].shutdown(wait=False)
        self._threads = None

    # -- asking -------------------------------------------------------------------------------
    async def _run(self, function: Callable[..., T], *args: Any) -> T:
        await self._ensure_open()
        running = asyncio.get_running_loop()
        return await running.run_in_executor(self._pool(), partial(function, *args))

    def _pool(self) -> ThreadPoolExecutor:
        if self._threads is None or self._threads[0] != os.getpid():
            most = max(_LEAST_THREADS, self.store.capabilities.requests)
            self._threads = (
                os.getpid(),
                ThreadPoolExecutor(most, thread_name_prefix="omnizarr-store"),
            )
        return self._threads[1]

    @property
    def _supports_sync_io(self) -> bool:
        """Whether zarr-python should call the synchronous methods: not where it would wait."""
        return self.store.capabilities.requests < 2

    # -- reading ------------------------------------------------------------------------------
    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        part = _range(byte_range)
        if not is_key(key):
            return None
        value = await self._run(self.store.get, key, part)
        return _buffer(value, prototype)

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """Read a value, or part of it; None if there is no such key.

        Parameters
        ----------
        key
            Key of the value.
        prototype
            Maker of the buffer; None: zarr-python's default.
        byte_range
            The part to read; None: the whole value.

        Examples
        --------
        >>> store = OmnizarrStore({"key": b"value"})
        >>> store.get_sync("key").to_bytes()
        b'value'
        """
        value = self.store.get(key, _range(byte_range))
        return _buffer(value, prototype or default_buffer_prototype())

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        requests = [(key, _range(byte_range)) for key, byte_range in key_ranges]
        values = await self._run(self.store.get_many, requests)
        return [_buffer(value, prototype) for value in values]

    async def exists(self, key: str) -> bool:
        return is_key(key) and await self._run(self.store.exists, key)

    async def getsize(self, key: str) -> int:
        size = await self._run(self.store.size, key)
        if size is None:
            raise FileNotFoundError(key)
        return size

    # -- writing ------------------------------------------------------------------------------
    async def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        await self._run(self.store.set, key, _bytes(value))

    def set_sync(self, key: str, value: Buffer) -> None:
        """Replace a value.

        Parameters
        ----------
        key
            Key of the value.
        value
            The bytes.

        Examples
        --------
        >>> from zarr.core.buffer import default_buffer_prototype
        >>> store = OmnizarrStore({})
        >>> store.set_sync("key", default_buffer_prototype().buffer.from_bytes(b"value"))
        >>> store.store["key"]
        b'value'
        """
        self._check_writable()
        self.store.set(key, _bytes(value))

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        self._check_writable()
        await self._run(self.store.set_if_absent, key, _bytes(value))

    async def delete(self, key: str) -> None:
        self._check_writable()
        await self._run(self.store.delete, key)

    def delete_sync(self, key: str) -> None:
        """Remove a key.

        Parameters
        ----------
        key
            Key of the value.

        Examples
        --------
        >>> store = OmnizarrStore({"key": b"value"})
        >>> store.delete_sync("key")
        >>> list(store.store)
        []
        """
        self._check_writable()
        self.store.delete(key)

    async def delete_dir(self, prefix: str) -> None:
        """Remove every key below a prefix.

        Parameters
        ----------
        prefix
            With or without "/" at the end.
        """
        self._check_writable()
        await self._run(self.store.delete_prefix, _folder(prefix))

    # -- listing ------------------------------------------------------------------------------
    async def list(self) -> AsyncIterator[str]:
        for key in await self._run(_listed, self.store, ""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        # A prefix may end inside a name here.
        folder = prefix.rpartition("/")[0]
        for key in await self._run(_listed, self.store, _folder(folder)):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        folder = _folder(prefix)
        keys, prefixes = await self._run(self.store.list_dir, folder)
        # A key may also be the beginning of others: its name is given once.
        for name in dict.fromkeys(name[len(folder) :].rstrip("/") for name in [*keys, *prefixes]):
            yield name

    @classmethod
    async def open(cls, *args: Any, **kwargs: Any) -> Self:
        """Make a store and open it.

        Parameters
        ----------
        *args, **kwargs
            Those of the class.

        Examples
        --------
        >>> import asyncio
        >>> store = asyncio.run(OmnizarrStore.open({"key": b"value"}))
        >>> asyncio.run(store.exists("key"))
        True
        """
        store = cls(*args, **kwargs)
        await store._open()
        return store


def _listed(store: Store, prefix: str) -> Sequence[str]:
    return list(store.list_prefix(prefix))


def _folder(prefix: str) -> str:
    path = normalize_path(prefix)
    return path + "/" if path else ""


def _range(request: object) -> ByteRange | None:
    match request:
        case None:
            return None
        case RangeByteRequest(start, end):
            return ByteRange(start, end)
        case OffsetByteRequest(offset):
            return ByteRange(offset)
        case SuffixByteRequest(suffix):
            return ByteRange(-suffix) if suffix else ByteRange(0, 0)
        case _:
            raise ValueError(f"Unexpected byte_range, got {request}")


def _buffer(
    value: bytes | bytearray | memoryview | None, prototype: BufferPrototype
) -> Buffer | None:
    return None if value is None else prototype.buffer.from_bytes(value)


def _bytes(value: Buffer) -> bytes:
    if not isinstance(value, Buffer):
        raise TypeError(f"a value must be a Buffer of zarr-python, found {type(value).__name__}")
    return value.to_bytes()
