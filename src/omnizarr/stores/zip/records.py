"""The records of a ZIP archive, as APPNOTE.TXT 6.3 lays them out (sections 4.3 and 4.5).

Parsing trusts nothing: every offset is checked against the archive before it is used, and what
does not fit raises `StoreError`. Building writes what the parser reads, with ZIP64 fields only
where a number needs them.

This module knows bytes and positions. It must not know keys, files or compression.
"""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable
from typing import NamedTuple

from omnizarr import limits
from omnizarr.errors import LimitError, StoreError
from omnizarr.model.store import Buffer

ReadAt = Callable[[int, int], Buffer]
"""`read(offset, length)`: the bytes, or fewer at the end of the archive."""

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")

_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_END64_MARK, _LOCATOR64_MARK = b"PK\6\6", b"PK\6\7"

_MOST16 = 0xFFFF
_MOST32 = 0xFFFFFFFF
_EXTRA64 = 1
_MADE_BY_UNIX = 3 << 8
_PLAIN, _NEEDS_ZIP64 = 20, 45

ENCRYPTED = 0x1
SIZES_FOLLOW = 0x8
UTF8 = 0x800
SEAL = b"CRC-32 of the directory: "
"""How the comment of a sealed archive begins."""


class Member(NamedTuple):
    """One member of an archive."""

    name: bytes
    flags: int
    method: int
    modified: int
    """Date and time as MS-DOS packs them."""
    crc: int
    compressed: int
    size: int
    offset: int
    """Where the local header begins."""
    attributes: int


class Directory(NamedTuple):
    """The central directory: what is in the archive."""

    entries: list[Member]
    start: int
    """Where the directory begins, which is where the data end."""
    comment: bytes
    checksum: int
    """CRC-32 of the directory's bytes, without the end records."""

    @property
    def is_sealed(self) -> bool:
        """Whether the comment holds this checksum, so that no name in the directory is damaged."""
        return self.comment == seal(self.checksum)


def seal(checksum: int) -> bytes:
    """The comment of an archive whose directory has this checksum.

    ZIP has checksums for the data but none for the directory. Other writers that keep the comment
    change the directory, and then the seal no longer holds: that proves nothing.
    """
    return SEAL + b"%08x" % checksum


def read_directory(read: ReadAt, size: int) -> Directory:
    """The central directory of an archive of `size` bytes."""
    end, fields, comment = _find_end(read, size)
    _, disk, first_disk, here, count, length, offset, _ = fields
    limit = end
    locator_at = end - _LOCATOR64.size
    locator = bytes(read(locator_at, _LOCATOR64.size)) if locator_at >= 0 else b""
    if locator[:4] == _LOCATOR64_MARK and len(locator) == _LOCATOR64.size:
        limit, (_, _, _, _, disk, first_disk, here, count, length, offset) = _find_end64(
            read, locator_at, _LOCATOR64.unpack(locator)[2]
        )
    if disk or first_disk or here != count:
        raise StoreError("a ZIP archive in several parts cannot be read")
    start = limit - length
    shift = start - offset  # of everything, if something was put before the archive
    if start < 0 or shift < 0:
        raise StoreError(
            f"corrupt ZIP archive: a directory of {length} bytes at {offset} does not fit before"
            f" its end record at {limit}"
        )
    if length > limits.current.max_document_bytes:
        raise LimitError(
            f"a ZIP directory of {length} bytes; the cap is {limits.current.max_document_bytes}"
            " (limits.set(max_document_bytes=...))"
        )
    data = bytes(read(start, length))
    entries = _parse_entries(data, length, shift)
    if len(entries) & _MOST16 != count & _MOST16:  # old writers let the count overflow
        raise StoreError(f"corrupt ZIP archive: {count} members announced, {len(entries)} found")
    return Directory(entries, start, comment, zlib.crc32(data))


