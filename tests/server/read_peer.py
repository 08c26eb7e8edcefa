"""Runs inside a peer's environment: reads what a server shows, in the peer's own way.

    python read_peer.py LIBRARY URL FORMAT OUT PATH…

OUT becomes {path: {"shape", "sum", "part"}}. It must not import the library under test.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np


def zarr_python(url: str, zarr_format: int, path: str) -> Any:
    import zarr

    if not path:
        return np.asarray(zarr.open_array(url, mode="r", zarr_format=zarr_format)[...])
    root = zarr.open_consolidated(url, mode="r", zarr_format=zarr_format)
    plain = zarr.open_group(url, mode="r", zarr_format=zarr_format, use_consolidated=False)
    values = np.asarray(root[path][...])
    np.testing.assert_array_equal(values, plain[path][...])
    assert root.attrs["title"] == plain.attrs["title"] == "trial"
    return values


def tensorstore(url: str, zarr_format: int, path: str) -> Any:
    import tensorstore as ts

    driver = "zarr3" if zarr_format == 3 else "zarr"
    base, _, root = url.rstrip("/").rpartition("/")
    kvstore = {"driver": "http", "base_url": base, "path": f"/{root}/{path}".rstrip("/") + "/"}
    return ts.open({"driver": driver, "kvstore": kvstore}, read=True).result().read().result()


def gdal(url: str, zarr_format: int, path: str) -> Any:
    import rasterio

    place = f"{url.rstrip('/')}/{path}".rstrip("/")
    with rasterio.open(f'ZARR:"/vsicurl/{place}"') as dataset:
        return dataset.read(1)


def xarray(url: str, zarr_format: int, path: str) -> Any:
    import xarray as xr

    group, _, name = path.rpartition("/")
    dataset = xr.open_zarr(
        url, group=group or None, zarr_format=zarr_format, chunks=None, consolidated=True
    )
    return dataset[name].values


def main(library: str, url: str, zarr_format: str, out: str, *paths: str) -> None:
    read = {f.__name__: f for f in (zarr_python, tensorstore, gdal, xarray)}[library]
    found = {}
    for path in paths:
        values = read(url, int(zarr_format), "" if path == "/" else path)
        found[path] = {
            "shape": list(values.shape),
            "sum": float(values.sum()),
            "part": values[1:3, 1:3].ravel().tolist(),
        }
    with open(out, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
