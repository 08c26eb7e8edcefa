"""Everything that stands in the way is told at once, each with the option that helps."""

from __future__ import annotations

import pytest

import omnizarr as zarr
from omnizarr.errors import ObstaclesError, UnsupportedError
from omnizarr.jobs.conversion.plan import Wanted
from omnizarr.jobs.conversion.refusals import Refusals


def options(error: ObstaclesError) -> list[dict[str, object]]:
    return [dict(one.options) for one in error.errors]  # type: ignore[attr-defined]


def test_one_refusal_hides_no_other_one() -> None:
    root = zarr.group()
    root.create_array("a", shape=(4,), dtype="i4")
    root.create_array("b", shape=(4,), chunks=(2,), shards=(4,), dtype="i4")
    with pytest.raises(ObstaclesError) as caught:
        zarr.convert(root, {}, zarr_format=0)
    found = options(caught.value)
    assert found == [{"drop": ("groups",)}, {"reencode": True}, {"reencode": True}]


def test_what_is_met_when_the_advice_is_followed() -> None:
    """Each refusal of a node is told, as if those before it were out of the way."""

    def plan(asked: Wanted) -> None:
        if "attributes" not in asked.drop:
            raise UnsupportedError("no attributes", what="attributes")
        if not asked.reencode:
            raise UnsupportedError("no such codec", what="codecs")

    refusals, error = Refusals(in_place=False), UnsupportedError("no attributes", what="attributes")
    told = list(refusals.of(error, "g", plan, Wanted()))
    assert [one.what for one in told] == ["attributes", "codecs"]
    error = UnsupportedError("no such codec", what="codecs")
    assert list(refusals.of(error, "g/a", lambda _: None, Wanted())) == []
    assert len(list(refusals.of(error, "h", lambda _: None, Wanted()))) == 1
    in_place = Refusals(in_place=True)
    assert (
        len(list(in_place.of(UnsupportedError("no", what="attributes"), "", plan, Wanted()))) == 1
    )


def test_following_the_advice_leads_there() -> None:
    root = zarr.group()
    root.create_array("a", data=[1, 2], dimension_names=["x"], attributes={"n": 1})
    with pytest.raises(ObstaclesError) as caught:
        zarr.convert(root, {}, zarr_format=0)
    drop = tuple(part for one in options(caught.value) for part in one.get("drop", ()))  # type: ignore[attr-defined]
    target = zarr.MemoryStore()
    zarr.convert(root, target, zarr_format=0, drop=drop, reencode=True)
    assert zarr.open_array(target, path="a")[:].tolist() == [1, 2]


def test_groups_inside_are_not_told_again() -> None:
    root = zarr.group()
    root.create_group("g/h").create_array("a", shape=(2,), dtype="i4")
    with pytest.raises(ObstaclesError) as caught:
        zarr.convert(root, {}, zarr_format=0)
    assert sum(one == {"drop": ("groups",)} for one in options(caught.value)) == 1
