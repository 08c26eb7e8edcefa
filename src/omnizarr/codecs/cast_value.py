"""`cast_value`: the same values in another numeric data type.

Spec: zarr-extensions, codecs/cast_value. Configuration: `data_type`, `rounding` (nearest-even,
towards-zero, towards-positive, towards-negative, nearest-away), `out_of_range` (clamp, wrap; an
error if missing) and `scalar_map`, pairs of values that are replaced before casting, for `encode`
and `decode`.

A value is rounded first. It is out of range if the type needed more bits, or a larger exponent, to
hold the result. Clamping gives the least or greatest integer, or infinity where the type has one.
NaN and infinity cannot become integers unless `scalar_map` maps them. cast-value-rs up to 0.4,
which zarr-python uses, treats values out of range in another way; 0.5 agrees with this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from math import ceil, floor
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Context, Step, encoded_fill
from omnizarr.codecs.configuration import choice, only, option
from omnizarr.codecs.document import CodecDocument
from omnizarr.errors import CodecError, DecodeError, EncodeError, MetadataError
from omnizarr.keywords import suggesting
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import Float, Integer, from_json, from_numpy
from omnizarr.model.dtypes.numeric import bounds
from omnizarr.model.grids import NDArray
from omnizarr.model.json import show

NAME = "cast_value"
MAX_PAIRS = 4096
BLOCK = 1 << 16
"""Elements at a time: on the way there are many arrays of them."""
ROUNDINGS: Mapping[str, Callable[[NDArray], NDArray]] = {
    "nearest-even": np.rint,
    "towards-zero": np.trunc,
    "towards-positive": np.ceil,
    "towards-negative": np.floor,
    # What is behind the point is exact, and twice as much of it too.
    "nearest-away": lambda x: np.trunc(x) + np.trunc(2 * (x - np.trunc(x))),
}


def numeric(data_type: Any) -> np.dtype[Any]:
    """The dtype of a numeric v3 data type."""
    try:
        found = from_json(data_type)
    except MetadataError as error:
        raise error.at(f"codec {NAME!r}") from error
    if not isinstance(found, Integer | Float):
        raise MetadataError(
            f"codec {NAME!r}: Invalid target data type {show(found.name)}: it casts to integers and"
            " real numbers"
        )
    return found.numpy


def is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" or (dtype.isbuiltin == 2 and isinstance(from_numpy(dtype), Integer))


@suggesting
@dataclass(frozen=True)
class CastValueCodec(CodecDocument):
    """Values of another number type: `omnizarr.codecs.CastValue`.

    Examples
    --------
    >>> codec = omnizarr.codecs.CastValue(data_type="int16", out_of_range="clamp")
    >>> a = omnizarr.create_array({}, data=[1.0, 4e9], filters=[codec])
    >>> a[:].tolist()
    [1.0, 32767.0]
    """

    kind: ClassVar[CodecKind] = "array-array"
    data_type: str
    """Name of the type that is stored: an integer or a real number."""
    rounding: str = "nearest-even"
    """How to round: ``"nearest-even"``, ``"nearest-away"``, ``"towards-zero"``,
    ``"towards-positive"`` or ``"towards-negative"``."""
    out_of_range: str | None = None
    """What to do with a value that the type does not hold: ``"clamp"``, ``"wrap"``; None is an
    error."""
    scalar_map: Mapping[str, Json] = field(default_factory=dict, hash=False)
    """Values with an exact counterpart: pairs under ``"encode"`` and ``"decode"``."""

    def __post_init__(self) -> None:
        numeric(self.data_type)

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> CastValueCodec:
        only(spec, "data_type", "rounding", "out_of_range", "scalar_map")
        data_type = option(spec, "data_type")
        numeric(data_type)
        outside = choice(spec, "out_of_range", ("error", "clamp", "wrap"), "error")
        scalar_map = option(spec, "scalar_map", {})
        if not isinstance(scalar_map, Mapping) or not {"encode", "decode"}.issuperset(scalar_map):
            raise MetadataError(
                f"codec {NAME!r}: scalar_map must be an object with encode, decode or both, found"
                f" {show(scalar_map)}"
            )
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
            raise MetadataError(
                f"codec {NAME!r}: only supports integer and floating-point types, not {before}"
            )
        if self.out_of_range == "wrap" and not is_integer(after):
            raise MetadataError(
                f"codec {NAME!r}: out_of_range 'wrap' is only valid for integer types, not {after}"
            )
        encode_pairs = self._pairs("encode", before, after)
        decode_pairs = self._pairs("decode", after, before)

        def encode(array: NDArray) -> NDArray:
            return self._cast(array, after, encode_pairs, EncodeError)

        def decode(array: NDArray) -> NDArray:
            return self._cast(array, before, decode_pairs, DecodeError)

        fill = encoded_fill(stage, encode)
        return Step(ArrayStage(stage.shape, after, fill, after.name), encode, decode)

    def _pairs(self, key: str, source: np.dtype[Any], target: np.dtype[Any]) -> _Map | None:
        pairs = self.scalar_map.get(key) or []
        if not isinstance(pairs, list | tuple):
            raise MetadataError(
                f"codec {NAME!r}: scalar_map {key} must be a list of pairs, found {show(pairs)}"
            )
        if len(pairs) > MAX_PAIRS:
            raise MetadataError(
                f"codec {NAME!r}: scalar_map {key} has {len(pairs)} pairs; at most {MAX_PAIRS}"
            )
        try:
            return _Map.of([(_scalar(a, source), _scalar(b, target)) for a, b in pairs], target)
        except (TypeError, ValueError, OverflowError) as error:
            raise MetadataError(f"codec {NAME!r}: scalar_map {key}: {error}") from error

    def _cast(
        self, array: NDArray, dtype: np.dtype[Any], pairs: _Map | None, failure: type[CodecError]
    ) -> NDArray:
        flat = array.reshape(-1)
        result = np.empty(flat.shape, dtype)
        with np.errstate(all="ignore"):
            for start in range(0, flat.size, BLOCK):
                block = slice(start, start + BLOCK)
                result[block] = self._cast_block(flat[block], dtype, pairs, failure)
        return result.reshape(array.shape)

    def _cast_block(
        self, values: NDArray, dtype: np.dtype[Any], pairs: _Map | None, failure: type[CodecError]
    ) -> NDArray:
        places: Any = None
        if pairs is not None:
            places, targets = pairs.found(values)
            values = values.copy()
            values[places] = values.dtype.type(0)
        if is_integer(dtype):
            result = self._to_integers(values, dtype, failure)
        else:
            result = self._to_floats(values, dtype, failure)
        if places is not None:
            result = np.array(result)
            result[places] = targets
        return result

    def _to_integers(
        self, values: NDArray, dtype: np.dtype[Any], failure: type[CodecError]
    ) -> NDArray:
        low, high = bounds(dtype)
        if is_integer(values.dtype):
            # The arithmetic below is NumPy's, which the small types do not have all of.
            values = values if values.dtype.kind in "iu" else values.astype(np.int8)
        else:
            values = values.astype(np.float64)
            if not np.isfinite(values).all():
                raise failure(
                    f"codec {NAME!r}: NaN or infinity cannot become {dtype}; scalar_map can say"
                    " what stands for it"
                )
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
        if self.out_of_range == "wrap":
            return _wrapped(values, high - low + 1, low < 0).astype(dtype)
        result = np.where(outside, 0, values).astype(dtype)
        result[above] = np.array(high).astype(dtype)
        result[outside & ~above] = np.array(low).astype(dtype)
        return result

    def _to_floats(
        self, values: NDArray, dtype: np.dtype[Any], failure: type[CodecError]
    ) -> NDArray:
        if values.dtype.isbuiltin == 2:
            values = values.astype(np.float64)
        scope = _scope(dtype)
        missing = np.isnan(values)
        if missing.any() and not scope.has_nan:
            raise failure(f"codec {NAME!r}: NaN cannot become {dtype}, which has none")
        endless = np.isinf(values) & scope.infinite
        outside = scope.outside(values.astype(np.float64), self.rounding) & ~endless & ~missing
        if outside.any() and self.out_of_range != "clamp":
            worst = values[outside].reshape(-1)[0]
            raise failure(
                f"codec {NAME!r}: {worst} is outside the range of {dtype} ({scope.low} to"
                f" {scope.high}); out_of_range can be 'clamp'"
            )
        special = outside | endless | missing
        inside = np.where(special, values.dtype.type(1), values) if special.any() else values
        result = _rounded(inside, dtype, self.rounding, scope)
        if special.any():
            result[missing] = values[missing].astype(dtype)
            low, high = (-np.inf, np.inf) if scope.infinite else (scope.low, scope.high)
            up = values > 0
            result[(outside | endless) & up] = np.array(high).astype(dtype)
            result[(outside | endless) & ~up] = np.array(low).astype(dtype)
        return result


@dataclass(frozen=True)
class _Map:
    """The pairs of a `scalar_map` for one direction; of several for one value the last counts."""

    sources: NDArray
    """In rising order, without NaN."""
    targets: NDArray
    """One for each source and, where NaN has one, its own as the last."""
    nan: bool

    @classmethod
    def of(cls, pairs: list[tuple[Any, Any]], target: np.dtype[Any]) -> _Map | None:
        table = {None if a != a else _number(a): b for a, b in pairs}
        if not table:
            return None
        nan = None in table
        keys = sorted(key for key in table if key is not None)
        targets = np.array([table[key] for key in (*keys, *([None] * nan))], target)
        whole = all(isinstance(key, int) for key in keys)
        kind = np.float64 if not whole else np.uint64 if keys and keys[-1] >= 1 << 63 else np.int64
        return cls(np.array(keys, kind), targets, nan)

    def found(self, values: NDArray) -> tuple[NDArray, NDArray]:
        """Where values stand that have a target, and the targets."""
        hit = np.zeros(values.shape, bool)
        place = np.full(values.shape, len(self.sources))
        wide: Any
        if is_integer(values.dtype):
            wide = np.uint64 if values.dtype.kind == "u" else np.int64
        else:
            wide = np.float64
        values = values.astype(wide)
        sources = self.sources.astype(wide)
        if len(sources):
            place = np.minimum(np.searchsorted(sources, values), len(sources) - 1)
            hit = sources[place] == values
        if self.nan:
            missing = np.isnan(values)
            place[missing] = len(sources)
            hit |= missing
        return hit, self.targets[place[hit]]


def _number(value: Any) -> float:
    """A scalar as Python's number, which has a hash and an order."""
    return int(value) if is_integer(value.dtype) else float(value)


