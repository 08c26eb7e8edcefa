"""Reading several parts of one version of a file.

This module knows an open file. It must not know how keys become paths.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from typing import Self

from omnizarr.model.store import Buffer, ByteRange
from omnizarr.stores.local import files


class Snapshot:
    """Parts of a file that is open inside the `with` block: it stays what it is when another file
    takes its name. Its status is read once.

    opening: gives a descriptor, or a negative number if there is no such file.
    """

    __slots__ = ("_file", "_key", "_open", "_status", "_store")

    def __init__(self, store: object, key: str, opening: Callable[[str], int]) -> None:
        self._store, self._key, self._open = store, key, opening
        self._file = -1
        self._status: os.stat_result | None = None

    def __enter__(self) -> Self:
        self._file = self._open(self._key)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._file >= 0:
            file, self._file = self._file, -1
            os.close(file)

    def __call__(self, byte_range: ByteRange | None) -> Buffer | None:
        if self._file < 0:
            return None
        return files.read_part(self._store, self._key, self._file, byte_range, self._look())

    @property
    def version(self) -> Hashable | None:
        return None if self._file < 0 else files.settled_version(self._look())

    @property
    def size(self) -> int | None:
        """The length of the value; None if there is no such file."""
        return None if self._file < 0 else self._look().st_size

    def expect(self, version: Hashable) -> bool:
        return self.version == version

    def changed(self) -> bool:
        """Whether the open file itself was written since the first look. Another file that took its
        name changes nothing in it."""
        if self._file < 0:
            return False
        before = self._look()
        now = self._fresh()
        if (before.st_size, before.st_mtime_ns) != (now.st_size, now.st_mtime_ns):
            return True
        # A name that was given or taken changes this time too.
        return before.st_ctime_ns != now.st_ctime_ns and before.st_nlink == now.st_nlink

    def _look(self) -> os.stat_result:
        if self._status is None:
            self._status = self._fresh()
        return self._status

    def _fresh(self) -> os.stat_result:
        try:
            return os.fstat(self._file)
        except OSError as error:
            raise files.failure(repr(self._store), "read", self._key, error) from error
