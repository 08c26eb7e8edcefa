"""The sharding codec, where libraries import it from."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from omnizarr import codecs as ours
from omnizarr.codecs import ArrayStage, Context, SubchunkWriteOrder
from omnizarr.compat.zarr3.codecs._choices import ShardingCodecIndexLocation
from omnizarr.compat.zarr3.codecs._refined import Refined, without_enum
from omnizarr.compat.zarr3.core.common import parse_shapelike
from omnizarr.compat.zarr3.core.metadata.grids import parse_chunk_shape
from omnizarr.errors import MetadataError, UnknownCodecError

__all__ = ["ShardingCodec", "ShardingCodecIndexLocation", "SubchunkWriteOrder"]

SUBCHUNK_WRITE_ORDER: Final = tuple(order.value for order in SubchunkWriteOrder)


class ShardingCodec(Refined, ours.ShardingCodec):
    """A chunk that holds inner chunks, each encoded alone, and an index of them.

    Parameters
    ----------
    chunk_shape
        Shape of the inner chunks, which divides that of the shard.
    codecs
        Codecs of an inner chunk.
    index_codecs
        Codecs of the index, which must give it a fixed size.
    index_location
        Where the index is: "end" or "start".
    context
        Not used: the array that the codec becomes part of knows how deep it is nested.
    subchunk_write_order
        Taken for compatibility: inner chunks are always written in C order.

    Raises
    ------
    ValueError
        If a length is below 1, or the size of the encoded index depends on the data.
    """

    refines = ours.ShardingCodec

    def __init__(
        self,
        chunk_shape: Any,
        codecs: Iterable[Any] = ours.ShardingCodec.codecs,
        index_codecs: Iterable[Any] | None = ours.ShardingCodec.index_codecs,
        index_location: Any = "end",
        context: Context | None = None,
        subchunk_write_order: Any = "lexicographic",
    ) -> None:
        shape = parse_chunk_shape(parse_shapelike(chunk_shape))
        location = without_enum(index_location, "index_location", "ShardingCodec")
        index = None if index_codecs is None else tuple(index_codecs)
        super().__init__(shape, tuple(codecs), index, location, Context(), subchunk_write_order)
        if self.index_codecs not in (None, self.refines.index_codecs):
            self._check_index()

    def _check_index(self) -> None:
        one = (1,) * len(self.chunk_shape)
        try:
            self.refines(one, index_codecs=self.index_codecs).shard(ArrayStage(one, np.dtype("u1")))
        except UnknownCodecError:
            raise
        except MetadataError as error:
            raise ValueError(f"index_codecs must produce a fixed-size encoding: {error}") from error
