"""spatialdata: an image and its coordinates, written and read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import spatialdata
from spatialdata.models import Image2DModel


def main(folder: Path) -> None:
    pixels = np.arange(3.0 * 32 * 32).reshape(3, 32, 32)
    image = Image2DModel.parse(pixels, dims=("c", "y", "x"))
    spatialdata.SpatialData(images={"picture": image}).write(folder / "s.zarr")
    found = spatialdata.read_zarr(folder / "s.zarr")
    np.testing.assert_array_equal(found["picture"].values, pixels)
