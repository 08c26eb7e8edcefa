"""Codecs that have two names: numcodecs' own, which format 2 writes, and final v3's.

Each pair of functions translates one configuration. They know metadata only: no codec is
looked up, no byte is encoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from omnizarr.errors import MetadataError
from omnizarr.formats import members
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.json import show

PREFIX = "numcodecs."
OLD_ZSTD = "zstd-0.7"
"""Blosc's name here for the Zstandard that zarr 1.1 came with: it can be read, not written."""
SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")
_DEFAULT_SHUFFLE = 1
AUTO_SHUFFLE = -1

FAST = CodecSpec(
    "numcodecs.blosc", {"cname": "zstd", "clevel": 3, "shuffle": _DEFAULT_SHUFFLE, "blocksize": 0}
)
"""What `compressors="fast"` means in a format with one compressor."""

ARRAY_TO_ARRAY = frozenset(
    {
        *("transpose", "bitround", "cast_value", "scale_offset", "reshape"),
        *("numcodecs.astype", "numcodecs.bitround", "numcodecs.delta", "numcodecs.packbits"),
        *("numcodecs.fixedscaleoffset", "numcodecs.quantize"),
    }
)
ARRAY_TO_BYTES = frozenset(
    {
        *("bytes", "sharding_indexed", "vlen-utf8", "vlen-bytes", "vlen-array", "packbits", "zfp"),
        *("n5_default", "optional", "numcodecs.pcodec", "numcodecs.zfpy"),
    }
)
BYTES_TO_BYTES = frozenset(
    {
        *("blosc", "gzip", "zstd", "crc32c", "conditional"),
        *("numcodecs.blosc", "numcodecs.bz2", "numcodecs.gzip", "numcodecs.lz4", "numcodecs.lzma"),
        *("numcodecs.zlib", "numcodecs.zstd", "numcodecs.shuffle"),
        *("numcodecs.adler32", "numcodecs.crc32", "numcodecs.crc32c", "numcodecs.fletcher32"),
        "numcodecs.jenkins_lookup3",
    }
)
OBJECT_CODECS = frozenset(
    PREFIX + name
    for name in (
        *("categorize", "json", "json2", "msgpack", "msgpack2", "pickle"),
        *("vlen-array", "vlen-bytes", "vlen-utf8"),
    )
)
"""Codecs of numcodecs that make bytes of Python objects."""


_WORDS: Mapping[str, bool] = {"YES": True, "TRUE": True, "NO": False, "FALSE": False}
_GDAL_SHUFFLES: Mapping[str, int] = {"NONE": 0, "BYTE": 1, "BIT": 2}
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}\Z")


def to_json(spec: CodecSpec) -> dict[str, Json]:
    """A codec as final v3 writes it."""
    member: dict[str, Json] = {"name": spec.name}
    if spec.configuration or spec.name.startswith(PREFIX):
        # zarr-python wants the member for these even if it is empty.
        member["configuration"] = dict(spec.configuration)
    if not spec.must_understand:
        member["must_understand"] = False
    return member


def from_json(item: Json) -> CodecSpec:
    """A codec that final v3 writes so; MetadataError if it is none."""
    found = members.extension(item, "codecs")
    return CodecSpec(found.name, found.configuration, found.must_understand)


def inner_specs(configuration: Mapping[str, Json]) -> list[CodecSpec]:
    """The codecs inside a codec that has some of its own, such as `sharding_indexed`."""
    inner = configuration.get("codecs")
    if inner is not None and not isinstance(inner, list | tuple):
        raise MetadataError(f"codecs must be a list of codecs, found {show(inner)}")
    return [from_json(item) for item in inner or ()]


def with_inner(spec: CodecSpec, inner: Iterable[CodecSpec]) -> CodecSpec:
    """The same codec with other codecs inside."""
    configuration = {**spec.configuration, "codecs": [to_json(one) for one in inner]}
    return CodecSpec(spec.name, configuration, spec.must_understand)


