"""Data types as zarr-python has them: a class each, and a registry that finds them.

omnizarr's arrays take them as `dtype=`. What they know is how a type and its fill value are spelled
in documents of formats 2 and 3; omnizarr itself reads and writes documents without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.compat.zarr3.core.dtype.npy.bool import Bool
from omnizarr.compat.zarr3.core.dtype.npy.bytes import (
    NullTerminatedBytes,
    NullterminatedBytesJSON_V2,
    NullTerminatedBytesJSON_V3,
    RawBytes,
    RawBytesJSON_V2,
    RawBytesJSON_V3,
    VariableLengthBytes,
    VariableLengthBytesJSON_V2,
)
from omnizarr.compat.zarr3.core.dtype.npy.complex import Complex64, Complex128
from omnizarr.compat.zarr3.core.dtype.npy.float import Float16, Float32, Float64
from omnizarr.compat.zarr3.core.dtype.npy.int import (
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)
from omnizarr.compat.zarr3.core.dtype.npy.string import (
    FixedLengthUTF32,
    FixedLengthUTF32JSON_V2,
    FixedLengthUTF32JSON_V3,
    VariableLengthUTF8,
    VariableLengthUTF8JSON_V2,
)
from omnizarr.compat.zarr3.core.dtype.npy.structured import (
    Struct,
    StructJSON_V3,
    Structured,
    StructuredJSON_V2,
    StructuredJSON_V3,
)
from omnizarr.compat.zarr3.core.dtype.npy.time import (
    DateTime64,
    DateTime64JSON_V2,
    DateTime64JSON_V3,
    TimeDelta64,
    TimeDelta64JSON_V2,
    TimeDelta64JSON_V3,
)
from omnizarr.compat.zarr3.core.dtype.problems import moved_error
from omnizarr.compat.zarr3.core.dtype.registry import DataTypeRegistry
from omnizarr.compat.zarr3.core.dtype.wrapper import TBaseDType, TBaseScalar, ZDType

__all__ = [
    "Bool",
    "Complex64",
    "Complex128",
    "DataTypeRegistry",
    "DateTime64",
    "DateTime64JSON_V2",
    "DateTime64JSON_V3",
    "FixedLengthUTF32",
    "FixedLengthUTF32JSON_V2",
    "FixedLengthUTF32JSON_V3",
    "Float16",
    "Float32",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "NullTerminatedBytes",
    "NullTerminatedBytesJSON_V3",
    "NullterminatedBytesJSON_V2",
    "RawBytes",
    "RawBytesJSON_V2",
    "RawBytesJSON_V3",
    "Struct",
    "StructJSON_V3",
    "Structured",
    "StructuredJSON_V2",
    "StructuredJSON_V3",
    "TBaseDType",
    "TBaseScalar",
    "TimeDelta64",
    "TimeDelta64JSON_V2",
    "TimeDelta64JSON_V3",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "VariableLengthBytes",
    "VariableLengthBytesJSON_V2",
    "VariableLengthUTF8",
    "VariableLengthUTF8JSON_V2",
    "ZDType",
    "data_type_registry",
    "parse_data_type",
    "parse_dtype",
]

__getattr__ = moved_error("zarr.core.dtype")
INTEGER_DTYPE: Final = (Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64)
FLOAT_DTYPE: Final = (Float16, Float32, Float64)
COMPLEX_FLOAT_DTYPE: Final = (Complex64, Complex128)
STRING_DTYPE: Final = (FixedLengthUTF32, VariableLengthUTF8)
TIME_DTYPE: Final = (DateTime64, TimeDelta64)
BYTES_DTYPE: Final = (RawBytes, NullTerminatedBytes, VariableLengthBytes)
ANY_DTYPE: Final[tuple[type[ZDType[Any, Any]], ...]] = (
    Bool,
    *INTEGER_DTYPE,
    *FLOAT_DTYPE,
    *COMPLEX_FLOAT_DTYPE,
    *STRING_DTYPE,
    *BYTES_DTYPE,
    Struct,
    *TIME_DTYPE,
)
VLEN_UTF8_ALIAS: Final = ("str", str, "string")
ZDTypeLike: TypeAlias = npt.DTypeLike | ZDType[Any, Any] | Mapping[str, Any] | str

data_type_registry = DataTypeRegistry()
"""The data types that are known."""
for _known in ANY_DTYPE:
    data_type_registry.register(_known._zarr_v3_name, _known)


def get_data_type_from_native_dtype(dtype: Any) -> ZDType[Any, Any]:
    """Return the data type of a NumPy dtype."""
    if isinstance(dtype, list):
        dtype = [tuple(field) for field in dtype]
    return data_type_registry.match_dtype(np.dtype(dtype))


def get_data_type_from_json(dtype_spec: Any, *, zarr_format: Any) -> ZDType[Any, Any]:
    """Return the data type that a document names."""
    return data_type_registry.match_json(dtype_spec, zarr_format=zarr_format)


def parse_dtype(dtype_spec: Any, *, zarr_format: Any) -> ZDType[Any, Any]:
    """Return a data type, given as one, as a document or as NumPy names it.

    Parameters
    ----------
    dtype_spec
        A data type, its JSON, or a NumPy dtype.
    zarr_format
        The format of the JSON: 2 or 3.

    Returns
    -------
    ZDType
        The data type.

    Examples
    --------
    >>> parse_dtype("int32", zarr_format=3)
    Int32(endianness='little')
    """
    if isinstance(dtype_spec, ZDType):
        return dtype_spec
    if isinstance(dtype_spec, Mapping | str | Sequence):
        try:
            return get_data_type_from_json(dtype_spec, zarr_format=zarr_format)
        except ValueError:
            pass
    if any(dtype_spec is alias or dtype_spec == alias for alias in VLEN_UTF8_ALIAS):
        return VariableLengthUTF8()
    return get_data_type_from_native_dtype(dtype_spec)


def parse_data_type(dtype_spec: Any, *, zarr_format: Any) -> ZDType[Any, Any]:
    """Return a data type: `parse_dtype`."""
    return parse_dtype(dtype_spec, zarr_format=zarr_format)
