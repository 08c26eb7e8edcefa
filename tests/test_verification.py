"""`verify` decodes every stored chunk, lists what is bad, and goes on."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import NodeNotFoundError, StoreError

VALUES = np.arange(100.0).reshape(10, 10)


def flip(store: Any, key: str, place: int = 20) -> None:
    data = bytearray(store.get(key))
    data[place] ^= 1
    store.set(key, bytes(data))


@pytest.mark.parametrize("zarr_format", [0, 1, 2, 3, "3-draft2019", "3-draft2020-10", "n5"])
def test_sound_arrays_of_every_format(zarr_format: int | str) -> None:
    store = zarr.MemoryStore()
    zarr.create_array(store, data=VALUES, chunks=(4, 4), zarr_format=zarr_format)
    report = zarr.verify(store)
    assert report.ok and report.chunks == 9 and report.arrays == 1 and report.nbytes > 0
    assert not report.unusual


def test_bad_chunks_are_listed_and_the_rest_is_decoded() -> None:
    store = zarr.MemoryStore()
    root = zarr.open_group(store, mode="w")
    root.create_array("a", data=VALUES, chunks=(5, 5))
    root.create_array("b/c", data=VALUES, chunks=(2, 2), shards=(4, 4))
    flip(store, "a/c/0/1")
    store.set("a/c/1/1", b"")
    flip(store, "b/c/c/1/0")
    store.set("b/c/c/2/2", store.get("b/c/c/2/2")[:-1])
    store.set("broken/zarr.json", b"{")
    report = zarr.verify(store)
    assert not report.ok
    assert [(bad.path, bad.coordinates, bad.inner, bad.key) for bad in report.bad_chunks] == [
        ("a", (0, 1), None, "a/c/0/1"),
        ("a", (1, 1), None, "a/c/1/1"),
        ("b/c", (1, 0), (0, 0), "b/c/c/1/0"),
        ("b/c", (2, 2), None, "b/c/c/2/2"),
    ]
    assert [bad.path for bad in report.bad_nodes] == ["broken"]
    assert report.chunks == 13 and report.arrays == 2
    text = str(report)
    assert "/a\n" in text and "chunk (0, 1), key 'a/c/0/1': codec" in text
    assert "4 bad chunks, 1 unreadable node" in text and "damaged" in repr(report)
    document = json.loads(json.dumps(report.to_dict()))
    assert document["bad_chunks"][2]["inner"] == [0, 0] and document["ok"] is False


def test_a_part_of_the_store_and_nodes() -> None:
    store = zarr.MemoryStore()
    root = zarr.open_group(store, mode="w")
    root.create_array("a", data=VALUES, chunks=(5, 5))
    sound = root.create_array("b/c", data=VALUES, chunks=(5, 5))
    flip(store, "a/c/0/0")
    assert zarr.verify(store, "b").ok and zarr.verify(sound).ok and zarr.verify(root["b"]).ok
    assert not zarr.verify(root).ok
    with pytest.raises(NodeNotFoundError):
        zarr.verify(store, "nothing")
    with pytest.raises(TypeError):
        zarr.verify(store, nonsense=True)  # type: ignore[call-arg]


def test_unknown_codecs_are_listed() -> None:
    store = zarr.MemoryStore()
    zarr.create_array(store, name="a", data=VALUES, chunks=(5, 5))
    document = json.loads(store["a/zarr.json"])
    document["codecs"].append({"name": "nobody.knows", "configuration": {}})
    store["a/zarr.json"] = json.dumps(document).encode()
    report = zarr.verify(store)
    assert [bad.path for bad in report.bad_nodes] == ["a"] and "nobody.knows" in str(report)


def test_a_chunk_that_the_store_cannot_read_is_bad() -> None:
    store = zarr.MemoryStore()
    zarr.create_array(store, name="a", data=VALUES, chunks=(5, 5))

    class Failing(zarr.stores.WrapperStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            if key == "a/c/1/0":
                raise StoreError("bad sector")
            return super().get(key, byte_range)

    report = zarr.verify(Failing(store))
    assert [(bad.key, bad.error) for bad in report.bad_chunks] == [("a/c/1/0", "bad sector")]


def test_large_shards_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnizarr.engine.examine.MERGED", 1)
    store = zarr.MemoryStore()
    zarr.create_array(store, name="a", data=VALUES, chunks=(2, 2), shards=(10, 10))
    assert zarr.verify(store).ok
    flip(store, "a/c/0/0")
    assert [bad.inner for bad in zarr.verify(store).bad_chunks] == [(0, 0)]


def test_progress_and_executors() -> None:
    store = zarr.MemoryStore()
    zarr.create_array(store, data=VALUES + 1, chunks=(1, 1))
    seen: list[Any] = []
    report = zarr.verify(store, progress=seen.append, workers=2)
    assert report.chunks == 100 and seen[-1].done == seen[-1].total == 100
    with ThreadPoolExecutor(2) as pool:
        assert zarr.verify(store, executor=pool).chunks == 100


def test_without_listings_every_chunk_is_asked_for() -> None:
    store = zarr.MemoryStore()
    root = zarr.open_group(store, mode="w")
    array = root.create_array("a", shape=(10, 10), dtype="i4", chunks=(5, 5))
    array[:5] = 1
    zarr.consolidate_metadata(store)
    flip(store, "a/c/0/1")

    class Unlisted(zarr.stores.WrapperStore):
        def __init__(self, inner: Any) -> None:
            super().__init__(inner)
            from dataclasses import replace

            self.capabilities = replace(inner.capabilities, listable=False)

        def list_prefix(self, prefix: str) -> Any:
            raise zarr.errors.NotListableError("no listing")

        def list_dir(self, prefix: str) -> Any:
            raise zarr.errors.NotListableError("no listing")

    report = zarr.verify(Unlisted(store))
    assert report.chunks == 2 and [bad.coordinates for bad in report.bad_chunks] == [(0, 1)]


def test_forms_that_other_readers_refuse_are_mentioned(tmp_path: Path) -> None:
    import zlib

    array = zarr.create_array(tmp_path / "x", data=np.arange(8), chunks=4, compressors="gzip")
    key = tmp_path / "x" / "c" / "1"
    key.write_bytes(zlib.compress(np.arange(4, 8).tobytes()))
    report = zarr.verify(array)
    assert report.ok and [(one.count, one.key) for one in report.unusual] == [(1, "c/1")]
    assert "other readers" in str(report)
