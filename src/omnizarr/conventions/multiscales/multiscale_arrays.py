"""Multiscale Arrays 0.1 (document 003, section 4.5): paths, the largest first, but no coordinates.

ndpyramid's attributes are the same with further members; its levels are groups, each with the
variable in it. https://github.com/zarr-developers/zarr-specs/issues/50
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnizarr.conventions.multiscales import members
from omnizarr.conventions.multiscales.facts import Level, Pyramid
from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json

NAME, NDPYRAMID = "0.1", "ndpyramid"
_KNOWN = ("version", "name", "datasets", "type", "metadata")
_TILES = ("pixels_per_tile", "crs", "level")
"""Members of a dataset that ndpyramid writes."""


def read(entry: Mapping[str, Json], where: str) -> Pyramid:
    """One entry of `multiscales`; MetadataError if it is broken."""
    datasets = members.objects(entry.get("datasets"), f"{where}.datasets")
    levels = tuple(
        Level(
            members.path(dataset.get("path"), f"{where}.datasets[{position}].path"),
            extra=members.rest(dataset, ("path",)),
        )
        for position, dataset in enumerate(datasets)
    )
    tiled = any(name in dataset for dataset in datasets for name in _TILES)
    ndpyramid = tiled or "version" not in entry  # which 0.1 demands
    return Pyramid(
        (),
        levels,
        members.text(entry.get("name"), f"{where}.name") or "",
        members.text(entry.get("type"), f"{where}.type"),
        members.mapping(entry.get("metadata")),
        NDPYRAMID if ndpyramid else NAME,
        members.rest(entry, _KNOWN),
    )


def write(pyramid: Pyramid, attributes: Mapping[str, Json], convention: str) -> dict[str, Json]:
    """The attributes of the group with the pyramid in them, and all else as it is."""
    if not pyramid.levels:
        raise MetadataError("multiscales: a pyramid has at least one level")
    extra = pyramid.convention == convention
    entry: dict[str, Any] = {} if convention == NDPYRAMID else {"version": "0.1"}
    if pyramid.name:
        entry["name"] = pyramid.name
    entry["datasets"] = [
        {"path": level.path, **(level.extra if extra else {})} for level in pyramid.levels
    ]
    if pyramid.method is not None:
        entry["type"] = pyramid.method
    if pyramid.metadata:
        entry["metadata"] = dict(pyramid.metadata)
    if extra:
        entry |= pyramid.extra
    return {**attributes, "multiscales": [entry]}
