"""The codecs of zarr-python 3."""

from omnizarr.codecs import (
    Crc32cCodec,
    GzipCodec,
    SubchunkWriteOrder,
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
from omnizarr.compat.zarr3.codecs.blosc import BloscCodec
from omnizarr.compat.zarr3.codecs.bytes import BytesCodec
from omnizarr.compat.zarr3.codecs.cast_value import CastValue
from omnizarr.compat.zarr3.codecs.numcodecs import *  # noqa: F403
from omnizarr.compat.zarr3.codecs.scale_offset import ScaleOffset
from omnizarr.compat.zarr3.codecs.sharding import ShardingCodec
from omnizarr.compat.zarr3.codecs.transpose import TransposeCodec

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
