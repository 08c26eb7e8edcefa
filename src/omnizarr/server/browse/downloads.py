"""A selection as a file: NumPy's .npy, text with commas, NetCDF.

Pictures are made by the page. This module knows values. It must not know HTTP.
"""

from __future__ import annotations

import csv
import io
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.server.browse.netcdf_file import netcdf
from omnizarr.server.browse.selections import BadRequest, TooMuch, shape_of
from omnizarr.server.browse.values import exact, itemsize, read

_BYTES = 256 << 20
_LINES = 2_000_000
"""Values in a file of text."""

MEDIA = {
    "npy": "application/octet-stream",
    "csv": "text/csv; charset=utf-8",
    "nc": "application/x-netcdf",
}


def file_of(array: Any, group: Any, path: str, text: str, kind: str, decode: bool) -> bytes:
    """The bytes of a file that has the selection."""
    if kind not in MEDIA:
        raise BadRequest(f"expected one of {', '.join(MEDIA)}, found {kind!r}")
    selection = exact(array, text)
    size = prod(shape_of(selection))
    if size * itemsize(array) > _BYTES or (kind == "csv" and size > _LINES):
        raise TooMuch("the selection is too large for a file from this page; choose less of it")
    if kind == "nc":
        return netcdf(array, group, path, selection, decode)
    values = read(array, group, selection, decode)
    return _npy(values) if kind == "npy" else _csv(values)


def _npy(values: npt.NDArray[Any]) -> bytes:
    if values.dtype.hasobject:
        raise BadRequest("values of this type have no .npy file without pickle; take CSV")
    out = io.BytesIO()
    if not _is_read_back(values.dtype):
        raise BadRequest(f"NumPy has no {values.dtype} in .npy files; take CSV")
    np.save(out, values, allow_pickle=False)
    return out.getvalue()


def _is_read_back(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy finds a data type again in the header of a file."""
    try:
        return bool(np.lib.format.descr_to_dtype(np.lib.format.dtype_to_descr(dtype)) == dtype)
    except TypeError:  # float8_e5m2 calls itself '<f1', which NumPy has not
        return False


def _csv(values: npt.NDArray[Any]) -> bytes:
    """Rows of the last dimension; a record is a row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if values.dtype.names:
        writer.writerow(values.dtype.names)
        writer.writerows([row[name] for name in values.dtype.names] for row in values.ravel())
    else:
        width = values.shape[-1] if values.ndim > 1 else 1
        writer.writerows(values.reshape(-1, width) if values.size else [])
    return out.getvalue().encode()
