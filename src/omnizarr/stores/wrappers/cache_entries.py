"""What a cache keeps, in memory or in a folder.

An entry holds one part of a value, the whole or a range, with the version of the value and the time
at which the store gave or confirmed it. The least recently used entries go first.

In a folder every entry is a file that is replaced whole, begins with a checksum of the rest, and is
named by hashes: a torn or changed file, or one of another key, is no entry. Several processes may
share a folder: the one that finds it too full removes the oldest files. Until then each writer may
exceed the bound by an eighth.

This module knows entries, and how parts, versions and stores are named in them. It must not know
stores.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple, Protocol

from omnizarr.errors import StoreError
from omnizarr.model.store import Buffer, ByteRange
from omnizarr.runtime import forks
from omnizarr.stores.local import files
from omnizarr.stores.local.temporary_names import RESERVED, is_abandoned

WHOLE = ""
"""The name of all of a value."""
UNKNOWN = b""
"""The mark of a version that cannot be compared."""
_LARGEST_STABLE = 1 << 20
_OVERHEAD = 256
"""Bytes that an entry costs beside its value, about."""
_MAGIC = b"OZcache1"
_DIGEST = 16
_HEADER = struct.Struct("<d?20sH")  # when asked, whether there is a value, version, length of name
_FOLDER = "omnizarr-cache-1"
_TOUCH = 30.0
"""Seconds; how exactly the order of use is kept in a folder."""
_DAY = 24 * 60 * 60.0

# One for all caches, never held while anything waits. A fork waits for it, so that the child finds
# every cache in order.
_guard = threading.RLock()
forks.wait_for(sys.modules[__name__], "_guard")


class CacheEntry(NamedTuple):
    value: Buffer | None
    """None: there is no such key."""
    version: bytes
    """A digest; empty where the store does not tell versions apart."""
    asked: float
    """When the store gave it or confirmed it, in seconds since the epoch."""


class Entries(Protocol):
    """Where entries are kept. Nothing here raises because an entry is missing or broken."""

    max_bytes: int

    def get(self, key: str, part: str) -> CacheEntry | None: ...

    def put(self, key: str, part: str, entry: CacheEntry) -> None: ...

    def drop(self, key: str) -> None:
        """Forget all parts of a value."""

    def clear(self) -> None: ...


class MemoryEntries:
    """Entries in memory that together take at most `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._entries: OrderedDict[tuple[str, str], CacheEntry] = OrderedDict()
        self._parts: dict[str, set[str]] = {}
        self.nbytes = 0

    def __reduce__(self) -> tuple[type[MemoryEntries], tuple[int]]:
        return MemoryEntries, (self.max_bytes,)

    def get(self, key: str, part: str) -> CacheEntry | None:
        with _guard:
            entry = self._entries.get((key, part))
            if entry is not None:
                self._entries.move_to_end((key, part))
            return entry

    def put(self, key: str, part: str, entry: CacheEntry) -> None:
        if isinstance(entry.value, memoryview):
            entry = entry._replace(value=bytes(entry.value))  # it may keep much more alive
        size = _size(key, entry)
        with _guard:
            self._remove(key, part)
            if size > self.max_bytes:
                return
            self._entries[key, part] = entry
            self._parts.setdefault(key, set()).add(part)
            self.nbytes += size
            while self.nbytes > self.max_bytes:
                self._remove(*next(iter(self._entries)))

    def drop(self, key: str) -> None:
        with _guard:
            for part in tuple(self._parts.get(key, ())):
                self._remove(key, part)

    def _remove(self, key: str, part: str) -> None:
        gone = self._entries.pop((key, part), None)
        if gone is None:
            return
        self.nbytes -= _size(key, gone)
        parts = self._parts[key]
        parts.discard(part)
        if not parts:
            del self._parts[key]

    def clear(self) -> None:
        with _guard:
            self._entries.clear()
            self._parts.clear()
            self.nbytes = 0


def _size(key: str, entry: CacheEntry) -> int:
    return _OVERHEAD + len(key) + (0 if entry.value is None else len(entry.value))


class FolderEntries:
    """Entries as files below `folder`, which only the user can enter."""

    def __init__(self, folder: str, max_bytes: int) -> None:
        self.folder = os.path.join(os.path.abspath(folder), _FOLDER)
        self.max_bytes = max_bytes
        self._added = max_bytes  # so that the first entry checks how full the folder is
        self._make()

    def _make(self) -> None:
        try:
            os.makedirs(os.path.dirname(self.folder), exist_ok=True)
            if not os.path.isdir(self.folder):
                os.mkdir(self.folder, 0o700)
        except FileExistsError:
            pass  # another process was faster
        except OSError as error:
            raise StoreError(f"the folder of a cache cannot be made: {error}") from error
        if hasattr(os, "getuid"):
            status = os.lstat(self.folder)
            if status.st_uid != os.getuid() or status.st_mode & 0o170000 != 0o040000:
                raise StoreError(
                    f"the folder of a cache, {self.folder!r}, belongs to another user, who could"
                    " put anything into it; choose another folder"
                )
            if status.st_mode & 0o077:
                os.chmod(self.folder, 0o700)

    def __reduce__(self) -> tuple[type[FolderEntries], tuple[str, int]]:
        return FolderEntries, (os.path.dirname(self.folder), self.max_bytes)

    def _place(self, key: str) -> tuple[str, str]:
        """The directory of a key's entries, and how their names begin."""
        digest = _digest(key.encode(), 20).hex()
        return f"{self.folder}/{digest[:2]}", digest[2:]

    def _path(self, key: str, part: str) -> str:
        directory, begin = self._place(key)
        return f"{directory}/{begin}-{_digest(part.encode(), 8).hex()}"

    def get(self, key: str, part: str) -> CacheEntry | None:
        path = self._path(key, part)
        try:
            with open(path, "rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                if status.st_size > self.max_bytes + _OVERHEAD + 4096:
                    return None
                data = files.read_fully(file.fileno(), status.st_size, 0)
        except OSError:
            return None
        entry = _parse(data, _text(key, part))
        if entry is None:
            files.remove(path)
        elif time.time() - status.st_mtime > _TOUCH:
            with contextlib.suppress(OSError):  # removed by another process meanwhile
                os.utime(path)
        return entry

    def put(self, key: str, part: str, entry: CacheEntry) -> None:
        path = self._path(key, part)
        text = _text(key, part)
        value = b"" if entry.value is None else entry.value
        header = _HEADER.pack(entry.asked, entry.value is not None, entry.version, len(text))
        body = b"".join((header, text, value))
        if len(body) > self.max_bytes:
            files.remove(path)
            return
        directory = os.path.dirname(path)
        try:
            os.makedirs(directory, 0o700, exist_ok=True)
            temporary = files.write_temporary(
                directory, _MAGIC + _digest(body, _DIGEST) + body, fsync=False
            )
            os.replace(temporary, path)
        except OSError:
            # A full disk, say. The old entry may be outdated.
            files.remove(path)
            return
        with _guard:
            self._added += len(body)
            full = self._added * 8 > self.max_bytes
            if full:
                self._added = 0
        if full:
            self._evict()

    def drop(self, key: str) -> None:
        directory, begin = self._place(key)
        try:
            names = os.listdir(directory)
        except OSError:
            return  # nothing there
        for name in names:
            if name.startswith(begin):
                files.remove(f"{directory}/{name}")

    def clear(self) -> None:
        for _, _, path in self._files():
            files.remove(path)

    def _files(self) -> list[tuple[float, int, str]]:
        """(last use, size, path) of every entry; what killed processes left is removed."""
        found: list[tuple[float, int, str]] = []
        pending = [self.folder]
        while pending:
            try:
                with os.scandir(pending.pop()) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
                            continue
                        status = entry.stat(follow_symlinks=False)
                        if not entry.name.startswith(RESERVED):
                            found.append((status.st_mtime, status.st_size, entry.path))
                        elif is_abandoned(entry.name, time.time() - status.st_mtime, _DAY):
                            files.remove(entry.path)
            except FileNotFoundError:
                continue  # removed by another process while it was looked at
        return found

    def _evict(self) -> None:
        # Down to seven eighths: an eighth may be added before the next look.
        found = self._files()
        excess = sum(size for _, size, _ in found) - self.max_bytes * 7 // 8
        for _, size, path in sorted(found):
            if excess <= 0:
                break
            files.remove(path)
            excess -= size


def _text(key: str, part: str) -> bytes:
    return f"{key}\0{part}".encode()


def _digest(data: Buffer, size: int) -> bytes:
    from hashlib import blake2b  # slow to import: it loads OpenSSL

    return blake2b(data, digest_size=size).digest()


def _parse(data: Buffer, text: bytes) -> CacheEntry | None:
    """The entry that a file holds; None if the file is not whole, or is another name's."""
    begin = len(_MAGIC) + _DIGEST
    if len(data) < begin + _HEADER.size or data[: len(_MAGIC)] != _MAGIC:
        return None
    view = memoryview(data)
    body = view[begin:]
    if bytes(view[len(_MAGIC) : begin]) != _digest(body, _DIGEST):
        return None
    asked, there, version, length = _HEADER.unpack_from(body)
    value = body[_HEADER.size + length :]
    if bytes(body[_HEADER.size : _HEADER.size + length]) != text:
        return None
    return CacheEntry(value if there else None, version if any(version) else b"", asked)


def part_name(byte_range: ByteRange) -> str:
    start, stop = byte_range
    return f"{start}:{'' if stop is None else stop}"


def is_whole(byte_range: ByteRange, found: int) -> bool:
    """Whether `found` bytes in answer to a range are the whole value."""
    start, stop = byte_range
    if start < 0:
        return found < -start
    return start == 0 and (stop is None or found < stop)


def mark(version: Hashable) -> bytes:
    """A version in 20 bytes, equal in all processes; empty if that cannot be promised."""
    if version is None or not _is_comparable(version):
        return UNKNOWN
    return _digest(repr(version).encode(), 20)


def _is_comparable(value: object) -> bool:
    """Whether it equals itself, and `repr` shows its value, not its address in memory."""
    if isinstance(value, tuple):
        return all(_is_comparable(item) for item in value)
    return value == value and type(value).__repr__ is not object.__repr__


def space_of(identity: Hashable) -> str:
    """The prefix for the keys of one store, so that several stores can share a folder.

    An identity that is an object's address means nothing to another process: then the prefix is
    random."""
    text = repr(identity).encode() if _is_stable(identity) else os.urandom(20)
    return _digest(text, 20).hex() + "/"


def _is_stable(identity: object) -> bool:
    if isinstance(identity, tuple):
        return all(_is_stable(item) for item in identity)
    if isinstance(identity, int):
        return 0 <= identity < _LARGEST_STABLE  # a port, say, and not an address in memory
    return identity is None or isinstance(identity, str | bytes)
