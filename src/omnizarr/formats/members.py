"""Typed access to the members of a metadata document.

Every function gives a value of the asked type or raises MetadataError that names the member, what
was expected and what was found. They know JSON shapes, not what a member means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from omnizarr import limits
from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import DataType
from omnizarr.model.grids import Shape
from omnizarr.model.json import show

MISSING = object()
MAX_LENGTH = (1 << 63) - 1
"""The longest dimension that a 64-bit index reaches; the product of several has no bound."""


class Extension(NamedTuple):
    """A named extension: final v3's `{"name", "configuration", "must_understand"}`."""

    name: str
    configuration: Mapping[str, Json]
    must_understand: bool


def document(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise MetadataError(f"the document must be a JSON object, found {show(value)}")
    return value


def required(members: Mapping[str, Json], name: str) -> Json:
    value = members.get(name, MISSING)
    if value is MISSING:
        raise MetadataError(f"the member {name!r} is missing")
    return value


def attributes(value: Json, name: str = "attributes") -> dict[str, Json]:
    if not isinstance(value, dict):
        raise MetadataError(f"{name} must be an object, found {show(value)}")
    return value


def lengths(value: Json, name: str, least: int) -> Shape:
    """A list of integers, each at least `least`, no more than an array may have dimensions."""
    if not isinstance(value, list):
        raise MetadataError(f"{name} must be a list of integers, found {show(value)}")
    if len(value) > limits.current.max_dimensions:
        raise MetadataError(
            f"{name} has {len(value)} dimensions; limits.max_dimensions allows"
            f" {limits.current.max_dimensions}"
        )
    for length in value:
        if type(length) is not int or not least <= length <= MAX_LENGTH:
            raise MetadataError(
                f"{name} must hold integers from {least} to 2**63 - 1, found {show(length)}"
                f" in {show(value)}"
            )
    return tuple(value)


def extension(value: Json, name: str) -> Extension:
    """An extension object, or the short-hand string that stands for its name alone."""
    if type(value) is str and value:
        return Extension(value, {}, True)
    if not isinstance(value, dict):
        raise MetadataError(f"{name} must be a name or an object with a name, found {show(value)}")
    found = value.get("name")
    if not isinstance(found, str) or not found:
        raise MetadataError(f"{name}: the name must be a string, found {show(found)}")
    configuration = value.get("configuration")
    if configuration is None:
        configuration = {}
    elif not isinstance(configuration, dict):
        raise MetadataError(
            f"{name} {found!r}: configuration must be an object, found {show(configuration)}"
        )
    must_understand = value.get("must_understand", True)
    if not isinstance(must_understand, bool):
        raise MetadataError(
            f"{name} {found!r}: must_understand must be true or false,"
            f" found {show(must_understand)}"
        )
    return Extension(found, configuration, must_understand)


def essential(value: Json, name: str) -> Extension:
    """An extension that cannot be ignored: data type, chunk grid, chunk key encoding."""
    found = extension(value, name)
    if not found.must_understand:
        raise MetadataError(f"{name} {found.name!r}: must_understand may not be false here")
    return found


def has_bare_token(value: Json) -> bool:
    """Whether there is a NaN or an infinity in it, which no JSON number can be."""
    if isinstance(value, list):
        return any(map(has_bare_token, value))
    if isinstance(value, dict):
        return any(map(has_bare_token, value.values()))
    return isinstance(value, float) and not math.isfinite(value)


def scalar(value: Any, data_type: DataType) -> Any:
    """A user's fill value as a scalar of its type."""
    try:
        return data_type.scalar(value)
    except (TypeError, ValueError) as error:
        raise MetadataError(
            f"fill_value {show(value)} does not fit the data type {data_type.name!r}: {error}"
        ) from error
