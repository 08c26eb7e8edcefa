"""Metadata from the one document that repeats it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import MetadataError, NodeNotFoundError, NotListableError, ReadOnlyError
from omnizarr.model.store import Capabilities
from omnizarr.stores import (
    ConsolidatedMetadataStore,
    ConsolidatedStore,
    Listing,
    MemoryStore,
    Store,
    WrapperStore,
)
from omnizarr.testing import CountingStore, ReadingSuite
from omnizarr.testing.store_cases import some


class Unlistable(WrapperStore):
    """As a web server is."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.capabilities = Capabilities(listable=False)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        raise NotListableError("cannot list")

    def list_dir(self, prefix: str) -> Listing:
        raise NotListableError("cannot list")


class TestConsolidatedStore(ReadingSuite):
    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        documents: dict[str, Any] = {}
        others = dict(values)
        if values.get("zarr.json") == b"{}":
            documents["zarr.json"] = json.loads(others.pop("zarr.json"))
            others["old/.zarray"] = b"outdated"  # in the store, and not in the document
        document = {"zarr_consolidated_format": 1, "metadata": documents}
        return ConsolidatedStore(
            MemoryStore({**others, ".zmetadata": json.dumps(document).encode()})
        )

    valid_keys = tuple(
        key for key in ReadingSuite.valid_keys if key not in ("zarr.json", ".zarray")
    )


@pytest.fixture(params=[2, 3])
def written(request: pytest.FixtureRequest) -> MemoryStore:
    store = MemoryStore()
    root = omnizarr.create_group(store, zarr_format=request.param, attributes={"title": "x"})
    root.create_group("empty")
    inner = root.create_group("g/h", attributes={"deep": True})
    for group in (root, inner):
        group.create_array("a", shape=(4, 4), chunks=(2, 2), dtype="i4")[...] = np.arange(
            16
        ).reshape(4, 4)
    omnizarr.consolidate_metadata(store)
    return store


def test_browsing_a_store_that_cannot_list(written: MemoryStore) -> None:
    inner = CountingStore(Unlistable(written))
    store = ConsolidatedStore(inner)
    inner.reset()
    root = omnizarr.open_group(store, mode="r", use_consolidated=False)
    assert dict(root.attrs) == {"title": "x"}
    assert sorted(root) == ["a", "empty", "g"]
    assert list(root["empty"]) == []
    assert sorted(root["g/h"]) == ["a"]
    assert root["g/h"].attrs["deep"] is True
    asked = {key for keys in inner.asked.values() for key in keys}
    assert not {key for key in asked if key.rpartition("/")[2] in (".zarray", ".zgroup", ".zattrs")}
    np.testing.assert_array_equal(root["g/h/a"][1:3], np.arange(16).reshape(4, 4)[1:3])
    assert "missing" not in root
    for prefix in ("a/", "g/h/a/", "nothing/"):
        with pytest.raises(NotListableError, match="cannot be listed"):
            store.list_dir(prefix)
    with pytest.raises(NotListableError):
        store.list()
    with pytest.raises(NotListableError):
        store.list_prefix("g/")


def test_listing_where_the_store_can(written: MemoryStore) -> None:
    store = ConsolidatedStore(written)
    expected = [key for key in written.list() if key != ".zmetadata"]
    assert list(store.list()) == expected
    assert list(store.list_prefix("g/")) == [key for key in expected if key.startswith("g/")]
    for prefix in ("", "g/", "g/h/", "a/", "nothing/"):
        assert store.list_dir(prefix) == MemoryStore(dict.fromkeys(expected, b"")).list_dir(prefix)


def test_the_document_decides(written: MemoryStore) -> None:
    store = ConsolidatedStore(written)
    omnizarr.create_array(written, name="later", shape=3, dtype="i4", zarr_format=_format(written))
    written.delete_prefix("empty/")
    root = omnizarr.open_group(store, mode="r", use_consolidated=False)
    assert sorted(root) == ["a", "empty", "g"]
    assert "later" not in root
    assert store.list_dir("").prefixes == ["a/", "empty/", "g/"]
    assert sorted(omnizarr.open_group(ConsolidatedStore(written), mode="r")) == ["a", "empty", "g"]


