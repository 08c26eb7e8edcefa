"""NumPy's type strings and fill values as formats 0, 1 and 2 write them, read to the letter.

The parsers (`v2.data_types`, `v2.fill_values`) decide what a value means, and what they refuse is
reported in their words. Added here is what they tolerate and documents 000 and 003 ("Data type
encoding", "Fill value encoding") do not allow; what those leave open follows the settled practice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from omnizarr.errors import MetadataError
from omnizarr.formats.rules.base import At, Finding, Level, is_number, refused
from omnizarr.formats.rules.strict_json import Bare
from omnizarr.formats.v2 import data_types, fill_values
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import (
    Boolean,
    Bytes,
    Complex,
    DataType,
    FixedBytes,
    FixedText,
    Float,
    Integer,
    Object,
    Raw,
    String,
    Struct,
    Time,
)
from omnizarr.model.dtypes.base import from_base64
from omnizarr.model.dtypes.small import NAMES as SMALL_NAMES
from omnizarr.model.json import show

SECTION = "Data type encoding"
FILL = "Fill value encoding"
_SIMPLE = re.compile(r"([<>|=]?)([biufcmMSUV])(.*)\Z", re.DOTALL)

Strict = tuple[Level, str] | None
"""Level and reason of what a parser tolerates and the document does not have."""


def type_of(value: Json) -> DataType | None:
    """The type of a dtype member; None if the parser refuses it."""
    try:
        return data_types.decode(value)
    except MetadataError:
        return None


# -- dtype ----------------------------------------------------------------------------------------
def dtype(at: At, value: Json, *, most: int = 3, section: str = SECTION) -> Iterator[Finding]:
    """What departs from the encoding of data types; a field is a list of at most `most` items."""
    tolerated = list(_spelling(at, section, value, most))
    yield from tolerated
    if all(finding.level != "error" for finding in tolerated):
        yield from refused(at, section, lambda: data_types.decode(value))


def _spelling(at: At, section: str, value: Json, most: int) -> Iterator[Finding]:
    if isinstance(value, str):
        strict = _simple(value)
        if strict is not None:
            yield at.found(strict[0], section, f"dtype {show(value)}{strict[1]}")
        return
    for field in value if isinstance(value, list) else ():
        if not isinstance(field, list) or not 2 <= len(field) <= most:
            form = "[name, type, shape]" if most == 3 else "[name, type]"
            yield at.error(section, f"dtype: a field must be {form}, found {show(field)}")
            continue
        if field[0] == "":
            yield at.dialect(
                section, "dtype: a field without a name is padding; zarr-python 2 writes it"
            )
        if len(field) == 3 and not isinstance(field[2], list):
            yield at.error(
                section,
                f"dtype: the shape of a field must be a list of integers, found {show(field[2])}",
            )
        yield from _spelling(at, section, field[1], most)


def _simple(text: str) -> Strict:
    if text in data_types.OBJECT:
        return "dialect", (
            ": Python objects are no type of the document; zarr-python stores them with an object"
            " codec as the first filter"
        )
    if text in SMALL_NAMES:
        return "dialect", " is a bare name that TensorStore writes"
    match = _SIMPLE.match(text)
    if match is None:
        return "error", " is no type string such as '<f8', '|S12' or '<M8[ns]'"
    order, letter, size = match.groups()
    if order not in ("<", ">", "|"):
        return "error", ": the byte order must be specified"
    without = letter in "bSV" or (letter in "iu" and size == "1")
    if without and order != "|":
        return "dialect", (
            " has a byte order where none is relevant ('|'); netcdf-c and others write it"
        )
    if not without and order == "|":
        return "error", ": the byte order is relevant and not specified"
    if letter in "mM" and text.endswith(("8", "generic]")):
        return "dialect", " has no unit, which the document demands; zarr-python writes it"
    return None


# -- fill values ----------------------------------------------------------------------------------
def fill_value(at: At, value: Json, data_type: DataType | None) -> Iterator[Finding]:
    """What departs from the encoding of fill values, for format 2."""
    if value is None or data_type is None or isinstance(data_type, Object):
        return
    plain = isinstance(data_type, Boolean | Integer | FixedText | String | Bytes)
    faults = list(refused(at, "Metadata" if plain else FILL, lambda: _decode(value, data_type)))
    yield from faults
    if faults:
        return
    if isinstance(value, list) and len(value) == 1 and not isinstance(data_type, Complex):
        yield at.dialect(
            "Metadata", f"fill_value {show(value)} is a list, not a scalar; netcdf-c 4.8.0 wrote it"
        )
        value = value[0]
    strict = _strict(value, data_type)
    if strict is not None:
        section = "Metadata" if plain and not isinstance(data_type, FixedText) else FILL
        yield at.found(strict[0], section, f"fill_value {show(value)}: {strict[1]}")


def _decode(value: Json, data_type: DataType) -> object:
    """The parser's value; it knows bare tokens as plain floats."""
    if isinstance(value, list):
        value = [float(part) if isinstance(part, Bare) else part for part in value]
    return fill_values.decode(float(value) if isinstance(value, Bare) else value, data_type)


