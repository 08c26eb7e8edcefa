"""What GDAL and ome-types make of TIFF files; and GeoTIFF files that GDAL writes.

    raster_peer.py read FOLDER     facts of every *.tif in it, by name; values go into NAME.npy
    raster_peer.py write FOLDER    files as GDAL writes them, and the same facts of them

This script knows the peers. It must not import the library under test.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import ome_types
import rasterio
from rasterio.enums import ColorInterp
from rio_cogeo.cogeo import cog_validate

PROJ4 = "+proj=laea +lat_0=12 +lon_0=5 +x_0=10 +y_0=20 +datum=WGS84 +units=m"


def geotiff(path: Path) -> dict[str, Any]:
    with rasterio.open(path) as found:
        np.save(path.with_suffix(".npy"), found.read())
        sizes = found.overviews(1)
        facts = {
            "crs": None if found.crs is None else found.crs.to_wkt(),
            "transform": list(found.transform)[:6],
            "nodata": str(found.nodata),
            "overviews": sizes,
            "descriptions": found.descriptions,
            "scales": found.scales,
            "offsets": found.offsets,
            "units": found.units,
            "colors": [one.name for one in found.colorinterp],
            "tags": {key: value for key, value in found.tags().items() if "TIFF" not in key},
            "compression": found.tags(ns="IMAGE_STRUCTURE").get("COMPRESSION"),
        }
    for level in range(len(sizes)):
        with rasterio.open(path, overview_level=level) as found:
            np.save(path.with_suffix(f".{level + 1}.npy"), found.read())
    facts["cog"] = bool(cog_validate(str(path), quiet=True)[0])
    return facts


def ome(path: Path) -> dict[str, Any]:
    document = ome_types.from_xml(path.read_text(encoding="utf-8"))
    pixels = document.images[0].pixels
    return {
        "name": document.images[0].name,
        "sizes": [pixels.size_t, pixels.size_c, pixels.size_z, pixels.size_y, pixels.size_x],
        "physical": [
            pixels.physical_size_x,
            pixels.physical_size_x_unit.value,
            pixels.physical_size_z,
        ],
        "channels": [[one.name, one.color.as_hex("long")] for one in pixels.channels],
    }


def write(folder: Path) -> None:
    data = np.random.default_rng(3).integers(0, 500, (3, 300, 420)).astype("uint16")
    common: dict[str, Any] = {"height": 300, "width": 420, "nodata": 0}
    corner = rasterio.Affine(10, 0, 500000, 0, -10, 4600000)
    for compress in ("deflate", "lzw", "zstd"):
        name = folder / f"cog-{compress}.tif"
        with rasterio.open(
            name, "w", driver="COG", count=3, dtype="uint16", crs="EPSG:32633", transform=corner,
            blocksize=128, compress=compress, predictor=2, **common,
        ) as file:  # fmt: skip
            file.write(data)
            file.descriptions, file.units = ("red", "green", "nir"), ("m", "m", "K")
            file.scales, file.offsets = (0.5, 0.25, 0.5), (1, 2, 3)
            file.update_tags(AUTHOR="me")
            file.colorinterp = [ColorInterp.red, ColorInterp.green, ColorInterp.nir]
    for name, options in {
        "strips.tif": {"interleave": "band", "compress": "deflate"},
        "tiles.tif": {"interleave": "pixel", "tiled": True, "blockxsize": 64, "blockysize": 32},
        "big.tif": {"interleave": "band", "bigtiff": "yes", "compress": "lzw", "predictor": 3},
    }.items():
        with rasterio.open(
            folder / name, "w", driver="GTiff", count=3, dtype="float32",
            crs=rasterio.CRS.from_proj4(PROJ4), transform=corner, **common, **options,
        ) as file:  # fmt: skip
            file.write(data.astype("float32"))


if __name__ == "__main__":
    action, target = sys.argv[1], Path(sys.argv[2])
    warnings.simplefilter("ignore")
    if action == "write":
        write(target)
    found = {path.name: geotiff(path) for path in sorted(target.glob("*.tif"))
             if not path.name.endswith(".ome.tif")}  # fmt: skip
    found |= {path.name: ome(path) for path in sorted(target.glob("*.xml"))}
    print(json.dumps(found))
