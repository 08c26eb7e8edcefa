"""The sharding codec, where libraries import it from."""

from typing import Final

from omnizarr.codecs import ShardingCodec, ShardingCodecIndexLocation, SubchunkWriteOrder

__all__ = ["ShardingCodec", "ShardingCodecIndexLocation", "SubchunkWriteOrder"]

SUBCHUNK_WRITE_ORDER: Final = tuple(order.value for order in SubchunkWriteOrder)
