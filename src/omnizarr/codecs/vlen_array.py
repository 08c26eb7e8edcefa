"""`numcodecs.vlen-array`: one-dimensional arrays of any length, each behind its length in bytes.

v2: `vlen-array`. Configuration: `dtype` of the elements of the inner arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Step, unknown
from omnizarr.codecs.configuration import ConfiguredCodec, dtype_option, member
from omnizarr.codecs.loader import library
from omnizarr.codecs.vlen import check_end, pack, unpack
from omnizarr.errors import EncodeError, MetadataError
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

NAME = "numcodecs.vlen-array"


@dataclass(frozen=True)
class VLenArrayCodec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "array-bytes"
    dtype: np.dtype[Any] = member(dtype_option)
    name: str = NAME

    def prepare(self, stage: ArrayStage) -> Step:
        if stage.dtype.kind != "O":
            raise MetadataError(f"codec {NAME!r}: encodes arrays, not {stage.dtype}")
        shape, inner = stage.shape, self.dtype
        # Times have no buffer of their own: they are read as their ticks.
        seen = inner.str.replace("M8", "i8").replace("m8", "i8").partition("[")[0]
        decoder = library("numcodecs.vlen", NAME).VLenArray(seen)

        def encode(array: NDArray) -> bytes:
            pieces: list[bytes] = []
            for place, item in enumerate(np.ascontiguousarray(array).reshape(-1).tolist()):
                if item is None:  # an element that was never written
                    item = ()
                elif type(item) is int and item == 0:  # the same in zarr 2, whose fill is 0
                    item = (0,)
                try:
                    values = np.asarray(item, inner)
                except (TypeError, ValueError, OverflowError) as error:
                    raise EncodeError(f"codec {NAME!r}: element {place}: {error}") from error
                if values.ndim != 1:
                    raise EncodeError(
                        f"codec {NAME!r}: element {place} has {values.ndim} dimensions, not one"
                    )
                pieces.append(values.tobytes())
            return pack(NAME, pieces)

        def decode(data: Buffer) -> NDArray:
            items = unpack(NAME, decoder, stage, data)
            check_end(NAME, data, (item.nbytes for item in items), len(items))
            if inner.kind in "mM":
                for place, item in enumerate(items):
                    items[place] = item.view(inner)
            return items.reshape(shape)

        return Step(unknown(), encode, decode)
