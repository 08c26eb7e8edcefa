"""NumPy's type strings and fill values as formats 0, 1 and 2 write them, read to the letter.

`kind_of` says what a dtype member is, `dtype` what is wrong with its spelling, `fill_value` what
is wrong with a fill value of such a type. The rules are those of documents 000 and 003, "Data type
encoding" and "Fill value encoding"; what those leave open follows the settled practice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from omnizarr.formats.rules.base import At, Finding, is_integer, is_number
from omnizarr.formats.rules.strict_json import Bare
from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import from_base64
from omnizarr.model.dtypes.small import FLOATS, INTEGERS
from omnizarr.model.json import show

SECTION = "Data type encoding"
FILL = "Fill value encoding"

_SIMPLE = re.compile(r"([<>|=]?)([a-zA-Z?])([0-9]*)(\[.*\])?\Z")
_UNIT = re.compile(r"\[(?:[1-9][0-9]*)?(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]\Z")
_SIZES = {
    "b": (1,),
    "i": (1, 2, 4, 8),
    "u": (1, 2, 4, 8),
    "f": (2, 4, 8, 12, 16),
    "c": (8, 16, 24, 32),
    "m": (8,),
    "M": (8,),
}
_LISTED = "biufcmMSUV"
_OBJECTS = ("|O", "|O8", "|O4", "O", "O8")
MAX_DEPTH = 16


@dataclass(frozen=True)
class TypeKind:
    """What a dtype member stands for: NumPy's letter ("s" a record, "O" objects, "" unknown)."""

    letter: str
    itemsize: int = 0


def kind_of(value: Json, depth: int = 0) -> TypeKind:
    if isinstance(value, str):
        if value in _OBJECTS:
            return TypeKind("O")
        if value in FLOATS:
            return TypeKind("f", 2 if value == "bfloat16" else 1)
        if value in INTEGERS:
            return TypeKind("u" if value.startswith("u") else "i", 1)
        match = _SIMPLE.match(value)
        if match and match[2] in _LISTED and match[3] and len(match[3]) < 11:
            size = int(match[3])
            return TypeKind(match[2], size * 4 if match[2] == "U" else size)
        return TypeKind("")
    if isinstance(value, list) and value and depth < MAX_DEPTH:
        size = 0
        for field in value:
            if not isinstance(field, list) or len(field) not in (2, 3):
                return TypeKind("")
            inner = kind_of(field[1], depth + 1)
            if inner.letter in ("", "O"):
                return TypeKind("")
            count = 1
            for length in field[2] if len(field) == 3 and isinstance(field[2], list) else ():
                count *= length if is_integer(length) else 1
            size += inner.itemsize * count
        return TypeKind("s", size)
    return TypeKind("")


# -- dtype ----------------------------------------------------------------------------------------
def dtype(
    at: At, value: Json, *, most: int = 3, section: str = SECTION, depth: int = 0
) -> Iterator[Finding]:
    """What departs from the encoding of data types; a field is a list of at most `most` items."""
    if isinstance(value, str):
        yield from _simple(at, section, value)
    elif not isinstance(value, list):
        yield at.error(section, f"dtype must be a string or a list, found {show(value)}")
    elif not value:
        yield at.error(section, "dtype: a structured type needs at least one field, found []")
    elif depth >= MAX_DEPTH:
        yield at.warning(section, f"dtype: fields nested more than {MAX_DEPTH} deep")
    else:
        yield from _fields(at, section, value, most, depth)


def _simple(at: At, section: str, text: str) -> Iterator[Finding]:
    if text in _OBJECTS:
        yield at.dialect(
            section,
            f"dtype {text!r}: Python objects are no type of the document; zarr-python stores them"
            " with an object codec as the first filter",
        )
        return
    if text in FLOATS or text in INTEGERS:
        yield at.dialect(section, f"dtype {text!r} is a bare name that TensorStore writes")
        return
    match = _SIMPLE.match(text)
    if match is None or match[2] not in _LISTED or (match[4] and match[2] not in "mM"):
        yield at.error(
            section, f"dtype {show(text)} is no type string such as '<f8', '|S12' or '<M8[ns]'"
        )
        return
    order, letter, digits, unit = match.groups()
    size = int(digits) if digits and len(digits) < 11 else 0
    if not digits or (letter in _SIZES and size not in _SIZES[letter]):
        yield at.error(
            section, f"dtype {show(text)}: {digits or 'no'} bytes for the type {letter!r}"
        )
    if letter in "mM" and (unit is None or _UNIT.match(unit) is None):
        yield at.error(section, f"dtype {show(text)} must include its unit, as in '<M8[ns]'")
    without = letter in "bSV" or (letter in "iu" and size == 1)
    if order not in ("<", ">", "|"):
        yield at.error(section, f"dtype {show(text)}: the byte order must be specified")
    elif without and order != "|":
        yield at.dialect(
            section,
            f"dtype {show(text)} has a byte order where none is relevant ('|'); netcdf-c and"
            " others write it",
        )
    elif not without and order == "|":
        yield at.error(section, f"dtype {show(text)}: the byte order is relevant and not specified")


