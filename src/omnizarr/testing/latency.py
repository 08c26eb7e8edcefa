"""`LatencyStore`: a store that answers as late as one at the other end of a wire.

This module knows the interface of stores. It must not know any one store.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from omnizarr.keywords import suggests
from omnizarr.model.store import Buffer, ByteRange, Read, Store, Versioned
from omnizarr.runtime import forks
from omnizarr.testing.faults import CountingStore


class LatencyStore(CountingStore):
    """A store with a delay for every request, which counts as `CountingStore` does.

    Parameters
    ----------
    store
        The store inside.
    seconds
        Delay of a request.
    bandwidth
        Bytes per second, shared by all requests; None: no bound.
    requests
        How many requests are answered at once. A batch of more waits several times; the engine is
        told (`capabilities.requests`) and reads as it would from a remote store.

    Examples
    --------
    >>> inner = omnizarr.MemoryStore({"key": b"value"})
    >>> store = omnizarr.testing.LatencyStore(inner, seconds=0.001)
    >>> store.get("key")
    b'value'
    """

    @suggests
    def __init__(
        self,
        store: Store,
        *,
        seconds: float = 0.01,
        bandwidth: float | None = None,
        requests: int = 64,
    ) -> None:
        super().__init__(store)
        if seconds < 0 or requests < 1 or (bandwidth is not None and bandwidth <= 0):
            raise ValueError(
                "seconds must not be negative, requests and bandwidth must be positive; found"
                f" {seconds}, {requests} and {bandwidth}"
            )
        self.seconds = seconds
        self.bandwidth = bandwidth
        self.requests = requests
        self.capabilities = replace(store.capabilities, requests=requests)
        self._begin()

    def _begin(self) -> None:
        self._wire = threading.RLock()
        self._free_at = 0.0
        forks.wait_for(self, "_wire")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r}, seconds={self.seconds})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_wire"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def before(self, operation: str, key: str) -> None:
        super().before(operation, key)
        time.sleep(self.seconds)

    def transfer(self, nbytes: int) -> None:
        """Wait until so many bytes have passed.

        Parameters
        ----------
        nbytes
            Number of bytes.

        Examples
        --------
        >>> store = omnizarr.testing.LatencyStore(omnizarr.MemoryStore(), bandwidth=1e6)
        >>> store.transfer(1000)
        """
        if self.bandwidth is None or nbytes == 0:
            return
        with self._wire:
            now = time.monotonic()
            self._free_at = max(self._free_at, now) + nbytes / self.bandwidth
            wait = self._free_at - now
        time.sleep(wait)

    # -- what carries values ------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self._received(super().get(key, byte_range))

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        for key, _ in requests:
            super().before("get", key)
        time.sleep(self.seconds * -(-len(requests) // self.requests))
        answers = self.store.get_many(requests)
        self.transfer(sum(len(value) for value in answers if value is not None))
        return answers

    @contextmanager
    def snapshot(self, key: str) -> Iterator[Read]:
        with super().snapshot(key) as read:
            yield lambda byte_range: self._received(read(byte_range))

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        found = super().get_versioned(key, byte_range)
        self._received(None if found is None else found.value)
        return found

    def set(self, key: str, value: Buffer) -> None:
        self.transfer(len(value))
        super().set(key, value)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.transfer(len(value))
        return super().set_if_absent(key, value)

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        self.transfer(len(value))
        return super().set_if_version(key, value, version)

    def _received(self, value: Buffer | None) -> Buffer | None:
        self.transfer(0 if value is None else len(value))
        return value
