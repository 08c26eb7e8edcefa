"""OME-NGFF images in a conversion: their metadata become those of the version for the other format.

Groups get their attributes where the readers of that version look, and the arrays of the levels get
the names of the axes, which 0.5 demands. This module must not know formats, but for the version
that belongs to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from omnizarr.conventions import multiscales
from omnizarr.conventions.multiscales import ome_versions
from omnizarr.errors import MetadataError
from omnizarr.formats import Format, Node
from omnizarr.jobs.conversion.plan import Wanted
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.nodes.node import NodeAddress

Walked = tuple[str, NodeAddress, Node]


class Images(NamedTuple):
    nodes: list[Walked]
    levels: frozenset[str]
    """Paths of the arrays that are levels of images."""
    notes: dict[str, tuple[str]]
    """What a user should know about a node, by its path."""

    def choices(self, path: str, wanted: Wanted) -> Wanted:
        """The caller's choices for a node. xarray's meaning of fill values is not that of images,
        though their dimensions have names."""
        if path not in self.levels or wanted.fill_values is not None:
            return wanted
        return replace(wanted, fill_values="zarr")


def moved(walked: Sequence[Walked], target: Format) -> Images:
    """Every node as it is to be translated into the format `target`."""
    version = target.ome_version
    if version is None:
        return Images(list(walked), frozenset(), {})
    nodes: list[Walked] = []
    axes: dict[str, tuple[str, ...]] = {}
    notes: dict[str, tuple[str]] = {}
    for path, here, found in walked:
        if not isinstance(found, ArrayModel):
            result = ome_versions.moved(found.attributes, version, paths.name_of(here.path))
            found = replace(found, attributes=result.attributes)
            axes |= _axes(path, found.attributes)
            if result.note is not None:
                notes[path] = (result.note,)
        elif path in axes:  # parents come first
            names = axes[path]
            if (
                found.dimension_names is None
                and len(names) == found.ndim
                and target.names_dimensions
            ):
                found = replace(found, dimension_names=names)
            elif found.dimension_names not in (None, names):
                notes[path] = (f"the dimension names differ from the image's axes: {names}",)
        nodes.append((path, here, found))
    return Images(nodes, frozenset(axes), notes)


def _axes(path: str, attributes: Json) -> dict[str, tuple[str, ...]]:
    """The names of the axes of each level of OME's images that a group describes."""
    with suppress(MetadataError):  # broken metadata are no reason to leave the data behind
        return {
            paths.join(path, level.path): tuple(axis.name for axis in pyramid.axes)
            for pyramid in multiscales.read_all(attributes)
            if pyramid.convention in ("ome-0.4", "ome-0.5")
            for level in pyramid.levels
        }
    return {}