@dataclass(frozen=True)
class _Scope:
    """What a type of floats can hold."""

    low: float
    high: float
    beyond: float
    """What would come behind `high`, had the type one more exponent."""
    odd: bool
    """`high` is odd: halfway behind it, rounding to even leaves the type."""
    infinite: bool
    has_nan: bool

    def outside(self, values: NDArray, rounding: str) -> NDArray:
        """The numbers that do not fit once they are rounded."""
        half = self.high + (self.beyond - self.high) / 2
        size = np.abs(values)
        match rounding:
            case "towards-positive":
                found = (values > self.high) | (values <= -self.beyond)
            case "towards-negative":
                found = (values >= self.beyond) | (values < -self.high)
            case "towards-zero":
                found = size >= self.beyond
            case "nearest-even":
                found = size >= half if self.odd else size > half
            case _:
                found = size >= half
        # A type without negative numbers has no zero either.
        return np.asarray(found | (values < self.low) if self.low > 0 else found)


@cache
def _scope(dtype: np.dtype[Any]) -> _Scope:
    if dtype.isbuiltin == 2:
        # The package is there: the dtype is one of its own.
        info: Any = import_module("ml_dtypes").finfo(dtype)
    else:
        info = np.finfo(dtype)
    native = dtype.newbyteorder("=") if dtype.isbuiltin != 2 else dtype
    low, high = float(info.min), float(info.max)
    top = np.array([high]).astype(native)
    bits = top.view(f"u{native.itemsize}")
    step = high if info.nmant == 0 else high - float((bits - bits.dtype.type(1)).view(native)[0])
    with np.errstate(all="ignore"):
        special = np.array([np.inf, np.nan]).astype(native).astype(np.float64)
    odd = bool(bits[0] & 1)
    return _Scope(
        low, high, high + step, odd, bool(np.isinf(special[0])), bool(np.isnan(special[1]))
    )


