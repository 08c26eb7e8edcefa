"""Read HDF5 files as one Zarr hierarchy without copying them: kerchunk writes the references, and
the array library reads the bytes through them.
"""

import json

import fsspec
import h5py
import kerchunk.combine
import kerchunk.hdf
import numpy as np

import omnizarr as zarr  # was: import zarr

for year in (2020, 2021):
    with h5py.File(f"{year}.h5", "w") as file:
        values = np.arange(12.0).reshape(4, 3) + year
        data = file.create_dataset("t", data=values, chunks=(2, 3), compression="gzip")
        for axis, (name, first) in enumerate([("time", year * 4), ("x", 1)]):
            scale = file.create_dataset(name, data=first + np.arange(data.shape[axis]))
            scale.make_scale(name)
            data.dims[axis].attach_scale(scale)

references = [kerchunk.hdf.SingleHdf5ToZarr(f"{year}.h5").translate() for year in (2020, 2021)]
together = kerchunk.combine.MultiZarrToZarr(
    references, remote_protocol="file", concat_dims=["time"], identical_dims=["x"]
).translate()
with open("both.json", "w") as output:
    json.dump(together, output)

files = fsspec.filesystem("reference", fo="both.json", remote_protocol="file", asynchronous=True)
root = zarr.open_group(zarr.storage.FsspecStore(files, read_only=True), mode="r", zarr_format=2)
print(sorted(root.array_keys()), root["t"].shape, root["t"].chunks)
print(root["t"][3:5].tolist(), root["time"][:].tolist())
