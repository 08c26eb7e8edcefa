"""What a new array of format 3 is made of when a user leaves things open.

Data written by default carries a checksum, so that a flipped bit is found, and is compressed with
a codec that every other implementation reads: Zstandard with its own checksum. Shuffled Blosc
compresses numbers better, but its checksum needs a second codec, crc32c, which GDAL does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats import members
from omnizarr.formats.base import DEFAULT, ArrayRequest
from omnizarr.formats.core_codecs import AUTO_SHUFFLE, inner_specs, shuffle_name, to_core
from omnizarr.formats.v3.codecs import (
    ARRAY_TO_BYTES,
    SHARDING,
    encode,
    is_fortran,
    itemsize,
    stored_type,
    with_serializer,
)
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import ArrowBinary, ArrowString, Bytes, DataType, Object, String, Time
from omnizarr.model.grids import Grid, Shape, rectilinear_grid, regular_grid
from omnizarr.model.keys import ChunkKeys

INDEX_CODECS: list[Json] = [
    {"name": "bytes", "configuration": {"endian": "little"}},
    {"name": "crc32c"},
]
LEVEL = 1
"""Of Zstandard by default: 3 writes up to five times slower, and saves 10 % at the most."""
FAST_LEVEL = 3
"""Of Blosc's Zstandard, where "fast" is asked for."""
_OPTIONS: dict[str, dict[str, Json]] = {
    "gzip": {"level": 5},
    "zstd": {"level": 0, "checksum": False},
}
DEFAULT_COMPRESSOR = CodecSpec("zstd", {"level": LEVEL, "checksum": True})
MAX_BLOSC_BYTES = (1 << 31) - 17
MAX_TYPESIZE = 255


def new_array(request: ArrayRequest) -> ArrayModel:
    shape = tuple(int(length) for length in request.shape)
    data_type = _element_type(request)
    if isinstance(data_type, Object) or (data_type.variable and data_type.numpy.names):
        raise UnsupportedError(_no_objects(request), what="data_type")
    try:
        data_type.json  # noqa: B018 - UnsupportedError if the type cannot be named
    except UnsupportedError as error:
        raise UnsupportedError(str(error), what="data_type") from error
    grid = _grid(request, shape)
    codecs = _codecs(request, data_type, _chunk_bytes(request, grid, data_type))
    stored = stored_type(data_type, encode(codecs))
    if isinstance(data_type, ArrowString | ArrowBinary) and stored != data_type:
        raise MetadataError(
            f"dtype {str(data_type)!r} is stored by the codec 'bytes', but another one was given;"
            " leave it out, or use dtype=str or dtype=bytes"
        )
    data_type = stored
    names = request.dimension_names
    if names is not None and len(names) != len(shape):
        raise MetadataError(f"dimension_names has {len(names)} names for {len(shape)} dimensions")
    encoding = request.key_encoding or "default"
    return ArrayModel(
        shape=shape,
        data_type=data_type,
        grid=grid,
        keys=ChunkKeys(encoding, request.separator or ("/" if encoding == "default" else ".")),
        codecs=codecs,
        fill_value=_fill(request.fill_value, data_type),
        attributes=dict(request.attributes),
        dimension_names=names,
        order="F" if is_fortran(codecs, len(shape)) else "C",
    )


def _names(request: ArrayRequest) -> set[str]:
    """The names of all codecs that are asked for."""
    given = [request.serializer]
    for specs in (request.filters, request.codecs):
        given.extend(specs if specs is not None and specs != "auto" else ())
    return {spec.name for spec in given if isinstance(spec, CodecSpec)}


def _no_objects(request: ArrayRequest) -> str:
    """Why there are no objects, and what to do with those that the codecs are for."""
    names = {name.removeprefix("numcodecs.") for name in _names(request)}
    if "vlen-array" in names:
        return (
            "format 3 has no type for ragged arrays; store all values in one array and where each"
            " element starts in another, or use zarr_format=2"
        )
    if names & {"json", "json2", "msgpack", "msgpack2", "pickle"}:
        return (
            "format 3 has no type for Python objects; store text of your own (json.dumps) with"
            " dtype=str, bytes with dtype=bytes, or use zarr_format=2"
        )
    if isinstance(request.data_type, Object):
        return (
            "format 3 has no type for Python objects; use dtype=str for text, dtype=bytes for byte"
            " strings, or zarr_format=2 with an object_codec"
        )
    return (
        "format 3 has no records with fields of Python objects; give text a length ('U12'), put the"
        " objects into an array of their own, or use zarr_format=2 with an object_codec"
    )


def _element_type(request: ArrayRequest) -> DataType:
    """The type in native order; objects that a known codec makes text or bytes are those."""
    if isinstance(request.data_type, Object):
        names = _names(request)
        if names & {"vlen-utf8", "numcodecs.vlen-utf8"}:
            return String()
        if names & {"vlen-bytes", "numcodecs.vlen-bytes"}:
            return Bytes()
    return request.data_type.native


