"""`bitround`: floats and integers with fewer significant bits (lossy, stored as they are).

Spec: zarr-extensions, codecs/bitround. Alias: `numcodecs.bitround` (v2 `bitround`, floats only).
Configuration: `keepbits`, bits of the mantissa that are kept, or for integers the bits from the
highest that is set. Rounding is to nearest, ties to even.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import Array, ArrayStage, Context, Kind, Step, integer, only
from omnizarr.errors import MetadataError
from omnizarr.model.codec import CodecSpec

MANTISSA = {2: 10, 4: 23, 8: 52}


@dataclass(frozen=True)
class BitRoundCodec:
    kind: ClassVar[Kind] = "array-array"
    keepbits: int
    name: str = "bitround"

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> BitRoundCodec:
        if spec.name == "bitround":
            only(spec, "keepbits")
        return cls(integer(spec, "keepbits", low=0), spec.name)

    def spec(self) -> CodecSpec:
        return CodecSpec(self.name, {"keepbits": self.keepbits})

    def prepare(self, stage: ArrayStage) -> Step:
        dtype, keepbits = stage.dtype, self.keepbits
        if dtype.kind in "iumM":

            def encode(array: Array) -> Array:
                return _round_integers(array, keepbits)
        elif dtype.kind in "fc" or dtype.name == "bfloat16":
            width = dtype.itemsize // (2 if dtype.kind == "c" else 1)
            mantissa = 7 if dtype.name == "bfloat16" else MANTISSA.get(width)
            if mantissa is None or keepbits > mantissa:
                raise MetadataError(
                    f"codec {self.name!r}: keepbits {keepbits} for {dtype}, which has"
                    f" {mantissa} bits of mantissa"
                )
            drop = mantissa - keepbits
            order = dtype.str[0] if dtype.str[0] in "<>" else "="
            bits = np.dtype(f"{order}u{width}")

            def encode(array: Array) -> Array:
                array = np.ascontiguousarray(array)
                if drop == 0:
                    return array
                # Add half of the last kept bit, less one where that bit is even, and cut.
                raw = array.reshape(-1).view(bits)
                one = raw.dtype.type(1)
                kept = raw + ((raw >> drop & one) + raw.dtype.type((1 << drop - 1) - 1))
                kept &= ~raw.dtype.type((1 << drop) - 1)
                result = kept.astype(bits, copy=False).view(dtype).reshape(array.shape)
                # Rounding the payload of a NaN could make it infinite.
                return np.where(array != array, array, result).astype(dtype, copy=False)
        else:
            raise MetadataError(f"codec {self.name!r}: rounds numbers, not {dtype}")

        return Step(stage, encode, _same)


def _round_integers(array: Array, keepbits: int) -> Array:
    """Keep `keepbits` bits from the highest set one of every magnitude."""
    signed = array.astype(np.int64) if array.dtype.kind in "mM" else array
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
    # Rounding up past the largest value of the type would wrap.
    largest = np.iinfo(signed.dtype).max
    rounded = np.where(rounded > np.uint64(largest), magnitude & mask, rounded)
    result: Any = rounded.astype(signed.dtype)
    if signed.dtype.kind == "i":
        result = np.where(signed < 0, -result, result)
    return np.asarray(result).astype(signed.dtype).view(array.dtype).reshape(array.shape)


def _same(array: Array) -> Array:
    return array
