"""The Blosc codec, where libraries import it from."""

from omnizarr.codecs import BloscCname, BloscCodec, BloscShuffle

__all__ = ["BloscCname", "BloscCodec", "BloscShuffle"]
