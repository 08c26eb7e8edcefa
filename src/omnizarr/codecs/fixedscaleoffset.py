"""`numcodecs.fixedscaleoffset`: (x − offset) × scale, rounded to the nearest whole number.

v2: `fixedscaleoffset`. Configuration: `offset`, `scale`, `dtype`, `astype` (`dtype` if missing).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import (
    ArrayStage,
    CodecKind,
    Context,
    Step,
    dtype_option,
    elementwise,
    number,
)
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray

NAME = "numcodecs.fixedscaleoffset"


@dataclass(frozen=True)
class FixedScaleOffsetCodec:
    kind: ClassVar[CodecKind] = "array-array"
    offset: float
    scale: float
    dtype: np.dtype[Any]
    astype: np.dtype[Any]

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> FixedScaleOffsetCodec:
        dtype = dtype_option(spec, "dtype")
        astype = dtype_option(spec, "astype", dtype)
        return cls(number(spec, "offset"), number(spec, "scale"), dtype, astype)

    def spec(self) -> CodecSpec:
        return CodecSpec(
            NAME,
            {
                "scale": self.scale,
                "offset": self.offset,
                "dtype": self.dtype.str,
                "astype": self.astype.str,
            },
        )

    def prepare(self, stage: ArrayStage) -> Step:
        offset, scale, dtype, astype = self.offset, self.scale, self.dtype, self.astype

        def encode(array: NDArray) -> NDArray:
            with np.errstate(all="ignore"):
                return np.around((array - offset) * scale).astype(astype)

        def decode(array: NDArray) -> NDArray:
            with np.errstate(all="ignore"):
                return ((array / scale) + offset).astype(dtype)

        return elementwise(NAME, stage, dtype, astype, encode, decode)
