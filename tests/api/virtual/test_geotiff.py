"""What GeoTIFF's and GDAL's tags say of an image and its bands."""

from __future__ import annotations

import resource
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import tifffile

import omnizarr
from omnizarr.api.virtual.files import Place
from omnizarr.api.virtual.tiff import scan
from omnizarr.conventions.geo import geokeys
from omnizarr.errors import MetadataError, ZarrError

RANDOM = np.random.default_rng(9)
METADATA = """<GDALMetadata>
  <Item name="AUTHOR">me</Item>
  <Item name="ORBIT" domain="SENSOR">7</Item>
  <Item name="LAYOUT" domain="IMAGE_STRUCTURE">COG</Item>
  <Item name="DESCRIPTION" sample="0" role="description">near infrared</Item>
  <Item name="SCALE" sample="0" role="scale">0.5</Item>
  <Item name="OFFSET" sample="0" role="offset">-1</Item>
  <Item name="UNITTYPE" sample="0" role="unittype">K</Item>
  <Item name="SCALE" sample="1" role="scale">{second}</Item>
  <Item name="OFFSET" sample="1" role="offset">-1</Item>
  <Item name="UNITTYPE" sample="1" role="unittype">K</Item>
  <Item name="COLORINTERP" sample="1" role="colorinterp">Alpha</Item>
  <Item name="WAVE" sample="1">900</Item>
  <Item name="WAVE" sample="99999999999999">900</Item>
</GDALMetadata>"""
SINUSOIDAL = "+proj=sinu +lon_0=10 +x_0=1 +y_0=2 +R=6371007.181 +units=m"


def bands(path: Path, metadata: str, **options: Any) -> omnizarr.Group:
    data = RANDOM.integers(0, 90, (2, 20, 30)).astype("i2")
    tifffile.imwrite(
        path, data, planarconfig="separate", photometric="minisblack", metadata=None,
        extratags=[(42112, "s", 0, metadata, True)], **options,
    )  # fmt: skip
    return omnizarr.virtualize(path)


def test_bands(tmp_path: Path) -> None:
    attributes = bands(tmp_path / "a.tif", METADATA.format(second=0.5))["data"].attrs.asdict()
    assert attributes["scale_factor"] == 0.5 and attributes["add_offset"] == -1
    assert attributes["units"] == "K" and "long_name" not in attributes
    assert attributes["gdal_metadata"] == {"": {"AUTHOR": "me"}, "SENSOR": {"ORBIT": "7"}}
    assert attributes["bands"] == [
        {"description": "near infrared", "scale": 0.5, "offset": -1, "unit": "K"},
        {"scale": 0.5, "offset": -1, "unit": "K", "color_interpretation": "alpha",
         "metadata": {"": {"WAVE": "900"}}},
    ]  # fmt: skip


def test_bands_that_differ_have_no_common_scale(tmp_path: Path) -> None:
    attributes = bands(tmp_path / "a.tif", METADATA.format(second=2))["data"].attrs.asdict()
    assert "scale_factor" not in attributes and "add_offset" not in attributes
    assert [band["scale"] for band in attributes["bands"]] == [0.5, 2]


@pytest.mark.parametrize(
    "text", ['<!DOCTYPE a [<!ENTITY b "c">]><GDALMetadata/>', "<GDALMetadata>", "?"]
)
def test_hostile_metadata_do_not_hide_the_pixels(text: str, tmp_path: Path) -> None:
    array = bands(tmp_path / "a.tif", text)["data"]
    assert array.attrs["gdal_metadata"] == {"damaged": {"GDAL_METADATA": text}}
    assert array[...].shape == (2, 20, 30)


def test_palette(tmp_path: Path) -> None:
    colours = RANDOM.integers(0, 255, (3, 256)).astype("u2") * 257
    data = RANDOM.integers(0, 256, (20, 30)).astype("u1")
    tifffile.imwrite(tmp_path / "a.tif", data, photometric="palette", colormap=colours)
    array = omnizarr.virtualize(tmp_path / "a.tif")["data"]
    assert array.attrs["colormap"] == (colours // 257).T.tolist()
    assert array.attrs["bands"] == [{"color_interpretation": "palette"}]
    np.testing.assert_array_equal(array[...], data)


def placed(path: Path, keys: geokeys.Keys, **more: Any) -> omnizarr.Array:
    tags: list[Any] = [
        (33550, "d", 3, (10.0, 10.0, 0.0), True),
        (33922, "d", 6, (0.0, 0.0, 0.0, 500.0, 900.0, 0.0), True),
        (34735, "H", len(keys.directory), keys.directory, True),
    ]
    if keys.doubles:
        tags.append((34736, "d", len(keys.doubles), keys.doubles, True))
    if keys.text:
        tags.append((34737, "s", 0, keys.text, True))
    tifffile.imwrite(path, np.zeros((20, 30), "u1"), extratags=tags, metadata=None, **more)
    found = omnizarr.virtualize(path)["data"]
    assert isinstance(found, omnizarr.Array)
    return found


@pytest.mark.parametrize("size", [(0.0, 0.0, 0.0), (10.0, 0.0, 0.0), (1e308, 1e308, 0.0)])
def test_pixels_of_no_size_are_on_no_map(size: tuple[float, ...], tmp_path: Path) -> None:
    tags = [(33550, "d", 3, size, True), (33922, "d", 6, (9.0, 9.0, 0.0, 5.0, 9.0, 0.0), True)]
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((20, 30), "u1"), extratags=tags, metadata=None)
    root = omnizarr.virtualize(tmp_path / "a.tif")
    assert list(root) == ["data"] and root["data"].geo.transform is None


