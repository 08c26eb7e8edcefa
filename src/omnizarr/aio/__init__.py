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

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import omnizarr
from omnizarr import Array, Group, Store
from omnizarr.aio.nodes import AsyncArray, AsyncGroup, AsyncIndex, wrapped
from omnizarr.aio.signatures import awaits, like
from omnizarr.aio.threads import call, iterate, to_thread
from omnizarr.keywords import suggests
from omnizarr.model.grids import NDArray
from omnizarr.stores import StoreLike, as_store

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


@like(omnizarr.open)
async def open(  # noqa: A001 - the name that every user of Zarr knows
    store: Any = None, mode: Any = None, **arguments: Any
) -> AsyncArray | AsyncGroup:
    """Open an array or a group, whichever is stored: `omnizarr.open`.

    Examples
    --------
    >>> import asyncio
    >>> async def first(store):
    ...     array = await omnizarr.aio.open(store, "r")
    ...     return await array.read(0)
    >>> asyncio.run(first(omnizarr.array([1, 2, 3]).store))
    np.int64(1)
    """
    return wrapped(await call(lambda: omnizarr.open(store, mode, **arguments), reads=mode == "r"))


@like(omnizarr.open_array)
async def open_array(store: Any = None, mode: Any = None, **arguments: Any) -> AsyncArray:
    """Open an array, or create it as `mode` says: `omnizarr.open_array`.

    Examples
    --------
    >>> import asyncio
    >>> asyncio.run(omnizarr.aio.open_array({}, "w", shape=4, dtype="i4")).shape
    (4,)
    """
    opened = await call(lambda: omnizarr.open_array(store, mode, **arguments), reads=mode == "r")
    return AsyncArray(opened)


@like(omnizarr.open_group)
async def open_group(store: Any = None, mode: Any = None, **arguments: Any) -> AsyncGroup:
    """Open a group, or create it as `mode` says: `omnizarr.open_group`.

    Examples
    --------
    >>> import asyncio
    >>> asyncio.run(omnizarr.aio.open_group({}, "w", attributes={"title": "sea"})).attrs
    {'title': 'sea'}
    """
    opened = await call(lambda: omnizarr.open_group(store, mode, **arguments), reads=mode == "r")
    return AsyncGroup(opened)


@like(omnizarr.open_consolidated)
async def open_consolidated(store: Any, mode: Any = "r+", **arguments: Any) -> AsyncGroup:
    """Open a group through its consolidated metadata: `omnizarr.open_consolidated`.

    Examples
    --------
    >>> import asyncio
    >>> group = omnizarr.group({})
    >>> _ = group.create_array("a", shape=4, dtype="i4")
    >>> _ = omnizarr.consolidate_metadata(group.store)
    >>> opened = asyncio.run(omnizarr.aio.open_consolidated(group.store))
    >>> asyncio.run(opened.contains("a"))
    True
    """
    return AsyncGroup(
        await call(lambda: omnizarr.open_consolidated(store, mode, **arguments), reads=True)
    )


@like(omnizarr.create_array)
async def create_array(store: Any = None, **arguments: Any) -> AsyncArray:
    """Create an array: `omnizarr.create_array`.

    Examples
    --------
    >>> import asyncio
    >>> async def total():
    ...     array = await omnizarr.aio.create_array(shape=4, chunks=2, dtype="i4")
    ...     await array.write(slice(0, 2), [1, 2])
    ...     return (await array.read()).sum()
    >>> asyncio.run(total())
    np.int64(3)
    """
    return AsyncArray(await call(lambda: omnizarr.create_array(store, **arguments), reads=False))


@like(omnizarr.create_group)
async def create_group(store: Any = None, **arguments: Any) -> AsyncGroup:
    """Create a group: `omnizarr.create_group`.

    Examples
    --------
    >>> import asyncio
    >>> asyncio.run(omnizarr.aio.create_group({}, attributes={"title": "sea"})).attrs
    {'title': 'sea'}
    """
    return AsyncGroup(await call(lambda: omnizarr.create_group(store, **arguments), reads=False))


