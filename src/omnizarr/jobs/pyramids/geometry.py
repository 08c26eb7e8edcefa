"""Which axes shrink, how long they are at every level, and where the elements of a level lie.

This module knows numbers and names of axes. It must not know arrays or stores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.conventions.multiscales import Axis
from omnizarr.jobs.pyramids.kernels import Factors, Method, offset
from omnizarr.model.grids import Shape

SMALLEST = 256
"""Unless told otherwise, levels are added until no axis that shrinks is longer than this."""
MOST_LEVELS = 64

Region = tuple[slice, ...]


@dataclass(frozen=True)
class Geometry:
    """The shapes of all levels, the largest first, and the factors between them."""

    shapes: tuple[Shape, ...]
    factors: tuple[Factors, ...]
    """What level 1, 2, … is divided by, each with regard to the level before."""

    def total(self, level: int, start: int = 0) -> Factors:
        """The factors between two levels."""
        between = self.factors[start:level]
        return tuple(prod(one) for one in zip(*between, strict=True)) or self._ones

    @property
    def _ones(self) -> Factors:
        return (1,) * len(self.shapes[0])

    def counts(self, level: int, region: Region) -> npt.NDArray[Any] | int:
        """How many elements of the largest level are in each element of a region: one number if
        they are the same everywhere."""
        vectors = []
        for part, factor, length in zip(region, self.total(level), self.shapes[0], strict=True):
            starts = np.arange(part.start, part.stop, dtype=np.int64) * factor
            vectors.append(np.minimum(starts + factor, length) - starts)
        if all((vector == vector[0]).all() for vector in vectors if vector.size):
            return prod(int(vector[0]) for vector in vectors if vector.size)
        counts: npt.NDArray[Any] = vectors[0]
        for vector in vectors[1:]:
            counts = np.multiply.outer(counts, vector)
        return counts

    def placement(
        self,
        level: int,
        method: Method,
        scale: Sequence[float],
        translation: Sequence[float],
        mapped: Collection[int] = (),
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Scale and translation of a level, from those of the largest. The mean of a block lies in
        its middle; what `nearest` took stays where it was, but along axes that are `mapped`, where
        a transform places whole blocks."""
        steps, origin = list(scale), list(translation)
        for factors in self.factors[:level]:
            for axis, factor in enumerate(factors):
                taken = method == "nearest" and axis not in mapped
                moved = offset(factor) if taken else (factor - 1) / 2
                origin[axis] += moved * steps[axis]
                steps[axis] *= factor
        return tuple(steps), tuple(origin)


def scaled(region: Region, factors: Factors, shape: Shape) -> Region:
    """The same region one level down, cut at the end of the array."""
    return tuple(
        slice(part.start * factor, min(part.stop * factor, length))
        for part, factor, length in zip(region, factors, shape, strict=True)
    )


def geometry_of(
    shape: Shape,
    factors: Factors,
    levels: int | None,
    chunks: Shape,
    wanted: str = "levels",
    *,
    padded: bool = False,
) -> Geometry:
    """Levels until nothing is longer than `SMALLEST` or a chunk, or as many as are wanted. An axis
    of one element does not shrink further; where none does, levels are repeated if `padded`, for
    variables beside a larger one."""
    if levels is not None and (type(levels) is not int or not 1 <= levels <= MOST_LEVELS):
        raise ValueError(f"{wanted} takes a whole number from 1 to {MOST_LEVELS}, found {levels!r}")
    enough = [max(SMALLEST, chunk) for chunk in chunks]
    shapes, steps = [shape], []
    while True:
        step = tuple(f if n > 1 else 1 for f, n in zip(factors, shapes[-1], strict=True))
        if all(f == 1 for f in step) and not (padded and levels is not None):
            break
        if levels is None:
            long = (n > most for n, most, f in zip(shapes[-1], enough, step, strict=True) if f > 1)
            if not any(long):
                break
        elif len(shapes) == levels:
            break
        steps.append(step)
        shapes.append(tuple(-(-n // f) for n, f in zip(shapes[-1], step, strict=True)))
    if levels is not None and len(shapes) < levels:
        raise ValueError(
            f"{wanted}={levels}: with factors {factors} an array of shape {shape} has at most"
            f" {len(shapes)} levels, the largest among them"
        )
    return Geometry(tuple(shapes), tuple(steps))


# -- axes -------------------------------------------------------------------------------------


def axes_of(given: Any, names: Sequence[str | None] | None, ndim: int) -> tuple[Axis, ...]:
    """The axes that a caller describes: ``"tczyx"``, names, mappings or `Axis`; else those with the
    dimension names of the array."""
    if given is None:
        names = names or (None,) * ndim
        return tuple(
            Axis.named(name) if name else Axis(f"dim_{at}") for at, name in enumerate(names)
        )
    axes = tuple(_axis(one) for one in given)
    if len(axes) != ndim:
        raise ValueError(f"axes: {given!r} names {len(axes)} axes, the array has {ndim}")
    if len({axis.name for axis in axes}) < ndim:
        raise ValueError(f"axes: {given!r} has a name twice")
    return axes


def _axis(given: Any) -> Axis:
    if isinstance(given, Axis):
        return given
    if isinstance(given, str):
        return Axis.named(given)
    if isinstance(given, Mapping) and isinstance(given.get("name"), str):
        known = Axis.named(given["name"])
        rest = set(given) - {"name", "type", "unit"}
        if not rest and all(one is None or isinstance(one, str) for one in given.values()):
            return Axis(known.name, given.get("type", known.type), given.get("unit"))
    raise TypeError(f"axes takes names, or mappings with name, type and unit; found {given!r}")


def shrinking(axes: Sequence[Axis], factors: Any = None) -> Factors:
    """The factor of every axis: 2, or what is given, for those of space; else for the last two.
    Times and channels shrink only by name."""
    ndim = len(axes)
    spatial = [at for at, axis in enumerate(axes) if axis.type == "space"]
    if not spatial:
        untyped = [at for at, axis in enumerate(axes) if axis.type is None]
        spatial = [at for at in untyped if at >= ndim - 2]
    if isinstance(factors, Mapping):
        names = {axis.name: at for at, axis in enumerate(axes)}
        found = [1] * ndim
        for name, factor in factors.items():
            if name not in names:
                raise ValueError(f"factors: there is no axis {name!r}, but {', '.join(names)}")
            found[names[name]] = _factor(factor)
    elif factors is None or isinstance(factors, int | np.integer):
        one = 2 if factors is None else _factor(factors)
        found = [one if at in spatial else 1 for at in range(ndim)]
    else:
        if isinstance(factors, str) or not isinstance(factors, Iterable):
            raise TypeError(
                "factors takes a whole number, one for each axis, or a mapping from axis to number;"
                f" found {factors!r}"
            )
        found = [_factor(factor) for factor in factors]
        if len(found) != ndim:
            raise ValueError(f"factors: {len(found)} for {ndim} axes")
    if all(factor == 1 for factor in found):
        raise ValueError(
            f"no axis shrinks: the axes are {', '.join(axis.name for axis in axes) or 'none'};"
            " name those that do in factors, such as factors={'y': 2, 'x': 2}"
        )
    return tuple(found)


def _factor(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
        raise ValueError(f"factors: expected whole numbers of at least 1, found {given!r}")
    return int(given)
