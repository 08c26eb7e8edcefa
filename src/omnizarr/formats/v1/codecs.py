"""How format 1 names codecs: `compression`, `compression_opts` and `order` of a `meta`.

Releases 1.0 and 1.1 ordered the bytes of a chunk by `order` for Blosc alone. Zlib, bz2, lzma and no
compression have C order whatever the member says, and are read so; F is then no more than the
memory order of what is read. The name `gzip` is an alias of `zlib`, and means a zlib stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnizarr.errors import MetadataError, UnknownCodecError, UnsupportedError
from omnizarr.formats import arrays_only
from omnizarr.formats.core_codecs import OLD_ZSTD, PREFIX
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import DataType
from omnizarr.model.json import show

COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
WRITABLE = ("blosclz", "lz4", "lz4hc", "zlib")
"""Zstandard was young: what libraries write today, release 1.1 cannot read."""
ZLIB, BZ2, LZMA = PREFIX + "zlib", PREFIX + "bz2", PREFIX + "lzma"
_XZ, _ALONE, _RAW = 1, 2, 3
_NO_CHECK, _CRC64 = 0, 4


def default(data_type: DataType, order: str) -> CodecSpec:
    """What carries a checksum; Blosc, which release 1.1 itself takes, where an order is asked for
    that no other compressor has."""
    if order == "C" or arrays_only.has_times(data_type):
        return CodecSpec(ZLIB, {"level": 1})
    return CodecSpec(arrays_only.BLOSC, {"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0})


def decode(document: Mapping[str, Json]) -> CodecSpec | None:
    """The compressor of a `meta`."""
    if "compression" not in document:
        raise MetadataError("the member 'compression' is missing")
    name, options = document["compression"], document.get("compression_opts")
    try:
        match name:
            case None | "none":
                return None
            case "blosc":
                blosc = arrays_only.decode_blosc(_object(options), COMPRESSORS)
                if blosc.configuration["cname"] == "zstd":
                    # What was called so in 2016 is not what is called so today.
                    return CodecSpec(blosc.name, {**blosc.configuration, "cname": OLD_ZSTD})
                return blosc
            case "zlib" | "gzip":
                return CodecSpec(ZLIB, {"level": _integer(options, "a level", 0, 9)})
            case "bz2":
                return CodecSpec(BZ2, {"level": _integer(options, "a level", 1, 9)})
            case "lzma":
                return CodecSpec(LZMA, _lzma(_object(options)))
    except MetadataError as error:
        raise error.at("compression_opts") from error
    raise UnknownCodecError(
        f"compression must be one of none, blosc, zlib, bz2, lzma, found {show(name)}"
    )


def _object(options: Json) -> Mapping[str, Json]:
    if not isinstance(options, dict):
        raise MetadataError(f"expected an object, found {show(options)}")
    return options


def _integer(value: Json, what: str, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise MetadataError(f"expected {what} from {low} to {high}, found {show(value)}")
    return value


def _lzma(options: Mapping[str, Json]) -> dict[str, Json]:
    preset, filters = options.get("preset"), options.get("filters")
    if preset is not None:
        preset = _integer(preset, "a preset", 0, 9)
    if filters is not None and not (
        isinstance(filters, list) and all(isinstance(item, dict) for item in filters)
    ):
        raise MetadataError(f"filters must be a list of objects or null, found {show(filters)}")
    return {
        "format": _integer(options.get("format", _XZ), "a format", _XZ, _RAW),
        "check": _integer(options.get("check", _NO_CHECK), "a check", 0, 15),
        "preset": preset,
        "filters": filters,
    }


def encode(spec: CodecSpec | None, data_type: DataType) -> tuple[str, Json]:
    """The members compression and compression_opts; UnsupportedError if there are none."""
    if spec is None:
        return "none", None
    given = spec.configuration
    if arrays_only.of_blosc(spec):
        if arrays_only.has_times(data_type):
            raise UnsupportedError(
                "format 1: its releases cannot give points in time and durations to blosc; use"
                " zlib, bz2, lzma or no compressor",
                what="codecs",
            )
        itemsize = data_type.numpy.itemsize
        return "blosc", arrays_only.encode_blosc(spec, itemsize, WRITABLE, 1)
    match spec.name:
        case "numcodecs.zlib":
            level = given.get("level", 1)
            # −1 is zlib's own default, which the releases do not know by that name.
            return "zlib", 6 if level == -1 else level
        case "numcodecs.bz2":
            return "bz2", given.get("level", 1)
        case "numcodecs.lzma":
            return "lzma", _lzma_options(given)
        case _:
            raise UnsupportedError(
                f"format 1 has the compressors blosc, zlib, bz2 and lzma, not {spec.name!r}",
                what="codecs",
            )


def _lzma_options(given: Mapping[str, Any]) -> dict[str, Json]:
    form, check = given.get("format", _XZ), given.get("check", -1)
    if check in (-1, None):
        check = _CRC64 if form == _XZ else _NO_CHECK
    filters = given.get("filters")
    return {
        "format": form,
        "check": check,
        "preset": None if filters else given.get("preset"),
        "filters": filters,
    }
