"""`bitround`: floats and integers with fewer significant bits (lossy, stored as they are).

Spec: zarr-extensions, codecs/bitround. Alias: `numcodecs.bitround` (v2 `bitround`, floats only).
Configuration: `keepbits`, bits of the mantissa that are kept, or for integers the bits from the
highest that is set. Rounding is to nearest, ties to even.

The highest bit that is set is that of the magnitude, so that 100 and −100 lose the same; zarrs
counts from the sign of a negative number. A magnitude that would leave the type is cut instead, and
NaNs stay as they are. Decoding changes nothing, so that what others have rounded reads the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Context, Step, unchanged
from omnizarr.codecs.configuration import integer, only
from omnizarr.codecs.document import CodecDocument
from omnizarr.errors import MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray

MANTISSA = {"float16": 10, "float32": 23, "float64": 52, "bfloat16": 7}


@dataclass(frozen=True)
class BitRoundCodec(CodecDocument):
    kind: ClassVar[CodecKind] = "array-array"
    keepbits: int
    name: str = "bitround"

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> BitRoundCodec:
        if spec.name == "bitround":
            only(spec, "keepbits")
        # numcodecs knows 0 (the exponent alone), the registry does not.
        low = 1 if spec.name == "bitround" else 0
        return cls(integer(spec, "keepbits", low=low), spec.name)

    def spec(self) -> CodecSpec:
        return CodecSpec(self.name, {"keepbits": self.keepbits})

    def prepare(self, stage: ArrayStage) -> Step:
        dtype, keepbits = stage.dtype, self.keepbits
        block: tuple[str, int, int, int] = ("bitround", 0, 0, 0)
        if dtype.kind in "iumM":

            def encode(array: NDArray) -> NDArray:
                return _round_integers(array, keepbits)
        elif (part := _part(dtype)).name in MANTISSA:
            drop = max(0, MANTISSA[part.name] - keepbits)

            def encode(array: NDArray) -> NDArray:
                return _round_floats(array, part, drop)

            if part.isnative:
                block = ("bitround", part.itemsize, drop, MANTISSA[part.name])
        else:
            raise MetadataError(f"codec {self.name!r}: rounds numbers, not {dtype}")

        return Step(stage, encode, unchanged, block=block)


def _part(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of the real numbers that an element is made of."""
    if dtype.names == ("real", "imag"):
        return dtype["real"]
    return np.dtype(f"{dtype.str[0]}f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _round_floats(array: NDArray, part: np.dtype[Any], drop: int) -> NDArray:
    """Leave out the last `drop` bits of every mantissa."""
    array = np.ascontiguousarray(array)
    if drop == 0:
        return array
    width = part.itemsize
    order = ">" if part.str[0] == ">" else "<"
    raw = array.reshape(-1).view(f"{order}u{width}")
    bits = raw.astype(f"u{width}")
    number = bits.dtype.type
    magnitude = bits & number((1 << 8 * width - 1) - 1)
    infinite = number(((1 << 8 * width - 1) - 1) >> MANTISSA[part.name] << MANTISSA[part.name])
    # Add half of the last kept bit, less one where that bit is even, and cut.
    rounded = bits + ((bits >> number(drop) & number(1)) + number((1 << drop - 1) - 1))
    rounded &= ~number((1 << drop) - 1)
    # Rounding the payload of a NaN could make it infinite.
    rounded = np.where(magnitude > infinite, bits, rounded)
    return rounded.astype(raw.dtype, copy=False).view(array.dtype).reshape(array.shape)


def _round_integers(array: NDArray, keepbits: int) -> NDArray:
    """Keep `keepbits` bits from the highest set one of every magnitude."""
    signed = array.view(f"{array.dtype.str[0]}i8") if array.dtype.kind in "mM" else array
    magnitude = signed.astype(np.uint64)
    if signed.dtype.kind == "i":
        magnitude = np.abs(signed.astype(np.int64)).astype(np.uint64)
    length = np.zeros(magnitude.shape, np.uint64)
    rest = magnitude.copy()
    for shift in (32, 16, 8, 4, 2, 1):
        high = rest >> np.uint64(shift)
        found = high > 0
        length[found] += np.uint64(shift)
        rest = np.where(found, high, rest)
    length += rest > 0
    drop = np.maximum(length.astype(np.int64) - keepbits, 0).astype(np.uint64)
    one = np.uint64(1)
    half = np.where(drop > 0, (one << np.maximum(drop, 1) - one) - one, 0).astype(np.uint64)
    even = np.where(drop > 0, magnitude >> drop & one, 0).astype(np.uint64)
    mask = ~((one << drop) - one)
    rounded = (magnitude + half + even) & mask
    # Rounding up past the largest value of the type, or of 64 bits, would wrap.
    largest = np.uint64(np.iinfo(signed.dtype).max)
    wrapped = (rounded > largest) | (rounded < magnitude & mask)
    rounded = np.where(wrapped, magnitude & mask, rounded)
    result: Any = rounded.astype(signed.dtype)
    if signed.dtype.kind == "i":
        result = np.where(signed < 0, -result, result)
    return np.asarray(result).astype(signed.dtype).view(array.dtype).reshape(array.shape)
