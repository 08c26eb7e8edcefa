"""Every member of every document of the drafts, replaced by every kind of wrong value: an error of
ours or a node, never anything else; and what parses is written and parsed again."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr as zarr
from omnizarr import formats
from omnizarr.errors import MetadataError, UnsupportedError, ZarrError
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.stores import MemoryStore
from tests.formats.test_hostile import WRONG
from tests.formats.v3_drafts.test_document import BOOTSTRAPS, NAMES, SUFFIX, A, C, array_document

SHARDING = "https://purl.org/zarr/spec/storage_transformers/sharding/1.0"
ARRAYS: list[dict[str, Any]] = [
    array_document(attributes={"a": 1}),
    array_document(
        data_type={"extension": "http://x/extensions/datetime/1", "type": "<M8[s]",
                   "fallback": "<i8"},
        compressor={"codec": "https://purl.org/zarr/spec/codec/blosc/1.0",
                    "configuration": {"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}},
    ),
    array_document(
        data_type={"extension": "TODO: structured array protocol URL", "fallback": None,
                   "type": [["a", "<i4"], ["b", "|S3", [2]]]},
        fill_value=None,
    ),
    array_document(
        shape=[4, 5],
        chunk_grid={"type": "regular", "chunk_shape": [2, 2], "separator": "."},
        chunk_memory_layout="F",
        attributes={"filters": [{"id": "delta", "dtype": "<i4"}]},
        storage_transformers=[
            {"extension": SHARDING, "type": "indexed",
             "configuration": {"chunks_per_shard": [2, 1]}}
        ],
    ),
]  # fmt: skip
GROUP = {"extensions": [{"extension": "u:x", "must_understand": False}], "attributes": {"a": 1}}
WRONG_HERE = [
    *WRONG,
    "<i4",
    "..",
    "../x",
    {"extension": "u:x"},
    {"extension": "u:x", "type": "<i4", "fallback": "<i8"},
    {"extension": "u:x", "must_understand": True},
    [
        {
            "extension": SHARDING,
            "type": "indexed",
            "configuration": {"chunks_per_shard": [10**6] * 2},
        }
    ],
    {"codec": "https://purl.org/zarr/spec/codec/gzip", "configuration": 5},
    [{"id": "zlib"}],
    [{"id": "x"}],
]


def places(value: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every member of a document."""
    found = [prefix] if prefix else []
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, item in items:
        found += places(item, (*prefix, key))
    return found


def replaced(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    target = changed
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    return changed


def look(name: str, bootstrap: Any, kind: str, document: Any) -> None:
    """Find, read, write, find again."""
    store = MemoryStore()
    store["zarr.json"] = json.dumps(bootstrap).encode()
    store[f"meta/root/a{kind}{SUFFIX[name]}"] = json.dumps(document).encode()
    chosen = formats.get_format(name)
    try:
        found = formats.find(store, "a")
    except MetadataError as error:
        assert "key '" in str(error)
        return
    if found is None:
        return
    chosen, node = found
    for changed in (node, chosen.children(store, "").get("a")):
        assert type(changed) is type(node)
    if isinstance(node, GroupModel):
        store.update(chosen.documents("a", node))
        return
    try:
        array = zarr.open_array(store, path="a", mode="r")
        if array.size < 1000 and array.nbytes < 10**6:
            array[...]
    except (ZarrError, MemoryError):
        pass
    try:
        documents = chosen.documents("a", node)
    except UnsupportedError:
        return  # an attribute, or a codec, that the layout reads but does not write
    store.update(documents)
    again = formats.find(store, "a")
    assert again is not None
    assert isinstance(again[1], ArrayModel)
    for fact in ("shape", "data_type", "grid", "codecs", "order", "attributes", "keys"):
        assert getattr(again[1], fact) == getattr(node, fact) or _nan(getattr(node, fact)), fact


def _nan(value: Any) -> bool:
    return "nan" in repr(value)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", range(len(ARRAYS)))
def test_array_documents(name: str, number: int) -> None:
    good = ARRAYS[number]
    look(name, BOOTSTRAPS[name], ".array", good)
    for place in places(good):
        for value in WRONG_HERE:
            look(name, BOOTSTRAPS[name], ".array", replaced(good, place, value))


@pytest.mark.parametrize("name", NAMES)
def test_group_documents(name: str) -> None:
    for place in places(GROUP):
        for value in WRONG_HERE:
            look(name, BOOTSTRAPS[name], ".group", replaced(GROUP, place, value))


@pytest.mark.parametrize("name", NAMES)
def test_bootstraps(name: str) -> None:
    good = {
        **BOOTSTRAPS[name],
        "extensions": [{"extension": "u:x", "must_understand": False, "configuration": {}}],
    }
    for place in places(good):
        for value in WRONG_HERE:
            look(name, replaced(good, place, value), ".array", ARRAYS[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"5", b'{"a": 1, "a": 2}', b"\xff\xfe"])
@pytest.mark.parametrize("kind", [".array", ".group"])
def test_documents_that_are_none(name: str, data: bytes, kind: str) -> None:
    store = MemoryStore()
    store["zarr.json"] = json.dumps(BOOTSTRAPS[name]).encode()
    key = f"meta/root/a{kind}{SUFFIX[name]}"
    store[key] = data
    with pytest.raises(MetadataError, match=key.replace(".", r"\.")):
        zarr.open(store, path="a", mode="r")
    with pytest.raises(MetadataError, match=key.replace(".", r"\.")):
        zarr.open_group(store, mode="r").members()


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=60)
def test_text_that_was_changed(name: str, data: st.DataObject) -> None:
    """One byte of a document replaced by another one."""
    text = bytearray(json.dumps(data.draw(st.sampled_from(ARRAYS))).encode())
    text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    store = MemoryStore()
    store["zarr.json"] = json.dumps(BOOTSTRAPS[name]).encode()
    store[f"meta/root/a.array{SUFFIX[name]}"] = bytes(text)
    with suppress(ZarrError):
        assert zarr.open_array(store, path="a", mode="r").ndim < 3


@pytest.mark.parametrize("key", ["...array", "....array", ".array", "C:.array", "x\u00e9.array"])
def test_strange_names_are_read_or_passed_over(key: str) -> None:
    store = MemoryStore()
    store["zarr.json"] = json.dumps(BOOTSTRAPS[A]).encode()
    store[f"meta/root/{key}"] = json.dumps(ARRAYS[0]).encode()
    for name, node in zarr.open_group(store, mode="r").members():
        assert name not in ("", ".", "..", "C:")
        assert isinstance(node, zarr.Array)


def test_shards_that_are_broken() -> None:
    store = MemoryStore()
    array = zarr.create_array(
        store, name="a", data=np.arange(12, dtype="<i4"), chunks=2, shards=6, zarr_format=C
    )
    whole = store["data/root/a/c0"]
    for broken in (b"", whole[:10], whole[1:], whole[:-1], whole[:-8] + b"\xff" * 7 + b"\0"):
        store["data/root/a/c0"] = broken
        with pytest.raises(zarr.errors.DecodeError, match="data/root/a/c0"):
            array[...]
