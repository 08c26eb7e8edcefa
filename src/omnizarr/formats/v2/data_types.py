"""How format 2 spells data types: NumPy's type strings and descriptions (document 000).

`"<f8"`, `"<M8[ns]"`, `[["x", "<f4"], ["z", "<f4", [2, 2]]]`; beyond the document, the bare names
(`"bfloat16"`, `"int4"`) that TensorStore writes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np

from omnizarr import limits
from omnizarr.errors import MetadataError, UnknownDataTypeError, UnsupportedError
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import (
    DataType,
    Object,
    String,
    from_json,
    from_numpy,
    numpy_determines,
)
from omnizarr.model.dtypes.registry import MAX_ITEM_BYTES, undetermined_name
from omnizarr.model.dtypes.small import NAMES as SMALL_NAMES
from omnizarr.model.dtypes.struct import struct
from omnizarr.model.dtypes.variable import Bytes
from omnizarr.model.json import show

_SIMPLE = re.compile(r"([<>|=]?)([biufcSUV?])([0-9]{0,10})\Z")
_UNIT = "Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as|generic"
_TIME = re.compile(rf"([<>|=]?)([mM])8(?:\[([1-9][0-9]{{0,9}})?({_UNIT})\])?\Z")
"""Document 000 demands a unit. zarr-python 3 writes times without one, which are read."""
MAX_MULTIPLE = (1 << 31) - 1
"""The longest step of dates and durations, in its unit, that NumPy has."""
OBJECT = ("|O", "|O8", "|O4", "O", "O8")
_SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}


def decode(value: Json) -> DataType:
    """The type of a `.zarray`'s dtype member."""
    if isinstance(value, str):
        return _decode_string(value)
    if isinstance(value, list):
        return _decode_fields(value)
    raise MetadataError(f"dtype must be a string or a list of fields, found {show(value)}")


@lru_cache(maxsize=1024)
def _decode_string(text: str) -> DataType:
    if text in OBJECT:
        return Object()
    if text in SMALL_NAMES:
        return from_json(text)
    simple = _SIMPLE.match(text)
    if simple:
        _, kind, digits = simple.groups()
        size = int(digits) if digits else 0
        if kind == "?":
            return from_numpy(np.dtype(bool))
        if kind in "fc" and size in (12, 16, 24, 32) and size not in _SIZES[kind]:
            raise UnsupportedError(
                f"dtype {show(text)}: extended precision differs between machines, so it cannot"
                " be read portably; have its writer store '<f8' or '<c16'"
            )
        unit = 4 if kind == "U" else 1
        legal = size in _SIZES[kind] if kind in _SIZES else 0 < size * unit <= MAX_ITEM_BYTES
        if legal:
            return from_numpy(np.dtype(text))
    time = _TIME.match(text)
    if time and int(time[3] or 1) <= MAX_MULTIPLE:
        return from_numpy(np.dtype(text))
    raise UnknownDataTypeError(
        f"dtype {show(text)} is not a NumPy type string such as '<f8', '|S12' or '<M8[ns]'"
    )


def _decode_fields(value: list[Json]) -> DataType:
    """A record. Unnamed void fields are NumPy's padding: they keep their bytes, not a name."""
    names: list[str] = []
    formats: list[Any] = []
    offsets: list[int] = []
    end = 0
    if not value:
        raise MetadataError("dtype: a record needs at least one field, found []")
    for field in value:
        name, dtype = _decode_field(field)
        if name == "" and dtype.type is np.void and dtype.names is None:
            end += dtype.itemsize
            continue
        names.append(name or f"f{len(names)}")
        formats.append(dtype)
        offsets.append(end)
        end += dtype.itemsize
    if end > MAX_ITEM_BYTES:
        raise MetadataError(f"dtype: a record of {end} bytes; {MAX_ITEM_BYTES} are allowed")
    try:
        if sum(dtype.itemsize for dtype in formats) == end:
            return struct(np.dtype(list(zip(names, formats, strict=True))))
        layout = {"names": names, "formats": formats, "offsets": offsets, "itemsize": end}
        return struct(np.dtype(layout))  # type: ignore[call-overload]  # the dict form is untyped
    except (TypeError, ValueError) as error:
        if isinstance(error, MetadataError):
            raise
        raise MetadataError(f"dtype: no record has the fields {show(value)}: {error}") from error


def _decode_field(field: Json) -> tuple[str, np.dtype[Any]]:
    if not isinstance(field, list) or len(field) not in (2, 3):
        raise MetadataError(
            f"dtype: a field must be [name, type] or [name, type, shape], found {show(field)}"
        )
    name = field[0]
    if isinstance(name, list):
        raise UnsupportedError(f"dtype: the field {show(name)} has a title, which is not supported")
    if not isinstance(name, str):
        raise MetadataError(f"dtype: a field name must be a string, found {show(name)}")
    dtype = decode(field[1]).numpy
    if len(field) == 2:
        return name, dtype
    shape = [field[2]] if type(field[2]) is int else field[2]
    if not isinstance(shape, list) or len(shape) > limits.current.max_dimensions:
        raise MetadataError(f"dtype: the field {name!r} has the shape {show(field[2])}")
    size = dtype.itemsize
    for length in shape:
        if type(length) is not int or length < 1:
            raise MetadataError(f"dtype: the field {name!r} has the shape {show(field[2])}")
        size *= length
    if size > MAX_ITEM_BYTES:
        raise MetadataError(
            f"dtype: the field {name!r} has {size} bytes; {MAX_ITEM_BYTES} are allowed"
        )
    return name, np.dtype((dtype, tuple(shape)))


def encode(data_type: DataType) -> Json:
    """The dtype member of a type; UnsupportedError if format 2 has no spelling for it."""
    if isinstance(data_type, String | Bytes | Object):
        return "|O"
    dtype = data_type.numpy
    if not numpy_determines(data_type):
        raise UnsupportedError(
            f"no NumPy type stands for {undetermined_name(data_type)!r}; only format 3 names it",
            what="data_type",
        )
    try:
        return _encode(dtype)
    except UnsupportedError:
        raise
    except ValueError as error:
        raise UnsupportedError(
            f"format 2 cannot describe {dtype}: {error}", what="data_type"
        ) from error


def _encode(dtype: np.dtype[Any]) -> Json:
    if dtype.names is None:
        if dtype.kind in "mM" and np.datetime_data(dtype)[0] == "generic":
            raise UnsupportedError(
                f"{dtype.str!r} has no unit, which type strings need; give one, as in"
                f" '{dtype.str}[ns]', or use zarr_format=3",
                what="data_type",
            )
        return dtype.name if dtype.name in SMALL_NAMES else dtype.str
    fields: list[Json] = []
    end = 0
    for name in dtype.names:
        field = dtype[name]
        offset = dtype.fields[name][1] if dtype.fields else 0
        if offset > end:
            fields.append(["", f"|V{offset - end}"])
        base, shape = field.subdtype or (field, ())
        member: list[Json] = [name, _encode(base)]
        fields.append([*member, list(shape)] if shape else member)
        end = offset + field.itemsize
    if dtype.itemsize > end:
        fields.append(["", f"|V{dtype.itemsize - end}"])
    return fields
