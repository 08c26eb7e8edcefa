"""NetCDF-3 files as groups: what netCDF4 and scipy write, and damaged headers."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.api.virtual.files import Place
from omnizarr.api.virtual.netcdf3 import scan
from omnizarr.errors import MetadataError, ZarrError

FORMATS = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA")
RANDOM = np.random.default_rng(4)


def write(path: Path, form: str, records: int = 4, more: bool = True) -> dict[str, Any]:
    """A file with variables of every type, with and without records."""
    netcdf = import_module("netCDF4")
    types = ["i1", "i2", "i4", "f4", "f8", "S1"]
    if form.endswith("DATA"):
        types += ["u1", "u2", "u4", "i8", "u8"]
    with netcdf.Dataset(path, "w", format=form) as file:
        file.set_auto_maskandscale(False)
        file.title, file.numbers = "tïtle", np.array([1.5, 2.5])
        for name, length in (("time", None), ("x", 3), ("y", 5)):
            file.createDimension(name, length)
        time = file.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        time[:] = np.arange(records)
        for dtype in types if more else ["i2"]:
            shape = (records, 3, 5)
            data = RANDOM.integers(0, 100, shape).astype(dtype)
            file.createVariable(f"r_{dtype}", dtype, ("time", "x", "y"))[:] = data
            if more:
                file.createVariable(f"f_{dtype}", dtype, ("y", "x"))[:] = data[0].T
        if more:
            filled = file.createVariable("filled", "i2", ("time",), fill_value=-5)
            filled.scale_factor, filled.valid_range = 0.5, np.array([0, 9], "i2")
            filled[:] = np.arange(records)
            file.createVariable("scalar", "f4", ())[...] = 2.5
    with netcdf.Dataset(path) as file:
        file.set_auto_mask(False)
        file.set_auto_scale(False)
        return {name: np.asarray(variable[...]) for name, variable in file.variables.items()}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("more", [True, False], ids=["many", "one record variable"])
def test_what_netcdf_writes(form: str, more: bool, tmp_path: Path) -> None:
    path = tmp_path / "data.nc"
    expected = write(path, form, more=more)
    root = omnizarr.virtualize(path)
    assert sorted(root) == sorted(expected)
    for name, values in expected.items():
        own = root[name][...]
        assert own.dtype.newbyteorder("=") == values.dtype.newbyteorder("=")
        np.testing.assert_array_equal(own, values, err_msg=name)
    assert dict(root.attrs) == {"title": "tïtle", "numbers": [1.5, 2.5]}
    assert root["r_i2"].dimension_names == ("time", "x", "y")
    if more:
        assert root["filled"].fill_value == -5
        assert root["filled"].attrs["scale_factor"] == 0.5
        assert root["filled"].attrs["valid_range"] == [0, 9]


def test_what_scipy_writes(tmp_path: Path) -> None:
    path = tmp_path / "data.nc"
    with import_module("scipy.io").netcdf_file(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 7)
        data = RANDOM.random((6, 7)).astype("f4")
        file.createVariable("a", "f4", ("time", "x"))[:] = data
        file.createVariable("b", "i2", ("x",))[:] = np.arange(7)
    root = omnizarr.virtualize(path)
    np.testing.assert_array_equal(root["a"][...], data)
    np.testing.assert_array_equal(root["b"][...], np.arange(7))


def test_damaged_headers_are_refused_or_read(tmp_path: Path) -> None:
    """No damage makes anything but an error of ours, a hang or much memory."""
    path = tmp_path / "data.nc"
    for form in FORMATS:
        write(path, form, records=2)
        whole = path.read_bytes()
        header = min(len(whole), 1500)
        refused = 0
        for attempt in range(100):
            data = bytearray(whole)
            for _ in range(1 + attempt % 4):
                at = int(RANDOM.integers(4, header))
                data[at] = RANDOM.choice([0, 1, 0x7F, 0x80, 0xFF, int(RANDOM.integers(256))])
            path.write_bytes(data)
            try:
                scan(Place(str(path), {}), frozenset(), frozenset())
            except ZarrError:
                refused += 1
        assert refused > 10
        for size in range(0, len(whole) - 8, 41):
            path.write_bytes(whole[:size])
            with pytest.raises(ZarrError):
                scan(Place(str(path), {}), frozenset(), frozenset())


def test_more_records_than_the_file_has(tmp_path: Path) -> None:
    path = tmp_path / "data.nc"
    write(path, FORMATS[0])
    data = bytearray(path.read_bytes())
    data[4:8] = b"\x00\xff\xff\xff"
    path.write_bytes(data)
    with pytest.raises(MetadataError, match="truncated"):
        omnizarr.virtualize(path)
    data[4:8] = b"\xff\xff\xff\xff"  # streaming: as many as there are
    path.write_bytes(data)
    assert omnizarr.virtualize(path)["r_i2"].shape == (4, 3, 5)
