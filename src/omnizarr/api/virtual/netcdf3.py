"""NetCDF-3 files as facts: the classic format, with 64-bit offsets, and with 64-bit data (CDF-5).

    header = magic numrecs dim_list gatt_list var_list

(the NetCDF Classic Format Specification; CDF-5 of PnetCDF has counts of 8 bytes). All numbers are
big-endian. A variable without the record dimension is one span. Records of all variables that have
it alternate, so that each record of each variable is a chunk.

This module knows the header, and trusts nothing in it: counts are bounded by the size of the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from math import prod
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np

from omnizarr.api.virtual.facts import (
    HELD_BYTES,
    WANTED_BYTES,
    Span,
    VirtualArray,
    VirtualFile,
    as_json,
    contiguous,
    held,
    is_coordinate,
)
from omnizarr.api.virtual.files import Place
from omnizarr.errors import MetadataError, ZarrError
from omnizarr.model.codec import Json
from omnizarr.model.grids import NDArray, Shape

_TYPES = {
    1: "i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8",
    7: "u1", 8: ">u2", 9: ">u4", 10: ">i8", 11: ">u8",
}  # fmt: skip
_DIMENSIONS, _VARIABLES, _ATTRIBUTES = 10, 11, 12
_MOST_RECORDS = 1 << 22
_FILL = "_FillValue"

T = TypeVar("T")


class _Dimension(NamedTuple):
    name: str
    length: int
    """0 for the record dimension."""


class _Variable(NamedTuple):
    name: str
    dimensions: tuple[int, ...]
    attributes: dict[str, Any]
    dtype: np.dtype[Any]
    begin: int


def scan(place: Place, wanted: frozenset[str], skip: frozenset[str]) -> VirtualFile:
    """All variables of a file. `wanted`: names of those whose values are wanted, if they are
    small; `skip`: names to leave out."""
    with place.open() as file:
        try:
            return _Header(file, place).facts(wanted, skip)
        except ZarrError as error:
            raise error.at(f"{place.shown!r}") from error


class _Header:
    """The header, read from begin to end."""

    def __init__(self, file: IO[bytes], place: Place) -> None:
        self._file, self._place = file, place
        self._size = file.seek(0, os.SEEK_END)
        file.seek(0)
        magic = self._bytes(4)
        if magic[:3] != b"CDF" or magic[3] not in (1, 2, 5):
            raise MetadataError(f"a NetCDF-3 file begins with CDF and 1, 2 or 5; found {magic!r}")
        self._wide = magic[3] == 5
        self._long_offsets = magic[3] != 1
        self._records = self._count()
        self._dimensions = self._list(_DIMENSIONS, self._dimension)
        self._attributes = dict(self._list(_ATTRIBUTES, self._attribute))
        self._variables = self._list(_VARIABLES, self._variable)

    # -- parts of the header ------------------------------------------------------------------
    def _bytes(self, count: int) -> bytes:
        if count > self._size:
            raise MetadataError(f"{count} bytes in a file of {self._size}: the header is damaged")
        data = self._file.read(count)
        if len(data) != count:
            raise MetadataError("the header is truncated")
        return data

    def _number(self, size: int) -> int:
        return int.from_bytes(self._bytes(size), "big")

    def _count(self) -> int:
        return self._number(8 if self._wide else 4)

    def _padded(self, count: int) -> bytes:
        return self._bytes(count + -count % 4)[:count]

    def _name(self) -> str:
        try:
            name = self._padded(self._count()).decode()
        except UnicodeDecodeError as error:
            raise MetadataError(f"a name that is not UTF-8: {error}") from error
        if not name or "/" in name or name in (".", ".."):
            raise MetadataError(f"a dimension, variable or attribute with the name {name!r}")
        return name

    def _list(self, tag: int, read: Callable[[], T]) -> list[T]:
        found, count = self._number(4), self._count()
        if found == 0 and count == 0:
            return []
        if found != tag:
            raise MetadataError(f"expected a list with the tag {tag}, found {found}")
        return [read() for _ in range(count)]  # each takes bytes of the file: no more than it has

    def _dimension(self) -> _Dimension:
        return _Dimension(self._name(), self._count())

    def _type(self) -> np.dtype[Any]:
        code = self._number(4)
        if code not in _TYPES:
            raise MetadataError(f"the data type {code}, which NetCDF-3 does not have")
        return np.dtype(_TYPES[code])

    def _attribute(self) -> tuple[str, Any]:
        name, dtype = self._name(), self._type()
        data = self._padded(self._count() * dtype.itemsize)
        if dtype.kind == "S":
            return name, data.rstrip(b"\0").decode("utf-8", "replace")
        return name, np.frombuffer(data, dtype)

    def _variable(self) -> _Variable:
        name = self._name()
        dimensions = tuple(self._count() for _ in range(self._count()))
        if any(number >= len(self._dimensions) for number in dimensions):
            raise MetadataError(f"the variable {name!r} has a dimension that does not exist")
        if len(dimensions) > 64:
            raise MetadataError(f"the variable {name!r} has {len(dimensions)} dimensions")
        attributes = dict(self._list(_ATTRIBUTES, self._attribute))
        dtype = self._type()
        self._count()  # vsize: what it says follows from the shape
        begin = self._number(8 if self._long_offsets else 4)
        return _Variable(name, dimensions, attributes, dtype, begin)

    # -- facts --------------------------------------------------------------------------------
    def facts(self, wanted: frozenset[str], skip: frozenset[str]) -> VirtualFile:
        step = self._record_size()
        records = self._record_count(step)
        arrays: dict[str, VirtualArray] = {}
        for variable in self._variables:
            if variable.name in arrays:
                raise MetadataError(f"two variables have the name {variable.name!r}")
            if variable.name not in skip:
                arrays[variable.name] = self._array(variable, step, records, wanted)
        return VirtualFile(self._place.shown, {"": _plain(self._attributes)}, arrays)

    def _is_record(self, variable: _Variable) -> bool:
        return any(self._dimensions[n].length == 0 for n in variable.dimensions[:1])

    def _inner(self, variable: _Variable) -> Shape:
        """The shape of one record, or of all."""
        lengths = [self._dimensions[n].length for n in variable.dimensions]
        return tuple(lengths[1:] if self._is_record(variable) else lengths)

    def _record_size(self) -> int:
        """The distance between two records."""
        sizes = [prod(self._inner(variable)) * variable.dtype.itemsize
                 for variable in self._variables if self._is_record(variable)]  # fmt: skip
        return sizes[0] if len(sizes) == 1 else sum(size + -size % 4 for size in sizes)

    def _record_count(self, step: int) -> int:
        begins = [v.begin for v in self._variables if self._is_record(v)]
        present = max(0, self._size - min(begins)) // step if begins and step else 0
        streaming = self._records == (1 << 64 if self._wide else 1 << 32) - 1
        records = present if streaming else self._records
        if not begins:
            return 0 if streaming else min(records, _MOST_RECORDS)
        # The last record may lack the bytes that fill it up.
        if step and (records > present + 1 or records > _MOST_RECORDS):
            raise MetadataError(
                f"{records} records of {step} bytes, and a file of {self._size} bytes: truncated?"
            )
        return records if step else 0

    def _array(
        self, variable: _Variable, step: int, records: int, wanted: frozenset[str]
    ) -> VirtualArray:
        inner, dtype = self._inner(variable), variable.dtype
        size = prod(inner) * dtype.itemsize
        recurring = self._is_record(variable)
        names = tuple(self._dimensions[n].name for n in variable.dimensions)
        url = self._place.url
        if recurring:
            shape = (records, *inner)
            chunks: Shape = (1, *(max(1, n) for n in inner))
            rest = (0,) * len(inner)
            pieces = {(i, *rest): Span(url, variable.begin + i * step, size)
                      for i in range(records if size else 0)}  # fmt: skip
        else:
            shape = inner
            chunks, pieces = contiguous(inner, dtype.itemsize, url, variable.begin)
        last = max(pieces.values(), key=lambda span: span.offset, default=Span("", 0, 0))
        if last.offset + last.size > self._size:
            raise MetadataError(
                f"the variable {variable.name!r} ends at {last.offset + last.size}, beyond the file"
                f" of {self._size} bytes: truncated?"
            )
        attributes = dict(variable.attributes)
        fill = attributes.pop(_FILL, None)
        array = VirtualArray(
            shape, chunks, dtype, names, pieces,
            fill_value=_fill(fill, dtype), attributes=_plain(attributes), cut=not recurring,
        )  # fmt: skip
        limit = WANTED_BYTES if variable.name in wanted else 0
        if not shape or is_coordinate(variable.name, names):
            limit = HELD_BYTES
        small = prod(shape) * dtype.itemsize <= limit
        return held(self._values(array), array) if small else array

    def _values(self, array: VirtualArray) -> NDArray:
        parts: list[bytes] = []
        for _, offset, size in array.pieces.values():  # in the order of the values
            self._file.seek(offset)
            parts.append(self._bytes(size))
        return np.frombuffer(b"".join(parts), array.dtype).reshape(array.shape)


def _plain(attributes: dict[str, Any]) -> dict[str, Json]:
    found = {name: as_json(value) for name, value in attributes.items()}
    return {name: value for name, value in found.items() if value is not None}


def _fill(value: Any, dtype: np.dtype[Any]) -> Any:
    if value is None or not len(value):
        return None
    if isinstance(value, str):
        return np.bytes_(value[:1].encode("latin-1", "replace")) if dtype.kind == "S" else None
    return value.astype(dtype)[0]
