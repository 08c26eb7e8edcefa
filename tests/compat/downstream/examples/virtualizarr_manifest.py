"""VirtualiZarr: chunks of a netCDF file and of a Zarr array, as a store of manifests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr import open_virtual_dataset
from virtualizarr.parsers import HDFParser, ZarrParser


def main(folder: Path) -> None:
    values = np.arange(100.0).reshape(10, 10)
    xr.Dataset({"v": (("a", "b"), values)}).to_netcdf(folder / "n.nc", engine="h5netcdf")
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    url = f"file://{folder / 'n.nc'}"
    store = HDFParser()(url=url, registry=registry)
    found = xr.open_zarr(store, consolidated=False, zarr_format=3)
    np.testing.assert_array_equal(found["v"].values, values)
    virtual = open_virtual_dataset(url, parser=HDFParser(), registry=registry)
    joined = xr.concat([virtual, virtual], dim="a", coords="minimal", compat="override")
    references = joined.vz.to_kerchunk(format="dict")["refs"]
    assert "v/1.0" in references
    root = zarr.create_group(folder / "z.zarr")
    root.create_array("q", shape=(6,), chunks=(2,), dtype="i4")[:] = np.arange(6)
    manifests = ZarrParser()(url=f"file://{folder / 'z.zarr'}", registry=registry)
    assert list(zarr.open_group(manifests, mode="r")["q"][:]) == [0, 1, 2, 3, 4, 5]
