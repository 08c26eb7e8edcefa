"""How final v3 names codecs, and the dialects of its first years.

`decode` gives the pipeline in today's words: explicit, with an array-to-bytes codec, also inside
`sharding_indexed`. What it knows of a codec is its metadata, never its code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omnizarr.errors import MetadataError
from omnizarr.formats import members
from omnizarr.formats.core_codecs import (
    ARRAY_TO_ARRAY,
    ARRAY_TO_BYTES,
    BYTES_TO_BYTES,
    shuffle_name,
    to_json,
)
from omnizarr.model.axes import SHARDING, permutation, rank_behind
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import (
    ArrowBinary,
    ArrowString,
    Bytes,
    DataType,
    FixedBytes,
    FixedText,
    Raw,
    String,
    Struct,
    from_json,
)
from omnizarr.model.json import show

TAKE_ARRAYS = ARRAY_TO_ARRAY | ARRAY_TO_BYTES
GIVE_BYTES = ARRAY_TO_BYTES | BYTES_TO_BYTES
CODEC_LIST = members.Constraint("a list of codecs", lambda value: isinstance(value, list))


def decode(value: Json, ndim: int, data_type: DataType) -> tuple[CodecSpec, ...]:
    """The pipeline of a `codecs` member, in encoding order."""
    specs = _decode_list(value, "codecs", ndim, data_type)
    return tuple(with_serializer(specs, data_type))


def _decode_list(value: Json, member: str, ndim: int, data_type: DataType) -> list[CodecSpec]:
    CODEC_LIST.check(member, value)
    specs: list[CodecSpec] = []
    rank: int | None = ndim
    for item in value:
        spec = _modern(members.extension(item, member), rank, data_type)
        data_type = _after(spec, data_type)
        rank = rank_behind(spec, rank)
        specs.append(spec)
    return specs


def _modern(found: members.Extension, ndim: int | None, data_type: DataType) -> CodecSpec:
    """One codec, dialects of 2023 put into the final words."""
    name, configuration = found.name, found.configuration
    if name == "endian":  # renamed in August 2023
        name = "bytes"
    elif name == "transpose" and ndim is not None:
        axes = permutation(members.required(configuration, "order"), ndim)
        configuration = {**configuration, "order": list(axes)}
    elif name == "blosc":
        configuration = _modern_blosc(configuration, itemsize(data_type))
    elif name == SHARDING:
        configuration = _modern_sharding(configuration, ndim, data_type)
    return CodecSpec(name, configuration, found.must_understand)


def _modern_blosc(configuration: Mapping[str, Json], itemsize: int) -> Mapping[str, Json]:
    shuffle = configuration.get("shuffle", "noshuffle")
    if isinstance(shuffle, str) and "typesize" in configuration:
        return configuration
    typesize = configuration.get("typesize", itemsize)
    return {**configuration, "typesize": typesize, "shuffle": shuffle_name(shuffle, itemsize)}


def _modern_sharding(
    configuration: Mapping[str, Json], ndim: int | None, data_type: DataType
) -> Mapping[str, Json]:
    """Inner codecs are explicit; `index_codecs` stays missing where a writer of 2023 had none."""
    chunk_shape = members.lengths(
        members.required(configuration, "chunk_shape"), f"{SHARDING}: chunk_shape", 1
    )
    if ndim is not None and len(chunk_shape) != ndim:
        raise MetadataError(
            f"{SHARDING}: chunk_shape {show(list(chunk_shape))} is for {len(chunk_shape)}"
            f" dimensions, there are {ndim}"
        )
    inner = _decode_list(
        configuration.get("codecs", []), f"{SHARDING}: codecs", len(chunk_shape), data_type
    )
    modern = {**configuration, "codecs": encode(with_serializer(inner, data_type))}
    if "index_codecs" in configuration:
        index_type = from_json("uint64")
        rank = len(chunk_shape) + 1
        index = _decode_list(
            configuration["index_codecs"], f"{SHARDING}: index_codecs", rank, index_type
        )
        modern["index_codecs"] = encode(with_serializer(index, index_type))
    return modern


def with_serializer(specs: Sequence[CodecSpec], data_type: DataType) -> list[CodecSpec]:
    """The same codecs with one from array to bytes, which was optional until July 2023."""
    found = list(specs)
    _check_order(found)
    for position, spec in enumerate(found):
        if spec.name in BYTES_TO_BYTES:
            return [*found[:position], serializer(data_type), *found[position:]]
        if spec.name not in ARRAY_TO_ARRAY:
            return found  # it is there, or a codec is unknown and may be it
        data_type = _after(spec, data_type)
    return [*found, serializer(data_type)]


def _check_order(specs: Sequence[CodecSpec]) -> None:
    """Behind the codec from array to bytes only bytes are left: core 3.1, "codecs"."""
    behind = ""
    for spec in specs:
        if behind and spec.name in TAKE_ARRAYS:
            raise MetadataError(
                f"codec {spec.name!r} takes an array, but {behind!r} before it yields bytes"
            )
        if spec.name in GIVE_BYTES:
            behind = spec.name


def _after(spec: CodecSpec, data_type: DataType) -> DataType:
    """The data type behind a codec, as far as metadata tell."""
    if spec.name == "cast_value":
        return from_json(spec.configuration.get("data_type"))
    return data_type


def stored_type(data_type: DataType, codecs: Json) -> DataType:
    """The type that the codecs make of text and byte strings: in document 004's layout, where the
    elements become bytes as the data type says (the codec `bytes`, also if it is left out), or each
    behind its length, as practice has it."""
    if not isinstance(data_type, String | Bytes):
        return data_type
    name = _serializer_name(codecs)
    plain = name in ("", "bytes")
    match data_type:
        case ArrowString() | ArrowBinary() if not plain:
            if data_type.large:
                raise MetadataError(
                    f"data_type {data_type.name!r}: its offsets are stored by the codec 'bytes',"
                    f" found {name!r}"
                )
            return data_type.framed
        case ArrowString() | ArrowBinary():
            return data_type
        case String() if plain:
            return ArrowString()
        case _:
            return data_type


def _serializer_name(codecs: Json) -> str:
    """The codec that makes bytes of the elements, inside shards too; empty if there is none."""
    for item in codecs if isinstance(codecs, list) else ():
        found = item if isinstance(item, dict) else {"name": item}
        name = found.get("name")
        if name == SHARDING:
            configuration = found.get("configuration")
            return _serializer_name(
                configuration.get("codecs") if isinstance(configuration, dict) else None
            )
        if name == "endian":
            return "bytes"
        if isinstance(name, str) and name not in ARRAY_TO_ARRAY:
            return "" if name in BYTES_TO_BYTES else name
    return ""


def serializer(data_type: DataType) -> CodecSpec:
    """The codec that turns an array of this type into bytes, little-endian where it matters."""
    if isinstance(data_type, ArrowString | ArrowBinary):
        return CodecSpec("bytes", {"endian": "little"})
    if isinstance(data_type, String):
        return CodecSpec("vlen-utf8", {})
    if isinstance(data_type, Bytes):
        return CodecSpec("vlen-bytes", {})
    if not isinstance(data_type, Struct) and itemsize(data_type) == 1:
        return CodecSpec("bytes", {})
    return CodecSpec("bytes", {"endian": "little"})


def itemsize(data_type: DataType) -> int:
    """Bytes of what shuffling should treat as one value."""
    if data_type.variable or isinstance(data_type, FixedBytes | Raw):
        return 1
    return 4 if isinstance(data_type, FixedText) else data_type.numpy.itemsize


def encode(specs: Sequence[CodecSpec]) -> list[Json]:
    """The `codecs` member of a pipeline."""
    return [to_json(spec) for spec in specs]


def is_fortran(specs: Sequence[CodecSpec], ndim: int) -> bool:
    """Whether chunks are in column-major order: all axes reversed before anything else."""
    if not specs or ndim < 2:
        return False
    first = specs[0]
    if first.name == SHARDING:
        inner = first.configuration.get("codecs") or [None]
        name = inner[0].get("name") if isinstance(inner[0], dict) else None
        configuration = inner[0].get("configuration") or {} if name == "transpose" else {}
        return configuration.get("order") == list(range(ndim))[::-1]
    return (
        first.name == "transpose" and first.configuration.get("order") == (list(range(ndim))[::-1])
    )


__all__ = [
    "ARRAY_TO_BYTES",
    "SHARDING",
    "decode",
    "encode",
    "is_fortran",
    "itemsize",
    "serializer",
    "stored_type",
    "with_serializer",
]
