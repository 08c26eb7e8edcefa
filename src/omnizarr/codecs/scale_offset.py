"""`scale_offset`: (x − offset) × scale, in the array's own data type.

Spec: zarr-extensions, codecs/scale_offset. Configuration: `offset` (0) and `scale` (1), written
like fill values of the data type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import Array, ArrayStage, Context, Kind, Step, encoded_fill, only
from omnizarr.errors import DecodeError, EncodeError, MetadataError
from omnizarr.model.codec import CodecSpec

NAME = "scale_offset"


@dataclass(frozen=True)
class ScaleOffsetCodec:
    kind: ClassVar[Kind] = "array-array"
    offset: Any = 0
    scale: Any = 1

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> ScaleOffsetCodec:
        only(spec, "offset", "scale")
        return cls(spec.configuration.get("offset", 0), spec.configuration.get("scale", 1))

    def spec(self) -> CodecSpec:
        return CodecSpec(NAME, {"offset": self.offset, "scale": self.scale})

    def _scalar(self, key: str, dtype: np.dtype[Any]) -> Any:
        value = getattr(self, key)
        try:
            if isinstance(value, str) and value.startswith("0x"):
                bits = int(value, 16).to_bytes(dtype.itemsize, "big")
                return np.frombuffer(bits, dtype.newbyteorder(">"))[0].astype(dtype)
            if isinstance(value, list) and dtype.kind == "c":
                value = complex(float(value[0]), float(value[1]))
            elif isinstance(value, str):
                value = float(value)
            if dtype.kind in "iu" and (isinstance(value, bool) or value != int(value)):
                raise ValueError("not a whole number")
            return dtype.type(int(value) if dtype.kind in "iu" else value)
        except (TypeError, ValueError, OverflowError, IndexError) as error:
            raise MetadataError(
                f"codec {NAME!r}: {key} {getattr(self, key)!r} is no value of {dtype}: {error}"
            ) from error

    def prepare(self, stage: ArrayStage) -> Step:
        dtype = stage.dtype
        if dtype.kind not in "iufc" and dtype.name != "bfloat16":
            raise MetadataError(f"codec {NAME!r}: scales numbers, not {dtype}")
        offset, scale = self._scalar("offset", dtype), self._scalar("scale", dtype)
        if scale == 0:
            raise MetadataError(f"codec {NAME!r}: a scale of 0 cannot be undone")
        whole = dtype.kind in "iu"

        def encode(array: Array) -> Array:
            with np.errstate(all="ignore"):
                result = (array - offset) * scale
            if whole:
                expected = (array.astype(object) - int(offset)) * int(scale)
                if not np.array_equal(expected, result.astype(object)):
                    raise EncodeError(f"codec {NAME!r}: a value leaves the range of {dtype}")
            return np.asarray(result, dtype)

        def decode(array: Array) -> Array:
            if not whole:
                with np.errstate(all="ignore"):
                    return np.asarray(array / scale + offset, dtype)
            quotient, rest = np.divmod(array, scale)
            if rest.any():
                raise DecodeError(f"codec {NAME!r}: a stored value is no multiple of {scale}")
            return np.asarray(quotient + offset, dtype)

        fill = encoded_fill(stage, encode)
        return Step(ArrayStage(stage.shape, dtype, fill, stage.type_name), encode, decode)
