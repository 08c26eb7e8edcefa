"""`AsyncArray` and `AsyncGroup`: zarr-python's awaited nodes, over `omnizarr.aio`.

Every method runs that of the plain node in a thread. This module knows names. It must not know how
nodes do their work.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Any, Self

import omnizarr
from omnizarr import aio
from omnizarr.compat.zarr3 import _calls
from omnizarr.compat.zarr3._nodes import Array, Group, made
from omnizarr.compat.zarr3.api import synchronous
from omnizarr.compat.zarr3.core.array_spec import ArrayConfig
from omnizarr.compat.zarr3.storage._base import served


def wrapped(found: Any) -> Any:
    """The awaited form of a node; everything else as it is."""
    if isinstance(found, Array):
        return AsyncArray(found)
    return AsyncGroup(found) if isinstance(found, Group) else found


def plain(given: Any) -> Any:
    """The plain form of a node; everything else as it is."""
    return given.sync if isinstance(given, AsyncArray | AsyncGroup) else given


def _like(method: Callable[..., Any], kind: type[Any], name: str) -> None:
    """Name and describe a method after that of the plain node."""
    method.__name__ = name
    method.__qualname__ = f"Async{kind.__name__}.{name}"
    method.__module__ = f"{__package__}.core.{kind.__name__.lower()}"
    method.__signature__ = inspect.signature(getattr(kind, name))  # type: ignore[attr-defined]


def awaited(kind: type[Any], name: str) -> Callable[..., Awaitable[Any]]:
    """The method `name` of a kind of plain node, as one that is awaited."""

    async def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("prototype", None)
        values = [plain(value) for value in args]
        named = {key: plain(value) for key, value in kwargs.items()}
        found = await aio.to_thread(getattr(self.sync, name), *values, **named)
        return wrapped(found)

    _like(method, kind, name)
    method.__doc__ = f"Await `{name}` of the plain node."
    return method


def iterated(kind: type[Any], name: str) -> Callable[..., AsyncIterator[Any]]:
    """The iterator that the method `name` of a kind of plain node gives, as an asynchronous one."""

    async def method(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        for item in await aio.to_thread(lambda: [*getattr(self.sync, name)(*args, **kwargs)]):
            yield tuple(map(wrapped, item)) if isinstance(item, tuple) else wrapped(item)

    _like(method, kind, name)
    method.__doc__ = f"Iterate over `{name}` of the plain node."
    return method


@dataclass(frozen=True)
class AsyncIndex:
    """Another way to select: `await array.oindex.getitem(selection)`."""

    read: Callable[..., Any]

    async def getitem(self, selection: Any, **kwargs: Any) -> Any:
        """Read the values of a selection."""
        kwargs.pop("prototype", None)
        return await aio.to_thread(self.read, selection, **kwargs)


class _AsyncNode:
    """What both kinds share."""

    sync: Any

    def __omnizarr_store__(self) -> omnizarr.Store:
        # `Array(async_array)` is zarr-python's way to the plain node.
        store, path = served(self.sync.store), self.sync.path
        return omnizarr.PrefixStore(store, path) if path else store

    @classmethod
    def __class_getitem__(cls, item: Any) -> GenericAlias:
        return GenericAlias(cls, item)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.sync, name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__!r} objects cannot be changed")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and bool(self.sync == other.sync)

    def __hash__(self) -> int:
        return hash(self.sync)

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes, as they were last read."""
        return dict(self.sync.attrs)

    async def update_attributes(self, new_attributes: Mapping[str, Any]) -> Self:
        """Set several attributes with one write."""
        await aio.to_thread(self.sync.update_attributes, new_attributes)
        return self


