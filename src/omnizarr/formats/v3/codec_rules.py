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
from omnizarr.formats.rules.base import At, Finding, chunk_shape, is_integer, lengths, required
from omnizarr.formats.v3.registered_names import CODECS, extension, name_of
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import Struct, from_json
from omnizarr.model.json import show

SECTION = "Codecs"
_COMPRESSORS = ("blosclz", "lz4", "lz4hc", "zstd", "zlib", "snappy")
_FIXED_SIZE = frozenset({"bytes", "transpose", "crc32c", "numcodecs.crc32c"})


class Input(NamedTuple):
    """What a pipeline is given: None where the document does not tell."""

    ndim: int | None
    data_type: Json
    chunk_shape: list[int] | None


def pipeline(at: At, section: str, where: str, value: Json, given: Input) -> Iterator[Finding]:
    if not isinstance(value, list):
        yield at.error(section, f"{where} must be a list of codecs, found {show(value)}")
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
            configuration = item.get("configuration") if isinstance(item, dict) else None
            configuration = configuration if isinstance(configuration, dict) else {}
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
    return all(is_integer(axis) for axis in order) and sorted(order) == list(range(ndim))


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
def _configuration(
    at: At, where: str, name: str, configuration: Mapping[str, Json], given: Input
) -> Iterator[Finding]:
    match name:
        case "bytes" | "endian":
            yield from _known(at, where, configuration, {"endian"})
            yield from _endian(at, where, configuration, given.data_type)
        case "transpose":
            yield from _known(at, where, configuration, {"order"})
            yield from _transpose(at, where, configuration, given.ndim)
        case "gzip":
            yield from _known(at, where, configuration, {"level"})
            yield from _level(at, where, "level", configuration, 0, 9)
        case "blosc":
            members = {"cname", "clevel", "shuffle", "typesize", "blocksize"}
            yield from _known(at, where, configuration, members)
            yield from _blosc(at, where, configuration)
        case "crc32c":
            yield from _known(at, where, configuration, set())
        case "zstd":
            yield from _known(at, where, configuration, {"level", "checksum"})
            yield from _level(at, where, "level", configuration, -131072, 22)
            if not isinstance(configuration.get("checksum", False), bool):
                yield at.error(SECTION, f"{where}: checksum must be true or false")
        case "sharding_indexed":
            members = {"chunk_shape", "codecs", "index_codecs", "index_location"}
            yield from _known(at, where, configuration, members)
            yield from _sharding(at, where, configuration, given)


def _known(
    at: At, where: str, configuration: Mapping[str, Json], members: set[str]
) -> Iterator[Finding]:
    for name in sorted(configuration.keys() - members):
        yield at.warning(SECTION, f"{where}: the codec has no parameter {show(name)}")


def _level(
    at: At, where: str, name: str, configuration: Mapping[str, Json], low: int, high: int
) -> Iterator[Finding]:
    value = configuration.get(name)
    if not is_integer(value) or not low <= value <= high:
        yield at.error(
            SECTION, f"{where}: {name} must be an integer from {low} to {high}, found {show(value)}"
        )


def _endian(
    at: At, where: str, configuration: Mapping[str, Json], data_type: Json
) -> Iterator[Finding]:
    if "endian" in configuration:
        if configuration["endian"] not in ("little", "big"):
            yield at.error(
                SECTION,
                f"{where}: endian must be 'little' or 'big', found {show(configuration['endian'])}",
            )
        return
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


def _blosc(at: At, where: str, configuration: Mapping[str, Json]) -> Iterator[Finding]:
    cname = configuration.get("cname")
    if cname not in _COMPRESSORS:
        yield at.error(
            SECTION, f"{where}: cname must be one of {', '.join(_COMPRESSORS)}, found {show(cname)}"
        )
    yield from _level(at, where, "clevel", configuration, 0, 9)
    shuffle = configuration.get("shuffle")
    if is_integer(shuffle) and shuffle in (-1, 0, 1, 2):
        yield at.dialect(
            SECTION, f"{where}: shuffle is the number {shuffle}; zarrita of March 2023 wrote it"
        )
    elif shuffle not in SHUFFLES:
        yield at.error(
            SECTION, f"{where}: shuffle must be one of {', '.join(SHUFFLES)}, found {show(shuffle)}"
        )
    elif "typesize" not in configuration and shuffle != "noshuffle":
        yield at.error(SECTION, f"{where}: typesize is required where values are shuffled")
    blocksize = configuration.get("blocksize")
    if not is_integer(blocksize) or blocksize < 0:
        yield at.error(SECTION, f"{where}: blocksize must be an integer, found {show(blocksize)}")
    typesize = configuration.get("typesize", 1)
    if not is_integer(typesize) or typesize < 1:
        yield at.error(SECTION, f"{where}: typesize must be at least 1, found {show(typesize)}")


def _sharding(
    at: At, where: str, configuration: Mapping[str, Json], given: Input
) -> Iterator[Finding]:
    section = "sharding_indexed, Configuration parameters"
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
    location = configuration.get("index_location", "end")
    if location not in ("start", "end"):
        yield at.error(
            section, f"{where}: index_location must be 'start' or 'end', found {show(location)}"
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
