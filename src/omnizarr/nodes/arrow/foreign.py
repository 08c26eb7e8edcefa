"""Whose data a value is, and how they are taken. The reader of each library is imported when it is
first needed: most processes write arrays of NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.errors import MissingPackageError, UnsupportedError
from omnizarr.model.column import Column
from omnizarr.runtime.optional_packages import package

_INTERFACES = ("__arrow_c_stream__", "__arrow_c_array__")
_PLAIN = (int, float, complex, str, bytes, list, tuple, Column)


def foreign(value: Any) -> Any:
    """Data of pyarrow, awkward, pandas and others that offer Arrow's interface as a column or as a
    NumPy array; the array inside an xarray.DataArray, read unless it is Dask's; anything else as it
    is. Arrow's interface is for columns: what has a shape and a type of NumPy is an array.

    A missing value is a ValueError that names its place; a type that Zarr lacks is an
    UnsupportedError.
    """
    if isinstance(value, _PLAIN):
        return value
    match _library(value):
        case "pyarrow":
            from omnizarr.nodes.arrow.writing import from_arrow

            return from_arrow(value)
        case "awkward":
            from omnizarr.nodes.arrow.awkward import from_awkward

            return from_awkward(value)
        case "pandas":
            from omnizarr.nodes.arrow.pandas import from_pandas

            return from_pandas(value)
        case "xarray" if hasattr(value, "dtype") and hasattr(value, "data"):
            return foreign(value.data)
        case "interface":
            return _from_interface(value)
    return value


def is_flat(value: Any) -> bool:
    """Whether a value comes from a library whose arrays have one dimension only."""
    return not isinstance(value, _PLAIN) and _library(value) in ("pyarrow", "interface")


def _library(value: Any) -> str:
    """Which library's data these are; nothing is imported to know it."""
    for base in type(value).__mro__:
        name = str(base.__module__).partition(".")[0]
        if name in ("numpy", "pyarrow", "awkward", "pandas", "xarray"):
            return name
    array = isinstance(getattr(value, "dtype", None), np.dtype) and hasattr(value, "__array__")
    if not array and any(hasattr(value, name) for name in _INTERFACES):
        return "interface"
    return ""


def _from_interface(value: Any) -> Any:
    from omnizarr.nodes.arrow.writing import from_arrow

    name = type(value).__name__
    try:
        pa = package("pyarrow", "arrow", f"writing from {name}")
    except MissingPackageError:
        if _is_plain_numbers(value):
            return np.asarray(value)
        raise
    try:
        kinds = [getattr(value, "dtype", ""), *getattr(value, "dtypes", ())]
        objects = any(str(kind) == "Object" for kind in kinds)
        found = None if objects else _exported(pa, value)
    except Exception as error:  # what a foreign library raises on export is not known here
        raise UnsupportedError(
            f"{name} cannot be taken as Arrow data: {error}", what="data_type"
        ) from error
    if objects:
        # polars would export the memory addresses of its objects.
        raise UnsupportedError(
            f"{name} holds Python objects, which Arrow has no type for; write value.to_list()",
            what="data_type",
        )
    return from_arrow(found)


def _is_plain_numbers(value: Any) -> bool:
    """Whether a Series of polars holds integers or floats that NumPy has, and lacks none."""
    kind: Any = getattr(value, "dtype", None)
    if not hasattr(kind, "is_integer") or not hasattr(value, "null_count"):
        return False
    wanted = "iu" if kind.is_integer() else "f" if kind.is_float() else ""
    return bool(wanted) and value.null_count() == 0 and np.asarray(value).dtype.kind in wanted


def _exported(pa: Any, value: Any) -> Any:
    return pa.chunked_array(value) if hasattr(value, _INTERFACES[0]) else pa.array(value)
