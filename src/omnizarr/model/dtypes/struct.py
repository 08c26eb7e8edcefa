"""Records: `struct` of the v3 registry, and NumPy's structured dtypes in general.

A field may be any fixed-size type, another record, and (in format 2 only) a sub-array, an object
or separated from its neighbour by padding. The NumPy dtype says what a record is, but for fields of
types that NumPy does not tell apart (`complex_bfloat16`, those of other packages).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import DataType, from_base64, unwrap
from omnizarr.model.grids import NDArray
from omnizarr.model.json import show
from omnizarr.runtime.properties import cached_property


class StructField(NamedTuple):
    name: str
    data_type: DataType
    shape: tuple[int, ...]
    """Empty unless the field holds a sub-array."""


@dataclass(frozen=True)
class Struct(DataType):
    """Records with named fields."""

    dtype: np.dtype[Any]
    special: tuple[tuple[str, DataType], ...] = ()
    """The types of fields whose NumPy dtype would give another one."""

    @property
    def name(self) -> str:
        return "struct"

    @cached_property
    def fields(self) -> tuple[StructField, ...]:
        from omnizarr.model.dtypes.registry import from_numpy

        special = dict(self.special)
        found = []
        for name in self.dtype.names or ():
            dtype, shape = self.dtype[name], ()
            if dtype.subdtype is not None:
                dtype, shape = dtype.subdtype
            found.append(StructField(name, special.get(name) or from_numpy(dtype), shape))
        return tuple(found)

    @property
    def configuration(self) -> Mapping[str, Json]:
        fields = []
        for field in self.fields:
            if field.shape:
                raise UnsupportedError(
                    f"the field {field.name!r} holds a sub-array of shape {field.shape}; the data"
                    " type 'struct' has no such fields: use zarr_format=2, or a field for each"
                    " element, or an array of its own with more dimensions"
                )
            fields.append({"name": field.name, "data_type": field.data_type.json})
        return {"fields": fields}

    @property
    def numpy(self) -> np.dtype[Any]:
        return self.dtype

    @property
    def native(self) -> Struct:
        """Native byte order in every field, and no padding between them."""
        return struct_of([StructField(f.name, f.data_type.native, f.shape) for f in self.fields])

    @property
    def zero(self) -> Any:
        return np.zeros((), dtype=self.dtype)[()]

    def scalar(self, value: Any) -> Any:
        value = unwrap(value)
        if isinstance(value, np.void) and value.dtype == self.dtype:
            return value
        if isinstance(value, bytes) and not self.dtype.hasobject:
            return self._from_bytes(value)
        result = np.zeros((), dtype=self.dtype)
        if isinstance(value, np.void) and value.dtype.names:
            if struct(value.dtype).native.dtype == self.native.dtype:
                # Only byte order and padding differ: no bit of a value may change.
                return np.asarray(value).astype(self.dtype)[()]
            value = value.item()
        if isinstance(value, Mapping):
            names = self.dtype.names or ()
            if set(value) != set(names):
                raise ValueError(f"{show(value)} does not name the fields {', '.join(names)}")
            value = [value[name] for name in names]
        fields = self.fields
        if not isinstance(value, list | tuple):
            value = [value] * len(fields)  # as NumPy does: one value for every field
        if len(value) != len(fields):
            raise ValueError(f"{show(value)} has {len(value)} values for {len(fields)} fields")
        for field, item in zip(fields, value, strict=True):
            result[field.name] = (
                np.asarray(item, dtype=field.data_type.numpy)
                if field.shape
                else field.data_type.scalar(item)
            )
        return result[()]

    def _from_bytes(self, data: bytes) -> Any:
        if not data:  # zarr-python 2's way to name the record of zeros
            return np.zeros((), self.dtype)[()]
        if len(data) != self.dtype.itemsize:
            raise ValueError(f"{len(data)} bytes are not one record of {self.dtype.itemsize}")
        return np.frombuffer(data, dtype=self.dtype)[0]

    def fill_from_json(self, value: Json) -> Any:
        if isinstance(value, str) and not self.dtype.hasobject:
            # The legacy `structured`: base64 of the packed, little-endian record.
            data = from_base64(value)
            if data is not None and len(data) == self.dtype.itemsize:
                little = np.frombuffer(data, dtype=self.dtype.newbyteorder("<"))
                return little.astype(self.dtype)[0]
        fields = self.fields
        names = {field.name for field in fields}
        if not isinstance(value, dict) or set(value) != names:
            raise self.bad_fill(value, f"an object with the fields {', '.join(sorted(names))}")
        result = np.zeros((), dtype=self.dtype)
        for field in fields:
            try:
                result[field.name] = _from_json(value[field.name], field)
            except MetadataError as error:
                raise error.at(f"field {field.name!r}") from error
        return result[()]

    def fill_to_json(self, value: Any) -> Json:
        record = self.scalar(value)
        return {field.name: _to_json(record[field.name], field) for field in self.fields}


@dataclass(frozen=True)
class ObjectStruct(Struct):
    """A record with a field of objects."""

    variable: ClassVar[bool] = True


def _from_json(value: Json, field: StructField) -> Any:
    """The value of a field; nested lists of values for a sub-array."""
    if not field.shape:
        return field.data_type.fill_from_json(value)
    length, *inner = field.shape
    if not isinstance(value, list) or len(value) != length:
        raise field.data_type.bad_fill(value, f"a list of {length} values")
    row = field._replace(shape=tuple(inner))
    items = [_from_json(item, row) for item in value]
    result = np.empty(field.shape, field.data_type.numpy)
    for index, item in enumerate(items):
        result[index] = item
    return result


def _to_json(value: Any, field: StructField) -> Json:
    if not field.shape:
        return field.data_type.fill_to_json(value)
    row = field._replace(shape=field.shape[1:])
    return [_to_json(item, row) for item in value]


def struct_of(fields: Sequence[StructField]) -> Struct:
    """A packed record of these fields."""
    if not fields:
        raise MetadataError("a record needs at least one field")
    members = [(f.name, f.data_type.numpy, f.shape) for f in fields]
    try:
        dtype = np.dtype([(n, t, s) if s else (n, t) for n, t, s in members])
    except (TypeError, ValueError) as error:
        raise MetadataError(f"no record has these fields: {error}") from error
    plain = struct(dtype)
    told = {field.name: field.data_type for field in plain.fields}
    special = tuple((f.name, f.data_type) for f in fields if told[f.name] != f.data_type)
    return replace(plain, special=special) if special else plain


def struct(dtype: np.dtype[Any]) -> Struct:
    """The type of a structured NumPy dtype, every field checked."""
    from omnizarr.model.dtypes.registry import MAX_ITEM_BYTES, from_numpy

    if dtype.itemsize > MAX_ITEM_BYTES:
        raise UnsupportedError(
            f"a record of {dtype.itemsize} bytes; the largest may have {MAX_ITEM_BYTES}"
        )
    end = 0
    for name in dtype.names or ():
        field, offset, *title = dtype.fields[name] if dtype.fields else (dtype, 0)
        if title:
            raise UnsupportedError(
                f"the field {name!r} has the title {title[0]!r}, which Zarr cannot store; describe"
                f" the type without it, ({name!r}, {field.str!r}), and keep the title in the"
                " attributes",
                what="data_type",
            )
        if offset < end:
            raise UnsupportedError(
                f"the field {name!r} overlaps or precedes the one before it; Zarr stores fields"
                " in the order of their bytes",
                what="data_type",
            )
        if field.itemsize == 0:
            raise UnsupportedError(
                f"the field {name!r} has no size; give its length, as in 'U10'", what="data_type"
            )
        from_numpy(field.base)
        end = offset + field.itemsize
    if not dtype.names or dtype.itemsize == 0:
        raise UnsupportedError("a record without fields has no elements to store", what="data_type")
    return ObjectStruct(dtype) if dtype.hasobject else Struct(dtype)


def from_configuration(name: str, configuration: Mapping[str, Json]) -> Struct:
    """The type of a `data_type` object named `struct`, or `structured` (pairs in a list)."""
    from omnizarr.model.dtypes.registry import from_json

    fields = configuration.get("fields")
    if not isinstance(fields, list) or not fields:
        raise MetadataError(f"{name}: fields must be a list of fields, found {show(fields)}")
    members: list[StructField] = []
    for field in fields:
        if isinstance(field, dict):
            field_name, value = field.get("name"), field.get("data_type")
        elif isinstance(field, list) and len(field) == 2:
            field_name, value = field
        else:
            field_name = value = None
        if not isinstance(field_name, str) or not field_name or value is None:
            raise MetadataError(
                f"{name}: a field must have a name and a data_type, found {show(field)}"
            )
        data_type = from_json(value)
        if data_type.variable:
            raise UnsupportedError(
                f"{name}: the field {field_name!r} has the variable-size type {data_type.name!r}"
            )
        members.append(StructField(field_name, data_type, ()))
    return struct_of(members)


def leaves(dtype: np.dtype[Any]) -> list[np.dtype[Any]]:
    """The dtypes without fields that an element is made of, however deep they are nested."""
    base = dtype.base
    if base.names is None:
        return [base]
    return [leaf for name in base.names for leaf in leaves(base[name])]


# -- padding ------------------------------------------------------------------------------------


def is_padded(dtype: np.dtype[Any]) -> bool:
    """Whether elements have bytes that belong to no field."""
    if dtype.subdtype is not None:
        return is_padded(dtype.base)
    if dtype.names is None:
        return False
    fields = [dtype[name] for name in dtype.names]
    used = sum(field.itemsize for field in fields)
    return used != dtype.itemsize or any(is_padded(field) for field in fields)


def cleared(array: NDArray) -> NDArray:
    """The same with zeros between the fields, where NumPy leaves whatever memory held before."""
    if array.dtype.names is None:
        return array
    result = np.zeros(array.shape, array.dtype)
    for name in array.dtype.names:
        result[name] = cleared(array[name])
    return result
