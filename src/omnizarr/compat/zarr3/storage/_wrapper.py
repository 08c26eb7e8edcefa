"""`WrapperStore` and `LoggingStore`: stores around another one, for authors of stores."""

from __future__ import annotations

import inspect
import logging
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, Self, TypeVar

from omnizarr.compat.zarr3.abc.store import (
    ByteRequest,
    Store,
    SupportsDeleteSync,
    SupportsGetSync,
    SupportsSetSync,
    _store_supports_sync_io,
)
from omnizarr.compat.zarr3.core.buffer import Buffer, BufferPrototype

S = TypeVar("S", bound=Store)


class WrapperStore(Store, Generic[S]):
    """A store that passes every call on to another one, `_store`.

    Parameters
    ----------
    store
        The other store.
    """

    _store: S

    def __init__(self, store: S) -> None:
        self._store = store

    def _with_store(self, store: S) -> Self:
        return type(self)(store=store)

    @classmethod
    async def open(cls, store_cls: Any, *args: Any, **kwargs: Any) -> Self:
        """Open a store of the class `store_cls`, and wrap it."""
        store = store_cls(*args, **kwargs)
        await store._open()
        return cls(store=store)

    def with_read_only(self, read_only: bool = False) -> Self:
        return self._with_store(self._store.with_read_only(read_only))  # type: ignore[arg-type]

    def __enter__(self) -> Self:
        return self._with_store(self._store.__enter__())

    def __exit__(self, *exc_info: Any) -> None:
        return self._store.__exit__(*exc_info)

    async def _open(self) -> None:
        await self._store._open()

    async def _ensure_open(self) -> None:
        await self._store._ensure_open()

    @property
    def _is_open(self) -> bool:
        return self._store._is_open

    @_is_open.setter
    def _is_open(self, value: bool) -> None:
        raise NotImplementedError(f"{type(self).__name__} must be opened via the `_open` method")

    async def is_empty(self, prefix: str) -> bool:
        return await self._store.is_empty(prefix)

    async def clear(self) -> None:
        await self._store.clear()

    @property
    def read_only(self) -> bool:
        return self._store.read_only

    def _check_writable(self) -> None:
        self._store._check_writable()

    def __eq__(self, value: object) -> bool:
        return type(self) is type(value) and self._store == value._store

    __hash__ = None

    def __str__(self) -> str:
        return f"wrapping-{self._store}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self._store).__name__}, '{self._store}')"

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        return await self._store.get(key, prototype, byte_range)

    async def get_partial_values(
        self,
        prototype: BufferPrototype,
        key_ranges: Iterable[tuple[str, ByteRequest | None]],
    ) -> list[Buffer | None]:
        return await self._store.get_partial_values(prototype, key_ranges)

    def get_ranges(
        self, key: str, byte_ranges: Sequence[ByteRequest | None], **options: Any
    ) -> AsyncIterator[Sequence[tuple[int, Buffer | None]]]:
        return self._store.get_ranges(key, byte_ranges, **options)

    async def exists(self, key: str) -> bool:
        return await self._store.exists(key)

    async def set(self, key: str, value: Buffer) -> None:
        await self._store.set(key, value)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        await self._store.set_if_not_exists(key, value)

    @property
    def supports_writes(self) -> bool:
        return self._store.supports_writes

    @property
    def supports_deletes(self) -> bool:
        return self._store.supports_deletes

    @property
    def supports_listing(self) -> bool:
        return self._store.supports_listing

    @property
    def supports_consolidated_metadata(self) -> bool:
        return self._store.supports_consolidated_metadata

    async def delete(self, key: str) -> None:
        await self._store.delete(key)

    async def delete_dir(self, prefix: str) -> None:
        await self._store.delete_dir(prefix)

    def list(self) -> AsyncIterator[str]:
        return self._store.list()

    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        return self._store.list_prefix(prefix)

    def list_dir(self, prefix: str) -> AsyncIterator[str]:
        return self._store.list_dir(prefix)

    async def getsize(self, key: str) -> int:
        return await self._store.getsize(key)

    async def getsize_prefix(self, prefix: str) -> int:
        return await self._store.getsize_prefix(prefix)

    def close(self) -> None:
        self._store.close()

    # -- without an event loop, where the other store can ---------------------------------------
    @property
    def _supports_sync_io(self) -> bool:
        # A subclass that changes `get` alone must not be bypassed; one that waits is awaited, so
        # that several requests wait together.
        kind = type(self)
        changed = any(
            getattr(kind, name) is not getattr(WrapperStore, name)
            for name in ("get", "set", "delete")
        )
        return not changed and _store_supports_sync_io(self._store)

    def _synchronous(self, protocol: type, what: str) -> Any:
        if not isinstance(self._store, protocol):
            raise TypeError(
                f"Store {type(self._store).__name__} does not support synchronous {what}."
            )
        return self._store

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """Read a value, or part of it."""
        store = self._synchronous(SupportsGetSync, "get")
        found: Buffer | None = store.get_sync(key, prototype=prototype, byte_range=byte_range)
        return found

    def set_sync(self, key: str, value: Buffer) -> None:
        """Store a value."""
        self._synchronous(SupportsSetSync, "set").set_sync(key, value)

    def delete_sync(self, key: str) -> None:
        """Remove a value."""
        self._synchronous(SupportsDeleteSync, "delete").delete_sync(key)


