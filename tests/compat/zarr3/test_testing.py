"""`zarr.testing`: a slow store, buffers that tell who made them."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import numpy as np
import pytest

from omnizarr.compat import zarr3
from omnizarr.compat.zarr3.buffer import cpu, default_buffer_prototype
from omnizarr.compat.zarr3.core.buffer import BufferPrototype
from omnizarr.compat.zarr3.storage import LoggingStore, MemoryStore, WrapperStore
from omnizarr.compat.zarr3.testing import assert_bytes_equal
from omnizarr.compat.zarr3.testing.buffer import (
    NDBufferUsingTestNDArrayLike,
    StoreExpectingTestBuffer,
    TestBuffer,
)
from omnizarr.compat.zarr3.testing.store import LatencyStore


def test_bytes_are_compared() -> None:
    assert_bytes_equal(cpu.Buffer.from_bytes(b"a"), b"a")
    assert_bytes_equal(None, None)
    with pytest.raises(AssertionError):
        assert_bytes_equal(cpu.Buffer.from_bytes(b"a"), b"b")


def test_a_slow_store_waits() -> None:
    store = LatencyStore(MemoryStore(), get_latency=0.05, set_latency=0.02)
    begun = time.monotonic()
    zarr3.create_array(store, data=np.arange(3))
    assert time.monotonic() - begun >= 0.02
    begun = time.monotonic()
    store.get_sync("zarr.json")
    asyncio.run(store.get("zarr.json", default_buffer_prototype()))
    assert time.monotonic() - begun >= 0.1
    assert store.with_read_only(True).get_latency == 0.05


def test_delays_may_vary() -> None:
    store = LatencyStore(MemoryStore(), get_latency=(1.0, 0.1))
    assert len({store.get_latency for _ in range(5)}) > 1


def test_a_store_that_expects_its_own_buffers() -> None:
    async def main() -> None:
        store = StoreExpectingTestBuffer()
        await store.set("c/0", TestBuffer.from_bytes(b"value"))
        prototype = BufferPrototype(buffer=TestBuffer, nd_buffer=NDBufferUsingTestNDArrayLike)
        found = await store.get("c/0", prototype)
        assert type(found) is TestBuffer
        with pytest.raises(AssertionError):
            await store.set("c/0", cpu.Buffer.from_bytes(b"value"))
        with pytest.raises(AssertionError):
            await store.get("c/0", default_buffer_prototype())

    asyncio.run(main())


class Reversed(WrapperStore[Any]):
    """Changes what is read, and says nothing of `get_sync`."""

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        found = await super().get(key, prototype, byte_range)
        if found is None or "json" in key:
            return found
        return prototype.buffer.from_bytes(found.to_bytes()[::-1])


def test_a_wrapper_that_changes_get_is_not_bypassed() -> None:
    inner = MemoryStore()
    zarr3.create_array(inner, data=np.arange(4, dtype="u1"), compressors=None)
    np.testing.assert_array_equal(zarr3.open_array(Reversed(inner))[:], [3, 2, 1, 0])


def test_a_wrapper_asks_the_store_inside() -> None:
    store: Any = WrapperStore(MemoryStore())
    store.set_sync("key", cpu.Buffer.from_bytes(b"0123"))
    assert store.get_sync("key").to_bytes() == b"0123"
    store.delete_sync("key")
    assert store.get_sync("key") is None
    logged: Any = LoggingStore(MemoryStore(), log_level="WARNING")
    with pytest.raises(TypeError, match="does not support synchronous get"):
        WrapperStore(object()).get_sync("key")  # type: ignore[type-var]
    assert not logged._supports_sync_io


def test_requests_to_a_slow_store_wait_together() -> None:
    inner = MemoryStore()
    root = zarr3.group(inner)
    for number in range(10):
        root.create_group(f"group_{number}")
    slow = zarr3.open_group(LatencyStore(inner, get_latency=0.2))
    begun = time.monotonic()
    assert len(slow.members()) == 10
    assert time.monotonic() - begun < 10 * 0.2
