"""`cast_value`: the same values in another numeric data type.

Spec: zarr-extensions, codecs/cast_value. Configuration: `data_type`, `rounding` (nearest-even,
towards-zero, towards-positive, towards-negative, nearest-away), `out_of_range` (clamp, wrap; an
error if missing) and `scalar_map`, pairs of values that are replaced before casting, for `encode`
and `decode`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import (
    Array,
    ArrayStage,
    Context,
    Kind,
    Step,
    choice,
    encoded_fill,
    only,
    option,
)
from omnizarr.errors import CodecError, DecodeError, EncodeError, MetadataError
from omnizarr.model.codec import CodecSpec

NAME = "cast_value"
ROUNDINGS: Mapping[str, Callable[[Array], Array]] = {
    "nearest-even": np.rint,
    "towards-zero": np.trunc,
    "towards-positive": np.ceil,
    "towards-negative": np.floor,
    "nearest-away": lambda x: np.trunc(x + np.copysign(0.5, x)),
}
PLAIN = frozenset(
    [f"{kind}{8 << width}" for kind in ("int", "uint") for width in range(4)]
    + ["float16", "float32", "float64"]
)


def numeric(data_type: Any) -> np.dtype[Any]:
    """The dtype of a numeric v3 data type."""
    name = data_type.get("name") if isinstance(data_type, Mapping) else data_type
    if not isinstance(name, str):
        raise MetadataError(f"codec {NAME!r}: data type {data_type!r} is not known here")
    if name in PLAIN:
        return np.dtype(str(name))
    try:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return found
    except (ImportError, AttributeError, TypeError) as error:
        raise MetadataError(f"codec {NAME!r}: data type {name!r} is not known here") from error


@dataclass(frozen=True)
class CastValueCodec:
    kind: ClassVar[Kind] = "array-array"
    data_type: str
    rounding: str = "nearest-even"
    out_of_range: str | None = None
    scalar_map: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> CastValueCodec:
        only(spec, "data_type", "rounding", "out_of_range", "scalar_map")
        data_type = option(spec, "data_type")
        numeric(data_type)
        outside = choice(spec, "out_of_range", ("error", "clamp", "wrap"), "error")
        scalar_map = option(spec, "scalar_map", {})
        if not isinstance(scalar_map, Mapping):
            raise MetadataError(f"codec {NAME!r}: scalar_map must be an object")
        return cls(
            data_type["name"] if isinstance(data_type, Mapping) else data_type,
            choice(spec, "rounding", tuple(ROUNDINGS), "nearest-even"),
            None if outside == "error" else outside,
            scalar_map,
        )

    def spec(self) -> CodecSpec:
        configuration: dict[str, Any] = {"data_type": self.data_type}
        if self.rounding != "nearest-even":
            configuration["rounding"] = self.rounding
        if self.out_of_range is not None:
            configuration["out_of_range"] = self.out_of_range
        if self.scalar_map:
            configuration["scalar_map"] = dict(self.scalar_map)
        return CodecSpec(NAME, configuration)

    def prepare(self, stage: ArrayStage) -> Step:
        before, after = stage.dtype, numeric(self.data_type)
        if before.kind not in "iuf" and before.isbuiltin != 2:
            raise MetadataError(f"codec {NAME!r}: casts numbers, not {before}")
        encode_pairs = self._pairs("encode", before, after)
        decode_pairs = self._pairs("decode", after, before)

        def encode(array: Array) -> Array:
            return self._cast(array, after, encode_pairs, EncodeError)

        def decode(array: Array) -> Array:
            return self._cast(array, before, decode_pairs, DecodeError)

        fill = encoded_fill(stage, encode)
        return Step(ArrayStage(stage.shape, after, fill, after.name), encode, decode)

    def _pairs(
        self, key: str, source: np.dtype[Any], target: np.dtype[Any]
    ) -> list[tuple[Any, Any]]:
        pairs = self.scalar_map.get(key) or []
        try:
            return [(_scalar(a, source), _scalar(b, target)) for a, b in pairs]
        except (TypeError, ValueError, OverflowError) as error:
            raise MetadataError(f"codec {NAME!r}: scalar_map {key}: {error}") from error

    def _cast(
        self,
        array: Array,
        dtype: np.dtype[Any],
        pairs: list[tuple[Any, Any]],
        failure: type[CodecError],
    ) -> Array:
        replaced = [
            (np.isnan(array) if source != source else array == source, target)
            for source, target in pairs
        ]
        values = array
        if replaced:
            values = array.copy()
            for mask, _ in replaced:
                values[mask] = values.dtype.type(0)
        with np.errstate(all="ignore"):
            if dtype.kind in "iu":
                result = self._to_integers(values, dtype, failure)
            else:
                result = self._to_floats(values, dtype, failure)
        for mask, target in replaced:
            result[mask] = target
        return result

    def _to_integers(self, values: Array, dtype: np.dtype[Any], failure: type[CodecError]) -> Array:
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        if values.dtype.kind not in "iu":
            values = values.astype(np.float64)
            finite = np.isfinite(values)
            if np.isnan(values).any() or (self.out_of_range == "wrap" and not finite.all()):
                raise failure(f"codec {NAME!r}: NaN or infinity cannot become {dtype}")
            values = ROUNDINGS[self.rounding](values)
        # float(high) may round up to high + 1, which is already outside.
        above = values >= high + 1 if values.dtype.kind == "f" else values > high
        outside = (values < low) | above
        if not outside.any():
            return values.astype(dtype)
        if self.out_of_range is None:
            worst = values[outside].reshape(-1)[0]
            raise failure(
                f"codec {NAME!r}: {worst} is outside the range of {dtype} ({low} to {high});"
                " out_of_range can be 'clamp' or 'wrap'"
            )
        result = np.where(outside, 0, values).astype(dtype)
        for place in np.argwhere(outside):
            value = values[tuple(place)]
            if self.out_of_range == "clamp":
                result[tuple(place)] = high if value > high else low
            else:
                result[tuple(place)] = (int(value) - low) % (high - low + 1) + low
        return result

    def _to_floats(self, values: Array, dtype: np.dtype[Any], failure: type[CodecError]) -> Array:
        result = values.astype(dtype)
        lost = ~np.isfinite(result) & np.isfinite(values)
        if lost.any():
            if self.out_of_range != "clamp":
                worst = values[lost].reshape(-1)[0]
                raise failure(f"codec {NAME!r}: {worst} is outside the range of {dtype}")
            largest = np.finfo(dtype).max
            result[lost] = np.where(values[lost] > 0, largest, -largest)
        return result


def _scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, str):
        if value.startswith("0x"):
            bits = int(value, 16).to_bytes(dtype.itemsize, "big")
            return np.frombuffer(bits, dtype.newbyteorder(">"))[0]
        value = float(value)
    return dtype.type(value)
