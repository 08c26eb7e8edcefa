"""Run by the environment `zarr3`: GeoTIFF files that GDAL writes, and what it reads of them."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import numpy as np
import rasterio
from rasterio.transform import from_origin

FORMS = itertools.product(
    ("uint8", "int16", "float32"), ("NONE", "DEFLATE", "LZW", "ZSTD", "PACKBITS"), (1, 2, 3),
    ("GTiff", "COG"), (1, 3),
)  # fmt: skip


def main(folder: Path) -> None:
    facts: dict[str, object] = {}
    random = np.random.default_rng(0)
    for number, (dtype, compress, predictor, driver, count) in enumerate(FORMS):
        plain = compress in ("NONE", "PACKBITS")
        if (predictor == 3 and dtype != "float32") or (predictor > 1 and plain):
            continue
        options: dict[str, object] = {"compress": compress}
        if driver == "GTiff":
            options |= {"tiled": True, "blockxsize": 128, "blockysize": 64, "predictor": predictor}
            options["interleave"] = ("PIXEL", "BAND")[number % 2]
        elif compress == "PACKBITS":
            continue
        else:
            names = {1: "NO", 2: "STANDARD", 3: "FLOATING_POINT"}
            options |= {"blocksize": 128, "predictor": names[predictor]}
        path = folder / f"{number}.tif"
        data = np.cumsum(random.integers(0, 3, (count, 300, 420)), axis=2).astype(dtype)
        with rasterio.open(
            path, "w", driver=driver, width=420, height=300, count=count, dtype=dtype, nodata=7,
            crs="EPSG:32633", transform=from_origin(500000, 4600000, 10, 20), **options,
        ) as image:  # fmt: skip
            image.write(data)
        with rasterio.open(path) as image:
            np.save(folder / f"{number}.npy", image.read())
            facts[path.name] = {
                "transform": list(image.transform)[:6],
                "overviews": len(image.overviews(1)),
            }
    (folder / "facts.json").write_text(json.dumps(facts))
    print(rasterio.__gdal_version__)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
