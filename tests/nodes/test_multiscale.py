"""`Multiscale`: levels as arrays, and reading in world coordinates."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr import Multiscale
from omnizarr.errors import (
    ArrayNotFoundError,
    BoundsCheckError,
    MetadataError,
    SelectionError,
)
from omnizarr.nodes.world_coordinates import indices

VALUES = np.arange(64 * 96, dtype="u2").reshape(64, 96)


def image(**options: Any) -> Multiscale:
    group = omnizarr.group(zarr_format=2)
    group["0"], group["1"], group["2"] = VALUES, VALUES[::2, ::2], VALUES[::4, ::4]
    made = {"axes": "yx", "scale": 0.5, "unit": "micrometer", **options}
    return Multiscale.describe(group, ["0", "1", "2"], **made)


def test_facts() -> None:
    found = image(name="cells", method="nearest")
    assert [array.shape for array in found.levels] == [(64, 96), (32, 48), (16, 24)]
    assert found.scales == ((0.5, 0.5), (1, 1), (2, 2))
    assert found.translations == ((0, 0), (0.25, 0.25), (0.75, 0.75))
    assert found.axes[0].unit == "micrometer" and found.name == "cells"
    assert found.convention == "ome-0.4"
    assert found.group.attrs["multiscales"][0]["type"] == "nearest"
    assert found.group.multiscale.scales == found.scales
    assert found.extent == {"y": (-0.25, 31.75), "x": (-0.25, 47.75)}
    np.testing.assert_array_equal(found.coordinates("x", 2)[:2], [0.75, 2.75])


def test_display() -> None:
    found = image(name="<b>")
    assert "name='<b>'" in repr(found) and "(16, 24)" in repr(found)
    page = found._repr_html_()
    assert "&lt;b&gt;" in page and "<b>" not in page
    assert "Level 2" in page and "micrometer" in page


def test_pickling(tmp_path: Any) -> None:
    group = omnizarr.open_group(tmp_path, mode="w", zarr_format=2)
    group["0"] = VALUES
    made = Multiscale.describe(group, ["0"], axes="yx")
    again = pickle.loads(pickle.dumps(made))
    assert again.scales == made.scales
    np.testing.assert_array_equal(again.levels[0][:], VALUES)


@pytest.mark.parametrize(
    ("resolution", "level"),
    [(0.1, 0), (0.5, 0), (0.99, 0), (1, 1), (1.9, 1), (2, 2), (100, 2), ({"x": 1.5}, 1), ({}, 2)],
)
def test_level_for(resolution: Any, level: int) -> None:
    assert image().level_for(resolution) == level


def test_level_for_looks_at_space_alone() -> None:
    group = omnizarr.group(zarr_format=2)
    group["0"], group["1"] = np.zeros((3, 8, 8)), np.zeros((3, 4, 4))
    made = Multiscale.describe(group, ["0", "1"], axes="tyx", scale={"t": 60.0, "y": 1, "x": 1})
    assert made.level_for(2) == 1
    assert made.level_for({"t": 1}) == 0
    # without types, every axis counts
    plain = Multiscale.describe(group, ["0", "1"], axes="abc", scale=1.0)
    assert [plain.level_for(resolution) for resolution in (0.5, 1, 2)] == [0, 0, 1]


scales = st.sampled_from([-30.0, -0.1, 0.1, 1 / 3, 0.5, 1.0, 10.0])
numbers = st.integers(-60, 60).map(lambda number: number / 10)


@given(scales, numbers, st.integers(0, 30), st.none() | numbers, st.none() | numbers)
def test_a_slice_has_the_elements_between_its_bounds(
    scale: float, first: float, length: int, low: float | None, high: float | None
) -> None:
    coordinates = np.arange(length) * scale + first
    inside = np.full(length, True)
    if low is not None:
        inside &= coordinates >= low
    if high is not None:
        inside &= coordinates < high
    key = indices(scale, first, length, (low, high))
    np.testing.assert_array_equal(coordinates[key], coordinates[inside])


@given(scales, numbers, st.integers(0, 30), numbers)
def test_a_number_is_the_nearest_element(
    scale: float, first: float, length: int, wanted: float
) -> None:
    coordinates = np.arange(length) * scale + first
    found = indices(scale, first, length, wanted)
    near = np.abs(coordinates - wanted)
    if found is None:
        assert np.all(near >= abs(scale) * 0.4999)
    else:
        assert isinstance(found, int)
        assert near[found] == pytest.approx(near.min(), abs=1e-9)


def test_an_axis_without_a_scale() -> None:
    assert indices(0.0, 5.0, 3, (0, 10)) == slice(0, 3)
    assert indices(0.0, 5.0, 3, (6, 10)) == slice(3, 3)
    assert indices(0.0, 5.0, 3, 5.0) == 0
    assert indices(1e-3, 1e300, 10**12, (0, 1e300)) == slice(0, 0)


@given(st.sampled_from([0.3, 0.5, 1.0, 2.5]), st.integers(0, 2))
def test_windows_side_by_side_are_the_whole(step: float, level: int) -> None:
    found = image()
    edges = np.arange(-1, 33 + step, step)
    parts = [found.read({"y": (low, high)}, level=level) for low, high in pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate(parts), found.levels[level][:])


def test_reading() -> None:
    found = image()
    np.testing.assert_array_equal(found.read(), VALUES)
    np.testing.assert_array_equal(found.read({"y": (2, 4)}), VALUES[4:8])
    np.testing.assert_array_equal(found.read({"y": (2, 4)}, resolution=1.0), VALUES[4:8:2, ::2])
    np.testing.assert_array_equal(found.read({"y": 3.0}), VALUES[6])
    assert found.read({"y": 3.0, "x": 0.0}) == VALUES[6, 0]
    assert found.select({"x": (None, 1)}, level=2) == (2, (slice(0, 16), slice(0, 1)))


def test_world() -> None:
    found = image()
    np.testing.assert_array_equal(found.world[2:4], VALUES[4:8])
    np.testing.assert_array_equal(found.world[2:4, 3.0], VALUES[4:8, 6])
    np.testing.assert_array_equal(found.world[..., 3.0], VALUES[:, 6])
    np.testing.assert_array_equal(found.world[2:4:2, :10:2], found.levels[2][1:2, :5])
    np.testing.assert_array_equal(found.world[...], VALUES)


def test_wrong_selections() -> None:
    found = image()
    for outside in (-1.0, 31.75, float("nan"), float("inf")):
        with pytest.raises(BoundsCheckError, match="outside of the image, which reaches"):
            found.read({"y": outside})
    with pytest.raises(SelectionError, match="there is no axis 'z'; the axes are y, x"):
        found.read({"z": 1})
    with pytest.raises(SelectionError, match="3 indices for the 2 axes"):
        found.world[1, 2, 3]
    with pytest.raises(TypeError, match="a resolution or a level"):
        found.read(resolution=1, level=1)
    for bounds in ((0,), (0, 1, 2), "ab", ("a", "b"), None, 10**400, (np.nan, 1), (0, np.nan)):
        with pytest.raises(SelectionError, match="a number, or a pair of numbers"):
            found.read({"y": bounds})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="a mapping from axis to bounds"):
        found.read(5)  # type: ignore[arg-type]
    for level in (3, -4):
        with pytest.raises(BoundsCheckError, match="the image has 3"):
            found.read({"y": (0, 1)}, level=level)
        with pytest.raises(BoundsCheckError, match="the image has 3"):
            found.coordinates("y", level)
    with pytest.raises(TypeError, match="level takes a whole number"):
        found.read(level=1.0)  # type: ignore[arg-type]
    assert found.read(level=-1).shape == found.read(level=np.int64(2)).shape == (16, 24)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="did you mean 'resolution'"):
        found.read(resolutions=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("convention", ["multiscales", "ndpyramid", "0.1"])
def test_a_second_description_is_what_is_returned(convention: Any) -> None:
    group = omnizarr.group()
    for path, step in (("0", 1), ("1", 2)):
        group.create_array(path, data=VALUES[::step, ::step], dimension_names=["y", "x"])
    first = Multiscale.describe(group, ["0", "1"], scale=2.0)
    second = Multiscale.describe(group, ["1"], convention=convention)
    assert (second.convention, [each.path for each in second.levels]) == (convention, ["1"])
    assert (first.convention, group.multiscale.convention) == ("ome-0.5", "ome-0.5")


def test_what_check_calls_an_error_is_not_described() -> None:
    group = omnizarr.group(zarr_format=2)
    group["0"], group["1"] = VALUES, VALUES[::2, ::2]
    for levels, options, match in (
        (["0", "0"], {}, "names an array twice"),
        (["1", "0"], {}, "the largest is first"),
        (["0", "1"], {"scale": 0}, "no scale is 0"),
        (["0", "1"], {"scale": "a"}, "scale takes numbers"),
        (["0", "1"], {"scale": {"y": 10**400}}, "scale takes numbers"),
        (["0", "1"], {"unit": 5}, "unit takes the name of one"),
    ):
        with pytest.raises(MetadataError, match=match):
            Multiscale.describe(group, levels, axes="yx", **options)  # type: ignore[arg-type]
    assert group.attrs.asdict() == {}
    Multiscale.describe(group, ["0", "1"], axes="yx", scale=-1)  # as rows of maps that are north up
    assert omnizarr.check(group.store).counts["error"] == 0


# -- groups of others -----------------------------------------------------------------------------
def described(*names: str, **entry: Any) -> omnizarr.Group:
    group = omnizarr.group()
    datasets = [{"path": name} for name in names]
    group.attrs["multiscales"] = [{"version": "0.1", "datasets": datasets, **entry}]
    return group


def test_a_group_without_a_pyramid() -> None:
    with pytest.raises(MetadataError, match="describe no pyramid; expected 'multiscales'"):
        _ = omnizarr.group().multiscale


def test_a_missing_level_is_named() -> None:
    group = described("full", "half")
    group["full"] = VALUES
    with pytest.raises(ArrayNotFoundError, match="the level 'half' of the pyramid is missing"):
        _ = group.multiscale


@pytest.mark.parametrize("path", ["../secret", "a/../../secret", "..", ".", "a\0b", "C:/x"])
def test_levels_stay_in_their_group(path: str) -> None:
    root = omnizarr.group()
    root["secret"] = VALUES
    group = root.create_group("image")
    group.attrs["multiscales"] = [{"version": "0.1", "datasets": [{"path": path}]}]
    with pytest.raises((MetadataError, ArrayNotFoundError), match="multiscales"):
        _ = group.multiscale


def test_a_path_with_a_slash_in_front_starts_at_the_group() -> None:
    root = omnizarr.group()
    root["0"] = VALUES
    group = root.create_group("image")
    group["0"] = VALUES[:2]
    group.attrs["multiscales"] = [{"version": "0.1", "datasets": [{"path": "/0"}]}]
    assert group.multiscale.levels[0].shape == (2, 96)


def test_too_many_levels() -> None:
    with pytest.raises(MetadataError, match="a pyramid of 101 levels"):
        _ = described(*map(str, range(101))).multiscale


def test_levels_of_different_dimensions() -> None:
    group = described("0", "1")
    group["0"], group["1"] = VALUES, VALUES[0]
    with pytest.raises(MetadataError, match="level '1' has 1 dimensions and level '0' has 2"):
        _ = group.multiscale


def test_levels_that_are_groups() -> None:
    """As ndpyramid and GeoZarr have them: a variable, with its coordinates beside it."""
    group = described("0", "1")
    for path, step in (("0", 1), ("1", 2)):
        level = group.create_group(path)
        level.create_array("tavg", data=VALUES[::step, ::step], dimension_names=["y", "x"])
        level["x"] = np.arange(96 // step)
    found = group.multiscale
    assert [array.path for array in found.levels] == ["0/tavg", "1/tavg"]
    assert found.scales == ((1, 1), (2, 2)) and [axis.name for axis in found.axes] == ["y", "x"]
    group["0"]["prec"] = VALUES  # type: ignore[index]
    with pytest.raises(ArrayNotFoundError, match=r"prec, tavg, x.*variable=") as caught:
        _ = group.multiscale
    assert "variable" in str(caught.value)
    assert Multiscale(group, variable="tavg").levels[1].shape == (32, 48)
    with pytest.raises(ArrayNotFoundError, match="level '1' of the pyramid is a group with none"):
        Multiscale(group, variable="prec")


def test_several_images() -> None:
    group = described("0", name="one")
    group["0"], group["1"] = VALUES, VALUES[::2]
    listed = group.attrs["multiscales"]
    group.attrs["multiscales"] = [
        *listed,
        {**listed[0], "name": "two", "datasets": [{"path": "1"}]},
    ]
    assert group.multiscale.name == "one"
    assert Multiscale(group, image="two").levels[0].shape == (32, 96)
    assert Multiscale(group, image=1).name == "two"


def test_levels_are_sorted_by_size() -> None:
    group = described("small", "large")
    group["small"], group["large"] = VALUES[::2, ::2], VALUES
    assert [array.path for array in group.multiscale.levels] == ["large", "small"]
    assert group.multiscale.scales == ((1, 1), (2, 2))


# -- describing -----------------------------------------------------------------------------------
@pytest.mark.parametrize("convention", ["0.1", "multiscales", "ndpyramid", "ome-0.5"])
def test_conventions(convention: Any) -> None:
    group = omnizarr.group(attributes={"kept": 1})
    for path, step in (("0", 1), ("1", 2)):
        group.create_array(path, data=VALUES[::step, ::step], dimension_names=["y", "x"])
    made = Multiscale.describe(group, ["0", "1"], convention=convention, scale=3.0)
    assert made.convention == convention and group.attrs["kept"] == 1
    first = 1.0 if convention in ("0.1", "ndpyramid") else 3.0
    assert made.scales == ((first, first), (2 * first, 2 * first))
    assert omnizarr.check(group.store).ok


def test_the_default_is_ome_in_the_version_of_the_format() -> None:
    group = omnizarr.group()
    group.create_array("0", data=VALUES, dimension_names=["y", "x"])
    assert Multiscale.describe(group, ["0"]).convention == "ome-0.5"
    n5 = omnizarr.group(zarr_format="n5")
    n5["0"] = VALUES
    with pytest.raises(MetadataError, match="format n5 has no OME-NGFF"):
        Multiscale.describe(n5, ["0"], axes="yx")


def test_nothing_is_written_where_arrays_do_not_fit() -> None:
    group = omnizarr.group()
    group["0"] = VALUES
    with pytest.raises(MetadataError, match="dimension_names="):
        Multiscale.describe(group, ["0"], axes="yx")
    with pytest.raises(ArrayNotFoundError, match="level '1'"):
        Multiscale.describe(group, ["0", "1"], axes="yx")
    assert group.attrs.asdict() == {}
