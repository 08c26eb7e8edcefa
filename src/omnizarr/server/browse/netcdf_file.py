"""A selection as a NetCDF-4 file: a group in memory that `omnizarr.export` writes.

This module knows arrays and their coordinates. It must not know HTTP.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import omnizarr
from omnizarr.errors import ZarrError
from omnizarr.server.browse.facts import PACKED, coordinate
from omnizarr.server.browse.selections import BadRequest, Selection, TooMuch, cost, lengths
from omnizarr.server.browse.values import decoded, itemsize

_MOST = 512 << 20
"""Bytes of a file."""
_COORDINATE = 64 << 20
"""Bytes of chunks that are decoded for one coordinate; a file goes without those that take more."""


def netcdf(array: Any, group: Any, path: str, selection: Selection, decode: bool) -> bytes:
    """The bytes of a file that has the selection, its attributes, and the coordinates along it."""
    name = path.rpartition("/")[2] or "values"
    dims = array.dims or (None,) * array.ndim
    parts = [
        (dim, length, part)
        for dim, length, part in zip(dims, array.shape, selection, strict=True)
        if isinstance(part, slice)
    ]
    own = [dim for dim, _, _ in parts]
    names = [dim if dim and own.count(dim) == 1 else f"dim_{axis}" for axis, dim in enumerate(own)]
    made = omnizarr.open_group({}, mode="w")
    try:
        _put(made, name, array, group, selection, names, decode)
        for dim, length, part in parts:
            found = coordinate(group, path, dim, length)
            if found is None or dim == name or own.count(dim) > 1 or not _is_cheap(found[1], part):
                continue
            try:
                _put(made, str(dim), found[1], _holder(found[1]), (part,), [dim], decode)
            except (ZarrError, OSError, ValueError, TypeError):  # damaged: the values still count
                continue
        return _written(made)
    except ZarrError as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise BadRequest(f"{error}{hint}") from error


def _is_cheap(array: Any, part: slice) -> bool:
    return cost((part,), lengths(array), itemsize(array)) <= _COORDINATE


def _holder(array: Any) -> Any:
    above = array.path.rpartition("/")[0]
    return omnizarr.open_group(array.store, path=above, mode="r")


def _put(
    made: Any, name: str, array: Any, group: Any, selection: Selection, dims: Any, decode: bool
) -> None:
    """One variable: as it is stored with all of its attributes, or decoded without those that say
    how it was packed."""
    attributes: dict[str, Any] = array.attrs.asdict()
    values: npt.NDArray[Any] | None = decoded(array, group, selection) if decode else None
    if values is None:
        values = np.asarray(array[selection])
    else:
        attributes = {key: value for key, value in attributes.items() if key not in PACKED}
    if values.dtype == np.float16:  # NetCDF has none
        values = values.astype(np.float32)
    made.create_array(
        name, data=values, dimension_names=dims, attributes=attributes, compressors=None
    )


def _written(made: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "values.nc")
        omnizarr.export(made, file, to="netcdf", json_attributes=True)
        if file.stat().st_size > _MOST:
            raise TooMuch("the file would be too large for this page; choose less")
        return file.read_bytes()
