"""Data types of other packages.

A type is a subclass of `DataType`. It is known by a name through `register`, or through an entry
point of that name in the group `omnizarr.data_types`. Entry points are looked at only when a name,
or a NumPy dtype, is not known otherwise; one that cannot be used raises when its name is
looked up, and at no other time.

This module knows how to find classes. It must not know any data type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import DataType
from omnizarr.model.json import show

GROUP = "omnizarr.data_types"

_registered: dict[str, type[DataType]] = {}


def register(name: str, data_type: type[DataType]) -> None:
    """Make a class known under a name; doing it twice changes nothing."""
    if not name:
        raise ValueError(f"a data type needs a name, found {name!r}")
    if not _is_type(data_type):
        raise TypeError(f"{data_type!r} is no subclass of omnizarr.model.dtypes.DataType")
    if _registered.setdefault(name, data_type) is not data_type:
        raise ValueError(f"the data type {name!r} is already known")


def registered() -> tuple[tuple[str, type[DataType]], ...]:
    """Every name and class that `register` was given: what documents say may depend on them."""
    return tuple(_registered.items())


def find(name: str) -> type[DataType] | None:
    """The class of a name; None if no package has it, UnsupportedError if it cannot be used."""
    found = _registered.get(name)
    if found is not None:
        return found
    entry = _entry_points().get(name)
    return None if entry is None else _load(entry)


def configured(name: str, data_type: type[DataType], configuration: Mapping[str, Json]) -> DataType:
    """An instance, whatever a stored configuration holds: MetadataError if the class refuses it."""
    try:
        found = data_type.from_configuration(configuration)
    except Exception as error:  # what foreign code raises on hostile data is not known here
        raise MetadataError(
            f"data_type {name!r}: the configuration {show(configuration)} is refused by"
            f" {_path(data_type)}: {error}"
        ) from error
    if not isinstance(found, DataType):
        raise UnsupportedError(
            f"data_type {name!r}: {_path(data_type)}.from_configuration gave {show(found)}, which"
            " is no DataType"
        )
    return found


def claimed(dtype: np.dtype[Any]) -> DataType | None:
    """The type that says a NumPy dtype is its own; None if none does."""
    for data_type in _usable():
        found = data_type.from_numpy(dtype)
        if found is not None:
            return found
    return None


def _usable() -> Iterator[type[DataType]]:
    yield from _registered.values()
    for name, entry in _entry_points().items():
        if name not in _registered:
            try:
                yield _load(entry)
            except UnsupportedError:  # raised when its name is looked up
                continue


@cache
def _entry_points() -> Mapping[str, Any]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}


@cache
def _load(entry: Any) -> type[DataType]:
    distribution = f" of the package {entry.dist.name}" if entry.dist is not None else ""
    where = f"the entry point '{entry.name} = {entry.value}'{distribution} in the group {GROUP!r}"
    try:
        found = entry.load()
    except Exception as error:  # importing foreign code may raise anything
        raise UnsupportedError(
            f"the data type {entry.name!r} cannot be used: {where} fails with"
            f" {type(error).__name__}: {error}; repair or remove the package"
        ) from error
    if not _is_type(found):
        raise UnsupportedError(
            f"the data type {entry.name!r} cannot be used: {where} leads to {show(found)}, which is"
            " no subclass of omnizarr.model.dtypes.DataType"
        )
    loaded: type[DataType] = found
    return loaded


def _is_type(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, DataType)


def _path(data_type: type[DataType]) -> str:
    return f"{data_type.__module__}.{data_type.__qualname__}"
