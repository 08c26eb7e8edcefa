"""The Blosc codec, where libraries import it from."""

from typing import Any

from omnizarr import codecs
from omnizarr.codecs import CodecSpec
from omnizarr.compat.zarr3.codecs._choices import BloscCname, BloscShuffle
from omnizarr.compat.zarr3.codecs._refined import Refined, without_enum

__all__ = ["BloscCname", "BloscCodec", "BloscShuffle"]

_AUTOMATIC = -1
"""Blosc's number for the shuffle of bits where elements have one byte, else of bytes."""


class BloscCodec(Refined, codecs.BloscCodec):
    """Blosc: shuffling bytes or bits, then compression in blocks.

    Parameters
    ----------
    typesize
        Size in bytes of the elements to shuffle; None: that of the data type.
    cname
        Compressor: "zstd", "lz4", "lz4hc", "blosclz", "zlib" or "snappy".
    clevel
        Effort, 0 to 9.
    shuffle
        "noshuffle", "shuffle" or "bitshuffle"; None: "bitshuffle" for elements of one byte, else
        "shuffle".
    blocksize
        Size of a block in bytes; 0: chosen by Blosc.
    name
        Its name in metadata.
    """

    refines = codecs.BloscCodec

    def __init__(
        self,
        typesize: int | None = None,
        cname: Any = "zstd",
        clevel: int = 5,
        shuffle: Any = None,
        blocksize: int = 0,
        name: str = "blosc",
    ) -> None:
        cname = without_enum(cname, "cname", "BloscCodec")
        shuffle = without_enum(shuffle, "shuffle", "BloscCodec")
        super().__init__(typesize, cname, clevel, shuffle, blocksize, name)

    def spec(self) -> CodecSpec:
        """Give the metadata of a new array's codec; the array settles the shuffle."""
        whole = super().spec()
        return CodecSpec(whole.name, {"shuffle": _AUTOMATIC, **whole.configuration})

    def to_dict(self) -> dict[str, Any]:
        """Give the codec's metadata, without a shuffle that is not settled."""
        return self.refines(**vars(self)).to_dict()
