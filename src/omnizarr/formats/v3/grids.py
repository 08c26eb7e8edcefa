"""Chunk grids and chunk key encodings of final v3, as metadata and back.

Grids: `regular` (core) and `rectilinear` (registered 2026-03). Key encodings: `default` and `v2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from omnizarr.errors import MetadataError, UnknownExtensionError
from omnizarr.formats import members
from omnizarr.model.codec import Json
from omnizarr.model.grids import Grid, RegularAxis, Shape, rectilinear_grid, regular_grid
from omnizarr.model.json import show
from omnizarr.model.keys import ChunkKeys

MAX_EDGES = 1 << 22
"""Most chunk lengths that the run lengths of one dimension may stand for."""

_KEYS = {
    (name, separator): ChunkKeys(name, separator)
    for name in ("default", "v2")
    for separator in (".", "/")
}


def decode_grid(value: Json, shape: Shape) -> Grid:
    found = members.essential(value, "chunk_grid")
    if found.name == "regular":
        chunks = members.lengths(
            members.required(found.configuration, "chunk_shape"), "chunk_grid: chunk_shape", 1
        )
        return regular_grid(shape, chunks)
    if found.name == "rectilinear":
        return rectilinear_grid(shape, _edges(found.configuration))
    raise UnknownExtensionError(
        f"unknown chunk_grid {show(found.name)}; known are 'regular' and 'rectilinear'"
    )


def _edges(configuration: Mapping[str, Json]) -> tuple[int | tuple[int, ...], ...]:
    kind = configuration.get("kind", "inline")
    if kind != "inline":
        raise UnknownExtensionError(f"chunk_grid: the rectilinear kind {show(kind)} is not known")
    shapes = members.required(configuration, "chunk_shapes")
    if not isinstance(shapes, list):
        raise MetadataError(f"chunk_grid: chunk_shapes must be a list, found {show(shapes)}")
    return tuple(_axis(axis) for axis in shapes)


def _axis(value: Json) -> int | tuple[int, ...]:
    """One dimension: a number (all chunks alike), or lengths and [length, count] runs."""
    if type(value) is int:
        return value
    if not isinstance(value, list):
        raise MetadataError(
            f"chunk_grid: chunk_shapes must hold integers or lists, found {show(value)}"
        )
    if len(value) == 1 and isinstance(value[0], list) and _is_run(value[0]):
        length, count = value[0]
        if count > MAX_EDGES:
            # One run is a regular axis, whatever its count.
            return int(length)
    edges: list[int] = []
    for item in value:
        if type(item) is int:
            edges.append(item)
        elif _is_run(item):
            length, count = item
            if len(edges) + count > MAX_EDGES:
                raise MetadataError(
                    f"chunk_grid: chunk_shapes stand for more than {MAX_EDGES} chunks in one"
                    f" dimension: {show(value)}"
                )
            edges.extend([length] * count)
        else:
            raise MetadataError(
                "chunk_grid: a chunk length must be an integer or [length, count], found"
                f" {show(item)}"
            )
    return tuple(edges)


def _is_run(item: Json) -> bool:
    return (
        isinstance(item, list)
        and len(item) == 2
        and type(item[0]) is int
        and type(item[1]) is int
        and item[1] >= 1
    )


def encode_grid(grid: Grid) -> Json:
    if grid.regular:
        return {"name": "regular", "configuration": {"chunk_shape": list(grid.chunk_shape)}}
    shapes: list[Json] = []
    for axis in grid.axes:
        if isinstance(axis, RegularAxis):
            shapes.append(axis.chunk)
            continue
        runs: list[Json] = []
        for length, group in groupby(axis.edges):
            count = sum(1 for _ in group)
            runs.append(length if count == 1 else [length, count])
        shapes.append(runs)
    return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}}


def decode_keys(value: Json) -> ChunkKeys:
    found = members.essential(value, "chunk_key_encoding")
    if found.name not in ("default", "v2"):
        raise UnknownExtensionError(
            f"unknown chunk_key_encoding {show(found.name)}; known are 'default' and 'v2'"
        )
    separator = found.configuration.get("separator", "/" if found.name == "default" else ".")
    if separator not in (".", "/"):
        raise MetadataError(
            f"chunk_key_encoding: separator must be '.' or '/', found {show(separator)}"
        )
    return _KEYS[found.name, separator]


def encode_keys(keys: ChunkKeys) -> Json:
    return {"name": keys.name, "configuration": {"separator": keys.separator}}
