"""A plan: which levels are made of which arrays, where, and in which steps, as facts.

`planning` makes it, `work` and `execution` carry it out. Any part of it can be sent to another
process. This module knows what is to be done. It must not do any of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from omnizarr.conventions.multiscales import Convention, Pyramid
from omnizarr.jobs.conversion.plan import ConversionPlan
from omnizarr.jobs.pyramids.geometry import Geometry
from omnizarr.jobs.pyramids.kernels import Reduction
from omnizarr.jobs.pyramids.stages import Stage
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.nodes.array import Array
from omnizarr.nodes.node import NodeAddress, Options

JOURNAL = ".omnizarr-pyramid.json"
SCRATCH = ".omnizarr-pyramid"
"""Sums between two stages, below the group that is written. They are no nodes."""

_WRITING = Options(documents_last=True)
SUMS = Options(documents_last=True, write_empty_chunks=True, on_missing="raise")
"""Every sum is stored, also of nothing but zeros: one that is missing was lost."""


class Stored(NamedTuple):
    """An array that is read or written, whether its documents are stored yet or not."""

    place: NodeAddress
    model: ArrayModel

    def array(self, options: Options = _WRITING) -> Array:
        return Array._of(self.place, self.model, options)


@dataclass(frozen=True)
class VariablePlan:
    """One array and its levels."""

    name: str
    """Its name within each level; "" if a level is an array."""
    source: Stored
    options: Options
    """How the source was opened."""
    levels: tuple[Stored, ...]
    """The largest first. That is the source itself if levels are written beside it."""
    geometry: Geometry
    reduction: Reduction
    stages: tuple[Stage, ...]
    sums: Mapping[int, tuple[Stored, ...]] = field(default_factory=dict)
    """Where a mean goes on: for the last level of a stage the sums of each part, and the counts."""

    is_bounds: bool = False
    """Whether its values are the edges of the elements of an axis, as CF's `bounds` are."""

    @property
    def is_coordinate(self) -> bool:
        """Whether its values say where the elements of an axis are."""
        model = self.source.model
        named = model.dimension_names == (self.name,)
        return named and model.dtype.kind == "f" and self.reduction.method == "mean"

    @property
    def copied(self) -> bool:
        """Whether the largest level is a copy of the source."""
        return self.levels[0] is not self.source


class LevelGroup(NamedTuple):
    """A level that is a group."""

    place: NodeAddress
    attributes: Mapping[str, Json]


@dataclass(frozen=True)
class PyramidPlan:
    group: NodeAddress
    """Whose attributes describe the pyramid."""
    variables: tuple[VariablePlan, ...]
    copies: tuple[ConversionPlan, ...]
    level_groups: tuple[LevelGroup, ...]
    """Groups of levels, if levels are groups; without the largest, which is copied."""
    pyramid: Pyramid
    convention: Convention
    attributes: Mapping[str, Json]
    """What the group gets beside the description, if it is new."""
    image: Mapping[str, Json]
    """The attributes of the array that the pyramid shows."""
    names: tuple[str, ...] | None
    """Dimension names for the largest level, if that is the source and has none."""
    fingerprint: str

    @property
    def journal_key(self) -> str:
        return paths.join(self.group.path, JOURNAL)

    @property
    def written(self) -> tuple[Stored, ...]:
        """The arrays that are computed."""
        return tuple(level for one in self.variables for level in one.levels[1:])

    @property
    def roots(self) -> list[str]:
        """The places that must be free."""
        if self.level_groups:
            below = {one.place.path: None for one in self.level_groups}
        else:
            below = {one.place.path: None for one in self.written}
        zero = [copy.target.path for copy in self.copies[:1]]  # others are members of levels
        return [*zero, *below]
