"""`unconsolidate_metadata`: the documents of the nodes stay as they are."""

from __future__ import annotations

import pytest

import omnizarr as zarr
from omnizarr.errors import ContainsArrayError, MetadataError, ReadOnlyError


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_nothing_else_changes(zarr_format: int) -> None:
    store = zarr.MemoryStore()
    root = zarr.create_group(store, zarr_format=zarr_format, attributes={"a": 1})
    root.create_group("g").create_array("x", data=[1, 2])
    before = dict(store)
    zarr.consolidate_metadata(store)
    zarr.consolidate_metadata(store, "g")
    assert zarr.unconsolidate_metadata(store)
    with pytest.raises(MetadataError):
        zarr.open_consolidated(store)
    assert list(zarr.open_consolidated(store, path="g")) == ["x"]
    assert zarr.unconsolidate_metadata(store, "g") and not zarr.unconsolidate_metadata(store, "g")
    assert set(store) == set(before) and zarr.open(store).attrs["a"] == 1
    assert zarr.open(store)["g/x"][:].tolist() == [1, 2]


def test_refusals() -> None:
    store = zarr.MemoryStore()
    zarr.create_array(store, data=[1])
    with pytest.raises(ContainsArrayError):
        zarr.unconsolidate_metadata(store)
    zarr.create_group(store, overwrite=True)
    with pytest.raises(ReadOnlyError):
        zarr.unconsolidate_metadata(store.with_read_only(True))
