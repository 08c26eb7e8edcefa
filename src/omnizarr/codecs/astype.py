"""`numcodecs.astype`: another data type while stored. v2: `astype`.

Configuration: `encode_dtype` (stored), `decode_dtype` (in memory). Values that do not fit are cast
as NumPy casts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, LibraryErrors, Step, elementwise
from omnizarr.codecs.configuration import ConfiguredCodec, dtype_option, member
from omnizarr.errors import DecodeError, EncodeError
from omnizarr.model.grids import NDArray

NAME = "numcodecs.astype"


@dataclass(frozen=True)
class AsTypeCodec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "array-array"
    encode_dtype: np.dtype[Any] = member(dtype_option)
    decode_dtype: np.dtype[Any] = member(dtype_option)
    name: str = NAME

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.decode_dtype

    def prepare(self, stage: ArrayStage) -> Step:
        stored, memory = self.encode_dtype, self.decode_dtype

        def encode(array: NDArray) -> NDArray:
            with LibraryErrors(EncodeError, NAME, TypeError, ValueError):
                return array.astype(stored)

        def decode(array: NDArray) -> NDArray:
            with LibraryErrors(DecodeError, NAME, TypeError, ValueError):
                return array.astype(memory)

        return elementwise(NAME, stage, memory, stored, encode, decode)