def _find_end(read: ReadAt, size: int) -> tuple[int, tuple[int, ...], bytes]:
    """Position, fields and comment of the end record.

    Only its comment should follow it. If no record is followed by exactly its comment, the last
    one is taken: some archives are padded.
    """
    begin = max(0, size - _END.size - _MOST16)
    tail = bytes(read(begin, size - begin))
    found: tuple[int, tuple[int, ...], bytes] | None = None
    at = len(tail)
    while (at := tail.rfind(_END_MARK, 0, at)) >= 0:
        if at + _END.size > len(tail):
            continue
        fields = _END.unpack_from(tail, at)
        comment = tail[at + _END.size :]
        if fields[-1] == len(comment):
            return begin + at, fields, comment
        if found is None and fields[-1] < len(comment):
            found = begin + at, fields, comment[: fields[-1]]
    if found is None:
        raise StoreError("not a ZIP archive, or one that was cut off: no end record found")
    return found


def _find_end64(read: ReadAt, before: int, offset: int) -> tuple[int, tuple[int, ...]]:
    # Where the locator says, or right before it if something was put before the archive.
    for position in (offset, before - _END64.size):
        if 0 <= position <= before - _END64.size:
            record = bytes(read(position, _END64.size))
            if len(record) == _END64.size and record[:4] == _END64_MARK:
                return position, _END64.unpack(record)
    raise StoreError("corrupt ZIP archive: no ZIP64 end record found")


def _parse_entries(data: bytes, length: int, shift: int) -> list[Member]:
    if len(data) != length:
        raise StoreError("corrupt ZIP archive: its directory is cut off")
    entries: list[Member] = []
    at = 0
    while at < length:
        if at + _CENTRAL.size > length or data[at : at + 4] != _CENTRAL_MARK:
            raise StoreError(f"corrupt ZIP archive: no directory record at byte {at} of {length}")
        (
            *_, flags, method, clock, date, crc, compressed, size,
            name_length, extra_length, comment_length, _, _, attributes, offset,
        ) = _CENTRAL.unpack_from(data, at)  # fmt: skip
        at += _CENTRAL.size
        name = data[at : at + name_length]
        at += name_length
        if _MOST32 in (compressed, size, offset):
            extra = data[at : at + extra_length]
            size, compressed, offset = _wide(extra, size, compressed, offset)
        at += extra_length + comment_length
        if at > length:
            raise StoreError("corrupt ZIP archive: a directory record is cut off")
        entries.append(
            Member(
                name, flags, method, date << 16 | clock, crc, compressed, size,
                offset + shift, attributes,
            )
        )  # fmt: skip
    return entries


def _wide(extra: bytes, *numbers: int) -> list[int]:
    """The numbers, those that say "too large" replaced by the ZIP64 field (section 4.5.3)."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        at += 4
        if kind == _EXTRA64:
            needed = sum(number == _MOST32 for number in numbers)
            if length < 8 * needed or at + 8 * needed > len(extra):
                raise StoreError("corrupt ZIP archive: a ZIP64 field is cut off")
            wide = iter(struct.unpack_from(f"<{needed}Q", extra, at))
            return [next(wide) if number == _MOST32 else number for number in numbers]
        at += length
    return list(numbers)


class Local(NamedTuple):
    """What the header in front of a member's data says."""

    name: bytes
    flags: int
    method: int
    crc: int
    compressed: int
    size: int
    start: int
    """Where the data begin."""


def read_local(read: ReadAt, entry: Member, limit: int) -> Local:
    """The header in front of the entry's data, which must end at `limit` at the latest."""
    wanted = _LOCAL.size + len(entry.name)
    header = bytes(read(entry.offset, wanted)) if entry.offset < limit else b""
    if len(header) < _LOCAL.size or header[:4] != _LOCAL_MARK:
        raise StoreError(f"corrupt ZIP archive: no member begins at byte {entry.offset}")
    _, _, flags, method, _, _, crc, compressed, size, name_length, extra_length = (
        _LOCAL.unpack_from(header)
    )
    start = entry.offset + _LOCAL.size + name_length + extra_length
    if start + entry.compressed > limit:
        raise StoreError(
            f"corrupt ZIP archive: {entry.compressed} bytes at {start} pass the end of the data"
        )
    name = header[_LOCAL.size :]
    if name_length != len(name):
        name = bytes(read(entry.offset + _LOCAL.size, name_length))
    return Local(name, flags, method, crc, compressed, size, start)


