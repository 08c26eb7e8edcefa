"""A store that counts what is asked of it.

A plain mapping, so that it needs nothing of the library but the promise that any MutableMapping
is a store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, MutableMapping
from typing import Any


class CountingMapping(MutableMapping[str, bytes]):
    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.counts: Counter[str] = Counter()

    def reset(self) -> None:
        self.counts.clear()

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def __getitem__(self, key: str) -> bytes:
        self.counts["get"] += 1
        return self.data[key]

    def __contains__(self, key: object) -> bool:
        self.counts["contains"] += 1
        return key in self.data

    def __setitem__(self, key: str, value: Any) -> None:
        self.counts["set"] += 1
        self.data[key] = bytes(value)

    def __delitem__(self, key: str) -> None:
        self.counts["delete"] += 1
        del self.data[key]

    def __iter__(self) -> Iterator[str]:
        self.counts["list"] += 1
        return iter(list(self.data))

    def __len__(self) -> int:
        return len(self.data)
