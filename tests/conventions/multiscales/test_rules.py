"""The linter's rules for pyramids and for OME-NGFF."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.conventions.declarations import MULTISCALES
from omnizarr.conventions.multiscales.rules import check
from omnizarr.conventions.rules import NodeFacts


def transformations(*scale: float) -> list[Any]:
    return [{"type": "scale", "scale": list(scale)}]


IMAGE: dict[str, Any] = {
    "name": "cells",
    "axes": [
        {"name": "c", "type": "channel"},
        {"name": "y", "type": "space", "unit": "micrometer"},
        {"name": "x", "type": "space", "unit": "micrometer"},
    ],
    "datasets": [
        {"path": "0", "coordinateTransformations": transformations(1, 0.5, 0.5)},
        {"path": "1", "coordinateTransformations": transformations(1, 1, 1)},
    ],
}
OMERO = {
    "channels": [{"color": "FF0000", "window": {"min": 0, "max": 255, "start": 0, "end": 255}}] * 2
}
SHAPES = {"0": (2, 8, 8), "1": (2, 4, 4)}


def group_of(version: str, image: Any = IMAGE, **more: Any) -> omnizarr.Group:
    """A group with two levels and OME's metadata, as a version has them."""
    group = omnizarr.group(zarr_format={"0.4": 2, "0.5": 3}[version])
    for path, shape in SHAPES.items():
        group.create_array(path, shape=shape, dtype="u1", dimension_names=["c", "y", "x"])
    described = {"multiscales": image, **more}
    if isinstance(image, dict):
        versioned = {"version": "0.4", **image} if version == "0.4" else image
        described["multiscales"] = [versioned]
    if version == "0.5":
        described = {"ome": {"version": "0.5", **described}}
    group.attrs.update(described)
    return group


