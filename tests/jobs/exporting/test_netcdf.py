"""NetCDF-4 files that `export` writes, as netCDF-C and xarray read them, and the way back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray
from hypothesis import given

import omnizarr
from omnizarr.errors import MetadataError, ObstaclesError
from tests.jobs.exporting.sources import NUMBERS, TEXTS, arrays, attributes, plain
from tests.jobs.exporting.test_hdf5 import FEW, numbered

__all__ = ["numbered"]


@FEW
@given(source=arrays(NUMBERS + TEXTS))
def test_netcdf_c_reads_what_is_written_and_it_comes_back(
    source: tuple[Any, np.ndarray[Any, Any]], numbered: Any
) -> None:
    root, values = source
    folder = next(numbered)
    folder.mkdir()
    array = root["a"]
    omnizarr.export(root, folder / "x.nc", verify=True)
    with netCDF4.Dataset(folder / "x.nc") as file:
        found = file["a"]
        found.set_auto_maskandscale(False)
        found.set_auto_chartostring(values.dtype.kind == "S")
        own = {name: plain(found.getncattr(name)) for name in found.ncattrs()}
        fill = own.pop("_FillValue", None)
        assert own == attributes(array)
        names = found.dimensions[: values.ndim]
        if array.dims is not None:
            assert names == array.dims
        assert [file.dimensions[name].size for name in names] == list(values.shape)
        if values.dtype.kind == "S":
            chars = np.asarray(found[...])
            assert chars.reshape(-1).view(values.dtype).reshape(values.shape).tolist() == (
                values.tolist()
            )
        elif values.size:
            assert np.asarray(found[...]).tolist() == values.tolist() or values.dtype.kind == "f"
            if values.dtype.kind == "f":
                np.testing.assert_array_equal(found[...], values)
        assert fill is None or fill == array.fill_value
    if values.dtype.kind == "S":
        return
    omnizarr.convert(folder / "x.nc", folder / "x.zarr")
    back = omnizarr.open(folder / "x.zarr", mode="r")["a"]
    np.testing.assert_array_equal(back[...], values)
    assert array.dims is None or back.dims == array.dims


def sea() -> Any:
    root = omnizarr.group(attributes={"title": "sea", "empty": "", "texts": ["a", "ä"]})
    root.create_array(
        "time", data=np.arange(5, dtype="i4"), dimension_names=["time"],
        attributes={"units": "days since 2000-01-01", "calendar": "standard"},
    )  # fmt: skip
    root.create_array(
        "t", data=np.arange(-1, 59, dtype="i2").reshape(5, 12), chunks=(2, 12),
        dimension_names=["time", "x"],
        attributes={
            "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": -1, "valid_range": [0, 100],
            "coordinates": "lon",
        },
    )  # fmt: skip
    root.create_array("lon", data=np.arange(12.0), dimension_names=["x"])
    root.create_array("deep/er/t", data=np.arange(5, dtype="u8"), dimension_names=["time"])
    root.create_array("deep/y", data=np.arange(7, dtype="f4"), dimension_names=["y"])
    root.create_array("deep/yy", data=np.ones((7, 4, 4)), dimension_names=["y", None, None])
    root.create_array("wet", data=np.array([True, False]), dimension_names=["two"])
    root.create_array("when", data=np.array(["2020-01-01", "NaT"], "M8[s]"),
                      dimension_names=["two"])  # fmt: skip
    root.create_array("nothing", shape=(0, 3), dtype="f4", dimension_names=["none", "three"])
    root.create_array("scalar", data=np.array(2.5))
    return root


def test_the_data_model_is_that_of_netcdf(tmp_path: Path) -> None:
    root = sea()
    omnizarr.export(root, tmp_path / "x.nc", verify=True, unlimited=["time"])
    with netCDF4.Dataset(tmp_path / "x.nc") as file:
        assert file.data_model == "NETCDF4"
        assert (file.title, file.empty, file.texts) == ("sea", "", ["a", "ä"])
        assert {name: len(each) for name, each in file.dimensions.items() if "phony" not in name
                } == {"time": 5, "x": 12, "two": 2, "none": 0, "three": 3}  # fmt: skip
        assert file.dimensions["time"].isunlimited() and not file.dimensions["x"].isunlimited()
        assert "x" not in file.variables and set(file.groups) == {"deep"}
        t = file["t"]
        assert t.dimensions == ("time", "x") and t.chunking() == [2, 12]
        assert t.filters()["zlib"] and t.filters()["shuffle"]
        assert t._FillValue.dtype == t.valid_range.dtype == np.int16
        assert t.scale_factor.dtype == np.float64
        assert t[0, 0] is np.ma.masked and t[0, 1] == 1.0 and t[4, 10] == 29.5
        deep = file["deep"]
        assert deep["er"]["t"].dimensions == ("time",) and "time" not in deep["er"].dimensions
        assert deep["yy"].dimensions[0] == "y" and len(set(deep["yy"].dimensions)) == 3


def test_xarray_decodes_it(tmp_path: Path) -> None:
    omnizarr.export(sea(), tmp_path / "x.nc")
    with xarray.open_dataset(tmp_path / "x.nc", engine="netcdf4") as found:
        assert set(found.coords) == {"time", "lon"} and found["time"].dt.year[0] == 2000
        assert np.isnan(found["t"][0, 0]) and found["t"][0, 1] == 1.0
        assert found["wet"].dtype == bool and found["wet"].values.tolist() == [True, False]
        assert str(found["when"].values[0]).startswith("2020-01-01")
        assert np.isnat(found["when"].values[1])


def test_netcdf_c_appends_to_it(tmp_path: Path) -> None:
    """Which it refuses where the order of creation is not kept."""
    omnizarr.export(sea(), tmp_path / "x.nc", unlimited=["time"])
    with netCDF4.Dataset(tmp_path / "x.nc", "a") as file:
        file["time"][5] = 9
        file["t"][5] = np.arange(12.0)
        file.createVariable("new", "f4", ("x",))[:] = 1
        for number in range(20):
            file.setncattr(f"more{number}", number)
    with netCDF4.Dataset(tmp_path / "x.nc") as file:
        assert file["t"].shape == (6, 12) and file["time"][5] == 9 and file.more19 == 19


def test_it_comes_back_with_its_dimensions(tmp_path: Path) -> None:
    omnizarr.export(sea(), tmp_path / "x.nc", unlimited=["time"])
    omnizarr.convert(tmp_path / "x.nc", tmp_path / "x.zarr")
    root, back = sea(), omnizarr.open(tmp_path / "x.zarr", mode="r")
    assert back.attrs.asdict() == root.attrs.asdict()
    for name in ("time", "t", "lon", "deep/er/t", "deep/y", "nothing", "scalar"):
        np.testing.assert_array_equal(back[name][...], root[name][...])
        assert (back[name].dims or ()) == (root[name].dims or ())
    assert back["t"].chunks == (2, 12)
    omnizarr.export(back, tmp_path / "y.nc", verify=True)


def test_a_variable_called_like_a_dimension_that_it_does_not_have(tmp_path: Path) -> None:
    root = omnizarr.group()
    root.create_array("a", data=np.arange(3), dimension_names=["x"])
    root.create_array("x", data=np.array(7.5))
    omnizarr.export(root, tmp_path / "x.nc", verify=True)
    with netCDF4.Dataset(tmp_path / "x.nc") as file:
        assert file["x"][...] == 7.5 and file["x"].dimensions == () and len(file.dimensions) == 1
    assert omnizarr.virtualize(tmp_path / "x.nc")["x"][()] == 7.5


def test_unlimited_dimensions_of_nczarr_stay_so(tmp_path: Path) -> None:
    root = omnizarr.create_group({}, zarr_format=2, dialect="nczarr")
    root.netcdf.create_dimension("time", None)
    root.netcdf.create_variable("t", "f4", ["time"], attributes={"n": np.int16(3)})
    omnizarr.export(root, tmp_path / "x.nc")
    with netCDF4.Dataset(tmp_path / "x.nc") as file:
        assert file.dimensions["time"].isunlimited() and file["t"].n.dtype == np.int16


def test_what_netcdf_has_not_is_told_at_once(tmp_path: Path) -> None:
    root = omnizarr.group()
    root["c"] = np.array([1j])
    root["h"] = np.array([1], "f2")
    root.create_array("a", data=np.zeros(3), dimension_names=["x"])
    root.create_array("b", data=np.zeros(4), dimension_names=["x"])
    root.create_array(" d", data=np.zeros(4))
    with pytest.raises(ObstaclesError, match="4 obstacles") as info:
        omnizarr.export(root, tmp_path / "x.nc")
    for part in ("complex", "float32", "length 4 here, and 3 in", "no such name"):
        assert part in str(info.value)
    assert not (tmp_path / "x.nc").exists()


@pytest.mark.parametrize("size", [0, 100, 5000])
def test_a_truncated_file_is_an_error(size: int, tmp_path: Path) -> None:
    omnizarr.export(sea(), tmp_path / "x.nc")
    data = (tmp_path / "x.nc").read_bytes()
    (tmp_path / "y.nc").write_bytes(data[:size])
    with pytest.raises(MetadataError):
        omnizarr.convert(tmp_path / "y.nc", tmp_path / "y.zarr")
    assert not (tmp_path / "y.zarr").exists()
