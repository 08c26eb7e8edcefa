"""Text of a fixed length: `fixed_length_utf32` (NumPy U) and `null_terminated_bytes` (NumPy S)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import NumpyType, from_base64, from_byte_list, to_base64, unwrap
from omnizarr.model.json import show


class _FixedLength(NumpyType):
    @property
    def configuration(self) -> Mapping[str, Json]:
        return {"length_bytes": self.dtype.itemsize}


class FixedText(_FixedLength):
    @property
    def name(self) -> str:
        return "fixed_length_utf32"

    @property
    def zero(self) -> Any:
        return np.str_("")

    def _fits(self, value: str) -> bool:
        # NumPy drops trailing NULs, so they cannot come back.
        return len(value) * 4 <= self.dtype.itemsize and not value.endswith("\0")

    def scalar(self, value: Any) -> Any:
        value = unwrap(value)
        if type(value) is int and value == 0:  # zarr's traditional default
            return self.zero
        if isinstance(value, bytes):
            value = value.decode("ascii")
        if not isinstance(value, str):
            raise TypeError(f"{show(value)} is not a str")
        if not self._fits(value):
            raise ValueError(f"{show(value)} does not fit {self.dtype.itemsize // 4} characters")
        return np.str_(value)

    def fill_from_json(self, value: Json) -> Any:
        # NULs at the end are padding (registry, "JSON scalar encoding"), and count all the same.
        if isinstance(value, str) and len(value) * 4 <= self.dtype.itemsize:
            return np.str_(value.rstrip("\0"))
        raise self.bad_fill(value, f"a string of at most {self.dtype.itemsize // 4} characters")

    def fill_to_json(self, value: Any) -> Json:
        return str(self.scalar(value))


class FixedBytes(_FixedLength):
    @property
    def name(self) -> str:
        return "null_terminated_bytes"

    @property
    def zero(self) -> Any:
        return np.bytes_(b"")

    def scalar(self, value: Any) -> Any:
        value = unwrap(value)
        if type(value) is int and value == 0:
            return self.zero
        if isinstance(value, str):
            value = value.encode("ascii")
        if not isinstance(value, bytes | bytearray | memoryview):
            raise TypeError(f"{show(value)} is not bytes")
        data = bytes(value).rstrip(b"\0")
        if len(data) > self.dtype.itemsize:
            raise ValueError(f"{show(value)} does not fit {self.dtype.itemsize} bytes")
        return np.bytes_(data)

    def fill_from_json(self, value: Json) -> Any:
        data = from_base64(value) if isinstance(value, str) else from_byte_list(value)
        if data is None or len(data) > self.dtype.itemsize:
            raise self.bad_fill(value, f"base64 of at most {self.dtype.itemsize} bytes")
        return np.bytes_(data.rstrip(b"\0"))

    def fill_to_json(self, value: Any) -> Json:
        return to_base64(bytes(self.scalar(value)))
