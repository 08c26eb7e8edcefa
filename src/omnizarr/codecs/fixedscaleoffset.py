"""`numcodecs.fixedscaleoffset`: (x − offset) × scale, rounded to the nearest whole number.

v2: `fixedscaleoffset`. Configuration: `offset`, `scale`, `dtype`, `astype` (`dtype` if missing).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Step, elementwise
from omnizarr.codecs.configuration import (
    ConfiguredCodec,
    astype_option,
    dtype_option,
    member,
    number,
)
from omnizarr.model.grids import NDArray

NAME = "numcodecs.fixedscaleoffset"


@dataclass(frozen=True)
class FixedScaleOffsetCodec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "array-array"
    scale: float = member(number)
    offset: float = member(number)
    dtype: np.dtype[Any] = member(dtype_option)
    astype: np.dtype[Any] = member(astype_option)
    name: str = NAME

    def prepare(self, stage: ArrayStage) -> Step:
        offset, scale, dtype, astype = self.offset, self.scale, self.dtype, self.astype

        def encode(array: NDArray) -> NDArray:
            return np.around((array - offset) * scale).astype(astype)

        def decode(array: NDArray) -> NDArray:
            return ((array / scale) + offset).astype(dtype)

        return elementwise(NAME, stage, dtype, astype, encode, decode)
