"""The values that are appended to an array, region by region.

Values in memory are checked at once, so that one that cannot be stored is refused before anything
is written. Arrays of omnizarr are read by the worker that writes; all others, here. What is known
of the values is a digest, which tells whether a killed append had the same.

This module knows values. It must not know journals.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError
from omnizarr.jobs.conversion.chunks import Listed
from omnizarr.jobs.conversion.regions import Region
from omnizarr.model import json
from omnizarr.model.dtypes.numeric import bounds
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.overlaps import package_of
from omnizarr.nodes.data.lazy import computed, is_known, values_of
from omnizarr.nodes.data.values import as_source

_SLICED = ("xarray", "h5py", "zarr", "netCDF4", "tensorstore")
"""Packages whose arrays are read slice by slice."""
_HASHED = 1 << 24


class Source:
    """What is appended: values in memory."""

    sendable: Array | None = None
    """An array that the worker reads itself."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = tuple(map(int, array.shape))

    def values(self, region: Region) -> Any:
        """A region for the worker; None if it reads it itself."""
        return self.array[region]

    def digest(self) -> str | None:
        """What tells these values from others; None if that is not known."""
        values = self.array
        if not isinstance(values, np.ndarray) or values.dtype.hasobject or values.dtype.kind == "T":
            return None
        found = hashlib.sha256(repr((values.shape, values.dtype.str)).encode())
        flat = values.reshape(-1) if values.flags.c_contiguous else values
        step = max(1, _HASHED // max(1, values.itemsize)) if flat.ndim == 1 else 1
        # Piece by piece, so that there is no copy of all.
        for start in range(0, flat.shape[0] if flat.ndim else 0, step):
            found.update(flat[start : start + step].tobytes())
        return found.hexdigest()


class _Stored(Source):
    """An array of omnizarr."""

    def __init__(self, array: Array) -> None:
        super().__init__(array)
        self.sendable = array

    def values(self, region: Region) -> None:
        return None

    def digest(self) -> str | None:
        array: Array = self.array
        if array.is_view or not array._source.store.capabilities.listable:
            return None
        facts = (
            array._source.store.identity,
            array.path,
            json.dumps(array._stored.document),
            Listed(array._source).digest,
        )
        return hashlib.sha256(repr(facts).encode("utf-8", "backslashreplace")).hexdigest()


class _Computed(Source):
    """An array of Dask, also inside one of xarray."""

    def values(self, region: Region) -> Any:
        return values_of(self.array, region)

    def digest(self) -> None:
        return None


class _Sliced(Source):
    """An array of another library, which reads a region when it is asked for it."""

    def __init__(self, array: Any, target: Array) -> None:
        super().__init__(array)
        self._target = target

    def values(self, region: Region) -> Any:
        found = self.array[region]
        values = getattr(found, "values", found)
        return as_source(values, self._target._source.model.data_type, self._target.dtype, None)

    def digest(self) -> None:
        return None


def source_of(given: Any, array: Array) -> Source:
    """What can be appended to an array; an error if it cannot."""
    if isinstance(given, Array):
        _check_type(given.dtype, array)
        return _Stored(given)
    lazy = computed(given)
    if lazy is not None and is_known(lazy):
        _check_type(lazy.dtype, array)
        return _Computed(lazy)
    if package_of(given) in _SLICED and hasattr(given, "shape"):
        dtype = getattr(given, "dtype", None)
        if isinstance(dtype, np.dtype):
            _check_type(dtype, array)
        return _Sliced(given, array)
    dtype = getattr(given, "dtype", None)
    if isinstance(dtype, np.dtype) and array.dtype.kind not in "OTSU":
        _check_type(dtype, array)
    try:
        values = as_source(given, array._source.model.data_type, array.dtype, None)
    except OverflowError as error:
        raise MetadataError(
            f"a value does not fit into an array of type {array.dtype}: {error}"
        ).at(array.store, path=array.path) from error  # fmt: skip
    if array.dtype.kind in "biuUS":  # a list was converted already
        plain = np.asarray(given)
        if plain.size and plain.dtype.kind in "fc":
            _check_type(plain.dtype, array)
        check_range(plain, array)
    return Source(values)


def _check_type(dtype: np.dtype[Any], array: Array) -> None:
    """Refuse what NumPy would convert without a word: times to numbers, fractions to integers."""
    if not np.can_cast(dtype, array.dtype, "same_kind"):
        raise MetadataError(
            f"values of type {dtype} cannot be appended to an array of type {array.dtype}; convert"
            " them first (times and packed values to what is stored)"
        ).at(array.store, path=array.path)


def check_range(values: Any, array: Array) -> None:
    """Refuse integers that would come out as others, and text that would be cut."""
    if not isinstance(values, np.ndarray) or np.can_cast(values.dtype, array.dtype):
        return
    found, stored = values.dtype.kind, array.dtype.kind
    lost = ""
    if values.size and found in "iu" and stored in "iu":
        least, most = int(values.min()), int(values.max())
        if not bounds(array.dtype)[0] <= least <= most <= bounds(array.dtype)[1]:
            lost = f"integers from {least} to {most}"
    elif values.size and found in "US" and stored in "US":
        length = int(np.strings.str_len(values).max())
        if length > array.dtype.itemsize // (4 if stored == "U" else 1):
            lost = f"text of {length} characters"
    if lost:
        raise MetadataError(f"values do not fit into an array of type {array.dtype}: {lost}").at(
            array.store, path=array.path
        )
