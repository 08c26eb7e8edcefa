"""Executes requests of zarr-python with our codecs.

Chunks in local files and in our own stores go through the engine: it reads ranges of shards, and
holds a lock while it changes part of a chunk. For any other store, zarr-python's own methods fetch
and store the bytes, in the caller's event loop, while threads decode or encode others: a wrapper or
a subclass sees every call.

A key that is not there is a missing chunk. Every other failure of a store raises.

This module knows stores and threads. It must not know how a selection is spelled.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import zarr
from zarr.storage import LocalStore, MemoryStore

import omnizarr
from omnizarr import engine
from omnizarr.aio.threads import call
from omnizarr.integrations.zarr_python.batches import Chunks, Item, Request
from omnizarr.integrations.zarr_python.stores import OmnizarrStore
from omnizarr.model.store import Buffer, Store

T = TypeVar("T")
R = TypeVar("R")

AHEAD_BYTES = 64 << 20
"""About how many decoded bytes are under way at once in stores of zarr-python."""
INLINE_BYTES = 256 << 10
"""So many decoded bytes of files are read in the event loop, which waits for them: on a file system
that answers at once that is shorter than handing them to a thread and back."""


def name_of(store: Any) -> str:
    """Where a store is, as far as that can change: a relative path is one of the current folder."""
    return os.path.abspath(store.root) if type(store) is LocalStore else ""


def place_of(store: Any, name: str) -> Store | None:
    """Our own store for the same values; None if zarr-python's is to be asked. A subclass may do
    more than the class that it is made from."""
    if type(store) is LocalStore:
        return omnizarr.LocalStore(name, follow_symlinks=True)  # as zarr-python does
    return store.store if type(store) is OmnizarrStore else None


def reads_ranges(source: Chunks, items: Sequence[Item], store: Any) -> bool:
    """Whether zarr-python would ask for parts of values: of shards that are not wanted whole. What
    is in memory costs the same as a whole."""
    if source.regular_chain.shard is None or type(store) is MemoryStore:
        return False
    return not all(item[4] for item in items)


# -- reading ----------------------------------------------------------------------------------


async def read(source: Chunks, request: Request, store: Any = None) -> set[str]:
    """Fill the working array through the engine; give the keys that were missing. `store` is
    zarr-python's, which is opened first."""
    plan, working, _ = request
    if store is not None:
        await store._ensure_open()
    if type(store) is LocalStore and len(plan) * source.chunk_bytes <= INLINE_BYTES:
        engine.read(source, plan, working)
    else:
        await call(lambda: engine.read(source, plan, working), reads=True)
    return source.missing


async def read_fetched(source: Chunks, items: Sequence[Item], request: Request) -> set[str]:
    """The same with the bytes that zarr-python fetches."""
    plan, working, prefix = request
    size = _ahead(source)
    groups = [items[start : start + size] for start in range(0, len(items), size)]
    missing: set[str] = set()
    fetching = asyncio.ensure_future(_fetch(groups[0]))
    try:
        for number in range(len(groups)):
            found = await fetching
            if number + 1 < len(groups):
                fetching = asyncio.ensure_future(_fetch(groups[number + 1]))
            values: Any = {key: value for key, value in found.items() if value is not None}
            here = source.within(omnizarr.MemoryStore(values), prefix)
            some = plan.some(number * size, (number + 1) * size)
            missing |= await read(here, Request(some, working))
    finally:
        await _ended([fetching])
    return missing


async def _fetch(items: Sequence[Item]) -> dict[str, memoryview | None]:
    async def get(item: Item) -> tuple[str, memoryview | None]:
        found = await item[0].get(prototype=item[1].prototype)
        return item[0].path, None if found is None else _view(found)

    return dict(await _each(get, items))


def _view(value: Any) -> memoryview:
    return np.ascontiguousarray(value.as_numpy_array()).view(np.uint8).data


# -- writing ----------------------------------------------------------------------------------


async def write(source: Chunks, request: Request, store: Any) -> None:
    """Store the working array through the engine. `store` is zarr-python's."""
    plan, working, _ = request
    await store._ensure_open()
    store._check_writable()
    await call(lambda: engine.write(source, plan, working), reads=False)


async def write_fetched(source: Chunks, items: Sequence[Item], request: Request) -> None:
    """The same where zarr-python fetches the chunks of which a part remains, and stores all."""
    plan, working, prefix = request
    size, source = _ahead(source), source.within(omnizarr.MemoryStore(), prefix)
    for start in range(0, len(items), size):
        group, some = items[start : start + size], plan.some(start, start + size)
        rest = zip(group, some.parts(), strict=True)
        old = await _fetch([item for item, part in rest if not part.whole])
        new = await call(partial(engine.encode, source, some, working, old), reads=True)
        await _each(_store, list(zip(group, new, strict=True)))


async def _store(pair: tuple[Item, Buffer | None]) -> None:
    item, data = pair
    if data is None:
        await item[0].delete()
    else:
        # A copy: encoded bytes may be a view of the caller's array, which a store may keep.
        await item[0].set(item[1].prototype.buffer.from_bytes(bytes(data)))


# -- both -------------------------------------------------------------------------------------


def _ahead(source: Chunks) -> int:
    """How many chunks are fetched or stored together."""
    return max(1, min(8 * _requests(), AHEAD_BYTES // source.chunk_bytes))


def _requests() -> int:
    return max(1, int(zarr.config.get("async.concurrency")))


async def _each(function: Callable[[T], Awaitable[R]], items: Sequence[T]) -> list[R]:
    """The results for all items, so many at once as zarr-python is configured for."""
    results: list[Any] = [None] * len(items)
    numbered = iter(enumerate(items))

    async def work(pairs: Iterable[tuple[int, T]]) -> None:
        for number, item in pairs:
            results[number] = await function(item)

    workers = [asyncio.ensure_future(work(numbered)) for _ in range(min(_requests(), len(items)))]
    try:
        await asyncio.gather(*workers)
    finally:
        await _ended(workers)
    return results


async def _ended(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Stop what is still under way, so that nothing is stored after an error was raised."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
