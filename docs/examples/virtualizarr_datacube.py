"""One data cube over several netCDF4 files, which stay as they are: VirtualiZarr makes references
to their chunks, xarray concatenates them, and Zarr reads the bytes.
"""

from pathlib import Path

import h5py
import numpy as np
import xarray as xr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr import open_virtual_dataset
from virtualizarr.parsers import HDFParser

import omnizarr as zarr  # was: import zarr

for day in range(3):
    with h5py.File(f"{day}.nc", "w") as file:
        data = file.create_dataset(
            "t", data=np.full((1, 4, 4), day, "f4"), chunks=(1, 4, 4), compression="gzip"
        )
        for axis, (name, first) in enumerate([("time", day), ("y", 0), ("x", 0)]):
            scale = file.create_dataset(name, data=first + np.arange(data.shape[axis]))
            scale.make_scale(name)
            data.dims[axis].attach_scale(scale)

registry = ObjectStoreRegistry({"file://": LocalStore()})
days = [
    open_virtual_dataset(f"file://{Path.cwd()}/{day}.nc", registry=registry, parser=HDFParser())
    for day in range(3)
]
cube = xr.concat(days, dim="time", coords="minimal", compat="override")
print(dict(cube.sizes), type(cube.t.data).__name__)
cube.vz.to_kerchunk("cube.json", format="json")

root = zarr.open_group("reference://", storage_options={"fo": "cube.json"}, mode="r", zarr_format=2)
print(root["t"].shape, root["t"].chunks, root["t"][:, 0, 0].tolist())
