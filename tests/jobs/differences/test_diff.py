"""`diff`: structure, metadata, attributes, and values region by region."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

import omnizarr as zarr
from omnizarr.errors import NodeNotFoundError
from omnizarr.jobs.differences.values import compare
from omnizarr.nodes.data import regions


def pair() -> tuple[zarr.Group, zarr.Group]:
    groups = (zarr.group(), zarr.group())
    for root in groups:
        root.create_array("a", data=np.arange(12.0).reshape(3, 4), chunks=(2, 2))
        root.create_group("g").create_array("t", data=np.array(["x", "y"], "O"), dtype=str)
        root.attrs["n"] = [1, float("nan")]
    return groups


def test_no_difference(tmp_path: Path) -> None:
    one, other = pair()
    found = zarr.diff(one, other)
    assert not found and found.nodes == 4 and str(found).startswith("no difference (4 nodes, ")
    zarr.copy_store(one.store, tmp_path / "c.zarr")
    assert not zarr.diff(one.store, tmp_path / "c.zarr")


def test_structure_metadata_attributes() -> None:
    one, other = pair()
    other.create_array("new", shape=(1,), dtype="i4")
    del other["g/t"]
    other["a"].attrs["units"] = "m"
    other.attrs["n"] = [1, 2]
    one.create_group("k")
    other.create_array("k", shape=(), dtype="u1")
    found = zarr.diff(one, other).differences
    assert [(one.path, one.what, one.name) for one in found] == [
        ("", "attribute", "n"),
        ("a", "attribute", "units"),
        ("g/t", "only in the first", ""),
        ("k", "kind", ""),
        ("new", "only in the second", ""),
    ]
    assert found[1].lines == ["attribute units: nothing → m"]


def test_how_values_are_stored() -> None:
    values = np.arange(6.0)
    one = zarr.array(values, chunks=2, zarr_format=2, fill_value=0)
    other = zarr.array(values, chunks=3, zarr_format=3, fill_value=0)
    found = [each.name for each in zarr.diff(one, other).differences]
    assert found == ["format", "chunks", "codecs"]
    assert not zarr.diff(one, other, storage=False)


def test_values_over_many_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "REGION_BYTES", 64)
    values = np.arange(1000, dtype="i8").reshape(100, 10)
    changed = values.copy()
    changed[[3, 50, 99], [1, 2, 9]] += [5, -70, 1]
    one, other = zarr.array(values, chunks=(3, 4)), zarr.array(changed, chunks=(7, 5))
    [found] = [each for each in zarr.diff(one, other).differences if each.what == "values"]
    assert (found.count, found.of, found.largest) == (3, 1000, 70.0)
    assert [tuple(pair) for pair in found.examples] == [
        ((3, 1), 31, 36), ((50, 2), 502, 432), ((99, 9), 999, 1000),
    ]  # fmt: skip
    [few] = [e for e in zarr.diff(one, other, examples=1).differences if e.what == "values"]
    assert few.lines[-1] == "  … and 2 more" and len(few.examples) == 1
    assert not zarr.diff(one, other, storage=False, atol=70)
    assert zarr.diff(one, other, storage=False, atol=69)
    assert not zarr.diff(one, other, storage=False, metadata_only=True)


def test_a_missing_node() -> None:
    one, other = pair()
    with pytest.raises(NodeNotFoundError):
        zarr.diff(one.store, other.store, path="no")
    assert not zarr.diff(one.store, other.store, path="g/t")
    assert zarr.diff(one.store, other.store, path="a", second_path="g/t")


@given(
    stn.array_shapes(min_dims=0, max_dims=3, max_side=4).flatmap(
        lambda shape: st.sampled_from(["i8", "u8", "f4", "f8", "c8", "?", "M8[s]", "U3"]).flatmap(
            lambda dtype: st.tuples(stn.arrays(dtype, shape), stn.arrays(dtype, shape))
        )
    )
)
def test_blocks_against_a_loop(both: tuple[np.ndarray, np.ndarray]) -> None:  # type: ignore[type-arg]
    one, other = both
    found = compare(one, other, (0,) * one.ndim, 0, 0, 1000)
    places = [
        place
        for place in np.ndindex(one.shape)
        if one[place] != other[place]
        and not (one[place] != one[place] and other[place] != other[place])
    ]
    assert [pair.coordinates for pair in found.examples] == places and found.number == len(places)
    if one.dtype.kind in "iu" and places:
        assert found.largest == float(max(abs(int(one[p]) - int(other[p])) for p in places))


def test_fields() -> None:
    dtype = np.dtype([("a", "f4"), ("b", "i2", (2,))])
    one = np.zeros(3, dtype)
    one["a"] = np.nan
    other = one.copy()
    assert compare(one, other, (0,), 0, 0, 5).number == 0
    other["b"][1, 1] = 1
    assert compare(one, other, (0,), 0, 0, 5).examples[0].coordinates == (1,)
