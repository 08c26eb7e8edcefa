"""What `check` says about NetCDF and CF."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.conventions.netcdf.rules import rule
from omnizarr.conventions.rules import NodeFacts


def array(path: str, shape: tuple[int, ...] = (3,), *, names: Any = ("x",), kind: str = "f4",
          **attributes: Any) -> NodeFacts:  # fmt: skip
    return NodeFacts(path, f"{path}/.zattrs", attributes, shape, np.dtype(kind), names)


def messages(*members: NodeFacts, **attributes: Any) -> list[str]:
    root = NodeFacts("", ".zattrs", attributes, children=tuple(each.path for each in members))
    nodes = {"": root, **{each.path: each for each in members}}
    return [found.message for each in nodes.values() for found in rule(each, nodes)]


def test_a_sound_group() -> None:
    assert messages(
        array("x", units="m"),
        array("time", (2,), names=("time",), units="hours since 1900-01-01T00:00:0.0Z"),
        array("t", (2, 3), names=("time", "x"), kind="i2", coordinates="lat", grid_mapping="crs: x",
              scale_factor=0.5, _FillValue=-1, valid_range=[0, 9], cell_measures="area: lat"),
        array("lat", (3,), bounds="bnds"),
        array("bnds", (3, 2), names=("x", "two")),
        array("crs", (), names=()),
        Conventions="CF-1.8",
    ) == []  # fmt: skip


def test_dimensions_of_different_length() -> None:
    pair = array("a"), array("b", (4,))
    assert any("'x' has size 4 here, and 3 in 'a'" in found for found in messages(*pair))
    assert messages(*pair, multiscales=[]) == []


def test_a_variable_that_is_named_as_a_dimension() -> None:
    (found,) = messages(array("x", (3, 2), names=("x", "y")), array("a"))
    assert "coordinate" in found
    assert messages(array("x", (3, 2), names=("x", "y"), kind="S1"), array("a")) == []


@pytest.mark.parametrize(
    "attribute", ["coordinates", "bounds", "grid_mapping", "ancillary_variables"]
)
def test_names_that_lead_nowhere(attribute: str) -> None:
    (found,) = messages(array("a", **{attribute: "b gone"}), array("b"))
    assert found == f"{attribute} names 'gone', and there is no such variable"
    assert len(messages(array("a", **{attribute: 3}))) == 1
    assert messages(array("a", **{attribute: "/b"}), array("b")) == []
    assert messages(array("a", **{attribute: "../../b"}), array("b")) == []  # nobody looked there


def test_names_are_looked_for_above_and_not_beyond_the_start_of_the_check() -> None:
    group = NodeFacts("g", "g/.zattrs", {}, children=("g/a",))
    member = array("g/a", coordinates="b")
    assert messages(group, member, array("b")) == []
    assert list(rule(member, {"g": group, "g/a": member})) == []
    assert messages(group, member) != []


@pytest.mark.parametrize(
    "units",
    [
        "days since 2000-01-01", "hours since 1-1-1 00:00:00", "s since 1970-01-01T00:00:00Z",
        "Seconds Since 1992-10-8 15:15:42.5 -6:00", "months since 2000", "ms since 1970-1-1 0:0",
        "minutes since 1850-01-01 00:00:00 UTC", "microseconds since 2000-01-01",
        "common_years since 2000-01-01", "m", "kg m-2", "days", "",
    ],
)  # fmt: skip
def test_units_that_are_understood(units: str) -> None:
    assert messages(array("a", units=units, calendar="noleap")) == []


@pytest.mark.parametrize(
    "units", ["days since", "days since yesterday", "parsec since 2000-01-01", " since 2000-01-01"]
)
def test_units_that_are_not(units: str) -> None:
    (found,) = messages(array("a", units=units))
    assert "units" in found
    assert messages(array("a", kind="S9", units=units)) == []


def test_calendars() -> None:
    unit = {"units": "days since 2000-01-01"}
    for calendar in ("lunar", 3):
        (found,) = messages(array("a", calendar=calendar, **unit))
        assert found.startswith("calendar must be one of")
    assert messages(array("a", calendar="lunar", month_lengths=[30] * 12, **unit)) == []


@pytest.mark.parametrize(
    "attributes",
    [
        {"scale_factor": "1"}, {"add_offset": [1, 2]}, {"_FillValue": "none"},
        {"_FillValue": 1 << 20}, {"_FillValue": 0.5}, {"missing_value": [1, 70000]},
        {"valid_range": [1]}, {"valid_range": [0, 1], "valid_min": 0}, {"_Unsigned": "maybe"},
    ],
    ids=str,
)  # fmt: skip
def test_packing_that_cannot_be_meant(attributes: dict[str, Any]) -> None:
    assert len(messages(array("a", kind="i2", **attributes))) == 1


def test_unsigned_fill_values() -> None:
    assert messages(array("a", kind="i1", _Unsigned="true", _FillValue=255)) == []
    assert messages(array("a", kind="i1", _Unsigned="true", _FillValue=-1)) == []
    assert messages(array("a", kind="u1", _FillValue=-1)) != []


def test_markers_against_what_is_stored() -> None:
    marker = {"dimensions": {"x": 4, "y": {"size": 2, "unlimited": 1}}, "arrays": ["a", "gone"],
              "groups": []}  # fmt: skip
    found = messages(array("a"), array("b", (2,), names=("y",)), _nczarr_group=marker)
    assert found == [
        "it lists 'gone', which is not there",
        "it does not list 'b', so that netCDF-C does not see it",
        "the dimension 'x' is declared with size 4, and has 3 here",
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)  # fmt: skip
NAMES = st.sampled_from([
    "_nczarr_group", "coordinates", "bounds", "grid_mapping", "cell_measures", "formula_terms",
    "units", "calendar", "scale_factor", "_FillValue", "valid_range", "_Unsigned", "multiscales",
    "external_variables", "ome", "month_lengths",
])  # fmt: skip


@given(st.dictionaries(NAMES, JSON), st.sampled_from(["i1", "u8", "f8", "S3", "M8[s]"]))
def test_no_attribute_makes_a_rule_fail(attributes: dict[str, Any], kind: str) -> None:
    for found in messages(array("a", kind=kind, **attributes), **attributes):
        assert found


@given(st.dictionaries(st.sampled_from(["dimensions", "arrays", "groups"]), JSON))
def test_no_marker_makes_a_rule_fail(marker: dict[str, Any]) -> None:
    messages(array("a"), _nczarr_group=marker)


def test_check_has_the_rules() -> None:
    root = omnizarr.group()
    root.create_array("a", shape=3, dtype="f4", attributes={"bounds": "gone"})
    (found,) = omnizarr.check(root.store)
    assert (found.level, found.path, found.reference) == ("warning", "a", "CF conventions, 7.1")
