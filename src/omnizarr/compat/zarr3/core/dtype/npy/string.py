"""Text, of a fixed length or of any."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from omnizarr.compat.zarr3.core.common import NamedConfig
from omnizarr.compat.zarr3.core.dtype.common import (
    DTypeConfig_V2,
    HasItemSize,
    HasLength,
    HasObjectCodec,
    check_dtype_spec_no_object_codec_v2,
    check_dtype_spec_v2,
)
from omnizarr.compat.zarr3.core.dtype.npy import common as of
from omnizarr.compat.zarr3.core.dtype.npy.numbers import _Wide

FixedLengthUTF32JSON_V2: TypeAlias = DTypeConfig_V2[str, None]
FixedLengthUTF32JSON_V3: TypeAlias = NamedConfig[str, dict[str, Any]]
VariableLengthUTF8JSON_V2: TypeAlias = DTypeConfig_V2[str, str]
_FIXED = re.compile(r"[><]U\d+\Z")


@dataclass(frozen=True, kw_only=True)
class FixedLengthUTF32(_Wide, HasLength, of.NumpyDType["np.dtypes.StrDType", np.str_], HasItemSize):
    """Text of a fixed number of code points, four bytes each.

    Parameters
    ----------
    length
        Number of code points.
    endianness
        Byte order.
    """

    dtype_cls = np.dtypes.StrDType
    _zarr_v3_name: ClassVar[str] = "fixed_length_utf32"
    code_point_bytes: ClassVar[int] = 4

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        order = of.get_endianness_from_numpy_dtype(dtype)
        return cls(length=dtype.itemsize // cls.code_point_bytes, endianness=order)

    def to_native_dtype(self) -> Any:
        return np.dtype(f"{of.endianness_to_numpy_str(self.endianness)}U{self.length}")

    @classmethod
    def _check_json_v2(cls, data: Any) -> bool:
        return check_dtype_spec_no_object_codec_v2(data) and (
            isinstance(data["name"], str) and _FIXED.match(data["name"]) is not None
        )

    @classmethod
    def _check_json_v3(cls, data: Any) -> bool:
        return of.configured(data, cls._zarr_v3_name, {"length_bytes"}) and isinstance(
            data["configuration"]["length_bytes"], int
        )

    @classmethod
    def _configured(cls, configuration: Any) -> Self:
        return cls(length=configuration["length_bytes"] // cls.code_point_bytes)

    def _to_json_v3(self) -> Any:
        return {"name": self._zarr_v3_name, "configuration": {"length_bytes": self.item_size}}

    def _check_scalar(self, data: object) -> bool:
        return True

    def _cast_scalar_unchecked(self, data: Any) -> Any:
        return np.str_(str(data)[: self.length])

    def default_scalar(self) -> Any:
        return np.str_("")

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        if of.check_json_str(data):
            return np.str_(data)
        raise TypeError(f"Invalid type: {data}. Expected a string.")

    def to_json_scalar(self, data: object, *, zarr_format: Any) -> str:
        return str(data)


@dataclass(frozen=True, kw_only=True)
class VariableLengthUTF8(of.NumpyDType["np.dtypes.StringDType", str], HasObjectCodec):
    """Text of any length."""

    dtype_cls = np.dtypes.StringDType
    _zarr_v3_name: ClassVar[str] = "string"
    object_codec_id: ClassVar[str] = "vlen-utf8"

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        if hasattr(dtype, "na_object"):
            raise ValueError(
                f"Zarr data type resolution from {dtype} failed: a StringDType with `na_object`"
                " is not supported."
            )
        return cls()

    def to_native_dtype(self) -> Any:
        return np.dtypes.StringDType()

    @classmethod
    def _check_json_v2(cls, data: Any) -> bool:
        return check_dtype_spec_v2(data) and (
            (data["name"], data["object_codec_id"]) == ("|O", cls.object_codec_id)
        )

    @classmethod
    def _from_json_v2(cls, data: Any) -> Self:
        if cls._check_json_v2(data):
            return cls()
        raise cls._refusal(data)

    def _to_json_v2(self) -> Any:
        return {"name": "|O", "object_codec_id": self.object_codec_id}

    def _check_scalar(self, data: object) -> bool:
        return True

    def _cast_scalar_unchecked(self, data: Any) -> str:
        return str(data)

    def default_scalar(self) -> str:
        return ""

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> str:
        if isinstance(data, int | str | float):
            return str(data)
        raise TypeError(f"Invalid type: {data}. Expected a string or number.")

    def to_json_scalar(self, data: object, *, zarr_format: Any) -> str:
        return str(data)
