"""A group as text: the header that `ncdump -h` prints, in CDL.

Values of attributes carry their type as CDL writes it (`1.5f`, `3s`). Names are escaped as in CDL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from omnizarr.model.dimensions import Dimension

TYPES = {
    "i1": "byte",
    "u1": "ubyte",
    "i2": "short",
    "u2": "ushort",
    "i4": "int",
    "u4": "uint",
    "i8": "int64",
    "u8": "uint64",
    "f4": "float",
    "f8": "double",
    "S1": "char",
}
"""CDL's names of types; other types have their NumPy names."""
_SUFFIXES = {"i1": "b", "u1": "ub", "i2": "s", "u2": "us", "i4": "", "u4": "u", "i8": "ll",
             "u8": "ull", "f4": "f", "f8": ""}  # fmt: skip
_SPECIAL = re.compile(r"[^\w.@+\-]")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
INDENT = "    "


@dataclass(frozen=True)
class PrintedVariable:
    """A variable as it is printed."""

    name: str
    dtype: np.dtype[Any]
    dimensions: tuple[str, ...]
    attributes: Mapping[str, Any]
    data: Iterable[str] = ()
    """Lines of its values; the first one begins behind the name."""


@dataclass(frozen=True)
class PrintedGroup:
    """A group as it is printed."""

    name: str
    dimensions: tuple[Dimension, ...]
    variables: tuple[PrintedVariable, ...]
    attributes: Mapping[str, Any]
    groups: tuple[PrintedGroup, ...] = ()


def text(group: PrintedGroup) -> str:
    """The text of a group and all below it."""
    return "\n".join(lines(group))


def lines(group: PrintedGroup, *, values: bool = False) -> Iterator[str]:
    """The lines of a group and all below it, with values or without."""
    yield f"netcdf {name(group.name)} {{"
    yield from _body(group, "// global attributes:", values)
    yield "}"


def _body(group: PrintedGroup, title: str, values: bool) -> Iterator[str]:
    if group.dimensions:
        yield "dimensions:"
        for each in group.dimensions:
            size = f"UNLIMITED ; // ({each.size} currently)" if each.unlimited else f"{each.size} ;"
            yield f"{INDENT}{name(each.name)} = {size}"
    if group.variables:
        yield "variables:"
        for variable in group.variables:
            yield from _variable(variable)
    if group.attributes:
        yield ""
        yield title
        for attribute, item in group.attributes.items():
            yield f"{INDENT}:{name(attribute)} = {value(item)} ;"
    if values and group.variables:
        yield "data:"
        for variable in group.variables:
            for number, line in enumerate(variable.data):
                if not number:
                    yield ""
                yield line if number else f" {name(variable.name)} {line}"
    for below in group.groups:
        yield ""
        yield f"group: {name(below.name)} {{"
        for line in _body(below, "// group attributes:", values):
            yield INDENT + line if line else ""
        yield f"{INDENT}}} // group {name(below.name)}"


def _variable(variable: PrintedVariable) -> Iterator[str]:
    dimensions = ", ".join(map(name, variable.dimensions))
    shape = f"({dimensions})" if dimensions else ""
    yield f"{INDENT}{type_name(variable.dtype)} {name(variable.name)}{shape} ;"
    for attribute, item in variable.attributes.items():
        yield f"{INDENT * 2}{name(variable.name)}:{name(attribute)} = {value(item)} ;"


def type_name(dtype: np.dtype[Any]) -> str:
    """CDL's name of a type; NumPy's where CDL has none."""
    if dtype.kind in "STUO" and dtype.itemsize != 1:
        return "string"
    return TYPES.get(dtype.str[1:], dtype.name)


def name(found: str) -> str:
    """A name with what CDL has a meaning for behind a backslash."""
    escaped = _SPECIAL.sub(lambda match: "\\" + match[0], found)
    return "\\" + escaped if escaped[:1].isdigit() else escaped


def value(item: Any) -> str:
    """The value of an attribute."""
    items = item if isinstance(item, list | tuple) else [item]
    if isinstance(item, np.ndarray):
        items = list(item.reshape(-1))
    if any(isinstance(each, dict | list | tuple) or each is None for each in items):
        return _quoted(str(item))
    prefix = "string " if isinstance(item, list) and items and isinstance(items[0], str) else ""
    return prefix + ", ".join(map(_single, items))


def _single(item: Any) -> str:
    if isinstance(item, str):
        return _quoted(item)
    if isinstance(item, bool | np.bool_):
        return f"{int(item)}ub"
    found = np.asarray(item)
    if found.dtype.kind not in "iuf":
        return str(item)
    kind = found.dtype.str[1:]
    if isinstance(item, int):
        kind = "i4" if -(1 << 31) <= item < 1 << 31 else kind
    suffix = _SUFFIXES.get(kind, "")
    if found.dtype.kind != "f":
        return f"{int(found)}{suffix}"
    if not np.isfinite(found):
        words = "NaN" if np.isnan(found) else "Infinity" if found > 0 else "-Infinity"
        return words + suffix
    number = found.dtype.type(found)
    written = 1e-5 <= abs(number) < 1e16
    digits = np.format_float_positional(number, trim="-") if written else (
        np.format_float_scientific(number, trim="-"))  # fmt: skip
    if found == 0:
        digits = "0"
    return f"{digits}{'' if set(digits) & set('.e') else '.'}{suffix}"


def _quoted(found: str) -> str:
    return '"' + "".join(_ESCAPES.get(letter, letter) for letter in found) + '"'
