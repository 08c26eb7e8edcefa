"""Runs inside the environment of netCDF-C: reads, writes, appends and checks NCZarr.

    python netcdf_peer.py JOBS RESULTS

JOBS is a JSON list of {"do": "describe" | "write" | "append" | "check", "store": folder, "mode":
"nczarr" | "zarr"}. RESULTS becomes a JSON list of what each found, {"error": …} where it failed.
This script knows netCDF4. It must not import the library under test.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from unittest import mock

import netCDF4
import numpy as np


def url(job: dict[str, Any]) -> str:
    return f"file://{job['store']}#mode={job.get('mode', 'nczarr')},file"


def plain(value: Any) -> Any:
    """A value in JSON, floats by their text so that NaN equals NaN."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return repr(value) if isinstance(value, float) else value


def attributes(holder: Any) -> dict[str, Any]:
    found = {}
    for name in holder.ncattrs():
        value = holder.getncattr(name)
        dtype = getattr(value, "dtype", None)
        found[name] = [plain(value), "text" if dtype is None else dtype.str.lstrip("<|=")]
    return found


def described(group: Any) -> dict[str, Any]:
    variables = {}
    for name, variable in group.variables.items():
        variable.set_auto_maskandscale(False)
        variables[name] = {
            "dimensions": list(variable.dimensions),
            "shape": list(variable.shape),
            "dtype": "string" if variable.dtype is str else variable.dtype.str,
            "attributes": attributes(variable),
            "values": plain(variable[...]),
        }
    return {
        "dimensions": {
            name: [each.size, each.isunlimited()] for name, each in group.dimensions.items()
        },
        "attributes": attributes(group),
        "variables": variables,
        "groups": {name: described(each) for name, each in group.groups.items()},
    }


def describe(job: dict[str, Any]) -> Any:
    with netCDF4.Dataset(url(job)) as dataset:
        return described(dataset)


def shown(values: Any) -> Any:
    return np.where(np.ma.getmaskarray(values), None, values.data.astype(object))


def masked(job: dict[str, Any]) -> Any:
    """Values as netCDF4 decodes them, missing ones None."""
    with netCDF4.Dataset(url(job)) as dataset:
        return {
            name: plain(shown(np.ma.asarray(variable[...])))
            for name, variable in dataset.variables.items()
        }


def write(job: dict[str, Any]) -> Any:
    with netCDF4.Dataset(url(job), "w") as dataset:
        dataset.title = "sea"
        dataset.createDimension("time", None)
        dataset.createDimension("x", 3)
        time = dataset.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        time[:] = [0, 1]
        packed = dataset.createVariable(
            "temp", "i2", ("time", "x"), fill_value=-1, zlib=True, shuffle=True
        )
        packed.scale_factor = np.float32(0.5)
        packed.valid_min = np.int16(0)
        packed.levels = np.array([1, 2], "i2")
        packed.names = ["a", "b"]
        packed[:] = np.ma.array([[1.5, 2, 3], [4, 5, 6]], mask=[[0, 0, 1], [0, 0, 0]])
        dataset.createVariable("crs", "i4", ())[...] = 7
        dataset.createVariable("label", "S1", ("x",))[:] = np.array([b"a", b"b", b"c"])
        below = dataset.createGroup("sub")
        below.createDimension("y", 2)
        below.createVariable("v", "u4", ("time", "y"))[:] = [[1, 2], [3, 4]]
    return None


def append(job: dict[str, Any]) -> Any:
    # netCDF4 asks the file system whether a URL exists, and creates it where it does not.
    with mock.patch("os.path.exists", return_value=True):
        dataset = netCDF4.Dataset(url(job), "r+")
    with dataset:
        time = dataset["time"]
        time[len(time) :] = [100.0, 101.0]
    return None


def check(job: dict[str, Any]) -> Any:
    """What the checker of CF finds, by its own titles."""
    from compliance_checker.runner import CheckSuite

    CheckSuite.load_all_available_checkers()
    with netCDF4.Dataset(url(job)) as dataset:
        found = CheckSuite().run_all(dataset, ["cf:1.8"])
    return {
        group.name: list(group.msgs)
        for groups, _ in found.values()
        for group in groups
        if group.msgs
    }


DO = {"describe": describe, "masked": masked, "write": write, "append": append, "check": check}


def main() -> None:
    with open(sys.argv[1]) as file:
        jobs = json.load(file)
    results = []
    for job in jobs:
        try:
            results.append(DO[job["do"]](job))
        except Exception as error:
            results.append({"error": f"{type(error).__name__}: {error}"})
    with open(sys.argv[2], "w") as file:
        json.dump({"version": netCDF4.__netcdf4libversion__, "results": results}, file)


if __name__ == "__main__":
    main()
