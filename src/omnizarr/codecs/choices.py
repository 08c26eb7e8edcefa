"""The values of codecs' options, as enumerations that scripts for zarr-python name."""

from __future__ import annotations

from enum import StrEnum


class Endian(StrEnum):
    """Byte orders of `BytesCodec`.

    Examples
    --------
    >>> omnizarr.codecs.BytesCodec(endian=omnizarr.codecs.Endian.big).endian
    'big'
    """

    big = "big"
    little = "little"


class BloscShuffle(StrEnum):
    """Shuffles of `BloscCodec`.

    Examples
    --------
    >>> omnizarr.codecs.BloscCodec(shuffle=omnizarr.codecs.BloscShuffle.shuffle).shuffle
    'shuffle'
    """

    noshuffle = "noshuffle"
    shuffle = "shuffle"
    bitshuffle = "bitshuffle"

    @classmethod
    def from_int(cls, num: int) -> BloscShuffle:
        """Give the shuffle that format 2 has a number for.

        Parameters
        ----------
        num
            0, 1 or 2.

        Examples
        --------
        >>> omnizarr.codecs.BloscShuffle.from_int(2).value
        'bitshuffle'
        """
        found = (cls.noshuffle, cls.shuffle, cls.bitshuffle)
        if num not in (0, 1, 2):
            raise ValueError(f"Value must be between 0 and 2. Got {num}.")
        return found[num]


class BloscCname(StrEnum):
    """Compressors of `BloscCodec`.

    Examples
    --------
    >>> omnizarr.codecs.BloscCodec(cname=omnizarr.codecs.BloscCname.zstd).cname
    'zstd'
    """

    lz4 = "lz4"
    lz4hc = "lz4hc"
    blosclz = "blosclz"
    zstd = "zstd"
    snappy = "snappy"
    zlib = "zlib"


class ShardingCodecIndexLocation(StrEnum):
    """Places of the index in a shard of `ShardingCodec`.

    Examples
    --------
    >>> start = omnizarr.codecs.ShardingCodecIndexLocation.start
    >>> omnizarr.codecs.ShardingCodec(chunk_shape=(2,), index_location=start).index_location
    'start'
    """

    start = "start"
    end = "end"


class SubchunkWriteOrder(StrEnum):
    """Orders in which `ShardingCodec` may write inner chunks; readers do not depend on it.

    Examples
    --------
    >>> order = omnizarr.codecs.SubchunkWriteOrder.morton
    >>> omnizarr.codecs.ShardingCodec((2,), subchunk_write_order=order).subchunk_write_order.value
    'morton'
    """

    morton = "morton"
    unordered = "unordered"
    lexicographic = "lexicographic"
    colexicographic = "colexicographic"
