"""What values and attributes of Zarr are in HDF5 and in NetCDF-4.

`plan` gives the data type of a dataset and the function that turns values into it; both raise
UnsupportedError, whose message says what to do instead. This module knows data types. It must not
know files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omnizarr.errors import UnsupportedError
from omnizarr.formats.nczarr.attribute_types import OF_THE_VARIABLE, typed
from omnizarr.nodes.array import Array
from omnizarr.runtime.optional_packages import package

NDArray = npt.NDArray[Any]

RESERVED = frozenset({"CLASS", "NAME", "DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST"})
"""Attributes that are HDF5's own."""
_TIME_UNITS = {
    "D": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds",
    "us": "microseconds", "ns": "nanoseconds",
}  # fmt: skip


def h5py() -> Any:
    return package("h5py", "virtual", "writing HDF5 and NetCDF-4 files")


@dataclass(frozen=True)
class Stored:
    """How the values of an array are stored."""

    dtype: Any
    """For h5py."""
    convert: Callable[[NDArray], NDArray]
    """From values to what h5py writes."""
    same_bytes: bool = False
    """Whether an element has the same bytes in the file."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """What is said of it besides."""
    length: int = 0
    """Of a dimension of characters that follows the others; 0: there is none."""
    filled: bool = True
    """Whether the fill value of the array can be that of the dataset."""


def plan(array: Array, netcdf: bool = False) -> Stored:
    """How an array is stored. Numbers keep the byte order that their chunks have."""
    dtype = (
        array.dtype.newbyteorder(_byte_order(array))
        if array.dtype.kind in "iufcmM"
        else (array.dtype)
    )
    kind = dtype.kind
    if dtype.names is not None or dtype.subdtype is not None:
        return _structured(dtype, netcdf)
    if kind in "iu" or (kind == "f" and dtype.type in (np.float32, np.float64)):
        if type(dtype).__module__.partition(".")[0] not in ("numpy",):
            raise _no_equal(dtype)
        return Stored(dtype, np.asarray, same_bytes=True)
    if kind == "f" and dtype.type is np.float16:
        if netcdf:
            raise UnsupportedError("NetCDF has no float16; convert the array to float32")
        return Stored(dtype, np.asarray, same_bytes=True)
    if kind == "b":
        if netcdf:  # as xarray has it
            return Stored(np.dtype("i1"), lambda values: values.astype("i1"), True,
                          {"dtype": "bool"})  # fmt: skip
        return Stored(dtype, np.asarray, same_bytes=True)
    if kind in "mM":
        return _time(dtype)
    if kind == "c" and dtype.type in (np.complex64, np.complex128):
        if netcdf:
            raise UnsupportedError(
                "NetCDF has no complex numbers; store the real and the imaginary part as two"
                " arrays, or write HDF5"
            )
        return Stored(dtype, np.asarray, same_bytes=True)
    if kind in "UT":
        return Stored(h5py().string_dtype("utf-8"), _as_text, filled=False)
    if kind == "S" and dtype.itemsize:
        if netcdf:
            length = dtype.itemsize if dtype.itemsize > 1 else 0
            return Stored(np.dtype("S1"), _as_characters if length else np.asarray, length=length,
                          filled=False)  # fmt: skip
        return Stored(dtype, np.asarray)
    if kind == "V" and dtype.itemsize and not netcdf and dtype.type is np.void:
        return Stored(dtype, np.asarray, filled=False)
    raise _no_equal(dtype)


def _byte_order(array: Array) -> Literal["<", ">", "="]:
    for spec in array._source.model.codecs:
        endian = spec.configuration.get("endian")
        if endian in ("big", "little"):
            return ">" if endian == "big" else "<"
    return ">" if array.dtype.str[0] == ">" else "<"


def _no_equal(dtype: object) -> UnsupportedError:
    return UnsupportedError(
        f"the data type {dtype} has no equal in the file; convert the array to another type"
    )


def _structured(dtype: np.dtype[Any], netcdf: bool) -> Stored:
    if netcdf:
        raise UnsupportedError(
            "structured types are not written to NetCDF; store each field as an array of its own,"
            " or write HDF5"
        )
    _check_fields(dtype)
    return Stored(dtype, np.asarray)


def _check_fields(dtype: np.dtype[Any]) -> None:
    if dtype.names is not None:
        for name in dtype.names:
            _check_fields(dtype[name])
    elif dtype.subdtype is not None:
        _check_fields(dtype.subdtype[0])
    elif dtype.kind not in "iufcbS" or not dtype.itemsize:
        raise UnsupportedError(
            f"a field of the type {dtype} has no equal in HDF5; convert it, or store each field as"
            " an array of its own"
        )


def _time(dtype: np.dtype[Any]) -> Stored:
    unit, step = np.datetime_data(dtype)
    if unit not in _TIME_UNITS or step != 1:
        raise UnsupportedError(
            f"{dtype} has no unit that CF has; convert the array to {dtype.kind}8[s] or finer"
        )
    units = _TIME_UNITS[unit]
    attributes: dict[str, Any] = {"units": units}
    if dtype.kind == "M":
        since = "1970-01-01" if unit == "D" else "1970-01-01 00:00:00"
        attributes = {"units": f"{units} since {since}", "calendar": "proleptic_gregorian"}
    attributes["_FillValue"] = np.int64(np.iinfo("i8").min)  # NaT
    stored = np.dtype("i8").newbyteorder(dtype.byteorder)
    return Stored(stored, _as_integers, True, attributes)


def _as_integers(values: NDArray) -> NDArray:
    return values.view(np.dtype("i8").newbyteorder(values.dtype.byteorder))


def _as_text(values: NDArray) -> NDArray:
    """Text as h5py writes it. HDF5's text ends at the first NUL."""
    found = np.asarray(values, np.dtypes.StringDType()) if values.dtype.kind != "T" else values
    plain = found.astype(object)
    if any("\0" in text for text in plain.reshape(-1).tolist()):
        raise UnsupportedError("text with NUL characters has no equal in the file").advise(
            "remove them"
        )
    return plain