def _wrapped(values: NDArray, modulus: int, signed: bool) -> NDArray:
    """Whole numbers modulo a power of two, of at most 64 bits."""
    if values.dtype.kind == "f":
        size = np.abs(np.fmod(values, float(modulus))).astype(np.uint64)  # fmod is exact
        bits = np.where(values < 0, ~size + np.uint64(1), size)
    else:
        bits = values.astype(np.uint64)
    bits &= np.uint64(modulus - 1)
    if not signed:
        return bits
    sign = np.uint64(modulus >> 1)
    return ((bits ^ sign) - sign).view(np.int64)


def _rounded(values: NDArray, dtype: np.dtype[Any], rounding: str, scope: _Scope) -> NDArray:
    """Numbers as floats; the neighbour is taken where rounding to nearest even chose another."""
    # Where nearest even would leave the type, another rounding may stay at its end.
    inner = values
    if values.dtype.kind in "iu":
        low, high = bounds(values.dtype)
        inner = np.clip(values, max(low, ceil(scope.low)), min(high, floor(scope.high)))
    else:
        inner = np.clip(values.astype(np.float64), scope.low, scope.high)
        inner = np.where(np.abs(values) > np.abs(inner), inner, values).astype(values.dtype)
    result = _nearest(inner, dtype)
    if rounding == "nearest-even":
        return result
    above, below, distance = _compare(values, result.astype(np.float64))
    positive = values > 0
    up, down = dtype.type(scope.high), dtype.type(scope.low)
    match rounding:
        case "towards-zero":
            # Towards the middle: there may be no zero.
            middle = dtype.type(max(scope.low, 0.0))
            wrong, other = np.where(positive, above, below), np.nextafter(result, middle)
        case "towards-positive":
            wrong, other = below, np.nextafter(result, up)
        case "towards-negative":
            wrong, other = above, np.nextafter(result, down)
        case _:
            other = np.nextafter(result, np.where(values < 0, down, up).astype(dtype))
            half = np.abs(other.astype(np.float64) - result.astype(np.float64)) / 2
            inward = np.where(positive, below, above)
            wrong = inward & (distance == half.astype(distance.dtype)) & (half > 0)
    return np.where(wrong, other, result).astype(dtype)