class LoggingStore(WrapperStore[S]):
    """A store that logs every call, and counts them in `counter`.

    Parameters
    ----------
    store
        The other store.
    log_level
        Level of the logger.
    log_handler
        Where the messages go; None: to standard output.
    """

    def __init__(
        self, store: S, log_level: str = "DEBUG", log_handler: logging.Handler | None = None
    ) -> None:
        super().__init__(store)
        self.counter: defaultdict[str, int] = defaultdict(int)
        self.log_level = log_level
        self.log_handler = log_handler
        self.logger = logging.getLogger(f"LoggingStore({store})")
        self.logger.setLevel(log_level)
        if not self.logger.hasHandlers():
            self.logger.addHandler(log_handler or self._default_handler())

    def _default_handler(self) -> logging.Handler:
        handler = logging.StreamHandler(stream=sys.stdout)
        handler.setLevel(self.log_level)
        handler.setFormatter(
            logging.Formatter("%(asctime)s - %(name)s - %(levelname)s - %(message)s")
        )
        return handler

    def _with_store(self, store: S) -> Self:
        return type(self)(store=store, log_level=self.log_level, log_handler=self.log_handler)

    @classmethod
    async def open(cls, store_cls: Any, *args: Any, **kwargs: Any) -> Self:
        log_level = kwargs.pop("log_level", "DEBUG")
        log_handler = kwargs.pop("log_handler", None)
        store = store_cls(*args, **kwargs)
        await store._open()
        return cls(store=store, log_level=log_level, log_handler=log_handler)

    @contextmanager
    def log(self, hint: object = "") -> Iterator[None]:
        """Log and count the call of the method that uses this."""
        frame: Any = inspect.currentframe()
        method = frame.f_back.f_back.f_code.co_name  # behind contextlib's `__enter__`
        call = f"{type(self._store).__name__}.{method}" + (f"({hint})" if hint else "")
        self.logger.info(" Calling %s", call)
        begun = time.time()
        self.counter[method] += 1
        try:
            yield
        finally:
            self.logger.info("Finished %s [%.2f s]", call, time.time() - begun)

    def __str__(self) -> str:
        return f"logging-{self._store}"

    def __repr__(self) -> str:
        return f"LoggingStore({type(self._store).__name__}, '{self._store}')"

    def __eq__(self, value: object) -> bool:
        with self.log(value):
            return super().__eq__(value)

    __hash__ = None

    async def get(
        self,
        key: str,
        prototype: BufferPrototype,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        with self.log(key):
            return await super().get(key, prototype, byte_range)

    async def get_partial_values(
        self,
        prototype: BufferPrototype,
        key_ranges: Iterable[tuple[str, ByteRequest | None]],
    ) -> list[Buffer | None]:
        key_ranges = [*key_ranges]
        with self.log(",".join(key for key, _ in key_ranges)):
            return await super().get_partial_values(prototype, key_ranges)

    async def exists(self, key: str) -> bool:
        with self.log(key):
            return await super().exists(key)

    async def is_empty(self, prefix: str = "") -> bool:
        with self.log():
            return await super().is_empty(prefix)

    async def clear(self) -> None:
        with self.log():
            await super().clear()

    async def set(self, key: str, value: Buffer) -> None:
        with self.log(key):
            await super().set(key, value)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        with self.log(key):
            await super().set_if_not_exists(key, value)

    async def delete(self, key: str) -> None:
        with self.log(key):
            await super().delete(key)

    async def delete_dir(self, prefix: str) -> None:
        with self.log(prefix):
            await super().delete_dir(prefix)

    async def list(self) -> AsyncIterator[str]:
        with self.log():
            async for key in super().list():
                yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        with self.log(prefix):
            async for key in super().list_prefix(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        with self.log(prefix):
            async for key in super().list_dir(prefix):
                yield key

    async def getsize(self, key: str) -> int:
        with self.log(key):
            return await super().getsize(key)

    async def getsize_prefix(self, prefix: str) -> int:
        with self.log(prefix):
            return await super().getsize_prefix(prefix)
