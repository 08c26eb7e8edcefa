"""A store that counts the bytes of values that pass through it.

This module knows the interface of stores. It must not know what is counted for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from omnizarr.model.store import Buffer, ByteRange, FilePrefix, Read, Store
from omnizarr.stores import WrapperStore


class MeteredStore(WrapperStore):
    """The same store; `take()` gives the bytes read and written since it was last asked, and
    `take_values()` under how many keys there was something to read."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._guard = threading.Lock()
        self._read = self._written = 0
        self._found: set[str] = set()
        self._direct = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self.store}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["store"])  # type: ignore[misc]  # a new meter around the same store

    def __repr__(self) -> str:
        return repr(self.store)

    def take(self) -> tuple[int, int]:
        with self._guard:
            taken = self._read, self._written
            self._read = self._written = 0
            return taken

    def take_values(self) -> int:
        with self._guard:
            taken = len(self._found) + self._direct
            self._found, self._direct = set(), 0
            return taken

    def files(self, prefix: str, *, writing: bool = False) -> FilePrefix | None:
        files = self.store.files(prefix, writing=writing)
        return files and files._replace(tally=self._wrote if writing else self._has_read)

    def _has_read(self, values: int, nbytes: int) -> None:
        with self._guard:
            self._direct += values
            self._read += nbytes

    def _wrote(self, values: int, nbytes: int) -> None:
        with self._guard:
            self._written += nbytes

    def _count(self, key: str, value: Buffer | None) -> None:
        if value is not None:
            with self._guard:
                self._read += len(value)
                self._found.add(key)

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        value = super().get(key, byte_range)
        self._count(key, value)
        return value

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        values = super().get_many(requests)
        for (key, _), value in zip(requests, values, strict=True):
            self._count(key, value)
        return values

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        return self._snapshot(key)

    @contextmanager
    def _snapshot(self, key: str) -> Iterator[Read]:
        with super().snapshot(key) as read:

            def counted(byte_range: ByteRange | None) -> Buffer | None:
                value = read(byte_range)
                self._count(key, value)
                return value

            yield counted

    def set(self, key: str, value: Buffer) -> None:
        super().set(key, value)
        self._wrote(1, len(value))
