"""Maps between omnizarr and GDAL, rioxarray, odc-geo, zarr-cm and geozarr-toolkit.

What omnizarr writes in formats 2 and 3 and in each convention, they read with equal reference
system, transform and bounds, as far as each knows the convention; what they write reads here as
they meant it. GDAL comes with rasterio; QGIS reads through it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest

import omnizarr

from .fixtures import REPOSITORY, shared, third_party, unpacked

pytestmark = pytest.mark.peers

PYTHON = REPOSITORY / ".peers" / "geo" / "bin" / "python"
UTM = "EPSG:32631"
LAEA = "+proj=laea +lat_0=45.5 +lon_0=-114.125 +x_0=0 +y_0=0 +ellps=GRS80 +units=m +no_defs"
GRIDS: dict[str, tuple[str, tuple[float, ...]]] = {
    "north-up": (UTM, (10, 0, 500000, 0, -10, 4600000)),
    "south-up": ("EPSG:3857", (100, 0, -2000000, 0, 50, 6000000)),
    "lat-lon": ("EPSG:4326", (0.25, 0, -180, 0, -0.25, 90)),
    "0-360": ("EPSG:4326", (1.5, 0, -0.75, 0, -1.5, 90.75)),
    "custom": (LAEA, (1000, 0, -5000, 0, -1000, 4000)),
    "rotated": (UTM, (10, 2, 500000, 3, -10, 4600000)),
}
CONVENTIONS = {
    "cf": "cf",
    "gdal": "gdal",
    "spatial": "spatial",
    "default": None,
    "all": ("cf", "gdal", "spatial"),
}
SYSTEMS: Mapping[str, set[str]] = {
    "gdal": {"cf", "gdal", "default", "all"},
    "rioxarray": {"cf", "spatial", "default", "all"},
    "odc-geo": {"cf", "default", "all"},
}
"""The conventions from which each reader takes the reference system. GDAL 3.12 reads `proj:wkt2`,
as that of STAC; it knows `proj:code` from 3.13 on, of which there is no wheel."""
VALUES = np.arange(48, dtype="u2").reshape(6, 8)


def peer(action: str, folder: Path) -> dict[str, Any]:
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} does not exist: run `make peers`")
    script = Path(__file__).parent / "geo_peer.py"
    done = subprocess.run(
        [PYTHON, script, action, folder], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def same_system(found: str | None, wanted: str) -> bool:
    if found is None:
        return False
    one, other = pyproj.CRS(found), pyproj.CRS(wanted)
    return one == other or one.equals(other, ignore_axis_order=True)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the peers make of stores that omnizarr wrote."""
    folder = tmp_path_factory.mktemp("ours")
    for number in (2, 3):
        for grid, (crs, transform) in GRIDS.items():
            for name, convention in CONVENTIONS.items():
                if grid == "rotated" and name == "gdal":
                    continue  # which has no place for it
                root = omnizarr.open_group(
                    folder / f"{name}-{number}-{grid}.zarr", mode="w", zarr_format=number
                )
                root.create_array("band", data=VALUES, chunks=(3, 4), dimension_names=("y", "x"))
                root.geo.set(crs=crs, transform=transform, convention=convention)
                omnizarr.consolidate_metadata(root.store)
                report = omnizarr.check(root.store)
                assert len(report) == 0, report
        root = omnizarr.open_group(folder / f"time-{number}-3d.zarr", mode="w", zarr_format=number)
        root.create_array(
            "band",
            data=np.stack([VALUES] * 3),
            chunks=(1, 3, 4),
            dimension_names=("time", "y", "x"),
        )
        root.geo.set(crs=UTM, transform=GRIDS["north-up"][1])
        omnizarr.consolidate_metadata(root.store)
    return peer("read", folder)


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("reader", SYSTEMS)
def test_peers_read_what_omnizarr_writes(
    ours: dict[str, Any], reader: str, grid: str, number: int
) -> None:
    crs, transform = GRIDS[grid]
    for convention in CONVENTIONS:
        if (grid, convention) == ("rotated", "gdal"):
            continue
        found = ours[f"{convention}-{number}-{grid}.zarr"][reader]
        if grid == "rotated" and (
            reader == "gdal" or (reader, convention) == ("odc-geo", "spatial")
        ):
            # GDAL 3.12 looks for coordinates, odc-geo for a grid mapping; a rotated grid has none.
            continue
        assert "error" not in found, (convention, found)
        assert found["transform"] == pytest.approx(transform), convention
        if reader == "gdal":
            assert (found["values"], found["count"]) == (VALUES.sum(), 1)
        written_as_wkt2 = (reader, grid, convention) == ("gdal", "custom", "spatial")
        if convention in SYSTEMS[reader] or written_as_wkt2:
            assert same_system(found["crs"], crs), (convention, found["crs"])
        else:
            assert found["crs"] is None, convention  # so that the table above stays true


