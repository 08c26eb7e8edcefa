"""`numcodecs.quantize`: floats rounded to a power of two near a decimal precision (lossy).

v2: `quantize`. Configuration: `digits`, `dtype`, `astype` (`dtype` if missing).
"""

from __future__ import annotations

import math
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
    integer,
)
from omnizarr.errors import MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray

NAME = "numcodecs.quantize"


@dataclass(frozen=True)
class QuantizeCodec:
    kind: ClassVar[CodecKind] = "array-array"
    digits: int
    dtype: np.dtype[Any]
    astype: np.dtype[Any]

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> QuantizeCodec:
        dtype = dtype_option(spec, "dtype")
        astype = dtype_option(spec, "astype", dtype)
        if dtype.kind != "f" or astype.kind != "f":
            raise MetadataError(f"codec {NAME!r}: rounds floats, not {dtype} or {astype}")
        return cls(integer(spec, "digits", low=-300, high=300), dtype, astype)

    def spec(self) -> CodecSpec:
        return CodecSpec(
            NAME, {"digits": self.digits, "dtype": self.dtype.str, "astype": self.astype.str}
        )

    def prepare(self, stage: ArrayStage) -> Step:
        dtype, astype = self.dtype, self.astype
        scale = 2.0 ** math.ceil(math.log2(10.0**self.digits))

        def encode(array: NDArray) -> NDArray:
            with np.errstate(all="ignore"):
                return (np.around(scale * array) / scale).astype(astype)

        def decode(array: NDArray) -> NDArray:
            return array.astype(dtype)

        return elementwise(NAME, stage, dtype, astype, encode, decode)
