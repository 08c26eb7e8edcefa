"""What truth values and numbers share: their names, and byte orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Self

import numpy as np

from omnizarr.compat.zarr3.core.dtype.common import HasEndianness, HasItemSize
from omnizarr.compat.zarr3.core.dtype.npy import common as of
from omnizarr.compat.zarr3.core.dtype.wrapper import D, S


@dataclass(frozen=True, kw_only=True)
class _Number(of.NumpyDType[D, S], HasItemSize, Generic[D, S]):
    """A data type whose names are NumPy's."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "dtype_cls" in cls.__dict__:
            native = cls.dtype_cls()
            orders = "|" if native.itemsize == 1 else "><"
            cls._zarr_v3_name = native.name
            cls._zarr_v2_names = tuple(order + native.str[1:] for order in orders)


@dataclass(frozen=True, kw_only=True)
class _Byte:
    """A number of one byte."""

    def to_native_dtype(self) -> Any:
        return self.dtype_cls()  # type: ignore[attr-defined]  # a mixin


@dataclass(frozen=True, kw_only=True)
class _Wide(HasEndianness):
    """A number of several bytes, in a byte order."""

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        return cls(endianness=of.get_endianness_from_numpy_dtype(dtype))

    def to_native_dtype(self) -> Any:
        mark = of.endianness_to_numpy_str(self.endianness)
        return self.dtype_cls().newbyteorder(mark)  # type: ignore[attr-defined]  # a mixin
