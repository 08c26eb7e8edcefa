"""Finding a data type by its canonical name or by its NumPy dtype.

Types of other packages come through the entry-point group `omnizarr.data_types`: an entry named
like the type and leading to a callable that takes the `configuration` and gives a `DataType`.
The group is looked at only when a name is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError, UnknownDataTypeError, UnsupportedError
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import struct, time
from omnizarr.model.dtypes.base import DataType
from omnizarr.model.dtypes.numeric import Boolean, Complex, Float, Integer
from omnizarr.model.dtypes.raw import Raw
from omnizarr.model.dtypes.small import NAMES as SMALL_NAMES
from omnizarr.model.dtypes.small import small
from omnizarr.model.dtypes.text import FixedBytes, FixedText
from omnizarr.model.dtypes.variable import Bytes, Object, String
from omnizarr.model.json import show

Factory = Callable[[Mapping[str, Json]], DataType]
MAX_ITEM_BYTES = 1 << 24
"""The largest element that is taken seriously: its fill value is made when an array is opened."""

_PLAIN: dict[str, DataType] = {
    "bool": Boolean(),
    "string": String(),
    "bytes": Bytes(),
    "variable_length_bytes": Bytes(),
}
for _bits in (8, 16, 32, 64):
    for _name in (f"int{_bits}", f"uint{_bits}"):
        _PLAIN[_name] = Integer(np.dtype(_name))
for _name in ("float16", "float32", "float64"):
    _PLAIN[_name] = Float(np.dtype(_name))
for _name, _alias in (("complex64", "complex_float32"), ("complex128", "complex_float64")):
    _PLAIN[_name] = _PLAIN[_alias] = Complex(np.dtype(_name))

_RAW = re.compile(r"r([1-9][0-9]{0,11})\Z")
_COMPLEX = re.compile(r"complex_(b?float[0-9]+.*)\Z")


def _length(name: str, configuration: Mapping[str, Json], unit: int) -> int:
    length = configuration.get("length_bytes")
    if type(length) is not int or not 0 < length <= MAX_ITEM_BYTES or length % unit:
        multiple = f" and a multiple of {unit}" if unit > 1 else ""
        raise MetadataError(
            f"{name}: length_bytes must be from 1 to {MAX_ITEM_BYTES}{multiple}, found"
            f" {show(length)}"
        )
    return length // unit


_CONFIGURED: dict[str, Factory] = {
    "raw_bytes": lambda c: Raw(np.dtype(f"V{_length('raw_bytes', c, 1)}")),
    "fixed_length_utf32": lambda c: FixedText(np.dtype(f"U{_length('fixed_length_utf32', c, 4)}")),
    "null_terminated_bytes": lambda c: FixedBytes(
        np.dtype(f"S{_length('null_terminated_bytes', c, 1)}")
    ),
    "numpy.datetime64": lambda c: time.from_configuration("numpy.datetime64", c),
    "numpy.timedelta64": lambda c: time.from_configuration("numpy.timedelta64", c),
    "struct": lambda c: struct.from_configuration("struct", c),
    "structured": lambda c: struct.from_configuration("structured", c),
}


def register(name: str, factory: Factory) -> None:
    """Make a data type known under a name that is not taken."""
    if name in _PLAIN or name in _CONFIGURED or name in SMALL_NAMES:
        raise ValueError(f"the data type {name!r} is already known")
    _CONFIGURED[name] = factory


def from_json(value: Json) -> DataType:
    """The type of a `data_type` member: a name, or an object with name and configuration."""
    name: Json = value
    configuration: Json = None
    if isinstance(value, dict):
        name, configuration = value.get("name"), value.get("configuration")
    elif not isinstance(value, str):
        raise MetadataError(f"data_type must be a name or an object, found {show(value)}")
    if not isinstance(name, str) or not name:
        raise MetadataError(f"data_type: the name must be a string, found {show(name)}")
    if configuration is not None and not isinstance(configuration, dict):
        raise MetadataError(
            f"data_type {name!r}: configuration must be an object, found {show(configuration)}"
        )
    plain = _PLAIN.get(name)
    if plain is not None:
        return plain
    factory = _CONFIGURED.get(name)
    if factory is not None:
        return factory(configuration or {})
    if name in SMALL_NAMES:
        return small(name)
    raw = _RAW.match(name)
    if raw:
        bits = int(raw[1])
        if bits % 8 or bits // 8 > MAX_ITEM_BYTES:
            raise MetadataError(
                f"data_type {name!r}: the number of bits must be a multiple of 8, and no more than"
                f" {8 * MAX_ITEM_BYTES}"
            )
        return Raw(np.dtype(f"V{bits // 8}"))
    entry = _entry_points().get(name)
    if entry is not None:
        loaded: Factory = entry.load()
        _CONFIGURED[name] = loaded
        return loaded(configuration or {})
    hint = ""
    if _COMPLEX.match(name):
        hint = "; NumPy has no complex type with such parts"
    raise UnknownDataTypeError(
        f"unknown data type {show(name)}{hint}; a package can add it with an entry point in the"
        " group 'omnizarr.data_types'"
    )


def parse(dtype: Any) -> DataType | np.dtype[Any]:
    """A user's `dtype=`: a `DataType` where Zarr's own name or object was given, else NumPy's.

    Python's `str` and `bytes` are the variable-size types.
    """
    if isinstance(dtype, DataType | np.dtype):
        return dtype
    if dtype is str or dtype in ("str", "string"):
        return _PLAIN["string"]
    if dtype is bytes or (isinstance(dtype, str) and dtype == "bytes"):
        return _PLAIN["bytes"]
    if isinstance(dtype, Mapping) and "name" in dtype:
        return from_json(dict(dtype))
    try:
        if isinstance(dtype, list):
            # Fields as JSON gives them back: lists where NumPy wants tuples.
            dtype = [tuple(field) if isinstance(field, list) else field for field in dtype]
        found: np.dtype[Any] = np.dtype(dtype)
        return found
    except (TypeError, ValueError) as error:
        if isinstance(dtype, str):
            try:
                return from_json(dtype)
            except UnknownDataTypeError:
                pass
        raise UnknownDataTypeError(f"not a data type: {show(dtype)} ({error})") from error


def from_numpy(dtype: Any) -> DataType:
    """The type of a NumPy dtype, or of whatever `parse` takes for one.

    "U" and "S" without a length are the variable-size types.
    """
    found = parse(dtype)
    if isinstance(found, DataType):
        return found
    try:
        return _from_dtype(found)
    except TypeError:  # an unhashable dtype (a StringDType with a strange na_object)
        return _from_dtype.__wrapped__(found)


@lru_cache(maxsize=1024)
def _from_dtype(dtype: np.dtype[Any]) -> DataType:
    if dtype.subdtype is not None:
        raise UnsupportedError(
            f"the sub-array dtype {dtype} is not an element type; give the base dtype"
            f" {dtype.base} and append {dtype.shape} to the array's shape"
        )
    if dtype.itemsize > MAX_ITEM_BYTES:
        raise UnsupportedError(
            f"elements of {dtype.itemsize} bytes; the largest may have {MAX_ITEM_BYTES}",
            what="data_type",
        )
    if isinstance(dtype, np.dtypes.StringDType):
        return String()
    if dtype.names is not None:
        return struct.struct(dtype)
    if dtype.name in SMALL_NAMES:
        return small(dtype.name)
    kind, size = dtype.kind, dtype.itemsize
    if kind == "b":
        return Boolean()
    if kind in "iu":
        return Integer(dtype)
    if kind == "f" and size <= 8:
        return Float(dtype)
    if kind == "c" and size <= 16:
        return Complex(dtype)
    if kind in "mM":
        return time.Time(dtype)
    if kind == "U":
        return FixedText(dtype) if size else String()
    if kind == "S":
        return FixedBytes(dtype) if size else Bytes()
    if kind == "V" and size and dtype.type is np.void:
        return Raw(dtype)
    if kind == "O":
        return Object()
    raise UnsupportedError(f"NumPy's {dtype!r} has no Zarr data type; use one that is portable")


@cache
def _entry_points() -> Mapping[str, Any]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group="omnizarr.data_types")}
