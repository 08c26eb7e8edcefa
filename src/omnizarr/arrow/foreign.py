"""Whose data a value is, and how they are taken."""

from __future__ import annotations

from typing import Any

from omnizarr.arrow.awkward import from_awkward
from omnizarr.arrow.common import package
from omnizarr.arrow.pandas import from_pandas
from omnizarr.arrow.writing import from_arrow
from omnizarr.errors import UnsupportedError
from omnizarr.model.column import Column

_INTERFACES = ("__arrow_c_stream__", "__arrow_c_array__")
_PLAIN = (int, float, complex, str, bytes, list, tuple, Column)


def foreign(value: Any) -> Any:
    """Data of pyarrow, awkward, pandas and others that offer Arrow's interface as a column or as a
    NumPy array; anything else as it is.

    A missing value is a ValueError that names its place; a type that Zarr lacks is an
    UnsupportedError.
    """
    if isinstance(value, _PLAIN):
        return value
    match _library(value):
        case "pyarrow":
            return from_arrow(value)
        case "awkward":
            return from_awkward(value)
        case "pandas":
            return from_pandas(value)
        case "interface":
            return _from_interface(value)
    return value


def is_flat(value: Any) -> bool:
    """Whether a value comes from a library whose arrays have one dimension only."""
    return not isinstance(value, _PLAIN) and _library(value) in ("pyarrow", "interface")


def _library(value: Any) -> str:
    """Which library's data these are; nothing is imported to know it."""
    for base in type(value).__mro__:
        name = base.__module__.partition(".")[0]
        if name in ("numpy", "pyarrow", "awkward", "pandas"):
            return name
    if any(hasattr(value, name) for name in _INTERFACES):
        return "interface"
    return ""


def _from_interface(value: Any) -> Any:
    name = type(value).__name__
    pa = package("pyarrow", "arrow", f"writing from {name}")
    kinds = [getattr(value, "dtype", ""), *getattr(value, "dtypes", ())]
    if any(str(kind) == "Object" for kind in kinds):
        # polars would export where its objects lie in memory.
        raise UnsupportedError(
            f"{name} holds Python objects, which Arrow has no type for; write value.to_list()",
            what="data_type",
        )
    try:
        stream = hasattr(value, _INTERFACES[0])
        found = pa.chunked_array(value) if stream else pa.array(value)
    except Exception as error:  # what a foreign library raises on export is not known here
        raise UnsupportedError(
            f"{name} cannot be taken as Arrow data: {error}", what="data_type"
        ) from error
    return from_arrow(found)