def _strict(value: Json, data_type: DataType) -> Strict:
    match data_type:
        case Boolean() if isinstance(value, str):
            return "error", "must be true or false"
        case Boolean() if not isinstance(value, bool):
            return "dialect", "a Boolean is true or false; zarr 2.0 and 2.1 wrote numbers"
        case Integer() if isinstance(value, str):
            return "dialect", "a string, not a number; n5-zarr wrote it"
        case Integer() if isinstance(value, float):
            return "warning", "a number of an integer type has a fraction"
        case String() | Bytes() if not isinstance(value, str):
            return "dialect", "of text with variable length it means the empty text"
        case Float():
            return strict_float(value)
        case Complex() if isinstance(value, list) and len(value) == 2:
            return strict_float(value[0]) or strict_float(value[1])
        case Complex() | FixedBytes() | FixedText() | Raw() | Struct() if _is_zero(value):
            return "dialect", "zarr 2.0 and 2.1 wrote 0 whatever the type"
        case Complex():
            return "error", "must be [real, imaginary]"
        case Time() if isinstance(value, str):
            return "dialect", "a date, not a count; zarr-python 3.0 wrote it"
        case Time() if type(value) is not int:
            return "error", "must be a 64-bit integer"
        case FixedBytes() if not isinstance(value, str):
            return "error", "must be base64"
        case FixedBytes() if not _is_base64(value, data_type.dtype.itemsize):
            return "dialect", "plain text, not base64; zarr before 2.2 and netcdf-c wrote it"
    return None


def strict_float(value: Json) -> Strict:
    if isinstance(value, Bare):
        return "error", f"a bare token; {_special(value)!r} must be written as a string"
    if is_number(value):
        beyond = isinstance(value, float) and not math.isfinite(value)
        return ("error", "a number beyond 64 bits; use 'Infinity' for infinity") if beyond else None
    if value in ("NaN", "Infinity", "-Infinity"):
        return None
    return "error", "must be a number, 'NaN', 'Infinity' or '-Infinity'"


def _is_zero(value: Json) -> bool:
    return is_number(value) and value == 0


def _is_base64(value: str, most: int) -> bool:
    data = from_base64(value)
    return data is not None and len(data) <= most


def _special(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def scalar_fill(at: At, section: str, value: Json, data_type: DataType | None) -> Iterator[Finding]:
    """The same for formats 0 and 1, which ask for a scalar and say nothing of its encoding."""
    if isinstance(value, Bare):
        yield at.dialect(
            section,
            f"fill_value is the bare token {_special(value)}, which is no JSON; zarr 0.4 and 1"
            " wrote it",
        )
    elif value is None or data_type is None:
        return
    elif isinstance(data_type, Integer):
        yield from refused(at, section, lambda: data_type.fill_from_json(value))
        if isinstance(value, float) and value.is_integer():
            yield at.warning(section, f"fill_value {show(value)} of an integer type has a fraction")
    elif not _is_scalar(value, data_type):
        yield at.error(section, f"fill_value {show(value)} is no scalar of the dtype")


def _is_scalar(value: Json, data_type: DataType) -> bool:
    match data_type:
        case Boolean():
            return isinstance(value, bool) or value in (0, 1)
        case Float() | Complex():
            return is_number(value) and (type(value) is int or math.isfinite(value))
        case Time():
            return type(value) is int
        case _:
            return isinstance(value, str) or _is_zero(value)
