"""How format 2 names codecs: `order`, `filters` and `compressor` of a `.zarray`.

All three become one pipeline of specs, in encoding order, and back. The document orders the
bytes of a chunk first (`order`), then filters see that stream, then the compressor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats import members, requests
from omnizarr.formats.base import ArrayRequest
from omnizarr.formats.core_codecs import (
    ARRAY_TO_ARRAY,
    FAST,
    OBJECT_CODECS,
    PREFIX,
    from_core,
    plain_options,
)
from omnizarr.formats.members import Constraint
from omnizarr.formats.requests import Order
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import (
    ArrowBinary,
    ArrowString,
    Bytes,
    DataType,
    Object,
    String,
)
from omnizarr.model.json import show

DEFAULT_COMPRESSOR = CodecSpec("numcodecs.zstd", {"level": 3, "checksum": True})
"""Zstandard frames carry their own checksum, and every reader of format 2 knows them."""


FILTERS = Constraint(
    "a list of codecs or null", lambda value: value is None or isinstance(value, list)
)


class FilterPipeline(NamedTuple):
    order: Order
    filters: tuple[CodecSpec, ...]
    compressor: CodecSpec | None

    def specs(self, ndim: int, data_type: DataType) -> tuple[CodecSpec, ...]:
        """The whole pipeline in encoding order."""
        specs: list[CodecSpec] = []
        if self.order == "F" and ndim > 1:
            specs.append(CodecSpec("transpose", {"order": list(range(ndim))[::-1]}))
        specs.extend(self.filters)
        if not self.filters and not data_type.variable:
            # No endian: the dtype has the byte order.
            specs.append(CodecSpec("bytes", {}))
        if self.compressor is not None:
            specs.append(self.compressor)
        return tuple(specs)


def decode(document: Mapping[str, Json]) -> FilterPipeline:
    """The pipeline of a `.zarray`; members that are missing mean none, and C order."""
    order = document.get("order", "C")
    members.ORDER.check("order", order)
    filters = document.get("filters")
    FILTERS.check("filters", filters)
    compressor = document.get("compressor")
    return FilterPipeline(
        order,
        tuple(decode_codec(codec, "filters") for codec in filters or ()),
        None if compressor is None else decode_codec(compressor, "compressor"),
    )


def decode_codec(value: Json, member: str) -> CodecSpec:
    """One codec of a `.zarray`."""
    if not isinstance(value, dict):
        raise MetadataError(f"{member}: a codec must be an object with an id, found {show(value)}")
    name = value.get("id")
    if not isinstance(name, str) or not name:
        raise MetadataError(f"{member}: a codec's id must be a string, found {show(name)}")
    configuration = plain_options({key: item for key, item in value.items() if key != "id"})
    if name == "zstd":
        # The checksum is part of the frame, so a writer may add it whether or not it is named.
        configuration.setdefault("checksum", True)
    return CodecSpec(PREFIX + name, configuration)


def encode_codec(spec: CodecSpec) -> dict[str, Json]:
    """A codec of a `FilterPipeline` as a member."""
    known = from_core(spec) or spec
    configuration = dict(known.configuration)
    if known.name == "numcodecs.zstd":
        # Not named for the sake of readers that refuse members they do not know.
        configuration.pop("checksum", None)
    return {"id": known.name.removeprefix(PREFIX), **configuration}


def check_objects(pipeline: FilterPipeline, data_type: DataType) -> None:
    """Objects become bytes through a filter; without one they cannot be stored."""
    if isinstance(data_type, ArrowString | ArrowBinary):
        plain = "str" if isinstance(data_type, ArrowString) else "bytes"
        raise UnsupportedError(
            f"only format 3 has {data_type.name!r} with Arrow's offsets; use dtype={plain}",
            what="data_type",
        )
    if data_type.variable and not pipeline.filters:
        raise MetadataError(
            "dtype holds objects, but filters is empty: an object codec such as"
            ' {"id": "vlen-utf8"} must come first (object_codec=… when creating)'
        )


def object_type(data_type: DataType, filters: tuple[CodecSpec, ...]) -> DataType:
    """The element type of "|O" data: what the first filter makes is known for three codecs."""
    if isinstance(data_type, Object) and filters:
        if filters[0].name in ("numcodecs.vlen-utf8", "numcodecs.categorize"):
            return String()
        if filters[0].name == "numcodecs.vlen-bytes":
            return Bytes()
    return data_type


def check_fill(value: Json, filters: tuple[CodecSpec, ...]) -> None:
    """Refuse a fill value that could not be written beside other elements of its chunk."""
    ragged = bool(filters) and filters[0].name == "numcodecs.vlen-array"
    if ragged and value is not None and value != 0 and not isinstance(value, list):
        raise MetadataError(
            f"fill_value {show(value)} is no element of a ragged array; use None, or a list of"
            " numbers"
        )


def split(specs: Sequence[CodecSpec], ndim: int, data_type: DataType) -> FilterPipeline:
    """A whole pipeline as order, filters and compressor; UnsupportedError if it is none."""
    order, rest = requests.split_order(specs, ndim, data_type, 2)
    found = [from_core(spec) or spec for spec in rest]
    compressor = None
    if found and found[-1].name not in OBJECT_CODECS | ARRAY_TO_ARRAY:
        compressor = found.pop()
    return FilterPipeline(order, tuple(found), compressor)


def new_pipeline(request: ArrayRequest) -> FilterPipeline:
    """The pipeline that a user asks for."""
    data_type, ndim = request.data_type, len(request.shape)
    requests.check_no_shards(request, 2)
    if request.codecs is not None:
        pipeline = split(request.codecs, ndim, data_type)
        if request.order == "F":
            pipeline = pipeline._replace(order="F")
    else:
        pipeline = _from_parts(request)
    if data_type.variable:
        pipeline = with_object_codec(pipeline, data_type)
    check_objects(pipeline, data_type)
    return pipeline


def _from_parts(request: ArrayRequest) -> FilterPipeline:
    ndim, data_type = len(request.shape), request.data_type
    given = split(requests.filters_of(request), ndim, data_type)
    filters = given.filters + (() if given.compressor is None else (given.compressor,))
    order: Order = "F" if given.order == "F" else request.order
    if request.compressors == "auto":
        return FilterPipeline(order, filters, DEFAULT_COMPRESSOR)
    if request.compressors == "fast":
        return FilterPipeline(order, filters, FAST)
    compressors = split(tuple(request.compressors or ()), ndim, data_type)
    # Several compressors run in turn: the last is the compressor, the others are filters.
    return FilterPipeline(order, filters + compressors.filters, compressors.compressor)


def with_object_codec(pipeline: FilterPipeline, data_type: DataType) -> FilterPipeline:
    """Text and bytes of variable size become bytes through a filter, which need not be named."""
    codec = {String: "vlen-utf8", Bytes: "vlen-bytes"}.get(type(data_type))
    if codec is None or any(spec.name in OBJECT_CODECS for spec in pipeline.filters):
        return pipeline
    return pipeline._replace(filters=(CodecSpec(PREFIX + codec, {}), *pipeline.filters))