def _nearest(values: NDArray, dtype: np.dtype[Any]) -> NDArray:
    """The nearest floats, of two the even one.

    The types of ml_dtypes are reached through float32, and rounding twice is not rounding once. A
    float32 that is not exact is therefore made odd: it is then no halfway point.
    """
    if dtype.isbuiltin != 2 or values.dtype.itemsize < 4 or values.dtype == np.float32:
        return values.astype(dtype)
    single = values.astype(np.float32)
    above, below, _ = _compare(values, single.astype(np.float64))
    outward = np.where(values > 0, above, below)
    single = np.where(outward, np.nextafter(single, np.float32(0)), single)
    odd = (single.view(np.uint32) | (above | below)).view(np.float32)
    return odd.astype(dtype)


def _compare(values: NDArray, near: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Whether the floats `near` are above or below the values, and how far away; all exactly."""
    if values.dtype.kind not in "iu":
        exact = values.astype(np.float64)
        return near > exact, near < exact, np.abs(exact - near)
    # float64 may be too coarse for integers. What is near one is an integer too, of 64 bits or
    # the power of two behind them.
    wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)
    beyond = near >= float(2 ** (64 if wide.dtype.kind == "u" else 63))
    whole = np.where(beyond, 0, near).astype(wide.dtype)
    above, below = beyond | (whole > wide), ~beyond & (whole < wide)
    distance = np.where(beyond, 0, np.where(below, wide - whole, whole - wide))
    return above, below, distance.astype(np.uint64)


def _scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    try:
        return from_numpy(dtype).fill_from_json(value)
    except MetadataError as error:
        raise ValueError(f"{show(value)} is not representable in dtype {dtype}: {error}") from error
