"""Codec pipelines of final v3, read to the letter, with the dialects of 2023.

A list holds array-to-array codecs, exactly one from array to bytes, then bytes-to-bytes codecs.
Codecs that are not known here may be of any kind, so the rules on order say nothing beside one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from omnizarr.errors import MetadataError
from omnizarr.formats.core_codecs import (
    ARRAY_TO_ARRAY,
    ARRAY_TO_BYTES,
    BYTES_TO_BYTES,
    SHUFFLES,
)
from omnizarr.formats.members import ANYTHING, BOOLEAN, Constraint, integer, one_of
from omnizarr.formats.rules.base import (
    At,
    Finding,
    chunk_shape,
    constraints,
    lengths,
    required,
    unknown,
)
from omnizarr.formats.v3.codecs import CODEC_LIST
from omnizarr.formats.v3.registered_names import CODECS, configuration_of, extension, name_of
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import Struct, from_json
from omnizarr.model.json import show

SECTION = "Codecs"
_FIXED_SIZE = frozenset({"bytes", "transpose", "crc32c", "numcodecs.crc32c"})


class Input(NamedTuple):
    """What a pipeline is given: None where the document does not tell."""

    ndim: int | None
    data_type: Json
    chunk_shape: list[int] | None


def pipeline(at: At, section: str, where: str, value: Json, given: Input) -> Iterator[Finding]:
    if message := CODEC_LIST.fault(where, value):
        yield at.error(section, message)
        return
    shape = given.chunk_shape
    for position, item in enumerate(value):
        here = f"{where}[{position}]"
        name = name_of(item)
        if name == "endian":
            yield at.dialect(
                SECTION,
                f"{here}: the codec 'endian' has been 'bytes' since August 2023; zarrita, pizzarr"
                " and neuroglancer wrote it",
            )
        else:
            yield from extension(at, SECTION, here, item, CODECS)
        if name is not None:
            configuration = configuration_of(item)
            yield from _configuration(
                at, here, name, configuration, given._replace(chunk_shape=shape)
            )
            shape = _permuted(name, configuration, shape)
            given = given._replace(data_type=_type_behind(name, configuration, given.data_type))
    yield from _order(at, where, [name_of(item) for item in value])


def _permuted(
    name: str, configuration: Mapping[str, Json], shape: list[int] | None
) -> list[int] | None:
    """The chunk shape behind a codec."""
    if name == "reshape":
        return None
    order = configuration.get("order")
    if name != "transpose" or shape is None or order == "C":
        return shape
    if order == "F":
        return shape[::-1]
    if isinstance(order, list) and _is_permutation(order, len(shape)):
        return [shape[axis] for axis in order]
    return None


def _type_behind(name: str, configuration: Mapping[str, Json], data_type: Json) -> Json:
    """The data type behind a codec; None where the metadata do not tell."""
    if name == "cast_value":
        return configuration.get("data_type")
    return data_type if name in ("transpose", "reshape", "bitround", "scale_offset") else None


def _is_permutation(order: list[Json], ndim: int) -> bool:
    return all(type(axis) is int for axis in order) and sorted(order) == list(range(ndim))


def _order(at: At, where: str, names: list[str | None]) -> Iterator[Finding]:
    kinds = [_kind(name) for name in names]
    if "?" in kinds:
        return
    count = kinds.count("bytes")
    if count == 0:
        yield at.dialect(
            SECTION,
            f"{where} has no codec from array to bytes; it was optional until July 2023, and"
            " zarrita, zarr-js and GDAL 3.8 to 3.10 left it out",
        )
    elif count > 1:
        yield at.error(SECTION, f"{where} has {count} codecs from array to bytes, not one")
    behind = ""
    for name, kind in zip(names, kinds, strict=True):
        if behind and kind in ("array", "bytes") and not (kind == "bytes" and count > 1):
            yield at.error(
                SECTION, f"{where}: {name!r} takes an array, but {behind!r} before it yields bytes"
            )
        if kind in ("bytes", "compressed") and name:
            behind = name


def _kind(name: str | None) -> str:
    if name is None:
        return "?"
    name = "bytes" if name == "endian" else name
    if name in ARRAY_TO_ARRAY:
        return "array"
    if name in ARRAY_TO_BYTES:
        return "bytes"
    return "compressed" if name in BYTES_TO_BYTES else "?"


# -- one codec ------------------------------------------------------------------------------------
_PARAMETERS: Mapping[str, Mapping[str, Constraint]] = {
    "bytes": {"endian": one_of("little", "big")},
    "transpose": {"order": ANYTHING},
    "gzip": {"level": integer(0, 9)},
    "blosc": {
        "cname": one_of("blosclz", "lz4", "lz4hc", "zstd", "zlib", "snappy"),
        "clevel": integer(0, 9),
        "shuffle": one_of(*SHUFFLES),
        "typesize": integer(1),
        "blocksize": integer(0),
    },
    "crc32c": {},
    "zstd": {"level": integer(-131072, 22), "checksum": BOOLEAN},
    "sharding_indexed": {
        "chunk_shape": ANYTHING,
        "codecs": ANYTHING,
        "index_codecs": ANYTHING,
        "index_location": one_of("start", "end"),
    },
}
"""What the parameters of each codec must be."""
_OPTIONAL = frozenset({"endian", "order", "typesize", "checksum", "index_codecs", "index_location"})
_SHARDING = "sharding_indexed, Configuration parameters"


def _configuration(
    at: At, where: str, name: str, configuration: Mapping[str, Json], given: Input
) -> Iterator[Finding]:
    name = "bytes" if name == "endian" else name
    wanted = _PARAMETERS.get(name)
    if wanted is None:
        return
    section = _SHARDING if name == "sharding_indexed" else SECTION
    message = f"{where}: the codec has no parameter {{}}"
    yield from unknown(at, SECTION, configuration, wanted, message)
    told = {**dict.fromkeys(wanted.keys() - _OPTIONAL), **configuration}
    if name == "blosc" and type(told["shuffle"]) is int and told["shuffle"] in (-1, 0, 1, 2):
        yield at.dialect(
            SECTION,
            f"{where}: shuffle is the number {told.pop('shuffle')}; zarrita of March 2023 wrote it",
        )
    yield from constraints(at, section, told, wanted, f"{where}: ")
    match name:
        case "bytes" if "endian" not in configuration:
            yield from _endian(at, where, given.data_type)
        case "transpose":
            yield from _transpose(at, where, configuration, given.ndim)
        case "blosc" if told.get("shuffle") in SHUFFLES[1:] and "typesize" not in told:
            yield at.error(SECTION, f"{where}: typesize is required where values are shuffled")
        case "sharding_indexed":
            yield from _sharding(at, where, configuration, given)


def _endian(at: At, where: str, data_type: Json) -> Iterator[Finding]:
    """The byte order is missing."""
    try:
        found = from_json(data_type)
    except (MetadataError, TypeError):
        return
    if isinstance(found, Struct):
        if any(field.data_type.numpy.itemsize > 1 for field in found.fields):
            yield at.dialect(
                SECTION, f"{where}: endian is missing; zarr-python 3.1 wrote structured types so"
            )
    elif found.numpy.byteorder != "|" and not found.variable and found.numpy.itemsize > 1:
        yield at.error(SECTION, f"{where}: endian is required for the data type {found.name!r}")


def _transpose(
    at: At, where: str, configuration: Mapping[str, Json], ndim: int | None
) -> Iterator[Finding]:
    order = configuration.get("order")
    if order in ("C", "F"):
        yield at.dialect(
            SECTION,
            f"{where}: order {order!r} was allowed until October 2023; zarrita 0.2.7 wrote it",
        )
    elif not isinstance(order, list) or not _is_permutation(
        order, len(order) if ndim is None else ndim
    ):
        axes = "the axes" if ndim is None else f"{ndim} axes"
        yield at.error(
            SECTION, f"{where}: order must be a permutation of {axes}, found {show(order)}"
        )


def _sharding(
    at: At, where: str, configuration: Mapping[str, Json], given: Input
) -> Iterator[Finding]:
    section = _SHARDING
    yield from required(at, section, configuration, ("chunk_shape", "codecs"))
    if "chunk_shape" in configuration:
        yield from lengths(at, section, f"{where}: chunk_shape", configuration["chunk_shape"], 1)
    inner = chunk_shape(configuration.get("chunk_shape"))
    if inner is not None and given.chunk_shape is not None:
        if len(inner) != len(given.chunk_shape):
            yield at.error(
                section,
                f"{where}: chunk_shape has {len(inner)} dimensions, the shard has"
                f" {len(given.chunk_shape)}",
            )
        elif any(whole % part for whole, part in zip(given.chunk_shape, inner, strict=True)):
            yield at.error(
                section,
                f"{where}: chunk_shape {show(inner)} must divide the shard"
                f" {show(given.chunk_shape)}",
            )
    if "codecs" in configuration:
        yield from pipeline(
            at,
            section,
            f"{where}.codecs",
            configuration["codecs"],
            given._replace(chunk_shape=inner),
        )
    if "index_codecs" not in configuration:
        yield at.dialect(
            section,
            f"{where}: index_codecs is missing; it was added in July 2023, and zarrita wrote shards"
            " before that",
        )
        return
    index = configuration["index_codecs"]
    ndim = None if given.ndim is None else given.ndim + 1
    yield from pipeline(at, section, f"{where}.index_codecs", index, Input(ndim, "uint64", None))
    for name in [name_of(item) for item in index] if isinstance(index, list) else ():
        if name is not None and _kind(name) != "?" and name not in _FIXED_SIZE | {"endian"}:
            yield at.error(
                section, f"{where}: index_codecs must not use {name!r}, whose output varies in size"
            )
