"""Finding a data type by its canonical name or by its NumPy dtype.

What is not built in is looked for among the types of other packages: see `plugins`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError, UnknownDataTypeError, UnsupportedError
from omnizarr.keywords import nearest
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import plugins, struct, time, variable
from omnizarr.model.dtypes.base import DataType, NumpyType
from omnizarr.model.dtypes.numeric import Boolean, Complex, Float, Integer
from omnizarr.model.dtypes.raw import Raw
from omnizarr.model.dtypes.small import NAMES as SMALL_NAMES
from omnizarr.model.dtypes.small import small
from omnizarr.model.dtypes.text import FixedBytes, FixedText
from omnizarr.model.dtypes.time import Time
from omnizarr.model.dtypes.variable import ArrowBinary, ArrowString, Bytes, Object, String
from omnizarr.model.json import show

Factory = Callable[[Mapping[str, Json]], DataType]
MAX_ITEM_BYTES = 1 << 24
"""The largest element that is taken seriously: its fill value is made when an array is opened."""

_PLAIN: dict[str, DataType] = {
    "bool": Boolean(),
    "bytes": Bytes(),
    "variable_length_bytes": Bytes(),
}
_ARROW: dict[str, DataType] = {
    "arrow-string": ArrowString(),
    "arrow-large-string": ArrowString(large=True),
    "arrow-binary": ArrowBinary(),
    "arrow-large-binary": ArrowBinary(large=True),
}
"""How users name the layouts of document 004; pyarrow's own types mean the same."""
for _bits in (8, 16, 32, 64):
    for _name in (f"int{_bits}", f"uint{_bits}"):
        _PLAIN[_name] = Integer(np.dtype(_name))
for _name in ("float16", "float32", "float64"):
    _PLAIN[_name] = Float(np.dtype(_name))
for _name, _alias in (("complex64", "complex_float32"), ("complex128", "complex_float64")):
    _PLAIN[_name] = _PLAIN[_alias] = Complex(np.dtype(_name))

_RAW = re.compile(r"r([1-9][0-9]{0,11})\Z")
_EXTENDED = re.compile(r"(float|complex)(80|96|128|160|192|256)\Z|c?longdouble\Z")
_EXTENDED_HINT = (
    ": extended precision differs between machines, so no format stores it portably;"
    " use float64 or complex128"
)


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
}
for _name in ("numpy.datetime64", "numpy.timedelta64"):
    _CONFIGURED[_name] = partial(time.from_configuration, _name)
for _name in ("struct", "structured"):
    _CONFIGURED[_name] = partial(struct.from_configuration, _name)
for _name in ("string", "binary", "LargeString", "LargeBinary"):
    _CONFIGURED[_name] = partial(variable.from_configuration, _name)


def register(name: str, data_type: type[DataType]) -> None:
    """Make a class of data types known under a name that is not taken."""
    if name in _names() or _RAW.match(name):
        raise ValueError(f"the data type {name!r} is already known")
    plugins.register(name, data_type)


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
            f"data_type {show(name)}: configuration must be an object, found {show(configuration)}"
        )
    plain = _PLAIN.get(name)
    if plain is not None:
        return plain
    factory = _CONFIGURED.get(name)
    if factory is not None:
        return factory(configuration or {})
    if name in SMALL_NAMES:
        return small(name)
    from omnizarr.model.dtypes import pairs

    if name in pairs.NAMES:
        return pairs.pair(name)
    raw = _RAW.match(name)
    if raw:
        bits = int(raw[1])
        if bits % 8 or bits // 8 > MAX_ITEM_BYTES:
            raise MetadataError(
                f"data_type {name!r}: the number of bits must be a multiple of 8, and no more than"
                f" {8 * MAX_ITEM_BYTES}"
            )
        return Raw(np.dtype(f"V{bits // 8}"))
    plugged = plugins.find(name)
    if plugged is not None:
        return plugins.configured(name, plugged, configuration or {})
    hint = _EXTENDED_HINT if _EXTENDED.match(name) else ""
    raise UnknownDataTypeError(
        f"unknown data type {show(name)}{hint}; a package can add it with an entry point in the"
        f" group {plugins.GROUP!r}"
    )


