"""Class methods that open and make nodes."""

from __future__ import annotations

import pytest

import omnizarr
from omnizarr.errors import GroupNotFoundError, MetadataError, NodeExistsError


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_array_of_its_document(zarr_format: int) -> None:
    root = omnizarr.create_group({}, zarr_format=zarr_format)
    array = root.create_array("x", data=[1, 2, 3], attributes={"units": "m"})
    made = omnizarr.Array.from_dict(array.store_path, array.metadata.to_dict())
    assert made == array
    assert made[:].tolist() == [1, 2, 3]
    assert made.attrs == {"units": "m"}
    assert omnizarr.Array.open(array.store_path) == array


def test_the_document_of_a_group_is_not_that_of_an_array() -> None:
    root = omnizarr.create_group({})
    with pytest.raises(MetadataError, match="expected the document of an array"):
        omnizarr.Array.from_dict(root.store_path, root.metadata.to_dict())


def test_a_group_from_a_store() -> None:
    store = omnizarr.MemoryStore()
    root = omnizarr.Group.from_store(store, attributes={"a": 1}, zarr_format=2)
    assert omnizarr.Group.open(store) == root
    assert root.zarr_format == 2
    with pytest.raises(NodeExistsError):
        omnizarr.Group.from_store(store)
    with pytest.raises(GroupNotFoundError):
        omnizarr.Group.open({})


def test_classes_in_annotations() -> None:
    assert omnizarr.Array[int].__origin__ is omnizarr.Array  # type: ignore[misc]


def test_a_member_has_the_format_of_its_group() -> None:
    root = omnizarr.create_group({}, zarr_format=2)
    assert root.zeros("a", shape=3, zarr_format=2).zarr_format == 2
    with pytest.raises(MetadataError, match="zarr_format=3 array in a zarr_format=2 group"):
        root.zeros("b", shape=3, zarr_format=3)
