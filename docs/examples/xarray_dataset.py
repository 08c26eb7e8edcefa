"""Write, append, change a region and read back a dataset, as xarray's guide to Zarr does, with
xarray's own `to_zarr` and `open_zarr`.
"""

import numpy as np
import pandas as pd

import omnizarr.compat; omnizarr.compat.install()  # new: serves omnizarr as zarr

import xarray as xr

times = pd.date_range("2001-01-01", periods=4)
weather = xr.Dataset(
    {
        "temperature": (("time", "x"), np.arange(12.0).reshape(4, 3), {"units": "K"}),
        "station": ("x", np.array(["north", "south", "west"])),
    },
    coords={"time": times, "x": [10, 20, 30]},
    attrs={"title": "an example"},
)
encoding = {"temperature": {"chunks": (2, 3), "dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}}
weather.to_zarr("weather.zarr", mode="w", encoding=encoding)
print(xr.open_zarr("weather.zarr").identical(weather), xr.open_zarr("weather.zarr").chunks["time"])

# More days at the end; then new values for some of them.
later = weather.assign_coords(time=times + pd.Timedelta(days=4))
later.drop_vars("station").to_zarr("weather.zarr", append_dim="time")
half = (weather[["temperature"]] / 2).isel(time=slice(0, 2)).drop_vars("x")
half.to_zarr("weather.zarr", region={"time": slice(4, 6)})
with xr.open_zarr("weather.zarr") as found:
    print(dict(found.sizes), found.temperature.sum("x").values, found.attrs["title"])
    print(float(found.sel(time="2001-01-06", x=20).temperature), found.station.values.tolist())

# A tree of groups, lazily computed with Dask.
xr.DataTree.from_dict({"/": xr.Dataset(attrs={"a": 1}), "/raw": weather}).to_zarr("tree.zarr")
tree = xr.open_datatree("tree.zarr", engine="zarr", chunks={})
print(sorted(tree.children), float(tree["raw/temperature"].mean().compute()))
