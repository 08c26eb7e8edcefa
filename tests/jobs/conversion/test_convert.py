"""Formats 2 and 3, each into the other: everything stays, and bytes that can stay do stay."""

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr as zarr
from omnizarr import limits
from omnizarr.errors import (
    LimitError,
    NodeExistsError,
    NodeNotFoundError,
    StoreError,
    UnknownCodecError,
    UnsupportedError,
)
from omnizarr.jobs import Progress
from omnizarr.jobs.conversion.report import Conversion
from omnizarr.testing import CountingStore
from tests.jobs.conversion.support import described, facts, hierarchy, values_of

BOTH = [(2, 3), (3, 2)]


def chunk_bytes(store: zarr.Store) -> list[bytes]:
    """The stored chunks, whatever they are called."""
    documents = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
    found = values_of(store).items()
    return sorted(value for key, value in found if not key.endswith(documents))


@pytest.mark.parametrize(("source", "target"), BOTH)
def test_a_hierarchy_stays_what_it_is(source: int, target: int) -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    options = {"reencode": True} if source == 3 else {}
    before = hierarchy(store, source)
    done = zarr.convert(store, out, zarr_format=target, **options)
    assert isinstance(done, Conversion)
    assert described(out) == before
    assert zarr.open_group(out, mode="r").zarr_format == target
    assert {row.path: row.action for row in done.nodes if row.kind == "group"} == {
        "": "group",
        "inner": "group",
    }
    assert all(row.source_format == source and row.zarr_format == target for row in done.nodes)
    assert done.dropped == ()


@pytest.mark.parametrize(("source", "target"), BOTH)
def test_chunks_are_copied_without_decoding(source: int, target: int) -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    hierarchy(store, source)
    done = zarr.convert(store, out, zarr_format=target, fill_values="zarr")
    assert {row.action for row in done.nodes if row.kind == "array"} == {"copy chunks"}
    assert chunk_bytes(out) == chunk_bytes(store)
    written = sum(len(value) for value in chunk_bytes(out))
    assert sum(row.bytes_written for row in done.nodes) == written
    assert sum(row.bytes_read for row in done.nodes) == written


def test_a_chunk_that_no_decoder_would_take_is_copied_too() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    array = zarr.create_array(store, data=np.arange(6), chunks=3, zarr_format=2, compressor=None)
    array[...] = 1
    document = json.loads(store[".zarray"])
    document["compressor"] = {"id": "unknown_codec"}
    store.set(".zarray", json.dumps(document).encode())
    with pytest.raises(UnsupportedError, match="unknown_codec"):
        zarr.convert(store, out, zarr_format=3)
    zarr.convert(store, out, zarr_format=2)
    assert values_of(out)["0"] == values_of(store)["0"]
    with pytest.raises(UnknownCodecError):
        zarr.convert(store, {}, zarr_format=2, compressors="auto")


@pytest.mark.parametrize(
    ("dtype", "endian"), [("<i4", "little"), (">i4", "big"), (">U3", "big"), ("u1", None)]
)
def test_byte_order(dtype: str, endian: str | None) -> None:
    store, out, back = zarr.MemoryStore(), zarr.MemoryStore(), zarr.MemoryStore()
    data = np.arange(12).astype(dtype)
    zarr.create_array(store, data=data, chunks=5, zarr_format=2)
    zarr.convert(store, out, zarr_format=3)
    codecs = json.loads(out["zarr.json"])["codecs"]
    assert codecs[0].get("configuration", {}).get("endian") == endian
    assert chunk_bytes(out) == chunk_bytes(store)
    zarr.convert(out, back, zarr_format=2)
    assert json.loads(back[".zarray"])["dtype"] == np.dtype(dtype).str
    assert np.array_equal(zarr.open_array(back)[...], data)


