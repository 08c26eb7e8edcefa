"""Which dimensions a group has.

A group of NCZarr declares its dimensions. In every other format they follow from the arrays: one
that an array names belongs to its group, unless a group above has one of the same name and size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import Any, NamedTuple

from omnizarr.errors import MetadataError
from omnizarr.model.dimensions import Dimension

SCALAR = "_scalar_"
"""The dimension of length 1 that NCZarr gives to a scalar."""


def as_size(size: Any) -> int:
    """The size that a caller gives to a dimension; MetadataError if no dimension can have it."""
    try:
        found = -1 if isinstance(size, bool) else index(size)
    except TypeError:
        found = -1
    if not 0 <= found < 1 << 63:
        raise MetadataError(f"the size of a dimension is an int from 0 on, found {size!r}")
    return found


class GroupFacts(NamedTuple):
    """One group as dimensions are looked for in it."""

    path: str
    """With a leading slash."""
    declared: Mapping[str, tuple[int, bool]] | None
    """Size, and whether it is unlimited; None if the group declares none and arrays decide."""
    arrays: Mapping[str, tuple[tuple[str | None, ...], tuple[int, ...]]]
    """Dimension names and shape of every array, by name."""


def dimension_names(
    names: tuple[str | None, ...] | None, shape: tuple[int, ...]
) -> tuple[str, ...]:
    """The name of every dimension of a variable. A dimension without a name has the name that
    netCDF-C gives it; a scalar has no dimension."""
    if names == (SCALAR,) and shape == (1,):
        return ()
    given = names if names is not None and len(names) == len(shape) else (None,) * len(shape)
    return tuple(
        f"_Anonymous_Dim_{length}" if name is None else name
        for name, length in zip(given, shape, strict=True)
    )


def visible(groups: Iterable[GroupFacts]) -> dict[str, Dimension]:
    """The dimensions that the last of some groups sees; each group is inside the one before it.
    MetadataError if two arrays of a group differ in the length of one."""
    found: dict[str, Dimension] = {}
    for group in groups:
        found |= _declared(group) if group.declared is not None else _derived(group, found)
    return found


def _declared(group: GroupFacts) -> dict[str, Dimension]:
    return {
        name: Dimension(name, size, unlimited, group.path)
        for name, (size, unlimited) in (group.declared or {}).items()
    }


def _derived(group: GroupFacts, above: Mapping[str, Dimension]) -> dict[str, Dimension]:
    own: dict[str, tuple[int, str]] = {}
    for array, (names, shape) in group.arrays.items():
        for name, length in zip(dimension_names(names, shape), shape, strict=False):
            size, first = own.setdefault(name, (length, array))
            if size != length:
                raise MetadataError(
                    f"group {group.path!r}: the dimension {name!r} has size {size} in {first!r},"
                    f" and {length} in {array!r}; variables that share a dimension have the same"
                    " length along it"
                ).advise("resize one of them, or give one another dimension name")
    return {
        name: Dimension(name, size, False, group.path)
        for name, (size, _) in own.items()
        if name not in above or above[name].size != size
    }
