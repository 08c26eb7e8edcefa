"""`array.geo` and `group.geo`: maps that are read, selected from, stored and converted."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.conventions.geo import crs as systems
from omnizarr.errors import MetadataError, MissingPackageError, ReadOnlyError

UTM = "EPSG:32631"
NORTH_UP = (10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0)
CONVENTIONS = [("cf",), ("gdal",), ("spatial",), ("cf", "spatial"), ("gdal", "cf", "spatial")]


def scene(
    shape: tuple[int, ...] = (4, 6), names: tuple[str, ...] = ("y", "x"), zarr_format: int = 3
) -> tuple[omnizarr.Group, omnizarr.Array]:
    root = omnizarr.group(zarr_format=zarr_format)
    values = np.arange(np.prod(shape), dtype="i4").reshape(shape)
    return root, root.create_array("band", data=values, dimension_names=names)


SIZES = st.floats(0.01, 1e4) | st.floats(-1e4, -0.01)
GRIDS = st.builds(
    lambda a, b, c, e, f: (a, b, c, 0.0, e, f),
    SIZES, st.sampled_from([0.0, 0.25]), st.floats(-1e5, 1e5), SIZES, st.floats(-1e5, 1e5),
)  # fmt: skip


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1)])
def test_one_row_or_column(shape: tuple[int, int]) -> None:
    """A single coordinate says nothing about the width of its cell."""
    for conventions in CONVENTIONS:
        root, array = scene(shape)
        told = {"crs": UTM, "transform": NORTH_UP, "convention": conventions}
        if conventions == ("gdal",):
            with pytest.raises(MetadataError, match="add the convention 'spatial'"):
                root.geo.set(**told)
            assert array.attrs.asdict() == {} and list(root) == ["band"]
            continue
        root.geo.set(**told)
        bottom, right = 4600000.0 - 10 * shape[0], 500000.0 + 10 * shape[1]
        assert array.geo.bounds == (500000.0, bottom, right, 4600000.0)
    root, array = scene(shape)
    for name, values in (("y", np.arange(float(shape[0]))), ("x", np.arange(float(shape[1])))):
        root.create_array(name, data=values, dimension_names=(name,))
    assert array.geo.transform is None and array.geo.bounds is None


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_no_row_or_column(shape: tuple[int, int]) -> None:
    root, array = scene(shape)
    root.geo.set(crs=UTM, transform=NORTH_UP)
    array.geo.set(transform=(20, 0, 500000, 0, -20, 4600000))
    assert array.geo.resolution == (20, 20) and array.geo.bounds is None
    assert (root["y"].shape, root["x"].shape) == (shape[:1], shape[1:])
    assert omnizarr.check(root.store).ok


@settings(max_examples=40, deadline=None)
@given(
    GRIDS,
    st.sampled_from(["EPSG:32631", "EPSG:4326", "EPSG:3857", "OGC:CRS84"]),
    st.sampled_from(CONVENTIONS),
    st.sampled_from([2, 3]),
    st.sampled_from(["pixel", "node"]),
    st.sampled_from([((4, 6), ("y", "x")), ((2, 4, 6), ("time", "lat", "lon")),
                     ((6, 4), ("lon", "lat"))]),
)  # fmt: skip
def test_what_is_stored_is_read(
    transform: tuple[float, ...],
    crs: str,
    conventions: tuple[str, ...],
    zarr_format: int,
    registration: Any,
    layout: tuple[tuple[int, ...], tuple[str, ...]],
) -> None:
    rotated = transform[1] != 0
    if rotated and conventions == ("gdal",):
        return
    root, array = scene(*layout, zarr_format)
    root.geo.set(crs=crs, transform=transform, registration=registration, convention=conventions)
    for geo in (root.geo, array.geo, omnizarr.open_group(root.store, mode="r").geo):
        assert {*geo.conventions} == {*conventions}
        assert geo.transform == pytest.approx(transform)
        assert geo.crs == type(geo.crs)(crs) or geo.crs.equals(
            type(geo.crs)(crs), ignore_axis_order=True
        )
        assert geo.shape == (4, 6)
        assert geo.conflicts == ()
        assert geo.registration == registration
    names = [name for name in layout[1] if name != "time"]
    assert sorted(root) == sorted(
        ["band"] + ([] if rotated else names) + (["spatial_ref"] if "cf" in conventions else [])
    )
    if not rotated:
        y, x = array.geo.coordinates
        assert x == pytest.approx(transform[2] + transform[0] * (np.arange(6) + 0.5))
        assert y == pytest.approx(transform[5] + transform[4] * (np.arange(4) + 0.5))


@pytest.mark.parametrize("before", CONVENTIONS)
@pytest.mark.parametrize("after", CONVENTIONS)
@pytest.mark.parametrize("replace", [True, False])
def test_conversion(before: tuple[str, ...], after: tuple[str, ...], replace: bool) -> None:
    root, array = scene()
    array.attrs["units"] = "m"
    root.geo.set(crs=UTM, transform=NORTH_UP, convention=before)
    root.geo.write(after, replace=replace)
    geo = root.geo
    assert {*geo.conventions} == {*after} | (set() if replace else {*before})
    assert (geo.epsg, geo.transform, geo.conflicts) == (32631, NORTH_UP, ())
    assert ("spatial_ref" in root) == ("cf" in geo.conventions)
    assert ("proj:code" in root.attrs) == ("spatial" in geo.conventions)
    assert array.geo.conventions == geo.conventions and array.attrs["units"] == "m"
    assert len(omnizarr.check(root.store)) == 0


def test_setting_one_fact_keeps_the_others() -> None:
    _, array = scene()
    array.geo.set(transform=NORTH_UP, convention="spatial", registration="node")
    array.geo.set(crs=UTM)
    geo = array.geo
    assert (geo.transform, geo.epsg, geo.registration) == (NORTH_UP, 32631, "node")
    assert geo.conventions == ("spatial",)
    array.geo.set(convention="geozarr", crs=4326)
    assert array.geo.epsg == 4326


def test_a_new_transform_replaces_the_coordinates() -> None:
    root, array = scene()
    array.geo.set(crs=UTM, transform=NORTH_UP)
    root["x"].attrs["comment"] = "kept"
    moved = (20.0, 0.0, 600000.0, 0.0, -20.0, 4700000.0)
    array.geo.set(transform=moved)
    assert array.geo.transform == moved and array.geo.conflicts == ()
    assert root["x"][:2].tolist() == [600010, 600030]
    assert root["x"].attrs["comment"] == "kept"
    other = root.create_array("other", shape=(4, 6), dtype="u1", dimension_names=("y", "x"))
    with pytest.raises(MetadataError, match="belong to other arrays too"):
        array.geo.set(transform=NORTH_UP)
    root.geo.set(transform=NORTH_UP)
    assert other.geo.transform == array.geo.transform == NORTH_UP


def test_several_grids_in_one_group() -> None:
    root, _ = scene()
    root.create_array("coarse", shape=(2, 3), dtype="u1", dimension_names=("y2", "x2"))
    with pytest.raises(MetadataError, match="no dimensions of y and x"):
        root["coarse"].geo.set(crs=UTM)
    del root["coarse"]
    for name in ("a", "b"):
        group = root.create_group(name)
        group.create_array("band", shape=(2, 3), dtype="u1", dimension_names=("y", "x"))
    coarse = root.create_array("coarse", shape=(2, 3), dtype="u1", dimension_names=("lat", "lon"))
    bounds = (500000, 4599960, 500060, 4600000)
    root.geo.set(crs=UTM, bounds=bounds)
    assert coarse.geo.resolution == (20, 20)
    assert root["band"].geo.resolution == (10, 10)
    assert coarse.geo.bounds == root["band"].geo.bounds == bounds
    # Each has a grid mapping of its own, and the group says only what is true of both.
    assert {root[name].attrs["grid_mapping"] for name in ("band", "coarse")} == {
        "spatial_ref",
        "spatial_ref_2",
    }
    assert "proj:code" in root.attrs and "spatial:transform" not in root.attrs
    with pytest.raises(MetadataError, match="several grids"):
        root.geo.transform  # noqa: B018
    assert sorted(root.geo.arrays) == ["band", "coarse"]
    with pytest.raises(MetadataError, match="one transform for arrays of the shapes"):
        root.geo.set(transform=NORTH_UP)
    assert len(omnizarr.check(root.store)) == 0


def test_a_shared_grid_mapping_is_not_changed_for_one_array() -> None:
    root, array = scene()
    other = root.create_array("other", shape=(4, 6), dtype="u1", dimension_names=("y", "x"))
    root.geo.set(crs=UTM, transform=NORTH_UP, convention="cf")
    array.geo.set(crs="EPSG:3857")
    assert (array.geo.epsg, other.geo.epsg) == (3857, 32631)
    with pytest.raises(MetadataError, match="several reference systems: band, other"):
        root.geo.epsg  # noqa: B018
    assert array.attrs["grid_mapping"] == "spatial_ref_2"
    array.geo.set(crs=UTM)
    assert array.attrs["grid_mapping"] in ("spatial_ref", "spatial_ref_2")
    assert (array.geo.epsg, other.geo.epsg) == (32631, 32631)


def test_an_array_that_is_the_root() -> None:
    array = omnizarr.zeros((4, 6), dimension_names=("y", "x"))
    array.geo.set(crs=UTM, transform=NORTH_UP)
    assert array.geo.conventions == ("spatial",)
    with pytest.raises(MetadataError, match="which is the root"):
        array.geo.write("cf")
    with pytest.raises(MetadataError, match="coordinates beside the array"):
        array.geo.write("gdal", replace=True)


def test_what_cannot_be_stored_is_refused() -> None:
    root = omnizarr.group()
    unnamed = root.create_array("a", shape=(4, 6), dtype="u1")
    with pytest.raises(MetadataError, match="dimension_names"):
        unnamed.geo.set(transform=NORTH_UP)
    with pytest.raises(MetadataError, match="no array directly in the group"):
        root.geo.set(crs=UTM)
    _, array = scene()
    for wrong in ({"transform": (1, 2, 3)}, {"transform": [0] * 6}, {"crs": "nonsense"},
                  {"bounds": (5, 5, 1, 1)}):  # fmt: skip
        with pytest.raises(MetadataError):
            array.geo.set(**wrong)
    with pytest.raises(TypeError, match="not both"):
        array.geo.set(transform=NORTH_UP, bounds=(0, 0, 1, 1))
    with pytest.raises(ValueError, match="did you mean 'spatial'"):
        array.geo.set(crs=UTM, convention="spatal")
    with pytest.raises(ValueError, match="found none"):
        array.geo.set(crs=UTM, convention=())
    with pytest.raises(TypeError, match="did you mean 'transform'"):
        array.geo.set(transfrom=NORTH_UP)  # type: ignore[call-arg]
    assert not array.geo and array.geo.crs is None
    with pytest.raises(ReadOnlyError):
        omnizarr.open_array(array.store, path="band", mode="r").geo.set(crs=UTM)


# -- reading what others store --------------------------------------------------------------------
def variable(root: omnizarr.Group, name: str, values: Any, **attributes: Any) -> omnizarr.Array:
    dims = (name,) if np.ndim(values) else ()
    return root.create_array(name, data=values, dimension_names=dims, attributes=attributes)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("falling", [True, False])
def test_coordinates_alone(dtype: str, falling: bool) -> None:
    root, array = scene((3, 4, 6), ("time", "lat", "lon"))
    latitudes = np.arange(40, 48, 2)
    variable(root, "lat", latitudes[:: -1 if falling else 1].astype(dtype))
    variable(root, "lon", (np.arange(6) * 60).astype(dtype))
    expected = (60, 0, -30, 0, -2, 47) if falling else (60, 0, -30, 0, 2, 39)
    assert array.geo.transform == pytest.approx(expected)
    assert array.geo.bounds == (-30, 39, 330, 47)
    assert array.geo.conventions == () and array.geo.crs is None and array.geo
    selected = array.geo.read((-65, 43.5, -35, 44))  # 295 to 325 degrees east
    rows = slice(1, 2) if falling else slice(2, 3)
    np.testing.assert_array_equal(selected, array[:, rows, 5:6])


@pytest.mark.parametrize(
    "attributes",
    [({"axis": "Y"}, {"axis": "X"}),
     ({"standard_name": "latitude"}, {"standard_name": "longitude"}),
     ({"units": "degrees_north"}, {"units": "degrees_east"})],
)  # fmt: skip
def test_dimensions_by_what_coordinates_say(attributes: tuple[dict[str, str], ...]) -> None:
    root, array = scene(names=("north", "east"))
    assert not array.geo and array.geo.dims == (None, None)
    variable(root, "north", np.arange(4.0), **attributes[0])
    variable(root, "east", np.arange(6.0), **attributes[1])
    assert array.geo.dims == ("north", "east")
    assert array.geo.transform == (1, 0, -0.5, 0, 1, -0.5)


def test_uneven_coordinates_are_kept() -> None:
    root, array = scene()
    variable(root, "y", np.array([10.0, 8, 5, 1]))
    variable(root, "x", np.arange(6.0))
    geo = array.geo
    assert geo.transform is None and geo.resolution is None
    assert geo.coordinates[0].tolist() == [10, 8, 5, 1]
    assert geo.bounds == (-0.5, -1, 5.5, 11)
    assert geo.window((0.6, 4.0, 1.4, 7.0)) == (slice(1, 3), slice(1, 2))
    assert geo.window((-9, -9, 99, 99)) == (slice(0, 4), slice(0, 6))
    with pytest.raises(MetadataError, match="no cell is between"):
        geo.window((0, 20, 1, 30))
    with pytest.raises(MetadataError, match="no transform"):
        geo.xy(0, 0)


def test_packed_coordinates() -> None:
    root, array = scene()
    variable(root, "y", np.arange(4, dtype="i2"), scale_factor=0.5, add_offset=10)
    variable(root, "x", np.arange(6, dtype="i2"), scale_factor=0.5)
    assert array.geo.transform == (0.5, 0, -0.25, 0, 0.5, 9.75)


@pytest.mark.parametrize("value", ["2", [1], {}, 10**400])
def test_packing_that_is_no_number(value: Any) -> None:
    root, array = scene()
    variable(root, "y", np.arange(4.0))
    variable(root, "x", np.arange(6.0), scale_factor=value)
    with pytest.raises(MetadataError, match="/x: scale_factor and add_offset must be 2 finite"):
        array.geo.transform  # noqa: B018


def test_coordinates_count_before_a_stale_transform() -> None:
    """What xarray leaves of a selection: new coordinates, the old transform."""
    root, array = scene()
    array.geo.set(crs=UTM, transform=NORTH_UP)
    root["x"][:] = 700005 + 10 * np.arange(6)
    assert array.geo.transform == (10, 0, 700000, 0, -10, 4600000)
    assert array.geo.conflicts == (
        f"the stated transform {NORTH_UP} is not that of the coordinates; the coordinates count",
    )
    array.geo.write()
    assert array.geo.conflicts == () and array.geo.transform[2] == 700000


def test_the_order_of_conventions() -> None:
    root, array = scene()
    root.geo.set(crs=UTM, transform=NORTH_UP)
    array.attrs["_CRS"] = {"url": "http://www.opengis.net/def/crs/EPSG/0/4326"}
    assert array.geo.epsg == 4326
    assert array.geo.conflicts == (
        "gdal and cf state different reference systems; gdal counts",
        "gdal and spatial state different reference systems; gdal counts",
    )
    array.geo.write("cf")  # all are rewritten
    assert array.geo.conflicts == () and root["spatial_ref"].attrs["grid_mapping_name"]
    assert array.geo.conventions == ("gdal", "cf", "spatial")


def test_a_grid_mapping_in_a_group_above_and_the_extended_form() -> None:
    root = omnizarr.group()
    variable(root, "osgb", 0, crs_wkt="EPSG:27700")
    variable(root, "wgs84", 0, grid_mapping_name="latitude_longitude", semi_major_axis=6378137.0,
             inverse_flattening=298.257223563)  # fmt: skip
    array = root.create_array(
        "a/b/band", shape=(4, 6), dtype="u1", dimension_names=("y", "x"),
        attributes={"grid_mapping": "wgs84: lat lon osgb: x y"},
    )  # fmt: skip
    assert array.geo.epsg == 27700 and array.geo.conventions == ("cf",)
    array.attrs["grid_mapping"] = "wgs84"
    assert array.geo.crs.is_geographic
    array.attrs["grid_mapping"] = "../../osgb"
    assert array.geo.epsg == 27700
    array.attrs["grid_mapping"] = "nowhere"
    with pytest.raises(MetadataError, match=r"'nowhere', which is not an array.*a/b/band"):
        array.geo.conventions  # noqa: B018


def test_a_grid_mapping_with_the_usual_name_need_not_be_named() -> None:
    root, array = scene()
    variable(root, "spatial_ref", 0, crs_wkt="EPSG:3857", GeoTransform="0 10 0 0 0 -10")
    assert (array.geo.epsg, array.geo.transform) == (3857, (10, 0, 0, 0, -10, 0))
    plain = root.create_array("t", shape=(4, 6), dtype="u1", dimension_names=("time", "station"))
    assert plain.geo.dims == (None, None) and plain.geo.transform is None


def test_what_a_group_says_holds_for_its_arrays() -> None:
    root, array = scene()
    root.geo.set(crs=UTM, transform=(10, 1, 0, 0, -10, 0), convention="spatial")
    for name in list(array.geo._array.attrs):
        del array.attrs[name]
    assert array.geo.epsg == 32631 and array.geo.transform == (10, 1, 0, 0, -10, 0)
    deeper = root.create_array("g/band", shape=(4, 6), dtype="u1", dimension_names=("y", "x"))
    assert deeper.geo.crs is None  # direct members alone


def test_a_group_without_arrays_says_what_its_attributes_say() -> None:
    root = omnizarr.group()
    assert not root.geo and root.geo.crs is None
    root.attrs.update({"proj:code": UTM, "spatial:dimensions": ["y", "x"]})
    assert (root.geo.epsg, root.geo.dims, root.geo.bounds) == (32631, ("y", "x"), None)


def test_arrays_without_names() -> None:
    root = omnizarr.group()
    array = root.create_array("a", shape=(3, 4, 6), dtype="u1")
    assert not array.geo
    array.attrs["_CRS"] = {"wkt": "EPSG:3857"}
    assert array.geo.shape == (4, 6) and array.geo.dims == (None, None)


def test_bounds_of_another_reference_system() -> None:
    _, array = scene()
    array.geo.set(crs=UTM, transform=NORTH_UP)
    found = array.geo.window((3.0001, 41.5512, 3.0003, 41.5514), crs="EPSG:4326")
    assert all(part.stop > part.start for part in found)
    unplaced = scene()[1]
    unplaced.geo.set(transform=NORTH_UP)
    with pytest.raises(MetadataError, match="no reference system"):
        unplaced.geo.window((3, 41, 4, 42), crs="EPSG:4326")
    with pytest.raises(MetadataError, match="crs must be something that pyproj understands"):
        array.geo.window((3, 41, 4, 42), crs="EPSG:99999999")
    with pytest.raises(MetadataError, match="cannot convert bounds from"):
        array.geo.window((3, 41, 4, 42), crs="+proj=longlat +ellps=bessel +nadgrids=missing.gsb")


def test_consolidated_metadata_are_enough(tmp_path: Any) -> None:
    root = omnizarr.open_group(tmp_path / "a.zarr", mode="w")
    root.create_array("band", shape=(4, 6), dtype="u1", dimension_names=("y", "x"))
    root.geo.set(crs=UTM, transform=NORTH_UP)
    omnizarr.consolidate_metadata(root.store)
    again = omnizarr.open_consolidated(tmp_path / "a.zarr", mode="r")
    assert again.geo.epsg == 32631 and again.geo.transform == NORTH_UP
    assert again["band"].geo.transform == NORTH_UP


@pytest.mark.parametrize(
    "attributes",
    [{"spatial:transform": "x"}, {"proj:code": 5}, {"_CRS": []}, {"grid_mapping": 7},
     {"spatial:registration": []}, {"spatial:dimensions": [[]]}, {"proj:projjson": []}],
)  # fmt: skip
def test_broken_attributes_are_refused_with_their_place(attributes: dict[str, Any]) -> None:
    _, array = scene()
    array.attrs.update(attributes)
    with pytest.raises(MetadataError, match=r"band.*|.*band") as caught:
        array.geo.transform  # noqa: B018
    assert next(iter(attributes)) in str(caught.value)


def test_coordinates_of_a_hostile_length_are_not_read() -> None:
    root = omnizarr.group()
    length = 10**15
    array = root.create_array(
        "a", shape=(length, length), chunks=(1, 1000), dtype="u1", dimension_names=("y", "x")
    )
    for name in ("y", "x"):
        root.create_array(name, shape=length, chunks=1000, dtype="f8", dimension_names=(name,))
    assert array.geo.transform is None


def test_repr() -> None:
    root, array = scene()
    root.geo.set(crs=UTM, transform=NORTH_UP, convention="spatial")
    assert repr(array.geo) == (
        "<ArrayGeo ('y', 'x') 4 x 6, crs EPSG:32631, transform (10.0, 0.0, 500000.0, 0.0, -10.0,"
        " 4600000.0), conventions spatial>"
    )


def test_without_pyproj(monkeypatch: pytest.MonkeyPatch) -> None:
    root, array = scene()
    root.geo.set(crs=UTM, transform=NORTH_UP)
    array.attrs["_CRS"] = {"wkt": "EPSG:3857"}
    systems.parsed.cache_clear()
    monkeypatch.setitem(sys.modules, "pyproj", None)
    assert array.geo.transform == NORTH_UP and array.geo.bounds is not None
    with pytest.raises(MissingPackageError, match=r"pip install 'omnizarr\[geo\]'"):
        array.geo.crs  # noqa: B018
    assert omnizarr.check(root.store).ok


def test_longitudes_beside_uneven_latitudes() -> None:
    """Of a Gaussian grid there is no transform, but longitudes turn as everywhere."""
    root = omnizarr.group()
    root.create_array("t", data=np.arange(32).reshape(4, 8), dimension_names=("lat", "lon"))
    root["lat"], root["lon"] = np.array([80.0, 40, 10, -50]), np.arange(0.0, 360, 45)
    geo = root["t"].geo
    assert geo.transform is None
    assert geo.window((-100, 0, -60, 45)) == (slice(1, 3), slice(6, 8))
    assert geo.window((170, 0, -170, 45)) == (slice(1, 3), slice(4, 5))
    with pytest.raises(MetadataError, match="both sides"):
        geo.window((-60, 0, 60, 45))


@pytest.mark.parametrize("attributes", [{"scale_factor": 1e308}, {"add_offset": 1e308}])
def test_packed_coordinates_that_overflow(attributes: Any) -> None:
    """No warnings, which are errors here."""
    root = omnizarr.group()
    root.create_array("a", data=np.zeros((4, 5)), dimension_names=("y", "x"))
    for name, values in {"y": np.arange(4.0), "x": 1e308 * np.array([0, 0.1, 0.9, 1, 1.7])}.items():
        root.create_array(name, data=values, dimension_names=(name,), attributes=attributes)
    geo = root["a"].geo
    assert geo.transform is None and geo.bounds is not None
    with pytest.raises(MetadataError):
        geo.window((0, 0, 1, 1))
