"""An open directory, in which names are looked up wherever the directory is moved meanwhile.

Where the system has no descriptors of directories (Windows), a folder is its path, and names are
looked up in whatever has that path.

This module knows descriptors and single names. It must not know keys, roots or symbolic links.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from omnizarr.config import config
from omnizarr.runtime import parallel
from omnizarr.runtime.native_core import Core, core

CLOEXEC = getattr(os, "O_CLOEXEC", 0)
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
DIRECTORY = getattr(os, "O_DIRECTORY", 0)
HAS_DESCRIPTORS = bool(
    {os.open, os.stat, os.rename, os.unlink, os.mkdir, os.rmdir, os.link} <= os.supports_dir_fd
    and os.scandir in os.supports_fd
    and NOFOLLOW
    and DIRECTORY
)
SEARCH = getattr(os, "O_PATH", os.O_RDONLY) | DIRECTORY | CLOEXEC
"""To look names up, for which the directory need not be readable."""
LIST = os.O_RDONLY | DIRECTORY | CLOEXEC
"""To list names, or to synchronize."""

_OPENAT2 = 437  # the number on every architecture that Python 3.11 runs on, except Alpha
_AT_FDCWD = -100
_RESOLVE_NO_SYMLINKS = 0x04


class Folder:
    """A directory. Pass `of(name)` and `dir_fd=fd` to the functions of `os`."""

    __slots__ = ("fd", "prefix")

    def __init__(self, fd: int | None, prefix: str = "") -> None:
        self.fd = fd
        """The descriptor, which the folder closes; None where it is a path."""
        self.prefix = prefix

    def of(self, name: str) -> str:
        return self.prefix + name

    def status(self, name: str, *, follow_symlinks: bool = False) -> os.stat_result:
        return os.stat(self.prefix + name, dir_fd=self.fd, follow_symlinks=follow_symlinks)

    def names(self) -> list[str]:
        """Every name in the directory, which was opened to `LIST`."""
        return os.listdir(self.prefix if self.fd is None else self.fd)

    def scan(self) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        """The same, with what each of them is."""
        if self.fd is None:
            return os.scandir(self.prefix)
        return os.scandir(self.fd)

    def unlink(self, name: str) -> None:
        os.unlink(self.prefix + name, dir_fd=self.fd)

    def replace(self, name: str, new: str) -> None:
        prefix, fd = self.prefix, self.fd
        os.replace(prefix + name, prefix + new, src_dir_fd=fd, dst_dir_fd=fd)

    def sync(self) -> None:
        """Wait until the names in the directory have reached the disk."""
        if self.fd is None:
            return  # directories cannot be opened there
        file = os.open(".", LIST, dir_fd=self.fd)
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def close(self) -> None:
        if self.fd is not None:
            fd, self.fd = self.fd, None
            self.prefix = "\0closed/"  # which no system call takes
            os.close(fd)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def rename(start: Folder, name: str, end: Folder, new: str) -> None:
    os.rename(start.of(name), end.of(new), src_dir_fd=start.fd, dst_dir_fd=end.fd)


Open = Callable[[bytes, int], int]
"""(path, flags): opens a path if no part of it is a symbolic link, in one system call. A
descriptor, or minus the number of the error (ELOOP for a link)."""
ReadFile = Callable[[bytes, int, int, int | None, int], bytes | int]
"""(path, flags, start, stop, most): opens in the same way, and gives `value[start:stop]` of a
regular file if that is no longer than `most`. Minus the number of an error in any other case."""


@cache
def opener() -> Open | None:
    """How to open a path without following links; None where the system cannot do so."""
    if not sys.platform.startswith("linux") or sys.getfilesystemencoding() != "utf-8":
        return None
    native = core()
    function = _with_ctypes() if native is None else native.file_open
    found = -1 if function is None else function(b"/", SEARCH)
    if found < 0:
        return None  # an old kernel, or a sandbox that does not know the call
    os.close(found)
    return function


@cache
def reader() -> ReadFile | None:
    """How to open and read a file in one call; None without the native core."""
    native: Core | None = core()
    return None if native is None or opener() is None else native.file_read


def read_files(
    directory: bytes, names: Sequence[str], flags: int, stop: int, most: int
) -> list[bytes | int]:
    """`reader` for the first `stop` bytes of many files below a directory, on several threads."""
    native: Core | None = core()
    if native is None:
        return [-errno.ENOSYS] * len(names)
    wanted = config.get("threads")
    return native.file_read_many(directory, names, flags, stop, most, wanted, parallel.check)


def _with_ctypes() -> Open | None:
    import ctypes  # NumPy has loaded it

    class How(ctypes.Structure):
        _fields_ = [(name, ctypes.c_uint64) for name in ("flags", "mode", "resolve")]

    try:
        call = ctypes.CDLL(None, use_errno=True).syscall
    except (OSError, AttributeError):
        return None
    call.restype = ctypes.c_long
    # Arguments that are converted once; the path is passed as it is.
    number, start = ctypes.c_long(_OPENAT2), ctypes.c_int(_AT_FDCWD)
    size, get_errno = ctypes.c_size_t(ctypes.sizeof(How)), ctypes.get_errno
    prepared: dict[int, Any] = {}

    def open_without_links(path: bytes, flags: int) -> int:
        how = prepared.get(flags)
        if how is None:
            how = prepared[flags] = ctypes.byref(How(flags, 0, _RESOLVE_NO_SYMLINKS))
        file: int = call(number, start, path, how, size)
        return file if file >= 0 else -get_errno()

    return open_without_links
