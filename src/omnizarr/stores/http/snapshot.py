"""Reading several parts of one version of a value over HTTP.

This module knows versions. It must not know how parts are requested.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING

from omnizarr.errors import ValueChangedError
from omnizarr.model.store import Buffer, ByteRange
from omnizarr.stores.http.ranges import Version

if TYPE_CHECKING:
    from omnizarr.stores.http.store import HTTPStore


class Snapshot:
    """Reads parts of one value, and raises if it was replaced.

    Some servers make the ETag from the file's time in seconds. A value that is replaced within that
    second by one of the same length keeps its ETag. So only one part of a value that is younger
    than that is read; a second one is refused, and the caller reads the value whole, or waits a
    moment. Without an ETag and a time, only a change of the length is noticed."""

    def __init__(self, store: HTTPStore, key: str) -> None:
        self._store = store
        self._key = key
        self._guard = threading.Lock()
        self._version: Version | None = None
        self._missing = False
        self._expected = False

    @property
    def version(self) -> Version | None:
        found = self._version
        return found if found is not None and found.strong and found.settled else None

    def expect(self, version: Hashable) -> bool:
        assert isinstance(version, Version)
        self._version, self._expected = version, True
        return True

    def __call__(self, byte_range: ByteRange | None) -> Buffer | None:
        store, key, before = self._store, self._key, self._version
        if self._missing:
            return None
        if before is not None and before.is_new:
            raise ValueChangedError("it is so new that its next version may look the same").at(
                store, key=key
            )
        match = None if before is None else before.strong
        part = store._read(key, byte_range, store._clock(), match)
        with self._guard:
            before = self._version
            if part is None and before is None:
                self._missing = True
                return None
            if part is None or (before is not None and self._differs(before, part.version)):
                raise ValueChangedError("it was replaced while it was read").at(store, key=key)
            if before is None:
                self._version = part.version
        return part.data

    def _differs(self, before: Version, now: Version) -> bool:
        # An expected version is of an earlier time: an answer that does not name it is another.
        return before.differs(now) or (self._expected and now.strong != before.strong)
