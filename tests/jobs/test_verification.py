"""`verify` decodes every stored chunk, lists what is bad, and goes on."""

from __future__ import annotations

import json
import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr import limits
from omnizarr.errors import NodeNotFoundError, NotListableError, StoreClosedError, StoreError

VALUES = np.arange(100.0).reshape(10, 10)


def flip(store: Any, key: str, place: int = 20) -> None:
    data = bytearray(store.get(key))
    data[place] ^= 1
    store.set(key, bytes(data))


class Unlisted(zarr.stores.WrapperStore):
    """A store without listings, as a web server is."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.capabilities = replace(inner.capabilities, listable=False)

    def list_prefix(self, prefix: str) -> Any:
        raise NotListableError("no listing")

    def list_dir(self, prefix: str) -> Any:
        raise NotListableError("no listing")


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
    document["codecs"].append({"name": "unknown.codec", "configuration": {}})
    store["a/zarr.json"] = json.dumps(document).encode()
    report = zarr.verify(store)
    assert [bad.path for bad in report.bad_nodes] == ["a"] and "unknown.codec" in str(report)


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
    monkeypatch.setattr("omnizarr.engine.examination.MERGED", 1)
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


def test_a_huge_grid_without_listings_is_not_asked_for() -> None:
    store = zarr.MemoryStore()
    root = zarr.open_group(store, mode="w")
    root.create_array("big", shape=10**18, dtype="u1", chunks=1)[0] = 1
    root.create_array("small", data=[1, 2, 3], chunks=1)
    zarr.consolidate_metadata(store)
    report = zarr.verify(Unlisted(store))
    assert not report.ok and not report.damaged and report.arrays == 1 and report.chunks == 3
    assert [one.path for one in report.not_verified] == ["big"]
    assert "limits.max_requested_chunks" in str(report) and "1 node not verified" in str(report)
    assert report.to_dict()["not_verified"][0]["path"] == "big"
    assert zarr.verify(store).chunks == 4
    with limits.override(max_requested_chunks=2):
        assert [one.path for one in zarr.verify(Unlisted(store)).not_verified] == ["big", "small"]


def test_a_grid_without_listings_is_counted_not_held() -> None:
    import tracemalloc

    store = zarr.MemoryStore()
    zarr.create_array(store, shape=10**7, dtype="u1", chunks=1)

    class Enough(Exception):
        pass

    def stop(progress: Any) -> None:
        raise Enough

    tracemalloc.start()
    try:
        with pytest.raises(Enough):  # an error of the caller's own function is never a finding
            zarr.verify(Unlisted(store), progress=stop)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_group_that_cannot_be_listed_is_not_damaged() -> None:
    store = zarr.MemoryStore()
    zarr.create_array(store, name="b/c/d", data=VALUES, chunks=(5, 5))
    report = zarr.verify(Unlisted(store))
    assert not report.ok and not report.damaged and not report.bad_nodes
    assert "not verified" in repr(report) and "consolidated" in str(report)
    zarr.consolidate_metadata(store)
    report = zarr.verify(Unlisted(store))  # the root's consolidated metadata name all members
    assert report.ok and report.arrays == 1 and report.chunks == 4


def test_other_spellings_of_a_key_are_asked_for_too() -> None:
    store = zarr.MemoryStore()
    zarr.create_array(store, data=VALUES, chunks=(5, 5), zarr_format=2)
    store["1/1"] = store["1.1"][:-1]
    del store["1.1"]
    found = [zarr.verify(one).bad_chunks for one in (store, Unlisted(store))]
    assert found[0] == found[1] and [bad.key for bad in found[0]] == ["1/1"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and pipes")
def test_an_odd_entry_hides_nothing_beside_it(tmp_path: Path) -> None:
    root = zarr.open_group(tmp_path / "x", mode="w")
    root.create_array("a", data=VALUES, chunks=(5, 5))
    root.create_array("z", data=VALUES, chunks=(5, 5))
    (tmp_path / "x/loop").symlink_to(".")
    (tmp_path / "x/out").symlink_to(tmp_path)
    chunk = tmp_path / "x/a/c/0/0"
    chunk.unlink()
    os.mkfifo(chunk)
    chunk = tmp_path / "x/z/c/0/0"
    chunk.unlink()
    chunk.symlink_to(tmp_path / "x/z/c/0/1")
    report = zarr.verify(tmp_path / "x")
    assert report.arrays == 2 and report.chunks == 8
    assert [bad.key for bad in report.bad_chunks] == ["a/c/0/0", "z/c/0/0"]
    assert [bad.path for bad in report.bad_nodes] == ["loop", "out"]
    assert "own parent" in str(report) and "outside the store" in str(report)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_an_array_whose_listing_fails_is_asked_for_every_chunk(tmp_path: Path) -> None:
    array = zarr.create_array(tmp_path / "x", data=VALUES, chunks=(5, 5))
    (tmp_path / "x/up").symlink_to(".")
    report = zarr.verify(array)
    assert report.chunks == 4 and not report.bad_chunks
    assert [bad.path for bad in report.bad_nodes] == [""] and "own parent" in str(report)
    with limits.override(max_requested_chunks=3):
        report = zarr.verify(array)
    assert (
        report.damaged and report.chunks == 0 and [one.path for one in report.not_verified] == [""]
    )


def test_a_damaged_name_in_an_archive_is_one_bad_chunk(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zarr.ZipStore(path, mode="w") as store:
        zarr.create_array(store, name="a", data=np.arange(1, 10), chunks=1)
    data = path.read_bytes()
    at = data.rindex(b"a/c/5")
    path.write_bytes(data[:at] + b"a/c/\xff" + data[at + 5 :])
    assert zipfile.is_zipfile(path)
    report = zarr.verify(path)
    assert report.chunks == 9 and [bad.key for bad in report.bad_chunks] == ["a/c/5"]


def test_an_unexpected_error_is_a_finding_of_its_node() -> None:
    store = zarr.MemoryStore()
    for name in ("a", "b", "c"):
        zarr.create_array(store, name=name, data=VALUES, chunks=(5, 5))

    class Failing(zarr.stores.WrapperStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            if key == "a/c/0/0":
                raise RuntimeError("no words")
            return super().get(key, byte_range)

        def get_many(self, requests: Any) -> Any:
            if any(key.startswith("b/") for key, _ in requests):
                raise RuntimeError("nothing to say")
            return super().get_many(requests)

    report = zarr.verify(Failing(store))
    assert [bad.key for bad in report.bad_chunks] == ["a/c/0/0"] and report.arrays == 2
    assert report.bad_chunks[0].error == "RuntimeError: no words"
    assert [bad.error for bad in report.bad_nodes] == ["RuntimeError: nothing to say"]

    class Closing(zarr.stores.WrapperStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            if "/c/" in key:
                raise StoreClosedError("closed")
            return super().get(key, byte_range)

    with pytest.raises(StoreClosedError):
        zarr.verify(Closing(store))