@pytest.mark.parametrize("order", ["<", ">"])
def test_filters_keep_their_bytes_where_readers_agree(order: str) -> None:
    """A filter names types in the order of the data, which format 3 has only behind it, where
    readers take it for that of the filter's own types: big-endian chunks are encoded again."""
    store, out, back = zarr.MemoryStore(), zarr.MemoryStore(), zarr.MemoryStore()
    data = (np.arange(40) ** 2).astype(f"{order}i8").reshape(5, 8)
    filters = [zarr.Delta(dtype=f"{order}i8", astype=f"{order}i4"), zarr.Shuffle(elementsize=0)]
    zarr.create_array(store, data=data, chunks=(2, 3), zarr_format=2, filters=filters, order="F")
    done = zarr.convert(store, out, zarr_format=3)
    assert done.nodes[0].action == ("copy chunks" if order == "<" else "re-encode")
    stored = {codec["name"]: codec for codec in json.loads(out["zarr.json"])["codecs"]}
    assert stored["numcodecs.delta"]["configuration"]["dtype"] == "<i8"
    assert stored["bytes"]["configuration"]["endian"] == "little"
    # Others take a width of 0 for "do not shuffle".
    assert stored["numcodecs.shuffle"]["configuration"]["elementsize"] == 4
    assert np.array_equal(zarr.open_array(out)[...], data)
    zarr.convert(out, back, zarr_format=2)
    assert np.array_equal(zarr.open_array(back)[...], data)
    assert json.loads(back[".zarray"])["filters"][0]["dtype"] == "<i8"


def test_records_of_mixed_order_and_with_padding_are_encoded_again() -> None:
    mixed = np.dtype([("a", ">i2"), ("b", "<f4")])
    padded = np.dtype({"names": ["a", "b"], "formats": ["i1", "<i4"], "offsets": [0, 4]})
    for dtype in (mixed, padded):
        data = np.zeros(9, dtype)
        data["a"], data["b"] = np.arange(9), np.arange(9) * 2
        store, out = zarr.MemoryStore(), zarr.MemoryStore()
        zarr.create_array(store, data=data, chunks=4, zarr_format=2)
        done = zarr.convert(store, out, zarr_format=3)
        assert done.nodes[0].action == "re-encode"
        again = zarr.open_array(out)[...]
        assert again["a"].tolist() == data["a"].tolist()
        assert again["b"].tolist() == data["b"].tolist()


OPTIONS = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["bool", "<i2", ">u4", "<f4", "c8", "M8[s]", "S3", "U2", "V2"]),
        "order": st.sampled_from("CF"),
        "compressors": st.sampled_from(
            [None, "gzip", "zstd", "blosc", ["zstd", "crc32c"], [{"id": "lz4"}], [{"id": "bz2"}]]
        ),
        "shape": st.lists(st.integers(0, 7), max_size=3).map(tuple),
    }
)


@settings(max_examples=40)
@given(OPTIONS, st.data())
def test_there_and_back(options: dict[str, Any], data: st.DataObject) -> None:
    shape = options["shape"]
    chunks = tuple(data.draw(st.integers(1, 4)) for _ in shape)
    store, out, back = zarr.MemoryStore(), zarr.MemoryStore(), zarr.MemoryStore()
    source, target = data.draw(st.sampled_from(BOTH))
    array = zarr.create_array(store, chunks=chunks, zarr_format=source, **options)
    region = tuple(slice(*sorted((data.draw(st.integers(0, n)), n))) for n in shape)
    numbers = np.arange(1, array.size + 1).reshape(shape)
    raw = numbers.astype("u2").view("V2") if options["dtype"] == "V2" else numbers
    array[region] = raw[region] if options["dtype"] == "V2" else numbers.astype(array.dtype)[region]
    zarr.convert(store, out, zarr_format=target)
    zarr.convert(out, back, zarr_format=source)
    assert facts(zarr.open_array(out)) == facts(array)
    assert facts(zarr.open_array(back)) == facts(array)
    assert chunk_bytes(back) == chunk_bytes(store)