def _as_characters(values: NDArray) -> NDArray:
    return np.asarray(values, order="C")[..., np.newaxis].view("S1")


# -- attributes -----------------------------------------------------------------------------------


def attributes_of(
    attributes: Mapping[str, Any],
    stored: Stored | None,
    dtype: np.dtype[Any] | None,
    *,
    netcdf: bool,
    json_attributes: bool,
) -> tuple[dict[str, Any], list[str]]:
    """What h5py writes for each attribute, and what cannot be written."""
    found: dict[str, Any] = {}
    refused: list[str] = []
    given = {**typed(attributes), **(stored.attributes if stored is not None else {})}
    for name, value in given.items():
        try:
            if name in RESERVED or (netcdf and name in ("_NCProperties", "_Netcdf4Dimid",
                                                        "_Netcdf4Coordinates")):  # fmt: skip
                raise UnsupportedError("HDF5 and NetCDF keep the name for themselves; rename it")
            if not name or "\0" in name or (netcdf and "/" in name):
                raise UnsupportedError("NetCDF and HDF5 have no such name; rename it")
            if dtype is not None and name in OF_THE_VARIABLE and dtype.kind in "iuf":
                value = _of_the_variable(value, dtype)
            found[name] = _attribute(value, netcdf, json_attributes)
        except UnsupportedError as error:
            refused.append(f"attribute {name!r}: {error}")
    return found, refused


def _of_the_variable(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value in the type of the array, as CF wants it, if it fits."""
    from omnizarr.conventions.netcdf.packing import decoded

    try:
        plain = np.array(decoded(value))
        if plain.dtype.kind not in "iuf" or plain.ndim > 1:
            return value
        made = plain.astype(dtype.newbyteorder("="))
    except (ValueError, OverflowError, TypeError):
        return value
    if dtype.kind == "f" or np.array_equal(made.astype(object), plain.astype(object)):
        return made if plain.ndim else made[()]
    return value


def _attribute(value: Any, netcdf: bool, json_attributes: bool) -> Any:
    if isinstance(value, str):
        return _text(value, netcdf)
    if isinstance(value, np.ndarray | np.generic):
        return value
    if isinstance(value, bool):
        return np.int8(value) if netcdf else np.bool_(value)
    if isinstance(value, int):
        return _integers([value], netcdf)[0]
    if isinstance(value, float):
        return np.float64(value)
    if isinstance(value, list | tuple):
        found = _listed(list(value), netcdf)
        if found is not None:
            return found
    if json_attributes:
        from omnizarr.model import json

        return _text(json.dumps(value, indent=None), netcdf)
    raise UnsupportedError(
        "objects, nulls and mixed lists have no equal; json_attributes=True writes them as text in"
        " JSON"
    )


def _text(value: str, netcdf: bool) -> Any:
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise UnsupportedError("text that is no Unicode; correct it") from None
    if b"\0" in data:
        raise UnsupportedError("text with NUL characters; remove them")
    if not netcdf:
        return value
    if not data:
        return h5py().Empty("S1")
    return np.array(data, h5py().string_dtype("utf-8", len(data)))  # NetCDF's text: characters


def _integers(values: list[int], netcdf: bool) -> NDArray:
    """Integers of 64 bits; for NetCDF of 32 bits if they fit, which every reader of it knows."""
    for dtype in (np.int32, np.int64, np.uint64) if netcdf else (np.int64, np.uint64):
        info = np.iinfo(dtype)
        if all(info.min <= value <= info.max for value in values):
            return np.array(values, dtype)
    raise UnsupportedError("an integer of more than 64 bits; make it text")


def _listed(values: list[Any], netcdf: bool) -> Any:
    if not values:
        return h5py().Empty("f8") if netcdf else np.zeros(0)
    kinds = {type(value) for value in values}
    if kinds == {str}:
        for value in values:
            _text(value, netcdf)
        return np.array(values, h5py().string_dtype("utf-8"))
    if kinds == {bool}:
        return np.array(values, np.int8 if netcdf else np.bool_)
    if kinds == {int}:
        return _integers(values, netcdf)
    if kinds <= {int, float}:
        return np.array(values, np.float64)
    if kinds == {list} and not netcdf:
        try:
            found = np.array(values)
        except ValueError:
            return None
        return found if found.dtype.kind in "iuf" else None
    return None
