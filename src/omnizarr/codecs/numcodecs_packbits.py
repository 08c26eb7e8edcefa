"""`numcodecs.packbits`: booleans as bits, the first in the highest bit of a byte. v2: `packbits`.

The first stored byte tells how many bits of the last byte are padding. Bytes of other types
must be 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Step, reinterpreted
from omnizarr.codecs.configuration import ConfiguredCodec
from omnizarr.errors import DecodeError, EncodeError
from omnizarr.model.grids import NDArray

NAME = "numcodecs.packbits"
BOOL = np.dtype(bool)


@dataclass(frozen=True)
class NumcodecsPackBitsCodec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "array-array"
    name: str = NAME

    @property
    def dtype(self) -> np.dtype[Any]:
        return BOOL

    def prepare(self, stage: ArrayStage) -> Step:
        shape, _ = reinterpreted(NAME, stage, BOOL)
        count = int(np.prod(shape, dtype=object))
        padding = -count % 8
        before_shape, before_dtype = stage.shape, stage.dtype
        output = ArrayStage((1 + (count + 7) // 8,), np.dtype(np.uint8))

        def encode(array: NDArray) -> NDArray:
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            if before_dtype != BOOL and flat.size and flat.max() > 1:
                raise EncodeError(
                    f"codec {NAME!r}: it stores one bit of a byte, and a value of type"
                    f" {before_dtype} needs more; use it for booleans"
                )
            return np.concatenate([np.array([padding], np.uint8), np.packbits(flat)])

        def decode(array: NDArray) -> NDArray:
            found = int(array[0])
            if found != padding:
                raise DecodeError(
                    f"codec {NAME!r}: {count} elements need {padding} bits of padding,"
                    f" found {found}"
                )
            bits = np.unpackbits(array[1:], count=count)
            return bits.view(before_dtype).reshape(before_shape)

        return Step(output, encode, decode)