def parse(dtype: Any) -> DataType | np.dtype[Any]:
    """A user's `dtype=`: a `DataType` where Zarr's own name or object was given, else NumPy's.

    Python's `str` and `bytes` are the variable-size types.
    """
    if isinstance(dtype, DataType | np.dtype):
        return dtype
    if dtype is str or (isinstance(dtype, str) and dtype in ("str", "string")):
        return String()
    if dtype is bytes or (isinstance(dtype, str) and dtype == "bytes"):
        return _PLAIN["bytes"]
    if type(dtype).__module__.partition(".")[0] == "pyarrow":
        return _from_arrow(dtype)
    if isinstance(dtype, str) and dtype in _ARROW:
        return _ARROW[dtype]
    if isinstance(dtype, Mapping) and "name" in dtype:
        return from_json(dict(dtype))
    if hasattr(dtype, "to_native_dtype"):  # a data type of zarr-python
        native: np.dtype[Any] = dtype.to_native_dtype()
        is_bytes = getattr(dtype, "object_codec_id", None) == "vlen-bytes"
        return _PLAIN["bytes"] if is_bytes else native
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
        near = nearest(dtype, _names()) if isinstance(dtype, str) else ""
        raise UnknownDataTypeError(f"not a data type: {show(dtype)} ({error}){near}") from error


def _names() -> set[str]:
    """Every name of a data type that is built in."""
    from omnizarr.model.dtypes import pairs

    return {*_PLAIN, *_CONFIGURED, *_ARROW, *SMALL_NAMES, *pairs.NAMES}


def _from_arrow(kind: Any) -> DataType | np.dtype[Any]:
    """The type of one of pyarrow's."""
    name = f"arrow-{kind}".replace("_", "-").removesuffix("-view")
    if name in _ARROW:
        return _ARROW[name]
    try:
        found: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
    except (AttributeError, NotImplementedError, TypeError):
        found = np.dtype(object)
    if found.hasobject or found.kind in "mM":
        raise UnknownDataTypeError(
            f"pyarrow's {kind} names no data type here; give NumPy's, or {', '.join(_ARROW)}"
        )
    return found


def from_numpy(dtype: Any) -> DataType:
    """The type of a NumPy dtype, or of whatever `parse` takes for one.

    "U" and "S" without a length are the variable-size types.
    """
    found = parse(dtype)
    if isinstance(found, DataType):
        return found
    try:
        built_in = _built_in(found)
    except TypeError:  # an unhashable dtype (a StringDType with a strange na_object)
        built_in = _built_in.__wrapped__(found)
    if built_in is not None:
        return built_in
    plugged = plugins.claimed(found)
    if plugged is not None:
        return plugged
    hint = _EXTENDED_HINT if found.kind in "fc" else "; use one that is portable"
    if not found.itemsize:
        hint = f"; elements need a size, as in '{found.kind}8'"
    raise UnsupportedError(f"NumPy's {found!r} has no Zarr data type{hint}", what="data_type")


def numpy_determines(data_type: DataType) -> bool:
    """Whether the NumPy dtype alone determines the type, as formats before 3 need it."""
    try:
        return _built_in(data_type.numpy) == data_type
    except UnsupportedError:
        return False


def undetermined_name(data_type: DataType) -> str:
    """The name of a type that its NumPy dtype does not determine; for a record, a field's."""
    while isinstance(data_type, struct.Struct) and data_type.special:
        data_type = data_type.special[0][1]
    return data_type.name


_NUMERIC: Mapping[str, type[NumpyType]] = {
    "b": Boolean, "i": Integer, "u": Integer, "f": Float, "c": Complex, "m": Time, "M": Time,
}  # fmt: skip
"""By NumPy's kind."""


@lru_cache(maxsize=1024)
def _built_in(dtype: np.dtype[Any]) -> DataType | None:
    if dtype.subdtype is not None:
        raise UnsupportedError(
            f"the sub-array dtype {dtype} is not an element type; give the base dtype"
            f" {dtype.base} and append {dtype.shape} to the array's shape",
            what="data_type",
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
    if (kind == "f" and size > 8) or (kind == "c" and size > 16):
        return None
    if kind in _NUMERIC:
        return _NUMERIC[kind](dtype)
    if kind == "U":
        return FixedText(dtype) if size else String()
    if kind == "S":
        return FixedBytes(dtype) if size else Bytes()
    if kind == "V" and size and dtype.type is np.void:
        return Raw(dtype)
    if kind == "O":
        return Object()
    return None