# -- fill values ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("f8", np.nan),
        ("f4", -np.inf),
        ("c16", complex(np.nan, -1)),
        ("M8[ns]", np.datetime64("NaT", "ns")),
        ("M8[s]", None),
        ("m8[D]", 5),
        ("i8", None),
        ("i8", 2**62 + 1),
        ("S4", b"a\xff"),
        ("U3", "é"),
        ("bool", True),
        (str, "é"),
    ],
)
def test_what_was_never_written_reads_the_same(dtype: Any, fill: Any) -> None:
    store, out, back = zarr.MemoryStore(), zarr.MemoryStore(), zarr.MemoryStore()
    array = zarr.create_array(
        store, shape=(6,), chunks=2, dtype=dtype, fill_value=fill, zarr_format=2
    )
    array[:2] = array[4:]
    zarr.convert(store, out, zarr_format=3)
    zarr.convert(out, back, zarr_format=2)
    for converted in (out, back):
        again = zarr.open_array(converted)
        assert facts(again)["values"] == facts(array)["values"]
        assert len(chunk_bytes(converted)) == len(chunk_bytes(store))


def test_a_fill_value_that_cannot_be_kept_is_written_out() -> None:
    payload = np.frombuffer(bytes.fromhex("0100000000f8ff7f")[::-1], ">f8")[0]
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    array = zarr.create_array(store, shape=(5, 4), chunks=(2, 2), dtype="f8", fill_value=payload)
    array[0, 0] = 1.0
    with pytest.raises(UnsupportedError, match=r"drop=\('fill_value',\)") as refusal:
        zarr.convert(store, out, zarr_format=2)
    assert refusal.value.what == "fill_value"
    assert len(out) == 0
    done = zarr.convert(store, out, zarr_format=2, drop=["fill_value"])
    assert done.dropped == ("fill_value",)
    assert "every chunk is written" in done.nodes[0].notes[0]
    assert done.nodes[0].chunks == 6
    assert zarr.open_array(out)[...].tobytes() == array[...].tobytes()


# -- what has no equal ------------------------------------------------------------------------


def test_shards_become_chunks() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    data = np.arange(120, dtype="i4").reshape(10, 12)
    zarr.create_array(
        store, data=data, chunks=(2, 3), shards=(4, 6), compressors=[{"id": "zlib"}], order="F"
    )
    with pytest.raises(UnsupportedError, match="reencode=True") as refusal:
        zarr.convert(store, out, zarr_format=2)
    assert refusal.value.what == "shards"
    done = zarr.convert(store, out, zarr_format=2, reencode=True)
    array = zarr.open_array(out)
    assert done.nodes[0].action == "re-encode"
    assert (array.chunks, array.shards) == ((2, 3), None)
    assert array.compressor == zarr.Zlib(level=1)  # the codecs inside are kept where they can be
    assert np.array_equal(array[...], data)


def test_ragged_chunks_become_regular() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    data = np.arange(63).reshape(9, 7)
    zarr.create_array(store, data=data, chunks=((1, 5, 3), (7,)))
    with pytest.raises(UnsupportedError, match="reencode=True") as refusal:
        zarr.convert(store, out, zarr_format=2)
    assert refusal.value.what == "chunks"
    zarr.convert(store, out, zarr_format=2, reencode=True)
    array = zarr.open_array(out)
    assert array.chunks == (3, 7)
    assert np.array_equal(array[...], data)


def test_codecs_without_an_equal() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    data = np.arange(20, dtype="f8")
    scale = {"name": "scale_offset", "configuration": {"offset": 1.0, "scale": 2.0}}
    zarr.create_array(store, data=data, chunks=6, filters=[scale])
    with pytest.raises(UnsupportedError, match="scale_offset") as refusal:
        zarr.convert(store, out, zarr_format=2)
    assert refusal.value.what == "codecs"
    done = zarr.convert(store, out, zarr_format=2, reencode=True)
    assert done.nodes[0].notes[0] == "codecs chosen anew"
    assert np.array_equal(zarr.open_array(out)[...], data)


