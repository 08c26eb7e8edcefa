"""A pyramid of arrays that exist: scales that follow from their shapes.

This module must not know how a convention spells a pyramid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from omnizarr.conventions.multiscales.facts import Axis, Level, Pyramid
from omnizarr.errors import MetadataError
from omnizarr.model.json import show

T = TypeVar("T")
Names = tuple[str | None, ...]


def described(
    shapes: Mapping[str, tuple[int, ...]],
    dimension_names: Sequence[Names | None],
    axes: Sequence[str] | None,
    scale: float | Mapping[str, float],
    unit: str | Mapping[str, str] | None,
    convention: str,
) -> Pyramid:
    """The pyramid of arrays by their paths, the largest first.

    Parameters
    ----------
    shapes
        The shape of every level by its path.
    dimension_names
        The names that each array has; None if it has none.
    axes
        The names of the axes; None: those of the first array.
    scale, unit
        Of the largest level: for all axes of space, or by the name of an axis.
    convention
        OME-NGFF 0.5 wants arrays whose dimensions are called as the axes are.
    """
    if not shapes:
        raise MetadataError("multiscales: a pyramid has at least one level")
    largest = next(iter(shapes.values()))
    names = tuple(axes) if axes is not None else _names(dimension_names[0])
    if len(names) != len(largest):
        raise MetadataError(
            f"multiscales: {len(names)} axes for arrays of {len(largest)} dimensions"
        )
    if convention == "ome-0.5":
        for path, found in zip(shapes, dimension_names, strict=True):
            if found != names:
                raise MetadataError(
                    f"multiscales: OME-NGFF 0.5 wants the level {path!r} to have the dimension"
                    f" names {names}, found {found}"
                ).advise("create the arrays with dimension_names=")
    found_axes = tuple(Axis.named(name) for name in names)
    named: dict[str, str] = {}
    for name, given in _by_axis(unit, found_axes).items():
        if not isinstance(given, str):
            raise MetadataError(f"multiscales: unit takes the name of one, found {given!r}")
        named[name] = given
    scales = {name: _number(one) for name, one in _by_axis(scale, found_axes).items()}
    steps = tuple(scales.get(name, 1.0) for name in names)
    levels: list[Level] = []
    for path, shape in shapes.items():
        if len(shape) != len(names):
            raise MetadataError(
                f"multiscales: level {path!r} has {len(shape)} dimensions, the largest {len(names)}"
            )
        before = levels[-1].shape if levels else largest
        if any(more > less for less, more in zip(before or (), shape, strict=True)):
            raise MetadataError(
                f"multiscales: level {path!r} of shape {shape} comes after one of shape {before};"
                " the largest is first"
            )
        factors = tuple(_factor(whole, part) for whole, part in zip(largest, shape, strict=True))
        placed = zip(factors, steps, strict=True)
        levels.append(
            Level(
                path,
                shape,
                tuple(factor * step for factor, step in zip(factors, steps, strict=True)),
                tuple((factor - 1) / 2 * step for factor, step in placed),
            )
        )
    return Pyramid(
        tuple(replace(axis, unit=named.get(axis.name)) for axis in found_axes),
        tuple(levels),
        convention=convention,
    )


def _names(found: Names | None) -> tuple[str, ...]:
    if found is None or None in found:
        raise MetadataError("multiscales: the arrays have no dimension names").advise(
            'name the axes: axes="yx", say'
        )
    return tuple(name for name in found if name is not None)


def _by_axis(value: T | Mapping[str, T] | None, axes: Sequence[Axis]) -> Mapping[str, T]:
    """A value for each axis that it is about."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        return {axis.name: value for axis in axes if axis.type == "space"}
    known = [axis.name for axis in axes]
    for name in value:
        if name not in known:
            raise MetadataError(f"multiscales: there is no axis {name!r}, but {', '.join(known)}")
    return value


def _number(given: float) -> float:
    try:
        return float(given)
    except (OverflowError, TypeError, ValueError):
        raise MetadataError(f"multiscales: scale takes numbers, found {show(given)}") from None


def _factor(whole: int, part: int) -> float:
    """How many elements of the largest level one element stands for: an integer where one fits, as
    2 does for 5 elements and the 3 or 2 that are made of them."""
    if not part:
        return 1.0
    nearest = max(round(whole / part), 1)
    for factor in (nearest, nearest + 1, nearest - 1):
        if factor > 0 and part in (whole // factor, -(-whole // factor)):
            return float(factor)
    return whole / part