def _format(store: Store) -> int:
    return 2 if store.exists(".zmetadata") else 3


def test_chunks_can_be_written_and_metadata_cannot(written: MemoryStore) -> None:
    store = ConsolidatedStore(written)
    array = omnizarr.open_array(store, path="a", mode="r+")
    array[0, 0] = 100
    assert omnizarr.open_array(written, path="a", mode="r")[0, 0] == 100
    before = dict(written.items())
    document = store.key
    for change in (
        lambda: store.set(document, b"{}"),
        lambda: store.set("a/.zarray", b"{}"),
        lambda: store.set("new/zarr.json", b"{}"),
        lambda: store.set_if_absent("new/zarr.json", b"{}"),
        lambda: store.set_if_version("a/zarr.json", b"{}", None),
        lambda: store.delete("a/zarr.json"),
        lambda: store.delete_prefix(""),
        lambda: store.delete_prefix("g/"),
        lambda: store.move_prefix("g/", "i/"),
        lambda: array.resize((8, 8)),
        lambda: array.attrs.update({"x": 1}),
    ):
        with pytest.raises(ReadOnlyError, match="consolidate"):
            change()
    assert dict(written.items()) == before
    store.set("readme", b"text")
    store.delete("readme")
    store.delete_prefix("readmes/")


def test_a_document_below_the_root() -> None:
    document = {"metadata": {".zgroup": {"zarr_format": 2}, "b/.zgroup": {"zarr_format": 2}}}
    plain = MemoryStore({"a/.zmetadata": json.dumps(document).encode(), ".zgroup": b"root"})
    store = ConsolidatedStore(plain, "a/.zmetadata")
    assert some(store.get(".zgroup")) == b"root"
    assert list(store.list()) == [".zgroup", "a/.zgroup", "a/b/.zgroup"]
    assert store.size("a/b/.zgroup") == len(some(store.get("a/b/.zgroup")))
    assert store.version("a/b/.zgroup") is not None and store.version("a/c/.zgroup") is None


def test_groups_that_repeat_what_lies_below_them() -> None:
    array = {"zarr_format": 3, "node_type": "array", "shape": [3]}
    inner = {"node_type": "group", "consolidated_metadata": {"metadata": {"x": array}}}
    other = {**array, "shape": [9]}
    document = {"consolidated_metadata": {"metadata": {"g": inner, "g/x": other, "../e": array}}}
    store = ConsolidatedStore(MemoryStore({"zarr.json": json.dumps(document).encode()}))
    assert list(store.list()) == ["g/x/zarr.json", "g/zarr.json", "zarr.json"]
    assert json.loads(some(store.get("g/x/zarr.json")))["shape"] == [9], "the outer one was asked"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"metadata": 3}', '{"metadata": {"a": ', '{"metadata": []}']
)
def test_broken_documents(text: str) -> None:
    plain = MemoryStore({".zmetadata": text.encode()})
    with pytest.raises(MetadataError):
        ConsolidatedStore(plain, ".zmetadata")
    with pytest.raises((MetadataError, NodeNotFoundError)):
        ConsolidatedStore(plain)


def test_no_document() -> None:
    with pytest.raises(NodeNotFoundError, match="consolidate_metadata"):
        ConsolidatedStore(MemoryStore())
    with pytest.raises(NodeNotFoundError, match=r"other"):
        ConsolidatedStore(MemoryStore(), "other")


def test_the_old_name() -> None:
    plain = {".zmetadata": b'{"metadata": {".zgroup": {"zarr_format": 2}}}', "chunk": b"1"}
    store = ConsolidatedMetadataStore(plain)
    assert json.loads(store[".zgroup"]) == {"zarr_format": 2}
    assert store["chunk"] == b"1"
    with pytest.raises(NodeNotFoundError):
        ConsolidatedMetadataStore(plain, metadata_key="elsewhere")


def test_a_path_is_a_store(tmp_path: Path) -> None:
    root = omnizarr.create_group(tmp_path)
    root.create_array("a", shape=3, dtype="i4")
    omnizarr.consolidate_metadata(tmp_path)
    assert list(omnizarr.open_group(ConsolidatedStore(str(tmp_path)), mode="r")) == ["a"]
