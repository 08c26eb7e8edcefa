"""`numcodecs.delta`: differences between neighbours in C order, the first element as it is.

v2: `delta`. Configuration: `dtype`, and `astype` of the differences (`dtype` if missing).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Context, Step, dtype_option, elementwise
from omnizarr.errors import MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray

NAME = "numcodecs.delta"


@dataclass(frozen=True)
class DeltaCodec:
    kind: ClassVar[CodecKind] = "array-array"
    dtype: np.dtype[Any]
    astype: np.dtype[Any]

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> DeltaCodec:
        dtype = dtype_option(spec, "dtype")
        astype = dtype_option(spec, "astype", dtype)
        if dtype.kind not in "biufcmM" or astype.kind not in "biufcmM":
            raise MetadataError(f"codec {NAME!r}: subtracts numbers, not {dtype}")
        return cls(dtype, astype)

    def spec(self) -> CodecSpec:
        return CodecSpec(NAME, {"dtype": self.dtype.str, "astype": self.astype.str})

    def prepare(self, stage: ArrayStage) -> Step:
        dtype, astype = self.dtype, self.astype
        # Times subtract as their ticks, booleans as what NumPy makes of them (exclusive or).
        number, difference = _ticks(dtype), _ticks(astype)

        def encode(array: NDArray) -> NDArray:
            flat = array.reshape(-1).view(number)
            result = np.empty(flat.shape, difference)
            result[:1] = flat[:1]
            with np.errstate(all="ignore"):
                result[1:] = np.diff(flat)
            return result.view(astype).reshape(array.shape)

        def decode(array: NDArray) -> NDArray:
            result = np.empty(array.size, number)
            with np.errstate(all="ignore"):
                np.cumsum(array.reshape(-1).view(difference), out=result)
            return result.view(dtype)

        return elementwise(NAME, stage, dtype, astype, encode, decode)


def _ticks(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(dtype.str.replace("M8", "i8").replace("m8", "i8").partition("[")[0])
