"""The files of `dbm.dumb`, written so that nothing is lost or torn.

`NAME.dir` is the index: one line per key, `'key', (position, size)`, where a later line replaces an
earlier one. `NAME.dat` holds the values, each from a multiple of 512 bytes on. The standard library
overwrites values in place and keeps changes of the index in memory, so a crash tears both. Here a
value is written to free blocks and then named by one appended line: a reader finds the old value or
the new one, also after a crash. Lines that other processes appended are read on, not all anew. The
standard library reads and writes the same files.

The caller holds a lock that excludes all other users of these functions.

This module knows the two files. It must not know what a store is.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable

from omnizarr import limits
from omnizarr.errors import LimitError, StoreError
from omnizarr.model.store import ByteRange, span
from omnizarr.stores.local.files import read_fully, write_fully
from omnizarr.stores.local.temporary_names import temporary_name

BLOCK = 512
_LINE = re.compile(
    r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"),[ ]\((\d{1,18}),[ ](\d{1,18})\)\s*\Z"""
)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def _blocks(size: int) -> int:
    return -(-size // BLOCK)


class DumbDatabase:
    """Keys and values of the files `path`.dir and `path`.dat."""

    def __init__(self, path: str, mode: int = 0o666) -> None:
        self._index_path = path + ".dir"
        self._data_path = path + ".dat"
        self._mode = mode
        self._index_file = self._data_file = -1
        self._writable = False
        self._forget()

    def _forget(self) -> None:
        self._places: dict[bytes, tuple[int, int]] = {}
        """Position and size of every value."""
        self._read = 0
        """How many bytes of the index are known."""
        self._lines = 0
        self._gaps: list[tuple[int, int]] | None = None
        """Free blocks between values: first one, and how many; None if they are not known."""
        self._end = 0
        """The first block after all values, if the gaps are known."""

    def close(self) -> None:
        files = self._index_file, self._data_file
        self._index_file = self._data_file = -1
        self._forget()
        for file in files:
            if file >= 0:
                os.close(file)

    # -- the caller holds the lock ------------------------------------------------------------
    def refresh(self, write: bool) -> bool:
        """Read what other processes changed; False if there is no database. With `write` it is
        created."""
        if not self._is_current() or (write and not self._writable):
            self.close()
            flags = (os.O_RDWR | os.O_CREAT if write else os.O_RDONLY) | _CLOEXEC
            try:
                self._data_file = os.open(self._data_path, flags, self._mode)
                self._index_file = os.open(
                    self._index_path, flags | (os.O_APPEND if write else 0), self._mode
                )
            except FileNotFoundError:
                self.close()
                return False
            self._writable = write
        size = os.fstat(self._index_file).st_size
        if size < self._read:
            self._forget()
        if size > self._read:
            self._read_on(size, write)
        return True

    def _is_current(self) -> bool:
        """Whether the open files are still those of these names."""
        pairs = (self._index_path, self._index_file), (self._data_path, self._data_file)
        for path, file in pairs:
            if file < 0:
                return False
            try:
                if not os.path.samestat(os.stat(path), os.fstat(file)):
                    return False
            except FileNotFoundError:
                return False
        return True

    def _read_on(self, size: int, write: bool) -> None:
        if size > limits.current.max_document_bytes:
            raise LimitError(
                f"{self._index_path!r}: an index of {size} bytes; the cap is"
                f" {limits.current.max_document_bytes} (limits.set(max_document_bytes=...))"
            )
        text = read_fully(self._index_file, size - self._read, self._read)
        lines = bytes(text).decode("latin-1").split("\n")
        last = lines.pop()
        parsed = [self._parse(line) for line in lines if line]
        if last and _LINE.match(last):  # an editor may have removed the last end of line
            parsed.append(self._parse(last))
            if write:
                write_fully(self._index_file, b"\n")
                size += 1
        elif last:  # a writer was killed before it had written the whole line
            size -= len(last)
            if write:
                os.ftruncate(self._index_file, size)
        self._read = size
        self._places.update((key, (position, length)) for key, position, length in parsed)
        self._lines += len(parsed)
        self._gaps = None

    def _parse(self, line: str) -> tuple[bytes, int, int]:
        match = _LINE.match(line) if len(line) < 1 << 16 else None
        if match is None:
            raise StoreError(
                f"{self._index_path!r} is damaged or is no index of dbm.dumb: expected a line"
                f" like 'key', (512, 7), found {line[:80]!r}"
            )
        text, position, size = match.groups()
        try:
            name = ast.literal_eval(text) if "\\" in text else text[1:-1]
            return name.encode("latin-1"), int(position), int(size)
        except (ValueError, SyntaxError) as error:
            raise StoreError(f"{self._index_path!r} is damaged: {text[:80]!r} is no key") from error

    # -- values -------------------------------------------------------------------------------
    def keys(self) -> list[bytes]:
        return list(self._places)

    def size(self, key: bytes) -> int | None:
        place = self._places.get(key)
        return None if place is None else place[1]

    def get(self, key: bytes, byte_range: ByteRange | None) -> bytes | None:
        place = self._places.get(key)
        if place is None:
            return None
        position, size = place
        start, stop = (0, size) if byte_range is None else span(byte_range, size)
        there = os.fstat(self._data_file).st_size
        if position + size > there:
            raise StoreError(
                f"{self._data_path!r} is damaged: the index promises {size} bytes at {position}"
                f" for {key!r}, but the file has {there}"
            )
        if stop - start > limits.current.max_chunk_bytes:
            raise LimitError(
                f"{self._data_path!r}: reading {stop - start} bytes of {key!r} at once; the cap is"
                f" {limits.current.max_chunk_bytes} (limits.set(max_chunk_bytes=...))"
            )
        return bytes(read_fully(self._data_file, stop - start, position + start))

    def set(self, key: bytes, value: bytes) -> None:
        position = self._free_block(_blocks(len(value))) * BLOCK if value else 0
        os.lseek(self._data_file, position, os.SEEK_SET)
        write_fully(self._data_file, value)
        line = self._line(key, position, len(value))
        write_fully(self._index_file, line)
        self._read += len(line)
        self._lines += 1
        self._release(key)
        self._places[key] = (position, len(value))
        if self._lines > 2 * len(self._places) + 1000:
            self._rewrite()

    def delete(self, keys: Iterable[bytes]) -> None:
        for key in keys:
            self._release(key)
            del self._places[key]
        self._rewrite()
        if not self._places:
            os.ftruncate(self._data_file, 0)
            self._gaps = None

    def _line(self, key: bytes, position: int, size: int) -> bytes:
        return f"{key.decode('latin-1')!r}, ({position}, {size})\n".encode("latin-1")

    def _rewrite(self) -> None:
        """Replace the index by one without outdated lines."""
        data = b"".join(self._line(key, *place) for key, place in self._places.items())
        temporary = os.path.join(os.path.dirname(self._index_path), temporary_name())
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | _CLOEXEC
        file = os.open(temporary, flags, self._mode)
        try:
            write_fully(file, data)
            os.replace(temporary, self._index_path)
        except BaseException:
            os.close(file)
            os.unlink(temporary)
            raise
        os.close(self._index_file)
        self._index_file = file
        self._read = len(data)
        self._lines = len(self._places)

    # -- free blocks --------------------------------------------------------------------------
    def _free_block(self, needed: int) -> int:
        """The first of `needed` blocks in a row that no value uses."""
        if self._gaps is None or len(self._gaps) > 2 * len(self._places) + 1000:
            self._gaps = self._find_gaps()
        for index, (first, count) in enumerate(self._gaps):
            if count >= needed:
                self._gaps[index : index + 1] = [(first + needed, count - needed)] * (
                    count > needed
                )
                return first
        self._end += needed
        return self._end - needed

    def _find_gaps(self) -> list[tuple[int, int]]:
        gaps: list[tuple[int, int]] = []
        end = top = 0
        for position, size in sorted(self._places.values()):
            first = position // BLOCK
            if first > end:
                gaps.append((end, first - end))
            end = max(end, _blocks(position + size))
            top = max(top, position + size)
        there = os.fstat(self._data_file).st_size
        if top > there:
            raise StoreError(
                f"{self._data_path!r} is damaged: the index promises values up to byte {top},"
                f" but the file has {there}; copy what can be read"
            )
        self._end = end
        return gaps

    def _release(self, key: bytes) -> None:
        position, size = self._places.get(key, (0, 0))
        if size and self._gaps is not None:
            self._gaps.append((position // BLOCK, _blocks(size)))
