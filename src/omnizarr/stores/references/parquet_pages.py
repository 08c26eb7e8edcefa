"""Bound the memory that the pages of a parquet file take, before they are unpacked.

Sizes in the footer are untrusted, and pyarrow does not use them. It allocates what the header of
each page says, without a bound, and raises if a page unpacks to another size. So footer and headers
are read here as pyarrow will read them, and whatever is unusual in them is refused. (pyarrow's own
view of the columns of a footer ends the process for some broken ones.)

This module knows footers and page headers (parquet.thrift). It must not know what columns mean.
"""

from __future__ import annotations

from omnizarr.stores.references.thrift_compact import (
    I32,
    I64,
    LIST,
    STRUCT,
    BrokenError,
    Fields,
    Reader,
    get,
)

_TAIL, _MAGIC = 8, b"PAR1"
_INDEX_PAGE, _DICTIONARY_PAGE = 1, 2
_HEADERS = {0: (5, 2), _DICTIONARY_PAGE: (7, 2), 3: (8, 4)}
"""For each type of page: the field of its own header, and the field of the encoding in that."""
_ENCODINGS = (0, 2, 8)
"""PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY. Others expand few bytes to many, such as prefixes."""
_SHORTEST = 4  # bytes of a value in a dictionary: its length or an INT32


def check_pages(data: memoryview, leaves: list[int], rows: int, most: int) -> None:
    """Refuse pages of these columns that take more than `most` bytes, packed or unpacked, and
    columns that have not one value in each row. All is a `BrokenError`."""
    reader = Reader(data)
    total = found = 0
    for group in get(_footer(data, reader), 4, LIST):
        count = _natural(group, 3, I64)
        found += count
        columns = get(group, 1, LIST)
        for leaf in leaves:
            if leaf >= len(columns):
                raise BrokenError(f"{len(columns)} columns in a group of rows")
            total = _walk(reader, get(columns[leaf], 3, STRUCT), count, total, most)
    if found != rows:
        raise BrokenError(f"{found} rows where there should be {rows}")


def _footer(data: memoryview, reader: Reader) -> Fields:
    end = len(data) - _TAIL
    begin = end - int.from_bytes(data[end : end + 4], "little") if end > 0 else -1
    if begin < 0 or data[-4:] != _MAGIC:
        raise BrokenError("no footer")
    return reader.struct(begin, end)[0]


def _walk(reader: Reader, column: Fields, rows: int, total: int, most: int) -> int:
    """`total` and what the pages of one column take."""
    values = _natural(column, 5, I64)
    if values != rows:
        raise BrokenError(f"{values} values in {rows} rows")
    at = _natural(column, 9, I64)
    dictionary = _natural(column, 11, I64) if 11 in column else 0
    if 0 < dictionary < at:
        at = dictionary
    end = at + _natural(column, 7, I64)
    if end > len(reader.data):
        raise BrokenError(f"a column in bytes {at} to {end} of {len(reader.data)}")
    seen = 0
    while seen < values:  # pyarrow looks at nothing behind these
        header, at = reader.struct(at, end)
        unpacked, packed = _natural(header, 2), _natural(header, 3)
        at += packed
        if at > end:
            raise BrokenError(f"a page of {packed} bytes goes beyond its column")
        total += max(unpacked, packed)
        if total > most:
            raise BrokenError(f"pages of more than {most} bytes (limits.max_document_bytes)")
        seen += _values(header, unpacked)
    if seen != values:
        raise BrokenError(f"pages of {seen} values where there should be {values}")
    return total


def _values(header: Fields, unpacked: int) -> int:
    """How many values of its column a page has."""
    kind = _natural(header, 1)
    if kind == _INDEX_PAGE:
        return 0
    if kind not in _HEADERS:
        raise BrokenError(f"a page of type {kind}")
    field, place = _HEADERS[kind]
    own = get(header, field, STRUCT)
    values, encoding = _natural(own, 1), _natural(own, place)
    if encoding not in _ENCODINGS:
        raise BrokenError(f"values in encoding {encoding}, expected plain or dictionary")
    if kind != _DICTIONARY_PAGE:
        return values
    if values * _SHORTEST > unpacked:
        raise BrokenError(f"a dictionary of {values} values in {unpacked} bytes")
    return 0


def _natural(fields: Fields, number: int, kind: int = I32) -> int:
    value: int = get(fields, number, kind)
    if value < 0:
        raise BrokenError(f"field {number} is {value}, expected a number from 0 on")
    return value
