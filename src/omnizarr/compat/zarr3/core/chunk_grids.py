"""Chunk grids: how an array is cut into chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from omnizarr.compat.zarr3.abc.metadata import Metadata
from omnizarr.compat.zarr3.core.common import parse_named_configuration, parse_shapelike

__all__ = ["ChunkGrid", "RegularChunkGrid"]


@dataclass(frozen=True)
class ChunkGrid(Metadata):
    """The base of chunk grids."""

    @staticmethod
    def from_sizes(array_shape: Any, chunk_sizes: Any) -> RegularChunkGrid:
        """Return the grid of chunks of one shape."""
        sizes = parse_shapelike(chunk_sizes)
        lengths = len(parse_shapelike(array_shape))
        return RegularChunkGrid(chunk_shape=sizes if len(sizes) == lengths else sizes * lengths)


@dataclass(frozen=True, kw_only=True)
class RegularChunkGrid(ChunkGrid):
    """Chunks of one shape.

    Parameters
    ----------
    chunk_shape
        The shape.
    """

    chunk_shape: tuple[int, ...]

    def __post_init__(self) -> None:
        shape = parse_shapelike(self.chunk_shape)
        for axis, length in enumerate(shape):
            if length < 1:
                raise ValueError(
                    f"Dimension {axis}: chunk edge length must be >= 1, got {length!r}"
                )
        object.__setattr__(self, "chunk_shape", shape)

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
class RectilinearChunkGrid(ChunkGrid):
    """Chunks of different lengths along each axis.

    Parameters
    ----------
    chunk_shapes
        For each axis one length, or all of them.
    """

    chunk_shapes: tuple[Any, ...]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.chunk_shapes)

    def to_dict(self) -> dict[str, Any]:
        options = {"kind": "inline", "chunk_shapes": self.chunk_shapes}
        return {"name": "rectilinear", "configuration": options}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        _, configuration = parse_named_configuration(data, "rectilinear")
        return cls(chunk_shapes=tuple(configuration["chunk_shapes"]))


ChunkGridLike: TypeAlias = RegularChunkGrid | RectilinearChunkGrid | dict[str, Any]


def parse_chunk_grid(data: ChunkGridLike) -> RegularChunkGrid | RectilinearChunkGrid:
    """Return a chunk grid, given as one or as its document."""
    if isinstance(data, ChunkGrid):
        return data
    name, _ = parse_named_configuration(data)
    kinds: dict[str, Any] = {"regular": RegularChunkGrid, "rectilinear": RectilinearChunkGrid}
    if name not in kinds:
        raise ValueError(f"Unknown chunk grid name: {name!r}")
    found: RegularChunkGrid | RectilinearChunkGrid = kinds[name].from_dict(data)
    return found
