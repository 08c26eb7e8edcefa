"""`numcodecs.astype`: another data type while stored. v2: `astype`.

Configuration: `encode_dtype` (stored), `decode_dtype` (in memory). Values that do not fit are cast
as NumPy casts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Context, Step, dtype_option, elementwise
from omnizarr.errors import DecodeError, EncodeError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray

NAME = "numcodecs.astype"


@dataclass(frozen=True)
class AsTypeCodec:
    kind: ClassVar[CodecKind] = "array-array"
    encode_dtype: np.dtype[Any]
    decode_dtype: np.dtype[Any]

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> AsTypeCodec:
        return cls(dtype_option(spec, "encode_dtype"), dtype_option(spec, "decode_dtype"))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.decode_dtype

    def spec(self) -> CodecSpec:
        return CodecSpec(
            NAME, {"encode_dtype": self.encode_dtype.str, "decode_dtype": self.decode_dtype.str}
        )

    def prepare(self, stage: ArrayStage) -> Step:
        stored, memory = self.encode_dtype, self.decode_dtype

        def encode(array: NDArray) -> NDArray:
            try:
                with np.errstate(all="ignore"):
                    return array.astype(stored)
            except (TypeError, ValueError) as error:
                raise EncodeError(f"codec {NAME!r}: {error}") from error

        def decode(array: NDArray) -> NDArray:
            try:
                with np.errstate(all="ignore"):
                    return array.astype(memory)
            except (TypeError, ValueError) as error:
                raise DecodeError(f"codec {NAME!r}: {error}") from error

        return elementwise(NAME, stage, memory, stored, encode, decode)
