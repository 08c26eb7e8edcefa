"""Records: `struct` of the v3 registry, and NumPy's structured dtypes in general.

A field may be any fixed-size type, another record, and (in format 2 only) a sub-array, an object
or separated from its neighbour by padding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import DataType, from_base64, unwrap
from omnizarr.model.json import show


class Field(NamedTuple):
    name: str
    data_type: DataType
    shape: tuple[int, ...]
    """Empty unless the field holds a sub-array."""


@dataclass(frozen=True)
class Struct(DataType):
    dtype: np.dtype[Any]

    @property
    def name(self) -> str:
        return "struct"

    @property
    def fields(self) -> tuple[Field, ...]:
        from omnizarr.model.dtypes.registry import from_numpy

        found = []
        for name in self.dtype.names or ():
            dtype, shape = self.dtype[name], ()
            if dtype.subdtype is not None:
                dtype, shape = dtype.subdtype
            found.append(Field(name, from_numpy(dtype), shape))
        return tuple(found)

    @property
    def configuration(self) -> Mapping[str, Json]:
        fields = []
        for field in self.fields:
            if field.shape:
                raise UnsupportedError(
                    f"the field {field.name!r} holds a sub-array of shape {field.shape};"
                    " the data type 'struct' has no such fields, only format 2 has"
                )
            fields.append({"name": field.name, "data_type": field.data_type.json})
        return {"fields": fields}

    @property
    def numpy(self) -> np.dtype[Any]:
        return self.dtype

    @property
    def native(self) -> Struct:
        """Native byte order in every field, and no padding between them."""
        return struct_of([(f.name, f.data_type.native.numpy, f.shape) for f in self.fields])

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
                result[field.name] = field.data_type.fill_from_json(value[field.name])
            except MetadataError as error:
                raise error.at(f"field {field.name!r}") from error
        return result[()]

    def fill_to_json(self, value: Any) -> Json:
        record = self.scalar(value)
        return {f.name: f.data_type.fill_to_json(record[f.name]) for f in self.fields}


@dataclass(frozen=True)
class ObjectStruct(Struct):
    """A record with a field of objects."""

    variable: ClassVar[bool] = True


def struct_of(fields: list[tuple[str, np.dtype[Any], tuple[int, ...]]]) -> Struct:
    """A packed record of these fields."""
    if not fields:
        raise MetadataError("a record needs at least one field")
    try:
        dtype = np.dtype([(n, t, s) if s else (n, t) for n, t, s in fields])
    except (TypeError, ValueError) as error:
        raise MetadataError(f"no record has these fields: {error}") from error
    return struct(dtype)


def struct(dtype: np.dtype[Any]) -> Struct:
    """The type of a structured NumPy dtype, every field checked."""
    from omnizarr.model.dtypes.registry import from_numpy

    end = 0
    for name in dtype.names or ():
        field, offset, *title = dtype.fields[name] if dtype.fields else (dtype, 0)
        if title:
            raise UnsupportedError(f"the field {name!r} has a title, which Zarr cannot store")
        if offset < end:
            raise UnsupportedError(
                f"the field {name!r} overlaps or precedes the one before it; Zarr stores fields"
                " in the order of their bytes"
            )
        if field.itemsize == 0:
            raise UnsupportedError(f"the field {name!r} has no size; give its length, as in 'U10'")
        from_numpy(field.base)
        end = offset + field.itemsize
    if not dtype.names or dtype.itemsize == 0:
        raise UnsupportedError("a record without fields has no elements to store")
    return ObjectStruct(dtype) if dtype.hasobject else Struct(dtype)


def from_configuration(name: str, configuration: Mapping[str, Json]) -> Struct:
    """The type of a `data_type` object named `struct`, or `structured` (pairs in a list)."""
    from omnizarr.model.dtypes.registry import from_json

    fields = configuration.get("fields")
    if not isinstance(fields, list) or not fields:
        raise MetadataError(f"{name}: fields must be a list of fields, found {show(fields)}")
    members: list[tuple[str, np.dtype[Any], tuple[int, ...]]] = []
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
        members.append((field_name, data_type.numpy, ()))
    return struct_of(members)
