"""What `check` says about maps."""

from __future__ import annotations

from typing import Any

import pytest

import omnizarr

GRID = {"crs": "EPSG:32631", "transform": (10, 0, 500000, 0, -10, 4600000)}


def scene(zarr_format: int = 3, convention: Any = None) -> omnizarr.Group:
    root = omnizarr.group(zarr_format=zarr_format)
    root.create_array("band", shape=(4, 6), dtype="u1", dimension_names=("y", "x"))
    root.geo.set(**GRID, convention=convention)
    return root


def said(root: omnizarr.Group) -> list[tuple[str, str, str]]:
    return [(found.path, found.level, found.message) for found in omnizarr.check(root.store)]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("convention", [None, "cf", "gdal", "spatial", ("cf", "gdal", "spatial")])
def test_nothing_is_said_about_what_omnizarr_writes(zarr_format: int, convention: Any) -> None:
    assert said(scene(zarr_format, convention)) == []


CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "code": ({"proj:code": "epsg:32631"}, "error", "capital letters"),
    "unknown code": ({"proj:code": "EPSG:999999"}, "error", "pyproj does not understand"),
    "two definitions": ({"proj:wkt2": "EPSG:32631"}, "warning", "later revisions"),
    "transform": ({"spatial:transform": [1, 2]}, "error", "6 finite numbers"),
    "singular": ({"spatial:transform": [0] * 6}, "error", "invertible"),
    "dimensions": ({"spatial:dimensions": ["a", "b"]}, "error", "must name dimensions"),
    "no dimensions": ({"spatial:dimensions": None}, "error", "must be the names"),
    "shape": ({"spatial:shape": [4, 7]}, "warning", "states the shape (4, 7)"),
    "shape of text": ({"spatial:shape": "4"}, "error", "positive integers"),
    "bbox": ({"spatial:bbox": [0, 0, 1, 1]}, "warning", "is not what spatial:transform"),
    "registration": ({"spatial:registration": "corner"}, "error", '"pixel" or "node"'),
    "type": ({"spatial:transform_type": "rpc"}, "warning", "is not known"),
    "conventions": ({"zarr_conventions": {}}, "error", "must be a list"),
    "entry": ({"zarr_conventions": [5]}, "error", "must be an object"),
    "name alone": ({"zarr_conventions": [{"name": "proj:"}]}, "error", "needs uuid"),
    "undeclared": ({"zarr_conventions": []}, "dialect", "declared by a group above"),
    "grid mapping": ({"grid_mapping": "nowhere"}, "error", "'nowhere', which is no array"),
    "mapping of text": ({"grid_mapping": "a b"}, "error", "must be the name of a variable"),
    "mapping of coordinates": ({"grid_mapping": "spatial_ref: x z"}, "error", "coordinate 'z'"),
    "mapping of data": ({"grid_mapping": "band"}, "error", "neither grid_mapping_name nor"),
    "gdal": ({"_CRS": "EPSG:4326"}, "error", "must be an object"),
    "gdal contradicts": ({"_CRS": {"url": "http://www.opengis.net/def/crs/EPSG/0/4326"}},
                         "warning", "gdal and cf state different reference systems; gdal counts"),
    "transform contradicts": ({"spatial:transform": [20, 0, 500000, 0, -20, 4600000]},
                              "warning", "cf and spatial state different transforms"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_departs_is_found(name: str) -> None:
    changes, level, message = CASES[name]
    root = scene()
    attributes = root["band"].attrs
    attributes.update(changes)
    if changes.get("spatial:dimensions", "") is None:
        attributes.update({"spatial:dimensions": 5})
    found = [each for each in said(root) if each[0] == "band"]
    assert any(each[1] == level and message in each[2] for each in found), found


def test_wkt_of_the_first_version_is_a_dialect() -> None:
    root = scene()
    wkt = root.geo.crs.to_wkt("WKT1_GDAL")
    root["band"].attrs.update({"proj:code": None, "proj:wkt2": wkt})
    assert [each[1:] for each in said(root)] == [
        ("dialect", "proj:wkt2 holds WKT of the first version; rioxarray 0.23 writes it")
    ]


def test_below_the_root_nothing_is_said_about_what_is_above() -> None:
    root = omnizarr.group()
    inner = root.create_group("inner")
    inner.create_array("band", shape=(4, 6), dtype="u1", dimension_names=("y", "x"))
    inner["band"].geo.set(**GRID, convention="cf")
    root.move("inner/spatial_ref", "spatial_ref")
    assert said(root) == []
    assert list(omnizarr.check(root.store, "inner")) == []
    assert list(omnizarr.check(root.store, "inner/band")) == []
