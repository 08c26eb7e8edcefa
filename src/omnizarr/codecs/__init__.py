"""Codecs: how a chunk becomes bytes and bytes become a chunk.

`chain` prepares a whole pipeline once for a chunk's shape and type; `get_codec`, `codec_spec` and
`register_codec` find and describe single codecs. The codec classes that users name are listed
here under zarr-python's names and imported when they are first used.

This package knows bytes and arrays. It must not know stores, formats, or where a chunk is stored.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnizarr.model.codec import CodecSpec
from omnizarr.runtime.lazy import first_use

if TYPE_CHECKING:
    from omnizarr.codecs import numcodecs
    from omnizarr.codecs.base import ArrayStage, BytesStage, Codec, Context, Step
    from omnizarr.codecs.blosc import BloscCodec
    from omnizarr.codecs.bytes import BytesCodec
    from omnizarr.codecs.cast_value import CastValueCodec as CastValue
    from omnizarr.codecs.chains import Chain, Scratch, chain
    from omnizarr.codecs.choices import (
        BloscCname,
        BloscShuffle,
        Endian,
        ShardingCodecIndexLocation,
        SubchunkWriteOrder,
    )
    from omnizarr.codecs.crc32c import Crc32cCodec
    from omnizarr.codecs.gzip import GzipCodec
    from omnizarr.codecs.known import codec_names
    from omnizarr.codecs.registry import (
        chosen_spec,
        codec_class,
        codec_spec,
        get_codec,
        kind_of,
        register_codec,
    )
    from omnizarr.codecs.scale_offset import ScaleOffsetCodec as ScaleOffset
    from omnizarr.codecs.sharding import Shard, ShardIndex, ShardingCodec
    from omnizarr.codecs.transpose import TransposeCodec
    from omnizarr.codecs.vlen_bytes import VLenBytesCodec
    from omnizarr.codecs.vlen_utf8 import VLenUTF8Codec
    from omnizarr.codecs.zstd import ZstdCodec

__all__ = [
    "ArrayStage",
    "BloscCname",
    "BloscCodec",
    "BloscShuffle",
    "BytesCodec",
    "BytesStage",
    "CastValue",
    "Chain",
    "Codec",
    "CodecSpec",
    "Context",
    "Crc32cCodec",
    "Endian",
    "GzipCodec",
    "ScaleOffset",
    "Scratch",
    "Shard",
    "ShardIndex",
    "ShardingCodec",
    "ShardingCodecIndexLocation",
    "Step",
    "SubchunkWriteOrder",
    "TransposeCodec",
    "VLenBytesCodec",
    "VLenUTF8Codec",
    "ZstdCodec",
    "chain",
    "chosen_spec",
    "codec_class",
    "codec_names",
    "codec_spec",
    "get_codec",
    "kind_of",
    "numcodecs",
    "register_codec",
]

_LAZY = {
    "base": ("ArrayStage", "BytesStage", "Codec", "Context", "Step"),
    "blosc": ("BloscCodec",),
    "bytes": ("BytesCodec",),
    "chains": ("Chain", "Scratch", "chain"),
    "choices": (
        "BloscCname",
        "BloscShuffle",
        "Endian",
        "ShardingCodecIndexLocation",
        "SubchunkWriteOrder",
    ),
    "crc32c": ("Crc32cCodec",),
    "gzip": ("GzipCodec",),
    "known": ("codec_names",),
    "registry": (
        "chosen_spec",
        "codec_class",
        "codec_spec",
        "get_codec",
        "kind_of",
        "register_codec",
    ),
    "sharding": ("Shard", "ShardIndex", "ShardingCodec"),
    "transpose": ("TransposeCodec",),
    "vlen_bytes": ("VLenBytesCodec",),
    "vlen_utf8": ("VLenUTF8Codec",),
    "zstd": ("ZstdCodec",),
}
"""Modules that are imported when one of their names is first used: see `runtime.lazy`."""

_RENAMED = {
    "CastValue": "cast_value:CastValueCodec",
    "ScaleOffset": "scale_offset:ScaleOffsetCodec",
}
"""Classes with another name in zarr-python."""


def __dir__() -> list[str]:
    return sorted(__all__)


def _other(name: str) -> Any:
    if name == "numcodecs":
        return import_module("omnizarr.codecs.numcodecs")
    if name in _RENAMED:
        module, _, real = _RENAMED[name].partition(":")
        return getattr(import_module(f"omnizarr.codecs.{module}"), real)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:
    __getattr__ = first_use(__name__, _LAZY, _other)
