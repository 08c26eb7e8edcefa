"""Format 0: document 001, "zarr - Persistence" (release 0.4), and release 0.3 before it.

An array is `__zmeta__` (JSON), its attributes are `__zattr__`, absent until one is set, its chunks
are Blosc containers below `__zdata__/`. There are no groups, no filters, no order but C, and no
arrays of 0 dimensions. Release 0.3 pickled `__zmeta__`: `pickled_metadata` reads that without
running it, and changing such an array writes the JSON of document 001. Types are spelled as in
format 2, fill values as in format 1 (`v1.fill_values`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats import arrays_only, dimensions, members
from omnizarr.formats.base import ArrayRequest, FormatName, Node
from omnizarr.formats.v1 import fill_values
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import DataType
from omnizarr.model.grids import regular_grid
from omnizarr.model.keys import ChunkKeys
from omnizarr.model.paths import join
from omnizarr.model.store import Buffer

META, ATTRIBUTES, DATA = "__zmeta__", "__zattr__", "__zdata__"
COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib")
WRITABLE = tuple(name for name in COMPRESSORS if name != "snappy")
DEFAULT_COMPRESSOR = CodecSpec(
    arrays_only.BLOSC, {"cname": "blosclz", "clevel": 5, "shuffle": 1, "blocksize": 0}
)
"""What release 0.4 uses when nothing is said."""
_KEYS = ChunkKeys("blosc", ".")
_PICKLES = b"(", b"\x80"


class V0(arrays_only.ArraysOnly):
    """Format 0; see `formats.base.Format`. Chunk keys have one separator: another one that
    is asked for is ignored."""

    name: FormatName = 0
    claiming = 1
    document_names = (META, ATTRIBUTES)
    attributes_required = False

    # -- reading ------------------------------------------------------------------------------
    def parse(self, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        key, attributes_key = self.keys(path)
        if key not in documents:
            return None
        data = documents.get(attributes_key)
        attributes = {} if data is None else arrays_only.loads_object(data, attributes_key)
        data = bytes(documents[key])
        if data[:1] not in _PICKLES:
            return members.parsed(
                key, data, lambda value: _array(members.document(value), attributes)
            )
        try:
            return _pickled_array(data, attributes)
        except MetadataError as error:
            raise error.at(key=key) from error

    def chunk_prefix(self, path: str, model: ArrayModel) -> str:
        return join(path, DATA) + "/"

    # -- writing ------------------------------------------------------------------------------
    def array_document(self, model: ArrayModel) -> dict[str, Json]:
        return _document(model)

    # -- creating -----------------------------------------------------------------------------
    def new_array(self, request: ArrayRequest) -> ArrayModel:
        chunks = arrays_only.check_request(request, 0)
        data_type, ndim = request.data_type, len(request.shape)
        dtype = arrays_only.encode_type(data_type, 0)
        parts = arrays_only.requested(request, DEFAULT_COMPRESSOR, 0)
        if request.order == "F" and ndim > 1:
            parts = parts._replace(transposed=True)
        attributes = dimensions.write(request.attributes, request.dimension_names, ndim, 0)
        document = {
            "shape": [int(length) for length in request.shape],
            "chunks": list(chunks),
            "dtype": dtype,
            "fill_value": fill_values.new(request.fill_value, data_type, 0),
            **_blosc(parts, data_type),
        }
        # Parsed again, so that a new array and the same one opened later agree in every fact.
        return _array(document, attributes)


def _blosc(parts: arrays_only.Parts, data_type: DataType) -> dict[str, Json]:
    """The members cname, clevel and shuffle."""
    if parts.transposed:
        raise UnsupportedError(
            "format 0 has no order but C; create the array with order='C', or zarr_format=2",
            what="codecs",
        )
    if parts.compressor is None or not arrays_only.of_blosc(parts.compressor):
        name = "none" if parts.compressor is None else parts.compressor.name
        found = name.removeprefix("numcodecs.")
        raise UnsupportedError(
            f"format 0 compresses every chunk with blosc (clevel 0 stores it as it is), found"
            f" {found!r}",
            what="codecs",
        )
    return arrays_only.encode_blosc(parts.compressor, data_type.numpy.itemsize, WRITABLE, 0)


def _array(
    document: Mapping[str, Json], attributes: dict[str, Json], fill_value: Any = None
) -> ArrayModel:
    shape = members.lengths(members.required(document, "shape"), "shape", 0)
    chunks = members.lengths(members.required(document, "chunks"), "chunks", 1)
    arrays_only.check_dimensions(shape, 0)
    data_type = arrays_only.decode_type(members.required(document, "dtype"))
    blosc = arrays_only.decode_blosc(document, COMPRESSORS)
    stored = fill_values.decode(members.required(document, "fill_value"), data_type)
    return ArrayModel(
        shape=shape,
        data_type=data_type,
        grid=regular_grid(shape, chunks),
        keys=_KEYS,
        codecs=arrays_only.pipeline(arrays_only.Parts(False, blosc), len(shape)),
        fill_value=stored if fill_value is None else fill_value,
        attributes=attributes,
        dimension_names=dimensions.read(attributes, len(shape)),
        document=document,
    )


def _pickled_array(data: bytes, attributes: dict[str, Json]) -> ArrayModel:
    from omnizarr.formats.v0 import pickled_metadata  # few stores need it

    document, fill = pickled_metadata.loads(data)
    if not isinstance(fill, bytes) and type(fill).__module__ != "numpy":
        return _array({**document, "fill_value": fill}, attributes)
    # Bytes and NumPy scalars have no JSON of their own; as values of the type they may have.
    data_type = arrays_only.decode_type(document["dtype"])
    try:
        scalar = data_type.scalar(fill)
    except (TypeError, ValueError) as error:
        raise MetadataError(f"fill_value does not fit the data type: {error}") from error
    try:
        stored = fill_values.encode(scalar, data_type, 0)
    except UnsupportedError:
        stored = None
    return _array({**document, "fill_value": stored}, attributes, scalar)


def _document(model: ArrayModel) -> dict[str, Json]:
    """The `__zmeta__` of a model. A member that says the same already stays as it is."""
    arrays_only.check_grid(model, 0)
    document = dict(model.document)
    data_type = model.data_type
    if "dtype" not in document or arrays_only.decode_type(document["dtype"]) != data_type:
        document["dtype"] = arrays_only.encode_type(data_type, 0)
    parts = arrays_only.parts_of(model.codecs, model.ndim, data_type, 0)
    if not _is_stored(document, parts):
        document |= _blosc(parts, data_type)
    document["shape"] = list(model.shape)
    document["chunks"] = list(model.grid.chunk_shape)
    document["fill_value"] = fill_values.rewritten(document, model.fill_value, data_type, 0)
    return document


def _is_stored(document: Mapping[str, Json], parts: arrays_only.Parts) -> bool:
    """Whether the document has this compressor: one that can be read is kept, written or not."""
    if "cname" not in document:
        return False
    blosc = arrays_only.decode_blosc(document, COMPRESSORS)
    return parts == arrays_only.Parts(False, blosc)


FORMAT = V0()
"""The one object of its class: formats are compared by identity."""
