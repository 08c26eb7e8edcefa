"""The checksum codec, where libraries import it from."""

from omnizarr.codecs import Crc32cCodec

__all__ = ["Crc32cCodec"]
