"""How N5 names compression, and the pipeline of codecs that its blocks are.

A block is what the codec `n5_default` makes of an array whose axes are numbered as N5 numbers them;
here arrays have the reverse order, so a `transpose` stands before it. Inside, the bytes are always
big-endian and at most one compressor follows:

=======  ==========================================  =============================================
type     members (default)                           codec
=======  ==========================================  =============================================
raw                                                  none
gzip     level (-1), useZlib (false)                 `gzip`, or `numcodecs.zlib` with useZlib
bzip2    blockSize (9)                               `numcodecs.bz2`
xz       preset (6)                                  `numcodecs.lzma` in an xz container
blosc    cname, clevel, shuffle, blocksize           `blosc`
zstd     level (3)                                   `zstd`
lz4      blockSize (65536)                           `n5_lz4`
lz4      id, acceleration (zarr-python)              `numcodecs.lz4`
lzma     format, check, preset, filters (zarr-python)  `numcodecs.lzma`, read only
=======  ==========================================  =============================================

Any other type `x` is the codec `n5_x`, which may be registered; a numcodecs configuration that
zarr-python has put there (it keeps `id`) is that codec. N5 1.x has a name alone: `compressionType`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from omnizarr.errors import UnsupportedError
from omnizarr.formats import requests
from omnizarr.formats.base import ArrayRequest
from omnizarr.formats.core_codecs import PREFIX, SHUFFLES, from_json, shuffle_name, to_core, to_json
from omnizarr.formats.members import Constraint
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.json import show

BLOCK = "n5_default"
OTHER = "n5_"
DEFAULT_COMPRESSOR = CodecSpec("gzip", {"level": 1})
"""The one compressor that every N5 reader has; its container carries a checksum."""
COMPRESSION = Constraint(
    "an object with a type that is a string",
    lambda value: isinstance(value, dict) and isinstance(value.get("type"), str) and value["type"],
)
XZ = 1
XZ_CHECKS = (-1, 4)
XZ_PRESET = 6


def pipeline(compressor: CodecSpec | None, ndim: int, itemsize: int) -> tuple[CodecSpec, ...]:
    """The whole pipeline of an array of N5."""
    reverse = CodecSpec("transpose", {"order": list(range(ndim))[::-1]})
    serial = CodecSpec("bytes", {"endian": "big"} if itemsize > 1 else {})
    inner = [reverse, serial] if compressor is None else [reverse, serial, compressor]
    block = CodecSpec(BLOCK, {"codecs": [to_json(spec) for spec in inner]})
    return (reverse, block) if ndim > 1 else (block,)


# -- documents --------------------------------------------------------------------------------
def decode(document: Mapping[str, Json], itemsize: int) -> CodecSpec | None:
    """The compressor that a dataset's document names; None for raw."""
    value: Json = document.get("compression")
    if value is None:
        value = document.get("compressionType")
    if isinstance(value, str):
        value = {"type": value}
    COMPRESSION.check("compression", value)
    name = value["type"]
    return _decoded(name, {key: item for key, item in value.items() if key != "type"}, itemsize)


def _decoded(name: str, given: dict[str, Json], itemsize: int) -> CodecSpec | None:
    match name:
        case "raw":
            return None
        case "gzip":
            level = {"level": given.get("level", -1)}
            return CodecSpec("numcodecs.zlib" if given.get("useZlib") is True else "gzip", level)
        case "bzip2":
            return CodecSpec("numcodecs.bz2", {"level": given.get("blockSize", 9)})
        case "xz":
            preset = given.get("preset", XZ_PRESET)
            return CodecSpec("numcodecs.lzma", {"format": XZ, "check": -1, "preset": preset})
        case "lzma":
            return CodecSpec("numcodecs.lzma", given)
        case "blosc":
            configuration = {
                "typesize": itemsize,
                "cname": given.get("cname", "blosclz"),
                "clevel": given.get("clevel", 6),
                "shuffle": shuffle_name(given.get("shuffle", 0), itemsize),
                "blocksize": given.get("blocksize", 0),
            }
            return CodecSpec("blosc", configuration)
        case "zstd":
            # The checksum is part of the frame: a writer may add it without naming it.
            return CodecSpec("zstd", {"level": given.get("level", 3), "checksum": True})
        case "lz4" if "acceleration" in given or "id" in given:
            return CodecSpec("numcodecs.lz4", {"acceleration": given.get("acceleration", 1)})
        case _ if given.get("id") == name:
            del given["id"]
            return CodecSpec(PREFIX + name, given)
        case _:
            return CodecSpec(OTHER + name, given)


