"""Fill values between formats 2 and 3 as xarray reads them.

To Zarr the fill value is what a missing chunk reads as, in both formats. xarray takes it for more
in format 2: elements that equal it are masked (become NaN), as netCDF's `_FillValue`. In format 3
xarray masks what the attribute `_FillValue` says, and nothing without it. There floats are stored
as base64 of a little-endian double, complex numbers as a list of two of these, integers and
booleans as such; for other types xarray refuses the attribute, and with it the dataset. Unsigned
integers with the attribute `_Unsigned: "false"` are decoded as signed ones, and the attribute must
then be a number of the signed type.

So an array that xarray opens, which is one with dimension names, changes its meaning unless the
attribute is added (2 to 3), or the fill value is left out where nothing is masked (3 to 2). A
format 2 array without a fill value does not say what a missing chunk reads as, so these must then
be written.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from omnizarr.errors import MetadataError
from omnizarr.formats.base import Format, Registering
from omnizarr.formats.nczarr.attribute_types import value_in_json
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.model.json import show

ATTRIBUTE = "_FillValue"
FillValues = Literal["xarray", "zarr"]
CHOICES: tuple[FillValues, ...] = ("xarray", "zarr")


@dataclass(frozen=True)
class Meaning:
    """The fill value and the attributes that an array gets in the other format."""

    fill_value: Any
    attributes: Mapping[str, Json]
    explicit: bool = False
    """Chunks that are missing must be written: the fill value no longer says what they read as."""
    note: str | None = None


def translated(
    model: ArrayModel, source: Format, target: Format, choice: FillValues | None
) -> Meaning:
    """The fill value in the other format. None chooses xarray's meaning for arrays with dimension
    names, Zarr's for all others."""
    same = Meaning(model.fill_value, model.attributes)
    if {source.name, target.name} != {2, 3}:
        return same
    if choice == "zarr" or (choice is None and model.dimension_names is None):
        return replace(same, note=_difference(model, source))
    return _to_3(model) if target.name == 3 else _to_2(model)


def as_scalar(model: ArrayModel, source: Format, target: Format) -> ArrayModel:
    """A 0-d array beside arrays with dimension names: xarray opens it without any in format 3, but
    wants an empty list of them in format 2."""
    if model.ndim or model.dimension_names is not None:
        return model
    return replace(model, dimension_names=()) if (source.name, target.name) == (3, 2) else model


def _difference(model: ArrayModel, source: Format) -> str | None:
    """What a user of xarray should know where Zarr's meaning is kept."""
    told, effect = model.attributes.get(ATTRIBUTE), _effect(model, model.fill_value, "it")
    if effect is None:
        return None
    if told is not None and _same(_decoded(told, model), model.fill_value):
        return None
    also = ", not in format 3" if told is None else f"; {ATTRIBUTE} {show(told)} counts in format 3"
    return f"fill value {_shown(model, model.fill_value)}: xarray {effect} in format 2{also}"


def _effect(model: ArrayModel, value: Any, name: str) -> str | None:
    """What xarray does in format 2 because there is this fill value, called `name`; None if the
    dataset would be the same without one."""
    if value is None:
        return None
    if model.dtype.kind in "mM":
        return f"shows {name} as an attribute"
    if not _is_nan(value):
        return f"masks {name}"
    # xarray assumes that masking has chosen the type to scale in, though NaN is not masked.
    scaled = not model.attributes.keys().isdisjoint(("scale_factor", "add_offset"))
    return f"scales without a wider type because of {name}" if scaled else None


def _to_3(model: ArrayModel) -> Meaning:
    attributes = {name: item for name, item in model.attributes.items() if name != ATTRIBUTE}
    fill, told = model.fill_value, model.attributes.get(ATTRIBUTE)
    masked = told if fill is None else fill
    if masked is None:
        return Meaning(fill, attributes)
    shown, encoded = _shown(model, masked), _encoded(masked, model)
    if encoded is None:
        effect = _effect(model, masked, shown)
        note = None if effect is None else f"xarray {effect} in format 2, and cannot in format 3"
        return Meaning(fill, attributes, note=note)
    note = f"{ATTRIBUTE} {shown} added, which xarray masks"
    known = told is not None or _is_nan(masked)
    return Meaning(fill, {**attributes, ATTRIBUTE: encoded}, note=None if known else note)


