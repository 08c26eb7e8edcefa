"""Raw bits: `r<bits>` of final v3, elements of a fixed number of uninterpreted bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import NumpyType, element, from_base64, from_byte_list, unwrap
from omnizarr.model.json import show
from omnizarr.runtime.properties import cached_property


class Raw(NumpyType):
    """A NumPy void without fields."""

    @property
    def name(self) -> str:
        return f"r{8 * self.dtype.itemsize}"

    @cached_property  # shared by all arrays of the type, however large it is
    def zero(self) -> Any:
        return self._of(bytes(self.dtype.itemsize))

    def _of(self, data: bytes) -> Any:
        return element(data, self.dtype)

    def scalar(self, value: Any) -> Any:
        value = unwrap(value)
        if type(value) is int and value == 0:  # zarr's traditional default
            return self.zero
        if isinstance(value, np.void):
            value = value.tobytes()
        if isinstance(value, bytes | bytearray | memoryview):
            data = bytes(value)
            if len(data) <= self.dtype.itemsize:
                return self._of(data.ljust(self.dtype.itemsize, b"\0"))
        raise ValueError(f"{show(value)} is not {self.dtype.itemsize} bytes")

    def fill_from_json(self, value: Json) -> Any:
        # The core text has the list; zarr-python's `raw_bytes` has base64.
        data = from_base64(value) if isinstance(value, str) else from_byte_list(value)
        if data is None or len(data) != self.dtype.itemsize:
            raise self.bad_fill(value, f"a list of {self.dtype.itemsize} byte values, or base64")
        return self._of(data)

    def fill_to_json(self, value: Any) -> Json:
        return list(self.scalar(value).tobytes())
