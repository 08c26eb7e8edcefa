"""The Zstandard codec, where libraries import it from."""

from omnizarr.codecs import ZstdCodec

__all__ = ["ZstdCodec"]