def data_start(read: ReadAt, entry: Member, limit: int) -> int:
    """Where the entry's data begin, if the header in front of them is that of the entry.

    The directory and the header repeat each other. A damaged name, or a damaged offset that points
    at another member, would otherwise show that member's data with a valid checksum.
    """
    local = read_local(read, entry, limit)
    found: tuple[object, ...] = (local.name, local.method, local.flags & ENCRYPTED)
    expected: tuple[object, ...] = (entry.name, entry.method, entry.flags & ENCRYPTED)
    wide = _MOST32 in (local.compressed, local.size)  # the numbers are in a ZIP64 field
    if not (local.flags & SIZES_FOLLOW or wide):
        found += (local.crc, local.compressed, local.size)
        expected += (entry.crc, entry.compressed, entry.size)
    if found != expected:
        raise StoreError(
            f"corrupt ZIP archive: the directory and the header at byte {entry.offset} differ in"
            " (name, method, encryption, checksum, compressed size, size):"
            f" {expected} and {found}"
        )
    return local.start


def new_entry(name: str, method: int, crc: int, compressed: int, size: int, offset: int) -> Member:
    now = time.localtime()
    clock = now.tm_hour << 11 | now.tm_min << 5 | now.tm_sec // 2
    date = max(now.tm_year - 1980, 0) << 9 | now.tm_mon << 5 | now.tm_mday
    flags = 0 if name.isascii() else UTF8
    if method == 14:
        flags |= 2  # the LZMA stream ends with a marker (section 5.8.9)
    attributes = 0o100644 << 16
    return Member(
        name.encode(), flags, method, date << 16 | clock, crc, compressed, size, offset, attributes
    )


def local_header(entry: Member) -> bytes:
    large = entry.size >= _MOST32 or entry.compressed >= _MOST32
    extra = struct.pack("<2H2Q", _EXTRA64, 16, entry.size, entry.compressed) if large else b""
    return (
        _LOCAL.pack(
            _LOCAL_MARK,
            _NEEDS_ZIP64 if large else _PLAIN,
            entry.flags & ~SIZES_FOLLOW,
            entry.method,
            entry.modified & _MOST16,
            entry.modified >> 16,
            entry.crc,
            _MOST32 if large else entry.compressed,
            _MOST32 if large else entry.size,
            len(entry.name),
            len(extra),
        )
        + entry.name
        + extra
    )


def directory_bytes(entries: list[Member], start: int, comment: bytes | None) -> bytes:
    """The central directory and the end records, to be written at `start`. Without a comment it
    is sealed."""
    data = b"".join(map(_central_header, entries))
    parts = [data]
    length = len(data)
    comment = seal(zlib.crc32(data)) if comment is None else comment
    count = len(entries)
    if needs_zip64(count, start + length):
        end = start + length
        made_by = _MADE_BY_UNIX | _NEEDS_ZIP64
        parts.append(
            _END64.pack(
                _END64_MARK,
                _END64.size - 12,
                made_by,
                _NEEDS_ZIP64,
                0,
                0,
                count,
                count,
                length,
                start,
            )
        )
        parts.append(_LOCATOR64.pack(_LOCATOR64_MARK, 0, end, 1))
    small = min(count, _MOST16)
    parts.append(
        _END.pack(
            _END_MARK, 0, 0, small, small, min(length, _MOST32), min(start, _MOST32), len(comment)
        )
    )
    parts.append(comment)
    return b"".join(parts)


def needs_zip64(count: int, end: int) -> bool:
    """Whether so many members, or data that end there, cannot be written without ZIP64."""
    return count >= _MOST16 or end >= _MOST32


def _central_header(entry: Member) -> bytes:
    numbers = (entry.size, entry.compressed, entry.offset)
    wide = [number for number in numbers if number >= _MOST32]
    extra = struct.pack(f"<2H{len(wide)}Q", _EXTRA64, 8 * len(wide), *wide) if wide else b""
    size, compressed, offset = (min(number, _MOST32) for number in numbers)
    version = _NEEDS_ZIP64 if wide else _PLAIN
    return (
        _CENTRAL.pack(
            _CENTRAL_MARK,
            _MADE_BY_UNIX | version,
            version,
            entry.flags & ~SIZES_FOLLOW,
            entry.method,
            entry.modified & _MOST16,
            entry.modified >> 16,
            entry.crc,
            compressed,
            size,
            len(entry.name),
            len(extra),
            0,
            0,
            0,
            entry.attributes,
            offset,
        )
        + entry.name
        + extra
    )
