"""Data of pandas as something that can be written: a column, or a NumPy array.

What NumPy holds for pandas is taken as it is, so a NaN among floats and a NaT among times are
values. pandas' own types can lack a value; then they are refused, with its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.errors import UnsupportedError
from omnizarr.nodes.arrow.common import Values, chosen
from omnizarr.nodes.arrow.missing import missing
from omnizarr.nodes.arrow.writing import from_arrow
from omnizarr.runtime.optional_packages import package

_EXAMPLE = "values.fillna(…)"
_EXACT = 2.0**53
"""Integers below this one are floats of 64 bits, too."""


def from_pandas(value: Any) -> Any:
    """A Series, an Index, a DataFrame, one of pandas' arrays or of its scalars."""
    kind = getattr(value, "dtype", None)
    if kind is not None:
        return _values(value, kind) if hasattr(value, "isna") else value
    if type(value).__name__ == "NAType":
        raise missing("the value", "pandas.NA")
    if hasattr(value, "asm8") and value == value:
        return value.asm8  # a Timestamp keeps its nanoseconds so
    if hasattr(value, "dtypes") and hasattr(value, "iloc"):
        return _table(value)
    return value


def _values(value: Any, kind: Any) -> Values:
    if isinstance(kind, np.dtype):
        return np.asarray(value.to_numpy())
    if hasattr(kind, "tz"):
        # The moment in UTC; NaT is one of its values.
        return np.asarray(value, dtype=f"datetime64[{kind.unit}]")
    if type(kind).__name__ == "SparseDtype":  # its gaps are a value
        return np.asarray(value)
    absent = np.asarray(value.isna())
    if absent.any():
        raise missing(f"element {int(np.argmax(absent))}", "missing", _EXAMPLE)
    if getattr(kind, "storage", "") == "pyarrow" or hasattr(kind, "pyarrow_dtype"):
        pa = package("pyarrow", "arrow", "Arrow-backed pandas")
        return from_arrow(pa.array(value))  # type: ignore[no-any-return]
    if hasattr(kind, "categories"):
        categorical = getattr(value, "cat", value)
        categories = _values(categorical.categories, categorical.categories.dtype)
        return chosen(categories, np.asarray(categorical.codes).astype(np.int64))
    if hasattr(kind, "numpy_dtype"):
        return np.asarray(value.to_numpy(dtype=kind.numpy_dtype))
    if getattr(kind, "storage", "") == "python":
        return np.asarray(value.to_numpy(dtype=object))
    raise UnsupportedError(
        f"Zarr has no data type for pandas' {kind}; convert it, as in values.astype(…)",
        what="data_type",
    )


def _table(value: Any) -> Any:
    if len(set(value.dtypes)) == 1 and isinstance(value.dtypes.iloc[0], np.dtype):
        return value.to_numpy()
    columns = []
    for number, name in enumerate(value.columns):
        column = value.iloc[:, number]
        try:
            columns.append(np.asarray(_values(column, column.dtype)))
        except UnsupportedError as error:
            raise UnsupportedError(f"column {name!r}: {error}", what="data_type") from error
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}") from error
    try:
        whole = np.stack(columns, axis=1)
    except TypeError as error:
        raise TypeError(
            "the columns of the DataFrame have no type in common; write each to an array of its own"
        ) from error
    for column in columns:
        # What NumPy finds in common for numbers is often a float, which rounds large integers.
        if column.dtype.kind in "iu" and whole.dtype.kind == "f" and _rounds(column):
            return np.stack([column.astype(object) for column in columns], axis=1)
    return whole


def _rounds(integers: Any) -> bool:
    return bool(np.abs(integers.astype(np.float64)).max(initial=0) >= _EXACT)