def _to_2(model: ArrayModel) -> Meaning:
    attributes = {name: item for name, item in model.attributes.items() if name != ATTRIBUTE}
    told, fill = model.attributes.get(ATTRIBUTE), model.fill_value
    shown = None if fill is None else _shown(model, fill)
    if told is None:
        effect = _effect(model, fill, "it")
        if effect is None:
            return Meaning(fill, attributes)
        note = f"fill value {shown} left out: xarray {effect} in format 2; missing chunks written"
        return Meaning(None, attributes, explicit=True, note=note)
    masked = _decoded(told, model)
    if masked is None:
        note = f"the attribute {ATTRIBUTE} {show(told)} is not one that xarray reads in format 3"
        return Meaning(fill, model.attributes, note=note)
    if _same(masked, fill):
        return Meaning(fill, attributes)
    note = (
        f"xarray masks {ATTRIBUTE} {masked}, not the fill value {shown}; missing chunks are written"
    )
    fitting = _fitting(masked, model)
    if fitting is None and not isinstance(masked, complex):  # which JSON cannot express
        attributes[ATTRIBUTE] = masked
    return Meaning(fitting, attributes, explicit=True, note=note)


def _shown(model: ArrayModel, value: Any) -> str:
    try:
        return show(model.data_type.fill_to_json(value))
    except (MetadataError, TypeError, ValueError, AttributeError):
        return show(value)


def _is_nan(value: Any) -> bool:
    """Whether a number is NaN: masking it changes nothing."""
    return isinstance(value, float | complex | np.inexact) and bool(np.isnan(value))


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal at full precision, as xarray compares: float32's -999.9 is not
    the double -999.9."""
    if one is None or other is None:
        return False
    if _is_nan(one) and _is_nan(other):
        return True
    return bool(_plain(one) == _plain(other))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _fitting(value: Any, model: ArrayModel) -> Any:
    """The value as one of the array's type; None if it has none that is equal."""
    try:
        with np.errstate(over="ignore"):
            made = model.dtype.type(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return made if _same(made, value) else None


# -- the attribute --------------------------------------------------------------------------------


def stated(value: Any, chosen: Format) -> Json | None:
    """The attribute of a new array that says that a number of its type marks missing values; None
    where the fill value itself says so."""
    if fill_masks(chosen):
        return None
    packs = chosen.name == 3 and value.dtype.kind == "f"
    return _packed(value) if packs else value_in_json(value)


def fill_masks(chosen: Format) -> bool:
    """Whether the fill value of an array marks missing values by itself: to xarray, not to
    netCDF-C."""
    return chosen.name == 2 and not isinstance(chosen, Registering)


def _encoded(value: Any, model: ArrayModel) -> Json | None:
    """The attribute as xarray writes it in format 3; None if it has no form for the type."""
    try:
        match model.dtype.kind:
            case "b":
                return bool(value)
            case "i" | "u":
                return _signed(int(value), model) if int(value) == value else None
            case "f":
                return _packed(value)
            case "c":
                number = complex(*value) if isinstance(value, list) else complex(value)
                return [_packed(number.real), _packed(number.imag)]
    except (OverflowError, TypeError, ValueError):
        return None
    return None


def _signed(value: int, model: ArrayModel) -> int:
    """The number of the signed type with the same bits, where xarray decodes to that."""
    span = 1 << 8 * model.dtype.itemsize
    return value - span if _read_as_signed(model) and span // 2 <= value < span else value


def _unsigned(value: int, model: ArrayModel) -> int:
    span = 1 << 8 * model.dtype.itemsize
    return value + span if _read_as_signed(model) and -span // 2 <= value < 0 else value


def _read_as_signed(model: ArrayModel) -> bool:
    return model.dtype.kind == "u" and model.attributes.get("_Unsigned") == "false"


def _packed(value: Any) -> str:
    return base64.standard_b64encode(struct.pack("<d", float(value))).decode("ascii")


def _decoded(value: Json, model: ArrayModel) -> Any:
    """What xarray takes the attribute for in format 3; None if it refuses it."""
    try:
        match model.dtype.kind:
            case "b":
                return bool(value)
            case "i" | "u":
                return _unsigned(int(value), model) if isinstance(value, int | float) else None
            case "f":
                return _unpacked(value)
            case "c":
                return complex(_unpacked(value[0]), _unpacked(value[1]))
    except (LookupError, OverflowError, TypeError, ValueError, binascii.Error, struct.error):
        return None
    return None


def _unpacked(value: Any) -> float:
    found: float = struct.unpack("<d", base64.standard_b64decode(value))[0]
    return found
