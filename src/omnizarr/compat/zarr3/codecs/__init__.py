"""The codecs of zarr-python 3."""

from omnizarr.codecs import (
    BloscCodec,
    BytesCodec,
    CastValue,
    Crc32cCodec,
    GzipCodec,
    ScaleOffset,
    ShardingCodec,
    SubchunkWriteOrder,
    TransposeCodec,
    VLenBytesCodec,
    VLenUTF8Codec,
    ZstdCodec,
    register_codec,
)
from omnizarr.compat.zarr3.codecs._choices import (
    BloscCname,
    BloscShuffle,
    Endian,
    ShardingCodecIndexLocation,
)
from omnizarr.compat.zarr3.codecs.numcodecs import *  # noqa: F403

__all__ = [
    "BloscCname",
    "BloscCodec",
    "BloscShuffle",
    "BytesCodec",
    "CastValue",
    "Crc32cCodec",
    "Endian",
    "GzipCodec",
    "ScaleOffset",
    "ShardingCodec",
    "ShardingCodecIndexLocation",
    "SubchunkWriteOrder",
    "TransposeCodec",
    "VLenBytesCodec",
    "VLenUTF8Codec",
    "ZstdCodec",
    "register_codec",
]
