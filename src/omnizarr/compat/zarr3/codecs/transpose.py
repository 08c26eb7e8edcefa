"""The transpose codec, where libraries import it from."""

from omnizarr.codecs import TransposeCodec

__all__ = ["TransposeCodec"]