@pytest.mark.parametrize("number", [2, 3])
def test_peers_read_bounds_and_a_third_dimension(ours: dict[str, Any], number: int) -> None:
    for name in (f"default-{number}-north-up.zarr", f"time-{number}-3d.zarr"):
        for reader in SYSTEMS:
            found = ours[name][reader]
            assert found["bounds"] == [500000, 4599940, 500080, 4600000], (name, reader, found)
            assert same_system(found["crs"], UTM)
    assert ours[f"time-{number}-3d.zarr"]["gdal"]["count"] == 3


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("convention", ["spatial", "default", "all"])
def test_validators_agree(ours: dict[str, Any], convention: str, grid: str) -> None:
    for number, documents in ((2, []), (3, ["zarr.json", "band/zarr.json"])):
        found = ours[f"{convention}-{number}-{grid}.zarr"]["validators"]
        assert found["geozarr"] == 0, found
        assert {"[OK] spatial", "[OK] proj", "[OK] zarr_conventions"} <= {*found["said"]}
        assert found["zarr-cm"] == documents  # it knows format 3 alone


def test_omnizarr_reads_what_peers_write(tmp_path: Path) -> None:
    made = peer("write", tmp_path)
    assert len(made) == 35
    for name, expected in made.items():
        root = omnizarr.open_group(tmp_path / name, mode="r")
        geo = root[expected["array"]].geo  # type: ignore[union-attr]
        assert geo.conventions == (expected["convention"],), name
        assert same_system(geo.crs.to_wkt(), expected["crs"]), name
        assert geo.transform == pytest.approx(expected["transform"]), name
        assert geo.shape == (6, 8)
        assert geo.conflicts == ()
        report = omnizarr.check(root.store)
        assert report.ok, report


def test_conversion_of_what_gdal_wrote(tmp_path: Path) -> None:
    """A store of GDAL's gets the other conventions; all peers then read the same."""
    made = peer("write", tmp_path)
    for name, expected in made.items():
        if name.startswith("gdal-"):
            root = omnizarr.open_group(tmp_path / name, mode="r+")
            root.move(expected["array"], "band")
            root.geo.write(replace=True)
            assert "_CRS" not in root["band"].attrs
            omnizarr.consolidate_metadata(root.store)
    read = peer("read", tmp_path)
    for name, expected in made.items():
        if name.startswith("gdal-"):
            for reader in SYSTEMS:
                found = read[name][reader]
                assert "error" not in found, (name, reader, found)
                assert same_system(found["crs"], expected["crs"]), (name, reader, found)
                assert found["transform"] == pytest.approx(expected["transform"])
            assert read[name]["validators"]["geozarr"] == 0


# -- stored files of GDAL's own tests -------------------------------------------------------------
UTM11 = (60.0, 0.0, 440720.0, 0.0, -60.0, 3751320.0)
FIXTURES: dict[str, tuple[str, int | None, tuple[float, ...]]] = {
    "zarr/bitround0.zarr": ("bitround0", 26711, UTM11),
    "zarr/uint16_imagecodecs_tiff.zarr": ("uint16_imagecodecs_tiff", 26711, UTM11),
    "zarr/zarr_with_stac_proj_epsg.zarr": ("test", 26711, UTM11),
    "zarr/zarr_with_stac_proj_wkt2.zarr": ("test", 26711, UTM11),
    "zarr/byte_cf1.zarr": ("Band1", None, (60, 0, 440720, 0, 60, 3750120)),
    "zarr/byte_cf1.zr3": ("Band1", None, (60, 0, 440720, 0, 60, 3750120)),
    "zarr/v3/spatial_geotransform.zarr": ("ar", None, (10, 0.1, 450000, 0.15, -10, 5000000)),
    "zarr/v3/spatial_proj_at_array_level.zarr": (
        *("ar", 32631),
        (10, 0, 450000, 0, -10, 5000000),
    ),
    "zarr/v3/spatial_proj_at_parent_level.zarr": (
        *("ar", 32631),
        (10, 0, 450000, 0, -10, 5000000),
    ),
    "zarr/v3/spatial_proj_convention_at_root_level.zarr": (
        *("group/ar", 32631),
        (10, 0, 450000, 0, -10, 5000000),
    ),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_files_of_gdal(name: str) -> None:
    if not third_party():
        pytest.skip(f"no files of third parties in {shared()}")
    array, epsg, transform = FIXTURES[name]
    consolidated = "/v3/" in name  # where these have their arrays, and nowhere else
    opened = omnizarr.open_consolidated if consolidated else omnizarr.open_group
    root = opened(unpacked("gdal") / "gdal" / name, mode="r")
    group, _, member = array.rpartition("/")
    geo = (root[group] if group else root).geo.arrays[member]  # type: ignore[union-attr]
    assert geo.transform == pytest.approx(transform)
    assert geo.epsg == epsg
    if "cf1" in name:  # parameters alone, which name no code
        assert geo.crs.to_cf()["longitude_of_central_meridian"] == -117
        assert geo.crs.ellipsoid.semi_major_metre == 6378206.4
