"""Dask's `to_zarr`, `from_zarr` and `store`, as its guide to storing arrays uses them."""

import numpy as np

import omnizarr.compat; omnizarr.compat.install()  # new: serves omnizarr as zarr

import dask
import dask.array as da
import zarr

dask.config.set(scheduler="threads")

x = da.arange(10_000, chunks=1000).reshape(100, 100).rechunk((25, 50))
x.to_zarr("x.zarr")
y = da.from_zarr("x.zarr")
print(y.shape, y.chunks, int(y.sum().compute()), bool((x == y).all().compute()))

# A component of a group, computed later together with another one.
first = da.to_zarr(x + 1, "many.zarr", component="one", compute=False)
second = da.to_zarr((x * 2)[:50], "many.zarr", component="two", compute=False)
dask.compute(first, second)
group = zarr.open_group("many.zarr", mode="r")
print(sorted(group.array_keys()), int(group["one"][0, 0]), int(group["two"][1, 1]))

# A region of an array that exists already, and what Dask's own `store` writes.
target = zarr.create_array("target.zarr", shape=(100, 100), chunks=(50, 50), dtype="i8")
da.to_zarr(da.ones((50, 100), chunks=50, dtype="i8"), target, region=(slice(50, 100), slice(None)))
print(int(target[:50].sum()), int(target[50:].sum()))
da.store(x.rechunk((50, 50)), target, lock=False)
print(np.array_equal(target[:], x.compute()))
