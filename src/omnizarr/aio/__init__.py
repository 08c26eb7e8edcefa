"""omnizarr for event loops: the same calls, awaited.

    root = await aio.open_group("s3://bucket/data.zarr", "r")
    array = await root.getitem("temperature")
    values = await array.read((slice(0, 10), ...))
    async for name, node in root.members():
        ...

A thin front: every call runs the plain one in a thread (`aio.threads`), and there is no second
engine. `to_thread` does the same for whatever has no name here: `await aio.to_thread(
omnizarr.consolidate_metadata, "data.zarr")`. Cancelling a task stops its call at the next chunk.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

import omnizarr
from omnizarr import Array, Store
from omnizarr.aio.nodes import AsyncArray, AsyncGroup, AsyncIndex, wrapped
from omnizarr.aio.threads import call, iterate, to_thread
from omnizarr.stores import as_store

__all__ = [
    "AsyncArray",
    "AsyncGroup",
    "AsyncIndex",
    "check",
    "convert",
    "create_array",
    "create_group",
    "list_keys",
    "load",
    "open",
    "open_array",
    "open_consolidated",
    "open_group",
    "save",
    "to_thread",
    "verify",
]


def __dir__() -> list[str]:
    return sorted(__all__)


Mode = Literal["r", "r+", "a", "w", "w-", "x"]


async def open(  # noqa: A001 - the name that every user of Zarr knows
    store: Any = None, mode: Mode | None = None, **arguments: Any
) -> AsyncArray | AsyncGroup:
    """Open what is stored, array or group: `omnizarr.open`."""
    return wrapped(await call(lambda: omnizarr.open(store, mode, **arguments), reads=mode == "r"))


async def open_array(store: Any = None, mode: Mode | None = None, **arguments: Any) -> AsyncArray:
    """Open an array, creating it as `mode` says: `omnizarr.open_array`."""
    opened = await call(lambda: omnizarr.open_array(store, mode, **arguments), reads=mode == "r")
    return AsyncArray(opened)


async def open_group(store: Any = None, mode: Mode | None = None, **arguments: Any) -> AsyncGroup:
    """Open a group, creating it as `mode` says: `omnizarr.open_group`."""
    opened = await call(lambda: omnizarr.open_group(store, mode, **arguments), reads=mode == "r")
    return AsyncGroup(opened)


async def open_consolidated(
    store: Any, mode: Literal["r", "r+"] = "r+", **arguments: Any
) -> AsyncGroup:
    """Open a group through its consolidated metadata: `omnizarr.open_consolidated`."""
    return AsyncGroup(
        await call(lambda: omnizarr.open_consolidated(store, mode, **arguments), reads=True)
    )


async def create_array(store: Any = None, **arguments: Any) -> AsyncArray:
    """Create an array: `omnizarr.create_array`."""
    return AsyncArray(await call(lambda: omnizarr.create_array(store, **arguments), reads=False))


async def create_group(store: Any = None, **arguments: Any) -> AsyncGroup:
    """Create a group: `omnizarr.create_group`."""
    return AsyncGroup(await call(lambda: omnizarr.create_group(store, **arguments), reads=False))


async def save(store: Any, *args: Any, **kwargs: Any) -> None:
    """Save one array, or several as a group: `omnizarr.save`."""
    await call(lambda: omnizarr.save(store, *args, **kwargs), reads=False)


async def load(store: Any, path: str | None = None, **arguments: Any) -> Any:
    """The values of an array; of a group, a dict with those of all its arrays."""

    def loaded() -> Any:
        opened = omnizarr.open(store, "r", path=path, **arguments)
        try:
            return _values(opened)
        finally:
            if not isinstance(store, Store):
                opened.store.close()

    return await call(loaded, reads=True)


def _values(node: Any) -> Any:
    if isinstance(node, Array):
        return node[...]
    return {name: _values(member) for name, member in node.members()}


async def list_keys(store: Any, prefix: str = "", **arguments: Any) -> AsyncIterator[str]:
    """Every key of a store that starts with `prefix` ("" or ending with "/"), sorted.

    The keywords are those of `omnizarr.stores.as_store`."""

    def keys() -> Iterator[str]:
        opened = as_store(store, mode="r", **arguments)
        try:
            yield from opened.list_prefix(prefix)
        finally:
            if not isinstance(store, Store):
                opened.close()

    async for key in iterate(keys):
        yield key


async def convert(source: Any, destination: Any = None, **arguments: Any) -> Any:
    """Convert a store from any format into any other: `omnizarr.convert`."""
    return await to_thread(omnizarr.convert, source, destination, **arguments)


async def check(store: Any, path: str = "", **arguments: Any) -> Any:
    """Report every departure from the specification: `omnizarr.check`."""
    return await call(lambda: omnizarr.check(store, path, **arguments), reads=True)


async def verify(store: Any, path: str = "", **arguments: Any) -> Any:
    """Decode every stored chunk and list the bad ones: `omnizarr.verify`."""
    return await to_thread(omnizarr.verify, store, path, **arguments)
