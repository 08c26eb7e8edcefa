"""`ArrayV3Metadata`: the document of an array of format 3, for libraries that build such documents.

omnizarr itself keeps the stored document (`array.metadata`). This class knows JSON alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from omnizarr.compat.zarr3.abc.metadata import Metadata
from omnizarr.compat.zarr3.core.buffer.core import Buffer, BufferPrototype
from omnizarr.compat.zarr3.core.chunk_key_encodings import parse_chunk_key_encoding
from omnizarr.compat.zarr3.core.common import ZARR_JSON, parse_shapelike
from omnizarr.compat.zarr3.core.dtype import ZDType, get_data_type_from_json
from omnizarr.compat.zarr3.core.metadata.documents import Encoder, json_to_buffer, parse_codecs
from omnizarr.compat.zarr3.core.metadata.grids import (
    ChunkGridMetadata,
    RectilinearChunkGridMetadata,
    RectilinearDimSpecJSON,
    RegularChunkGridMetadata,
    parse_chunk_grid,
)
from omnizarr.errors import MetadataError

RegularChunkGrid = RegularChunkGridMetadata
V3JsonEncoder = Encoder

__all__ = [
    "ArrayV3Metadata",
    "ChunkGridMetadata",
    "RectilinearChunkGridMetadata",
    "RectilinearDimSpecJSON",
    "RegularChunkGrid",
    "RegularChunkGridMetadata",
    "V3JsonEncoder",
    "parse_chunk_grid",
    "parse_dimension_names",
    "parse_shapelike",
]
_SHARDING = "sharding_indexed"
_MEMBERS = (
    "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs", "attributes",
    "dimension_names", "storage_transformers",
)  # fmt: skip


def parse_dimension_names(data: Any) -> tuple[str | None, ...] | None:
    """Return the names of dimensions as a tuple, or None."""
    if data is None:
        return None
    names = tuple(data) if isinstance(data, Iterable) else (data,)
    if not all(isinstance(name, str | None) for name in names):
        raise TypeError(f"Expected either None or an iterable of str, got {type(data)}")
    return names


def _check_extra_fields(fields: Mapping[str, Any]) -> None:
    reserved = sorted(set(fields) & {*_MEMBERS, "zarr_format", "node_type"})
    if reserved:
        raise ValueError(
            f"Invalid extra fields: {reserved} collide with keys reserved for the document"
        )
    other = [
        name
        for name, value in fields.items()
        if not isinstance(value, Mapping) or value.get("must_understand") is not False
    ]
    if other:
        raise MetadataError(
            f"Got Zarr V3 array metadata with the following disallowed extra fields: {other}. An"
            ' extra field must be an object with "must_understand": false.'
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayV3Metadata(Metadata):
    """The document of an array of format 3.

    Parameters
    ----------
    shape
        Shape of the array.
    data_type
        Its data type.
    chunk_grid
        A chunk grid, or its document.
    chunk_key_encoding
        A chunk key encoding, or its document.
    fill_value
        A value of the data type.
    codecs
        Codecs, or their documents.
    attributes
        The attributes.
    dimension_names
        A name, or None, for each dimension.
    storage_transformers
        Documents of storage transformers.
    extra_fields
        Further members of the document.
    """

    shape: tuple[int, ...]
    data_type: Any
    chunk_grid: Any
    chunk_key_encoding: Any
    fill_value: Any
    codecs: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    dimension_names: tuple[str | None, ...] | None = None
    storage_transformers: tuple[dict[str, Any], ...] = ()
    extra_fields: dict[str, Any] = field(default_factory=dict)
    zarr_format: int = field(default=3, init=False)
    node_type: str = field(default="array", init=False)

    def __post_init__(self) -> None:
        parsed: dict[str, Any] = {
            "shape": parse_shapelike(self.shape),
            "chunk_grid": parse_chunk_grid(self.chunk_grid),
            "chunk_key_encoding": parse_chunk_key_encoding(self.chunk_key_encoding),
            "fill_value": self.data_type.cast_scalar(self.fill_value),
            "codecs": parse_codecs(self.codecs),
            "attributes": dict(self.attributes or {}),
            "dimension_names": parse_dimension_names(self.dimension_names),
            "storage_transformers": tuple(self.storage_transformers or ()),
        }
        for name, value in parsed.items():
            object.__setattr__(self, name, value)
        _check_extra_fields(self.extra_fields)
        if len(self.shape) != self.chunk_grid.ndim:
            raise ValueError("`chunk_grid` and `shape` need to have the same number of dimensions.")
        if self.dimension_names is not None and len(self.shape) != len(self.dimension_names):
            raise ValueError(
                "`dimension_names` and `shape` need to have the same number of dimensions."
            )

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> ZDType[Any, Any]:
        """The data type."""
        found: ZDType[Any, Any] = self.data_type
        return found

    @property
    def _sharding(self) -> dict[str, Any] | None:
        documents = self.to_dict()["codecs"]
        if len(documents) == 1 and documents[0]["name"] == _SHARDING:
            configuration: dict[str, Any] = documents[0]["configuration"]
            return configuration
        return None

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of a chunk; of an inner chunk where there are shards."""
        sharding = self._sharding
        return self.chunk_grid.chunk_shape if sharding is None else tuple(sharding["chunk_shape"])

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of a shard; None without sharding."""
        return None if self._sharding is None else self.chunk_grid.chunk_shape

    @property
    def inner_codecs(self) -> tuple[Any, ...]:
        """The codecs of a chunk; of an inner chunk where there are shards."""
        sharding = self._sharding
        return self.codecs if sharding is None else parse_codecs(sharding["codecs"])

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        """Return the key of the chunk at a place."""
        return str(self.chunk_key_encoding.encode_chunk_key(chunk_coords))

    def to_dict(self) -> dict[str, Any]:
        fill = self.data_type.to_json_scalar(self.fill_value, zarr_format=3)
        document: dict[str, Any] = {
            "shape": self.shape,
            "data_type": self.data_type.to_json(zarr_format=3),
            "chunk_grid": self.chunk_grid.to_dict(),
            "chunk_key_encoding": self.chunk_key_encoding.to_dict(),
            "fill_value": fill,
            "codecs": tuple(codec.to_dict() for codec in self.codecs),
            "attributes": self.attributes,
            "dimension_names": self.dimension_names,
            "zarr_format": 3,
            "node_type": "array",
            "storage_transformers": self.storage_transformers,
            **self.extra_fields,
        }
        if self.dimension_names is None:
            del document["dimension_names"]
        return document

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        given = dict(data)
        for name, expected in (("zarr_format", 3), ("node_type", "array")):
            found = given.pop(name, expected)
            if found != expected:
                raise MetadataError(f"Invalid value for {name!r}: {found!r}, expected {expected!r}")
        data_type = get_data_type_from_json(given.pop("data_type"), zarr_format=3)
        fill = data_type.from_json_scalar(given.pop("fill_value"), zarr_format=3)
        members = {name: given.pop(name) for name in _MEMBERS if name in given}
        return cls(data_type=data_type, fill_value=fill, extra_fields=given, **members)

    def to_buffer_dict(self, prototype: BufferPrototype) -> dict[str, Buffer]:
        """Return the document as bytes, by its key."""
        return {ZARR_JSON: json_to_buffer(self.to_dict(), prototype=prototype)}

    def update_shape(self, shape: Iterable[int]) -> Self:
        """Return the document of another shape."""
        new, grid = tuple(shape), self.chunk_grid
        if isinstance(grid, RectilinearChunkGridMetadata):
            grid = grid.update_shape(self.shape, new)
        return replace(self, shape=new, chunk_grid=grid)

    def update_attributes(self, attributes: dict[str, Any]) -> Self:
        """Return the document with other attributes."""
        return replace(self, attributes=attributes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayV3Metadata):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_dict(), sort_keys=True, cls=Encoder))