@pytest.mark.parametrize(
    ("dtype", "text", "fill"),
    [
        ("u2", "65535", 65535),
        ("u2", "inf", None),
        ("u2", "nan", None),
        ("i4", "1" + "0" * 400, None),
        ("f8", "-inf", -np.inf),
        ("f4", "1" + "0" * 400, np.inf),
        ("f4", "-1.7976931348623157e+308", -np.inf),
    ],
)
def test_no_data(dtype: str, text: str, fill: float | None, tmp_path: Path) -> None:
    tags = [(42113, "s", 0, text, True)]
    tifffile.imwrite(tmp_path / "a.tif", np.ones((20, 30), dtype), extratags=tags, metadata=None)
    array = omnizarr.virtualize(tmp_path / "a.tif")["data"]
    assert array.fill_value == fill and (array[...] == 1).all()


def test_a_system_without_a_code(tmp_path: Path) -> None:
    keys = geokeys.keys_for(pyproj.CRS(SINUSOIDAL))
    assert keys is not None
    array = placed(tmp_path / "a.tif", keys)
    assert "proj:code" not in array.attrs
    there = pyproj.Transformer.from_crs("EPSG:4326", SINUSOIDAL, always_xy=True).transform(12, 34)
    change = pyproj.Transformer.from_crs("EPSG:4326", array.geo.crs, always_xy=True)
    np.testing.assert_allclose(change.transform(12, 34), there, rtol=1e-12)


def test_a_system_that_is_not_known_keeps_its_keys(tmp_path: Path) -> None:
    keys = geokeys.Keys((1, 1, 0, 3, 1024, 0, 1, 1, 3072, 0, 1, 32767, 3075, 0, 1, 99), (), "")
    array = placed(tmp_path / "a.tif", keys)
    assert array.attrs["geotiff_keys"] == {"1024": 1, "3072": 32767, "3075": 99}
    assert array.geo.crs is None and array.geo.transform is not None


def test_a_projection_of_its_own_is_not_its_geographic_system(tmp_path: Path) -> None:
    directory = (1, 1, 0, 3, 1024, 0, 1, 1, 2048, 0, 1, 4326, 3072, 0, 1, 32767)
    array = placed(tmp_path / "a.tif", geokeys.Keys(directory, (), ""))
    assert "proj:code" not in array.attrs


def test_values_of_points(tmp_path: Path) -> None:
    keys = geokeys.keys_for(pyproj.CRS("EPSG:32633"), point=True)
    assert keys is not None
    array = placed(tmp_path / "a.tif", keys)
    assert array.attrs["AREA_OR_POINT"] == "Point"
    assert array.attrs["spatial:transform"] == [10, 0, 495, 0, -10, 905]


def test_levels_are_a_pyramid(tmp_path: Path) -> None:
    data = RANDOM.integers(0, 90, (64, 80)).astype("i2")
    keys = geokeys.keys_for(pyproj.CRS("EPSG:32633"))
    assert keys is not None
    tags = [(33550, "d", 3, (10.0, 10.0, 0.0), True),
            (33922, "d", 6, (0.0, 0.0, 0.0, 500.0, 900.0, 0.0), True),
            (34735, "H", len(keys.directory), keys.directory, True)]  # fmt: skip
    with tifffile.TiffWriter(tmp_path / "a.tif") as tiff:  # overviews in the chain, as GDAL does
        for number, step in enumerate((1, 2, 4)):
            tiff.write(data[::step, ::step], subfiletype=min(number, 1), metadata=None,
                       tile=(16, 16), extratags=tags if number == 0 else ())  # fmt: skip
    root = omnizarr.virtualize(tmp_path / "a.tif")
    image = omnizarr.Multiscale(root)
    assert image.convention == "multiscales"
    assert image.scales == ((-10, 10), (-20, 20), (-40, 40))
    for level, step in zip(image.levels, (1, 2, 4), strict=True):
        np.testing.assert_array_equal(level[...], data[::step, ::step])
    assert root.attrs["proj:code"] == "EPSG:32633"
    url = "http://www.opengis.net/def/crs/EPSG/0/32633"  # which GDAL 3.12 reads
    assert [level.attrs["_CRS"] for level in image.levels] == [{"url": url}] * 3
    omnizarr.convert(root, tmp_path / "a.zarr", zarr_format=3)
    assert not omnizarr.check(tmp_path / "a.zarr").findings
    assert omnizarr.open(tmp_path / "a.zarr", mode="r").multiscale.scales == image.scales


