"""`numcodecs.delta`: differences between neighbours in C order, the first element as it is.

v2: `delta`. Configuration: `dtype`, and `astype` of the differences (`dtype` if missing).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Step, elementwise
from omnizarr.codecs.configuration import ConfiguredCodec, astype_option, dtype_option, member
from omnizarr.errors import MetadataError
from omnizarr.model.grids import NDArray

NAME = "numcodecs.delta"


@dataclass(frozen=True)
class DeltaCodec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "array-array"
    dtype: np.dtype[Any] = member(dtype_option)
    astype: np.dtype[Any] = member(astype_option)
    name: str = NAME

    def __post_init__(self) -> None:
        if self.dtype.kind not in "biufcmM" or self.astype.kind not in "biufcmM":
            raise MetadataError(f"codec {NAME!r}: subtracts numbers, not {self.dtype}")

    def prepare(self, stage: ArrayStage) -> Step:
        dtype, astype = self.dtype, self.astype
        # Times subtract as their ticks, booleans as what NumPy makes of them (exclusive or).
        number, difference = _ticks(dtype), _ticks(astype)

        def encode(array: NDArray) -> NDArray:
            flat = array.reshape(-1).view(number)
            result = np.empty(flat.shape, difference)
            result[:1] = flat[:1]
            result[1:] = np.diff(flat)
            return result.view(astype).reshape(array.shape)

        def decode(array: NDArray) -> NDArray:
            result = np.empty(array.size, number)
            np.cumsum(array.reshape(-1).view(difference), out=result)
            return result.view(dtype)

        step = elementwise(NAME, stage, dtype, astype, encode, decode)
        wraps = number == difference and number.kind in "iu" and number.isnative
        return step._replace(block=("delta", number.itemsize) if wraps else None)


def _ticks(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(dtype.str.replace("M8", "i8").replace("m8", "i8").partition("[")[0])
