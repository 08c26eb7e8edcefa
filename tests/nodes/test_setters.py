"""What can be assigned to an array, views with other facts, and names of zarr-python 2."""

from __future__ import annotations

import inspect
import pickle
import typing
from contextlib import suppress
from typing import Any

import numcodecs
import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import DecodeError, MetadataError, ReadOnlyError, UnsupportedError

FORMATS = [0, 1, 2, 3, "3-draft2019", "3-draft2020-10"]


@pytest.mark.parametrize("version", [*FORMATS, "n5"])
def test_assigning_a_shape_resizes(version: Any) -> None:
    array = zarr.create_array({}, shape=(4, 4), chunks=2, dtype="i4", zarr_format=version)
    array[:] = 1
    array.shape = (2, 6)
    assert zarr.open_array(array.store).shape == array.shape == (2, 6)
    assert array[0].tolist() == [1, 1, 1, 1, 0, 0]
    with pytest.raises(MetadataError):
        array.shape = (2, 6, 1)


@pytest.mark.parametrize("version", FORMATS)
def test_assigning_a_fill_value_stores_it(version: Any) -> None:
    array = zarr.create_array({}, shape=4, chunks=2, dtype="f8", zarr_format=version)
    array[0] = 1
    array.fill_value = 2.5
    for handle in (array, zarr.open_array(array.store)):
        assert handle.fill_value == 2.5
        assert handle[:].tolist() == [1, 0, 2.5, 2.5]
    with pytest.raises(MetadataError, match="fill"):
        array.fill_value = "text"
    array.read_only = True
    with pytest.raises(ReadOnlyError):
        array.fill_value = 1
    with pytest.raises(ReadOnlyError):
        zarr.array(["a"], dtype=str).as_binary().fill_value = b"b"
    assert zarr.open_array(array.store).fill_value == 2.5


def test_a_format_without_fill_values_refuses_one() -> None:
    array = zarr.create_array({}, shape=4, dtype="f8", zarr_format="n5")
    with pytest.raises(UnsupportedError, match="no fill value"):
        array.fill_value = 1


def test_no_fill_value_is_one_of_format_2() -> None:
    array = zarr.create_array({}, shape=2, dtype="i4", fill_value=7, zarr_format=2)
    array.fill_value = None
    assert zarr.open_array(array.store).fill_value is None


def test_read_only_can_be_assigned() -> None:
    array = zarr.zeros(3)
    array.read_only = True
    with pytest.raises(ReadOnlyError):
        array[0] = 1
    assert not zarr.open_array(array.store).read_only, "only this handle"
    array.read_only = False
    array[0] = 1
    refused = zarr.open_array(zarr.ReadOnlyStore(array.store))
    with pytest.raises(ReadOnlyError):
        refused.read_only = False
    assert refused.read_only


# -- views ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", [2, 3])
def test_a_view_shows_the_same_chunks_with_other_facts(version: Any) -> None:
    array = zarr.array(np.arange(10, dtype="u2"), chunks=5, zarr_format=version)
    view = array.view(shape=20, chunks=10, dtype="u1")
    assert view.is_view and not array.is_view
    assert view[:].tobytes() == array[:].tobytes()
    view[0] = 7
    assert array[0] == 7
    view.attrs["a"] = 1
    assert view.dtype == np.uint8 and view.shape == (20,), "also after a change of the metadata"
    assert dict(zarr.open_array(array.store).attrs) == {"a": 1}
    view.refresh()
    copied = pickle.loads(pickle.dumps(view))
    assert copied.is_view and copied[:].tobytes() == array[:].tobytes()


def test_a_view_without_filters_shows_what_they_made() -> None:
    words = np.array(["male", "female", "male"])
    codec = numcodecs.Categorize(labels=["female", "male"], dtype=words.dtype, astype="u1")
    array = zarr.array(words, filters=[codec], zarr_format=2)
    assert array.view(dtype="u1", filters=[])[:].tolist() == [2, 1, 2]
    delta = zarr.array(np.arange(5), filters=[numcodecs.Delta("i8")], zarr_format=2)
    assert delta.view(filters=[])[:].tolist() == [0, 1, 1, 1, 1]


def test_a_view_has_settings_of_its_own() -> None:
    array = zarr.full(4, fill_value=-1, dtype="i1")
    view = array.view(fill_value=42, read_only=True)
    assert view[:].tolist() == [42] * 4 and array[:].tolist() == [-1] * 4
    assert view.view(dtype="u1").fill_value == 42, "a view of a view keeps its facts"
    assert array.view(dtype="M8[s]").fill_value is not None
    with pytest.raises(ReadOnlyError):
        view[0] = 1
    assert view.meta_array.shape == zarr.group().meta_array.shape == ()


def test_a_view_that_cannot_be_is_refused() -> None:
    array = zarr.array(np.arange(10, dtype="u2"), chunks=5)
    with pytest.raises(MetadataError, match="as many dimensions"):
        array.view(shape=(1, 10), chunks=(1, 5))
    with pytest.raises(DecodeError):
        array.view(chunks=2)[:]
    view = array.view()
    for change in (
        lambda: view.resize(3),
        lambda: view.append([1]),
        lambda: setattr(view, "shape", 3),
        lambda: setattr(view, "fill_value", 3),
    ):
        with pytest.raises(PermissionError, match="a view cannot"):
            change()
    assert array.shape == (10,)


# -- attributes and names for the TAB key ---------------------------------------------------------
@pytest.mark.parametrize(
    ("version", "key"), [(2, "g/.zattrs"), (3, "g/zarr.json"), ("n5", "g/attributes.json")]
)
def test_attributes_know_their_document_and_can_be_read_again(version: Any, key: str) -> None:
    root = zarr.create_group({}, zarr_format=version)
    for make in (root.create_group, lambda name: root.create_array(name, shape=2, overwrite=True)):
        node: Any = make("g")
        assert node.attrs.key == key
        other = zarr.open(root.store, path="g", mode="r+")
        other.attrs["x"] = 1
        node.attrs.refresh()
        assert node.attrs["x"] == 1
        assert node.attrs._ipython_key_completions_() == ["x"]


def test_tab_offers_names_without_reading_documents() -> None:
    from omnizarr.testing import CountingStore

    store = CountingStore(zarr.MemoryStore())
    root = zarr.create_group(store)
    for name in ("b", "a", "not-a-name"):
        root.create_group(name)
    store.reset()
    assert root._ipython_key_completions_() == ["a", "b", "not-a-name"]
    names = dir(root)
    assert {"a", "b"} <= set(names) and "not-a-name" not in names
    assert dict(store.counts) == {"list_dir": 2}
    records = zarr.zeros(2, dtype=[("x", "i4"), ("y", "f4")])
    assert records._ipython_key_completions_() == ["x", "y"]
    assert records.fields._ipython_key_completions_() == ["x", "y"]
    assert zarr.zeros(2)._ipython_key_completions_() == []


def test_no_property_is_a_literal() -> None:
    """jedi, which completes names in IPython, fails on a property that returns a Literal: the TAB
    key would offer no name at all."""
    array = zarr.zeros(2)
    for node in (array, zarr.group(), array.metadata, array.attrs, array.lazy[:], array.store):
        for name, item in inspect.getmembers_static(type(node)):
            if isinstance(item, property):
                with suppress(NameError):
                    kind = typing.get_type_hints(item.fget).get("return")
                    assert typing.get_origin(kind) is not typing.Literal, name
