"""How format 2 writes fill values, and what its writers have made of them.

Document 000 fixes floats (`"NaN"`, `"Infinity"`, `"-Infinity"`), byte strings and records
(base64). The rest is practice: see `decode`, which reads every form that real stores hold.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats import members
from omnizarr.model import json
from omnizarr.model.codec import CodecSpec, Json
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
from omnizarr.model.dtypes.base import element, from_base64, to_base64
from omnizarr.model.dtypes.struct import cleared
from omnizarr.model.json import show

_DECIMAL = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?\Z")


def decode(value: Json, data_type: DataType, filters: tuple[CodecSpec, ...] = ()) -> Any:
    """The scalar that a fill_value member means; None for null, "no fill value"."""
    if value is None:
        return None
    if isinstance(value, list) and len(value) == 1 and not isinstance(data_type, Object):
        value = value[0]  # netcdf-c 4.8.0
    match data_type:
        case Object():
            return value
        case Boolean() | Integer():
            return data_type.fill_from_json(_number(value))
        case Float() if data_type.name == "float4_e2m1fn" and _one_byte(value) is not None:
            return element(_one_byte(value) or b"", data_type.numpy)  # TensorStore writes base64
        case Float():
            digits = isinstance(value, str) and _DECIMAL.match(value) is not None
            named = isinstance(value, str) and not digits
            return data_type.fill_from_json(value if named else _number(value))
        case Complex():
            if isinstance(value, list):
                return data_type.fill_from_json(value)
            return data_type.fill_from_json([_number(value), 0])  # zarr 2.0 and 2.1 wrote 0
        case Time():
            return _time(value, data_type)
        case String() | FixedText():
            return data_type.zero if _is_zero(value) else data_type.fill_from_json(value)
        case FixedBytes() | Bytes():
            return _byte_string(value, data_type)
        case Struct() if data_type.dtype.hasobject:
            return _record_with_objects(value, data_type, filters)
        case Raw() | Struct():
            return _record(value, data_type)
        case _:
            return data_type.fill_from_json(value)


def _one_byte(value: Json) -> bytes | None:
    data = from_base64(value) if isinstance(value, str) else None
    return data if data is not None and len(data) == 1 and data[0] < 16 else None


def _is_zero(value: Json) -> bool:
    """0, the default of early releases whatever the type."""
    return type(value) in (int, float) and value == 0


def _number(value: Json) -> Json:
    if isinstance(value, str):  # n5-zarr writes "0"
        try:
            return int(value) if value.lstrip("-").isdecimal() else float(value)
        except ValueError:
            return value
    return value


def _time(value: Json, data_type: Time) -> Any:
    if isinstance(value, str):  # zarr-python 3.0 wrote "NaT" and "2000-01-01"
        try:
            return data_type.scalar(value)
        except ValueError as error:
            raise data_type.bad_fill(value, "an integer (ticks of the unit) or a date") from error
    if type(value) is float and value.is_integer():
        value = int(value)
    return data_type.fill_from_json(value)


def _byte_string(value: Json, data_type: FixedBytes | Bytes) -> Any:
    if _is_zero(value):
        return data_type.zero
    if isinstance(value, str):
        # Base64 since zarr 2.2; before that, and in netcdf-c, the text itself.
        data = from_base64(value)
        if data is not None and (data_type.variable or len(data) <= data_type.numpy.itemsize):
            return data_type.scalar(data)
        try:
            return data_type.scalar(value)
        except (ValueError, TypeError) as error:
            raise data_type.bad_fill(value, "base64, or text that fits") from error
    return data_type.fill_from_json(value)


def _record(value: Json, data_type: Raw | Struct) -> Any:
    if _is_zero(value):
        return data_type.zero
    data = from_base64(value) if isinstance(value, str) else None
    if data is None or len(data) != data_type.numpy.itemsize:
        raise data_type.bad_fill(value, f"base64 of {data_type.numpy.itemsize} bytes")
    return element(data, data_type.numpy)


def _record_with_objects(value: Json, data_type: Struct, filters: tuple[CodecSpec, ...]) -> Any:
    """Base64 of the value as the object codec encodes it; of those, JSON can be read here."""
    if _is_zero(value):
        return data_type.zero
    codec = filters[0].name if filters else ""
    data = from_base64(value) if isinstance(value, str) else None
    if data is not None and codec in ("numcodecs.json", "numcodecs.json2"):
        items = json.loads(data, "fill_value")
        try:
            record = items[0][0] if isinstance(items[0][0], list) else items[0]
            return data_type.scalar(record)
        except (LookupError, TypeError, ValueError) as error:
            raise data_type.bad_fill(value, "one record, encoded by the object codec") from error
    raise UnsupportedError(
        f"fill value {show(value)} of a record with objects, encoded by {codec or 'no codec'!r}:"
        " only null and the JSON codecs can be read"
    )


def has_default(data_type: DataType) -> bool:
    """Whether a new array has a fill value if nothing is said. zarr-python 2 takes the base64 of
    bytes of variable length for text, which it then cannot write."""
    return not isinstance(data_type, Bytes) and not (
        isinstance(data_type, Struct) and data_type.variable
    )


def encode(value: Any, data_type: DataType) -> Json:
    """The fill_value member of a scalar (None stays null)."""
    if value is None:
        return None
    match data_type:
        case Object():
            try:
                found = json.plain(value)
            except TypeError as error:
                raise MetadataError(
                    f"fill value {show(value)} of an array of objects must be a JSON value: {error}"
                ) from error
            if members.has_bare_token(found):
                raise UnsupportedError(
                    f"fill value {show(value)} of an array of objects must be a JSON value, which"
                    " NaN and the infinities are not; use fill_value=None",
                    what="fill_value",
                )
            return found
        case Float():
            return _float(value, data_type)
        case Complex():
            scalar = data_type.scalar(value)
            return [_float(part, data_type.part) for part in (scalar.real, scalar.imag)]
        case Time():
            return int(data_type.scalar(value).view(np.int64))
        case Struct() if data_type.dtype.hasobject:
            raise UnsupportedError(
                "format 2 has no portable fill value for a record with objects; use"
                " fill_value=None",
                what="fill_value",
            )
        case Struct() | Raw():
            record = np.array(data_type.scalar(value), dtype=data_type.numpy)
            return to_base64(cleared(record).tobytes())
        case _:
            return data_type.fill_to_json(value)


def _float(value: Any, data_type: Float) -> Json:
    """Document 000 has one NaN; its readers know no other, though `decode` takes the bits."""
    text = data_type.fill_to_json(value)
    if isinstance(text, str) and text.startswith("0x"):
        raise UnsupportedError(
            f"fill value {text}: this format has one NaN, without a sign or a payload of its own;"
            " use fill_value=float('nan'), or zarr_format=3, which stores the bits",
            what="fill_value",
        )
    return text
