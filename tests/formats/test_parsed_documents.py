"""Documents are parsed once, and nothing shows but the time it takes."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import limits
from omnizarr.errors import LimitError, MetadataError
from omnizarr.formats import parsed_documents
from omnizarr.model.dtypes import plugins
from omnizarr.model.dtypes.numeric import Float
from omnizarr.stores import MemoryStore

FORMATS = (2, 3)


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    parsed_documents._known.clear()
    yield
    parsed_documents._known.clear()


def stored(zarr_format: int, **arguments: Any) -> MemoryStore:
    store = MemoryStore()
    given = {"shape": (10,), "chunks": (5,), "dtype": "i4", **arguments}
    omnizarr.create_array(store, zarr_format=zarr_format, **given)
    return store


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_one_model_and_one_chain_for_the_same_documents(zarr_format: int) -> None:
    one, two = (omnizarr.open_array(stored(zarr_format)) for _ in range(2))
    assert one._stored is two._stored
    assert "_source" not in vars(two)  # the codecs of the same facts were checked before
    assert one._source.regular_chain is two._source.regular_chain
    other = omnizarr.open_array(stored(zarr_format, attributes={"a": 1}))
    assert other._stored is not one._stored
    group = omnizarr.open_group(omnizarr.group(path="g", zarr_format=zarr_format).store, path="g")
    assert omnizarr.open_group(group.store, path="g")._stored is group._stored


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_members_come_from_the_same_models(zarr_format: int) -> None:
    root = omnizarr.group(zarr_format=zarr_format)
    for name in "abc":
        root.create_array(name, shape=3, dtype="i4")
    models = [member._stored for _, member in root.members()]
    assert models[0] is models[1] is models[2] is root["b"]._stored


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_no_handle_changes_what_another_one_sees(zarr_format: int) -> None:
    attributes = {"list": [1, 2], "nested": {"a": [1]}}
    store = stored(zarr_format, attributes=attributes)
    one, two = omnizarr.open_array(store), omnizarr.open_array(store)
    assert one._stored is two._stored
    for shown in (
        one.attrs["list"],
        one.attrs.asdict()["nested"]["a"],
        one.metadata.attributes["list"],
        one.metadata.to_dict()["attributes"]["list"],
        one.metadata.shape if isinstance(one.metadata.shape, list) else [],
    ):
        shown.append("changed")
    assert two.attrs.asdict() == attributes == two.metadata.attributes
    assert two.metadata.to_dict()["attributes"] == attributes
    one.attrs["new"] = 1
    one.resize(20)
    assert two.shape == (10,) and "new" not in two.attrs
    assert omnizarr.open_array(store).shape == (20,)


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_a_fill_value_that_can_be_changed_is_not_shared(zarr_format: int) -> None:
    store = stored(zarr_format, dtype=[("x", "i4"), ("y", "f8")])
    one, two = omnizarr.open_array(store), omnizarr.open_array(store)
    with suppress(ValueError):  # read-only in format 2
        one.fill_value["x"] = 7
    assert two.fill_value["x"] == 0 == omnizarr.open_array(store).fill_value["x"]
    assert two[0]["x"] == 0


def test_other_limits_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    store = stored(3, shape=(4, 4), chunks=(2, 2))
    omnizarr.open_array(store)
    with limits.override(max_dimensions=1), pytest.raises(MetadataError, match="max_dimensions"):
        omnizarr.open_array(store)
    with limits.override(max_document_bytes=10), pytest.raises(MetadataError, match="allows 10"):
        omnizarr.open_array(store)
    with limits.override(max_chunk_bytes=8):
        small = omnizarr.open_array(store)
        with pytest.raises(LimitError):
            small[0, 0]
    assert omnizarr.open_array(store)[0, 0] == 0


def test_a_data_type_that_is_registered_later_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    store = stored(3, dtype="f8")
    document = json.loads(store["zarr.json"])
    document["data_type"] = {"name": "test.later", "configuration": {}, "fallback": "float64"}
    store["zarr.json"] = json.dumps(document).encode()
    assert omnizarr.open_array(store).data_type.name == "float64"

    class Later(Float):
        name = "test.later"

        @classmethod
        def from_configuration(cls, configuration: Any) -> Later:
            return cls(np.dtype("f8"))

    monkeypatch.setattr(plugins, "_registered", {})
    plugins.register("test.later", Later)
    assert omnizarr.open_array(store).data_type.name == "test.later"


def test_a_codec_that_is_registered_later_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    from omnizarr.codecs import GzipCodec, registry

    class Other(GzipCodec):
        def prepare(self, stage: Any) -> Any:
            raise MetadataError("another codec")

    store = stored(3, compressors="gzip")
    omnizarr.open_array(store)
    monkeypatch.setattr(registry, "_registered", {})
    omnizarr.codecs.register_codec("gzip", Other)
    with pytest.raises(MetadataError, match="another codec"):
        omnizarr.open_array(store)
    monkeypatch.undo()
    assert omnizarr.open_array(store)[0] == 0


@pytest.mark.parametrize("shards", [None, (10,)])
def test_codecs_of_other_packages_are_looked_up_each_time(shards: Any) -> None:
    from numcodecs import Zlib
    from numcodecs.registry import codec_registry, register_codec

    class First(Zlib):  # type: ignore[misc]  # numcodecs has no types
        codec_id = "test_twice"

    class Second(First):
        def decode(self, buf: Any, out: Any = None) -> Any:
            raise RuntimeError("the second class")

    register_codec(First)
    try:
        codec = {"name": "numcodecs.test_twice", "configuration": {"level": 1}}
        store = stored(3, compressors=[codec], shards=shards)
        omnizarr.open_array(store)[:] = np.arange(10)
        assert omnizarr.open_array(store)[3] == 3
        register_codec(Second)
        with pytest.raises(Exception, match="the second class"):
            omnizarr.open_array(store)[3]
    finally:
        del codec_registry["test_twice"]


def test_errors_name_their_own_key() -> None:
    store = MemoryStore({"a/zarr.json": b"{", "b/zarr.json": b"{"})
    for path in "abab":
        with pytest.raises(MetadataError, match=f"key '{path}/zarr.json'"):
            omnizarr.open(store, "r", path=path)


def test_the_number_and_the_size_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    stores = [stored(3, attributes={"number": number}) for number in range(5)]
    size = len(stores[0]["zarr.json"])
    monkeypatch.setattr(parsed_documents, "MOST_BYTES", 3 * size)
    for store in (*stores, *stores):
        assert omnizarr.open_array(store).attrs["number"] == stores.index(store)
        assert 0 < len(parsed_documents._known) <= 3
        assert parsed_documents._known.size == size * len(parsed_documents._known)
    parsed_documents._known.clear()
    omnizarr.open_array(stored(3, attributes={"text": "x" * parsed_documents.LARGEST_BYTES}))
    assert not parsed_documents._known


def test_members_that_would_displace_one_another_are_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = omnizarr.group()
    for name in "abc":
        root.create_array(name, shape=3, dtype="i4")
    parsed_documents._known.clear()
    size = sum(len(root.store[f"{name}/zarr.json"]) for name in "abc")
    monkeypatch.setattr("omnizarr.formats.hierarchy.MOST_BYTES", 2 * size - 2)
    assert len(root.members()) == 3 and not parsed_documents._known
    monkeypatch.setattr("omnizarr.formats.hierarchy.MOST_BYTES", 2 * size)
    assert len(root.members()) == 3 and parsed_documents._known


def test_a_model_pickles_without_what_was_derived() -> None:
    array = omnizarr.open_array(stored(3))
    assert array._stored.derived
    again = pickle.loads(pickle.dumps(array._stored))
    assert again.derived == {} and again.shape == (10,)
