"""Nodes where the store is not as it should be, and shards inside shards."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.testing import LatencyStore


def broken(path: Path) -> zarr.Group:
    """A group with a sound array, one whose codec is unknown, and one whose document is torn."""
    root = zarr.open_group(path, mode="w")
    root["sound"] = np.arange(4)
    root["unknown"] = np.arange(4)
    document = path / "unknown" / "zarr.json"
    document.write_text(document.read_text().replace('"zstd"', '"nosuch"'))
    return root


def test_a_member_that_cannot_be_opened_is_there_all_the_same(tmp_path: Path) -> None:
    root = broken(tmp_path / "a.zarr")
    assert "unknown" in root
    assert list(root) == ["sound", "unknown"]
    with pytest.raises(zarr.errors.UnknownCodecError, match="nosuch"):
        root["unknown"]
    root.move("unknown", "moved")
    del root["moved"]
    assert list(root) == ["sound"]


def test_a_torn_document_can_be_replaced_but_not_opened(tmp_path: Path) -> None:
    root = broken(tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "sound" / "zarr.json").write_text('{"zarr_format": 3,')
    with pytest.raises(zarr.errors.MetadataError):
        root["sound"]
    with pytest.raises(zarr.errors.MetadataError):
        root.create_array("sound", shape=3, dtype="i4")
    made = root.create_array("sound", data=np.arange(3), overwrite=True)
    assert made[:].tolist() == [0, 1, 2]
    assert not (tmp_path / "a.zarr" / "sound" / "c" / "1").exists()


def test_overwriting_leaves_foreign_files_but_no_stale_chunks(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    zarr.save_array(place, np.ones(4))
    (place / "zarr.json").unlink()
    (place / "notes.txt").write_text("keep me")
    array = zarr.open_array(place, mode="w", shape=4, chunks=4, dtype="f8")
    assert array[:].tolist() == [0.0] * 4
    assert (place / "notes.txt").read_text() == "keep me"


@pytest.mark.parametrize("location", ["start", "end"])
def test_shards_inside_shards(location: str) -> None:
    inner = zarr.codecs.ShardingCodec(chunk_shape=(2, 3), codecs=["bytes", "crc32c"])
    outer = zarr.codecs.ShardingCodec(chunk_shape=(4, 6), codecs=[inner], index_location=location)
    array = zarr.create_array(None, shape=(19, 31), chunks=(8, 12), dtype="i4", codecs=[outer])
    expected = np.zeros((19, 31), "i4")
    rng = np.random.default_rng(1)
    for _ in range(40):
        rows, columns = sorted(rng.integers(0, 20, 2)), sorted(rng.integers(0, 32, 2))
        region = slice(*rows, rng.integers(1, 4)), slice(*columns, rng.integers(1, 4))
        expected[region] = array[region] = rng.integers(0, 3)
        picked = slice(rng.integers(0, 19), None, 2), rng.integers(0, 31)
        assert np.array_equal(array[picked], expected[picked])
    assert np.array_equal(array[...], expected)
    assert array.store.exists("c/0/0")


def test_growing_after_shrinking_shows_the_fill_value() -> None:
    for shards in (None, (8, 6)):
        array = zarr.create_array(
            None, shape=(10, 9), chunks=(4, 3), shards=shards, dtype="i2", fill_value=7
        )
        array[...] = 1
        array.resize(5, 4)
        array.resize(10, 9)
        expected = np.full((10, 9), 7)
        expected[:5, :4] = 1
        assert np.array_equal(array[...], expected)


def test_places_short_names_and_unchanged_dimensions() -> None:
    root = zarr.open_group(zarr.MemoryStore(), mode="w", zarr_format=2)
    array = root.create_array("a/b", data=np.arange(12).reshape(3, 4), compressor="zlib")
    assert type(array.compressor).__name__ == "Zlib"
    same = zarr.open_array(array.store_path, mode="r")
    assert np.array_equal(same[...], array[...])
    assert list(zarr.open_group(root["a"].store_path)) == ["b"]
    array.resize((None, 2))
    assert array.shape == (3, 2)


def test_sizes_are_asked_for_together() -> None:
    store = LatencyStore(zarr.stores.MemoryStore(), seconds=0.0, requests=32)
    array = zarr.create_array(store, shape=100, chunks=1, dtype="i4", compressors=None)
    array[:] = np.arange(100) + 1
    slow = LatencyStore(store.store, seconds=0.1, requests=32)
    far = zarr.open_array(slow, mode="r")
    begun = time.monotonic()
    expected = 400 + len(store["zarr.json"])
    assert far.nbytes_stored == expected
    assert f"{expected}" in str(far.info_complete())
    assert time.monotonic() - begun < 10  # 20 s one by one


@pytest.mark.parametrize("dtype", ["<M8", ">m8[3generic]", ">M8[2147483647generic]"])
def test_times_without_a_unit(dtype: str) -> None:
    """NumPy drops their scale and their byte order in many places."""
    counts = np.array([0, 1, -2, 100], dtype[0] + "i8")
    store = zarr.MemoryStore()
    zarr.create_array(store, data=counts.view(dtype), chunks=2, fill_value=5)
    array = zarr.open_array(store)
    array.resize(6)
    array[5:] = array[3:4]
    values = array[:]
    assert np.datetime_data(values.dtype) == np.datetime_data(np.dtype(dtype))
    assert values.view(values.dtype.byteorder + "i8").tolist() == [0, 1, -2, 100, 5, 100]
    assert int(array[1].view("i8")) == 1


def test_order_of_what_is_read_can_be_set_for_all() -> None:
    stored = zarr.array(np.arange(6).reshape(2, 3), order="F")
    with zarr.config.set({"array.read_order": "C"}):
        opened = zarr.open_array(stored.store)
        older = zarr.array(np.eye(2), order="F", zarr_format=2)
    assert (stored.order, opened.order, older.order) == ("F", "C", "F")
    assert opened[:].flags.c_contiguous
    assert opened.with_config({"order": "F"}).order == "F"
