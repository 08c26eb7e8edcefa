"""How zarr-python's arguments for creating arrays are read."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

from omnizarr.compat import zarr3
from omnizarr.errors import ZarrDeprecationWarning, ZarrRuntimeWarning, ZarrUserWarning


@pytest.mark.parametrize("order", ["C", "F"])
def test_config_order_is_that_of_what_is_read_in_format_3(order: Any) -> None:
    data = np.arange(6).reshape(2, 3)
    with zarr3.config.set({"array.order": "F"}):
        stored = zarr3.create_array({}, data=data)
    assert next(codec.to_dict()["name"] for codec in stored.metadata.codecs) == "bytes"
    assert stored[:].flags.f_contiguous
    with zarr3.config.set({"array.order": order}):
        opened = zarr3.open_array(stored.store)
    assert opened.order == order
    assert opened[:].flags.f_contiguous == (order == "F")
    np.testing.assert_array_equal(opened[:], data)


def test_order_of_format_2_is_stored_and_wins() -> None:
    a = zarr3.ones((2, 2), order="F", zarr_format=2, config={"order": "C"})
    assert a.order == a.metadata.order == "F"
    assert zarr3.ones((2, 2), zarr_format=2, config={"order": "F"}).metadata.order == "F"


def test_order_of_format_3_warns() -> None:
    with pytest.warns(ZarrRuntimeWarning, match="`order` keyword argument has no effect"):
        assert zarr3.ones((2, 2), order="F").order == "C"


def test_unknown_and_wrong_members_of_config_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Unknown array config keys: \['nope'\]"):
        zarr3.create_array({}, shape=1, dtype="i4", config={"nope": 1})
    with pytest.raises(ValueError, match="Expected instance of bool"):
        zarr3.group().require_array("a", shape=1, config={"read_missing_chunks": "yes"})


def test_arguments_without_a_meaning_warn() -> None:
    with pytest.warns(ZarrRuntimeWarning, match="synchronizer is not yet implemented"):
        zarr3.create(shape=1, synchronizer=object())
    with pytest.raises(ValueError, match="Only one of chunk_shape or chunks"):
        zarr3.create(shape=4, chunks=2, chunk_shape=2)


def test_times_of_format_2_are_not_a_time_unless_set() -> None:
    a = zarr3.create_array({}, shape=2, dtype="M8[s]", zarr_format=2)
    assert np.isnat(a.fill_value)
    assert zarr3.create_array({}, shape=2, dtype="i4", zarr_format=2).fill_value == 0


def test_padded_records_are_packed() -> None:
    data = np.array([(1, 2), (3, 4)], np.dtype([("a", "i1"), ("b", "i8")], align=True))
    with pytest.warns(ZarrUserWarning, match="packed field layout"):
        a = zarr3.create_array({}, data=data)
    assert a.dtype.itemsize == 9
    assert a[:].tolist() == data.tolist()


def test_like_keeps_codecs_in_the_same_format_alone() -> None:
    source = zarr3.create_array({}, shape=4, dtype="i4", compressors=None, zarr_format=2)
    assert zarr3.zeros_like(source).compressors == ()
    assert zarr3.zeros_like(source, zarr_format=3).compressors != ()


def test_from_array_keeps_how_chunks_are_named() -> None:
    source = zarr3.create_array(
        {}, data=np.arange(4), zarr_format=3, chunk_key_encoding={"name": "v2", "separator": "."}
    )
    assert zarr3.from_array({}, data=source).metadata == source.metadata


def test_shards_that_span_a_dimension() -> None:
    a = zarr3.create_array({}, shape=(10, 0), chunks=(4, 3), shards=-1, dtype="i1")
    assert a.shards == (12, 3)
    assert zarr3.create_array({}, shape=10, chunks=4, shards=False, dtype="i1").shards == (12,)
    with pytest.warns(ZarrUserWarning, match="Automatic shard shape"):
        zarr3.create_array({}, shape=10, shards="auto", dtype="i1")


def test_saving_needs_arrays() -> None:
    with pytest.raises(ValueError, match="at least one array"):
        zarr3.save({})
    with pytest.raises(TypeError, match="Keyword argument 'mode'"):
        zarr3.save({}, np.arange(3), mode="w")


def test_settings_of_a_group_are_refused() -> None:
    with pytest.raises(TypeError, match="resolves to a group"):
        zarr3.open({}, mode="a", config={"order": "F"})


def test_warnings_of_zarr_python() -> None:
    root = zarr3.group()
    with pytest.warns(ZarrDeprecationWarning, match="Group.tree"):
        zarr3.tree(root)
    with pytest.warns(ZarrUserWarning, match="not part in the Zarr format 3"):
        zarr3.consolidate_metadata(root.store)
    with pytest.warns(DeprecationWarning, match="Endian.little"):
        assert zarr3.codecs.Endian.little == "little"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zarr3.consolidate_metadata(zarr3.group(zarr_format=2).store)


def test_errors_that_are_made_of_their_parts() -> None:
    error = zarr3.errors.ArrayNotFoundError("store", "path")
    assert str(error) == "No array found in store 'store' at path 'path'"
    assert str(zarr3.errors.ArrayNotFoundError("gone")) == "gone"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"zarr_format": 2, "codecs": ["bytes"]}, "codecs cannot be used"),
        ({"zarr_format": 2, "dimension_names": ["x"]}, "dimension_names cannot be used"),
        ({"filters": []}, "filters cannot be used"),
        ({"compressor": None}, "compressor cannot be used"),
    ],
)
def test_create_refuses_arguments_of_the_other_format(arguments: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        zarr3.create(shape=3, **arguments)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"shape": 3}, "dtype was not specified"),
        ({"data": [1, 2], "shape": 2}, "shape parameter was also used"),
        ({"shape": 4, "dtype": "i4", "zarr_format": 2, "shards": 2}, "`shard_shape` set to `None`"),
        ({"shape": 4, "dtype": "i4", "zarr_format": 2, "serializer": "bytes"}, "`serializer`"),
    ],
)
def test_create_array_refuses_what_zarr_python_refuses(arguments: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        zarr3.create_array({}, **arguments)


def test_lengths_must_be_integers() -> None:
    with pytest.raises(TypeError, match="Expected an iterable of integers"):
        zarr3.create(shape=(4.5, 1))
    with pytest.raises(TypeError, match="Chunk specification must be an integer"):
        zarr3.create(shape=(4, 4), chunks=(2, 2.5))


def test_a_shape_for_a_group_is_refused() -> None:
    store = zarr3.storage.MemoryStore()
    zarr3.create_group(store)
    with pytest.raises(TypeError, match=r"open_group\(\) got an unexpected keyword argument"):
        zarr3.open(store, shape=1)


def test_setting_the_default_compressor_warns() -> None:
    with pytest.warns(ZarrDeprecationWarning, match="default_compressor is deprecated"):
        zarr3.storage.default_compressor = None
    assert not hasattr(zarr3.storage, "default_compressor")


def test_awaited_methods_describe_themselves() -> None:
    method = zarr3.AsyncGroup.create_array
    assert inspect.signature(method) == inspect.signature(zarr3.Group.create_array)
    assert method.__qualname__ == "AsyncGroup.create_array"


def test_two_names_of_the_compressor_are_refused() -> None:
    with pytest.raises(ValueError, match="Cannot specify both"):
        zarr3.group().create_array("a", shape=1, dtype="i4", compressor=None, compressors=None)


def test_documents_that_zarr_python_does_not_have_are_refused() -> None:
    a = zarr3.ones(3)
    document = a.metadata.to_dict()
    np.testing.assert_array_equal(zarr3.Array.from_dict(a.store_path, document)[:], [1, 1, 1])
    with pytest.raises(ValueError, match="Invalid zarr_format: 1"):
        zarr3.Array.from_dict(a.store_path, {**document, "zarr_format": 1})
    other = {**document, "storage_transformers": [{"name": "x", "must_understand": False}]}
    with pytest.raises(ValueError, match="storage transformers are not supported"):
        zarr3.Array.from_dict(a.store_path, other)


@pytest.mark.parametrize("zarr_format", ["3-draft2019", "3-draft2020-10"])
def test_drafts_of_format_3_can_be_created(zarr_format: Any) -> None:
    array = zarr3.create_array({}, data=np.arange(3), zarr_format=zarr_format)
    np.testing.assert_array_equal(array[:], [0, 1, 2])
