"""Chunk and shard lengths for a whole hierarchy: by path, by the names of dimensions, or for all.

A mapping may name arrays by their paths and dimensions by their names. One number for a name that
is both, as the coordinate array `time` of the dimension `time`, is meant for the dimension. What is
said of an array itself counts before what is said of its dimensions, and lengths of dimensions that
are not named stay as they are.

This module knows arguments and models. It must not know stores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from omnizarr.errors import ArrayNotFoundError, MetadataError
from omnizarr.model.array import ArrayModel
from omnizarr.model.axes import inner_chunks
from omnizarr.nodes.creation.chunk_shapes import Chunks, guess_chunks, normalize_chunks
from omnizarr.nodes.creation.chunk_shapes import normalize_shards as _normalize_shards


@dataclass(frozen=True)
class ByName:
    """A caller's mapping, taken apart."""

    paths: Mapping[str, Any]
    dimensions: Mapping[str, Any]

    def lengths(self, path: str, model: ArrayModel) -> Any:
        """What is said of an array, or of its dimensions; None if nothing is."""
        names = model.dimension_names or ()
        if path not in self.paths:
            return {name: n for name, n in self.dimensions.items() if name in names} or None
        found = self.paths[path]
        for name in found if isinstance(found, Mapping) else ():
            if name not in names:
                raise MetadataError(f"it has no dimension {name!r}; its dimensions are {names}")
        return found


def taken_apart(given: Any, option: str, arrays: Iterable[tuple[str, ArrayModel]]) -> Any:
    """A mapping as `ByName`; everything else as it is. A name of nothing is refused."""
    if not isinstance(given, Mapping) or (option == "shards" and "shape" in given):
        return given
    known = dict(arrays)
    dimensions = {name for model in known.values() for name in model.dimension_names or ()}
    by_path: dict[str, Any] = {}
    by_dimension: dict[str, Any] = {}
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(
                f"{option} maps names of dimensions, or paths of arrays, to lengths; found"
                f" {name!r}. For dimensions without names give all lengths, as in (10, -1)"
            )
        path = name.strip("/")
        listed = isinstance(value, Sequence) and not isinstance(value, str)
        if path in known and (isinstance(value, Mapping) or listed or name not in dimensions):
            by_path[path] = value
        elif name in dimensions and not isinstance(value, Mapping):
            by_dimension[name] = value
        else:
            raise _unknown(option, name, dimensions)
    return ByName(by_path, by_dimension)


def _unknown(option: str, name: str, dimensions: Collection[str | None]) -> ArrayNotFoundError:
    named = sorted(known for known in dimensions if known is not None)
    return ArrayNotFoundError(
        f"{option}: no array is converted at path {name!r}, and no dimension has that name;"
        " expected a path from the node that is converted, such as 'a/b', or a dimension"
        + (f": {', '.join(map(repr, named))}" if named else "; none has a name here")
    )


def chunks_of(given: Any, path: str, model: ArrayModel) -> Chunks | None:
    """The chunks that an array gets; None if it keeps its own."""
    if isinstance(given, ByName):
        given = given.lengths(path, model)
    if given is None:
        return None
    itemsize = model.dtype.itemsize
    if isinstance(given, Mapping):
        own = inner_chunks(model.codecs, model.ndim) or model.grid.edges
        given = _by_dimension(given, model, own)
    if isinstance(given, tuple | list) and len(given) == model.ndim:
        given = _with_automatic(tuple(given), model.shape, itemsize)
    return normalize_chunks(given, model.shape, itemsize)


def shards_of(given: Any, path: str, model: ArrayModel, chunks: Chunks | None) -> Any:
    """The shards that an array gets; None if it keeps what it has, False for none."""
    if isinstance(given, ByName):
        given = given.lengths(path, model)
    if given is None or given is False:
        return given
    inner = inner_chunks(model.codecs, model.ndim)
    cut = chunks or inner or model.grid.edges
    if isinstance(given, Mapping) and "shape" not in given:
        given = _by_dimension(given, model, cut if inner is None else model.grid.edges)
    return _normalize_shards(given, model.shape, cut, model.dtype.itemsize)


def _by_dimension(given: Mapping[str, Any], model: ArrayModel, own: Chunks) -> tuple[Any, ...]:
    names = model.dimension_names or ()
    return tuple(given.get(name, kept) for name, kept in zip(names, own, strict=True))  # type: ignore[arg-type]


def _with_automatic(lengths: tuple[Any, ...], shape: tuple[int, ...], itemsize: int) -> Any:
    """ "auto" dimensions are cut so that chunks come near the usual size."""
    automatic = [isinstance(n, str) and n == "auto" for n in lengths]
    if not any(automatic):
        return lengths
    fixed = [
        length if n in (-1, None) else n if isinstance(n, int) else max(n)
        for n, length, free in zip(lengths, shape, automatic, strict=True)
        if not free
    ]
    free_shape = tuple(length for length, free in zip(shape, automatic, strict=True) if free)
    cut = iter(guess_chunks(free_shape, itemsize * max(1, prod(fixed))))
    return tuple(next(cut) if free else n for n, free in zip(lengths, automatic, strict=True))