def _fields(at: At, section: str, value: list[Json], most: int, depth: int) -> Iterator[Finding]:
    names: set[str] = set()
    for field in value:
        if not isinstance(field, list) or not 2 <= len(field) <= most:
            form = "[name, type, shape]" if most == 3 else "[name, type]"
            yield at.error(section, f"dtype: a field must be {form}, found {show(field)}")
            continue
        name = field[0]
        if not isinstance(name, str):
            yield at.error(section, f"dtype: a field's name must be a string, found {show(name)}")
        elif name == "":
            yield at.dialect(
                section, "dtype: a field without a name is padding; zarr-python 2 writes it"
            )
        elif name in names:
            yield at.error(section, f"dtype: two fields are named {show(name)}")
        else:
            names.add(name)
        if len(field) == 3 and not (
            isinstance(field[2], list) and all(is_integer(n) and n > 0 for n in field[2])
        ):
            yield at.error(
                section,
                f"dtype: the shape of a field must be a list of integers, found {show(field[2])}",
            )
        yield from dtype(at, field[1], most=most, section=section, depth=depth + 1)


# -- fill values ----------------------------------------------------------------------------------
def fill_value(at: At, value: Json, kind: TypeKind) -> Iterator[Finding]:
    """What departs from the encoding of fill values, for format 2."""
    if value is None or not kind.letter:
        return
    if isinstance(value, list) and len(value) == 1 and kind.letter not in "Oc":
        yield at.dialect(
            "Metadata", f"fill_value {show(value)} is a list, not a scalar; netcdf-c 4.8.0 wrote it"
        )
        value = value[0]
    match kind.letter:
        case "b":
            yield from _bool(at, value)
        case "i" | "u":
            yield from _integer(at, value, kind)
        case "f":
            yield from _float(at, value)
        case "c":
            yield from _complex(at, value)
        case "m" | "M":
            yield from _time(at, value)
        case "S":
            yield from _byte_string(at, value, kind)
        case "U":
            yield from _text(at, value, kind)
        case "V" | "s":
            yield from _record(at, value, kind)


def _zero(at: At, value: Json) -> Iterator[Finding]:
    yield at.dialect(FILL, f"fill_value {show(value)}: zarr 2.0 and 2.1 wrote 0 whatever the type")


def _is_zero(value: Json) -> bool:
    return is_number(value) and not isinstance(value, Bare) and value == 0


def _numeric_string(value: Json) -> bool:
    if not isinstance(value, str) or not value.isascii():
        return False
    try:
        return math.isfinite(float(value)) and "_" not in value
    except ValueError:
        return False


def _bool(at: At, value: Json) -> Iterator[Finding]:
    if isinstance(value, bool):
        return
    if value == 0 or value == 1:
        yield at.dialect(
            "Metadata", f"fill_value {show(value)} of a Boolean; zarr 2.0 and 2.1 wrote numbers"
        )
    else:
        yield at.error("Metadata", f"fill_value must be true or false, found {show(value)}")


def _integer(at: At, value: Json, kind: TypeKind, section: str = "Metadata") -> Iterator[Finding]:
    if _numeric_string(value):
        yield at.dialect(section, f"fill_value {show(value)} is a string; n5-zarr wrote it")
        return
    if isinstance(value, float) and not isinstance(value, Bare) and value.is_integer():
        yield at.warning(section, f"fill_value {show(value)} of an integer type has a fraction")
        value = int(value)
    bits = 8 * max(kind.itemsize, 1)
    low, high = (
        (-(1 << bits - 1), (1 << bits - 1) - 1) if kind.letter == "i" else (0, (1 << bits) - 1)
    )
    if not is_integer(value) or not low <= value <= high:
        yield at.error(
            section, f"fill_value must be an integer from {low} to {high}, found {show(value)}"
        )


