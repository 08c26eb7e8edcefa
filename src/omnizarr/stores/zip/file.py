"""The file below a ZIP archive: read and written by position, restored after a crash.

An archive that is appended to in place loses its directory for the time of the writing: new
members overwrite the old directory. Before that happens the old directory is copied to a
*rollback* file beside the archive. As long as that file exists, the archive counts as what it
was before: readers take the old directory from it, and the next writer puts it back. It is
removed as the last act of a successful flush. Thus an append costs what is appended, never a
copy of the archive, and a crash loses what was not flushed and nothing else.

This module knows files. It must not know members or keys.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import struct
import sys
import threading
import zlib
from typing import Any, Protocol

from omnizarr.errors import StoreError
from omnizarr.model.store import Buffer
from omnizarr.runtime import forks
from omnizarr.stores.local.files import (
    create_temporary,
    flat,
    read_fully,
    remove,
    sync_directory,
    write_fully,
)
from omnizarr.stores.local.folder import Folder
from omnizarr.stores.local.temporary_names import name_beside

_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # a FIFO must not hold us up
_LARGEST_ROLLBACK = 1 << 20
_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_ROLLBACK_MARK = b"omnizarr zip rollback 1\n"
_ROLLBACK = struct.Struct("<QQQLL")  # start, length, inode, checksum before, checksum of the tail
_BEFORE = 4096


class ArchiveFile(Protocol):
    @property
    def is_near(self) -> bool: ...
    def read_at(self, offset: int, length: int) -> Buffer: ...
    def write_at(self, offset: int, data: Buffer) -> None: ...
    def truncate(self, size: int) -> None: ...
    def size(self) -> int: ...
    def close(self) -> None: ...


class DescriptorFile:
    """A file by its descriptor. Reads from several threads need no lock."""

    is_near = True

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._guard = None if hasattr(os, "pread") else threading.Lock()
        self.locked_by = 0
        """The process that excludes other writers through this file."""

    def read_at(self, offset: int, length: int) -> Buffer:
        if self._guard is None:
            return read_fully(self.descriptor, length, offset)
        with self._guard:
            return read_fully(self.descriptor, length, offset)

    def write_at(self, offset: int, data: Buffer) -> None:
        os.lseek(self.descriptor, offset, os.SEEK_SET)
        write_fully(self.descriptor, data)

    def truncate(self, size: int) -> None:
        os.ftruncate(self.descriptor, size)

    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def sync(self) -> None:
        os.fsync(self.descriptor)

    def close(self) -> None:
        descriptor, self.descriptor = self.descriptor, -1  # an interrupt must not close it twice
        if descriptor >= 0:
            try:
                if self.locked_by == os.getpid():
                    _unlock(descriptor)  # a forked child may have the file open for longer
            finally:
                os.close(descriptor)


class ObjectFile:
    """A seekable binary file object, which belongs to the caller and is not closed."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self._guard = threading.RLock()
        forks.wait_for(self, "_guard")
        self.is_near = isinstance(getattr(file, "raw", file), io.BytesIO | io.FileIO)

    def read_at(self, offset: int, length: int) -> Buffer:
        with self._guard:
            self.file.seek(offset)
            parts: list[bytes] = []
            while length > 0 and (piece := self.file.read(length)):
                parts.append(piece)
                length -= len(piece)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write_at(self, offset: int, data: Buffer) -> None:
        view = flat(data)
        with self._guard:
            self.file.seek(offset)
            done = 0
            while done < len(view):
                # A raw file may write less; a buffered one or BytesIO writes all.
                done += self.file.write(view[done:])

    def truncate(self, size: int) -> None:
        with self._guard:
            self.file.truncate(size)
            if hasattr(self.file, "flush"):
                self.file.flush()

    def size(self) -> int:
        with self._guard:
            end: int = self.file.seek(0, os.SEEK_END)
            return end

    def close(self) -> None:
        """Nothing: the file belongs to the caller."""


class RolledBack:
    """An archive whose tail is taken from a rollback file; for reading only."""

    is_near = True

    def __init__(self, file: DescriptorFile, start: int, tail: bytes) -> None:
        self.file = file
        self.start = start
        self.tail = tail

    def read_at(self, offset: int, length: int) -> Buffer:
        if offset >= self.start:
            return self.tail[offset - self.start : offset - self.start + length]
        before = self.file.read_at(offset, min(length, self.start - offset))
        after = self.tail[: max(0, offset + length - self.start)]
        return bytes(before) + after if after else before

    def write_at(self, offset: int, data: Buffer) -> None:
        raise StoreError("an archive that was not closed properly is read only")

    def truncate(self, size: int) -> None:
        raise StoreError("an archive that was not closed properly is read only")

    def size(self) -> int:
        return self.start + len(self.tail)

    def close(self) -> None:
        self.file.close()


