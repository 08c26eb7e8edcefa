"""Damaged chunks in a conversion: never copied unseen where chunks are decoded, and named."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import DecodeError, UnsupportedError

VALUES = np.arange(1.0, 101.0).reshape(10, 10)


def damaged(zarr_format: int = 3, **options: Any) -> zarr.MemoryStore:
    """A store with one damaged chunk: (0, 1) of chunks (5, 5)."""
    store = zarr.MemoryStore()
    made = {"chunks": (5, 5), "compressors": "zstd", **options}
    array = zarr.create_array(
        store, name="a", data=VALUES, fill_value=-1.0, zarr_format=zarr_format, **made
    )
    key = array._source.key((0, 1))
    data = bytearray(store.get(key))
    data[9] ^= 255
    store.set(key, bytes(data))
    return store


def expected(*rows_columns: slice) -> Any:
    values = VALUES.copy()
    values[rows_columns] = -1
    return values


HOLE = (slice(0, 5), slice(5, 10))


@pytest.mark.parametrize("options", [{"reencode": True}, {"verify": True}, {"chunks": (3, 3)}])
def test_damage_is_never_passed_on_unseen(options: dict[str, Any]) -> None:
    with pytest.raises(DecodeError, match=r"key 'a/0\.1', chunk \(0, 1\)"):
        zarr.convert(damaged(2), zarr.MemoryStore(), zarr_format=3, **options)


@pytest.mark.parametrize("choice", ["skip", "fill"])
@pytest.mark.parametrize("target", [2, 3])
def test_equal_grids(choice: Any, target: int) -> None:
    out = zarr.MemoryStore()
    done = zarr.convert(damaged(), out, zarr_format=target, on_damage=choice)
    assert [(bad.path, bad.coordinates, bad.inner) for bad in done.damaged] == [("a", (0, 1), None)]
    array = zarr.open_array(out, path="a")
    np.testing.assert_array_equal(array[...], expected(*HOLE))
    assert array.nchunks_initialized == (3 if choice == "skip" else 4)
    assert zarr.verify(out).ok
    assert "damaged: /a, chunk (0, 1)" in str(done) and f"1 damaged chunk: {choice}" in str(done)
    assert done.to_dict()["damaged"][0]["key"] == "a/c/0/1"


def test_other_grids() -> None:
    """Chunks (4, 4) over a hole of rows 0 to 5, columns 5 to 10."""
    filled, skipped = zarr.MemoryStore(), zarr.MemoryStore()
    zarr.convert(damaged(), filled, zarr_format=3, chunks=(4, 4), on_damage="fill")
    np.testing.assert_array_equal(zarr.open_array(filled, path="a")[...], expected(*HOLE))
    zarr.convert(damaged(), skipped, zarr_format=3, chunks=(4, 4), on_damage="skip")
    array = zarr.open_array(skipped, path="a")
    np.testing.assert_array_equal(array[...], expected(slice(0, 8), slice(4, 10)))
    assert array.nchunks_initialized == 5


@pytest.mark.parametrize("choice", ["skip", "fill"])
@pytest.mark.parametrize("chunks", [None, (5, 5)])
def test_one_inner_chunk_of_a_shard(choice: Any, chunks: Any) -> None:
    store = zarr.MemoryStore()
    array = zarr.create_array(
        store, name="a", data=VALUES, fill_value=-1.0, chunks=(5, 5), shards=(10, 10),
    )  # fmt: skip
    key = array._source.key((0, 0))
    data = bytearray(store.get(key))
    shard = array._source.regular_chain.shard
    assert shard is not None
    offset = len(data) - shard.index_bytes
    first = list(shard.decode_index(bytes(data[offset:])).items())[1]
    data[first[1] + 20] ^= 1
    store.set(key, bytes(data))
    out = zarr.MemoryStore()
    options = {} if chunks is None else {"chunks": chunks, "shards": False}
    done = zarr.convert(store, out, zarr_format=3, on_damage=choice, **options)
    assert [(bad.coordinates, bad.inner) for bad in done.damaged] == [((0, 0), (0, 1))]
    np.testing.assert_array_equal(zarr.open_array(out, path="a")[...], expected(*HOLE))
    assert zarr.verify(out).ok


def test_a_raw_copy_does_not_decode() -> None:
    """It is said so, and `verify` finds the damage in the result."""
    out = zarr.MemoryStore()
    assert zarr.convert(damaged(2), out, zarr_format=3).damaged == ()
    assert not zarr.verify(out).ok


def test_damage_met_before_an_interruption_is_reported() -> None:
    store, out = damaged(), zarr.MemoryStore()
    seen = 0

    class Stop(Exception):
        pass

    def stop(progress: Any) -> None:
        nonlocal seen
        seen += 1
        raise Stop

    array = zarr.create_array(store, name="b", data=np.ones(1 << 20), chunks=1 << 18)
    assert array.nchunks == 4
    with pytest.raises(Stop):
        zarr.convert(store, out, zarr_format=3, on_damage="fill", progress=stop, workers=1)
    done = zarr.convert(store, out, zarr_format=3, on_damage="fill", workers=1)
    assert seen == 1 and done.resumed and len(done.damaged) == 1


def test_choices() -> None:
    with pytest.raises(ValueError, match="on_damage"):
        zarr.convert(damaged(), zarr.MemoryStore(), zarr_format=3, on_damage="ignore")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="need a destination"):
        zarr.convert(damaged(2), zarr_format=3, on_damage="skip")


# -- chunks that only lenient decoders read ------------------------------------------------------


def test_zlib_streams_called_gzip_are_written_as_gzip(tmp_path: Path) -> None:
    zarr.create_array(
        tmp_path / "in", data=np.arange(8), chunks=4, compressors="gzip", zarr_format=2
    )
    (tmp_path / "in" / "1").write_bytes(zlib.compress(np.arange(4, 8).tobytes()))
    zarr.convert(tmp_path / "in", tmp_path / "out", zarr_format=3)
    for number in range(2):
        assert (tmp_path / "out" / f"c.{number}").read_bytes()[:2] == b"\x1f\x8b"
    assert zarr.open_array(tmp_path / "out")[...].tolist() == list(range(8))
    assert not zarr.verify(tmp_path / "out").unusual


# -- a node that stays in its format ---------------------------------------------------------------


def test_the_specification_is_written_within_one_format() -> None:

    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    root = zarr.open_group(store, mode="w")
    root.create_array("a", data=np.arange(1, 13).reshape(3, 4), chunks=(2, 2), compressors=None)
    document = json.loads(store["a/zarr.json"])
    note = {"must_understand": False, "by": "me"}
    document |= {"fill_value": None, "dimension_names": None, "note": note}
    document["codecs"] = [{"name": "endian", "configuration": {"endian": "little"}}]
    store["a/zarr.json"] = json.dumps(document).encode()
    store["zarr.json"] = json.dumps({**json.loads(store["zarr.json"]), "note": note}).encode()
    zarr.convert(store, out, zarr_format=3)
    written = json.loads(out["a/zarr.json"])
    assert written["codecs"][0]["name"] == "bytes" and written["fill_value"] == 0
    assert "dimension_names" not in written
    assert written["note"] == json.loads(out["zarr.json"])["note"] == note
    np.testing.assert_array_equal(zarr.open_group(out)["a"][...], root["a"][...])
    del document["codecs"]
    store["a/zarr.json"] = json.dumps(document).encode()
    zarr.convert(store, out, zarr_format=3, overwrite=True)
    assert json.loads(out["a/zarr.json"])["codecs"] == written["codecs"]


def test_what_the_format_does_not_have_is_named() -> None:

    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    zarr.create_array(store, data=np.arange(4), chunks=2, zarr_format=2)
    document = json.loads(store[".zarray"])
    store[".zarray"] = json.dumps({**document, "surprise": 1}).encode()
    done = zarr.convert(store, out, zarr_format=2)
    assert "surprise" not in json.loads(out[".zarray"])
    assert done.nodes[0].notes == ("members not in the specification left out: surprise",)


def test_damage_is_looked_for_where_the_caller_says_what_becomes_of_it() -> None:
    with pytest.raises(DecodeError):
        zarr.convert(damaged(2), zarr.MemoryStore(), zarr_format=3, on_damage="raise")
