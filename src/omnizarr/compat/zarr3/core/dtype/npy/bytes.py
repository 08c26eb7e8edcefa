"""Bytes: of a fixed number, as text or raw, and of any number."""

from __future__ import annotations

import base64
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
    v3_unstable_dtype_warning,
)
from omnizarr.compat.zarr3.core.dtype.npy import common as of
from omnizarr.compat.zarr3.core.dtype.wrapper import D, S

BytesLike: TypeAlias = np.bytes_ | str | bytes | int
NullterminatedBytesJSON_V2: TypeAlias = DTypeConfig_V2[str, None]
NullTerminatedBytesJSON_V3: TypeAlias = NamedConfig[str, dict[str, Any]]
RawBytesJSON_V2: TypeAlias = DTypeConfig_V2[str, None]
RawBytesJSON_V3: TypeAlias = NamedConfig[str, dict[str, Any]]
VariableLengthBytesJSON_V2: TypeAlias = DTypeConfig_V2[str, str]


def _encoded(data: bytes) -> str:
    return base64.standard_b64encode(data).decode("ascii")


def _decoded(data: Any, expected: str) -> bytes:
    if not isinstance(data, str):
        raise TypeError(f"Invalid type: {data}. Expected a {expected}.")
    return base64.standard_b64decode(data.encode("ascii"))


@dataclass(frozen=True, kw_only=True)
class _FixedBytes(HasLength, of.NumpyDType[D, S], HasItemSize):
    """A fixed number of bytes.

    Parameters
    ----------
    length
        Number of bytes.
    """

    _letter: ClassVar[str]

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        return cls(length=dtype.itemsize)

    def to_native_dtype(self) -> Any:
        return np.dtype(f"{self._letter}{self.length}")

    @classmethod
    def _check_json_v2(cls, data: Any) -> bool:
        return check_dtype_spec_no_object_codec_v2(data) and (
            isinstance(data["name"], str)
            and re.match(rf"\|{cls._letter}\d+\Z", data["name"]) is not None
        )

    @classmethod
    def _from_json_v2(cls, data: Any) -> Self:
        if cls._check_json_v2(data):
            return cls(length=int(data["name"][2:]))
        raise cls._refusal(data)

    @classmethod
    def _check_json_v3(cls, data: Any) -> bool:
        return of.configured(data, cls._zarr_v3_name, {"length_bytes"}) and isinstance(
            data["configuration"]["length_bytes"], int
        )

    @classmethod
    def _configured(cls, configuration: Any) -> Self:
        return cls(length=configuration["length_bytes"])

    def _to_json_v3(self) -> Any:
        v3_unstable_dtype_warning(self)
        return {"name": self._zarr_v3_name, "configuration": {"length_bytes": self.length}}

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        return self.to_native_dtype().type(_decoded(data, "base64-encoded string"))

    def to_json_scalar(self, data: object, *, zarr_format: Any) -> str:
        return _encoded(bytes(self.cast_scalar(data)))


@dataclass(frozen=True, kw_only=True)
class NullTerminatedBytes(_FixedBytes["np.dtypes.BytesDType", np.bytes_]):
    """Bytes up to a fixed number; null bytes at the end do not count."""

    dtype_cls = np.dtypes.BytesDType
    _zarr_v3_name: ClassVar[str] = "null_terminated_bytes"
    _letter: ClassVar[str] = "S"

    def _check_scalar(self, data: object) -> bool:
        return isinstance(data, BytesLike)

    def _cast_scalar_unchecked(self, data: Any) -> Any:
        text = str(data) if isinstance(data, int) else data
        text = text.encode("ascii") if isinstance(text, str) else text
        return np.bytes_(text[: self.length])

    def default_scalar(self) -> Any:
        return np.bytes_(b"")


@dataclass(frozen=True, kw_only=True)
class RawBytes(_FixedBytes["np.dtypes.VoidDType", np.void]):
    """A fixed number of bytes, whatever they mean."""

    dtype_cls = np.dtypes.VoidDType
    _zarr_v3_name: ClassVar[str] = "raw_bytes"
    _letter: ClassVar[str] = "V"

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return type(dtype) is cls.dtype_cls and dtype.fields is None

    def _check_scalar(self, data: object) -> bool:
        return isinstance(data, np.bytes_ | str | bytes | np.void)

    def _cast_scalar_unchecked(self, data: Any) -> Any:
        return np.void(data, self.to_native_dtype())

    def default_scalar(self) -> Any:
        return np.void(bytes(self.length))


@dataclass(frozen=True, kw_only=True)
class VariableLengthBytes(of.NumpyDType["np.dtypes.ObjectDType", bytes], HasObjectCodec):
    """Any number of bytes."""

    dtype_cls = np.dtypes.ObjectDType
    _zarr_v3_name: ClassVar[str] = "variable_length_bytes"
    object_codec_id: ClassVar[str] = "vlen-bytes"

    def to_native_dtype(self) -> Any:
        return np.dtype(object)

    @classmethod
    def _check_json_v2(cls, data: Any) -> bool:
        return check_dtype_spec_v2(data) and (
            (data["name"], data["object_codec_id"]) == ("|O", cls.object_codec_id)
        )

    @classmethod
    def _check_json_v3(cls, data: Any) -> bool:
        return data in (cls._zarr_v3_name, "bytes")

    @classmethod
    def _from_json_v2(cls, data: Any) -> Self:
        if cls._check_json_v2(data):
            return cls()
        raise cls._refusal(data)

    def _to_json_v2(self) -> Any:
        return {"name": "|O", "object_codec_id": self.object_codec_id}

    def _to_json_v3(self) -> Any:
        v3_unstable_dtype_warning(self)
        return self._zarr_v3_name

    def _check_scalar(self, data: object) -> bool:
        return isinstance(data, BytesLike)

    def _cast_scalar_unchecked(self, data: Any) -> bytes:
        return data.encode("utf-8") if isinstance(data, str) else bytes(data)

    def default_scalar(self) -> bytes:
        return b""

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> bytes:
        return _decoded(data, "string")

    def to_json_scalar(self, data: Any, *, zarr_format: Any) -> str:
        return _encoded(data)
