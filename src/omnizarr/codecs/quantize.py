"""`numcodecs.quantize`: floats rounded to a power of two near a decimal precision (lossy).

v2: `quantize`. Configuration: `digits`, `dtype`, `astype` (`dtype` if missing).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Step, elementwise
from omnizarr.codecs.configuration import (
    ConfiguredCodec,
    astype_option,
    dtype_option,
    integer,
    member,
)
from omnizarr.errors import MetadataError
from omnizarr.model.grids import NDArray

NAME = "numcodecs.quantize"


@dataclass(frozen=True)
class QuantizeCodec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "array-array"
    digits: int = member(integer, low=-300, high=300)
    dtype: np.dtype[Any] = member(dtype_option)
    astype: np.dtype[Any] = member(astype_option)
    name: str = NAME

    def __post_init__(self) -> None:
        if self.dtype.kind != "f" or self.astype.kind != "f":
            raise MetadataError(f"codec {NAME!r}: rounds floats, not {self.dtype} or {self.astype}")

    def prepare(self, stage: ArrayStage) -> Step:
        dtype, astype = self.dtype, self.astype
        scale = 2.0 ** math.ceil(math.log2(10.0**self.digits))

        def encode(array: NDArray) -> NDArray:
            return (np.around(scale * array) / scale).astype(astype)

        def decode(array: NDArray) -> NDArray:
            return array.astype(dtype)

        return elementwise(NAME, stage, dtype, astype, encode, decode)