def findings(group: omnizarr.Group, level: str = "error") -> list[str]:
    found = omnizarr.check(group.store)
    return [each.message for each in found if each.level == level]


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_nothing_is_wrong(version: str) -> None:
    group = group_of(version, omero=OMERO)
    assert findings(group) == findings(group, "warning") == []


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Set what is at a path such as "datasets.0.path"; `del` removes it."""

    def done(image: dict[str, Any]) -> None:
        *above, last = [int(name) if name.isdigit() else name for name in path.split(".")]
        for name in above:
            image = image[name]  # type: ignore[index]
        if value is del_:
            del image[last]  # type: ignore[arg-type]
        else:
            image[last] = value  # type: ignore[index]

    return done


del_ = object()
AXES = IMAGE["axes"]
BROKEN: list[tuple[str, Any, str]] = [
    ("axes", del_, "axes: expected a list of objects"),
    ("axes", AXES[:1], "expected 2 to 5 axes"),
    ("axes", AXES[:1], "2 or 3 space axes"),
    ("axes", [AXES[1], AXES[0], AXES[2]], "space last"),
    ("axes", [AXES[0], AXES[1], AXES[1]], "must be different"),
    ("axes", [{"name": "c", "type": "channel"}, *AXES], "1 channel axis at most"),
    ("axes", [{"name": "c"}, {"name": "d"}, *AXES[1:]], "1 custom axis at most"),
    ("axes", [*AXES[1:], {"name": "t", "type": "time"}], "time comes first"),
    ("axes.0.name", 3, "name: expected a text"),
    ("axes.0.type", 3, "type: expected a text"),
    ("axes", AXES[1:], "has 3 dimensions for 2 axes"),
    ("datasets", [], "expected a list of objects"),
    ("datasets.0.path", del_, "expected the path of a level"),
    ("datasets.0.path", "../a", "are not allowed as names"),
    ("datasets.1.path", "2", "the level '2' is missing"),
    ("datasets.1.path", "0", "named 2 times"),
    ("datasets.0.coordinateTransformations", del_, "expected a list of objects"),
    ("datasets.0.coordinateTransformations", [], "expected one scale"),
    ("datasets.0.coordinateTransformations", transformations(1, 1, 1) * 2, "expected one scale"),
    ("datasets.0.coordinateTransformations", transformations(1, 1), "expected a list of 3 numbers"),
    (
        "datasets.0.coordinateTransformations",
        [{"type": "translation", "translation": [0, 0, 0]}],
        "expected one scale",
    ),
    ("datasets.0.coordinateTransformations", transformations(1, 9, 9), "is finer than"),
    ("datasets", IMAGE["datasets"][::-1], "comes after the smaller"),
    ("coordinateTransformations", [{"type": "scale", "scale": [1]}], "a list of 3 numbers"),
]


@pytest.mark.parametrize("version", ["0.4", "0.5"])
@pytest.mark.parametrize(("path", "value", "message"), BROKEN)
def test_broken_images(version: str, path: str, value: Any, message: str) -> None:
    image = copy.deepcopy(IMAGE)
    change(path, value)(image)
    assert any(message in found for found in findings(group_of(version, image)))


def test_versions() -> None:
    assert any("expected '0.4', found '0.5'" in found for found in
               findings(group_of("0.4", {**IMAGE, "version": "0.5"})))  # fmt: skip
    group = group_of("0.4")
    group.attrs["multiscales"] = [IMAGE]
    assert any("should have a version" in found for found in findings(group, "warning"))
    group = group_of("0.5", {**IMAGE, "version": "0.4"})
    assert any("under 'ome' alone" in found for found in findings(group, "warning"))
    for version in (None, 5, "0.5.2"):
        group = group_of("0.5")
        group.attrs["ome"] = {**group.attrs["ome"], "version": version}
        assert any("ome.version: expected '0.5'" in found for found in findings(group))
    group.attrs["ome"] = {**group.attrs["ome"], "version": "0.7"}
    assert findings(group) == [] and len(findings(group, "warning")) == 1
    group.attrs["ome"] = []
    assert findings(group) == ["ome: expected an object, found []"]


def test_the_other_format() -> None:
    old, new = group_of("0.4"), group_of("0.5")
    attributes = old.attrs.asdict(), new.attrs.asdict()
    old.attrs.put(attributes[1])
    new.attrs.put(attributes[0])
    assert len(findings(old)) == 1 and "Zarr format 3, in another format" in findings(old)[0]
    assert len(findings(new)) == 1 and "Zarr format 2, in another format" in findings(new)[0]


def test_dimension_names() -> None:
    group = omnizarr.group(attributes={"ome": {"version": "0.5", "multiscales": [IMAGE]}})
    group.create_array("0", shape=SHAPES["0"], dtype="u1", dimension_names=["c", "y", "z"])
    group.create_array("1", shape=SHAPES["1"], dtype="u2")
    found = findings(group)
    assert len(found) == 2 and all("must have the names of the axes" in each for each in found)
    assert any("has the data type uint16" in each for each in findings(group, "warning"))


def test_a_level_that_is_a_group() -> None:
    group = group_of("0.5")
    del group["1"]
    group.create_group("1")
    assert findings(group) == ["the level '1' is a group, not an array"]


PLATE: dict[str, Any] = {
    "rows": [{"name": "A"}, {"name": "B"}],
    "columns": [{"name": "1"}],
    "wells": [{"path": "B/1", "rowIndex": 1, "columnIndex": 0}],
}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("rows", del_, "plate.rows: expected a list"),
        ("rows.0.name", "B", "must be different"),
        ("rows.0.name", "A-1", "letters and digits"),
        ("wells.0.path", "B1", "a row and a column"),
        ("wells.0.path", "C/1", "a row and a column"),
        ("wells.0.rowIndex", 0, "expected [1, 0] as rowIndex"),
        ("wells.0.path", "A/1", "the group 'A/1' is missing"),
        ("version", "0.3", "plate.version: expected '0.5'"),
    ],
)
def test_plates(path: str, value: Any, message: str) -> None:
    group = omnizarr.group()
    well = group.create_group("B/1")
    well.attrs["ome"] = {"version": "0.5", "well": {"images": [{"path": "0"}]}}
    plate = copy.deepcopy(PLATE)
    group.attrs["ome"] = {"version": "0.5", "plate": plate}
    assert findings(group, "warning") == ["the group '0' is missing: no node of this format was"
                                          " found there"]  # fmt: skip
    well.create_group("0")
    assert findings(group) == findings(group, "warning") == []
    change(path, value)(plate)
    group.attrs["ome"] = {"version": "0.5", "plate": plate}
    assert any(message in found for found in findings(group))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"omero": {"channels": [{"color": "red"}]}}, "6 hexadecimal digits"),
        ({"omero": {"channels": [{"color": "FF0000"}]}}, "the numbers min, max, start and end"),
        ({"omero": []}, "omero: expected an object"),
        ({"labels": ["cells"]}, "the group 'cells' is missing"),
        ({"labels": ["0"]}, "is an array, not a group"),
        ({"labels": "cells"}, "expected a list of paths"),
        ({"labels": [3]}, "expected the path"),
        ({"well": {"images": [{"path": "a b"}]}}, "letters and digits"),
        ({"image-label": {"colors": [{"label-value": "a"}]}}, "must be an integer"),
        ({"image-label": {"colors": [{"label-value": 1}, {"label-value": 1}]}}, "be different"),
        ({"image-label": {"colors": [{"label-value": 1, "rgba": [0, 0, 0]}]}}, "4 numbers"),
        ({"image-label": {"colors": [{"label-value": 1, "rgba": [0, 0, 0, 999]}]}}, "4 numbers"),
    ],
)
def test_what_is_around_images(more: dict[str, Any], message: str) -> None:
    assert any(message in found for found in findings(group_of("0.5", **more)))


def test_multiscale_arrays() -> None:
    group = group_of("0.4")
    entry: dict[str, Any] = {"version": "0.1", "datasets": [{"path": "0"}, {"path": "1"}]}
    group.attrs.put({"multiscales": [entry]})
    assert findings(group) == []
    group.attrs.put({"multiscales": [{"datasets": entry["datasets"]}]})
    assert any("ndpyramid writes none" in found for found in findings(group, "dialect"))
    group.attrs.put({"multiscales": [{**entry, "datasets": entry["datasets"][::-1]}]})
    assert "comes after the smaller '1'" in findings(group)[0]
    group.attrs.put({"multiscales": [{**entry, "datasets": [{"path": "/../x"}]}]})
    assert "are not allowed as names" in findings(group)[0]


def test_the_convention_of_2026() -> None:
    group = group_of("0.5")
    layout: list[dict[str, Any]] = [
        {"asset": "0", "transform": {"scale": [1, 1, 1]}},
        {"asset": "1", "derived_from": "0", "transform": {"scale": [1, 2, 2]}},
    ]
    declared = {"zarr_conventions": [MULTISCALES.declaration()]}
    group.attrs.put({"multiscales": {"layout": layout}, **declared})
    assert findings(group) == []
    group.attrs.put({"multiscales": {"layout": layout}})
    assert "does not declare the convention" in findings(group)[0]
    del layout[1]["transform"]
    group.attrs.put({"multiscales": {"layout": layout}, **declared})
    assert findings(group) == ["the level '1' has derived_from, but no transform"]
    layout[1] = {"asset": "2", "derived_from": "3", "transform": {"scale": [2]}}
    group.attrs.put({"multiscales": {"layout": layout}, **declared})
    assert "from '3', which is no level" in findings(group)[0]


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "0", "../0"]),
    lambda inside: st.lists(inside, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["multiscales", "version", "axes", "datasets", "path", "name", "type", "scale", "plate",
             "coordinateTransformations", "rows", "columns", "wells", "omero", "channels", "labels",
             "layout", "asset", "derived_from", "transform", "image-label", "colors", "rgba",
             "label-value", "well", "images", "window", "ome", "zarr_conventions", "uuid"]
        ),
        inside,
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from(
            ["multiscales", "ome", "plate", "well", "labels", "image-label", "zarr_conventions"]
        ),
        json,
    )
)
def test_no_rule_fails(attributes: dict[str, Any]) -> None:
    array = NodeFacts("labels/0", "0/zarr.json", {}, (4, 4), np.dtype("u1"), ("y", "x"))
    node = NodeFacts("labels", "zarr.json", attributes, children=("0",), ome_version="0.5")
    for found in check(node, {"labels": node, "labels/0": array}):
        assert found.message and found.reference
