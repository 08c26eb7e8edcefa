"""NCZarr beside netCDF-C: what we write it reads, what it writes we read, and both append.

netCDF-C is in `.peers/netcdf` (made by `make peers`, also by `make test-all`), together with a
checker of the CF conventions.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import Group
from tests.acceptance.fixtures import REPOSITORY

pytestmark = pytest.mark.peers

Summary = Callable[[str], None]
PYTHON = REPOSITORY / ".peers" / "netcdf" / "bin" / "python"


def run_peer(folder: Path, *jobs: dict[str, Any]) -> list[Any]:
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} does not exist: run `make peers`")
    (folder / "jobs.json").write_text(json.dumps([{**job} for job in jobs], default=str))
    script = Path(__file__).with_name("netcdf_peer.py")
    command = [PYTHON, script, folder / "jobs.json", folder / "results.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
    assert done.returncode == 0, f"netCDF-C failed:\n{done.stderr[-4000:]}"
    answer = json.loads((folder / "results.json").read_text())
    assert answer["version"].startswith("4.10"), answer["version"]
    results: list[Any] = answer["results"]
    return results


def read(folder: Path, store: Path, mode: str = "nczarr") -> Any:
    return run_peer(folder, {"do": "describe", "store": store, "mode": mode})[0]


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    return repr(value) if isinstance(value, float) else value


def typed(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [plain(value), value.dtype.str.lstrip("<|=") if hasattr(value, "dtype") else "text"]
        for name, value in attributes.items()
    }


def described(group: Group) -> dict[str, Any]:
    """The same facts as `netcdf_peer.described` gives, through our model."""
    nc = group.netcdf
    variables = {}
    for name, variable in nc.variables.items():
        kind = variable.array.metadata.to_dict()["dtype"]
        variables[name] = {
            "dimensions": list(variable.dimensions),
            "shape": list(variable.shape),
            "dtype": "|S1" if kind == ">S1" else "string" if kind[1] == "S" else kind,
            "attributes": typed(variable.attributes),
            "values": plain(variable.read(decode=False)),
        }
    return {
        "dimensions": {
            name: [each.size, each.unlimited]
            for name, each in nc.dimensions.items()
            if each.group == group.name
        },
        "attributes": typed(
            {name: item for name, item in nc.attributes.items() if name != "_NCProperties"}
        ),
        "variables": variables,
        "groups": {name: described(each) for name, each in group.groups()},
    }


ATTRIBUTES: dict[str, Any] = {
    "text": "a b",
    "beyond": "Größe ☃",
    "empty": "",
    "lines": 'a\n"b"\t\\c',
    "single": np.float32(1.5),
    "double": 2.5,
    "whole": 3,
    "large": 1 << 40,
    "largest": np.uint64((1 << 64) - 1),
    "byte": np.int8(-5),
    "numbers": np.array([1, 2, 3], "i2"),
    "floats": np.array([1.5, np.nan, np.inf]),
    "mixed": np.array([1, 2.5]),
    "names": ["a", "bc"],
    "nan": np.nan,
}


def made(store: Path) -> Group:
    root = omnizarr.open_group(
        store, mode="w", zarr_format=2, dialect="nczarr", attributes={"title": "sea", "n": 3}
    )
    nc = root.netcdf
    nc.create_dimension("time", None)
    nc.create_dimension("x", 3)
    time = nc.create_variable("time", "f8", ["time"], attributes={"units": "days since 2000-01-01"})
    temp = nc.create_variable(
        "temp", "i2", ["time", "x"], chunks=(2, 2), fill_value=-1,
        attributes={"scale_factor": np.float32(0.5), "add_offset": np.float32(10)},
    )  # fmt: skip
    nc.grow("time", 4)
    time.write(np.arange(4.0))
    temp.write(np.ma.array(np.arange(12).reshape(4, 3) + 0.0, mask=np.arange(12) % 5 == 0))
    crs = nc.create_variable("crs", "i4", attributes=ATTRIBUTES)
    crs.write(7)
    for kind in ("i1", "u1", "u2", "i4", "u4", "i8", "u8", "f4", ">i4", ">f8", "S1", "S12"):
        each = nc.create_variable(f"of_{kind.strip('>')}_{ord(kind[0])}", kind, ["x"])
        each.array[:] = np.array([1, 2, 3]).astype(kind)
    nc.create_variable("unwritten", "f4", ["time", "x"])
    for name, codec in {
        "none": None, "zlib": "zlib", "bz2": "bz2", "zstd": "zstd",
        "blosc": "blosc", "fast": "fast",
    }.items():  # fmt: skip
        each = nc.create_variable(f"by_{name}", "f8", ["time", "x"], compressors=codec)
        each.write(np.arange(12.0).reshape(4, 3))
    below = nc.create_group("sub", attributes={"where": "below"})
    below.create_variable("v", "f4", {"time": None, "y": 2}).write(np.ones((4, 2)))
    deeper = below.create_group("deeper")
    deeper.create_variable("w", "f4", ["y", "x"]).write(np.zeros((2, 3)))
    return root


def test_netcdf_c_reads_what_we_write(tmp_path: Path, summary: Summary) -> None:
    store = tmp_path / "ours.zarr"
    root = made(store)
    found = read(tmp_path, store)
    assert found == described(root)
    assert found["dimensions"]["time"] == [4, True]
    attributes = found["variables"]["crs"]["attributes"]
    assert attributes["single"] == ["1.5", "f4"]
    assert attributes["nan"] == ["nan", "f8"]
    assert omnizarr.check(store).counts["warning"] == 0
    summary(f"netCDF-C reads {len(found['variables'])} variables of ours, equal in every part")


def test_netcdf_c_reads_it_as_plain_zarr(tmp_path: Path) -> None:
    store = tmp_path / "ours.zarr"
    made(store)
    ours, pure = read(tmp_path, store), read(tmp_path, store, "zarr")
    assert pure["dimensions"]["time"] == [4, False]  # plain Zarr has no unlimited dimension
    for name, variable in ours["variables"].items():
        if variable["dimensions"] and variable["dtype"] != "|S1":  # which is a string then
            assert pure["variables"][name] == variable, name
    assert pure["variables"]["crs"]["values"] == [7]
    assert pure["groups"]["sub"]["variables"]["v"]["values"] == plain(np.ones((4, 2)))


def test_netcdf_c_masks_what_we_mask(tmp_path: Path) -> None:
    store = tmp_path / "ours.zarr"
    root = made(store)
    (found,) = run_peer(tmp_path, {"do": "masked", "store": store})
    for name in ("temp", "unwritten", "by_zlib"):
        ours = root.netcdf.variables[name].read(masked=True)
        shown = np.where(np.ma.getmaskarray(ours), None, ours.data.astype(object))
        assert found[name] == plain(shown), name
    assert None in found["temp"][0] and found["unwritten"] == [[None] * 3] * 4


def test_changes_of_ours_reach_netcdf_c(tmp_path: Path) -> None:
    store = tmp_path / "ours.zarr"
    root = made(store)
    root.netcdf.grow("time", 6)
    root["temp"].attrs["comment"] = "grown"
    root["temp"][4:] = 77
    root.attrs.put({"title": "other"})
    del root["by_zlib"]
    root.move("by_zstd", "renamed")
    root.move("sub/deeper", "sub/moved")
    root.create_array("sub/more", shape=(6, 5), dtype="i4", dimension_names=("time", "z"))
    found = read(tmp_path, store)
    assert found == described(root)
    assert found["dimensions"]["time"] == [6, True]
    assert found["variables"]["temp"]["values"][4:] == [[77] * 3] * 2
    assert "renamed" in found["variables"] and "by_zlib" not in found["variables"]
    assert found["groups"]["sub"]["groups"]["moved"]["variables"]["w"]["shape"] == [2, 3]
    # Arrays that are appended to one by one, as xarray does.
    for _, member in root.members(max_depth=None):
        if not isinstance(member, Group) and "time" in (member.dims or ()):
            member.append(np.zeros((2, *member.shape[1:]), member.dtype))
    found = read(tmp_path, store)
    assert found == described(root)
    assert found["dimensions"]["time"] == [8, True]


def test_xarray_writes_and_appends(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    import omnizarr.integrations.xarray

    store = tmp_path / "xarray.zarr"
    root = omnizarr.open_group(store, mode="w", zarr_format=2, dialect="nczarr")
    root.netcdf.create_dimension("time", None)
    root.netcdf.grow("time", 2)

    def days(first: int) -> Any:
        return xarray.Dataset(
            {"t": (("time", "x"), np.arange(6.0).reshape(2, 3) + first)},
            {"time": ("time", [first, first + 1]), "x": [1.5, 2.5, 3.5]},
            {"title": "sea"},
        )

    days(0).omnizarr.to_zarr(store, mode="a")
    for first in (2, 4):
        days(first).omnizarr.to_zarr(store, mode="a", append_dim="time")
    found = read(tmp_path, store)
    assert found == described(root)
    assert found["dimensions"] == {"time": [6, True], "x": [3, False]}
    assert found["variables"]["time"]["values"] == [0, 1, 2, 3, 4, 5]
    assert found["variables"]["t"]["values"] == plain(np.vstack([days(n).t for n in (0, 2, 4)]))


def test_netcdf_c_appends_to_ours(tmp_path: Path) -> None:
    """Groups below the root have no attributes here: netCDF-C 4.10.1 leaves them out of a file of
    its own that it opens to write, and does not shorten the document."""
    store = tmp_path / "ours.zarr"
    root = made(store)
    del root["sub"]
    ours = {"store": store}
    _, found = run_peer(tmp_path, {"do": "append", **ours}, {"do": "describe", **ours})
    assert found["dimensions"]["time"] == [6, True]
    assert found["variables"]["time"]["values"][-2:] == ["100.0", "101.0"]
    assert found["variables"]["temp"]["attributes"]["scale_factor"] == ["0.5", "f4"]
    assert described(omnizarr.open_group(store)) == found


def test_we_read_what_netcdf_c_writes_and_both_append(tmp_path: Path) -> None:
    store = tmp_path / "theirs.zarr"
    theirs = {"store": store}
    _, found = run_peer(tmp_path, {"do": "write", **theirs}, {"do": "describe", **theirs})
    root = omnizarr.open_group(store, "r+")
    assert described(root) == found
    assert root.netcdf.dimensions["time"].unlimited
    np.testing.assert_array_equal(
        root.netcdf.variables["temp"].read(), [[1.5, 2, np.nan], [4, 5, 6]]
    )
    root.netcdf.grow("time", 3)
    root.netcdf.variables["temp"].write([[7, 8, 9]], slice(2, 3))
    _, found = run_peer(tmp_path, {"do": "append", **theirs}, {"do": "describe", **theirs})
    assert found["dimensions"]["time"] == [5, True]
    again = omnizarr.open_group(store)
    assert described(again) == found
    assert again["time"][3:].tolist() == [100, 101]
    assert again["temp"][2].tolist() == [14, 16, 18]


def test_a_converted_hierarchy(tmp_path: Path) -> None:
    root = omnizarr.group(attributes={"title": "sea", "odd": {"a": 1}})
    nc = root.netcdf
    nc.create_variable("t", "i2", {"time": 4, "x": 3}, fill_value=-1, chunks=(2, 2)).write(
        np.ma.array(np.arange(12).reshape(4, 3), mask=np.arange(12) == 5)
    )
    nc.create_variable("plain", "f4", ["x"]).write([1, 2, 3])
    nc.create_variable("crs", "i4").write(3)
    nc.create_group("sub").create_variable("w", "f4", ["time"], compressors="gzip").write([0] * 4)
    root.create_array("nameless", data=np.arange(6).reshape(2, 3))
    store = tmp_path / "converted.zarr"
    with pytest.raises(omnizarr.errors.UnsupportedError, match="gzip"):
        omnizarr.convert(root, store, zarr_format=2, dialect="nczarr")
    omnizarr.convert(root, store, zarr_format=2, dialect="nczarr", reencode=True)
    found = read(tmp_path, store)
    assert found["variables"]["t"]["attributes"]["_FillValue"] == [-1, "i2"]
    assert found["variables"]["t"]["values"] == root["t"][:].tolist()
    assert found["variables"]["crs"] | {"attributes": {}} == {
        "dimensions": [], "shape": [], "dtype": "<i4", "attributes": {}, "values": 3,
    }  # fmt: skip
    assert found["variables"]["nameless"]["dimensions"] == ["_Anonymous_Dim_2", "_Anonymous_Dim_3"]
    assert found["groups"]["sub"]["variables"]["w"]["dimensions"] == ["time"]
    assert found["dimensions"]["time"] == [4, False] and not found["groups"]["sub"]["dimensions"]


def good(root: Group) -> None:
    nc = root.netcdf
    time = {"units": "days since 2000-01-01", "calendar": "noleap", "standard_name": "time"}
    nc.create_variable("time", "f8", {"time": 2}, attributes=time).write([0, 1])
    nc.create_variable("lat", "f8", {"lat": 2}, attributes={"units": "degrees_north"}).write([0, 1])
    nc.create_variable(
        "t", "i2", ["time", "lat"], attributes={"units": "K", "scale_factor": 0.1, "long_name": "t"}
    ).write([[1, 2], [3, 4]])


def broken_bounds(root: Group) -> None:
    good(root)
    root["lat"].attrs["bounds"] = "lat_bounds"


def broken_grid_mapping(root: Group) -> None:
    good(root)
    root["t"].attrs["grid_mapping"] = "nowhere"


def broken_calendar(root: Group) -> None:
    good(root)
    root["time"].attrs["calendar"] = "lunar"


def broken_units(root: Group) -> None:
    good(root)
    root["time"].attrs["units"] = "days since yesterday"


def broken_valid_range(root: Group) -> None:
    good(root)
    root["t"].attrs.update(valid_range=[0, 5], valid_min=0)


def broken_ancillary(root: Group) -> None:
    good(root)
    root["t"].attrs["ancillary_variables"] = "quality"


CASES = {
    good: None,
    broken_bounds: "lat_bounds",
    broken_grid_mapping: "nowhere",
    broken_calendar: "calendar",
    broken_units: "since|time",
    broken_valid_range: "valid_range|valid_min",
    broken_ancillary: "quality",
}


SILENT = {broken_bounds}
"""What the checker does not look at."""


def test_a_checker_of_cf_agrees(tmp_path: Path, summary: Summary) -> None:
    """What we warn of, it complains about, and of the sound one we say nothing. It also asks for
    what CF recommends, which is no departure."""
    jobs = []
    for make in CASES:
        store = tmp_path / f"{make.__name__}.zarr"
        root = omnizarr.open_group(
            store, mode="w", zarr_format=2, dialect="nczarr", attributes={"Conventions": "CF-1.8"}
        )
        make(root)
        jobs.append({"do": "check", "store": store})
    base: set[str] | None = None
    for (make, expected), job, found in zip(
        CASES.items(), jobs, run_peer(tmp_path, *jobs), strict=True
    ):
        ours = [each.message for each in omnizarr.check(job["store"]) if each.level != "dialect"]
        theirs = {message for messages in found.values() for message in messages}
        if base is None:
            base = {re.sub(r"\S+\.zarr\S*", "", message) for message in theirs}
            assert ours == []
            continue
        assert expected is not None
        new = [one for one in theirs if re.sub(r"\S+\.zarr\S*", "", one) not in base]
        assert any(re.search(expected, message) for message in ours), (make.__name__, ours)
        summary(f"CF: {make.__name__}: compliance-checker says {new[:1]}")
        assert bool(new) is (make not in SILENT), make.__name__
