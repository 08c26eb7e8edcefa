"""Many workers fill one store: metadata first, then each writes its region, as xarray's guide to
parallel writing shows.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import omnizarr.compat; omnizarr.compat.install()  # new: serves omnizarr as zarr

import dask.array as da
import xarray as xr

# Lazy values of the right shape and type: `compute=False` stores everything but them.
template = xr.Dataset(
    {"field": (("x", "y"), da.zeros((60, 8), chunks=(10, 8), dtype="f4"))},
    coords={"x": np.arange(60), "y": np.linspace(0, 1, 8)},
)
template.to_zarr("field.zarr", mode="w", compute=False)


def write(part):
    x = np.arange(10 * part, 10 * part + 10)
    block = xr.Dataset(
        {"field": (("x", "y"), np.full((10, 8), part, "f4"))}, coords={"x": x}
    )
    block.to_zarr("field.zarr", region={"x": "auto"})
    return part


with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(write, range(6))))
with xr.open_zarr("field.zarr", consolidated=True) as found:
    print(found.field.mean("y").values[::10], found.field.data.chunksize, found.y.values[[0, -1]])