@like(omnizarr.save)
async def save(store: Any, *args: Any, **kwargs: Any) -> None:
    """Save one array, or several as a group: `omnizarr.save`.

    Examples
    --------
    >>> import asyncio
    >>> store = {}
    >>> asyncio.run(omnizarr.aio.save(store, np.arange(3)))
    >>> omnizarr.load(store)
    array([0, 1, 2])
    """
    await call(lambda: omnizarr.save(store, *args, **kwargs), reads=False)


Values = NDArray | dict[str, "Values"]
"""The values of an array, or those of every member of a group."""


@like(omnizarr.load)
async def load(store: Any, path: str | None = None, **arguments: Any) -> Values:
    """Load the values of an array; of a group, a dict with those of all its members.

    Examples
    --------
    >>> import asyncio
    >>> asyncio.run(omnizarr.aio.load(omnizarr.array([1, 2, 3]).store))
    array([1, 2, 3])
    """

    def loaded() -> Values:
        opened = omnizarr.open(store, "r", path=path, **arguments)
        try:
            return _values(opened)
        finally:
            if not isinstance(store, Store):
                opened.store.close()

    return await call(loaded, reads=True)


def _values(node: Array | Group) -> Values:
    if isinstance(node, Array):
        values: Values = node[...]
        return values
    return {name: _values(member) for name, member in node.members()}


@suggests
async def list_keys(
    store: StoreLike, prefix: str = "", *, storage_options: Mapping[str, object] | None = None
) -> AsyncIterator[str]:
    """Iterate over every key of a store that starts with a prefix, sorted.

    Parameters
    ----------
    store
        A store, or what `as_store` takes: a URL, a path, …
    prefix
        `""` or a prefix that ends with "/".
    storage_options
        Arguments of the store that a URL or path opens.

    Examples
    --------
    >>> import asyncio
    >>> async def keys(store):
    ...     return [key async for key in omnizarr.aio.list_keys(store)]
    >>> asyncio.run(keys({"a": b"1", "b": b"2"}))
    ['a', 'b']
    """

    def keys() -> Iterator[str]:
        opened = as_store(store, mode="r", storage_options=storage_options)
        try:
            yield from opened.list_prefix(prefix)
        finally:
            if not isinstance(store, Store):
                opened.close()

    async for key in iterate(keys):
        yield key


@awaits(omnizarr.convert)
async def convert(source: Any, destination: Any = None, **arguments: Any) -> Any:
    """Convert a store from any format into any other: `omnizarr.convert`.

    Examples
    --------
    >>> import asyncio
    >>> source = omnizarr.array([1, 2, 3], zarr_format=2)
    >>> store = omnizarr.MemoryStore()
    >>> _ = asyncio.run(omnizarr.aio.convert(source.store, store, zarr_format=3))
    >>> omnizarr.open(store).zarr_format
    3
    """
    return await to_thread(omnizarr.convert, source, destination, **arguments)


@awaits(omnizarr.check)
async def check(store: Any, path: str = "", **arguments: Any) -> Any:
    """Report every departure from the specification: `omnizarr.check`.

    Examples
    --------
    >>> import asyncio
    >>> asyncio.run(omnizarr.aio.check(omnizarr.array([1, 2, 3]).store)).findings
    ()
    """
    return await call(lambda: omnizarr.check(store, path, **arguments), reads=True)


@awaits(omnizarr.verify)
async def verify(store: Any, path: str = "", **arguments: Any) -> Any:
    """Decode every stored chunk and list the bad ones: `omnizarr.verify`.

    Examples
    --------
    >>> import asyncio
    >>> asyncio.run(omnizarr.aio.verify(omnizarr.array([1, 2, 3]).store)).ok
    True
    """
    return await to_thread(omnizarr.verify, store, path, **arguments)
