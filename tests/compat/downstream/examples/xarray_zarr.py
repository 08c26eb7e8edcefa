"""xarray's own engine: write, append, replace a region, read lazily, and as a tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr


def main(folder: Path) -> None:
    path = folder / "weather.zarr"
    days = pd.date_range("2030-01-01", periods=6)
    values = np.arange(24.0).reshape(6, 4)
    data = xr.Dataset(
        {"t": (("time", "station"), values, {"units": "K"})},
        coords={"time": days, "station": list("abcd")},
    )
    data.to_zarr(path, encoding={"t": {"chunks": (2, 4)}})
    xr.testing.assert_identical(xr.open_zarr(path).load(), data)
    later = data.assign_coords(time=days + pd.Timedelta(days=6))
    later.to_zarr(path, append_dim="time")
    patch = xr.Dataset({"t": (("time", "station"), np.full((2, 4), -1.0))})
    patch.to_zarr(path, region={"time": slice(0, 2), "station": slice(0, 4)})
    found = xr.open_zarr(path, chunks={})
    assert found.sizes["time"] == 12
    assert float(found.t.isel(time=slice(0, 2)).mean()) == -1.0
    assert float(found.t.isel(time=-1, station=-1)) == 23.0
    tree = xr.DataTree.from_dict({"/": data, "/mean": data.mean("time")})
    tree.to_zarr(folder / "tree.zarr")
    assert list(xr.open_datatree(folder / "tree.zarr", engine="zarr").children) == ["mean"]
