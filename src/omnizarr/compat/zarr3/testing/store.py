"""`LatencyStore`: a store with the delays of a distant one."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterable
from typing import Self, TypeAlias

from omnizarr.compat.zarr3.abc.store import ByteRequest, Store
from omnizarr.compat.zarr3.core.buffer import Buffer, BufferPrototype
from omnizarr.compat.zarr3.storage import WrapperStore

__all__ = ["LatencyStore"]

Latency: TypeAlias = float | tuple[float, float]


def _seconds(latency: Latency) -> float:
    return max(0.0, random.gauss(*latency)) if isinstance(latency, tuple) else latency


class LatencyStore(WrapperStore[Store]):
    """A store whose reads and writes wait.

    Parameters
    ----------
    store
        The store that is asked after the delay.
    get_latency, set_latency
        Seconds before a read and before a write, or their mean and standard deviation.

    Examples
    --------
    >>> from omnizarr.compat.zarr3.storage import MemoryStore
    >>> LatencyStore(MemoryStore(), get_latency=0.01).get_latency
    0.01
    """

    def __init__(
        self, store: Store, *, get_latency: Latency = 0.0, set_latency: Latency = 0.0
    ) -> None:
        super().__init__(store)
        self._get_latency = get_latency
        self._set_latency = set_latency

    def _with_store(self, store: Store) -> Self:
        return type(self)(store, get_latency=self._get_latency, set_latency=self._set_latency)

    @property
    def get_latency(self) -> float:
        """Seconds before the next read."""
        return float(_seconds(self._get_latency))

    @property
    def set_latency(self) -> float:
        """Seconds before the next write."""
        return float(_seconds(self._set_latency))

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        await asyncio.sleep(self.get_latency)
        return await super().get(key, prototype, byte_range)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        reads = (self.get(key, prototype, part) for key, part in key_ranges)
        return list(await asyncio.gather(*reads))

    async def set(self, key: str, value: Buffer) -> None:
        await asyncio.sleep(self.set_latency)
        await super().set(key, value)

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        time.sleep(self.get_latency)
        return super().get_sync(key, prototype=prototype, byte_range=byte_range)

    def set_sync(self, key: str, value: Buffer) -> None:
        time.sleep(self.set_latency)
        super().set_sync(key, value)
