"""Consolidated metadata, as zarr-python uses and shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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


def test_a_group_uses_the_copy_where_it_is_asked_to(store: Path) -> None:
    zarr3.open_group(store).create_group("late")
    assert list(zarr3.open_group(store, use_consolidated=True)) == ["a", "b", "g"]
    for asked in (None, False):
        fresh = zarr3.open_group(store, use_consolidated=asked)
        assert list(fresh) == ["a", "b", "g", "late"]
        assert fresh.metadata.consolidated_metadata is None


def test_the_copy_is_shown_in_order(store: Path) -> None:
    copy = zarr3.open_consolidated(store).metadata.consolidated_metadata
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
    member = zarr3.open_group(tmp_path, path="a", use_consolidated=True)
    assert "b" in member.metadata.consolidated_metadata.metadata
    with pytest.raises(ValueError, match="onsolidated"):
        zarr3.open_group(tmp_path, use_consolidated=True)


def test_a_deep_copy_is_shown() -> None:
    paths = ["/".join("a" * depth) for depth in range(1, 500)]
    copy = ConsolidatedMetadata.of({path: GroupMetadata() for path in paths})
    for _ in paths:
        copy = copy.metadata["a"].consolidated_metadata
    assert copy.metadata == {}
