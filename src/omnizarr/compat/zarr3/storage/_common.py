"""`StorePath`, and what zarr-python takes for a store."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TypeAlias

from omnizarr.compat.zarr3.abc.store import ByteRequest, Store
from omnizarr.compat.zarr3.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from omnizarr.compat.zarr3.storage._memory import ManagedMemoryStore, MemoryStore
from omnizarr.compat.zarr3.storage._stores import FsspecStore, LocalStore
from omnizarr.compat.zarr3.storage._utils import join_paths, normalize_path, parse_store_url

StoreLike: TypeAlias = Any
"""A store, a `StorePath`, a path, a URL, a dict, an `FSMap`, a `UPath`, or None."""
MODES = ("r", "r+", "a", "w", "w-")


class StorePath:
    """A store and a path in it.

    Parameters
    ----------
    store
        The store.
    path
        The path.
    """

    store: Store
    path: str

    def __init__(self, store: Store, path: str = "") -> None:
        self.store = store
        self.path = normalize_path(path)

    @property
    def read_only(self) -> bool:
        """Whether the store refuses changes."""
        return self.store.read_only

    @classmethod
    async def open(cls, store: Store, path: str, mode: str | None = None) -> Self:
        """Open the store as `mode` says; no mode changes what it holds."""
        await store._ensure_open()
        if mode is None:
            return cls(store, path)
        if mode not in MODES:
            raise ValueError(f"Invalid mode: {mode}, expected one of {MODES}")
        if store.read_only and mode != "r":
            raise ValueError(
                f"Store is read-only but mode is {mode!r}. Create a writable store or use 'r' mode."
            )
        if mode == "r" and not store.read_only:
            store = read_only_view(store)
            await store._ensure_open()
        opened = cls(store, path)
        if mode == "w-" and not await opened.is_empty():
            raise FileExistsError(
                f"Cannot create '{path}' with mode 'w-' because it already contains data. "
                "Use mode 'w' to overwrite or 'a' to append."
            )
        return opened

    async def get(
        self, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Read the value at the path."""
        prototype = prototype or default_buffer_prototype()
        return await self.store.get(self.path, prototype=prototype, byte_range=byte_range)

    async def get_json(self, *, byte_range: ByteRequest | None = None) -> Any:
        """Read the JSON document at the path; None if there is none."""
        found = await self.get(byte_range=byte_range)
        return None if found is None else json.loads(found.to_bytes())

    async def set(self, value: Buffer) -> None:
        """Store the value at the path."""
        await self.store.set(self.path, value)

    async def set_if_not_exists(self, default: Buffer) -> None:
        """Store the value at the path unless there is one."""
        await self.store.set_if_not_exists(self.path, default)

    async def delete(self) -> None:
        """Remove the value at the path."""
        await self.store.delete(self.path)

    async def delete_dir(self) -> None:
        """Remove everything below the path."""
        await self.store.delete_dir(self.path)

    async def exists(self) -> bool:
        """Whether there is a value at the path."""
        return await self.store.exists(self.path)

    async def is_empty(self) -> bool:
        """Whether there is nothing below the path."""
        return await self.store.is_empty(self.path)

    def get_sync(
        self,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """Read the value at the path, without an event loop."""
        found: Buffer | None = self._directly("get_sync")(
            self.path, prototype=prototype, byte_range=byte_range
        )
        return found

    def set_sync(self, value: Buffer) -> None:
        """Store the value at the path, without an event loop."""
        self._directly("set_sync")(self.path, value)

    def delete_sync(self) -> None:
        """Remove the value at the path, without an event loop."""
        self._directly("delete_sync")(self.path)

    def _directly(self, name: str) -> Any:
        method = getattr(self.store, name, None)
        if method is None:
            what = name.removesuffix("_sync")
            raise TypeError(
                f"Store {type(self.store).__name__} does not support synchronous {what}."
            )
        return method

    def __truediv__(self, other: str) -> StorePath:
        return type(self)(self.store, join_paths(self.path, other))

    def __str__(self) -> str:
        return join_paths(str(self.store), self.path)

    def __repr__(self) -> str:
        return f"StorePath({type(self.store).__name__}, '{self}')"

    def __eq__(self, other: object) -> bool:
        try:
            return bool(self.store == other.store) and self.path == other.path  # type: ignore[attr-defined]
        except AttributeError:
            return False

    __hash__ = None  # type: ignore[assignment]  # like zarr-python's own


def read_only_view(store: Store) -> Store:
    """A view of the store that refuses changes."""
    try:
        return store.with_read_only(True)
    except NotImplementedError as error:
        raise ValueError(
            "Store is not read-only but mode is 'r'. Unable to create a read-only copy of the"
            " store. Please use a read-only store or a storage class that implements"
            " .with_read_only()."
        ) from error


def store_of(
    store_like: StoreLike,
    *,
    mode: str | None = None,
    storage_options: Mapping[str, object] | None = None,
) -> tuple[Store, str]:
    """The store that is meant, and the path in it, as zarr-python reads its argument."""
    parsed = parse_store_url(store_like) if isinstance(store_like, str) else None
    remote = parsed is not None and parsed.scheme not in ("", "memory", "file")
    if storage_options is not None and not remote:
        raise TypeError(
            "'storage_options' was provided but unused. "
            "'storage_options' is only used when the store is passed as an FSSpec URI string."
        )
    if mode is not None and mode not in MODES:
        raise ValueError(f"Invalid mode: {mode}, expected one of {MODES}")
    read_only = mode == "r"
    if isinstance(store_like, StorePath):
        return store_like.store, store_like.path
    if isinstance(store_like, Store):
        return store_like, ""
    if store_like is None or isinstance(store_like, dict):
        return MemoryStore(store_like, read_only=read_only), ""
    if type(store_like).__module__.partition(".")[0] == "upath":
        if store_like.protocol not in ("", "file"):
            return FsspecStore.from_upath(store_like, read_only=read_only), ""
        store_like = Path(store_like.path)
    if parsed is not None:
        if remote or (parsed.scheme == "memory" and storage_options is not None):
            return FsspecStore.from_url(store_like, storage_options, read_only=read_only), ""
        if parsed.scheme == "memory":
            name = parsed.name or ""
            return ManagedMemoryStore(name, path=parsed.path, read_only=read_only), ""
        store_like = store_like[7:] if parsed.scheme == "file" else store_like
    if isinstance(store_like, str | os.PathLike):
        root = Path(store_like)
        if mode in ("r", "r+") and not root.exists():
            raise FileNotFoundError(f"{root} does not exist")
        return LocalStore(root, read_only=read_only), ""
    if type(store_like).__name__ == "FSMap":
        return FsspecStore.from_mapper(store_like, read_only=read_only), ""
    raise TypeError(f"Unsupported type for store_like: '{type(store_like).__name__}'")


async def make_store(
    store_like: StoreLike | None,
    *,
    mode: str | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Store:
    """The store that an object means."""
    store, _ = store_of(store_like, mode=mode, storage_options=storage_options)
    await store._ensure_open()
    return store


async def make_store_path(
    store_like: StoreLike | None,
    *,
    path: str | None = "",
    mode: str | None = None,
    storage_options: dict[str, Any] | None = None,
) -> StorePath:
    """The store that an object means, with a path in it."""
    store, begin = store_of(store_like, mode=mode, storage_options=storage_options)
    return await StorePath.open(store, join_paths(begin, normalize_path(path)), mode)
