"""CF packing: values as they are stored, and as they are meant.

`meant = stored * scale_factor + add_offset`; `_FillValue` and `missing_value` mark missing values,
and so does what is outside of `valid_min`, `valid_max` or `valid_range`. All of these but the first
two are in terms of stored values. `_Unsigned` says that stored integers have the other sign.

Missing values become NaN, or are masked. Integers without scale and offset that have missing
values become floats.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import MetadataError
from omnizarr.model.json import show

Values = npt.NDArray[Any]


@dataclass(frozen=True)
class Packing:
    """How the values of one variable are stored."""

    dtype: np.dtype[Any]
    """Of the stored values, with the sign that `_Unsigned` says."""
    scale: np.floating[Any] | None = None
    offset: np.floating[Any] | None = None
    missing: tuple[Any, ...] = ()
    """Stored values that mean that there is none; the first one is written."""
    low: Any = None
    high: Any = None
    """The least and the greatest valid stored value."""

    @property
    def is_plain(self) -> bool:
        """Whether values are meant as they are stored."""
        return self.scale is None and self.offset is None and not self.marks

    @property
    def marks(self) -> bool:
        """Whether some values are missing values."""
        return bool(self.missing) or self.low is not None or self.high is not None

    @property
    def unpacked(self) -> np.dtype[Any]:
        """The type of values as they are meant."""
        found = self.dtype
        if self.scale is not None or self.offset is not None:
            parts = [part.dtype for part in (self.scale, self.offset) if part is not None]
            found = np.result_type(*parts)
            if self.dtype.kind in "iu" and self.dtype.itemsize > 2:  # float32 has 24 bits
                found = np.dtype(np.float64)
            if self.dtype.kind == "f":
                found = np.result_type(found, self.dtype)
        elif self.marks and found.kind in "iu":
            found = np.dtype(np.float32 if found.itemsize <= 2 else np.float64)
        return found.newbyteorder("=")


def packing(attributes: Mapping[str, Any], dtype: np.dtype[Any], fill_value: Any = None) -> Packing:
    """The packing that attributes describe. MetadataError if one of them cannot be meant so.

    fill_value: what unwritten elements read as, where that marks missing values too."""
    if dtype.kind not in "iuf":
        return Packing(dtype)
    signed = _signed(attributes.get("_Unsigned"), dtype)
    missing: list[Any] = []
    for name in ("_FillValue", "missing_value"):
        missing += _numbers(attributes, name, dtype, signed)
    if fill_value is not None:
        missing.append(np.asarray(fill_value).astype(dtype).view(signed)[()])
    low, high = _valid(attributes, dtype, signed)
    unique: dict[bytes, Any] = {value.tobytes(): value for value in reversed(missing)}
    return Packing(
        signed,
        _factor(attributes, "scale_factor"),
        _factor(attributes, "add_offset"),
        tuple(reversed(unique.values())),
        low,
        high,
    )


def _signed(value: Any, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if value is None or dtype.kind not in "iu":
        return dtype
    wanted = str(value).lower()
    if wanted not in ("true", "false"):
        raise MetadataError(f"_Unsigned must be 'true' or 'false', found {show(value)}")
    kind = "u" if wanted == "true" else "i"
    return np.dtype(dtype.str.replace(dtype.kind, kind))


def _factor(attributes: Mapping[str, Any], name: str) -> np.floating[Any] | None:
    value = attributes.get(name)
    if value is None:
        return None
    found = _array(value, name)
    if found.size != 1 or not np.isfinite(found).all():
        raise MetadataError(f"{name} must be one finite number, found {show(value)}")
    kind = np.float64 if found.dtype.kind in "iu" else found.dtype.type
    return kind(found.reshape(()))


def _numbers(
    attributes: Mapping[str, Any], name: str, dtype: np.dtype[Any], signed: np.dtype[Any]
) -> list[Any]:
    """Values of an attribute as stored ones; those that no element can have are left out."""
    value = attributes.get(name)
    if value is None:
        return []
    try:
        value = decoded(value)
    except ValueError:
        raise MetadataError(f"{name} must be a number, found {show(value)}") from None
    items = _array(value, name)
    return [found for item in items for found in _as_stored(item, dtype, signed)]


def _array(value: Any, name: str) -> Values:
    """The numbers of an attribute, in one dimension."""
    try:
        found = np.array(value).reshape(-1)
    except (ValueError, OverflowError):  # lists of different lengths
        found = np.array([], object)
    if found.dtype.kind not in "iuf":
        raise MetadataError(f"{name} must be a number, found {show(value)}")
    return found


def decoded(value: Any) -> Any:
    """A number that is text in JSON: "NaN", or as xarray writes it into format 3."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, str):
        return value
    if len(value) == 12 and value[-1] == "=":
        return np.frombuffer(base64.b64decode(value, validate=True), "<f8")[0]
    return float(value)


def _as_stored(item: Any, dtype: np.dtype[Any], signed: np.dtype[Any]) -> list[Any]:
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return [dtype.type(item)]
    if not np.isfinite(item) or item != int(item):
        return []
    for each in (dtype, signed):
        info = np.iinfo(each)
        if info.min <= int(item) <= info.max:
            return [np.array(int(item), each).view(signed)[()]]
    return []


