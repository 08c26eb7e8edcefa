"""kerchunk: an HDF5 file read through references to its chunks."""

from __future__ import annotations

from pathlib import Path

import fsspec
import h5py
import numpy as np
import xarray as xr
import zarr
from kerchunk.hdf import SingleHdf5ToZarr


def main(folder: Path) -> None:
    path = str(folder / "data.h5")
    values = np.arange(120.0).reshape(10, 12)
    with h5py.File(path, "w") as file:
        made = file.create_dataset("v", data=values, chunks=(5, 6), compression="gzip")
        made.attrs["units"] = "m"
    references = SingleHdf5ToZarr(path).translate()
    mapper = fsspec.filesystem("reference", fo=references).get_mapper("")
    group = zarr.open_group(mapper, mode="r", zarr_format=2)
    np.testing.assert_array_equal(group["v"][2:7, ::3], values[2:7, ::3])
    assert group["v"].attrs["units"] == "m"
    found = xr.open_dataset(
        "reference://",
        engine="zarr",
        mask_and_scale=False,
        backend_kwargs={"storage_options": {"fo": references}, "consolidated": False},
    )
    np.testing.assert_array_equal(found["v"].values, values)
