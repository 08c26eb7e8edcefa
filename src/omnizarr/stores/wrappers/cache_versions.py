"""How a cache names what it keeps: parts of values, their versions, and the stores they are of.

This module knows ranges, versions and identities. It must not know entries or stores.
"""

from __future__ import annotations

import os
from collections.abc import Hashable

from omnizarr.model.store import ByteRange

WHOLE = ""
"""The name of all of a value."""
UNKNOWN = b""
"""The mark of a version that cannot be compared."""
_LARGEST_STABLE = 1 << 20


def part_name(byte_range: ByteRange) -> str:
    start, stop = byte_range
    return f"{start}:{'' if stop is None else stop}"


def is_whole(byte_range: ByteRange, found: int) -> bool:
    """Whether so many bytes in answer to a range are all that there is."""
    start, stop = byte_range
    if start < 0:
        return found < -start
    return start == 0 and (stop is None or found < stop)


def mark(version: Hashable) -> bytes:
    """A version in 20 bytes, equal in all processes; empty if that cannot be promised."""
    if version is None or not _is_comparable(version):
        return UNKNOWN
    from hashlib import blake2b

    return blake2b(repr(version).encode(), digest_size=20).digest()


def _is_comparable(value: object) -> bool:
    """Whether it equals itself, and `repr` shows its value, not its address in memory."""
    if isinstance(value, tuple):
        return all(_is_comparable(item) for item in value)
    return value == value and type(value).__repr__ is not object.__repr__


def space_of(identity: Hashable) -> str:
    """What stands before the keys of one store, so that several can share a folder.

    Where the identity is an object's address it means nothing to another process: then the
    space is this object's own."""
    from hashlib import blake2b

    text = repr(identity).encode() if _is_stable(identity) else os.urandom(20)
    return blake2b(text, digest_size=20).hexdigest() + "/"


def _is_stable(identity: object) -> bool:
    if isinstance(identity, tuple):
        return all(_is_stable(item) for item in identity)
    if isinstance(identity, int):
        return 0 <= identity < _LARGEST_STABLE  # a port, say, and not an address in memory
    return identity is None or isinstance(identity, str | bytes)
