"""dask: store an array of blocks, and read it back."""

from __future__ import annotations

from pathlib import Path

import dask.array as da
import numpy as np
import zarr


def main(folder: Path) -> None:
    path = str(folder / "x.zarr")
    x = da.arange(1600, chunks=200).reshape(40, 40).rechunk((10, 20))
    da.to_zarr(x, path)
    stored = zarr.open_array(path, mode="r+")
    assert stored.chunks == (10, 20)
    np.testing.assert_array_equal(da.from_zarr(path).compute(), x.compute())
    da.to_zarr(da.zeros((10, 40), dtype="i8"), stored, region=(slice(0, 10), slice(None)))
    assert da.from_zarr(stored)[:10].sum().compute() == 0
    assert da.from_zarr(stored)[10:].min().compute() == 400