def _grid(request: ArrayRequest, shape: Shape) -> Grid:
    edges = tuple(
        tuple(int(edge) for edge in chunk) if isinstance(chunk, tuple) else int(chunk)
        for chunk in (request.chunks if request.shards is None else request.shards)
    )
    if request.shards is not None:
        for shard, chunk in zip(edges, request.chunks, strict=False):
            if isinstance(chunk, tuple):
                raise UnsupportedError(
                    "chunks inside shards must all have the same shape", what="chunks"
                )
            lengths = shard if isinstance(shard, tuple) else (shard,)
            if chunk < 1 or any(length % chunk for length in lengths):
                raise MetadataError(
                    f"shards {edges} must be a whole multiple of chunks {request.chunks}"
                )
        if len(edges) != len(request.chunks):
            raise MetadataError(f"shards {edges} and chunks {request.chunks} differ in dimensions")
    if any(isinstance(chunk, tuple) for chunk in edges):
        return rectilinear_grid(shape, edges)
    return regular_grid(shape, tuple(chunk for chunk in edges if isinstance(chunk, int)))


def _chunk_bytes(request: ArrayRequest, grid: Grid, data_type: DataType) -> int:
    lengths = grid.chunk_shape if request.shards is None else request.chunks
    return prod(n for n in lengths if isinstance(n, int)) * data_type.numpy.itemsize


def _codecs(request: ArrayRequest, data_type: DataType, chunk_bytes: int) -> tuple[CodecSpec, ...]:
    size = itemsize(data_type)
    if request.codecs is not None:
        if request.shards is not None:
            raise MetadataError("codecs names the whole pipeline; put sharding_indexed into it")
        given = with_serializer(_known(request.codecs, size), data_type)
        return (*_transpose(request, given), *given)
    inner: list[CodecSpec] = _transpose(request, [])
    if request.filters is not None and request.filters != "auto":
        inner.extend(_known(request.filters, size))
    if isinstance(request.serializer, CodecSpec):
        inner.extend(_known([request.serializer], size))
    elif not any(spec.name in ARRAY_TO_BYTES for spec in inner):
        inner = with_serializer(inner, data_type)
    if request.compressors == "auto":
        # A serializer that holds chunks of its own has codecs of its own.
        if not any(spec.name == SHARDING for spec in inner):
            inner.append(DEFAULT_COMPRESSOR)
    elif request.compressors == "fast":
        inner.extend(_fast_compressors(data_type, chunk_bytes))
    elif request.compressors is not None:
        inner.extend(_known(request.compressors, size))
    if request.shards is None:
        return tuple(inner)
    configuration = {
        "chunk_shape": [int(n) for n in request.chunks if not isinstance(n, tuple)],
        "codecs": encode(inner),
        "index_codecs": INDEX_CODECS,
        "index_location": request.index_location,
    }
    return (CodecSpec(SHARDING, configuration),)


def _transpose(request: ArrayRequest, given: Sequence[CodecSpec]) -> list[CodecSpec]:
    """The codec that column-major order means here, unless the codecs have it already."""
    ndim = len(request.shape)
    if request.order == "C" or ndim < 2 or is_fortran(given, ndim):
        return []
    return [CodecSpec("transpose", {"order": list(range(ndim))[::-1]})]


def _known(specs: Sequence[CodecSpec], size: int) -> list[CodecSpec]:
    """A user's codecs under their core names, with the options that the specifications ask for."""
    found = []
    for spec in specs:
        spec = to_core(spec, size)
        if spec.name in _OPTIONS:
            configuration = {**_OPTIONS[spec.name], **spec.configuration}
            spec = CodecSpec(spec.name, configuration, spec.must_understand)
        if spec.name == SHARDING:
            inner = _known(inner_specs(spec.configuration), size)
            # Without index_codecs it would be a shard of 2023, which no reader of today expects.
            configuration = {
                "index_codecs": INDEX_CODECS,
                "index_location": "end",
                **spec.configuration,
                "codecs": encode(inner),
            }
            spec = CodecSpec(SHARDING, configuration, spec.must_understand)
        given = spec.configuration
        if spec.name == "blosc" and (
            not given.get("typesize") or given.get("shuffle") == AUTO_SHUFFLE
        ):
            configuration = {
                "cname": "zstd",
                "clevel": 5,
                "shuffle": "noshuffle" if size == 1 else "shuffle",
                "blocksize": 0,
                **given,
                "typesize": given.get("typesize") or (size if size <= MAX_TYPESIZE else 1),
            }
            # The automatic shuffle of numcodecs has no name in format 3.
            configuration["shuffle"] = shuffle_name(configuration["shuffle"], size)
            spec = CodecSpec("blosc", configuration, spec.must_understand)
        found.append(spec)
    return found


def _fast_compressors(data_type: DataType, chunk_bytes: int) -> list[CodecSpec]:
    """Shuffled blosc and a checksum for numbers; the default for what blosc cannot shuffle."""
    size = itemsize(data_type)
    if 1 < size <= MAX_TYPESIZE and chunk_bytes <= MAX_BLOSC_BYTES:
        blosc = {
            "typesize": size,
            "cname": "zstd",
            "clevel": FAST_LEVEL,
            "shuffle": "shuffle",
            "blocksize": 0,
        }
        return [CodecSpec("blosc", blosc), CodecSpec("crc32c", {})]
    return [DEFAULT_COMPRESSOR]


def _fill(value: Any, data_type: DataType) -> Any:
    """Format 3 always has a fill value; None asks for the default."""
    if value is DEFAULT or value is None:
        return data_type.not_a_time if isinstance(data_type, Time) else data_type.zero
    return members.scalar(value, data_type)


__all__ = ["new_array"]