def _valid(
    attributes: Mapping[str, Any], dtype: np.dtype[Any], signed: np.dtype[Any]
) -> tuple[Any, Any]:
    pair = attributes.get("valid_range")
    if pair is not None:
        found = _numbers(attributes, "valid_range", dtype, signed)
        if not hasattr(pair, "__len__") or len(pair) != 2:
            raise MetadataError(f"valid_range must be two numbers, found {show(pair)}")
        return (found[0], found[1]) if len(found) == 2 else (None, None)
    ends = [_numbers(attributes, name, dtype, signed) for name in ("valid_min", "valid_max")]
    return tuple(end[0] if end else None for end in ends)  # type: ignore[return-value]


def unpack(stored: Values, how: Packing, *, masked: bool = False) -> Values:
    """Values as they are meant: missing ones NaN, or masked."""
    if stored.dtype.kind not in "iuf":
        return np.ma.asarray(stored) if masked else stored
    values = stored.astype(stored.dtype.newbyteorder("=")).view(how.dtype.newbyteorder("="))
    gaps = _gaps(values, how)
    meant = how.unpacked
    if how.scale is not None or how.offset is not None:
        values = values.astype(meant)
        if how.scale is not None:
            values = values * meant.type(how.scale)
        if how.offset is not None:
            values = values + meant.type(how.offset)
        values = np.asarray(values, meant)
    if masked:
        return np.ma.array(values, mask=gaps)
    if gaps is np.False_ or not how.marks:
        return values
    return np.where(gaps, meant.type(np.nan), values.astype(meant))


def _gaps(values: Values, how: Packing) -> Any:
    gaps: Any = np.zeros(values.shape, bool) if how.marks else np.False_
    for each in how.missing:
        gaps = gaps | (np.isnan(values) if each != each else values == each)
    if how.low is not None:
        gaps = gaps | (values < how.low)
    if how.high is not None:
        gaps = gaps | (values > how.high)
    return gaps


def pack(meant: Any, how: Packing, dtype: np.dtype[Any]) -> Values:
    """Values as they are stored, in the stored type `dtype`. Missing ones (NaN, or masked) become
    the fill value; MetadataError if there is none, or if a value does not fit the type."""
    gaps = np.ma.getmaskarray(meant) if isinstance(meant, np.ma.MaskedArray) else None
    values = np.ma.getdata(meant)
    if dtype.kind in "iuf" and values.dtype.kind not in "iufb":
        given, values = values, np.array(values.tolist())  # numbers that are objects
        if values.dtype.kind not in "iufb":
            raise MetadataError(
                f"values of type {given.dtype} are no numbers, and the stored type is {dtype};"
                " times are stored as numbers, in the units of the variable"
            )
    if dtype.kind not in "iuf":
        if gaps is not None and gaps.any():
            raise MetadataError(f"there is no missing value of type {dtype}")
        return np.asarray(values, dtype)
    if values.dtype.kind == "f" and (how.dtype.kind != "f" or how.missing):
        found = np.isnan(values)
        gaps = found if gaps is None else gaps | found
    if gaps is None or not gaps.any():
        gaps = None
    elif not how.missing:
        raise MetadataError(
            "some values are missing, and no _FillValue says how they are stored"
        ).advise("give fill_value= when the variable is created")
    if how.scale is not None or how.offset is not None:
        values = np.asarray(values, np.float64)
        if how.offset is not None:
            values = values - np.float64(how.offset)
        if how.scale is not None:
            values = values / np.float64(how.scale)
    if gaps is not None:
        values = np.where(gaps, 0, values)
    stored = _rounded(values, how.dtype.newbyteorder("="))
    if how.scale is not None or how.offset is not None:
        _check_not_missing(stored, how, meant, gaps)
    if gaps is not None:
        stored = np.where(gaps, how.missing[0], stored)
    return stored.view(dtype.newbyteorder("=")).astype(dtype)


def _check_not_missing(stored: Values, how: Packing, meant: Any, gaps: Any) -> None:
    """Refuse values that packing makes equal to one that marks missing values."""
    lost = np.isin(stored, [each for each in how.missing if each == each])
    if gaps is not None:
        lost &= ~gaps
    if lost.any():
        found = np.ma.getdata(meant)[lost].flat[0]
        raise MetadataError(
            f"the value {show(found.item())} would be stored as {stored[lost].flat[0]}, which marks"
            " missing values"
        ).advise("use another scale_factor, or another fill_value, which no value becomes")


def _rounded(values: Values, dtype: np.dtype[Any]) -> Values:
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            found = values.astype(dtype)
        outside = np.isinf(found) & np.isfinite(values)
        if outside.any():
            raise _too_large(values[outside].flat[0], dtype)
        return found
    if values.dtype.kind == "f":
        values = np.rint(values)
    info = np.iinfo(dtype)
    # A float that is greater than the greatest integer may round to it.
    high = float(info.max) if values.dtype.kind == "f" else info.max
    outside = (values < info.min) | (values > high)
    if values.dtype.kind == "f" and info.bits == 64:
        outside |= values >= float(info.max)
    if outside.any():
        raise _too_large(values[outside].flat[0], dtype)
    return values.astype(dtype)


def _too_large(value: Any, dtype: np.dtype[Any]) -> MetadataError:
    return MetadataError(
        f"the value {show(value.item())} does not fit the stored type {dtype}, after scale_factor"
        " and add_offset"
    )
