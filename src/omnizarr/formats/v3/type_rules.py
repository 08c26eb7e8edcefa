"""Data types of final v3 and their fill values, read to the letter.

Whether a data type's own configuration holds together is the parser's question; here it is how
the type is named, and in which form its fill value is written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from omnizarr.errors import MetadataError
from omnizarr.formats.rules.base import At, Finding, Level
from omnizarr.formats.rules.strict_json import Bare, token_list
from omnizarr.formats.v3.codecs import stored_type
from omnizarr.formats.v3.registered_names import CORE_TYPES, TYPES, extension, name_of
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import (
    ArrowString,
    Boolean,
    Complex,
    DataType,
    FixedBytes,
    Float,
    Integer,
    Pair,
    Raw,
    String,
    Struct,
    from_json,
)
from omnizarr.model.json import show

TYPES_SECTION, FILL = "Data types", "Fill value list"
RAW = r"r[1-9][0-9]*"

_PROPOSED = "document 004 (ZEP0007) proposes it"
_DIALECTS = {
    "structured": "zarr-python 3.1 wrote it; the registered name is 'struct'",
}
_UNREGISTERED = {
    "null_terminated_bytes": "zarr-python 3.1 and later write it",
    "raw_bytes": "zarr-python 3.1 and later write it; the core name is r<bits>",
    "variable_length_bytes": "zarr-python 3.1 and later write it; the registered name is 'bytes'",
    "float8_e4m3fn": "TensorStore writes it",
    "optional": "zarrs writes it",
    "binary": f"{_PROPOSED}; zarrs wrote one before December 2024",
    "LargeString": _PROPOSED,
    "LargeBinary": _PROPOSED,
}


def data_type(at: At, value: Json, codecs: Json) -> Iterator[Finding]:
    name = name_of(value)
    if name in _DIALECTS:
        yield at.dialect("Extension naming", f"data_type {name!r}: {_DIALECTS[name]}")
        return
    if name in _UNREGISTERED:
        yield at.warning(
            "Extension naming", f"data_type {name!r} is not registered: {_UNREGISTERED[name]}"
        )
        return
    if name == "string" and _has_offsets(codecs):
        yield at.warning(
            "Extension naming",
            "data_type 'string' with offsets is not registered: document 004 (ZEP0007) proposes it",
        )
        return
    yield from extension(at, TYPES_SECTION, "data_type", value, TYPES, essential=True, also=RAW)
    if isinstance(value, dict) and "fallback" in value:
        yield at.error(TYPES_SECTION, "data_type: a fallback is no part of an extension since 2023")
    if name is not None and re.fullmatch(RAW, name) and int(name[1:12]) % 8:
        yield at.error(TYPES_SECTION, f"data_type {name!r}: the bits must be a multiple of 8")
    if isinstance(value, dict) and name in CORE_TYPES and value.get("configuration"):
        yield at.warning(TYPES_SECTION, f"data_type {name!r} has no configuration")


def _has_offsets(codecs: Json) -> bool:
    """Whether text is stored as document 004 has it."""
    try:
        return isinstance(stored_type(String(), codecs), ArrowString)
    except MetadataError:
        return False


def fill_value(at: At, value: Json, of: Json) -> Iterator[Finding]:
    if value is None:
        yield at.dialect(FILL, "fill_value is null; GDAL before 3.11 wrote it for the type's zero")
        return
    try:
        found = from_json(of)
    except (MetadataError, TypeError):
        return  # said of the data type
    if tokens := token_list(value):
        yield at.dialect(
            FILL, f"fill_value holds a bare token ({tokens}), which is no JSON; zarrita wrote it"
        )
        return
    strict = _strict(value, found)
    if strict is not None:
        yield at.found(strict[0], FILL, f"fill_value {show(value)}: {strict[1]}")
        return
    try:
        found.fill_from_json(value)
    except MetadataError as error:
        yield at.error(FILL, str(error))


def _strict(value: Json, found: DataType) -> tuple[Level, str] | None:
    """Level and reason of a form that the parser reads and the document does not have."""
    match found:
        case Boolean() if type(value) is int and value in (0, 1):
            return "dialect", "a Boolean is true or false; zarrita of 2023 wrote numbers"
        case Integer() if isinstance(value, float) and value.is_integer():
            return "error", "an integer has no fraction and no exponent"
        case Float():
            return _float(value, found)
        case Complex() | Pair() if isinstance(value, list) and len(value) == 2:
            return _float(value[0], found.part) or _float(value[1], found.part)
        case Raw() if isinstance(value, str):
            return "dialect", "raw bytes are a list of integers; zarr-python 3.1 writes base64"
        case FixedBytes() if isinstance(value, list):
            return "warning", "null_terminated_bytes are written as base64"
        case Struct() if isinstance(value, str):
            return "dialect", "a struct is an object of its fields; zarr-python 3.1 wrote base64"
    return None


def _float(value: Json, found: Float) -> tuple[Level, str] | None:
    if isinstance(value, float) and math.isinf(value) and not isinstance(value, Bare):
        return "error", 'a number beyond 64 bits; infinity is "Infinity"'
    if isinstance(value, str) and value.startswith("0x"):
        digits = 2 * found.dtype.itemsize
        if len(value) != 2 + digits:
            return "error", f"the bits of this type are {digits} hexadecimal digits"
    return None