def test_a_codec_of_numcodecs_that_no_reader_of_format_3_knows() -> None:
    store = zarr.MemoryStore()
    labels = {"id": "categorize", "labels": ["a", "b"], "dtype": "<U1", "astype": "u1"}
    zarr.create_array(store, data=np.array(["a", "b", "a"]), zarr_format=2, filters=[labels])
    with pytest.raises(UnsupportedError, match="categorize") as refusal:
        zarr.convert(store, {}, zarr_format=3)
    assert refusal.value.what == "codecs"
    out = zarr.MemoryStore()
    zarr.convert(store, out, zarr_format=3, reencode=True)
    assert zarr.open_array(out)[...].tolist() == ["a", "b", "a"]


def test_objects_have_no_type_in_format_3() -> None:
    store = zarr.MemoryStore()
    data = np.empty(2, object)
    data[:] = [{"a": 1}, [2]]
    zarr.create_array(store, data=data, zarr_format=2, object_codec={"id": "json2"})
    for options in ({}, {"reencode": True, "drop": ("fill_value", "attributes")}):
        with pytest.raises(UnsupportedError, match="no option of convert") as refusal:
            zarr.convert(store, {}, zarr_format=3, **options)
        assert refusal.value.what == "data_type"


def test_dimension_names_that_an_attribute_cannot_hold() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    zarr.create_array(store, shape=(2, 2), dtype="i4", dimension_names=("a", None))
    with pytest.raises(UnsupportedError) as refusal:
        zarr.convert(store, out, zarr_format=2)
    assert refusal.value.what == "dimension_names"
    zarr.convert(store, out, zarr_format=2, drop="dimension_names")
    assert zarr.open_array(out).dims is None


def test_an_attribute_that_says_something_else_than_the_names() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    attributes = {"_ARRAY_DIMENSIONS": ["b"], "k": 1}
    zarr.create_array(store, shape=(2,), dtype="i4", dimension_names=("a",), attributes=attributes)
    with pytest.raises(UnsupportedError, match="says something else") as refusal:
        zarr.convert(store, out, zarr_format=2)
    assert refusal.value.what == "dimension_names"
    zarr.convert(store, out, zarr_format=2, drop="dimension_names")
    assert zarr.open_array(out).attrs.asdict() == attributes


def test_the_error_names_the_node_and_nothing_is_written() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    root = zarr.open_group(store, mode="w")
    root.create_array("fine", data=np.arange(5))
    root.create_array("deep/down", data=np.arange(8), chunks=2, shards=4)
    with pytest.raises(UnsupportedError, match="node '/deep/down'"):
        zarr.convert(store, out, zarr_format=2)
    assert len(out) == 0


# -- other chunks, shards, compressors ----------------------------------------------------------


@settings(max_examples=30)
@given(st.data())
def test_other_chunks(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.integers(1, 12)) for _ in range(data.draw(st.integers(1, 3))))
    before = tuple(data.draw(st.integers(1, 6)) for _ in shape)
    after = tuple(data.draw(st.integers(1, 6)) for _ in shape)
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    array = zarr.create_array(store, shape=shape, chunks=before, dtype="i2", fill_value=3)
    region = tuple(slice(data.draw(st.integers(0, n)), n) for n in shape)
    array[region] = np.arange(array.size, dtype="i2").reshape(shape)[region]
    with limits.override(scratch_bytes=data.draw(st.sampled_from([1, 200, 1 << 20]))):
        zarr.convert(store, out, zarr_format=data.draw(st.sampled_from([2, 3])), chunks=after)
    again = zarr.open_array(out)
    assert again.chunks == after
    assert np.array_equal(again[...], array[...])


