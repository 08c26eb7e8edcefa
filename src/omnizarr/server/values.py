"""One value of a store, opened to be sent: its length, its ETag, its bytes.

An ETag is strong, and given only where it is true: what the file system or the service says, or
the content. What changes while it is sent never looks complete.

This module knows stores. It must not know HTTP beyond ETags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

from omnizarr.errors import ValueChangedError
from omnizarr.stores import ByteRange, Store

WHOLE = 1 << 20
"""Values up to this size are read at once, and their content can be the ETag."""

Buffer = bytes | bytearray | memoryview


class Value:
    """A value that is open inside a `with` block."""

    def __init__(
        self,
        size: int,
        etag: str | None,
        read: Callable[[ByteRange | None], Buffer | None],
        held: int = 0,
        changed: Callable[[], bool] | None = None,
    ) -> None:
        self.size, self.etag, self._read, self._changed = size, etag, read, changed
        self.held = held
        """How much memory it holds as long as it is open."""

    def part(self, start: int, stop: int) -> Buffer:
        """Some of its bytes, all of them."""
        if start == stop:
            return b""
        found = self._read(ByteRange(start, stop))
        if found is None or len(found) != stop - start or _told(self._changed):
            raise ValueChangedError("the value was replaced while it was sent")
        return found


@contextmanager
def opened(store: Store, key: str) -> Iterator[Value | None]:
    """The value under a key; None if there is none."""
    with store.snapshot(key) as read:
        facts: Any = read
        size = facts.size if hasattr(facts, "size") else store.size(key)
        if size is None:
            yield None
            return
        version = getattr(facts, "version", None)
        if size <= WHOLE or not store.capabilities.ranges:
            yield _in_memory(read(None), version, facts)
            return
        if version is None and read(ByteRange(0, 1)) is not None:
            version = getattr(facts, "version", None)  # some know it after the first answer
        etag = None if version is None else etag_of(repr(version).encode())
        yield Value(size, etag, read, changed=getattr(facts, "changed", None))


def _in_memory(value: Buffer | None, version: object, facts: Any) -> Value | None:
    if value is None:
        return None
    if _told(getattr(facts, "changed", None)):
        raise ValueChangedError("the value was changed while it was read")
    if version is None:
        version = getattr(facts, "version", None)
    etag = etag_of(value if version is None else repr(version).encode())

    def read(byte_range: ByteRange | None) -> Buffer:
        return value if byte_range is None else memoryview(value)[slice(*byte_range)]

    return Value(len(value), etag, read, len(value))


def _told(changed: Callable[[], bool] | None) -> bool:
    """Whether a store that can tell says that the value was written in place."""
    return changed is not None and changed()


def etag_of(content: Buffer) -> str:
    """A strong ETag."""
    return f'"{blake2b(content, digest_size=12).hexdigest()}"'
