"""What a new array of the drafts of v3 is made of when a user leaves things open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats import dimensions, members, requests
from omnizarr.formats.base import DEFAULT, ArrayRequest
from omnizarr.formats.v2 import codecs as v2_codecs
from omnizarr.formats.v2 import fill_values
from omnizarr.formats.v3_drafts import arrays
from omnizarr.formats.v3_drafts import codecs as v3draft_codecs
from omnizarr.formats.v3_drafts.codecs import Stored
from omnizarr.formats.v3_drafts.data_types import encode as encode_type
from omnizarr.formats.v3_drafts.layouts import Layout
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import DataType, Struct
from omnizarr.model.grids import Shape


def new_array(request: ArrayRequest, layout: Layout) -> arrays.DraftArray:
    """The model of a new array, parsed from its own document, so that the same array opened later
    agrees with it in every fact."""
    shape = tuple(int(length) for length in request.shape)
    if request.data_type.variable:
        encode_type(request.data_type, layout)  # refused before its codecs are
    stored = _stored(request, layout)
    pipeline = v2_codecs.with_object_codec(stored.pipeline, request.data_type)
    stored = replace(stored, pipeline=pipeline)
    data_type = v2_codecs.object_type(request.data_type, pipeline.filters)
    described = encode_type(data_type, layout)
    v2_codecs.check_objects(pipeline, data_type)
    if request.key_encoding == "default":
        raise UnsupportedError(
            f"{layout.name} has a chunk key encoding of its own, not 'default'", what="chunks"
        )
    separator = request.separator or layout.separator
    attributes = dimensions.write(
        request.attributes, request.dimension_names, len(shape), layout.name
    )
    document: dict[str, Json] = {
        "shape": list(shape),
        "data_type": described,
        "chunk_grid": arrays.write_grid(stored.chunk_shape, separator, layout),
        **v3draft_codecs.members_of(stored, layout),
        "fill_value": _fill(request.fill_value, data_type, layout),
        "extensions": [],
        "attributes": arrays.write_attributes(attributes, stored, layout),
    }
    return arrays.read_array(document, layout)


def _stored(request: ArrayRequest, layout: Layout) -> Stored:
    chunks = requests.chunk_shape(request, layout.name)
    if request.shards is not None and request.codecs is not None:
        raise MetadataError("codecs names the whole pipeline; put sharding_indexed into it")
    if request.shards is not None and not layout.zarr_python:
        raise UnsupportedError(
            f"{layout.name} has no shards; use '3-draft2020-10' or format 3", what="shards"
        )
    specs = requests.codecs_of(request, v3draft_codecs.DEFAULT_COMPRESSOR)
    stored = v3draft_codecs.split(specs, chunks, request.data_type, layout)
    if request.shards is not None:
        stored = Stored(stored.pipeline, chunks, _per_shard(request, chunks))
    if request.order == "F":
        return replace(stored, pipeline=stored.pipeline._replace(order="F"))
    return stored


def _per_shard(request: ArrayRequest, chunks: Shape) -> Shape:
    if any(isinstance(length, tuple) for length in request.shards or ()):
        raise UnsupportedError("shards of several lengths need format 3", what="shards")
    shards = tuple(int(length) for length in request.shards or () if isinstance(length, int))
    if len(shards) != len(chunks) or any(
        chunk < 1 or shard < 1 or shard % chunk for shard, chunk in zip(shards, chunks, strict=True)
    ):
        raise MetadataError(f"shards {shards} must be a whole multiple of chunks {chunks}")
    return tuple(shard // chunk for shard, chunk in zip(shards, chunks, strict=True))


def _fill(value: Any, data_type: DataType, layout: Layout) -> Json:
    if value is None or (value is DEFAULT and not fill_values.has_default(data_type)):
        return None
    if isinstance(data_type, Struct) and data_type.variable:
        raise UnsupportedError(
            f"{layout.name} has no portable fill value for a record with objects; use"
            " fill_value=None",
            what="fill_value",
        )
    scalar = data_type.zero if value is DEFAULT else members.scalar(value, data_type)
    return fill_values.encode(scalar, data_type)