def _float(at: At, value: Json, part: str = "fill_value") -> Iterator[Finding]:
    if isinstance(value, Bare):
        yield at.error(
            FILL, f"{part} is a bare token; {_special(value)!r} must be written as a string"
        )
    elif is_number(value):
        if isinstance(value, float) and not math.isfinite(value):
            yield at.error(FILL, f"{part} is a number beyond 64 bits; use 'Infinity' for infinity")
    elif value in ("NaN", "Infinity", "-Infinity"):
        return
    else:
        yield at.error(
            FILL,
            f"{part} must be a number, 'NaN', 'Infinity' or '-Infinity', found {show(value)}",
        )


def _special(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _complex(at: At, value: Json) -> Iterator[Finding]:
    """The documents say nothing; a pair of floats is the practice since zarr 2.3."""
    if isinstance(value, list) and len(value) == 2:
        yield from _float(at, value[0], "the real part of fill_value")
        yield from _float(at, value[1], "the imaginary part of fill_value")
    elif _is_zero(value):
        yield from _zero(at, value)
    else:
        yield at.error(FILL, f"fill_value must be [real, imaginary], found {show(value)}")


def _time(at: At, value: Json) -> Iterator[Finding]:
    if is_integer(value) and -(1 << 63) <= value < 1 << 63:
        return
    if isinstance(value, str):
        yield at.dialect(
            FILL, f"fill_value {show(value)} is a date, not a count; zarr-python 3.0 wrote it"
        )
    else:
        yield at.error(FILL, f"fill_value must be a 64-bit integer, found {show(value)}")


def _byte_string(at: At, value: Json, kind: TypeKind) -> Iterator[Finding]:
    if isinstance(value, str):
        data = from_base64(value)
        if data is not None and len(data) <= kind.itemsize:
            return
        if len(value) > kind.itemsize:
            yield at.error(
                FILL, f"fill_value {show(value)} is no base64 of {kind.itemsize} bytes at most"
            )
        else:
            yield at.dialect(
                FILL,
                f"fill_value {show(value)} is plain text, not base64; zarr before 2.2 and netcdf-c"
                " wrote it",
            )
    elif _is_zero(value):
        yield from _zero(at, value)
    else:
        yield at.error(FILL, f"fill_value must be base64, found {show(value)}")


def _text(at: At, value: Json, kind: TypeKind) -> Iterator[Finding]:
    if isinstance(value, str):
        if len(value) * 4 > kind.itemsize:
            yield at.error(
                "Metadata",
                f"fill_value {show(value)} has more than {kind.itemsize // 4} characters",
            )
    elif _is_zero(value):
        yield from _zero(at, value)
    else:
        yield at.error("Metadata", f"fill_value must be a string, found {show(value)}")


def _record(at: At, value: Json, kind: TypeKind) -> Iterator[Finding]:
    if _is_zero(value):
        yield from _zero(at, value)
        return
    data = from_base64(value) if isinstance(value, str) else None
    if data is None or len(data) != kind.itemsize:
        yield at.error(
            FILL, f"fill_value must be base64 of {kind.itemsize} bytes, found {show(value)}"
        )


def scalar_fill(at: At, section: str, value: Json, kind: TypeKind) -> Iterator[Finding]:
    """The same for formats 0 and 1, which ask for a scalar and say nothing of its encoding."""
    if isinstance(value, Bare):
        yield at.dialect(
            section,
            f"fill_value is the bare token {_special(value)}, which is no JSON; zarr 0.4 and 1"
            " wrote it",
        )
        return
    if value is None or not kind.letter:
        return
    match kind.letter:
        case "b":
            sound = isinstance(value, bool) or value in (0, 1)
        case "i" | "u":
            yield from _integer(at, value, kind, section)
            return
        case "f" | "c":
            sound = is_number(value) and (is_integer(value) or math.isfinite(value))
        case "m" | "M":
            sound = is_integer(value)
        case _:
            sound = isinstance(value, str) or _is_zero(value)
    if not sound:
        yield at.error(section, f"fill_value {show(value)} is no scalar of the dtype")