def plain_options(configuration: Mapping[str, Json]) -> dict[str, Json]:
    """Options of a codec with numbers, booleans and shuffles that GDAL wrote as text in the words
    of its creation options (`"5"`, `"NO"`, `"BIT"`) as what they mean; all else unchanged."""
    return {name: _plain(name, value) for name, value in configuration.items()}


def _plain(name: str, value: Json) -> Json:
    if not isinstance(value, str):
        return value
    if name == "shuffle" and value in _GDAL_SHUFFLES:
        return _GDAL_SHUFFLES[value]
    if value in _WORDS:
        return _WORDS[value]
    return int(value) if _INTEGER.match(value) else value


def shuffle_name(value: Json, itemsize: int) -> str:
    """Blosc's shuffle as final v3 names it; numbers are numcodecs' and those of early v3."""
    if isinstance(value, str) and value in SHUFFLES:
        return value
    if type(value) is int and value == AUTO_SHUFFLE:
        return "bitshuffle" if itemsize == 1 else "shuffle"
    if type(value) is int and 0 <= value < len(SHUFFLES):
        return SHUFFLES[value]
    raise MetadataError(
        f"blosc: shuffle must be one of {', '.join(SHUFFLES)} (or 0, 1, 2, -1), found {show(value)}"
    )


def to_core(spec: CodecSpec, itemsize: int) -> CodecSpec:
    """A numcodecs codec under its core v3 name, if it has one; anything else unchanged."""
    given = spec.configuration
    match spec.name:
        case "numcodecs.blosc":
            configuration: dict[str, Json] = {
                "typesize": given.get("typesize") or itemsize,
                "cname": given.get("cname", "lz4"),
                "clevel": given.get("clevel", 5),
                "shuffle": shuffle_name(given.get("shuffle", _DEFAULT_SHUFFLE), itemsize),
                "blocksize": given.get("blocksize", 0),
            }
            return CodecSpec("blosc", configuration, spec.must_understand)
        case "numcodecs.zstd":
            configuration = {
                "level": given.get("level", 0),
                "checksum": given.get("checksum", False),
            }
            return CodecSpec("zstd", configuration, spec.must_understand)
        case "numcodecs.gzip":
            return CodecSpec("gzip", {"level": given.get("level", 1)}, spec.must_understand)
        case "numcodecs.crc32c" if given.get("location", "end") == "end":
            return CodecSpec("crc32c", {}, spec.must_understand)
        case "numcodecs.vlen-utf8" | "numcodecs.vlen-bytes":
            return CodecSpec(spec.name.removeprefix(PREFIX), {}, spec.must_understand)
        case _:
            return spec


def from_core(spec: CodecSpec) -> CodecSpec | None:
    """A core v3 codec as numcodecs knows it; None if numcodecs has no equal."""
    given: Mapping[str, Any] = spec.configuration
    if spec.name.startswith(PREFIX):
        return spec
    match spec.name:
        case "blosc":
            shuffle = shuffle_name(given.get("shuffle", "noshuffle"), 0)
            configuration: dict[str, Json] = {
                "cname": given.get("cname", "zstd"),
                "clevel": given.get("clevel", 5),
                "shuffle": SHUFFLES.index(shuffle),
                "blocksize": given.get("blocksize", 0),
            }
            return CodecSpec("numcodecs.blosc", configuration)
        case "zstd":
            return CodecSpec(
                "numcodecs.zstd",
                {"level": given.get("level", 0), "checksum": given.get("checksum", False)},
            )
        case "gzip":
            return CodecSpec("numcodecs.gzip", {"level": given.get("level", 5)})
        case "crc32c" | "vlen-utf8" | "vlen-bytes" | "vlen-array":
            return CodecSpec(PREFIX + spec.name, dict(given))
        case "bitround":
            return CodecSpec("numcodecs.bitround", {"keepbits": given.get("keepbits")})
        case _:
            return None
