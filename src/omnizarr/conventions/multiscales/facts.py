"""What a pyramid is, whichever convention describes it: axes, levels, where their elements are.

World coordinates are those of element centres, as OME-NGFF has them: the element with index ``i``
of an axis is at ``i * scale + translation``. This module must not know how a convention spells
that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite, prod

from omnizarr.conventions.geo import resolution
from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json

_TYPES = {
    **dict.fromkeys(("x", "y", "z", "lat", "lon", "latitude", "longitude"), "space"),
    **dict.fromkeys(("t", "time"), "time"),
    **dict.fromkeys(("c", "channel", "band", "bands"), "channel"),
}


@dataclass(frozen=True)
class Axis:
    """One axis of all levels.

    Examples
    --------
    >>> from omnizarr.conventions.multiscales import Axis
    >>> Axis.named("x", unit="micrometer")
    Axis(name='x', type='space', unit='micrometer')
    """

    name: str
    type: str | None = None
    """``"space"``, ``"time"``, ``"channel"``, another word, or None."""
    unit: str | None = None
    """A name of UDUNITS-2, such as ``"micrometer"``."""

    @classmethod
    def named(cls, name: str, unit: str | None = None) -> Axis:
        """An axis whose type its name tells: x, y, z, t, c and their like."""
        return cls(name, _TYPES.get(name.lower()), unit)


@dataclass(frozen=True)
class Level:
    """One resolution: where it is stored, and where its elements are."""

    path: str
    """From the group that describes the pyramid to an array, or to a group with the array."""
    shape: tuple[int, ...] | None = None
    scale: tuple[float, ...] = ()
    """Distance between elements, per axis; empty where the convention says nothing."""
    translation: tuple[float, ...] = ()
    """World coordinates of the first element, per axis; empty as `scale` is."""
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Further members of the level's description, such as ``spatial:transform``."""
    on_map: bool = False
    """Whether scale and translation are those of rows and columns on a map, and of no other axis:
    which axes these are, `dims` or the names of the axes say."""
    dims: tuple[str, str] | None = None
    """The names of the axes of rows and columns, where the convention says them."""

    def line(
        self, names: Sequence[str | None]
    ) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """Scale and translation for each of so many axes; None if they do not fit."""
        missing = len(names) - len(self.scale)
        if missing < 0 or len(self.scale) != len(self.translation):
            return None
        axes: Sequence[int] = range(missing, len(names))  # maps have bands or times before them
        if self.on_map:
            axes = resolution.axes(tuple(names), self.dims, {}, located=True) or axes
        scale, translation = [1.0] * len(names), [0.0] * len(names)
        for axis, step, first in zip(axes, self.scale, self.translation, strict=True):
            scale[axis], translation[axis] = step, first
        return tuple(scale), tuple(translation)


@dataclass(frozen=True)
class Pyramid:
    """One image at several resolutions, the largest first."""

    axes: tuple[Axis, ...]
    """Empty where the convention names none: then the arrays may (`completed`)."""
    levels: tuple[Level, ...]
    name: str = ""
    method: str | None = None
    """How the levels were made, in the words of the writer."""
    metadata: Mapping[str, Json] = field(default_factory=dict)
    """What else the writer says about that."""
    convention: str = "ome-0.5"
    """The convention that it was read from, or is meant for."""
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Further members of the description, which the same convention keeps."""


def completed(
    pyramid: Pyramid,
    shapes: Sequence[tuple[int, ...]],
    names: Sequence[str | None] | None = None,
) -> Pyramid:
    """The pyramid with the shapes of its arrays, and with what the convention left open.

    Parameters
    ----------
    pyramid
        As a convention describes it.
    shapes
        The shape of each level's array, in the order of `pyramid.levels`.
    names
        The dimension names of the arrays.

    Raises
    ------
    MetadataError
        If the arrays have different numbers of dimensions, or not those of the axes.
    """
    ndim = len(shapes[0])
    for level, shape in zip(pyramid.levels, shapes, strict=True):
        if len(shape) != ndim:
            raise MetadataError(
                f"multiscales: level {level.path!r} has {len(shape)} dimensions and level"
                f" {pyramid.levels[0].path!r} has {ndim}; the levels of a pyramid have the same"
            )
    axes = pyramid.axes or tuple(_axis(names, position) for position in range(ndim))
    if len(axes) != ndim:
        raise MetadataError(f"multiscales: {len(axes)} axes, but the arrays have {ndim} dimensions")
    largest = max(shapes, key=prod)
    levels = [
        _placed(replace(level, shape=tuple(shape)), shape, largest, [axis.name for axis in axes])
        for level, shape in zip(pyramid.levels, shapes, strict=True)
    ]
    levels.sort(key=lambda level: -prod(level.shape or ()))  # stable: equal ones keep their order
    return replace(pyramid, axes=axes, levels=tuple(levels))


def _axis(names: Sequence[str | None] | None, position: int) -> Axis:
    name = names[position] if names is not None else None
    return Axis.named(name) if name else Axis(f"dim_{position}")


def _placed(
    level: Level, shape: tuple[int, ...], largest: tuple[int, ...], names: Sequence[str]
) -> Level:
    """The level with a scale and a translation for every axis."""
    if not level.scale:
        # Without a word of the convention, every level covers the area of the largest.
        scale = tuple(whole / max(part, 1) for whole, part in zip(largest, shape, strict=True))
        return replace(level, scale=scale, translation=tuple((one - 1) / 2 for one in scale))
    found = level.line(names)
    if found is None:
        raise MetadataError(
            f"multiscales: level {level.path!r} has a scale of {len(level.scale)} numbers and"
            f" {len(shape)} dimensions"
        )
    return replace(level, scale=found[0], translation=found[1], on_map=False)


def check_writable(pyramid: Pyramid) -> None:
    """MetadataError if a pyramid that is to be written is not whole."""
    if not pyramid.levels:
        raise MetadataError("multiscales: a pyramid has at least one level")
    for level in pyramid.levels:
        for what, numbers in (("scale", level.scale), ("translation", level.translation)):
            if len(numbers) != len(pyramid.axes) or not all(map(isfinite, numbers)):
                raise MetadataError(
                    f"multiscales: level {level.path!r}: {what} needs a finite number for each of"
                    f" {len(pyramid.axes)} axes, found {numbers}"
                )
        if 0 in level.scale:
            raise MetadataError(
                f"multiscales: level {level.path!r}: no scale is 0, found {level.scale}"
            )
