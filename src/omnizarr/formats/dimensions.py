"""Dimension names in an attribute: the convention of xarray and netCDF for formats without them.

Every format but the final v3 keeps the names in `_ARRAY_DIMENSIONS`, one for each axis in C order.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats.base import FormatName
from omnizarr.model.codec import Json

ATTRIBUTE = "_ARRAY_DIMENSIONS"

Names = tuple[str | None, ...]


def read(attributes: Mapping[str, Json], ndim: int) -> Names | None:
    """The names that the attribute gives; None if it gives none for every axis."""
    names = attributes.get(ATTRIBUTE)
    if (
        isinstance(names, list)
        and len(names) == ndim
        and all(isinstance(name, str) for name in names)
    ):
        return tuple(names)
    return None


def write(
    attributes: Mapping[str, Json], names: Names | None, ndim: int, name: FormatName
) -> dict[str, Json]:
    """The attributes of a new array with its dimension names among them."""
    result = dict(attributes)
    if names is None:
        return result
    if len(names) != ndim:
        raise MetadataError(f"dimension_names has {len(names)} names for {ndim} dimensions")
    if any(found is None for found in names):
        raise UnsupportedError(
            f"format {name} keeps dimension names in the attribute {ATTRIBUTE}, which needs a name"
            f" for every dimension; found {names}",
            what="dimension_names",
        )
    result[ATTRIBUTE] = list(names)  # an empty list too: xarray opens no array without it
    return result


def strip(attributes: Mapping[str, Json], names: Names | None) -> dict[str, Json]:
    """The attributes without the names, for a format that has a place of its own for them."""
    result = dict(attributes)
    if names is not None and result.get(ATTRIBUTE) == list(names):
        del result[ATTRIBUTE]
    return result
