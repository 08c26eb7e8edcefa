"""Is an LMDB file sound? LMDB trusts every number in its pages and would follow a wrong one out of
its memory map; so each page that it can reach is looked at first, through plain reads.

    check_heads(path)         the two meta pages, before LMDB opens the file
    check_tree(path, number)  all trees of transaction `number`, before LMDB reads them

The file is an array of pages. Pages 0 and 1 are meta pages; the newer one names the roots of two
trees, of which the first holds the numbers of free pages and the second the values. A tree is made
of branch pages and leaf pages of sorted nodes; a large value lies on overflow pages.

This module knows LMDB's file format (version 1 with 64-bit page numbers). It must not know what
the values mean.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from operator import gt, lt
from typing import NamedTuple

from omnizarr.errors import StoreError

_PAGE = struct.Struct("=QHHHH")  # number, padding, flags, lower bound, upper bound
_META = struct.Struct("=IIQQ")  # magic, version, address, size of the map
_TREE = struct.Struct("=IHHQQQQQ")  # page size, flags, depth, pages of three kinds, entries, root
_NODE = struct.Struct("=HHHH")  # low and high part of a number, flags, size of the key
_TAIL = struct.Struct("=QQ")  # last page, number of the transaction

_MAGIC, _VERSION = 0xBEEFC0DE, 1
_BRANCH, _LEAF, _OVERFLOW, _METAPAGE = 1, 2, 4, 8
_BIG, _SUBDATA = 1, 2
_INTEGER_KEYS, _SINGLE_FILE = 8, 0x4000
_NO_PAGE = (1 << 64) - 1
_HEADER = _PAGE.size
_DEEPEST = 32
MOST_KEY_BYTES = 511


class _Tree(NamedTuple):
    pad: int
    flags: int
    depth: int
    branches: int
    leaves: int
    overflows: int
    entries: int
    root: int


class _Head(NamedTuple):
    free: _Tree
    values: _Tree
    last_page: int
    transaction: int

    @property
    def page_size(self) -> int:
        return self.free.pad


def check_heads(path: str) -> None:
    """Raise `StoreError` unless LMDB can open the file without harm."""
    with open(path, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size:
            _heads(path, file.fileno())


def check_tree(path: str, transaction: int) -> None:
    """Raise `StoreError` unless everything that this transaction sees is sound. The caller has the
    transaction open, so that no writer reuses its pages."""
    with open(path, "rb", buffering=0) as file:
        number = file.fileno()
        found = [head for head in _heads(path, number) if head.transaction == transaction]
        if not found:
            # Two later ones were written over it: the file is in use, by writers of its own.
            return
        _Walk(path, number, found[0]).check()


def _heads(path: str, file: int) -> list[_Head]:
    first = _head(path, file, 0)
    heads = [first, _head(path, file, first.page_size)]
    if heads[1].page_size != first.page_size:
        raise _unsound(path, "its meta pages name different page sizes")
    return heads


def _head(path: str, file: int, offset: int) -> _Head:
    size = _HEADER + _META.size + 2 * _TREE.size + _TAIL.size
    data = os.pread(file, size, offset)
    if len(data) < size:
        raise _unsound(path, f"it is too short for a meta page at byte {offset}")
    flags = _PAGE.unpack_from(data)[2]
    magic, version, address, _ = _META.unpack_from(data, _HEADER)
    if (magic, version) != (_MAGIC, _VERSION) or not flags & _METAPAGE:
        raise _unsound(path, f"there is no meta page of version {_VERSION} at byte {offset}")
    at = _HEADER + _META.size
    free, values = (_Tree(*_TREE.unpack_from(data, at + i * _TREE.size)) for i in (0, 1))
    head = _Head(free, values, *_TAIL.unpack_from(data, at + 2 * _TREE.size))
    page = head.page_size
    if not 512 <= page <= 65536 or page & (page - 1):
        raise _unsound(path, f"pages of {page} bytes; expected a power of 2 from 512 to 65536")
    if free.flags & ~(_INTEGER_KEYS | _SINGLE_FILE) or values.flags or address:
        raise _unsound(
            path,
            f"flags {free.flags:#x} and {values.flags:#x}, address {address:#x}; expected a plain"
            " database of one value per key",
        )
    return head


class _Walk:
    """One walk over all pages; each may be met once."""

    def __init__(self, path: str, file: int, head: _Head) -> None:
        self._path = path
        self._file = file
        self._head = head
        self._size = head.page_size
        self._pages = min(os.fstat(file).st_size // self._size, head.last_page + 1)
        self._seen = bytearray(self._pages)

    def check(self) -> None:
        free: list[int] = []
        self._walk(self._head.values, None)
        self._walk(self._head.free, free)
        if len(set(free)) != len(free):
            raise self._unsound("a page is free twice")
        if any(number < self._pages and self._seen[number] for number in free):
            raise self._unsound("a page is free and in use")

    def _walk(self, tree: _Tree, free: list[int] | None) -> None:
        """Look at one tree; if it is the one of free pages, collect their numbers."""
        leaves = entries = 0
        previous = b""
        if tree.root == _NO_PAGE:
            if tree.depth or tree.entries:
                raise self._unsound("a tree without a root that has entries")
            return
        if not 1 <= tree.depth <= _DEEPEST:
            raise self._unsound(f"a tree of depth {tree.depth}")
        for keys, low, high in self._leaves(tree.root, tree.depth, b"", None, free):
            leaves += 1
            entries += len(keys)
            # Rising, and between the bounds that the branches promise.
            rising = keys if high is None else [*keys, high]
            first = rising[0] if rising else low
            if not all(map(lt, rising, rising[1:])) or first < low or not first > previous:
                raise self._unsound(f"keys are out of order after {previous!r}")
            previous = keys[-1] if keys else previous
        if (leaves, entries) != (tree.leaves, tree.entries):
            raise self._unsound(
                f"{entries} entries in {leaves} leaf pages; expected {tree.entries} in"
                f" {tree.leaves}"
            )

    def _leaves(
        self, number: int, depth: int, low: bytes, high: bytes | None, free: list[int] | None
    ) -> Iterator[tuple[list[bytes], bytes, bytes | None]]:
        """The keys of every leaf below a page, with the bounds that their branches promise. Keys of
        the tree of free pages are numbers; they are given so that bytes order them too."""
        page = self._page(number)
        _, _, flags, lower, upper = _PAGE.unpack_from(page)
        if flags != (_LEAF if depth == 1 else _BRANCH):
            raise self._unsound(f"page {number} at depth {depth} has flags {flags:#x}")
        if not _HEADER <= lower <= upper <= self._size or lower % 2:
            raise self._unsound(f"page {number} has bounds {lower} and {upper}")
        offsets = struct.unpack_from(f"={(lower - _HEADER) // 2}H", page, _HEADER)
        if offsets and (min(offsets) < upper or max(offsets) > self._size - _NODE.size):
            raise self._unsound(f"page {number} has a node outside its bounds")
        if depth == 1:
            yield self._leaf(page, number, offsets, free), low, high
            return
        keys: list[bytes] = []
        below: list[int] = []
        for offset in offsets:
            first, second, third, length = _NODE.unpack_from(page, offset)
            begin = offset + _NODE.size
            if length > MOST_KEY_BYTES or begin + length > self._size:
                raise self._unsound(f"page {number} has a node at {offset} that does not fit")
            key = page[begin : begin + length]
            keys.append(key if free is None else key[::-1])
            below.append(first | second << 16 | third << 32)
        if len(keys) < 2:
            raise self._unsound(f"the branch on page {number} has {len(keys)} nodes")
        keys[0] = low  # the first one has no key of its own
        for index, child in enumerate(below):
            above = keys[index + 1] if index + 1 < len(keys) else high
            yield from self._leaves(child, depth - 1, keys[index], above, free)

    def _leaf(
        self, page: bytes, number: int, offsets: tuple[int, ...], free: list[int] | None
    ) -> list[bytes]:
        size, unpack, node = self._size, _NODE.unpack_from, _NODE.size
        keys: list[bytes] = []
        for offset in offsets:
            low, high, flags, length = unpack(page, offset)
            begin = offset + node
            end = begin + length
            value = low | high << 16
            if not 0 < length <= MOST_KEY_BYTES or end + (8 if flags & _BIG else value) > size:
                raise self._unsound(f"page {number} has a node at {offset} that does not fit")
            keys.append(page[begin:end])
            if flags:
                if flags not in (_BIG, _SUBDATA):
                    raise self._unsound(f"a value with flags {flags:#x}")
                if flags == _BIG:
                    self._large(int.from_bytes(page[end : end + 8], "little"), value)
            if free is not None:
                if length != 8 or flags == _SUBDATA:
                    raise self._unsound(f"page {number} has a wrong list of free pages")
                keys[-1] = keys[-1][::-1]
                if flags:
                    at = int.from_bytes(page[end : end + 8], "little") * size + _HEADER
                    free.extend(self._free_pages(os.pread(self._file, value, at)))
                else:
                    free.extend(self._free_pages(page[end : end + value]))
        return keys

    def _page(self, number: int, count: int = 1) -> bytes:
        if not 2 <= number <= self._pages - count:
            raise self._unsound(f"{count} pages from {number} on are not in the file")
        if any(self._seen[number : number + count]):
            raise self._unsound(f"page {number} is used twice")
        self._seen[number : number + count] = b"\1" * count
        page = os.pread(self._file, self._size, number * self._size)
        if _PAGE.unpack_from(page)[0] != number:
            raise self._unsound(f"page {number} says that it is page {_PAGE.unpack_from(page)[0]}")
        return page

    def _large(self, number: int, size: int) -> None:
        """A value on pages of its own."""
        count = -(-(_HEADER + size) // self._size)
        head = self._page(number, count)
        if _PAGE.unpack_from(head)[2] != _OVERFLOW:
            raise self._unsound(f"page {number} holds no large value")
        if int.from_bytes(head[12:16], "little") != count:
            raise self._unsound(f"the value on page {number} does not take {count} pages")

    def _free_pages(self, data: bytes) -> list[int]:
        if len(data) < 8:
            raise self._unsound("a list of free pages is damaged")
        count, *numbers = struct.unpack(f"={len(data) // 8}Q", data[: len(data) // 8 * 8])
        numbers = numbers[:count]
        if len(numbers) != count or not all(map(gt, numbers, numbers[1:])):
            raise self._unsound("a list of free pages is damaged")
        if numbers and not 2 <= numbers[-1] <= numbers[0] <= self._head.last_page:
            raise self._unsound("a free page lies outside the file")
        return numbers

    def _unsound(self, what: str) -> StoreError:
        return _unsound(self._path, what)


def _unsound(path: str, what: str) -> StoreError:
    return StoreError(f"{path!r} is damaged or is no LMDB file: {what}")