def test_shards_and_compressors() -> None:
    store, out, plain = zarr.MemoryStore(), zarr.MemoryStore(), zarr.MemoryStore()
    data = np.arange(400).reshape(20, 20)
    zarr.create_array(store, data=data, chunks=(5, 5), zarr_format=2)
    zarr.convert(store, out, zarr_format=3, shards=(10, 20), compressors="gzip")
    array = zarr.open_array(out)
    assert (array.chunks, array.shards) == ((5, 5), (10, 20))
    assert [codec.spec().name for codec in array.compressors] == ["gzip"]
    zarr.convert(out, plain, zarr_format=3, shards=False, compressors=None, chunks={"": (4, 20)})
    array = zarr.open_array(plain)
    assert (array.chunks, array.shards, array.compressors) == ((4, 20), None, ())
    assert np.array_equal(array[...], data)


def test_compressors_that_are_asked_for_are_used() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    data = np.arange(5000) % 91
    zarr.create_array(store, data=data, chunks=2500, zarr_format=2, compressor=zarr.GZip(1))
    strong = {"name": "gzip", "configuration": {"level": 9}}
    done = zarr.convert(store, out, zarr_format=3, compressors=strong)
    assert done.nodes[0].action == "re-encode"
    assert done.nodes[0].bytes_written < done.nodes[0].bytes_read
    assert np.array_equal(zarr.open_array(out)[...], data)


def test_every_source_chunk_is_decoded_once() -> None:
    store = CountingStore(zarr.MemoryStore())
    zarr.create_array(store, data=np.zeros((64, 64)) + 1, chunks=(32, 32), zarr_format=2)
    store.reset()
    zarr.convert(store, zarr.MemoryStore(), zarr_format=3, chunks=(4, 4), workers=1)
    read = [key for key in store.asked["get"] if "z" not in key]
    assert sorted(read) == ["0.0", "0.1", "1.0", "1.1"]


# -- large and sparse ---------------------------------------------------------------------------


def test_a_sparse_array_costs_what_is_stored_of_it() -> None:
    store, out = CountingStore(zarr.MemoryStore()), zarr.MemoryStore()
    array = zarr.create_array(
        store, shape=(10**12, 10**6), chunks=(10, 10), dtype="u1", zarr_format=2, fill_value=9
    )
    array[10**11, 5] = array[3, 10**5] = 1
    for options in ({}, {"compressors": "gzip"}, {"chunks": (7, 13)}):
        store.reset()
        done = zarr.convert(store, out, zarr_format=3, overwrite=True, **options)
        assert done.nodes[0].chunks <= 8
        assert store.counts["get"] < 50
        again = zarr.open_array(out)
        assert again[10**11, 5] == again[3, 10**5] == 1
        assert again[5, 5] == 9


def test_what_lies_outside_the_array_is_left_behind() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    array = zarr.create_array(store, data=np.arange(8), chunks=2, zarr_format=2)
    array.resize(4)
    store.set("7", b"from before the shrink")
    store.set("notes.txt", b"foreign")
    zarr.convert(store, out, zarr_format=3)
    assert sorted(key for key in out if key.startswith("c")) == ["c.0", "c.1"]
    assert "notes.txt" not in out


def test_other_spellings_of_chunk_keys() -> None:
    """zarr 2.8 wrote flat keys and said "/"; older ones nested them and said nothing."""
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    data = np.arange(16).reshape(4, 4)
    zarr.create_array(store, data=data, chunks=(2, 2), zarr_format=2)
    for key in ("0.1", "1.1"):
        store.set(key.replace(".", "/"), store[key])
        store.delete(key)
    store.set("0/0", b"never read, because 0.0 is there")
    done = zarr.convert(store, out, zarr_format=3)
    assert done.nodes[0].chunks == 4
    assert np.array_equal(zarr.open_array(out)[...], data)


def test_a_value_too_long_for_a_chunk_is_refused() -> None:
    store = zarr.MemoryStore()
    zarr.create_array(
        store, data=np.arange(4, dtype="u1"), chunks=4, zarr_format=2, compressor=None
    )
    store.set("0", bytes(5))
    with pytest.raises(zarr.errors.ZarrError, match="at most 4 bytes"):
        zarr.convert(store, {}, zarr_format=3)


