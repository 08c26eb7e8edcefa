"""Format 1 (releases 1.0 and 1.1; the Zarr storage specification, version 1).

An array is `meta` (JSON), its attributes are `attrs`, which is always there, its chunks are beside
them. There are no groups, no filters and no arrays of 0 dimensions. Other hierarchies may have a
node named `meta`, so only a JSON object with `"zarr_format": 1` is one of this format. Codecs and
the truth about `order` are `codecs`'s, fill values `fill_values`'s; types are those of format 2.

What is written reads in release 1.1. An array of length 0 does too: it opens and can be appended
to, though that release refuses to select nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnizarr.errors import ErrorLocation, MetadataError, UnsupportedError
from omnizarr.formats import arrays_only, dimensions, members
from omnizarr.formats.arrays_only import Parts
from omnizarr.formats.base import ArrayRequest, FormatName, Node
from omnizarr.formats.v1 import codecs, fill_values
from omnizarr.model import json
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.grids import regular_grid
from omnizarr.model.keys import ChunkKeys
from omnizarr.model.paths import join
from omnizarr.model.store import Buffer, Store

META, ATTRIBUTES = "meta", "attrs"
_KEYS = ChunkKeys("v2", ".")
_MEMBERS = b'"zarr_format"', b'"compression"', b'"compression_opts"'
"""What only this format's document is likely to hold under the name `meta`."""


class V1(arrays_only.ArraysOnly):
    """Format 1; see `formats.base.Format`. Chunk keys have one spelling: a wish for another
    separator is not one that this format can grant, and changes nothing that is read."""

    name: FormatName = 1
    document_names = (META, ATTRIBUTES)
    attributes_required = True

    # -- reading ------------------------------------------------------------------------------
    def find(self, store: Store, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        # Attributes are read only where there is an array to have them.
        key = join(path, META)
        if key not in documents or _document_of(documents[key], key) is None:
            return None
        return super().find(store, path, documents)

    def parse(self, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        key, attributes_key = self.keys(path)
        document = _document_of(documents[key], key) if key in documents else None
        if document is None:
            return None
        data = documents.get(attributes_key)
        attributes = {} if data is None else arrays_only.loads_object(data, attributes_key)
        try:
            return _array(document, attributes)
        except MetadataError as error:
            raise error.at(key=key) from error

    # -- writing ------------------------------------------------------------------------------
    def array_document(self, model: ArrayModel) -> dict[str, Json]:
        return _document(model)

    # -- creating -----------------------------------------------------------------------------
    def new_array(self, request: ArrayRequest) -> ArrayModel:
        chunks = arrays_only.check_request(request, 1)
        data_type, ndim = request.data_type, len(request.shape)
        dtype = arrays_only.encode_type(data_type, 1)
        parts = arrays_only.requested(request, codecs.default(data_type, request.order), 1)
        _check_order(parts)
        compression, options = codecs.encode(parts.compressor, data_type)
        attributes = dimensions.write(request.attributes, request.dimension_names, ndim, 1)
        document = {
            "zarr_format": 1,
            "shape": [int(length) for length in request.shape],
            "chunks": list(chunks),
            "dtype": dtype,
            "compression": compression,
            "compression_opts": options,
            "fill_value": fill_values.new(request.fill_value, data_type, 1),
            "order": "F" if parts.transposed else request.order,
        }
        # Parsed again, so that a new array and the same one opened later agree in every fact.
        return _array(document, attributes)


def _document_of(data: Buffer, key: str) -> dict[str, Json] | None:
    """The document, if it is one of this format."""
    try:
        document = json.loads(data, ErrorLocation(key=key))
    except MetadataError:
        # Other software's file of that name is none of ours; a damaged one of ours is.
        if any(member in bytes(data) for member in _MEMBERS):
            raise
        return None
    if not isinstance(document, dict):
        return None
    version = document.get("zarr_format")
    return document if type(version) is int and version == 1 else None


def _array(document: Mapping[str, Json], attributes: dict[str, Json]) -> ArrayModel:
    shape = members.lengths(members.required(document, "shape"), "shape", 0)
    chunks = members.lengths(members.required(document, "chunks"), "chunks", 1)
    arrays_only.check_dimensions(shape, 1)
    data_type = arrays_only.decode_type(members.required(document, "dtype"))
    order = members.required(document, "order")
    members.ORDER.check("order", order)
    return ArrayModel(
        shape=shape,
        data_type=data_type,
        grid=regular_grid(shape, chunks),
        keys=_KEYS,
        codecs=arrays_only.pipeline(_parts(document, len(shape)), len(shape)),
        fill_value=fill_values.decode(members.required(document, "fill_value"), data_type),
        attributes=attributes,
        dimension_names=dimensions.read(attributes, len(shape)),
        order=order,
        document=document,
    )


def _parts(document: Mapping[str, Json], ndim: int) -> Parts:
    compressor = codecs.decode(document)
    ordered = arrays_only.of_blosc(compressor) and ndim > 1
    return Parts(ordered and document.get("order") == "F", compressor)


def _check_order(parts: Parts) -> None:
    if parts.transposed and not arrays_only.of_blosc(parts.compressor):
        raise UnsupportedError(
            "format 1 stores chunks in column-major order with blosc only; its releases read C"
            " order behind every other compressor",
            what="codecs",
        )


def _document(model: ArrayModel) -> dict[str, Json]:
    """The `meta` of a model. A member that says the same already stays as it is."""
    arrays_only.check_grid(model, 1)
    document = {**model.document, "zarr_format": 1}
    data_type = model.data_type
    if "dtype" not in document or arrays_only.decode_type(document["dtype"]) != data_type:
        document["dtype"] = arrays_only.encode_type(data_type, 1)
    parts = arrays_only.parts_of(model.codecs, model.ndim, data_type, 1)
    _check_order(parts)
    if not _is_stored(document, parts.compressor):
        names = ("compression", "compression_opts")
        document |= zip(names, codecs.encode(parts.compressor, data_type), strict=True)
    if model.ndim > 1 and arrays_only.of_blosc(parts.compressor):
        document["order"] = "F" if parts.transposed else "C"
    else:
        document["order"] = model.order
    document["shape"] = list(model.shape)
    document["chunks"] = list(model.grid.chunk_shape)
    document["fill_value"] = fill_values.rewritten(document, model.fill_value, data_type, 1)
    return document


def _is_stored(document: Mapping[str, Json], compressor: CodecSpec | None) -> bool:
    """Whether the document has this compressor: one that can be read is kept, written or not."""
    return "compression" in document and codecs.decode(document) == compressor


FORMAT = V1()
"""The one object of its class: formats are compared by identity."""
