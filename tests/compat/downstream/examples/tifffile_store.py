"""tifffile: a tiled TIFF file as a store; imagecodecs: its codecs in an array."""

from __future__ import annotations

from pathlib import Path

import imagecodecs.zarr
import numpy as np
import tifffile
import zarr


def main(folder: Path) -> None:
    pixels = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    tifffile.imwrite(folder / "t.tif", pixels, tile=(16, 16))
    store = tifffile.imread(folder / "t.tif", aszarr=True)
    np.testing.assert_array_equal(zarr.open(store, mode="r")[3:20, 10:40], pixels[3:20, 10:40])
    imagecodecs.zarr.register_codecs()
    array = zarr.create_array(
        {}, shape=(64, 64), chunks=(32, 32), dtype="u2", compressors=[imagecodecs.zarr.Zlib()]
    )
    array[:] = pixels
    np.testing.assert_array_equal(array[:], pixels)