def test_further_images(tmp_path: Path) -> None:
    first, second = np.zeros((20, 30), "u1"), RANDOM.random((9, 8)).astype("f4")
    with tifffile.TiffWriter(tmp_path / "a.tif") as tiff:
        tiff.write(first, metadata=None)
        tiff.write(second, metadata=None)
        tiff.write(np.zeros((20, 30), "?"), metadata=None, subfiletype=4)  # a mask, of packed bits
    root = omnizarr.virtualize(tmp_path / "a.tif")
    np.testing.assert_array_equal(root["images/1/data"][...], second)
    [told] = root.attrs["tiff_left_out"]
    assert told.startswith("images/2") and "bits" in told
    skipped = omnizarr.virtualize(tmp_path / "a.tif", skip=["images"])
    assert list(skipped) == ["data"] and not skipped.attrs.asdict()


@pytest.mark.parametrize("compression", ["jpeg", "webp", "lerc", "jpeg2000", "jpegxl"])
def test_pictures(compression: str, tmp_path: Path) -> None:
    data = RANDOM.integers(0, 255, (50, 60, 3)).astype("u1")
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, data, compression=compression, tile=(32, 32), photometric="rgb")
    array = omnizarr.virtualize(path)["data"]
    np.testing.assert_array_equal(array[...], tifffile.imread(path))


# -- files of strangers ---------------------------------------------------------------------------


def classic(*directories: bytes) -> bytes:
    return b"II*\0" + struct.pack("<I", 8) + b"".join(directories)


def entry(code: int, kind: int, count: int, value: int) -> bytes:
    return struct.pack("<HHII", code, kind, count, value)


def directory(following: int, *entries: bytes) -> bytes:
    return struct.pack("<H", len(entries)) + b"".join(entries) + struct.pack("<I", following)


def image(width: int, height: int, following: int = 0, *more: bytes) -> bytes:
    return directory(
        following, entry(256, 4, 1, width), entry(257, 4, 1, height), entry(258, 3, 1, 8),
        entry(259, 3, 1, 1), entry(262, 3, 1, 1), entry(273, 4, 1, 8), entry(278, 4, 1, height),
        entry(279, 4, 1, 16), *more,
    )  # fmt: skip


HOSTILE = {
    "a loop of directories": classic(image(4, 4, 8)),
    "a directory behind the end": classic(image(4, 4, 1 << 30)),
    "sizes of gigabytes": classic(image(0xFFFFFFF0, 0xFFFFFFF0)),
    "many offsets": classic(directory(
        0, entry(256, 4, 1, 1 << 20), entry(257, 4, 1, 1 << 31), entry(258, 3, 1, 8),
        entry(259, 3, 1, 1), entry(273, 4, 0xFFFFFFFF, 8), entry(278, 4, 1, 1),
        entry(279, 4, 0xFFFFFFFF, 8))),
    "many samples": classic(directory(
        0, entry(256, 4, 1, 9), entry(257, 4, 1, 9), entry(258, 3, 1, 8), entry(259, 3, 1, 1),
        entry(273, 4, 1, 8), entry(277, 4, 1, 0x7FFFFFFF), entry(278, 4, 1, 9),
        entry(279, 4, 1, 8))),
    "a loop of sub-directories": classic(image(4, 4, 0, entry(330, 4, 1, 8))),
    "many tags": b"II*\0" + struct.pack("<IH", 8, 0xFFFF) + b"\1" * 400,
    "no directory": b"II*\0" + struct.pack("<I", 0),
    "nothing": b"II*\0",
    "a huge BigTIFF": b"II+\0\x08\0\0\0" + struct.pack("<QQ", 16, 1 << 60),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    path.write_bytes(HOSTILE[kind])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        root = omnizarr.virtualize(path)
        np.asarray(root["data"][..., :2, :2])
    except ZarrError as error:
        assert "a.tif" in str(error) or "chunk" in str(error) or "data" in str(error)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 512 << 10  # KiB


@pytest.mark.parametrize("kind", ["a loop of directories", "a directory behind the end"])
def test_lost_pages_are_errors(kind: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "a.tif").write_bytes(HOSTILE[kind])
    with pytest.raises(MetadataError, match="cannot be read"):
        omnizarr.virtualize(tmp_path / "a.tif")
    assert not capsys.readouterr().err


def test_truncated_files(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    bands(path, METADATA.format(second=1), tile=(16, 16), compression="zlib")
    whole = path.read_bytes()
    for end in range(8, len(whole), 97):
        path.write_bytes(whole[:end])
        try:
            file = scan(Place(str(path), {}), frozenset(), frozenset())
        except ZarrError:
            continue
        assert file.arrays["data"].shape == (2, 20, 30)
