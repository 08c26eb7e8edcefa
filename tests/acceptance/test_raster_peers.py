"""GeoTIFF between omnizarr and GDAL (in rasterio's wheel), and OME-XML as ome-types reads it.

What is exported GDAL reads with equal values, overviews, reference system, transform, "no data" and
bands, and what GDAL writes is read here likewise; there and back nothing is lost.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import tifffile

import omnizarr
from omnizarr.jobs.exporting import geotiff, ometiff

from .fixtures import REPOSITORY

pytestmark = pytest.mark.peers

PYTHON = REPOSITORY / ".peers" / "geo" / "bin" / "python"
SYSTEMS = {
    "utm": "EPSG:32633",
    "lonlat": "EPSG:4326",
    "laea": "+proj=laea +lat_0=12 +lon_0=5 +x_0=10 +y_0=20 +datum=WGS84",
    "sinusoidal": "+proj=sinu +lon_0=0 +R=6371007.181",
    "albers": "+proj=aea +lat_1=30 +lat_2=40 +lat_0=35 +lon_0=5 +datum=WGS84",
}


def peer(action: str, folder: Path) -> dict[str, Any]:
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} does not exist: run `make peers`")
    script = Path(__file__).parent / "raster_peer.py"
    done = subprocess.run(
        [PYTHON, script, action, folder], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def quiet(units: int, size: int, label: str) -> None:
    pass


def check_system(found: str, wanted: str, where: str) -> None:
    """Two systems that have the same coordinates, whatever they are called."""
    points = [pyproj.Proj(pyproj.CRS(text))(6, 34) for text in (found, wanted)]
    np.testing.assert_allclose(*points, rtol=1e-9, err_msg=where)
    assert pyproj.CRS(found).is_geographic == pyproj.CRS(wanted).is_geographic


def bands_first(array: omnizarr.Array) -> Any:
    data = array[...]
    if data.ndim == 2:
        return data[np.newaxis]
    return data.transpose(2, 0, 1) if (array.dims or ())[-1] == "band" else data


def scene(name: str, interleaved: bool) -> omnizarr.Group:
    """A pyramid of three bands, with all facts."""
    root = omnizarr.create_group({}, zarr_format=3)
    data = np.random.default_rng(4).integers(0, 90, (3, 260, 300)).astype("i2")
    dims = ["band", "y", "x"]
    if interleaved:
        data, dims = data.transpose(1, 2, 0), ["y", "x", "band"]
    facts = [{"description": f"b{n}", "scale": 0.5 + n, "offset": 1.0 * n, "unit": "m"}
             for n in range(3)]  # fmt: skip
    for level in range(3):
        step = slice(None, None, 1 << level)
        key = (step, step) if interleaved else (slice(None), step, step)
        array = root.create_array(str(level), data=data[key], dimension_names=dims, chunks=100,
                                  attributes={"bands": facts, "_FillValue": -9})  # fmt: skip
        if level == 0:
            degrees = name == "lonlat"
            corner = (0.25, 0, -20, 0, -0.25, 60) if degrees else (10, 0, 5000, 0, -10, 4600)
            array.geo.set(crs=SYSTEMS[name], transform=corner, convention="spatial")
    omnizarr.Multiscale.describe(root, ["0", "1", "2"], axes=dims, convention="multiscales")
    return root


def test_gdal_reads_what_is_exported(tmp_path: Path) -> None:
    made: dict[str, omnizarr.Group] = {}
    for name in SYSTEMS:
        for interleaved in (False, True):
            for cog, compression in ((True, "deflate"), (False, "zstd"), (False, "lzw")):
                file = f"{name}-{interleaved}-{cog}-{compression}.tif"
                made[file] = scene(name, interleaved)
                options: Any = {"cog": cog, "compression": compression, "tile": 128}
                geotiff.write(made[file], str(tmp_path / file), quiet, **options)
    found = peer("read", tmp_path)
    for file, root in made.items():
        facts, first = found[file], root["0"]
        for level in range(3):
            suffix = f".{level}.npy" if level else ".npy"
            values = np.load((tmp_path / file).with_suffix(suffix))
            np.testing.assert_array_equal(values, bands_first(root[str(level)]), err_msg=file)
        assert facts["overviews"] == [2, 4] and facts["nodata"] == "-9.0", file
        assert facts["transform"] == list(first.geo.transform or ()), file
        check_system(facts["crs"], SYSTEMS[file.partition("-")[0]], file)
        assert facts["descriptions"] == ["b0", "b1", "b2"]
        assert facts["scales"] == [0.5, 1.5, 2.5] and facts["offsets"] == [0, 1, 2]
        assert facts["cog"] is ("-True-deflate" in file), file


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_gdal_writes_there_and_back(zarr_format: Any, tmp_path: Path) -> None:
    (tmp_path / "gdal").mkdir()
    (tmp_path / "back").mkdir()
    before = peer("write", tmp_path / "gdal")
    for name, facts in before.items():
        file = tmp_path / "gdal" / name
        store = tmp_path / f"{name}.zarr"
        source = omnizarr.virtualize(file)
        omnizarr.convert(source, store, zarr_format=zarr_format, reencode=True)
        root = omnizarr.open_group(store, mode="r")
        array = root["data"]
        np.testing.assert_array_equal(bands_first(array), np.load(file.with_suffix(".npy")))
        assert list(array.geo.transform) == facts["transform"]
        levels = root.multiscale.levels if facts["overviews"] else (array,)
        for level, found in enumerate(levels[1:], 1):
            values = np.load(file.with_suffix(f".{level}.npy"))
            np.testing.assert_array_equal(bands_first(found), values)
        assert geotiff.obstacles(root, {}) == []
        cog = facts["cog"]
        geotiff.write(root, str(tmp_path / "back" / name), quiet, cog=cog, tile=128)
    after = peer("read", tmp_path / "back")
    for name, facts in before.items():
        check_system(after[name]["crs"], facts["crs"], name)
        known = {"crs": None, "compression": None}
        assert after[name] | known == {**facts, **known}, name


def test_ome_types_agrees(tmp_path: Path) -> None:
    root = omnizarr.create_group({}, zarr_format=2)
    root.create_array("0", data=np.zeros((2, 3, 4, 20, 30), "u2"), dimension_names=[*"tczyx"])
    omnizarr.Multiscale.describe(
        root, ["0"], scale={"z": 2, "x": 0.25}, unit={"z": "micrometer", "x": "nanometer"}, name="n"
    )
    channels = [{"label": name, "color": color} for name, color in
                (("DAPI", "0000FF"), ("a & <b>", "80FF00"), ("c", "FFFFFF"))]  # fmt: skip
    root.attrs["omero"] = {"channels": channels}
    ometiff.write(root, str(tmp_path / "a.ome.tif"), quiet)
    with tifffile.TiffFile(tmp_path / "a.ome.tif") as tiff:
        (tmp_path / "a.xml").write_text(tiff.ome_metadata or "", encoding="utf-8")
    found = peer("read", tmp_path)["a.xml"]
    assert found["name"] == "n" and found["sizes"] == [2, 3, 4, 20, 30]
    assert found["physical"] == [0.25, "nm", 2.0]
    assert [name for name, _ in found["channels"]] == ["DAPI", "a & <b>", "c"]
    assert found["channels"][1][1].lower().startswith("#80ff00")
