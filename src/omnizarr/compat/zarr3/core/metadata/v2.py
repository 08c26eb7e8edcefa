"""`ArrayV2Metadata`: the document of an array of format 2, for libraries that build such documents.

omnizarr itself keeps the stored document (`array.metadata`). This class knows JSON alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from omnizarr.compat.zarr3.abc.metadata import Metadata
from omnizarr.compat.zarr3.abc.numcodec import _is_numcodec
from omnizarr.compat.zarr3.core.buffer.core import Buffer, BufferPrototype
from omnizarr.compat.zarr3.core.common import ZARRAY_JSON, ZATTRS_JSON, parse_shapelike
from omnizarr.compat.zarr3.core.dtype import get_data_type_from_json
from omnizarr.compat.zarr3.core.dtype.common import OBJECT_CODEC_IDS
from omnizarr.compat.zarr3.core.metadata.documents import json_to_buffer

__all__ = ["ArrayV2Metadata"]


def _codec(value: Any) -> Any:
    from omnizarr.compat.zarr3.registry import get_numcodec

    return value if value is None or _is_numcodec(value) else get_numcodec(value)


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayV2Metadata(Metadata):
    """The document of an array of format 2.

    Parameters
    ----------
    shape
        Shape of the array.
    dtype
        Its data type.
    chunks
        Shape of a chunk.
    fill_value
        A value of the data type, or None.
    order
        Order of the elements in a chunk.
    dimension_separator
        What stands between the numbers of a chunk's key.
    compressor
        A codec of numcodecs, its configuration, or None.
    filters
        Codecs of numcodecs or their configurations, or None.
    attributes
        The attributes.
    """

    shape: tuple[int, ...]
    dtype: Any
    chunks: tuple[int, ...]
    fill_value: Any = None
    order: str = "C"
    dimension_separator: str = "."
    compressor: Any = None
    filters: tuple[Any, ...] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    zarr_format: int = field(default=2, init=False)

    def __post_init__(self) -> None:
        fill = self.fill_value
        parsed: dict[str, Any] = {
            "shape": parse_shapelike(self.shape),
            "chunks": parse_shapelike(self.chunks),
            "fill_value": None if fill is None else self.dtype.cast_scalar(fill),
            "compressor": _codec(self.compressor),
            "filters": tuple(map(_codec, self.filters)) if self.filters else None,
            "attributes": dict(self.attributes or {}),
        }
        for name, value in parsed.items():
            object.__setattr__(self, name, value)
        if len(self.shape) != len(self.chunks):
            raise ValueError(
                f"The `shape` and `chunks` attributes must have the same length; `chunks` has"
                f" length {len(self.chunks)}, but `shape` has length {len(self.shape)}"
            )

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def shards(self) -> None:
        """None: format 2 has no shards."""
        return None

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        """Return the key of the chunk at a place."""
        return self.dimension_separator.join(map(str, chunk_coords)) or "0"

    def _compressor(self) -> dict[str, Any] | None:
        if self.compressor is None:
            return None
        found: dict[str, Any] = self.compressor.get_config()
        if found["id"] == "zstd" and not found.get("checksum"):
            found.pop("checksum", None)  # older versions of numcodecs do not know it
        return found

    def to_dict(self) -> dict[str, Any]:
        fill = self.fill_value
        return {
            "shape": self.shape,
            "fill_value": None if fill is None else self.dtype.to_json_scalar(fill, zarr_format=2),
            "chunks": self.chunks,
            "attributes": self.attributes,
            "zarr_format": 2,
            "order": self.order,
            "filters": [each.get_config() for each in self.filters] if self.filters else None,
            "dimension_separator": self.dimension_separator,
            "compressor": self._compressor(),
            "dtype": self.dtype.to_json(zarr_format=2)["name"],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        given = {key: value for key, value in data.items() if key != "zarr_format"}
        filters: Sequence[Any] = given.get("filters") or ()
        names: Iterable[Any] = (
            each.codec_id if _is_numcodec(each) else each.get("id") for each in filters
        )
        object_codec = next((name for name in names if name in OBJECT_CODEC_IDS), None)
        spec = {"name": given.pop("dtype"), "object_codec_id": object_codec}
        data_type = get_data_type_from_json(spec, zarr_format=2)
        fill = given.pop("fill_value", None)
        known = {"shape", "chunks", "order", "dimension_separator", "compressor", "filters"}
        members = {key: value for key, value in given.items() if key in known | {"attributes"}}
        return cls(
            dtype=data_type,
            fill_value=None if fill is None else data_type.from_json_scalar(fill, zarr_format=2),
            **members,
        )

    def to_buffer_dict(self, prototype: BufferPrototype) -> dict[str, Buffer]:
        """Return the documents of the array and of its attributes as bytes, by their keys."""
        document = self.to_dict()
        attributes = document.pop("attributes")
        return {
            ZARRAY_JSON: json_to_buffer(document, prototype=prototype),
            ZATTRS_JSON: json_to_buffer(attributes, prototype=prototype),
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayV2Metadata):
            return NotImplemented
        return self.to_dict() == other.to_dict()  # where NaN is a text

    def __hash__(self) -> int:
        return hash((self.shape, self.chunks, self.dtype, self.order))
