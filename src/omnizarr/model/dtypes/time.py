"""Points in time and durations: `numpy.datetime64` and `numpy.timedelta64`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import NumpyType, unwrap
from omnizarr.model.grids import NDArray
from omnizarr.model.json import show

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic")
_SPELLINGS = {"\u03bcs": "us", "\u00b5s": "us"}
"""Microseconds with the Greek letter, as the registry permits, and with the sign like it."""
NOT_A_TIME = -(1 << 63)


class Time(NumpyType):
    """A NumPy datetime64 or timedelta64."""

    @property
    def name(self) -> str:
        return "numpy.datetime64" if self.dtype.kind == "M" else "numpy.timedelta64"

    @property
    def configuration(self) -> Mapping[str, Json]:
        unit, scale = np.datetime_data(self.dtype)
        return {"unit": unit, "scale_factor": scale}

    @property
    def zero(self) -> Any:
        return self._of(0)

    @property
    def not_a_time(self) -> Any:
        return self._of(NOT_A_TIME)

    def _of(self, ticks: int) -> Any:
        return np.int64(ticks).view(self.dtype.newbyteorder("="))

    def scalar(self, value: Any) -> Any:
        value = unwrap(value)
        value = getattr(value, "asm8", value)  # pandas' own times
        if isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64):
            if not -(1 << 63) <= int(value) < 1 << 63:
                raise ValueError(f"{show(value)} is outside 64 bits")
            return self._of(int(value))
        if isinstance(value, bool | np.bool_):
            raise ValueError(f"{show(value)} is not a {self.dtype}")
        if isinstance(value, bytes):
            value = value.decode("ascii")
        if self.dtype.kind == "m" and isinstance(value, str) and value != "NaT":
            value = int(value)
        try:
            exact = np.array(value, dtype=self.dtype.newbyteorder("="))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{show(value)} is not a {self.dtype}: {error}") from error
        if exact.ndim:
            raise ValueError(f"{show(value)} is not one {self.dtype}")
        self._check_exact(value, exact)
        return exact.view(self.dtype.newbyteorder("="))[()]  # NumPy drops the scale without a unit

    def _check_exact(self, value: Any, found: NDArray) -> None:
        """Refuse a time that the unit cuts, or that 64 bits of it do not reach."""
        given = value
        if self.dtype.kind == "M" and isinstance(value, str | date):
            given = np.datetime64(value)
        if not isinstance(given, np.datetime64 | np.timedelta64) or np.isnat(found):
            return
        if np.datetime_data(given.dtype)[0] == "generic":
            return
        if isinstance(value, np.generic) and found != given:
            raise ValueError(f"{show(value)} is not a whole number of {self.dtype}")
        if finer(found.dtype, given.dtype) and found.astype(given.dtype) != given:
            raise ValueError(f"{show(value)} is outside what 64 bits of {self.dtype} reach")

    def fill_from_json(self, value: Json) -> Any:
        if value == "NaT":
            return self.not_a_time
        if type(value) is int and -(1 << 63) <= value < 1 << 63:
            return self._of(value)
        raise self.bad_fill(value, 'a 64-bit integer (ticks of the unit) or "NaT"')

    def fill_to_json(self, value: Any) -> Json:
        ticks = int(self.scalar(value).view(np.int64))
        return "NaT" if ticks == NOT_A_TIME else ticks


def finer(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether a unit is shorter than another, so that not every time of that fits into 64 bits."""
    (unit, count), (than, times) = np.datetime_data(one), np.datetime_data(other)
    if "generic" in (unit, than):
        return False
    return UNITS.index(unit) > UNITS.index(than) or (unit == than and count < times)


def from_configuration(name: str, configuration: Mapping[str, Json]) -> Time:
    """The type of a `data_type` object named `numpy.datetime64` or `numpy.timedelta64`."""
    unit = configuration.get("unit")
    scale = configuration.get("scale_factor", 1)
    unit = _SPELLINGS.get(unit, unit) if isinstance(unit, str) else unit
    if not isinstance(unit, str) or unit not in UNITS:
        raise MetadataError(f"{name}: unit must be one of {', '.join(UNITS)}, found {show(unit)}")
    if type(scale) is not int or not 1 <= scale < 1 << 31:
        raise MetadataError(f"{name}: scale_factor must be 1 … 2147483647, found {show(scale)}")
    code = "M8" if name == "numpy.datetime64" else "m8"
    return Time(np.dtype(f"{code}[{scale}{unit}]"))
