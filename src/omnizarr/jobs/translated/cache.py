"""Values that took work to make, kept in bounded memory as long as they are true.

This module knows bytes and times. It must not know what the values are.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import NamedTuple

from omnizarr.model.store import Buffer
from omnizarr.runtime import forks

LOCKS = 64
"""Two threads that ask for one value make it once; so many values can be made at a time."""
ENTRY_BYTES = 512
"""What an entry takes beside its value."""


class Made(NamedTuple):
    """A value, or None where there is none, and a name for these very bytes."""

    value: Buffer | None
    version: str

    @classmethod
    def of(cls, value: Buffer | None) -> Made:
        return cls(value, "" if value is None else blake2b(value, digest_size=16).hexdigest())


class Mark(NamedTuple):
    """What a value was made of."""

    maker: object
    """Compared by identity, and kept alive."""
    versions: Hashable | None
    """None if they cannot be told."""


class _Entry(NamedTuple):
    made: Made
    mark: Mark
    until: float


class MadeValues:
    """Values by key, the ones that were not asked for longest going first.

    most: how many bytes are kept.
    seconds: how long a value is believed whose origin has no version.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._held = 0
        self._guard = threading.Lock()
        self._locks = [threading.Lock() for _ in range(LOCKS)]
        forks.in_child(self._renew)

    def _renew(self) -> None:
        self._guard = threading.Lock()
        self._locks = [threading.Lock() for _ in range(LOCKS)]

    def get(self, key: str, mark: Callable[[], Mark], make: Callable[[], Buffer | None]) -> Made:
        """The value under this key, made anew if its mark has changed or it is too old."""
        with self._locks[hash(key) % LOCKS]:
            now = mark()
            with self._guard:
                entry = self._entries.get(key)
                if entry is not None and _holds(entry, now):
                    self._entries.move_to_end(key)
                    return entry.made
            made = Made.of(make())
            # What was replaced while it was read must not be taken for either version.
            self._keep(key, _Entry(made, now, time.monotonic() + self._seconds))
            return made

    def _keep(self, key: str, entry: _Entry) -> None:
        with self._guard:
            self._drop(key)
            if _nbytes(entry) > self._most:
                return
            self._entries[key] = entry
            self._held += _nbytes(entry)
            while self._held > self._most:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._held -= _nbytes(entry)


def _holds(entry: _Entry, mark: Mark) -> bool:
    if entry.mark.maker is not mark.maker or entry.mark.versions != mark.versions:
        return False
    return mark.versions is not None or time.monotonic() < entry.until


def _nbytes(entry: _Entry) -> int:
    return ENTRY_BYTES + (0 if entry.made.value is None else len(entry.made.value))
