"""Reading, writing and removing files whole, with the system calls that every platform has.

This module knows file descriptors and paths. Keys and stores it only names in errors.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import time

from omnizarr import limits
from omnizarr.errors import LimitError, NotAFileError, StoreError
from omnizarr.model.store import Buffer, ByteRange, span
from omnizarr.stores.local.folder import LIST, Folder
from omnizarr.stores.local.temporary_names import temporary_name

_LARGE = 1 << 30  # one system call moves less than 2 GiB
SETTLED = 2.0
"""Seconds; the coarsest grain of a file's time that is in use."""
_ATTEMPTS = 1000
_looks = itertools.count()
_CREATE = (
    os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)

NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_MISSING = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}


def is_missing(error: OSError) -> bool:
    """Whether it says that nothing is there, or that nothing with such a name could be."""
    return error.errno in _MISSING


def _seek_and_read(file: int, length: int, start: int) -> bytes:
    os.lseek(file, start, os.SEEK_SET)
    return os.read(file, length)


pread = getattr(os, "pread", _seek_and_read)  # only a descriptor of one's own where it is missing


def read_fully(file: int, length: int, start: int) -> Buffer:
    """`length` bytes from `start`, or fewer at the end of the file."""
    if length < _LARGE:
        data: bytes = pread(file, length, start)
        if len(data) == length:
            return data
    buffer = bytearray(length)
    done = 0
    while done < length:
        piece = pread(file, min(length - done, _LARGE), start + done)
        if not piece:
            return buffer[:done]
        buffer[done : done + len(piece)] = piece
        done += len(piece)
    return buffer


def write_fully(file: int, value: Buffer) -> None:
    """Write all of the value at the current position."""
    view = value if type(value) is bytes else flat(value)
    done = os.write(file, view) if len(view) < _LARGE else 0
    while done < len(view):
        done += os.write(file, memoryview(view)[done : done + _LARGE])


def flat(value: Buffer) -> memoryview:
    """The bytes of any buffer, copied only if they are not contiguous."""
    view = memoryview(value)
    if not view.c_contiguous:
        view = memoryview(view.tobytes())
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def read_part(
    store: object,
    key: str,
    file: int,
    byte_range: ByteRange | None,
    status: os.stat_result | None = None,
) -> Buffer | None:
    """Part of an open file; None of a directory. The store and the key are for errors."""
    try:
        status = status or os.fstat(file)
        mode = status.st_mode
        if not stat.S_ISREG(mode):
            if stat.S_ISDIR(mode):
                return None
            raise not_a_file(f"{store!r}: {key!r}", mode)
        start, stop = 0, status.st_size
        if byte_range is not None:
            start, stop = span(byte_range, stop)
        length = stop - start
        if length > limits.current.max_chunk_bytes:
            raise LimitError(
                f"reading {length} bytes of {key!r} at once; the cap is"
                f" {limits.current.max_chunk_bytes} (limits.set(max_chunk_bytes=...))"
            ).at(store)
        return read_fully(file, length, start)
    except StoreError:
        raise
    except OSError as error:
        raise failure(repr(store), "read", key, error) from error


def not_a_file(what: str, mode: int) -> NotAFileError:
    if stat.S_ISLNK(mode):
        return NotAFileError(
            f"{what} is a symbolic link, which is not followed;"
            " pass follow_symlinks=True if you trust it"
        )
    return NotAFileError(f"{what} is not a regular file (mode {oct(mode)})")


def failure(store: str, doing: str, key: str, error: OSError) -> StoreError:
    """The error of a store for one of the system's."""
    if isinstance(error, StoreError):
        return type(error)(f"{store}: cannot {doing} {key!r}: {error}")
    reason = "a value is stored above it" if error.errno == errno.ENOTDIR else str(error)
    if isinstance(error, IsADirectoryError):
        reason = "there are keys below it"
    if error.errno in NO_LOCKS and doing == "lock":
        reason += "; pass locking=False if only one process writes"
    return StoreError(f"{store}: cannot {doing} {key!r}: {reason}")


def version_of(status: os.stat_result) -> tuple[int, ...]:
    """Equal only for the same content of a file: what changed just now has another version at every
    look."""
    version = settled_version(status)
    return version or (*facts(status), next(_looks), os.getpid(), time.time_ns())


def settled_version(status: os.stat_result) -> tuple[int, ...] | None:
    """The version of a file; None if it changed less than `SETTLED` seconds ago. Times have grains:
    a file that has just been changed may be changed once more without showing it."""
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    return facts(status) if time.time_ns() - changed > SETTLED * 1e9 else None


def facts(status: os.stat_result) -> tuple[int, ...]:
    """Equal for the same content of a file, and for no other but within a grain of its time."""
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


def write_temporary(directory: str, value: Buffer, fsync: bool) -> str:
    """Write the value to a new temporary and give its path; nothing remains on failure."""
    return f"{directory}/{_write_temporary(Folder(None, directory + '/'), value, fsync)}"


def create_temporary(folder: Folder) -> tuple[str, int]:
    """The name and the descriptor of a new temporary."""
    while True:
        name = temporary_name()
        try:
            return name, os.open(folder.of(name), _CREATE, 0o666, dir_fd=folder.fd)
        except FileExistsError:
            continue  # left by a dead process of the same number


def _write_temporary(folder: Folder, value: Buffer, fsync: bool) -> str:
    name, file = create_temporary(folder)
    try:
        try:
            write_fully(file, value)
            if fsync:
                os.fsync(file)
        finally:
            os.close(file)
    except BaseException:
        _remove(folder, name)
        raise
    return name


def put(folder: Folder, name: str, value: Buffer, fsync: bool, *, replace: bool = True) -> None:
    """Write a file whole and then give it its name; FileExistsError if it is another's, unless that
    may be replaced."""
    temporary = _write_temporary(folder, value, fsync)
    try:
        if replace:
            folder.replace(temporary, name)
        else:
            start, end, fd = folder.of(temporary), folder.of(name), folder.fd
            os.link(start, end, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
            _remove(folder, temporary)
        if fsync:
            folder.sync()
    except BaseException:
        _remove(folder, temporary)
        raise


def _remove(folder: Folder, name: str) -> None:
    with contextlib.suppress(OSError):  # what stays is a temporary, which `sweep` finds
        folder.unlink(name)


def sync_directory(path: str) -> None:
    """Wait until names in the directory have reached the disk."""
    if os.name == "nt":
        return  # directories cannot be opened there
    with Folder(os.open(path, LIST)) as folder:
        folder.sync()


def remove(path: str) -> None:
    """Remove a file as well as it goes: what stays is a temporary, which `sweep` finds."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def remove_tree(path: str, dir_fd: int | None = None) -> None:
    """Remove a file or a directory with all that is in it, never following a symbolic link."""
    for attempt in range(_ATTEMPTS):
        try:
            if not stat.S_ISDIR(os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode):
                os.unlink(path, dir_fd=dir_fd)
                return
            import shutil

            shutil.rmtree(path, dir_fd=dir_fd)
            return
        except FileNotFoundError:
            try:
                os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
            except FileNotFoundError:
                return
        except OSError as error:
            # A writer that had found the directory before it was moved here may still add to it.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or attempt == _ATTEMPTS - 1:
                raise