def encode(compressor: CodecSpec | None, itemsize: int) -> dict[str, Json]:
    """The `compression` of a compressor; UnsupportedError if N5 has no word for it."""
    if compressor is None:
        return {"type": "raw"}
    spec = to_core(compressor, itemsize)
    given: Mapping[str, Any] = spec.configuration
    match spec.name:
        case "gzip":
            return {"type": "gzip", "level": given.get("level", 5), "useZlib": False}
        case "numcodecs.zlib":
            return {"type": "gzip", "level": given.get("level", 1), "useZlib": True}
        case "numcodecs.bz2":
            return {"type": "bzip2", "blockSize": given.get("level", 1)}
        case "numcodecs.lzma" if _is_xz(given):
            preset = given.get("preset")
            return {"type": "xz", "preset": XZ_PRESET if preset in (None, -1) else preset}
        case "blosc":
            return {
                "type": "blosc",
                "cname": given.get("cname", "zstd"),
                "clevel": given.get("clevel", 5),
                "shuffle": SHUFFLES.index(shuffle_name(given.get("shuffle", "shuffle"), itemsize)),
                "blocksize": given.get("blocksize", 0),
            }
        case "zstd":
            return {"type": "zstd", "level": given.get("level", 3)}
        case "numcodecs.lz4":
            acceleration = given.get("acceleration", 1)
            return {"type": "lz4", "id": "lz4", "acceleration": acceleration}
        case name if name.startswith(OTHER) and name != BLOCK:
            return {"type": name.removeprefix(OTHER), **given}
        case _:
            raise UnsupportedError(
                f"N5 has no compression equal to the codec {spec.name!r} ({show(dict(given))}); it"
                " knows gzip, zlib, bz2, xz, blosc, zstd and lz4",
                what="codecs",
            )


def _is_xz(given: Mapping[str, Any]) -> bool:
    return (
        given.get("format", XZ) == XZ
        and given.get("check", -1) in XZ_CHECKS
        and not given.get("filters")
    )


# -- requests ---------------------------------------------------------------------------------
def new_compressor(request: ArrayRequest) -> CodecSpec | None:
    """The compressor that a user asks for."""
    requests.check_no_shards(request, "n5")
    if request.order == "F":
        raise UnsupportedError(
            "the blocks of N5 have one order of elements, which order='C' means", what="codecs"
        )
    has_block = any(spec.name == BLOCK for spec in requests.filters_of(request))
    if has_block and request.compressors == "auto":
        request = replace(request, compressors=None)
    return split(requests.codecs_of(request, DEFAULT_COMPRESSOR), len(request.shape))


def split(specs: Sequence[CodecSpec], ndim: int) -> CodecSpec | None:
    """The compressor of a whole pipeline; UnsupportedError if N5 has no such pipeline.

    A pipeline may be spelled as `pipeline` does, or say nothing of blocks. Values that would be
    little-endian are big-endian in N5: they are the same values."""
    rest = list(specs)
    axes = list(range(ndim))
    if rest and rest[0].name == "transpose":
        order = rest.pop(0).configuration.get("order")
        axes = axes[::-1] if order == "F" else axes if order == "C" else list(order or ())
    if rest and rest[0].name == BLOCK:
        if axes != list(range(ndim))[::-1]:
            raise _unsupported(specs)
        inner = rest.pop(0).configuration.get("codecs")
        if not isinstance(inner, list) or rest:
            raise _unsupported(specs)
        rest, axes = [from_json(item) for item in inner[1:]], list(range(ndim))
    if axes != list(range(ndim)):
        raise _unsupported(specs)
    if rest and rest[0].name == "bytes":
        rest.pop(0)
    if len(rest) > 1:
        raise _unsupported(specs)
    return rest[0] if rest else None


def _unsupported(specs: Sequence[CodecSpec]) -> UnsupportedError:
    names = ", ".join(spec.name for spec in specs)
    return UnsupportedError(
        f"N5 has at most one compressor and no filters; the codecs [{names}] cannot be expressed",
        what="codecs",
    )