def test_memory_stays_bounded(tmp_path: Path) -> None:
    import tracemalloc

    chunk = 1 << 20
    zarr.create_array(
        tmp_path / "in", data=np.ones(64 * chunk, "u1"), chunks=chunk, compressors=None
    )
    for options in ({}, {"chunks": chunk // 2}):
        tracemalloc.start()
        zarr.convert(
            tmp_path / "in", tmp_path / "out",
            zarr_format=2, overwrite=True, workers=8, max_memory=16 * chunk, **options,
        )  # fmt: skip
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 18 * chunk


# -- where from, where to -----------------------------------------------------------------------


def test_paths_and_nodes(tmp_path: Path) -> None:
    store, out = tmp_path / "in.zarr", zarr.MemoryStore()
    before = hierarchy(store)
    zarr.convert(store, out, path="inner", destination_path="some/where", zarr_format=3)
    inner = zarr.open_group(out, path="some/where", mode="r")
    assert inner.attrs.asdict() == {"level": 1}
    assert facts(inner["sparse"]) == before["inner/sparse"]
    assert zarr.open_group(out, mode="r")["some"].zarr_format == 3
    array = zarr.open_group(store, mode="r")["inner/sparse"]
    zarr.convert(array, zarr.open_group(out, path="some"), destination_path="alone", zarr_format=3)
    assert facts(zarr.open_array(out, path="some/alone")) == before["inner/sparse"]


@pytest.mark.parametrize("suffix", ["", ".zip"])
def test_stores(tmp_path: Path, suffix: str) -> None:
    store, out = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    with zarr.stores.as_store(str(store), mode="a") as opened:
        before = hierarchy(opened)
    zarr.convert(str(store), str(out), zarr_format=3)
    assert described(str(out)) == before
    mapping: dict[str, bytes] = {}
    zarr.convert(str(out), mapping, zarr_format=2)
    assert described(mapping) == before


def test_nothing_there() -> None:
    with pytest.raises(NodeNotFoundError, match="looked for"):
        zarr.convert(zarr.MemoryStore(), zarr.MemoryStore())
    with pytest.raises(NodeNotFoundError):
        zarr.convert(zarr.MemoryStore())


def test_places_inside_one_another(tmp_path: Path) -> None:
    store = zarr.MemoryStore()
    hierarchy(store)
    wrapped = zarr.PrefixStore(store, "inner")
    for destination, path in ((store, ""), (store, "inner/new"), (wrapped, ""), (wrapped, "x")):
        with pytest.raises(StoreError, match="overlap"):
            zarr.convert(store, destination, destination_path=path, zarr_format=3)
    with pytest.raises(StoreError, match="overlap"):
        zarr.convert(wrapped, store, zarr_format=3)
    zarr.convert(store, store, path="inner", destination_path="other", zarr_format=3)
    folder = tmp_path / "a.zarr"
    hierarchy(folder)
    (tmp_path / "link").symlink_to(folder)
    for place in (folder, folder / "inner", tmp_path, tmp_path / "link"):
        with pytest.raises(StoreError, match="overlap"):
            zarr.convert(folder, place, zarr_format=3)


def test_what_lies_there_is_not_replaced() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    before = hierarchy(store)
    zarr.create_array(out, data=np.arange(3), zarr_format=2)
    kept = values_of(out)
    with pytest.raises(NodeExistsError, match="overwrite=True"):
        zarr.convert(store, out, zarr_format=3)
    assert values_of(out) == kept
    zarr.convert(store, out, zarr_format=3, overwrite=True)
    assert described(out) == before
    assert not any(key in out for key in kept)
    with pytest.raises(NodeExistsError):
        zarr.convert(store, out, zarr_format=3)


def test_stray_chunks_and_documents_below_the_destination() -> None:
    store = zarr.MemoryStore()
    hierarchy(store)
    for key in ("inner/sparse/c.0.0", "inner/zarr.json"):
        out = zarr.MemoryStore({key: b"{}"})
        with pytest.raises(NodeExistsError):
            zarr.convert(store, out, zarr_format=3)
        assert values_of(out) == {key: b"{}"}
    out = zarr.MemoryStore({"inner/sparse/c.9.0": b"stale", "readme": b"kept"})
    zarr.convert(store, out, zarr_format=3, overwrite=True)
    assert described(out) == described(store)
    assert out["readme"] == b"kept"


def test_a_read_only_destination() -> None:
    store = zarr.MemoryStore()
    hierarchy(store)
    with pytest.raises(zarr.errors.ReadOnlyError):
        zarr.convert(store, zarr.ReadOnlyStore(zarr.MemoryStore()), zarr_format=3)


def test_a_store_that_cannot_be_listed() -> None:
    class Blind(zarr.stores.WrapperStore):
        def __init__(self, store: zarr.Store) -> None:
            super().__init__(store)
            self.capabilities = zarr.stores.Capabilities(listable=False)

    store = zarr.MemoryStore()
    zarr.create_array(store, data=np.arange(4), zarr_format=2)
    with pytest.raises(StoreError, match="cannot be listed"):
        zarr.convert(Blind(store), {}, zarr_format=3)


# -- consolidated metadata ----------------------------------------------------------------------


@pytest.mark.parametrize(("source", "target"), BOTH)
def test_consolidated_metadata_is_made_again(source: int, target: int) -> None:
    store, out, not_so = zarr.MemoryStore(), zarr.MemoryStore(), zarr.MemoryStore()
    before = hierarchy(store, source)
    zarr.convert(store, not_so, zarr_format=target)
    with pytest.raises(zarr.errors.ZarrError):
        zarr.open_consolidated(not_so)
    zarr.consolidate_metadata(store)
    zarr.convert(store, out, zarr_format=target)
    root = zarr.open_consolidated(out)
    assert {path for path, _ in root.members(max_depth=None)} | {""} == set(before)
    assert described(out) == before


# -- how it is run --------------------------------------------------------------------------------


def test_dry_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    hierarchy(store)
    planned = zarr.convert(store, out, zarr_format=3, dry_run=True)
    assert planned.dry_run
    assert len(out) == 0
    printed = capsys.readouterr().out
    assert printed == f"{planned}\n"
    assert "copy chunks" in printed
    assert "nothing was written" in printed
    done = zarr.convert(store, out, zarr_format=3)
    assert capsys.readouterr().out == ""
    assert [(row.path, row.action, row.chunks) for row in done.nodes] == [
        (row.path, row.action, row.chunks) for row in planned.nodes
    ]
    with pytest.raises(NodeExistsError):
        zarr.convert(store, out, zarr_format=3, dry_run=True)
    zarr.convert(store, tmp_path / "not", zarr_format=2, dry_run=True)
    zarr.convert(store, str(tmp_path / "not.zip"), zarr_format=2, dry_run=True)
    assert os.listdir(tmp_path) == []


def test_the_report_is_json() -> None:
    store = zarr.MemoryStore()
    hierarchy(store)
    done = zarr.convert(store, {}, zarr_format=3)
    document = json.loads(json.dumps(done.to_dict()))
    assert [row["path"] for row in document["nodes"]] == [row.path for row in done.nodes]
    assert set(document["nodes"][0]) == {
        *("path", "kind", "source_format", "zarr_format", "action", "chunks"),
        *("bytes_read", "bytes_written", "notes", "rechunking"),
    }
    assert document["dropped"] == []
    assert document["dry_run"] is False
    assert document["seconds"] >= 0


@pytest.mark.parametrize("workers", [1, 3])
def test_progress(workers: int) -> None:
    store = zarr.MemoryStore()
    zarr.create_array(store, data=np.zeros((40, 1 << 16)) + 1, chunks=(1, 1 << 16), zarr_format=2)
    heard: list[Progress] = []
    zarr.convert(store, {}, zarr_format=3, progress=heard.append, workers=workers)
    assert [step.done for step in heard] == sorted(step.done for step in heard)
    assert (heard[-1].done, heard[-1].total) == (40, 40)
    assert heard[-1].remaining == 0
    assert len(heard) > 2
    assert heard[-1].nbytes == sum(len(value) for key, value in store.items() if "z" not in key)


def test_executors(tmp_path: Path) -> None:
    before = hierarchy(tmp_path / "in")
    for pool in (ThreadPoolExecutor(3), ProcessPoolExecutor(2)):
        with pool:
            for options in ({}, {"compressors": "gzip"}):
                out = tmp_path / "out"
                done = zarr.convert(
                    tmp_path / "in", out,
                    zarr_format=3, overwrite=True, executor=pool, workers=3, **options,
                )  # fmt: skip
                assert described(out) == before
                assert sum(row.bytes_written for row in done.nodes) > 0


def test_another_process_cannot_write_into_this_ones_memory(tmp_path: Path) -> None:
    hierarchy(tmp_path / "in")
    with ProcessPoolExecutor(1) as pool:
        for store in (zarr.MemoryStore(), zarr.stores.MappingStore({})):
            zarr.create_array(store, data=[1, 2, 3])
            with pytest.raises(UnsupportedError, match="lives in one process"):
                zarr.convert(
                    tmp_path / "in", store, zarr_format=3, executor=pool, overwrite=True
                )  # fmt: skip
            assert zarr.open_array(store)[:].tolist() == [1, 2, 3], "nothing was deleted"
        with zarr.ZipStore(tmp_path / "out.zip", mode="w") as archive:
            with pytest.raises(UnsupportedError, match="use threads"):
                zarr.convert(tmp_path / "in", archive, zarr_format=3, executor=pool)
            assert not list(archive.list())


def test_wrong_arguments() -> None:
    store = zarr.MemoryStore()
    hierarchy(store)
    for message, options in (
        ("drop takes", {"drop": "codecs"}),
        ("workers must be", {"workers": 0}),
        ("remove_source", {"remove_source": True}),
    ):
        with pytest.raises(ValueError, match=message):
            zarr.convert(store, {}, zarr_format=3, **options)
    with pytest.raises(ValueError, match="destination_path needs"):
        zarr.convert(store, zarr_format=3, destination_path="x")
    with pytest.raises(TypeError, match="progress must be"):
        zarr.convert(store, {}, zarr_format=3, progress="yes")
    with pytest.raises(zarr.errors.MetadataError, match="unknown zarr_format"):
        zarr.convert(store, {}, zarr_format=9)
    with pytest.raises(LimitError), limits.override(max_chunk_bytes=10):
        zarr.convert(store, {}, zarr_format=3, chunks=100)


def test_the_default_format() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    hierarchy(store)
    zarr.convert(store, out)
    assert zarr.open_group(out, mode="r").zarr_format == 3


def test_members_not_known_here_stay_in_their_own_format() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    zarr.create_array(store, data=np.arange(4), zarr_format=3)
    document = json.loads(store["zarr.json"])
    document["note"] = {"must_understand": False, "text": "kept"}
    store.set("zarr.json", json.dumps(document).encode())
    zarr.convert(store, out, zarr_format=3)
    assert json.loads(out["zarr.json"]) == document


def test_a_destination_that_is_named_as_a_file(tmp_path: Path) -> None:
    zarr.save_array(tmp_path / "x.zarr", np.arange(3))
    for name, kind in (("x.NC", "netcdf"), ("x.ome.tif", "tiff"), ("x.csv", "csv")):
        with pytest.raises(UnsupportedError, match=rf"{kind} .*omnizarr\.export writes files"):
            zarr.convert(tmp_path / "x.zarr", tmp_path / name)
        assert not (tmp_path / name).exists()
        zarr.convert(tmp_path / "x.zarr", tmp_path / name, zarr_format=3)
        assert zarr.open(tmp_path / name)[:].tolist() == [0, 1, 2]
