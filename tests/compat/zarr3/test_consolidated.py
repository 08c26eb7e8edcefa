"""Consolidated metadata, as zarr-python uses and shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.compat import zarr3
from omnizarr.compat.zarr3.core.group import ConsolidatedMetadata, GroupMetadata
from omnizarr.errors import ZarrUserWarning

FORMATS = [2, 3]


def consolidate(store: Any, **arguments: Any) -> Any:
    if zarr3.open_group(store, **arguments).zarr_format == 2:
        return zarr3.consolidate_metadata(store, **arguments)
    with pytest.warns(ZarrUserWarning, match="Consolidated metadata is currently not part"):
        return zarr3.consolidate_metadata(store, **arguments)


@pytest.fixture(params=FORMATS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    root = zarr3.open_group(tmp_path, mode="w", zarr_format=request.param)
    root.create_array("b", data=np.arange(3), chunks=2)
    root.create_array("g/x", data=np.ones(2))
    root.create_group("a")
    consolidate(tmp_path)
    yield tmp_path


def test_a_group_uses_the_copy_where_it_is_there(store: Path) -> None:
    zarr3.open_group(store, use_consolidated=False).create_group("late")
    stale = zarr3.open_group(store)
    assert list(stale) == ["a", "b", "g"]
    fresh = zarr3.open_group(store, use_consolidated=False)
    assert list(fresh) == ["a", "b", "g", "late"]
    assert fresh.metadata.consolidated_metadata is None
    assert list(omnizarr.open_group(store)) == ["a", "b", "g", "late"]


def test_the_copy_is_shown_in_order(store: Path) -> None:
    copy = zarr3.open_group(store, mode="r").metadata.consolidated_metadata
    assert isinstance(copy, ConsolidatedMetadata)
    assert list(copy.metadata) == ["a", "b", "g"]
    assert list(copy.flattened_metadata) == ["a", "b", "g", "g/x"]
    assert copy.metadata["b"].shape == (3,)
    inner = copy.metadata["g"]
    assert isinstance(inner, GroupMetadata)
    assert inner.consolidated_metadata is not None
    assert list(inner.consolidated_metadata.metadata) == ["x"]
    assert ConsolidatedMetadata.from_dict(copy.to_dict()) == copy


def test_the_copy_of_a_member_is_that_of_the_member(tmp_path: Path) -> None:
    zarr3.create_group(tmp_path).create_group("a/b")
    consolidate(tmp_path, path="a")
    assert zarr3.open_group(tmp_path).metadata.consolidated_metadata is None
    assert "b" in zarr3.open_group(tmp_path, path="a").metadata.consolidated_metadata.metadata


def test_a_new_member_is_seen_through_the_group_that_made_it(store: Path) -> None:
    root = zarr3.open_group(store)
    root.create_array("new", data=[1, 2])
    assert list(root) == ["a", "b", "g", "new"]
    np.testing.assert_array_equal(root["new"][:], [1, 2])
    assert list(zarr3.open_group(store)) == ["a", "b", "g"]


def test_a_member_that_goes_is_taken_out_of_the_copy(store: Path) -> None:
    root = zarr3.open_group(store)
    del root["b"]
    assert list(root) == list(zarr3.open_group(store)) == ["a", "g"]
    del zarr3.open_group(store)["g"]["x"]
    assert list(zarr3.open_group(store)["g"]) == []
    zarr3.open_group(store).move("a", "c")
    assert list(zarr3.open_group(store)) == ["g"]
    assert list(zarr3.open_group(store, use_consolidated=False)) == ["c", "g"]


def test_a_replaced_member_is_never_read_by_its_old_metadata(store: Path) -> None:
    values = np.linspace(0, 1, 3)
    zarr3.open_group(store).create_array("b", data=values, chunks=(2,), overwrite=True)
    assert "b" not in zarr3.open_group(store)
    consolidate(store)
    np.testing.assert_array_equal(zarr3.open_group(store)["b"][:], values)


def test_a_copy_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    zarr3.create_group(tmp_path, zarr_format=2).create_group("a")
    (tmp_path / ".zmetadata").write_text('{"metadata": {"b/.zarray": {}}}')
    assert list(zarr3.open_group(tmp_path)) == ["a"]
    with pytest.raises(ValueError, match="zmetadata"):
        zarr3.open_group(tmp_path, use_consolidated=True)


def test_omnizarr_itself_refuses_to_change_what_it_opened_through_the_copy(store: Path) -> None:
    with pytest.raises(ValueError, match="opened through consolidated metadata"):
        omnizarr.open_consolidated(store).create_group("new")
