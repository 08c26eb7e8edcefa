"""Structs in Thrift's compact protocol, read strictly.

Another parser must not read the same bytes differently: fields ascend, so none is there twice;
numbers fit their type; and a field that has another type than expected is an error. Every position
is checked, and the fields and elements are counted.

This module knows the protocol. It must not know what is written in it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Fields: TypeAlias = "dict[int, tuple[int, Any]]"
"""The type and value of each field, by its number. Bytes and floating point numbers are left out:
their value is None."""

MOST_FIELDS = 1 << 20
"""How many fields and elements one reader looks at, which bounds the time that it takes."""

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 12
_BITS = {I16: 16, I32: 32, I64: 64}
_SIZES = {BYTE: 1, DOUBLE: 8, TRUE: 1, FALSE: 1}  # of an element; a field says true by its type
_DEPTH = 16
_HIGHEST = (1 << 15) - 1  # beyond it the number of a field begins anew for other parsers


class BrokenError(ValueError):
    """The bytes make no sense."""


def get(fields: Fields, number: int, kind: int) -> Any:
    """The value of a field; for a list, all structs in it."""
    found, value = fields.get(number, (0, None))
    if found != kind:
        raise BrokenError(f"field {number} is missing or has another type")
    return value


class Reader:
    """Reads the structs of one file."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self._left = MOST_FIELDS

    def struct(self, at: int, end: int, depth: int = 0) -> tuple[Fields, int]:
        """The struct that begins at this position, and where it ends, which is before `end`."""
        if depth == _DEPTH:
            raise BrokenError("structs are nested too deeply")
        fields: Fields = {}
        last = 0
        while True:
            self._count()
            head, at = self._byte(at, end)
            if head == 0:
                return fields, at
            kind = head & 15
            number = last + (head >> 4)
            if number == last:
                number, at = self._number(at, end, 16)
            if not last < number <= _HIGHEST:
                raise BrokenError("the fields of a struct do not ascend")
            value = None
            if kind not in (TRUE, FALSE):
                value, at = self._value(kind, at, end, depth + 1)
            fields[number] = kind, value
            last = number

    def _value(self, kind: int, at: int, end: int, depth: int) -> tuple[Any, int]:
        if kind in _BITS:
            return self._number(at, end, _BITS[kind])
        if kind == STRUCT:
            return self.struct(at, end, depth)
        if kind == LIST:
            return self._list(at, end, depth)
        if kind == BINARY:
            length, at = self._varint(at, end, 32)
            return None, at + length
        if kind in _SIZES:
            return None, at + _SIZES[kind]
        raise BrokenError(f"a value of type {kind}")

    def _list(self, at: int, end: int, depth: int) -> tuple[list[Fields], int]:
        """The structs of a list; elements of other types are passed over."""
        if depth == _DEPTH:
            raise BrokenError("lists are nested too deeply")
        head, at = self._byte(at, end)
        count, kind = head >> 4, head & 15
        if count == 15:
            count, at = self._varint(at, end, 32)
        found: list[Fields] = []
        for _ in range(count):
            self._count()
            value, at = self._value(kind, at, end, depth + 1)
            if kind == STRUCT:
                found.append(value)
        return found, at

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise BrokenError(f"more than {MOST_FIELDS} fields")

    def _byte(self, at: int, end: int) -> tuple[int, int]:
        if at >= end:
            raise BrokenError("a struct goes beyond the bytes that it is in")
        return self.data[at], at + 1

    def _varint(self, at: int, end: int, bits: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte, at = self._byte(at, end)
            value |= (byte & 127) << shift
            shift += 7
            if value >> bits or (byte > 127 and shift >= bits):
                raise BrokenError(f"a number of more than {bits} bits")
            if byte < 128:
                return value, at

    def _number(self, at: int, end: int, bits: int) -> tuple[int, int]:
        value, at = self._varint(at, end, bits)
        return (value >> 1) ^ -(value & 1), at
