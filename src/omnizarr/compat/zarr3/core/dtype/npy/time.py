"""Points in time and durations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, Self, TypeAlias

import numpy as np

from omnizarr.compat.zarr3.core.common import NamedRequiredConfig
from omnizarr.compat.zarr3.core.dtype.common import (
    DTypeConfig_V2,
    HasItemSize,
    check_dtype_spec_no_object_codec_v2,
)
from omnizarr.compat.zarr3.core.dtype.npy import common as of
from omnizarr.compat.zarr3.core.dtype.npy.numbers import _Wide
from omnizarr.compat.zarr3.core.dtype.wrapper import D, S

TimeDeltaLike: TypeAlias = str | int | bytes | np.timedelta64 | timedelta | None
DateTimeLike: TypeAlias = str | int | bytes | np.datetime64 | datetime | None
DateTime64JSON_V2: TypeAlias = DTypeConfig_V2[str, None]
TimeDelta64JSON_V2: TypeAlias = DTypeConfig_V2[str, None]
DateTime64JSON_V3: TypeAlias = NamedRequiredConfig[str, dict[str, Any]]
TimeDelta64JSON_V3: TypeAlias = NamedRequiredConfig[str, dict[str, Any]]
_MOST = 2**31


@dataclass(frozen=True, kw_only=True)
class TimeDTypeBase(_Wide, of.NumpyDType[D, S], HasItemSize, Generic[D, S]):
    """A count of units of time.

    Parameters
    ----------
    endianness
        Byte order.
    unit
        NumPy's name of the unit.
    scale_factor
        How many units are counted as one.
    """

    _numpy_name: ClassVar[str]
    scale_factor: int = 1
    unit: str = "generic"

    def __post_init__(self) -> None:
        if self.scale_factor < 1:
            raise ValueError(f"scale_factor must be > 0, got {self.scale_factor}.")
        if self.scale_factor >= _MOST:
            raise ValueError(f"scale_factor must be < {_MOST}, got {self.scale_factor}.")
        if self.unit not in of.DATETIME_UNIT:
            raise ValueError(f"unit must be one of {of.DATETIME_UNIT}, got {self.unit!r}.")
        if self.unit == "μs":
            object.__setattr__(self, "unit", "us")

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        unit, scale = np.datetime_data(dtype)
        order = of.get_endianness_from_numpy_dtype(dtype)
        return cls(unit=unit, scale_factor=scale, endianness=order)

    def to_native_dtype(self) -> Any:
        name = f"{self._numpy_name}[{self.scale_factor}{self.unit}]"
        return np.dtype(name).newbyteorder(self.endianness)

    @classmethod
    def _check_json_v2(cls, data: Any) -> bool:
        if not check_dtype_spec_no_object_codec_v2(data) or not isinstance(data["name"], str):
            return False
        name = data["name"]
        if not name.startswith(cls._zarr_v2_names):
            return False
        return len(name) == 3 or (name[-1] == "]" and name[4:-1].endswith(of.DATETIME_UNIT))

    @classmethod
    def _check_json_v3(cls, data: Any) -> bool:
        return of.configured(data, cls._zarr_v3_name, {"unit", "scale_factor"})

    @classmethod
    def _configured(cls, configuration: Any) -> Self:
        return cls(unit=configuration["unit"], scale_factor=configuration["scale_factor"])

    def _to_json_v2(self) -> Any:
        name = self.to_native_dtype().str
        if self.unit == "generic" and self.scale_factor != 1:
            name += f"[{self.scale_factor}generic]"  # which NumPy leaves out
        return {"name": name, "object_codec_id": None}

    def _to_json_v3(self) -> Any:
        options = {"unit": self.unit, "scale_factor": self.scale_factor}
        return {"name": self._zarr_v3_name, "configuration": options}

    def _cast_scalar_unchecked(self, data: Any) -> Any:
        if isinstance(data, int):
            native = self.to_native_dtype().newbyteorder("=")
            return np.int64(data).view(native)
        if isinstance(data, np.datetime64 | np.timedelta64) and np.isnat(data):
            data = "NaT"
        return self.to_native_dtype().type(data, f"{self.scale_factor}{self.unit}")

    def default_scalar(self) -> Any:
        return self._cast_scalar_unchecked("NaT")

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        if of.check_json_int(data) or data == "NaT":
            return self._cast_scalar_unchecked(data)
        raise TypeError(f"Invalid type: {data}. Expected an integer.")

    def to_json_scalar(self, data: Any, *, zarr_format: Any) -> int:
        return int(data.view(np.int64))


@dataclass(frozen=True, kw_only=True)
class TimeDelta64(TimeDTypeBase["np.dtypes.TimeDelta64DType", np.timedelta64]):
    """Durations."""

    dtype_cls = np.dtypes.TimeDelta64DType
    _zarr_v3_name: ClassVar[str] = "numpy.timedelta64"
    _zarr_v2_names: ClassVar[tuple[str, ...]] = (">m8", "<m8")
    _numpy_name: ClassVar[str] = "timedelta64"

    def _check_scalar(self, data: object) -> bool:
        return isinstance(data, TimeDeltaLike)


@dataclass(frozen=True, kw_only=True)
class DateTime64(TimeDTypeBase["np.dtypes.DateTime64DType", np.datetime64]):
    """Points in time."""

    dtype_cls = np.dtypes.DateTime64DType
    _zarr_v3_name: ClassVar[str] = "numpy.datetime64"
    _zarr_v2_names: ClassVar[tuple[str, ...]] = (">M8", "<M8")
    _numpy_name: ClassVar[str] = "datetime64"

    def _check_scalar(self, data: object) -> bool:
        return isinstance(data, DateTimeLike)
