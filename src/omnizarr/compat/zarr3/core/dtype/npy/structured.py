"""Records: elements of several named fields."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from omnizarr.compat.zarr3.core.common import NamedConfig, for_format
from omnizarr.compat.zarr3.core.dtype.common import (
    DTypeConfig_V2,
    HasItemSize,
    check_dtype_spec_no_object_codec_v2,
    check_structured_dtype_name_v2,
    v3_unstable_dtype_warning,
)
from omnizarr.compat.zarr3.core.dtype.npy import common as of
from omnizarr.compat.zarr3.core.dtype.problems import DataTypeValidationError, ZarrUserWarning
from omnizarr.compat.zarr3.core.dtype.wrapper import ZDType

StructuredJSON_V2: TypeAlias = DTypeConfig_V2[Any, None]
StructuredJSON_V3: TypeAlias = NamedConfig[str, dict[str, Any]]
StructJSON_V3: TypeAlias = NamedConfig[str, dict[str, Any]]
Field: TypeAlias = tuple[str, ZDType[Any, Any]]


def _unsupported(dtype: np.dtype[Any]) -> str | None:
    """What of a structured dtype has no data type; None if all has one."""
    for name in dtype.names or ():
        field, _, *title = dtype.fields[name]  # type: ignore[index]  # it has names
        if title:
            return f"field {name!r} has a title ({title[0]!r})"
        if field.subdtype is not None:
            return f"field {name!r} is a subarray with shape {field.shape}"
        below = _unsupported(field)
        if below is not None:
            return f"within field {name!r}: {below}"
    return None


def _read_field(data: Any, zarr_format: Any) -> ZDType[Any, Any]:
    from omnizarr.compat.zarr3.core.dtype import get_data_type_from_json

    try:
        return get_data_type_from_json(data, zarr_format=zarr_format)
    except DataTypeValidationError:
        raise
    except ValueError as error:
        raise DataTypeValidationError(str(error)) from error


@dataclass(frozen=True, kw_only=True)
class Structured(of.NumpyDType["np.dtypes.VoidDType", np.void], HasItemSize):
    """Records, in zarr-python's first spelling for format 3.

    Parameters
    ----------
    fields
        The name and the data type of each field.
    """

    dtype_cls = np.dtypes.VoidDType
    _zarr_v3_name: ClassVar[str] = "structured"
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        if not self.fields:
            raise ValueError(f"must have at least one field. Got {self.fields!r}")

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return isinstance(dtype, cls.dtype_cls) and dtype.fields is not None

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        from numpy.lib.recfunctions import repack_fields

        from omnizarr.compat.zarr3.core.dtype import get_data_type_from_native_dtype

        reason = _unsupported(dtype)
        if reason is not None:
            raise ValueError(
                f"Cannot convert the structured data type {dtype}: {reason}. Field titles and"
                " subarray fields are not supported."
            )
        packed: Any = repack_fields(dtype, recurse=True)
        if packed != dtype:
            warnings.warn(
                "The structured dtype is converted to a packed field layout; field offsets and"
                " itemsize may change.",
                ZarrUserWarning,
                stacklevel=4,
            )
        types = [(name, packed.fields[name][0]) for name in packed.names]
        return cls(fields=tuple((n, get_data_type_from_native_dtype(kind)) for n, kind in types))

    def to_native_dtype(self) -> Any:
        return np.dtype([(name, kind.to_native_dtype()) for name, kind in self.fields])

    @classmethod
    def _check_json_v2(cls, data: Any) -> bool:
        return check_dtype_spec_no_object_codec_v2(data) and (
            not isinstance(data["name"], str) and check_structured_dtype_name_v2(data["name"])
        )

    @classmethod
    def _from_json_v2(cls, data: Any) -> Self:
        if not cls._check_json_v2(data):
            raise cls._refusal(data)
        fields = [
            (name, _read_field({"name": kind, "object_codec_id": None}, 2))
            for name, kind in data["name"]
        ]
        return cls(fields=tuple(fields))

    @classmethod
    def _check_json_v3(cls, data: Any) -> bool:
        return of.configured(data, cls._zarr_v3_name, {"fields"})

    @classmethod
    def _configured(cls, configuration: Any) -> Self:
        pairs: Sequence[Any] = [
            (field["name"], field["data_type"]) if isinstance(field, dict) else field
            for field in configuration["fields"]
        ]
        return cls(fields=tuple((name, _read_field(kind, 3)) for name, kind in pairs))

    def _to_json_v2(self) -> Any:
        fields = [[name, kind.to_json(zarr_format=2)["name"]] for name, kind in self.fields]
        return {"name": fields, "object_codec_id": None}

    def _to_json_v3(self) -> Any:
        v3_unstable_dtype_warning(self)
        fields = [[name, kind.to_json(zarr_format=3)] for name, kind in self.fields]
        return {"name": self._zarr_v3_name, "configuration": {"fields": fields}}

    def _check_scalar(self, data: object) -> bool:
        return isinstance(data, bytes | list | tuple | int | np.void)

    def _cast_scalar_unchecked(self, data: Any) -> Any:
        native = self.to_native_dtype()
        if isinstance(data, bytes):
            return np.frombuffer(data, dtype=native)[0]
        return np.array([tuple(data) if isinstance(data, list) else data], dtype=native)[0]

    def default_scalar(self) -> Any:
        return np.zeros(1, dtype=self.to_native_dtype())[0]

    def _stored(self, zarr_format: Any) -> np.dtype[Any]:
        """The dtype of a scalar's bytes in a document."""
        native = self.to_native_dtype()
        found: np.dtype[Any] = for_format(
            zarr_format, lambda: native, lambda: native.newbyteorder("<")
        )
        return found

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        if not of.check_json_str(data):
            raise TypeError(f"Invalid type: {data}. Expected a string.")
        stored = np.frombuffer(
            of.bytes_from_json(data, zarr_format=zarr_format), dtype=self._stored(zarr_format)
        )
        return stored.astype(self.to_native_dtype())[0]

    def to_json_scalar(self, data: object, *, zarr_format: Any) -> Any:
        stored = np.asarray(self.cast_scalar(data)).astype(self._stored(zarr_format))
        return of.bytes_to_json(stored.tobytes(), zarr_format)

    def has_multi_byte_fields(self) -> bool:
        """Tell whether a field has a byte order."""
        return any(isinstance(kind, HasItemSize) and kind.item_size > 1 for _, kind in self.fields)


