"""NetCDF files that netCDF-C wrote, to Zarr and back: equal to netCDF-C in every part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import omnizarr
from omnizarr.errors import UnsupportedError

RANDOM = np.random.default_rng(5)


def write(file: Path, file_format: str = "NETCDF4") -> None:
    with netCDF4.Dataset(file, "w", format=file_format) as root:
        root.title, root.version = "a title", np.int32(3)
        root.createDimension("time", None)
        root.createDimension("y", 11)
        root.createDimension("x", 13)
        root.createDimension("letters", 4)
        time = root.createVariable("time", "f8", ("time",))
        time.units = "hours since 2000-01-01"
        time[:] = np.arange(6.0)
        more: dict[str, Any] = {}
        if file_format == "NETCDF4":
            more = {"zlib": True, "complevel": 3, "shuffle": True, "chunksizes": (2, 5, 13)}
        packed = root.createVariable("packed", "i2", ("time", "y", "x"), fill_value=-99, **more)
        packed.set_auto_maskandscale(False)
        packed.scale_factor, packed.add_offset = 0.25, 10.0
        packed.valid_range = np.array([-98, 100], "i2")
        packed[:5] = RANDOM.integers(-99, 100, (5, 11, 13))
        root.createVariable("y", "f4", ("y",))[:] = np.linspace(0, 1, 11)
        plain = root.createVariable("plain", "f4", ("y", "x"), contiguous=True)
        plain[:] = RANDOM.random((11, 13))
        plain.coordinates = "y"
        letters = root.createVariable("words", "S1", ("y", "letters"))
        letters[:] = RANDOM.choice(list("abc "), (11, 4)).astype("S1")
        root.createVariable("scalar", "f8", ())[...] = 2.5
        if file_format != "NETCDF4":
            return
        root.list, root.empty, root.unicode = ["a", "ä"], "", "größer"
        checked = root.createVariable("checked", ">i4", ("y", "x"), endian="big", fletcher32=True,
                                      chunksizes=(4, 13))  # fmt: skip
        checked[:] = RANDOM.integers(0, 99, (11, 13))
        texts = root.createVariable("texts", str, ("y",))
        texts[:] = np.array([f"ä{number}" * number for number in range(11)], object)
        deep = root.createGroup("one").createGroup("two")
        deep.createDimension("x", 3)
        deep.createVariable("x", "u8", ("x",))[:] = [1, 2, 1 << 63]
        deep.createVariable("both", "i8", ("time", "x"))[:] = RANDOM.integers(0, 9, (6, 3))
        root["one"].setncattr("number", np.float64(2.5))
        grid = root.createVariable("x", "f4", ("x", "letters"))  # no coordinate, but called so
        grid[:] = RANDOM.random((13, 4))


def type_name(dtype: Any) -> str:
    """Without the byte order: NetCDF-3 is big-endian."""
    return "text" if dtype is str else np.dtype(dtype).newbyteorder("=").str


def facts(group: Any, above: str = "") -> dict[str, Any]:
    """All that netCDF-C says of a file, but the width of attributes and unlimited dimensions."""
    found: dict[str, Any] = {
        f"{above}/": {name: np.asarray(group.getncattr(name)).tolist() for name in group.ncattrs()},
        f"{above}/dimensions": {name: len(each) for name, each in group.dimensions.items()},
    }
    for name, variable in group.variables.items():
        variable.set_auto_maskandscale(False)
        variable.set_auto_chartostring(False)
        own = {key: np.asarray(variable.getncattr(key)).tolist() for key in variable.ncattrs()}
        values = np.asarray(variable[...])
        found[f"{above}/{name}"] = (
            variable.dimensions,
            values.tolist(),
            type_name(variable.dtype),
            own,
        )
    for name, inner in group.groups.items():
        found |= facts(inner, f"{above}/{name}")
    return found


@pytest.mark.parametrize("file_format", ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_there_and_back(file_format: str, zarr_format: int, tmp_path: Path) -> None:
    write(tmp_path / "x.nc", file_format)
    omnizarr.convert(tmp_path / "x.nc", tmp_path / "x.zarr", zarr_format=zarr_format)
    omnizarr.export(tmp_path / "x.zarr", tmp_path / "y.nc", verify=True, unlimited=["time"])
    with netCDF4.Dataset(tmp_path / "x.nc") as one, netCDF4.Dataset(tmp_path / "y.nc") as other:
        expected, found = facts(one), facts(other)
        assert other.dimensions["time"].isunlimited()
        if file_format == "NETCDF4":
            assert other["packed"].chunking() == [2, 5, 13]
            assert other["packed"].filters()["complevel"] == 3
    assert set(found) == set(expected)
    for name, each in expected.items():
        assert same(found[name]) == same(each), name


def same(fact: Any) -> Any:
    """NaN is equal to itself in text."""
    if isinstance(fact, tuple):
        return (fact[0], repr(fact[1]), *fact[2:])
    return fact


def test_variables_of_netcdf_3_get_chunks_of_some_mebibytes(tmp_path: Path) -> None:
    values = np.arange(4_999_999, dtype="f8")  # a prime number, 40 MB
    with netCDF4.Dataset(tmp_path / "x.nc", "w", format="NETCDF3_64BIT_OFFSET") as root:
        root.createDimension("y", len(values))
        root.createVariable("a", "f8", ("y",))[:] = values
    omnizarr.convert(tmp_path / "x.nc", tmp_path / "x.zarr")
    found = omnizarr.open(tmp_path / "x.zarr", mode="r")["a"]
    assert found.chunks == (1 << 20,)
    np.testing.assert_array_equal(found, values)


def test_what_is_lost_is_told(tmp_path: Path) -> None:
    write(tmp_path / "x.nc")
    with h5py.File(tmp_path / "x.nc", "r+") as file:
        file["one/two"].attrs["pair"] = np.array([(1, 2.0)], [("a", "i4"), ("b", "f4")])
    done = omnizarr.convert(tmp_path / "x.nc", {}, dry_run=True)
    notes = {row.path: row.notes for row in done.nodes}
    assert notes[""] == ("unlimited dimensions: time",)
    assert notes["one/two"] == ("attributes left out, which JSON cannot hold: 'pair'",)
    below = omnizarr.convert(tmp_path / "x.nc", {}, path="one")
    assert {row.path: row.notes for row in below.nodes}["two"] == notes["one/two"]


def test_types_of_users_are_refused_by_name(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "x.nc", "w") as root:
        root.createDimension("x", 3)
        ragged = root.createVLType(np.int32, "ragged")
        root.createVariable("r", ragged, ("x",))
        root.createVariable("a", "i4", ("x",))[:] = 1
    with pytest.raises(UnsupportedError, match=r"variable length.*\n?.*exclude='r'"):
        omnizarr.convert(tmp_path / "x.nc", tmp_path / "x.zarr")
    omnizarr.convert(tmp_path / "x.nc", tmp_path / "x.zarr", exclude="r")
    assert omnizarr.open(tmp_path / "x.zarr", mode="r")["a"].dims == ("x",)


def test_enumerations_and_compounds_keep_their_values(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "x.nc", "w") as root:
        root.createDimension("x", 3)
        colours = root.createEnumType("u1", "colours", {"red": 1, "blue": 7})
        root.createVariable("e", colours, ("x",), fill_value=1)[:] = [7, 1, 7]
        pairs = root.createCompoundType(np.dtype([("a", "i4"), ("b", "f4")]), "pairs")
        dtype = np.dtype([("a", "i4"), ("b", "f4")])
        root.createVariable("p", pairs, ("x",))[:] = np.array([(1, 2), (3, 4), (5, 6)], dtype)
    omnizarr.convert(tmp_path / "x.nc", tmp_path / "x.zarr")
    found = omnizarr.open(tmp_path / "x.zarr", mode="r")
    assert found["e"][:].tolist() == [7, 1, 7]
    assert found["p"][1].tolist() == (3, 4.0)
