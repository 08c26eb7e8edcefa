"""Keep data safe that are written over a node: nothing is deleted before they are.

`secured` is called before a node is replaced. Data that would be deleted with the node are refused.
Data of unknown origin are read into memory first, while their source still exists.

This module knows which libraries tell where their data are stored. It must not know formats.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from omnizarr.errors import OverlapError
from omnizarr.model.column import Column
from omnizarr.nodes.creation.overlaps import Location, check_apart, origins, package_of
from omnizarr.nodes.data.lazy import REGION_BYTES, computed

_OWN = ("omnizarr", "zarr")
"""Packages whose arrays tell their store and path."""
_OPEN = ("h5py",)
"""Packages whose arrays read an open file, which outlives its name."""


def secured(data: Any, targets: Iterable[Location]) -> Any:
    """`data`, or their values in memory, such that the targets may be deleted before they are
    written.

    Raises
    ------
    OverlapError
        If the data are read from a target, or if that cannot be known of a Dask array that is too
        large to be computed first.

    Examples
    --------
    >>> import omnizarr
    >>> group = omnizarr.group()
    >>> array = group.create_array("a", data=[1, 2, 3])
    >>> secured(array, [Location(group.store, "b")]) is array
    True
    """
    places = list(targets)
    if not places or isinstance(data, np.ndarray | np.generic | Column):
        return data
    doubts: list[str] = []
    check_apart(data, places, doubts)
    if _is_placed(data) or not any(map(_is_taken, places)):
        return data
    lazy = computed(data)
    if lazy is None:
        return _values(data)
    if not doubts:
        return data
    if prod(lazy.shape) * lazy.dtype.itemsize <= REGION_BYTES:
        return np.asanyarray(lazy.compute())
    raise OverlapError(
        f"{places[0]}: something is stored there that would be deleted first, and it cannot be told"
        f" whether the Dask array that is to be written reads it: {doubts[0]}. Write it to"
        " another place, or delete the old array first if it does not"
    )


def _is_placed(data: Any) -> bool:
    """Whether it is known where an array is read from."""
    package = package_of(data)
    return package in _OPEN or (package in _OWN and any(True for _ in origins(data)))


def _is_taken(place: Location) -> bool:
    """Whether anything is stored there; an archive may be replaced as a whole."""
    if place.kind == "zip" or not place.store.capabilities.listable:
        return True
    keys, prefixes = place.store.list_dir(f"{place.path}/" if place.path else "")
    return bool(keys or prefixes)


def _values(data: Any) -> Any:
    """All values of an array of another library, read as they would be when they are written."""
    if not hasattr(data, "dtype") or not hasattr(data, "shape"):
        return data
    if not hasattr(data, "__getitem__"):
        return np.asanyarray(data)
    return np.asanyarray(data[tuple(slice(0, length) for length in data.shape)])
