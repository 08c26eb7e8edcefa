"""`zarr.experimental`: a cache in a second store."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from omnizarr.compat import zarr3
from omnizarr.compat.zarr3.abc.store import RangeByteRequest
from omnizarr.compat.zarr3.buffer import cpu, default_buffer_prototype
from omnizarr.compat.zarr3.experimental.cache_store import CacheStore
from omnizarr.compat.zarr3.storage import MemoryStore

PROTOTYPE = default_buffer_prototype()


def value(data: bytes) -> Any:
    return cpu.Buffer.from_bytes(data)


async def read(store: Any, key: str, part: Any = None) -> bytes | None:
    found = await store.get(key, PROTOTYPE, part)
    return None if found is None else bytes(found.to_bytes())


def test_the_second_read_is_from_the_cache() -> None:
    async def main() -> None:
        source, kept = MemoryStore(), MemoryStore()
        store = CacheStore(source, cache_store=kept)
        await source.set("key", value(b"0123"))
        assert await read(store, "key") == await read(store, "key") == b"0123"
        part = RangeByteRequest(1, 3)
        assert await read(store, "key", part) == await read(store, "key", part) == b"12"
        assert store.cache_stats()["hits"] == 2
        assert store.cache_stats()["misses"] == 2
        assert await read(kept, "key") == b"0123"
        assert store.cache_info()["current_size"] == 6

    asyncio.run(main())


@pytest.mark.parametrize("change", ["set", "delete", "delete_dir", "clear", "set_if_not_exists"])
def test_a_change_through_the_store_is_seen(change: str) -> None:
    async def main() -> None:
        store = CacheStore(MemoryStore(), cache_store=MemoryStore())
        await store.set("a/key", value(b"old"))
        await read(store, "a/key"), await read(store, "a/key", RangeByteRequest(0, 1))
        match change:
            case "set":
                await store.set("a/key", value(b"new"))
            case "delete":
                await store.delete("a/key")
            case "delete_dir":
                await store.delete_dir("a")
            case "clear":
                await store.clear()
            case "set_if_not_exists":
                await store.set_if_not_exists("a/key", value(b"new"))
        expected = {"set": b"new", "set_if_not_exists": b"old"}.get(change)
        assert await read(store, "a/key") == expected
        assert await read(store, "a/key", RangeByteRequest(0, 1)) == (
            None if expected is None else expected[:1]
        )

    asyncio.run(main())


class Slow(MemoryStore):
    """A store that gives a value after a write has replaced it."""

    go: asyncio.Event

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        found = await super().get(key, prototype, byte_range)
        await self.go.wait()
        return found


def test_a_value_that_changes_while_it_is_read_is_not_kept() -> None:
    async def main() -> None:
        source = Slow()
        source.go = asyncio.Event()
        store = CacheStore(source, cache_store=MemoryStore(), cache_set_data=False)
        await source.set("key", value(b"old"))
        reading = asyncio.create_task(read(store, "key"))
        await asyncio.sleep(0)
        await store.set("key", value(b"new"))
        source.go.set()
        assert await reading == b"old"
        assert await read(store, "key") == b"new"

    asyncio.run(main())


def test_the_oldest_entries_make_room() -> None:
    async def main() -> None:
        kept = MemoryStore()
        store = CacheStore(MemoryStore(), cache_store=kept, max_size=10)
        for key in "ab":
            await store.set(key, value(b"1234"))
        await read(store, "a")
        await store.set("c", value(b"1234"))
        await store.set("d", value(b"0" * 11))
        assert sorted([key async for key in kept.list()]) == ["a", "c"]
        assert store.cache_info()["current_size"] == 8
        assert store.cache_stats()["evictions"] == 1

    asyncio.run(main())


def test_an_old_entry_is_read_again() -> None:
    async def main() -> None:
        source = MemoryStore()
        store = CacheStore(source, cache_store=MemoryStore(), max_age_seconds=0)
        await store.set("key", value(b"old"))
        await source.set("key", value(b"new"))
        assert await read(store, "key") == b"new"

    asyncio.run(main())


def test_an_array_in_a_cached_store() -> None:
    store = CacheStore(MemoryStore(), cache_store=MemoryStore())
    array = zarr3.create_array(store, shape=(10,), chunks=(5,), dtype="i4")
    array[:] = 1
    array[:5] = 2
    for _ in range(2):
        np.testing.assert_array_equal(array[:], [2] * 5 + [1] * 5)
    assert store.cache_stats()["hits"] > 0


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="max_age_seconds"):
        CacheStore(MemoryStore(), cache_store=MemoryStore(), max_age_seconds="never")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="synchronous"):
        CacheStore(MemoryStore(), cache_store=MemoryStore()).set_sync("key", value(b""))
