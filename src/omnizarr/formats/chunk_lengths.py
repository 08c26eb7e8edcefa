"""Chunk lengths that no chunk can have, as zarr-python wrote them, and how they are read.

zarr-python before 3.4 stored a chunk length of 0 for empty dimensions and where a user asked for
it; 3.0 and 3.2 stored true for 1. A length of 0 is read as the shortest one: no chunk can have been
stored under it. Nothing else is read: negative lengths, fractions and a wrong number of dimensions
stay as they are, for the parsers to refuse.

This module knows lists of lengths. It must not know documents.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import NamedTuple

from omnizarr.model.array import Repair
from omnizarr.model.codec import Json
from omnizarr.model.grids import Shape
from omnizarr.model.json import show

ADVICE = (
    "To store what is read, call update_attributes({}) of the array, opened for writing; where a"
    " group consolidates its metadata, call omnizarr.consolidate_metadata for that group as well."
)


class Reading(NamedTuple):
    """A value in valid form, and how it departs from the stored one."""

    value: Json
    """The stored value itself, if it needs no repair."""
    departures: tuple[str, ...] = ()
    """What is wrong with the stored value, and the software that wrote it so."""
    repair: Repair | None = None


def each(read: Callable[[Json], Json], values: Json) -> Json:
    """What a function makes of the items of a list; the list itself if that changes none."""
    if not isinstance(values, list):
        return values
    found = list(map(read, values))
    return values if all(map(is_, found, values)) else found


def true_as_one(length: Json) -> Json:
    return 1 if length is True else length


def chunk_shape(value: Json, name: str, shape: Shape, shortest: Shape | None = None) -> Reading:
    """Read a chunk shape. `shortest`: what a length of 0 is read as, 1 if it is left out."""
    if not isinstance(value, list) or len(value) != len(shape):
        return Reading(value)
    found = each(true_as_one, value)
    departures: list[str] = []
    if found is not value:
        departures.append(
            f"{name} holds true in {show(value)}; zarr-python 3.0 and 3.2 wrote it and meant 1"
        )
    least = (1,) * len(shape) if shortest is None else shortest
    empty = [type(length) in (int, bool) and not length for length in found]
    if not any(empty):
        return Reading(found, tuple(departures))
    found = [low if none else length
             for length, low, none in zip(found, least, empty, strict=True)]  # fmt: skip
    departures.append(
        f"{name} holds a length of 0 in {show(value)}; zarr-python before 3.4 wrote it for empty"
        f" dimensions; it is read as {show(found)}"
    )
    warning = (
        f"the stored chunk shape {show(value)} is read as {show(found)}. No chunk can be stored"
        " under a length of 0, so the array holds its fill value alone: create it anew for other"
        f" chunks. {ADVICE}"
    )
    warns = any(none and length for none, length in zip(empty, shape, strict=True))
    return Reading(found, tuple(departures), Repair(warning if warns else ""))
