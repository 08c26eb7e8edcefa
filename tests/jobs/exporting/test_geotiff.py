"""Arrays and pyramids as GeoTIFF: what tifffile reads, and what `virtualize` finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

import omnizarr
from omnizarr.jobs.exporting import geotiff

RANDOM = np.random.default_rng(10)
TRANSFORM = (10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0)


def quiet(units: int, size: int, label: str) -> None:
    pass


def exported(node: Any, file: Path, **options: Any) -> omnizarr.Group:
    """Write, compare, and open what was written."""
    assert geotiff.obstacles(node, options) == []
    told = 0

    def advance(units: int, size: int, label: str) -> None:
        nonlocal told
        told += units

    geotiff.write(node, str(file), advance, **options)
    assert told == geotiff.units(node, options)
    assert list(geotiff.differences(node, str(file), quiet, **options)) == []
    return omnizarr.virtualize(file)


def scene(dtype: str, shape: tuple[int, ...], dims: tuple[str, ...], **more: Any) -> omnizarr.Array:
    data = RANDOM.integers(0, 100, shape).astype(dtype)
    root = omnizarr.create_group({}, zarr_format=3)
    array = root.create_array(
        "scene", data=data, dimension_names=dims, chunks=tuple(min(40, n) for n in shape), **more
    )
    array.geo.set(crs="EPSG:32633", transform=TRANSFORM)
    return array


LAYOUTS: list[tuple[tuple[int, ...], tuple[str, ...]]] = [
    ((70, 100), ("y", "x")),
    ((3, 70, 100), ("band", "y", "x")),
    ((70, 100, 3), ("y", "x", "band")),
]


@pytest.mark.parametrize("compression", ["deflate", "zstd", "lzw", None])
@pytest.mark.parametrize(("shape", "dims"), LAYOUTS, ids=["one", "planar", "interleaved"])
def test_every_form(shape: Any, dims: Any, compression: str | None, tmp_path: Path) -> None:
    for dtype in ("u1", "i2", "f4", "i8"):
        array = scene(dtype, shape, dims)
        file = tmp_path / f"{dtype}.tif"
        for cog in (False, True) if dtype == "i2" else (False,):
            root = exported(array, file, compression=compression, tile=32, cog=cog)
            np.testing.assert_array_equal(tifffile.imread(file), array[...])
            found = root["data"]
            np.testing.assert_array_equal(found[...], array[...])
            assert found.attrs["proj:code"] == "EPSG:32633" and found.dtype == array.dtype
            assert tuple(found.attrs["spatial:transform"]) == TRANSFORM
            file.unlink()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("compression", ["deflate", "zstd", None])
def test_threads_write_the_same_file(compression: str | None, tmp_path: Path) -> None:
    array = omnizarr.array(np.arange(9e6, dtype="i4").reshape(3000, 3000), chunks=(700, 900))
    for threads in (1, 4):  # of 36 MB 16 are compressed at a time
        with omnizarr.config.set({"threads": threads}):
            omnizarr.export(array, tmp_path / f"{threads}.tif", compression=compression)
    assert (tmp_path / "1.tif").read_bytes() == (tmp_path / "4.tif").read_bytes()


def test_small_memory_gives_the_same_file(tmp_path: Path) -> None:
    array = scene("i2", (3, 70, 100), ("band", "y", "x"))
    for name, memory in (("a", None), ("b", 1)):
        exported(array, tmp_path / name, tile=32, max_memory=memory)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def pyramid() -> omnizarr.Group:
    root = omnizarr.create_group({}, zarr_format=3)
    data = RANDOM.integers(0, 90, (130, 150)).astype("i2")
    for level in range(3):
        values = data[:: 1 << level, :: 1 << level]
        array = root.create_array(str(level), data=values, dimension_names=["y", "x"], chunks=32)
        if level == 0:
            array.geo.set(crs="EPSG:32633", transform=TRANSFORM)
    omnizarr.Multiscale.describe(root, ["0", "1", "2"], convention="multiscales")
    return root


@pytest.mark.parametrize("cog", [False, True])
@pytest.mark.parametrize("bigtiff", [False, True])
def test_levels_become_overviews(cog: bool, bigtiff: bool, tmp_path: Path) -> None:
    root, file = pyramid(), tmp_path / "a.tif"
    found = exported(root, file, tile=32, cog=cog, bigtiff=bigtiff)
    for level, path in enumerate(["data", "overviews/1/data", "overviews/2/data"]):
        np.testing.assert_array_equal(found[path][...], root[str(level)][...])
    with tifffile.TiffFile(file) as tiff:
        assert tiff.is_bigtiff is bigtiff
        begins = [min(page.dataoffsets) for page in tiff.pages]
        tags = [tag.valueoffset for page in tiff.pages for tag in page.tags]
        assert (begins == sorted(begins, reverse=True)) is cog
        assert (max(tags) < min(begins)) is cog
        aligned = all(offset % 2 == 0 for page in tiff.pages for offset in page.dataoffsets)
        assert aligned or not cog


def test_facts_come_back(tmp_path: Path) -> None:
    bands = [
        {"description": "red <ä>", "scale": 0.5, "offset": 1.0, "unit": "m",
         "color_interpretation": "red", "metadata": {"": {"WAVE": "5"}}},
        {"scale": 2.0, "color_interpretation": "green"},
        {"color_interpretation": "blue"},
        {"color_interpretation": "alpha"},
    ]  # fmt: skip
    more = {"bands": bands, "gdal_metadata": {"": {"A": "b"}, "S": {"C": "d"}}, "_FillValue": 7}
    array = scene("u1", (70, 100, 4), ("y", "x", "band"), attributes=more)
    found = exported(array, tmp_path / "a.tif")["data"]
    assert found.fill_value == 7
    for name in ("bands", "gdal_metadata"):
        assert found.attrs[name] == more[name]
    with tifffile.TiffFile(tmp_path / "a.tif") as tiff:
        page = tiff.pages.first
        assert page.photometric == 2 and page.extrasamples == (2,)


@pytest.mark.parametrize(
    ("dtype", "value", "text"),
    [("f4", "AAAAAAAA+H8=", "nan"), ("f8", -9999.0, "-9999.0"), ("i2", -9, "-9"),
     ("u8", (1 << 64) - 1, str((1 << 64) - 1))],
)  # fmt: skip
def test_no_data(dtype: str, value: Any, text: str, tmp_path: Path) -> None:
    array = scene(dtype, (20, 30), ("y", "x"), attributes={"_FillValue": value})
    exported(array, tmp_path / "a.tif")
    with tifffile.TiffFile(tmp_path / "a.tif") as tiff:
        assert tiff.pages.first.tags.valueof(42113) == text


def test_no_data_that_is_given(tmp_path: Path) -> None:
    root = omnizarr.create_group({}, zarr_format=2)
    array = root.create_array("a", data=np.ones((20, 30), "u1"), dimension_names=["y", "x"],
                              fill_value=5)  # fmt: skip
    given: dict[str, Any] = {"5": {}, "9": {"nodata": 9}, "None": {"nodata": None}}
    for name, options in given.items():
        exported(array, tmp_path / name, **options)
        with tifffile.TiffFile(tmp_path / name) as tiff:
            assert str(tiff.pages.first.tags.valueof(42113)) == name
    assert "300" in geotiff.obstacles(array, {"nodata": 300})[0]


def test_other_grids(tmp_path: Path) -> None:
    array = scene("u1", (20, 30), ("y", "x"))
    array.geo.set(transform=(10, 2, 5, 3, -10, 7), convention="spatial")
    found = exported(array, tmp_path / "rotated.tif")["data"]
    assert found.attrs["spatial:transform"] == [10, 2, 5, 3, -10, 7]
    array.attrs["AREA_OR_POINT"] = "Point"
    found = exported(array, tmp_path / "point.tif")["data"]
    assert found.attrs["AREA_OR_POINT"] == "Point"
    assert found.attrs["spatial:transform"] == [10, 2, 5, 3, -10, 7]
    plain = omnizarr.array(np.zeros((20, 30), "u1"))
    found = exported(plain, tmp_path / "plain.tif")["data"]
    assert [*found.attrs] == ["_ARRAY_DIMENSIONS"] and found.fill_value is None


def test_keys_that_no_system_is_known_for(tmp_path: Path) -> None:
    array = omnizarr.array(np.zeros((20, 30), "u1"), dimension_names=["y", "x"])
    array.geo.set(transform=TRANSFORM)
    keys = {"1024": 1, "1026": "mine", "3072": 32767, "3075": 99, "3080": 5.5}
    array.attrs["geotiff_keys"] = keys
    found = exported(array, tmp_path / "a.tif")["data"]
    assert found.attrs["geotiff_keys"] == {**keys, "1025": 1}
    array.attrs["geotiff_keys"] = {"x": 1}
    assert "geotiff_keys" not in exported(array, tmp_path / "b.tif")["data"].attrs


def test_palette(tmp_path: Path) -> None:
    colours = RANDOM.integers(0, 256, (256, 3)).tolist()
    array = scene("u1", (20, 30), ("y", "x"), attributes={"colormap": colours})
    assert exported(array, tmp_path / "a.tif")["data"].attrs["colormap"] == colours


@pytest.mark.parametrize("dims", [("time", "y", "x"), ("y", "x", "band"), ("y", "x", "time")])
def test_a_single_band(dims: Any, tmp_path: Path) -> None:
    shape = tuple(1 if name in ("time", "band") else 30 for name in dims)
    array = omnizarr.array(RANDOM.random(shape), dimension_names=dims)
    if dims[2] == "time":
        array.geo.set(crs="EPSG:4326", transform=(1, 0, 0, 0, -1, 40))
        assert geotiff.image_of(array).rows == 0
    found = exported(array, tmp_path / "a.tif")["data"]
    np.testing.assert_array_equal(found[...], array[...].squeeze())


def test_truth_values(tmp_path: Path) -> None:
    array = omnizarr.array(RANDOM.random((20, 30)) > 0.5)
    found = exported(array, tmp_path / "a.tif")["data"]
    np.testing.assert_array_equal(found[...], array[...])


def test_obstacles() -> None:
    def told(node: Any, **options: Any) -> str:
        return "; ".join(geotiff.obstacles(node, options))

    assert "4 dimensions" in told(omnizarr.zeros((2, 2, 3, 4)))
    assert "type" in told(omnizarr.zeros((3, 4), dtype="M8[s]"))
    assert "without pixels" in told(omnizarr.zeros((0, 4)))
    assert "compression" in told(omnizarr.zeros((3, 4)), compression="brotli")
    assert "multiple of 16" in told(omnizarr.zeros((3, 4)), tile=100)
    group = omnizarr.group()
    assert "nothing" in told(group)
    group["a"], group["b"] = np.zeros((3, 4)), np.zeros((3, 4))
    assert "path=" in told(group)
    array = scene("u1", (20, 30), ("y", "x"))
    array.geo.set(crs="+proj=robin")
    assert "crs=False" in told(array) and not told(array, crs=False)
    root = pyramid()
    del root["1"]
    root.create_array("1", data=np.zeros((65, 75), "f4"), dimension_names=["y", "x"])
    assert "level '1'" in told(root)


def test_differences_are_found(tmp_path: Path) -> None:
    array = scene("i2", (70, 100), ("y", "x"))
    exported(array, tmp_path / "a.tif", tile=32)
    array[69, 99] += 1
    found = list(geotiff.differences(array, str(tmp_path / "a.tif"), quiet, tile=32))
    assert len(found) == 1 and "values differ" in found[0]