@dataclass(frozen=True, kw_only=True)
class Struct(Structured):
    """Records, as their specification for format 3 spells them.

    Parameters
    ----------
    fields
        The name and the data type of each field.
    """

    _zarr_v3_name: ClassVar[str] = "struct"

    @classmethod
    def _check_json_v3(cls, data: Any) -> bool:
        return any(of.configured(data, name, {"fields"}) for name in ("struct", "structured"))

    def _to_json_v3(self) -> Any:
        fields = [{"name": n, "data_type": kind.to_json(zarr_format=3)} for n, kind in self.fields]
        return {"name": self._zarr_v3_name, "configuration": {"fields": fields}}

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        if isinstance(data, dict):
            values = [
                kind.from_json_scalar(data[name], zarr_format=zarr_format)
                if name in data
                else kind.default_scalar()
                for name, kind in self.fields
            ]
            return self._cast_scalar_unchecked(tuple(values))
        if of.check_json_str(data):
            return super().from_json_scalar(data, zarr_format=zarr_format)
        raise TypeError(f"Invalid type: {data}. Expected a dict or base64-encoded string.")

    def to_json_scalar(self, data: object, *, zarr_format: Any) -> Any:
        scalar = self.cast_scalar(data)

        def members() -> Any:
            return {
                name: kind.to_json_scalar(scalar[name], zarr_format=zarr_format)
                for name, kind in self.fields
            }

        whole = super().to_json_scalar
        return for_format(zarr_format, lambda: whole(data, zarr_format=zarr_format), members)
