"""`omnizarr.storage`, and what stores answer in zarr-python's words."""

from __future__ import annotations

import pytest

import omnizarr
from omnizarr import errors, storage, stores


def test_storage_is_a_module_with_every_store() -> None:
    from omnizarr.storage import FsspecStore, LocalStore, StorePath

    assert LocalStore is stores.LocalStore
    assert FsspecStore is stores.FsspecStore
    assert StorePath is storage.StorePath
    assert set(stores.__all__) < set(dir(storage))
    with pytest.raises(AttributeError, match=r"'omnizarr\.storage' has no attribute 'NoStore'"):
        _ = storage.NoStore


def test_a_store_gives_a_read_only_handle_on_the_same_values() -> None:
    store = omnizarr.MemoryStore()
    locked = store.with_read_only(True)
    store.set("key", b"value")
    assert type(locked) is omnizarr.MemoryStore
    assert locked.get("key") == b"value"
    assert (locked.supports_writes, store.supports_writes) == (False, True)
    with pytest.raises(errors.ReadOnlyError):
        locked.set("key", b"other")
    locked.with_read_only(False).set("key", b"new")
    assert store.get("key") == b"new"


def test_a_wrapper_cannot_be_writable_around_a_read_only_store() -> None:
    inner = omnizarr.MemoryStore(read_only=True)
    with pytest.raises(errors.StoreError, match="the store inside can only be read"):
        omnizarr.PrefixStore(inner, "a").with_read_only(False)


def test_a_read_only_wrapper_gives_the_store_inside_back() -> None:
    inner = omnizarr.MemoryStore()
    assert omnizarr.ReadOnlyStore(inner).with_read_only(False) == inner
    assert omnizarr.PrefixStore(inner, "a").with_read_only(True).read_only


def test_dimension_names_are_a_member_where_the_format_has_one() -> None:
    array = omnizarr.create_array({}, shape=(2, 3), dtype="i4", dimension_names=("y", None))
    assert array.metadata.dimension_names == ("y", None)
    assert array.metadata.shape == (2, 3)
    assert omnizarr.zeros(3).metadata.dimension_names is None
    old = omnizarr.create_array({}, shape=2, dtype="i4", zarr_format=2, dimension_names=("x",))
    assert not hasattr(old.metadata, "dimension_names")
    assert old.dims == ("x",)
