"""TIFF files as groups: what tifffile writes in every form, and where on Earth it lies."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

import omnizarr
from omnizarr.api.virtual.files import Place
from omnizarr.api.virtual.tiff import scan
from omnizarr.errors import UnsupportedError, ZarrError

RANDOM = np.random.default_rng(5)
COMPRESSIONS = [
    (None, False), ("zlib", False), ("zlib", True), ("lzw", False), ("lzw", True), ("zstd", False),
    ("packbits", False), ("lzma", False),
]  # fmt: skip
LAYOUTS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((70, 100), {}),
    ((70, 100, 3), {"photometric": "minisblack", "planarconfig": "contig"}),
    ((3, 70, 100), {"photometric": "minisblack", "planarconfig": "separate"}),
]


@pytest.mark.parametrize(("compression", "predictor"), COMPRESSIONS)
@pytest.mark.parametrize("tile", [None, (32, 48)], ids=["strips", "tiles"])
def test_every_form(compression: str | None, predictor: bool, tile: Any, tmp_path: Path) -> None:
    path = tmp_path / "image.tif"
    types = ("u1", "f4") if compression == "lzma" else ("u1", "i2", "f4", "f8")  # lzma is slow
    for order, dtype, (shape, options) in product("<>", types, LAYOUTS):
        data = RANDOM.integers(0, 50, shape).astype(dtype)
        tifffile.imwrite(
            path, data, byteorder=order, compression=compression, predictor=predictor, tile=tile,
            bigtiff=order == "<", rowsperstrip=None if tile else 35, **options,
        )  # fmt: skip
        array = omnizarr.virtualize(path)["data"]
        np.testing.assert_array_equal(array[...], tifffile.imread(path), err_msg=str(options))
        assert array.dtype.newbyteorder("=") == np.dtype(dtype)


@pytest.mark.parametrize("compression", [None, "zlib", "lzw"])
def test_a_shorter_last_strip(compression: str | None, tmp_path: Path) -> None:
    path = tmp_path / "image.tif"
    data = RANDOM.integers(0, 50, (70, 100)).astype("u2")
    tifffile.imwrite(path, data, rowsperstrip=32, compression=compression)
    array = omnizarr.virtualize(path)["data"]
    np.testing.assert_array_equal(array[...], data)
    np.testing.assert_array_equal(array[60:69, 3], data[60:69, 3])
    assert array.chunks == (((32, 32, 6), 100) if compression else (70, 100))


@pytest.mark.parametrize("dtype", ["u1", "u2", "i4", "f4", "f8"])
def test_a_shorter_last_strip_of_differences(dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "image.tif"
    for order, (shape, options) in product("<>", LAYOUTS):
        data = RANDOM.integers(0, 50, shape).astype(dtype)
        tifffile.imwrite(path, data, byteorder=order, compression="lzw", predictor=True,
                         rowsperstrip=32, **options)  # fmt: skip
        root = omnizarr.virtualize(path)
        np.testing.assert_array_equal(root["data"][...], data)
        omnizarr.convert(root, tmp_path / "image.zarr", reencode=True, overwrite=True)
        found = omnizarr.open(tmp_path / "image.zarr", mode="r")
        np.testing.assert_array_equal(found["data"][...], data)


def test_stacks_of_pages(tmp_path: Path) -> None:
    path = tmp_path / "image.ome.tif"
    data = RANDOM.integers(0, 50, (3, 2, 40, 50)).astype("u2")
    tifffile.imwrite(path, data, tile=(16, 16), compression="zlib", metadata={"axes": "TCYX"})
    array = omnizarr.virtualize(path)["0"]
    np.testing.assert_array_equal(array[...], data)
    assert array.dimension_names == ("t", "c", "y", "x")
    assert array.chunks == (1, 1, 16, 16)


def geotiff(path: Path, data: Any, **options: Any) -> None:
    """A GeoTIFF with two overviews, 10 m pixels in UTM zone 33, and -9 for no data."""
    keys = (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633)
    tags = [
        (33550, "d", 3, (10.0, 10.0, 0.0), True),
        (33922, "d", 6, (0.0, 0.0, 0.0, 500000.0, 4600000.0, 0.0), True),
        (34735, "H", len(keys), keys, True),
        (42113, "s", 0, "-9", True),
    ]
    with tifffile.TiffWriter(path) as tiff:
        tiff.write(data, extratags=tags, subifds=2, tile=(16, 16), compression="zlib", **options)
        for step in (2, 4):
            tiff.write(data[::step, ::step], subfiletype=1, tile=(16, 16), compression="zlib")


def test_geotiff_with_overviews(tmp_path: Path) -> None:
    path = tmp_path / "scene.tif"
    data = RANDOM.integers(-9, 90, (64, 80)).astype("i2")
    geotiff(path, data)
    root = omnizarr.virtualize(path)
    assert sorted(root) == ["data", "overviews", "x", "y"]
    np.testing.assert_array_equal(root["data"][...], data)
    for level, step in (("1", 2), ("2", 4)):
        np.testing.assert_array_equal(root[f"overviews/{level}/data"][...], data[::step, ::step])
    assert root["data"].fill_value == -9
    assert root["data"].attrs["proj:code"] == "EPSG:32633"
    assert root["data"].attrs["spatial:transform"] == [10, 0, 500000, 0, -10, 4600000]
    coarse = root["overviews/1"]
    assert coarse["data"].attrs["spatial:transform"] == [20, 0, 500000, 0, -20, 4600000]
    assert root["x"][:2].tolist() == [500005, 500015] and root["y"][0] == 4599995
    assert coarse["x"][:2].tolist() == [500010, 500030]
    assert sorted(omnizarr.virtualize(path, skip=["overviews"])) == ["data", "x", "y"]


def test_a_time_series(tmp_path: Path) -> None:
    scenes = [RANDOM.integers(0, 90, (64, 80)).astype("i2") for _ in range(3)]
    for day, data in enumerate(scenes):
        geotiff(tmp_path / f"{day}.tif", data)
    days = np.array(["2024-01-01", "2024-02-01", "2024-03-01"], "M8[s]")
    cube = omnizarr.virtualize(tmp_path / "*.tif", new_dim={"time": days}, skip=["overviews"])
    np.testing.assert_array_equal(cube["data"][...], np.stack(scenes))
    np.testing.assert_array_equal(cube["time"][...], days)
    assert cube["data"].dimension_names == ("time", "y", "x")
    assert cube["x"].shape == (80,)


def test_what_is_not_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "image.tif"
    tifffile.imwrite(path, RANDOM.integers(0, 2, (16, 16)).astype("?"), compression="packbits")
    with pytest.raises(UnsupportedError, match="bits"):
        omnizarr.virtualize(path)


def test_damaged_files_are_refused_or_read(tmp_path: Path) -> None:
    path = tmp_path / "scene.tif"
    geotiff(path, RANDOM.integers(-9, 90, (64, 80)).astype("i2"))
    whole = path.read_bytes()
    refused = 0
    for attempt in range(150):
        data = bytearray(whole)
        for _ in range(1 + attempt % 8):
            data[int(RANDOM.integers(4, len(data)))] = int(RANDOM.integers(256))
        path.write_bytes(data[: len(data) if attempt % 3 else int(RANDOM.integers(8, len(data)))])
        try:
            scan(Place(str(path), {}), frozenset(), frozenset())
        except ZarrError:
            refused += 1
    assert refused > 10
