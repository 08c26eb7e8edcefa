"""Codecs: how a chunk becomes bytes and bytes become a chunk.

`chain` prepares a whole pipeline once for a chunk's shape and type; `get_codec`, `codec_spec` and
`register_codec` find and describe single codecs. The codec classes that users name are listed
here under zarr-python's names and imported when they are first used.

This package knows bytes and arrays. It must not know stores, formats, or where a chunk is stored.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from omnizarr.codecs.base import ArrayStage, BytesStage, Codec, Context, Step
from omnizarr.codecs.chain import Chain, Scratch, chain
from omnizarr.codecs.registry import (
    chosen_spec,
    codec_class,
    codec_spec,
    get_codec,
    kind_of,
    register_codec,
)
from omnizarr.codecs.sharding import Shard, ShardIndex
from omnizarr.model.codec import CodecSpec

if TYPE_CHECKING:
    from omnizarr.codecs.blosc import BloscCodec
    from omnizarr.codecs.bytes import BytesCodec
    from omnizarr.codecs.crc32c import Crc32cCodec
    from omnizarr.codecs.gzip import GzipCodec
    from omnizarr.codecs.sharding import ShardingCodec
    from omnizarr.codecs.transpose import TransposeCodec
    from omnizarr.codecs.vlen_bytes import VLenBytesCodec
    from omnizarr.codecs.vlen_utf8 import VLenUTF8Codec
    from omnizarr.codecs.zstd import ZstdCodec

__all__ = [
    "ArrayStage",
    "BloscCodec",
    "BytesCodec",
    "BytesStage",
    "Chain",
    "Codec",
    "CodecSpec",
    "Context",
    "Crc32cCodec",
    "GzipCodec",
    "Scratch",
    "Shard",
    "ShardIndex",
    "ShardingCodec",
    "Step",
    "TransposeCodec",
    "VLenBytesCodec",
    "VLenUTF8Codec",
    "ZstdCodec",
    "chain",
    "chosen_spec",
    "codec_class",
    "codec_spec",
    "get_codec",
    "kind_of",
    "register_codec",
]

_LAZY = {
    "BloscCodec": "blosc",
    "BytesCodec": "bytes",
    "Crc32cCodec": "crc32c",
    "GzipCodec": "gzip",
    "ShardingCodec": "sharding",
    "TransposeCodec": "transpose",
    "VLenBytesCodec": "vlen_bytes",
    "VLenUTF8Codec": "vlen_utf8",
    "ZstdCodec": "zstd",
}


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"omnizarr.codecs.{_LAZY[name]}"), name)
