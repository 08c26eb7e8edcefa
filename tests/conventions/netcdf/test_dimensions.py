"""Which dimensions a group has."""

from __future__ import annotations

import pytest

from omnizarr.conventions.netcdf.dimensions import GroupFacts, dimension_names, visible
from omnizarr.errors import MetadataError
from omnizarr.model.dimensions import Dimension


def test_names() -> None:
    assert dimension_names(("y", None), (2, 3)) == ("y", "_Anonymous_Dim_3")
    assert dimension_names(None, (2,)) == ("_Anonymous_Dim_2",)
    assert dimension_names(("y",), (2, 3)) == ("_Anonymous_Dim_2", "_Anonymous_Dim_3")
    assert dimension_names(("_scalar_",), (1,)) == () == dimension_names(None, ())
    assert dimension_names(("_scalar_",), (2,)) == ("_scalar_",)


def test_arrays_give_dimensions_and_groups_below_see_them() -> None:
    root = GroupFacts("/", None, {"a": (("y", "x"), (2, 3)), "b": (("x",), (3,))})
    below = GroupFacts("/g", None, {"c": (("x", "z"), (3, 4)), "d": (("y",), (5,))})
    found = visible([root, below])
    assert found == {
        "y": Dimension("y", 5, False, "/g"),  # hides that of the root
        "x": Dimension("x", 3, False, "/"),
        "z": Dimension("z", 4, False, "/g"),
    }


def test_declared_dimensions_come_first() -> None:
    root = GroupFacts("/", {"t": (4, True), "x": (3, False)}, {})
    assert visible([root])["t"] == Dimension("t", 4, True, "/")
    assert visible([root, GroupFacts("/g", {"x": (9, False)}, {})])["x"].group == "/g"


def test_a_conflict_names_both_arrays() -> None:
    arrays = {"a": (("x",), (3,)), "b": (("x",), (4,))}
    with pytest.raises(MetadataError, match=r"'x' has size 3 in 'a', and 4 in 'b'"):
        visible([GroupFacts("/g", None, arrays)])
