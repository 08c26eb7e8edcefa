"""The bytes codec, where libraries import it from."""

from omnizarr.codecs import BytesCodec, Endian

__all__ = ["BytesCodec", "Endian"]
