"""How much memory answers may hold together.

This module counts bytes. It must not know what they are.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Budget:
    """Bytes that may be held at once. Who waits gets them in turn."""

    def __init__(self, total: int) -> None:
        self.total = self._free = total
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def try_take(self, amount: int) -> bool:
        """Take so much, if it is free and no other request waits for it.

        More than the whole budget counts as the whole.
        """
        amount = min(amount, self.total)
        if self._waiting or amount > self._free:
            return False
        self._free -= amount
        return True

    async def take(self, amount: int, seconds: float) -> None:
        """Take so much once it is free. TimeoutError if that lasts too long."""
        if self.try_take(amount):
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        amount = min(amount, self.total)
        self._waiting.append((amount, future))
        try:
            async with asyncio.timeout(seconds):
                await future
        except BaseException:
            if future.done() and not future.cancelled():
                self.give(amount)  # it came at the last moment
            raise

    def give(self, amount: int) -> None:
        """Give back what was taken."""
        self._free += min(amount, self.total)
        while self._waiting:
            wanted, future = self._waiting[0]
            if future.done():  # who waited has gone
                self._waiting.popleft()
                continue
            if wanted > self._free:
                return
            self._waiting.popleft()
            self._free -= wanted
            future.set_result(None)