def open_for_reading(path: str) -> DescriptorFile:
    descriptor = os.open(path, os.O_RDONLY | _CLOEXEC | _NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{path!r} is not a regular file, so it is no archive")
    return DescriptorFile(descriptor)


def open_for_writing(path: str) -> DescriptorFile:
    """Open an existing archive; raises if another process (or store) is writing it."""
    file = DescriptorFile(os.open(path, os.O_RDWR | _CLOEXEC))
    try:
        exclude_writers(file, path)
    except BaseException:
        file.close()
        raise
    return file


def exclude_writers(file: DescriptorFile, path: str) -> None:
    """Keep others from writing until the file is closed (by `flock`, where there is one)."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(file.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.locked_by = os.getpid()
    except BlockingIOError as error:
        raise StoreError(f"{path!r} is being written by another store or process") from error
    except OSError:
        return  # a file system without locks


def _unlock(descriptor: int) -> None:
    import fcntl

    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def create_beside(path: str) -> tuple[str, DescriptorFile]:
    """A new temporary in the directory of `path`, which is created if need be."""
    directory = os.path.dirname(path)
    os.makedirs(directory, exist_ok=True)
    folder = Folder(None, os.path.join(directory, ""))
    name, descriptor = create_temporary(folder)
    return folder.of(name), DescriptorFile(descriptor)


def publish(temporary: str, path: str, *, exclusive: bool, fsync: bool) -> None:
    """Give a finished temporary the archive's name, whole or not at all."""
    if exclusive:
        try:
            _publish_new(temporary, path)
        except FileExistsError as error:
            raise StoreError(
                f"{path!r} was made by another store or process meanwhile, and is not replaced"
            ) from error
    else:
        with contextlib.suppress(FileNotFoundError):
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.replace(temporary, path)
    forget_rollback(path)
    if fsync:
        sync_directory(os.path.dirname(path))


def _publish_new(temporary: str, path: str) -> None:
    """The same for a name that must be free."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except (AttributeError, OSError):  # a file system or a system without links
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOEXEC))
        os.replace(temporary, path)
    else:
        remove(temporary)


# -- rollback ---------------------------------------------------------------------------------


def _rollback_path(path: str) -> str:
    return os.path.join(os.path.dirname(path), name_beside(os.path.basename(path), "rollback"))


def _checksum_before(file: ArchiveFile, start: int) -> int:
    begin = max(0, start - _BEFORE)
    return zlib.crc32(file.read_at(begin, start - begin))


def write_rollback(path: str, file: DescriptorFile, start: int) -> None:
    """Save the bytes from `start` on, which will be overwritten."""
    tail = bytes(file.read_at(start, file.size() - start))
    inode = os.fstat(file.descriptor).st_ino & (1 << 64) - 1
    head = _ROLLBACK.pack(start, len(tail), inode, _checksum_before(file, start), zlib.crc32(tail))
    temporary, copy = create_beside(path)
    try:
        copy.write_at(0, _ROLLBACK_MARK + head + tail)
        copy.sync()
        copy.close()
        os.replace(temporary, _rollback_path(path))
    except BaseException:
        copy.close()
        remove(temporary)
        raise
    sync_directory(os.path.dirname(path))


def read_rollback(path: str, file: DescriptorFile, is_complete: bool) -> tuple[int, bytes] | None:
    """(start, tail) to be restored; None if there is nothing to restore.

    The rollback file of this very file always counts. If the archive was copied or replaced, it
    counts only for one that is not complete by itself.
    """
    try:
        descriptor = os.open(_rollback_path(path), os.O_RDONLY | _CLOEXEC | _NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        state = os.fstat(descriptor)
        # It holds a directory of the archive, so it is hardly larger than the archive.
        if not stat.S_ISREG(state.st_mode) or state.st_size > file.size() + _LARGEST_ROLLBACK:
            return None
        data = bytes(read_fully(descriptor, state.st_size, 0))
    finally:
        os.close(descriptor)
    begin = len(_ROLLBACK_MARK)
    if data[:begin] != _ROLLBACK_MARK or len(data) < begin + _ROLLBACK.size:
        return None
    start, length, inode, before, checksum = _ROLLBACK.unpack_from(data, begin)
    tail = data[begin + _ROLLBACK.size :]
    if len(tail) != length or zlib.crc32(tail) != checksum or start > file.size():
        return None
    same = inode == os.fstat(file.descriptor).st_ino & (1 << 64) - 1
    if (is_complete and not same) or _checksum_before(file, start) != before:
        return None
    return start, tail


def forget_rollback(path: str) -> None:
    # A failure is one: what stays would undo the flush.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_rollback_path(path))
