"""Several conventions on one array: which counts, and where they contradict each other.

What an array says itself counts before what its group says, and then the order of `facts.ORDER`.
The reference system and the transform are taken apart: one convention may have only one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import TypeVar

from omnizarr.conventions.geo import crs as systems
from omnizarr.conventions.geo.coordinates import Axis, axis_by_name
from omnizarr.conventions.geo.facts import ORDER, Stated
from omnizarr.conventions.geo.transform import alike
from omnizarr.errors import MetadataError

T = TypeVar("T")


def ranked(statements: Iterable[Stated | None]) -> tuple[Stated, ...]:
    """What the conventions state, the one that counts first."""
    found = [each for each in statements if each is not None]
    return tuple(sorted(found, key=lambda each: (each.inherited, ORDER.index(each.convention))))


def first(values: Iterable[T | None]) -> T | None:
    """The first that is stated."""
    return next((value for value in values if value), None)


def axes(
    names: tuple[str | None, ...],
    stated: tuple[str, str] | None,
    known: Mapping[int, Axis | None],
    located: bool,
) -> tuple[int, int] | None:
    """The dimensions of y and x: those that are stated, else by name, else by what `known` says of
    coordinate variables, else the last two of an array that is `located` on a map."""
    if stated is not None and {*stated} <= {*names}:
        return names.index(stated[0]), names.index(stated[1])
    found: dict[Axis, int] = {}
    for axis, name in enumerate(names):
        kind = axis_by_name(name) or known.get(axis)
        if kind is not None:
            found.setdefault(kind, axis)
    if len(found) == 2:
        return found["y"], found["x"]
    if located and not found and len(names) >= 2:
        return len(names) - 2, len(names) - 1
    return None


def conflicts(statements: tuple[Stated, ...], shape: tuple[int, int]) -> Iterator[str]:
    """Where conventions contradict each other, or the array; pyproj compares the systems."""
    for each in statements:
        if each.shape is not None and each.shape != shape:
            yield f"{each.convention} states the shape {each.shape}, the array has {shape}"
    for one, other in combinations(statements, 2):
        if one.definitions and other.definitions and _differ(one, other):
            yield (
                f"{one.convention} and {other.convention} state different reference systems;"
                f" {one.convention} counts"
            )
        if one.transform and other.transform and not alike(one.transform, other.transform, shape):
            yield (
                f"{one.convention} and {other.convention} state different transforms:"
                f" {tuple(one.transform)} and {tuple(other.transform)}; {one.convention} counts"
            )


def _differ(one: Stated, other: Stated) -> bool:
    try:
        return not systems.same(systems.first(one.definitions), systems.first(other.definitions))
    except MetadataError:
        return False  # reported where it is stated
