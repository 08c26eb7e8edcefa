"""Arrange a TIFF anew as a Cloud Optimized GeoTIFF: all directories first, then the tiles, those of
the smallest overview in front.

The pages of the file are in one chain, and each has tiles. Tiles are copied without decoding them.

This module knows the structure of TIFF. It must not know what tags mean, but for three.
https://docs.ogc.org/is/21-026/21-026.html
"""

from __future__ import annotations

import os
import struct
from typing import IO, NamedTuple

from omnizarr.errors import MetadataError

_OFFSETS, _COUNTS = 324, 325
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4,
          16: 8, 17: 8, 18: 8}  # fmt: skip
_INTEGERS = {3: "H", 4: "I", 16: "Q"}


class _Form(NamedTuple):
    """Classic TIFF or BigTIFF, little-endian."""

    number: str
    entry: str
    offset: str

    @property
    def inline(self) -> int:
        return struct.calcsize(f"<{self.offset}")


_CLASSIC, _BIG = _Form("H", "HHI", "I"), _Form("Q", "HHQ", "Q")
_Tags = dict[int, tuple[int, int, bytes]]
"""Type, number of values and the values, by the code of the tag."""


def arrange(source: str, target: str) -> None:
    """Write a TIFF that tifffile wrote in another order."""
    with open(source, "rb") as old, open(target, "xb") as new:
        form, header, pages = _read(old)
        offsets = [_numbers(page, _OFFSETS) for page in pages]
        counts = [_numbers(page, _COUNTS) for page in pages]
        position = len(header) + sum(_length(form, page) for page in pages)
        placed: list[list[int]] = [[] for _ in pages]
        for number in reversed(range(len(pages))):
            for count in counts[number]:
                position += position % 2
                placed[number].append(position if count else 0)
                position += count
        if form is _CLASSIC and position >= 1 << 32:
            raise MetadataError("the file passes 4 GiB").advise("write it with bigtiff=True")
        new.write(header)
        for number, page in enumerate(pages):
            kind, amount, _ = page[_OFFSETS]
            data = struct.pack(f"<{amount}{_INTEGERS[kind]}", *placed[number])
            page[_OFFSETS] = kind, amount, data
            _write(new, form, page, last=number == len(pages) - 1)
        for number in reversed(range(len(pages))):
            for before, after, count in zip(
                offsets[number], placed[number], counts[number], strict=True
            ):
                if count:
                    old.seek(before)
                    new.write(b"\0" * (after - new.tell()))
                    _copy(old, new, count)


def _copy(old: IO[bytes], new: IO[bytes], count: int) -> None:
    data = old.read(count)
    if len(data) != count:
        raise MetadataError(f"{os.fspath(old.name)!r} ends within a tile")
    new.write(data)


def _read(file: IO[bytes]) -> tuple[_Form, bytes, list[_Tags]]:
    begin = file.read(16)
    form = _BIG if begin[:4] == b"II+\0" else _CLASSIC
    at = 8 if form is _BIG else 4
    [position] = struct.unpack_from(f"<{form.offset}", begin, at)
    size = at + form.inline
    header = begin[:at] + struct.pack(f"<{form.offset}", size)
    pages = []
    while position:
        file.seek(position)
        tags: _Tags = {}
        [count] = struct.unpack(f"<{form.number}", file.read(struct.calcsize(f"<{form.number}")))
        width = struct.calcsize(f"<{form.entry}") + form.inline
        entries = file.read(count * width)
        [position] = struct.unpack(f"<{form.offset}", file.read(form.inline))
        for number in range(count):
            code, kind, amount = struct.unpack_from(f"<{form.entry}", entries, number * width)
            value = entries[(number + 1) * width - form.inline : (number + 1) * width]
            length = amount * _SIZES[kind]
            if length > form.inline:
                file.seek(struct.unpack(f"<{form.offset}", value)[0])
                value = file.read(length)
            tags[code] = kind, amount, value[:length]
        pages.append(tags)
    return form, header, pages


def _numbers(page: _Tags, code: int) -> tuple[int, ...]:
    kind, count, data = page[code]
    return struct.unpack(f"<{count}{_INTEGERS[kind]}", data)


def _length(form: _Form, page: _Tags) -> int:
    """Bytes of a directory with its values."""
    fixed = struct.calcsize(f"<{form.number}") + form.inline
    fixed += len(page) * (struct.calcsize(f"<{form.entry}") + form.inline)
    fixed += fixed % 2
    long = [len(data) for _, _, data in page.values() if len(data) > form.inline]
    return fixed + sum(size + size % 2 for size in long)


def _write(new: IO[bytes], form: _Form, page: _Tags, *, last: bool) -> None:
    begin = new.tell()
    position = begin + struct.calcsize(f"<{form.number}") + form.inline
    position += len(page) * (struct.calcsize(f"<{form.entry}") + form.inline)
    position += position % 2
    entries, values = b"", b""
    for code in sorted(page):
        kind, amount, data = page[code]
        entries += struct.pack(f"<{form.entry}", code, kind, amount)
        if len(data) <= form.inline:
            entries += data.ljust(form.inline, b"\0")
            continue
        entries += struct.pack(f"<{form.offset}", position)
        data += b"\0" * (len(data) % 2)
        values += data
        position += len(data)
    following = 0 if last else begin + _length(form, page)
    directory = struct.pack(f"<{form.number}", len(page)) + entries
    directory += struct.pack(f"<{form.offset}", following)
    new.write(directory + b"\0" * (len(directory) % 2) + values)
