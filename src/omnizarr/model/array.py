"""What an array and a group are, whatever format they are stored in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes.base import DataType
from omnizarr.model.grids import Grid, Shape
from omnizarr.model.keys import ChunkKeys
from omnizarr.runtime.properties import cached_property


class Repair(NamedTuple):
    """A chunk grid is not read as its document says, because no grid can be so.

    Other readers of the document would look for chunks elsewhere, so it is stored in valid form
    before a chunk is written."""

    warning: str = ""
    """How it is read and what to do, where a user must know; else empty."""


@dataclass(frozen=True, eq=False)
class ArrayModel:
    """The facts of one array."""

    shape: Shape
    data_type: DataType
    grid: Grid
    keys: ChunkKeys
    codecs: tuple[CodecSpec, ...]
    """The whole pipeline in encoding order, explicit: a format that leaves out the step from
    array to bytes, or hides the memory order in another member, spells it out here."""
    fill_value: Any = None
    """A scalar of `data_type`; None if the array has no fill value (v2's null)."""
    attributes: Mapping[str, Json] = field(default_factory=dict)
    dimension_names: tuple[str | None, ...] | None = None
    order: Literal["C", "F"] = "C"
    """Memory order of what is read, and of the stored chunks where the format says so."""
    document: Mapping[str, Json] = field(default_factory=dict)
    """The stored document, so that rewriting it keeps members that are not known here."""
    repair: Repair | None = None
    """What the document needs before a chunk is written; None: nothing."""
    derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)
    """What other layers made of these facts, for all who hold them. `replace` leaves it behind."""

    def alike(
        self,
        shape: Shape,
        grid: Grid,
        attributes: Mapping[str, Json],
        document: Mapping[str, Json],
    ) -> ArrayModel:
        """An array that differs from this one in no more than that. `replace` takes several times
        as long, which counts where thousands are made."""
        made = object.__new__(ArrayModel)
        facts = made.__dict__
        facts.update(self.__dict__)
        facts["shape"], facts["grid"] = shape, grid
        facts["attributes"], facts["document"] = attributes, document
        facts["derived"] = {}
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "derived": {}}

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of what a reader gets."""
        return self.data_type.numpy

    @property
    def fill(self) -> Any:
        """What an unwritten element reads as: the fill value, else the type's zero."""
        return self.data_type.zero if self.fill_value is None else self.fill_value


@dataclass(frozen=True, eq=False)
class GroupModel:
    """The facts of one group."""

    attributes: Mapping[str, Json] = field(default_factory=dict)
    document: Mapping[str, Json] = field(default_factory=dict)
    consolidated: Mapping[str, ArrayModel | GroupModel] | None = None
    """Every descendant by its path relative to this group, where the group says so."""
