"""OME-NGFF metadata between 0.4 and 0.5."""

from __future__ import annotations

from typing import Any

import pytest

from omnizarr.conventions.multiscales.ome_versions import moved

IMAGE = {"axes": [{"name": "y"}, {"name": "x"}], "datasets": [{"path": "0"}], "name": "a"}
PAIRS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "",
        {"multiscales": [{**IMAGE, "version": "0.4"}], "omero": {"id": 1, "version": "0.4"}},
        {"multiscales": [IMAGE], "omero": {"id": 1, "version": "0.5"}},
    ),
    ("labels", {"labels": ["cells"]}, {"labels": ["cells"]}),
    (
        "cells",
        {"multiscales": [{**IMAGE, "version": "0.4"}], "image-label": {"version": "0.4"}},
        {"multiscales": [IMAGE], "image-label": {"version": "0.5"}},
    ),
    ("", {"plate": {"wells": [], "version": "0.4"}}, {"plate": {"wells": [], "version": "0.5"}}),
    ("1", {"well": {"images": []}}, {"well": {"images": []}}),
    ("", {"bioformats2raw.layout": 3}, {"bioformats2raw.layout": 3}),
    ("OME", {"series": ["0", "1"]}, {"series": ["0", "1"]}),
]


@pytest.mark.parametrize(("name", "old", "new"), PAIRS)
def test_there_and_back(name: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    other = {"note": "kept", "units": {"version": "0.4"}}
    found = moved({**old, **other}, "0.5", name)
    assert found.attributes == {**other, "ome": {"version": "0.5", **new}} and found.note is None
    back = moved(found.attributes, "0.4", name)
    assert back.attributes == {**old, **other} and back.note is None
    # what is there already stays
    assert moved(found.attributes, "0.5", name).attributes == found.attributes
    assert moved(back.attributes, "0.4", name).attributes == back.attributes


def test_members_of_ome_that_are_not_known_stay_there() -> None:
    attributes = {"ome": {"version": "0.5", "multiscales": [IMAGE], "more": 1}}
    found = moved(attributes, "0.4")
    assert found.attributes == {"multiscales": [{**IMAGE, "version": "0.4"}], "ome": {"more": 1}}
    assert moved(found.attributes, "0.5").attributes == attributes


def test_labels_without_a_version_move() -> None:
    assert moved({"ome": {"labels": ["a"]}}, "0.4", "labels").attributes == {"labels": ["a"]}


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"labels": ["a"]},  # in a group of another name
        {"series": [1, 2], "omero": {}},
        {"plate": "steel", "well": "deep"},
        {"multiscales": [{"version": "0.1", "datasets": [{"path": "0"}]}]},
        {"multiscales": {"layout": []}},
        {"ome": "sweet"},
        {"ome": {"version": "0.5"}},
    ],
)
def test_other_attributes_stay(attributes: dict[str, Any]) -> None:
    for version in ("0.4", "0.5"):
        assert moved(attributes, version) == (attributes, None)


@pytest.mark.parametrize(
    ("attributes", "version", "match"),
    [
        ({"multiscales": [{"version": "0.3", "axes": ["x"]}]}, "0.5", "OME-NGFF 0.3 is left"),
        ({"multiscales": [{"version": "0.2"}]}, "0.5", "OME-NGFF 0.2 is left"),
        ({"ome": {"version": "0.6.dev1", "multiscales": []}}, "0.4", "0.6.dev1 is left"),
        ({"ome": {"version": "0.5", "multiscales": []}, "multiscales": {}}, "0.4", "stay under"),
    ],
)
def test_what_cannot_be_moved_is_noted(attributes: Any, version: str, match: str) -> None:
    found = moved(attributes, version)
    assert found.attributes == attributes
    assert found.note is not None and match in found.note
