"""ome-zarr: an image with its pyramid and labels; ome-zarr-models checks the metadata."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import zarr
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from ome_zarr.writer import write_image, write_labels
from ome_zarr_models.v05 import Image


def main(folder: Path) -> None:
    path = str(folder / "image.zarr")
    pixels = np.arange(2 * 64 * 64, dtype="u2").reshape(2, 64, 64)
    group = zarr.open_group(path, mode="w")
    write_image(image=pixels, group=group, axes="cyx")
    checked = Image.from_zarr(zarr.open_group(path, mode="r"))
    assert [axis.name for axis in checked.ome_attributes.multiscales[0].axes] == ["c", "y", "x"]
    write_labels((pixels[0] > 100).astype("u1"), group=group, name="bright", axes="yx")
    image, *_ = Reader(parse_url(path, mode="r"))()
    np.testing.assert_array_equal(np.asarray(image.data[0]), pixels)
    assert len(image.data) > 1
