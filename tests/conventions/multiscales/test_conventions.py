"""Descriptions of pyramids become facts, and facts become descriptions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.conventions.multiscales import (
    CONVENTIONS,
    Axis,
    Level,
    Pyramid,
    attributes_for,
    completed,
    described,
    read,
    read_all,
)
from omnizarr.errors import MetadataError

SCALED = ("multiscales", "ome-0.4", "ome-0.5")
numbers = st.floats(0.01, 100).map(lambda number: round(number, 3))


@st.composite
def pyramids(draw: Any) -> Pyramid:
    names = draw(st.sampled_from(["yx", "zyx", "cyx", "tczyx"]))
    axes = tuple(Axis.named(name, draw(st.sampled_from([None, "micrometer"]))) for name in names)
    count = draw(st.integers(1, 4))
    levels = tuple(
        Level(
            f"s{position}",
            None,
            tuple(draw(numbers) for _ in names),
            tuple(draw(numbers) for _ in names),
        )
        for position in range(count)
    )
    return Pyramid(axes, levels, draw(st.sampled_from(["", "cells"])), "mean", {"by": "us"})


@given(pyramids(), st.sampled_from(CONVENTIONS))
def test_there_and_back(pyramid: Pyramid, convention: str) -> None:
    attributes = attributes_for(pyramid, convention, {"kept": [1]})
    assert attributes["kept"] == [1]
    found = read(attributes)
    assert found is not None and found.convention == convention
    assert [level.path for level in found.levels] == [level.path for level in pyramid.levels]
    assert found.method == "mean"
    if convention in ("ome-0.4", "ome-0.5"):
        assert replace(found, convention=pyramid.convention) == pyramid
    if convention in SCALED:
        for one, two in zip(found.levels, pyramid.levels, strict=True):
            assert one.scale == pytest.approx(two.scale)
            assert one.translation == pytest.approx(two.translation, abs=1e-9)
    assert read_all(attributes) == [found]
    # what was read is written in the same words
    whole = replace(found, axes=found.axes or pyramid.axes)
    again = attributes_for(whole, convention, {"kept": [1]})
    if convention == "multiscales":
        assert read(again).levels[0] == found.levels[0]  # type: ignore[union-attr]
    else:
        assert again == attributes


def test_no_pyramid() -> None:
    assert read({}) is None
    assert read({"ome": {"version": "0.5", "labels": ["a"]}}) is None
    assert read_all({}) == []


def test_the_transformations_of_an_image_come_after_those_of_a_dataset() -> None:
    attributes = {
        "multiscales": [
            {
                "version": "0.4",
                "axes": [{"name": "t", "type": "time"}, {"name": "y"}, {"name": "x"}],
                "datasets": [
                    {
                        "path": "0",
                        "coordinateTransformations": [
                            {"type": "scale", "scale": [1, 2, 3]},
                            {"type": "translation", "translation": [0, 10, 20]},
                        ],
                    }
                ],
                "coordinateTransformations": [
                    {"type": "scale", "scale": [0.1, 2, 2]},
                    {"type": "translation", "translation": [5, 0, 1]},
                ],
            }
        ]
    }
    found = read(attributes)
    assert found is not None
    assert found.levels[0].scale == pytest.approx((0.1, 4, 6))
    assert found.levels[0].translation == pytest.approx((5, 20, 41))


def test_several_images_of_a_group() -> None:
    one = attributes_for(
        Pyramid((Axis("y"), Axis("x")), (Level("a", None, (1, 1), (0, 0)),), "one"), "ome-0.4"
    )["multiscales"]
    two = [{**one[0], "name": "two", "datasets": [{**one[0]["datasets"][0], "path": "b"}]}]
    attributes = {"multiscales": one + two}
    assert [pyramid.levels[0].path for pyramid in read_all(attributes)] == ["a", "b"]
    assert read(attributes, "two").levels[0].path == "b"  # type: ignore[union-attr]
    assert read(attributes, 1).name == "two"  # type: ignore[union-attr]
    for which in (2, -1, "three"):
        with pytest.raises(MetadataError, match="there is no pyramid"):
            read(attributes, which)


def dataset(*transformations: Any, path: Any = "0") -> dict[str, Any]:
    return {"path": path, "coordinateTransformations": list(transformations)}


@pytest.mark.parametrize(
    ("transformation", "expected"),
    [
        ({"type": "identity"}, ((), ())),
        ({"type": "scale", "scale": [4, 3]}, ((4, 3), (0, 0))),
        ({"type": "translation", "translation": [4, 3]}, ((1, 1), (4, 3))),
        (
            {
                "type": "sequence",
                "transformations": [
                    {"type": "scale", "scale": [4, 3]},
                    {"type": "translation", "translation": [1, 2]},
                ],
            },
            ((4, 3), (1, 2)),
        ),
        ({"type": "affine", "affine": [[4, 0, 32], [0, 3, 21]]}, ((4, 3), (32, 21))),
    ],
)
def test_version_0_6_is_read(transformation: Any, expected: Any) -> None:
    systems = [{"name": "physical", "axes": [{"name": "y"}, {"name": "x", "unit": "micrometer"}]}]
    entry = {"coordinateSystems": systems, "datasets": [dataset(transformation)]}
    found = read({"ome": {"version": "0.6.dev1", "multiscales": [entry]}})
    assert found is not None and found.convention == "ome-0.6"
    assert found.axes[1] == Axis("x", None, "micrometer")
    assert (found.levels[0].scale, found.levels[0].translation) == expected


def test_versions_0_2_and_0_3_are_read() -> None:
    entry = {"version": "0.2", "datasets": [{"path": "0"}, {"path": "1"}]}
    found = read({"multiscales": [entry]})
    assert found is not None and found.convention == "ome-0.2" and found.axes == ()
    whole = completed(found, [(8, 8), (4, 4)])
    assert whole.levels[1].scale == (2, 2) and whole.levels[1].translation == (0.5, 0.5)
    third = read({"multiscales": [{**entry, "version": "0.3", "axes": ["c", "x"]}]})
    assert third is not None and third.axes == (Axis("c", "channel"), Axis("x", "space"))


def test_what_gdal_writes() -> None:
    layout = [
        {
            "asset": "0",
            "transform": {"scale": [1.0, 1.0], "translation": [0.0, 0.0]},
            "spatial:transform": [10, 0, 500000, 0, -10, 5000000],
        },
        {
            "asset": "1",
            "derived_from": "0",
            "transform": {"scale": [2.0, 2.0], "translation": [0.0, 0.0]},
            "spatial:transform": [20, 0, 500000, 0, -20, 5000000],
        },
    ]
    found = read({"multiscales": {"layout": layout, "resampling_method": "average"}})
    assert found is not None and found.method == "average"
    assert found.levels[1].scale == (-20, 20)
    assert found.levels[1].translation == (4999990, 500010)  # the centre of the first pixel
    whole = completed(found, [(3, 64, 64), (3, 32, 32)], ("band", "y", "x"))
    assert whole.levels[0].scale == (1, -10, 10)
    written = attributes_for(whole, "multiscales", {"zarr_conventions": [{"uuid": "other"}]})
    assert [entry["uuid"][:5] for entry in written["zarr_conventions"]] == ["other", "d3537"]
    first, second = written["multiscales"]["layout"]
    assert first["transform"] == {"scale": [1, 1, 1], "translation": [0, 0, 0]}
    assert second["transform"] == {"scale": [1, 2, 2], "translation": [0, 0.5, 0.5]}
    assert second["spatial:transform"] == layout[1]["spatial:transform"]


def test_levels_of_the_convention_of_2026_in_any_order() -> None:
    layout = [
        {"asset": "b", "derived_from": "a", "transform": {"scale": [2, 2], "translation": [1, 1]}},
        {"asset": "c", "derived_from": "b", "transform": {"scale": [2, 2]}},
        {"asset": "a", "transform": {"scale": [3, 3]}},
    ]
    found = read({"multiscales": {"layout": layout}})
    assert found is not None
    assert {level.path: level.scale for level in found.levels} == {
        "a": (3, 3),
        "b": (6, 6),
        "c": (12, 12),
    }
    assert found.levels[1].translation == (3, 3)
    whole = completed(found, [(8, 8), (4, 4), (16, 16)])
    assert [level.path for level in whole.levels] == ["a", "b", "c"]


BROKEN: list[Any] = [
    {"multiscales": 3},
    {"multiscales": []},
    {"multiscales": [3]},
    {"multiscales": [{"version": "0.1"}]},
    {"multiscales": [{"version": "0.1", "datasets": {}}]},
    {"multiscales": [{"version": "0.1", "datasets": [{"path": 3}]}]},
    {"multiscales": [{"version": "0.1", "datasets": [{"path": "../up"}]}]},
    {"multiscales": [{"version": "0.1", "datasets": [{"path": "a/../../up"}]}]},
    {"multiscales": [{"version": "0.1", "datasets": [{"path": ""}]}]},
    {"multiscales": [{"version": "0.1", "name": 3, "datasets": [{"path": "0"}]}]},
    {"multiscales": [{"axes": "yx", "datasets": [{"path": "0"}]}]},
    {"multiscales": [{"axes": [{"type": "space"}], "datasets": [{"path": "0"}]}]},
    {"multiscales": {}},
    {"multiscales": {"layout": [{"asset": "../x"}]}},
    {"multiscales": {"layout": [{"asset": "a"}, {"asset": "a"}]}},
    {
        "multiscales": {
            "layout": [
                {"asset": "a", "derived_from": "b", "transform": {"scale": [2]}},
                {"asset": "b", "derived_from": "a", "transform": {"scale": [2]}},
            ]
        }
    },
    {"multiscales": {"layout": [{"asset": "a", "spatial:transform": [1, 2]}]}},
    {"multiscales": {"layout": [{"asset": "a", "transform": {"scale": ["2"]}}]}},
    *(
        {"multiscales": [{"version": "0.4", "axes": [{"name": "x"}], "datasets": [dataset(item)]}]}
        for item in (
            {"type": "rotation", "rotation": [[1]]},
            {"type": "scale", "path": "elsewhere"},
            {"type": "scale", "scale": [1, 2]},
            {"type": "scale", "scale": [True]},
            {"type": "scale", "scale": [float("nan")]},
            {"type": "scale", "scale": [10**400]},
            {"type": "sequence", "transformations": [{"type": "sequence"}]},
            {"type": "affine", "affine": [[1, 2, 3]]},
            3,
        )
    ),
]


@pytest.mark.parametrize("attributes", BROKEN)
def test_broken_descriptions(attributes: Any) -> None:
    with pytest.raises(MetadataError, match="multiscales"):
        read(attributes)


@pytest.mark.parametrize("shapes", [[(8, 8), (4,)], [(8, 8, 8), (4, 4, 4)], [(8,), (4,)]], ids=str)
def test_arrays_that_do_not_fit(shapes: Any) -> None:
    levels = tuple(Level(path, None, (1, 1), (0, 0)) for path in "ab")
    with pytest.raises(MetadataError, match="dimensions"):
        completed(Pyramid((Axis("y"), Axis("x")), levels), shapes)
    if len(shapes[0]) == 1:
        with pytest.raises(MetadataError, match="a scale of 2 numbers"):
            completed(Pyramid((), levels), shapes)


def test_only_whole_pyramids_are_written() -> None:
    axes = Axis("y"), Axis("x")
    nan = float("nan")
    for level in (Level("0"), Level("0", None, (1, nan), (0, 0)), Level("0", None, (1, 1), (0,))):
        for convention in SCALED:
            with pytest.raises(MetadataError, match="finite number for each of 2 axes"):
                attributes_for(Pyramid(axes, (level,)), convention)
    for convention in CONVENTIONS:
        with pytest.raises(MetadataError, match="at least one level"):
            attributes_for(Pyramid(axes, ()), convention)
    with pytest.raises(MetadataError, match="expected one of"):
        attributes_for(Pyramid(axes, (Level("0"),)), "ome-0.3")


# -- describing arrays ----------------------------------------------------------------------------
@given(st.integers(1, 1000), st.integers(1, 10), st.booleans())
def test_the_factor_of_a_level_is_found(length: int, factor: int, rounded_up: bool) -> None:
    """Where every element stands for `factor` others, that is the scale, if it can be told."""
    part = -(-length // factor) if rounded_up else length // factor
    if part < 2 * factor:  # so few elements fit several factors
        return
    shapes = {"0": (length,), "1": (part,)}
    found = described(shapes, [None, None], "x", 2.0, None, "0.1")
    assert found.levels[1].scale == (2.0 * factor,)
    assert found.levels[1].translation == (factor - 1.0,)


def test_scales_and_units_by_axis() -> None:
    shapes = {"0": (2, 8, 8), "1": (2, 4, 4)}
    names = ("c", "y", "x")
    found = described(shapes, [names, names], None, 0.5, "micrometer", "ome-0.5")
    assert found.axes == (
        Axis("c", "channel"),
        Axis("y", "space", "micrometer"),
        Axis("x", "space", "micrometer"),
    )
    assert [level.scale for level in found.levels] == [(1, 0.5, 0.5), (1, 1, 1)]
    other = described(shapes, [None, None], "cyx", {"x": 3}, {"x": "meter"}, "ome-0.4")
    assert other.levels[1].scale == (1, 2, 6) and other.axes[1].unit is None


@pytest.mark.parametrize(
    ("axes", "scale", "match"),
    [
        ("yx", 1.0, "2 axes for arrays of 3"),
        (None, 1.0, "no dimension names"),
        ("cyx", {"z": 1.0}, "no axis 'z'"),
    ],
)
def test_what_cannot_be_described(axes: Any, scale: Any, match: str) -> None:
    with pytest.raises(MetadataError, match=match):
        described({"0": (2, 8, 8)}, [None], axes, scale, None, "ome-0.4")


def test_ome_0_5_wants_dimension_names() -> None:
    with pytest.raises(MetadataError, match="wants the level '1' to have the dimension names"):
        described({"0": (8, 8), "1": (4, 4)}, [("y", "x"), None], "yx", 1.0, None, "ome-0.5")
