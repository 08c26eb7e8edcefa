"""The text and bytes codecs, where libraries import them from."""

from omnizarr.codecs import VLenBytesCodec, VLenUTF8Codec

__all__ = ["VLenBytesCodec", "VLenUTF8Codec"]
