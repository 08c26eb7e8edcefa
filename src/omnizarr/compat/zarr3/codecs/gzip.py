"""The gzip codec, where libraries import it from."""

from omnizarr.codecs import GzipCodec

__all__ = ["GzipCodec"]
