"""The documents of chunk grids: how an array of any shape is cut into chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Self, TypeAlias

from omnizarr.compat.zarr3.abc.metadata import Metadata
from omnizarr.compat.zarr3.core.common import parse_named_configuration

_MOST_EDGES = 10_000_000
RectilinearDimSpecJSON: TypeAlias = int | list[int | list[int]]


def _positive(value: Any, axis: int, what: str = "chunk edge length") -> int:
    if not isinstance(value, int):
        raise TypeError(f"Dimension {axis}: {what} must be an int, got {value!r}")
    if value < 1:
        raise ValueError(f"Dimension {axis}: {what} must be >= 1, got {value!r}")
    return int(value)


def parse_chunk_shape(data: Any) -> tuple[int, ...]:
    """Return the shape of a chunk, which must be positive integers."""
    if isinstance(data, str | Mapping) or not isinstance(data, Iterable):
        raise TypeError(f"A chunk shape must be an iterable of chunk edge lengths, got {data!r}")
    return tuple(_positive(size, axis) for axis, size in enumerate(data))


def _expanded(edges: Sequence[Any], axis: int) -> tuple[int, ...]:
    """Lengths of which some are given as [length, how often]."""
    found: list[int] = []
    for edge in edges:
        if not isinstance(edge, list):
            found.append(_positive(edge, axis))
            continue
        if len(edge) != 2:
            raise ValueError(
                f"Dimension {axis}: RLE entries must be an integer or [size, count], got {edge}"
            )
        size, count = _positive(edge[0], axis), _positive(edge[1], axis, "RLE repeat count")
        if len(found) + count > _MOST_EDGES:
            raise ValueError(f"Dimension {axis}: more than {_MOST_EDGES} chunk edges")
        found += [size] * count
    return tuple(found)


def _shortened(edges: tuple[int, ...]) -> list[int | list[int]]:
    """Lengths with [length, how often] in place of repetitions, if that is shorter."""
    runs = [(size, len(list(same))) for size, same in groupby(edges)]
    if len(runs) == len(edges):
        return list(edges)
    return [[size, count] if count > 1 else size for size, count in runs]


@dataclass(frozen=True, kw_only=True)
class RegularChunkGridMetadata(Metadata):
    """Chunks of one shape.

    Parameters
    ----------
    chunk_shape
        The shape.
    """

    chunk_shape: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunk_shape", parse_chunk_shape(self.chunk_shape))

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.chunk_shape)

    def to_dict(self) -> dict[str, Any]:
        return {"name": "regular", "configuration": {"chunk_shape": self.chunk_shape}}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        _, configuration = parse_named_configuration(data, "regular")
        return cls(chunk_shape=configuration["chunk_shape"])


@dataclass(frozen=True, kw_only=True)
class RectilinearChunkGridMetadata(Metadata):
    """Chunks of different lengths along each axis.

    Parameters
    ----------
    chunk_shapes
        For each axis the length of every chunk, or the lengths of all of them.
    """

    chunk_shapes: tuple[int | tuple[int, ...], ...]

    def __post_init__(self) -> None:
        shapes: list[int | tuple[int, ...]] = []
        for axis, edges in enumerate(self.chunk_shapes):
            if not isinstance(edges, list | tuple):
                shapes.append(_positive(edges, axis))
                continue
            if not edges:
                raise ValueError(f"Dimension {axis} has no chunk edges.")
            shapes.append(tuple(_positive(edge, axis) for edge in edges))
        object.__setattr__(self, "chunk_shapes", tuple(shapes))

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.chunk_shapes)

    def to_dict(self) -> dict[str, Any]:
        shapes = tuple(
            edges if isinstance(edges, int) else _shortened(edges) for edges in self.chunk_shapes
        )
        options = {"kind": "inline", "chunk_shapes": shapes}
        return {"name": "rectilinear", "configuration": options}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        _, configuration = parse_named_configuration(data, "rectilinear")
        kind = configuration.get("kind")
        if kind is None:
            raise ValueError(
                "Rectilinear chunk grid configuration requires a 'kind' field; pass 'inline'"
            )
        if kind != "inline":
            raise ValueError(
                f"Unsupported rectilinear chunk grid kind: {kind!r}; only 'inline' is known"
            )
        shapes = configuration["chunk_shapes"]
        return cls(
            chunk_shapes=tuple(
                _expanded(edges, axis) if isinstance(edges, list) else edges
                for axis, edges in enumerate(shapes)
            )
        )

    def update_shape(self, old_shape: tuple[int, ...], new_shape: tuple[int, ...]) -> Self:
        """Return the document for another shape; edges that end before it get one more."""
        shapes: list[int | tuple[int, ...]] = []
        for edges, extent in zip(self.chunk_shapes, new_shape, strict=True):
            missing = 0 if isinstance(edges, int) else extent - sum(edges)
            shapes.append((*edges, missing) if missing > 0 else edges)  # type: ignore[misc]
        return type(self)(chunk_shapes=tuple(shapes))


ChunkGridMetadata: TypeAlias = RegularChunkGridMetadata | RectilinearChunkGridMetadata


def parse_chunk_grid(data: Any) -> ChunkGridMetadata:
    """Return a chunk grid, given as one or as its document."""
    if isinstance(data, ChunkGridMetadata):
        return data
    name, _ = parse_named_configuration(data)
    if name == "regular":
        return RegularChunkGridMetadata.from_dict(data)
    if name == "rectilinear":
        return RectilinearChunkGridMetadata.from_dict(data)
    raise ValueError(f"Unknown chunk grid name: {name!r}")
