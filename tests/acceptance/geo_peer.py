"""What GDAL, rioxarray, odc-geo and validators make of maps in Zarr; and maps that they write.

    geo_peer.py read FOLDER     {store: {reader: {crs, transform, bounds}}} of every *.zarr in it
    geo_peer.py write FOLDER    stores in every way that these libraries write, and a table of them

This script knows the peers. It must not import the library under test.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import odc.geo.xr
import pyproj
import rasterio
import rioxarray
import xarray
import zarr_cm
from affine import Affine
from geozarr_toolkit.cli import main as geozarr
from rioxarray.enum import Convention


def facts(crs: Any, transform: Any, bounds: Any) -> dict[str, Any]:
    text = None if crs is None else crs.to_wkt()
    return {"crs": text, "transform": list(transform)[:6], "bounds": list(bounds)}


def gdal(store: Path) -> dict[str, Any]:
    with rasterio.open(f'ZARR:"{store}":/band') as found:
        return facts(found.crs, found.transform, found.bounds) | {
            "values": int(found.read().sum()),
            "count": found.count,
        }


def dataset(store: Path) -> xarray.Dataset:
    return xarray.open_zarr(store, decode_coords="all")


def rio(store: Path) -> dict[str, Any]:
    found = dataset(store)["band"].rio
    return facts(found.crs, found.transform(), found.bounds())


def odc_geo(store: Path) -> dict[str, Any]:
    box = dataset(store)["band"].odc.geobox
    system = None if box.crs is None else pyproj.CRS(str(box.crs))
    return facts(system, box.transform, box.boundingbox.bbox)


def validated(store: Path) -> dict[str, Any]:
    """Whether the validators accept the conventions of the group and of the array."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = geozarr(["validate", "--verbose", str(store)])
    checked = []
    for name in ("zarr.json", "band/zarr.json"):
        document = store / name
        if document.exists():
            metadata = json.loads(document.read_text())
            zarr_cm.proj.validate_node_metadata(metadata)
            zarr_cm.spatial.validate_node_metadata(metadata)
            checked.append(name)
    return {"geozarr": code, "said": said.getvalue().splitlines(), "zarr-cm": checked}


READERS = {"gdal": gdal, "rioxarray": rio, "odc-geo": odc_geo, "validators": validated}


def read(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for store in sorted(folder.glob("*.zarr")):
        found[store.name] = {}
        for name, reader in READERS.items():
            try:
                found[store.name][name] = reader(store)
            except Exception as error:
                found[store.name][name] = {"error": f"{type(error).__name__}: {error}"}
    return found


# -- writing ----------------------------------------------------------------------------------
GRIDS = {
    "north-up": ("EPSG:32631", Affine(10, 0, 5e5, 0, -10, 46e5)),
    "south-up": ("EPSG:3857", Affine(100, 0, -2e6, 0, 50, 6e6)),
    "lat-lon": ("EPSG:4326", Affine(0.25, 0, -180, 0, -0.25, 90)),
    "0-360": ("EPSG:4326", Affine(1.5, 0, -0.75, 0, -1.5, 90.75)),
    "custom": (
        "+proj=laea +lat_0=45.5 +lon_0=-114.125 +x_0=0 +y_0=0 +ellps=GRS80 +units=m +no_defs",
        Affine(1000, 0, -5000, 0, -1000, 4000),
    ),
}
VALUES = np.arange(48, dtype="u2").reshape(6, 8)


def write(folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for grid, (crs, transform) in GRIDS.items():
        system = rasterio.CRS.from_user_input(crs)
        expected = {"crs": system.to_wkt(version="WKT2_2019"), "transform": list(transform)[:6]}
        for number in (2, 3):
            name = f"gdal-{number}-{grid}.zarr"
            with rasterio.open(
                folder / name, "w", driver="Zarr", width=8, height=6, count=1, dtype="uint16",
                crs=system, transform=transform, FORMAT=f"ZARR_V{number}", nodata=65535,
            ) as out:  # fmt: skip
                out.write(VALUES[np.newaxis])
            made[name] = {**expected, "array": Path(name).stem, "convention": "gdal"}
            for convention in ("cf", "zarr"):
                name = f"rioxarray-{convention}-{number}-{grid}.zarr"
                rioxarray_store(folder / name, system, transform, convention, number)
                found = "cf" if convention == "cf" else "spatial"
                made[name] = {**expected, "array": "band", "convention": found}
        name = f"odc-{grid}.zarr"
        box = odc.geo.geobox.GeoBox((6, 8), transform, pyproj.CRS(crs).to_wkt())
        odc.geo.xr.xr_zeros(box, dtype="uint16").rename("band").to_dataset().to_zarr(folder / name)
        made[name] = {**expected, "array": "band", "convention": "cf"}
    return made


def rioxarray_store(path: Path, crs: Any, transform: Affine, convention: str, number: int) -> None:
    xs = transform.c + transform.a * (np.arange(8) + 0.5)
    ys = transform.f + transform.e * (np.arange(6) + 0.5)
    dims = {"y": ys, "x": xs}
    if convention == "zarr":
        dims = {}  # the attributes alone say where it is
    array = xarray.DataArray(VALUES, dims=("y", "x"), coords=dims, name="band")
    with rioxarray.set_options(convention=Convention[convention.upper()]):
        array = array.rio.set_spatial_dims("x", "y")
        array = array.rio.write_crs(crs).rio.write_transform(transform)
    array.to_dataset().to_zarr(path, zarr_format=number)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of these libraries about each other
    action, folder = sys.argv[1], Path(sys.argv[2])
    print(json.dumps(read(folder) if action == "read" else write(folder)))
