"""Fill values of formats 0 and 1: a JSON number or text, handed to NumPy's `ndarray.fill`.

Their releases wrote whatever the user gave and filled arrays with it, so a value means what NumPy
makes of it: 0 in an array of text is the text "0", −1 in an unsigned type wraps, a number in a
record goes into every field. NaN and the infinities are bare tokens. What is written here reads
as the same value there; null means that unwritten elements are undefined.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats import members
from omnizarr.formats.base import DEFAULT, FormatName
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import (
    Boolean,
    Complex,
    DataType,
    FixedBytes,
    FixedText,
    Float,
    Integer,
    Raw,
    Struct,
    Time,
)
from omnizarr.model.dtypes.base import element
from omnizarr.model.dtypes.time import NOT_A_TIME
from omnizarr.model.json import show


def decode(value: Json, data_type: DataType) -> Any:
    """The scalar that a fill_value member means; None for null."""
    if value is None:
        return None
    if isinstance(value, str):
        return _from_text(value, data_type)
    if type(value) not in (bool, int, float):
        raise data_type.bad_fill(value, "a number, text or null")
    return _from_number(value, data_type)


def _from_text(value: str, data_type: DataType) -> Any:
    dtype = data_type.numpy
    match data_type:
        case FixedText():
            return np.str_(value[: dtype.itemsize // 4].rstrip("\0"))
        case FixedBytes() if value.isascii():
            return np.bytes_(value.encode("ascii")[: dtype.itemsize].rstrip(b"\0"))
        case Time() if value:
            try:
                return data_type.scalar(value)
            except ValueError as error:
                raise data_type.bad_fill(value, "an integer (ticks of the unit)") from error
        case Time():
            return data_type.scalar(NOT_A_TIME)
        case FixedBytes():
            raise data_type.bad_fill(value, "ASCII text")
        case _:
            raise data_type.bad_fill(value, "a number or null")


def _from_number(value: Any, data_type: DataType) -> Any:
    match data_type:
        case Boolean():
            return np.bool_(bool(value))
        case Integer():
            return _wrapped(_whole(value, data_type), data_type)
        case Float():
            return data_type.fill_from_json(value if type(value) is float else int(value))
        case Complex():
            return data_type.fill_from_json([value if type(value) is float else int(value), 0])
        case Time():
            if type(value) is float and math.isnan(value):
                return data_type.scalar(NOT_A_TIME)
            return data_type.fill_from_json(_whole(value, data_type))
        case FixedText() | FixedBytes():
            return _from_text(_digits(value, data_type), data_type)
        case Raw() if value == 0:
            return data_type.zero
        case Struct():
            return _record(value, data_type)
        case _:
            raise data_type.bad_fill(value, "0 or null")


def _digits(value: Any, data_type: DataType) -> str:
    try:
        return str(value)
    except ValueError as error:  # more digits than Python prints
        raise data_type.bad_fill(value, "a number that can be printed") from error


def _whole(value: Any, data_type: DataType) -> int:
    """A number without its fraction, as C casts it."""
    if type(value) is float and not math.isfinite(value):
        raise data_type.bad_fill(value, "a finite number")
    return int(value)


def _wrapped(value: int, data_type: Integer) -> Any:
    size = data_type.dtype.itemsize
    unsigned = data_type.dtype.kind == "u"
    if not -(1 << 63) <= value < 1 << (64 if unsigned and size == 8 else 63):
        raise data_type.bad_fill(value, "an integer of 64 bits")
    data = (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    native = data_type.dtype.newbyteorder("=")
    return element(data, data_type.dtype.newbyteorder("<")).astype(native)


def _record(value: Any, data_type: Struct) -> Any:
    """The same number in every field."""
    record = np.zeros((), dtype=data_type.numpy)
    for field in data_type.fields:
        record[field.name] = _from_number(value, field.data_type)
    return record[()]


def encode(value: Any, data_type: DataType, name: FormatName) -> Json:
    """The fill_value member of a scalar (None stays null); UnsupportedError if there is none."""
    if value is None:
        return None
    match data_type:
        case Boolean() | Integer() | FixedText():
            return data_type.fill_to_json(value)
        case Float():
            return _one_nan(data_type.scalar(value), data_type, name)
        case Complex():
            scalar = data_type.scalar(value)
            if scalar.imag == 0 and math.copysign(1, scalar.imag) > 0:
                return _one_nan(scalar.real, data_type.part, name)
            raise _unsupported(value, name, "a complex number other than a real one")
        case Time():
            return int(data_type.scalar(value).view(np.int64))
        case FixedBytes():
            data = bytes(data_type.scalar(value))
            if data.isascii():
                return data.decode("ascii")
            raise _unsupported(value, name, "bytes that are no ASCII text")
        case _:
            if _says_zero(data_type) and _same(value, data_type.zero, data_type):
                return 0
            raise _unsupported(value, name, "a record or raw bytes, unless all are 0")


def _one_nan(value: Any, data_type: Float, name: FormatName) -> float:
    """JSON's NaN has neither payload nor sign."""
    number = float(value)
    if not math.isnan(number):
        return number
    bits = data_type.fill_to_json(value)
    if bits != "NaN":
        raise _unsupported(bits, name, "a NaN with a sign or a payload of its own")
    return math.nan


def _says_zero(data_type: DataType) -> bool:
    """Whether the number 0 means the value zero; in text it is the digit."""
    if isinstance(data_type, Struct):
        return all(_says_zero(field.data_type) for field in data_type.fields)
    return not isinstance(data_type, FixedText | FixedBytes)


def _same(one: Any, two: Any, data_type: DataType) -> bool:
    def bits(value: Any) -> bytes:
        return np.array(data_type.scalar(value), dtype=data_type.numpy).tobytes()

    return one is two or bits(one) == bits(two)


def _unsupported(value: Any, name: FormatName, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"format {name} has no fill value for {what}, found {show(value)}; use fill_value=None, or"
        " a later zarr_format",
        what="fill_value",
    )


def new(value: Any, data_type: DataType, name: FormatName) -> Json:
    """The fill_value member for what a user asks for. A plain number is written as it is given if
    that says the same: the releases wrote 0 for a float, and so does this."""
    if value is None:
        return None
    if value is DEFAULT:
        if isinstance(data_type, Float | Complex):
            return 0
        if isinstance(data_type, Struct) and not _says_zero(data_type):
            return None
        return encode(data_type.zero, data_type, name)
    scalar = members.scalar(value, data_type)
    if type(value) in (bool, int, float) and _says(value, scalar, data_type):
        return value
    return encode(scalar, data_type, name)


def _says(value: Json, scalar: Any, data_type: DataType) -> bool:
    try:
        return _same(decode(value, data_type), scalar, data_type)
    except MetadataError:
        return False


def rewritten(
    document: Mapping[str, Json], value: Any, data_type: DataType, name: FormatName
) -> Json:
    """The member of a document that is written again: as it is where it says the same."""
    stored = document.get("fill_value")
    if value is not None and stored is not None:
        before = decode(stored, data_type)
        if _same(before, value, data_type):
            return stored
    return encode(value, data_type, name)