class AsyncArray(_AsyncNode):
    """An array whose calls are awaited.

    Parameters
    ----------
    sync
        The plain array.
    """

    def __init__(self, sync: omnizarr.Array) -> None:
        self.__dict__["sync"] = sync

    @classmethod
    def from_dict(cls, store_path: Any, data: dict[str, Any]) -> Self:
        """Make an array of its document, which is not written."""
        return cls(Array.from_dict(_place(store_path), data))

    @classmethod
    async def open(cls, store: Any, zarr_format: Any = None) -> Self:
        """Open an array that exists."""
        return cls(await aio.to_thread(Array.open, _place(store), zarr_format))

    getitem = awaited(Array, "__getitem__")
    setitem = awaited(Array, "__setitem__")
    get_orthogonal_selection = awaited(Array, "get_orthogonal_selection")
    get_coordinate_selection = awaited(Array, "get_coordinate_selection")
    get_mask_selection = awaited(Array, "get_mask_selection")
    append = awaited(Array, "append")
    info_complete = awaited(Array, "info_complete")

    @property
    def config(self) -> ArrayConfig:
        """How the array is read and written."""
        settings: Any = self.sync.config
        return ArrayConfig.from_dict(settings)

    @property
    def oindex(self) -> AsyncIndex:
        """Every axis on its own."""
        return AsyncIndex(self.sync.get_orthogonal_selection)

    @property
    def vindex(self) -> AsyncIndex:
        """Points."""
        return AsyncIndex(self.sync.vindex.__getitem__)

    async def resize(self, new_shape: Any, delete_outside_chunks: bool = True) -> None:
        """Change the shape in place."""
        await aio.to_thread(self.sync.resize, new_shape)

    async def nchunks_initialized(self) -> int:
        """Count the chunks that are stored."""
        return await aio.to_thread(lambda: int(self.sync.nchunks_initialized))

    async def nbytes_stored(self) -> int:
        """Count the bytes that are stored."""
        return await aio.to_thread(lambda: int(self.sync.nbytes_stored()))

    def __repr__(self) -> str:
        return f"<AsyncArray {self.sync.store_path} shape={self.shape} dtype={self.dtype}>"


class AsyncGroup(_AsyncNode):
    """A group whose calls are awaited.

    Parameters
    ----------
    sync
        The plain group.
    """

    def __init__(self, sync: omnizarr.Group) -> None:
        self.__dict__["sync"] = sync

    @classmethod
    async def from_store(
        cls,
        store: Any,
        *,
        attributes: dict[str, Any] | None = None,
        overwrite: bool = False,
        zarr_format: Any = None,
    ) -> Self:
        """Create a group."""
        place = _calls.location(store)
        created = await aio.to_thread(
            omnizarr.create_group, served(place.store), path=place.path,
            attributes=attributes, overwrite=overwrite, zarr_format=zarr_format,
        )  # fmt: skip
        return cls(made(created))

    @classmethod
    async def open(
        cls, store: Any, zarr_format: Any = None, use_consolidated: bool | str | None = None
    ) -> Self:
        """Open a group that exists."""
        place = _calls.location(store)
        if use_consolidated and not place.store.supports_consolidated_metadata:
            raise ValueError(
                f"The Zarr Store in use ({place.store}) doesn't support consolidated metadata"
            )
        return cls(
            await aio.to_thread(
                synchronous.open_group, place.store, "r" if place.read_only else "r+",
                path=place.path, zarr_format=zarr_format, use_consolidated=use_consolidated,
            )
        )  # fmt: skip

    getitem = awaited(Group, "__getitem__")
    delitem = awaited(Group, "__delitem__")
    contains = awaited(Group, "__contains__")
    get = awaited(Group, "get")
    get_array = awaited(Group, "get_array")
    get_group = awaited(Group, "get_group")
    setitem = awaited(Group, "__setitem__")
    create = awaited(Group, "create")
    create_array = awaited(Group, "create_array")
    create_dataset = awaited(Group, "create_dataset")
    create_group = awaited(Group, "create_group")
    require_array = awaited(Group, "require_array")
    require_dataset = awaited(Group, "require_dataset")
    require_group = awaited(Group, "require_group")
    nmembers = awaited(Group, "nmembers")
    tree = awaited(Group, "tree")
    info_complete = awaited(Group, "info_complete")
    empty = awaited(Group, "empty")
    zeros = awaited(Group, "zeros")
    ones = awaited(Group, "ones")
    full = awaited(Group, "full")
    empty_like = awaited(Group, "empty_like")
    zeros_like = awaited(Group, "zeros_like")
    ones_like = awaited(Group, "ones_like")
    full_like = awaited(Group, "full_like")
    move = awaited(Group, "move")
    members = iterated(Group, "members")
    keys = iterated(Group, "keys")
    groups = iterated(Group, "groups")
    group_keys = iterated(Group, "group_keys")
    group_values = iterated(Group, "group_values")
    arrays = iterated(Group, "arrays")
    array_keys = iterated(Group, "array_keys")
    array_values = iterated(Group, "array_values")
    create_hierarchy = iterated(Group, "create_hierarchy")

    async def require_groups(self, *names: str) -> tuple[AsyncGroup, ...]:
        """Open groups, and create those that do not exist."""
        found: Iterable[omnizarr.Group] = await aio.to_thread(self.sync.require_groups, *names)
        return tuple(AsyncGroup(group) for group in found)

    def __repr__(self) -> str:
        return f"<AsyncGroup {self.sync.store_path}>"


setattr(Array, "async_array", property(AsyncArray))  # noqa: B010 - mypy refuses the assignment


def _place(store_like: Any) -> Any:
    place = _calls.location(store_like)
    return omnizarr.storage.StorePath(served(place.store), place.path)
