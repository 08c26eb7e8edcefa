"""Document 004 (ZEP0007) against ours, both directions.

The document's own listings read what we write and write what we read; beside them stands the same
layout in plain words (`tests/codecs/text_layouts.py`), which needs no file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import awkward as ak
import google_crc32c
import numcodecs
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

import omnizarr as zarr
from omnizarr.errors import ChunkNotFoundError, DecodeError
from omnizarr.formats.core_codecs import BYTES_TO_BYTES
from tests.acceptance.document_004 import (
    FILES,
    KINDS,
    NAMES,
    Listings,
    check_reading,
    encoded,
    full,
    stored,
    values_of,
)
from tests.codecs import text_layouts
from tests.model import columns

pytestmark = pytest.mark.slow

here = pytest.mark.skipif(not FILES, reason="NOT RUN: document 004 is not below ZARR_SHARED")
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module", params=columns.MODES, autouse=True)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    with columns.mode(request.param):
        yield request.param


# -- the document's own listings ----------------------------------------------------------------


@pytest.fixture(scope="module")
def listings() -> Listings:
    return Listings(FILES[0])


def test_the_document_is_here(summary: Callable[[str], None]) -> None:
    if not FILES:
        pytest.skip("NO LISTING WAS RUN: document 004 is not below ZARR_SHARED/specs")
    found = Listings(FILES[0])
    assert len(found.decoding) == 4
    assert len(found.metadata) == 2
    summary("documents: 004: 6 listings run")


@here
@every_kind
@pytest.mark.parametrize("shape", [(10,), (0,), (1,), (15,), (16,), (3, 4), (2, 3, 3), ()])
def test_their_decoder_reads_our_chunks(
    listings: Listings, kind: str, shape: tuple[int, ...]
) -> None:
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        store=store, shape=shape, chunks=tuple(max(1, n) for n in shape), dtype=kind,
        compressors=None, write_empty_chunks=True,
    )  # fmt: skip
    values = values_of(kind, shape)
    array[...] = values
    if 0 in shape:
        assert set(store) == {"zarr.json"}
        return
    (chunk,) = (bytes(store[key]) for key in store if key != "zarr.json")
    flat = values.reshape(-1).tolist()
    assert listings.decode_numpy(chunk, shape, kind) == flat
    found = listings.decode_arrow(chunk, shape, kind)
    found.validate(full=True)
    assert found.to_pylist() == flat
    assert found.type == KINDS[kind][2]
    assert array.to_arrow().combine_chunks().equals(found)
    awkward = listings.decode_awkward(chunk, shape, kind)
    assert ak.validity_error(awkward) == ""
    assert awkward.tolist() == flat
    check_reading(array, values, kind)


@here
@every_kind
@pytest.mark.parametrize("count", [0, 1, 7, 8, 15, 16, 100])
def test_their_encoder_writes_our_chunks(listings: Listings, kind: str, count: int) -> None:
    """For what it writes correctly: bytes of any kind, and text of one byte a character."""
    items = [f"{n}\0" * (n % 4) for n in range(count)]
    values: list[Any] = items if KINDS[kind][0] else [b"\xff" + item.encode() for item in items]
    theirs = listings.encode(values, kind)
    assert theirs == text_layouts.write_offsets(encoded(values), KINDS[kind][1])
    if not count:
        return
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        store=store, shape=count, chunks=count, dtype=kind, compressors=None,
        write_empty_chunks=True,
    )  # fmt: skip
    array[:] = values
    assert bytes(store["c/0"]) == theirs
    store["c/0"] = theirs
    again = zarr.open_array(store, mode="r")
    assert again[:].tolist() == values
    assert again.to_arrow().to_pylist() == values
    assert again.to_awkward().tolist() == values


@here
@pytest.mark.parametrize("kind", ["arrow-string", "arrow-large-string"])
@pytest.mark.parametrize("items", [["ü", "a"], ["日本", "x", ""], ["a", "𝒳"], ["é" * 40]])
def test_their_encoder_counts_characters(listings: Listings, kind: str, items: list[str]) -> None:
    """The listing takes the lengths of `str`, which are no lengths in bytes. Ours are."""
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        store=store, shape=len(items), chunks=len(items), dtype=kind, compressors=None
    )
    array[:] = items
    assert listings.decode_numpy(bytes(store["c/0"]), (len(items),), kind) == items
    assert array[:].tolist() == items
    theirs = listings.encode(items, kind)
    assert theirs != bytes(store["c/0"])
    try:
        read_back = listings.decode_numpy(theirs, (len(items),), kind)
    except UnicodeDecodeError:
        read_back = None
    assert read_back != items
    store["c/0"] = theirs  # not read as something else
    with pytest.raises(DecodeError, match=r"is not UTF-8|bytes follow the last element"):
        array[:]
    with pytest.raises(DecodeError, match=r"is not UTF-8|bytes follow the last element"):
        array.to_arrow()


@here
def test_the_rounding(listings: Listings) -> None:
    for kind, (_, width, _) in KINDS.items():
        for count in range(100):
            names = listings.decode(bytes(10), (count,), kind)
            assert names["offset_end_idx"] == (count + 1) * width
            assert names["data_start_idx"] == text_layouts.data_start(count, width)


@here
def test_the_metadata(listings: Listings) -> None:
    """The two `data_type`s of the document, with the codec `bytes` and with no codec at all."""
    for shown, name in zip(listings.metadata, ("string", "binary"), strict=True):
        assert shown["data_type"] == {"name": name}
        items = [b"a", "ü".encode(), b""]
        chunk = text_layouts.write_offsets(items, 4)
        for codecs in ([], ["bytes"], [{"name": "bytes", "configuration": {"endian": "little"}}]):
            array = stored(shown["data_type"], codecs, 3, {"c/0": chunk})
            values = [item.decode() for item in items] if name == "string" else items
            assert array[:].tolist() == values
            assert array.to_arrow().type == (pa.string() if name == "string" else pa.binary())


@here
def test_the_usage(listings: Listings) -> None:
    names: dict[str, Any] = {"zarr": zarr}
    exec(listings.usage, names)
    assert names["g"]["string_array"][:].tolist() == ["the", "quick", "brown", "fox"]


# -- arrays in every arrangement ----------------------------------------------------------------


def blocks(values: np.ndarray, chunks: tuple[int, ...], fill: Any) -> dict[tuple[int, ...], list]:
    """The elements of every chunk, those beyond the edge of the array being the fill value."""
    if not chunks:
        return {(): values.reshape(-1).tolist()}
    counts = [-(-n // size) for n, size in zip(values.shape, chunks, strict=True)]
    whole = np.empty([n * size for n, size in zip(counts, chunks, strict=True)], object)
    whole[...] = fill
    whole[tuple(slice(n) for n in values.shape)] = values
    found = {}
    for place in product(*map(range, counts)):
        region = tuple(slice(c * n, (c + 1) * n) for c, n in zip(place, chunks, strict=True))
        block = whole[region]
        found[place] = block.reshape(-1).tolist()
    return found


@every_kind
@pytest.mark.parametrize("fill", ["", "fü\0"])
@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((10,), (10,)),
        ((10,), (4,)),
        ((10,), (1,)),
        ((3,), (20,)),
        ((4, 6), (2, 3)),
        ((5, 7), (2, 3)),
        ((3, 4, 5), (2, 3, 4)),
        ((), ()),
    ],
)
def test_plain_chunks(
    kind: str, fill: str, shape: tuple[int, ...], chunks: tuple[int, ...]
) -> None:
    """The stored bytes are those of the document's encoder, also at the edges."""
    text, width, _ = KINDS[kind]
    fill_value = fill if text else fill.encode()
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        store=store, shape=shape, chunks=chunks, dtype=kind, compressors=None,
        fill_value=fill_value,
    )  # fmt: skip
    check_reading(array, full(shape, fill_value), kind)  # nothing is stored yet
    values = values_of(kind, shape)
    array[...] = values
    for place, items in blocks(values, chunks, fill_value).items():
        key = "/".join(["c", *map(str, place)])
        if all(item == fill_value for item in items):
            assert key not in store
            continue
        assert bytes(store[key]) == text_layouts.write_offsets(encoded(items), width)
    check_reading(zarr.open_array(store, mode="r"), values, kind)


@every_kind
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_arrays_without_elements(kind: str, shape: tuple[int, ...]) -> None:
    store: dict[str, bytes] = {}
    array = zarr.create_array(store=store, shape=shape, dtype=kind)
    array[...] = values_of(kind, shape)
    check_reading(array, values_of(kind, shape), kind)
    assert set(store) == {"zarr.json"}


@every_kind
def test_missing_chunks(kind: str) -> None:
    fill = "leer" if KINDS[kind][0] else b"leer\xff"
    store: dict[str, bytes] = {}
    array = zarr.create_array(store=store, shape=(9, 4), chunks=(3, 2), dtype=kind, fill_value=fill)
    values = full((9, 4), fill)
    values[4:8, 1:] = values_of(kind, (4, 3))
    array[4:8, 1:] = values[4:8, 1:]
    assert set(store) == {"zarr.json", "c/1/0", "c/1/1", "c/2/0", "c/2/1"}
    check_reading(array, values, kind)
    array[3:6] = fill  # nothing but the fill value: the chunks go
    values[3:6] = fill
    assert set(store) == {"zarr.json", "c/2/0", "c/2/1"}
    check_reading(array, values, kind)
    strict = zarr.open_array(store, mode="r", on_missing="raise")
    for read in (strict.to_arrow, strict.to_awkward, lambda: strict[:]):
        with pytest.raises(ChunkNotFoundError):
            read()
    assert strict.to_arrow(np.s_[6:]).to_pylist() == values[6:].reshape(-1).tolist()


def _crc32c(data: bytes) -> bytes:
    assert google_crc32c.value(data[:-4]).to_bytes(4, "little") == data[-4:]
    return data[:-4]


def _shuffled(data: bytes) -> bytes:
    """Bytes in groups of four: all first ones, all second ones …; what is over, as it is."""
    groups = len(data) // 4
    whole = np.frombuffer(data, np.uint8, 4 * groups).reshape(4, groups).T.tobytes()
    return whole + data[4 * groups :]


COMPRESSORS: dict[str, tuple[dict[str, Any], Callable[[bytes], Any]]] = {
    "blosc": (
        {"cname": "zstd", "clevel": 5, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 0},
        numcodecs.Blosc().decode,
    ),
    "gzip": ({"level": 5}, numcodecs.GZip().decode),
    "zstd": ({"level": 3, "checksum": True}, numcodecs.Zstd().decode),
    "crc32c": ({}, _crc32c),
    "conditional": ({"codecs": [{"name": "crc32c"}]}, lambda data: _crc32c(data[1:])),
    "numcodecs.adler32": ({}, numcodecs.Adler32().decode),
    "numcodecs.blosc": ({"cname": "lz4", "clevel": 5, "shuffle": 1}, numcodecs.Blosc().decode),
    "numcodecs.bz2": ({"level": 1}, numcodecs.BZ2().decode),
    "numcodecs.crc32": ({}, numcodecs.CRC32().decode),
    "numcodecs.crc32c": ({}, numcodecs.CRC32C().decode),
    "numcodecs.fletcher32": ({}, numcodecs.Fletcher32().decode),
    "numcodecs.gzip": ({"level": 1}, numcodecs.GZip().decode),
    "numcodecs.jenkins_lookup3": ({"initval": 7}, numcodecs.JenkinsLookup3(7).decode),
    "numcodecs.lz4": ({"acceleration": 1}, numcodecs.LZ4().decode),
    "numcodecs.lzma": ({"preset": 1}, numcodecs.LZMA().decode),
    "numcodecs.shuffle": ({"elementsize": 4}, _shuffled),
    "numcodecs.zlib": ({"level": 1}, numcodecs.Zlib().decode),
    "numcodecs.zstd": ({"level": 1}, numcodecs.Zstd().decode),
}
"""Every codec behind the array-to-bytes codec: a configuration, and another library's decoder."""


def test_every_compressor_is_in_the_table() -> None:
    assert set(COMPRESSORS) == BYTES_TO_BYTES


@every_kind
@pytest.mark.parametrize("name", COMPRESSORS)
def test_under_every_compressor(kind: str, name: str) -> None:
    configuration, decode = COMPRESSORS[name]
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        store=store, shape=(7, 5), chunks=(3, 2), dtype=kind,
        compressors=[{"name": name, "configuration": configuration}],
    )  # fmt: skip
    names = [codec["name"] for codec in json.loads(store["zarr.json"])["codecs"]]
    assert names[0] == "bytes"
    assert names[1] in (name, name.removeprefix("numcodecs."))
    values = values_of(kind, (7, 5))
    array[:] = values
    fill = "" if KINDS[kind][0] else b""
    for place, items in blocks(values, (3, 2), fill).items():
        chunk = bytes(store["/".join(["c", *map(str, place)])])
        plain = bytes(bytearray(decode(chunk)))
        assert plain == text_layouts.write_offsets(encoded(items), KINDS[kind][1])
    check_reading(zarr.open_array(store, mode="r"), values, kind)


def inner_chunks(shard: bytes, count: int) -> list[bytes | None]:
    """The inner chunks of a shard whose index is at its end: offset and length of each, and a
    checksum of all."""
    index = _crc32c(shard[-(16 * count + 4) :])
    places = np.frombuffer(index, "<u8").reshape(-1, 2).tolist()
    return [None if at == 2**64 - 1 else shard[at : at + size] for at, size in places]


@every_kind
@pytest.mark.parametrize("compressor", [None, "zstd"])
def test_inside_shards(kind: str, compressor: str | None) -> None:
    text, width, _ = KINDS[kind]
    fill = "fü" if text else b"\xff\0"
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        store=store, shape=(7, 9), chunks=(2, 3), shards=(4, 6), dtype=kind, fill_value=fill,
        compressors=None if compressor is None else [{"name": compressor}],
    )  # fmt: skip
    values = full((7, 9), fill)
    check_reading(array, values, kind)
    values[1:, 2:] = values_of(kind, (6, 7))
    array[1:, 2:] = values[1:, 2:]
    for place, items in blocks(values, (4, 6), fill).items():
        shard = bytes(store["/".join(["c", *map(str, place)])])
        square = np.empty(24, object)
        square[:] = items
        expected = blocks(square.reshape(4, 6), (2, 3), fill)
        for found, inner in zip(inner_chunks(shard, 4), expected.values(), strict=True):
            if all(item == fill for item in inner):
                assert found is None
                continue
            assert found is not None
            plain = found if compressor is None else bytes(numcodecs.Zstd().decode(found))
            assert plain == text_layouts.write_offsets(encoded(inner), width)
    check_reading(zarr.open_array(store, mode="r"), values, kind)


@every_kind
def test_a_chunk_becomes_arrow_without_a_copy(kind: str) -> None:
    """Both buffers of every Arrow array lie in the memory of the stored chunk."""
    store: dict[str, bytes] = {}
    array = zarr.create_array(store=store, shape=25, chunks=10, dtype=kind, compressors=None)
    array[:] = values_of(kind, (25,))
    arrow = array.to_arrow()
    assert arrow.num_chunks == 3
    for place, piece in enumerate(arrow.chunks):
        memory = np.frombuffer(store[f"c/{place}"], np.uint8)
        begin, end = memory.ctypes.data, memory.ctypes.data + memory.size
        for buffer in piece.buffers()[1:]:
            assert begin <= buffer.address
            assert buffer.address + buffer.size <= end


@every_kind
@pytest.mark.parametrize("endian", ["little", "big"])
def test_offsets_in_either_byte_order(kind: str, endian: text_layouts.Order) -> None:
    codec = {"name": "bytes", "configuration": {"endian": endian}}
    values = values_of(kind, (10,))
    chunk = text_layouts.write_offsets(encoded(values), KINDS[kind][1], endian)
    check_reading(stored({"name": NAMES[kind]}, [codec], 10, {"c/0": chunk}), values, kind)
    store: dict[str, bytes] = {}
    array = zarr.create_array(
        store=store, shape=10, chunks=10, dtype=kind, serializer=codec, compressors=None
    )
    array[:] = values
    assert bytes(store["c/0"]) == chunk
    check_reading(array, values, kind)


@every_kind
def test_column_major(kind: str) -> None:
    store: dict[str, bytes] = {}
    values = values_of(kind, (4, 6))
    for text in ("string", "object"):
        array = zarr.create_array(
            store=store, shape=(4, 6), chunks=(4, 6), dtype=kind, order="F", compressors=None,
            overwrite=True, text=text,
        )  # fmt: skip
        array[:] = values
        items = encoded(values.T.reshape(-1).tolist())
        assert bytes(store["c/0/0"]) == text_layouts.write_offsets(items, KINDS[kind][1])
        assert array[:].tolist() == values.tolist()
        assert array.to_arrow().to_pylist() == values.reshape(-1).tolist()
        assert array.to_awkward().tolist() == values.tolist()


@settings(max_examples=120)
@given(st.data(), st.sampled_from(list(KINDS)))
def test_selections(data: st.DataObject, kind: str) -> None:
    """`to_arrow(…)` and `to_awkward(…)` are what `[…]` gives, whatever is selected."""
    shape = data.draw(hn.array_shapes(min_dims=1, max_dims=3, max_side=6))
    chunks = tuple(data.draw(st.integers(1, n)) for n in shape)
    fill = "f" if KINDS[kind][0] else b"f"
    array = zarr.create_array(store={}, shape=shape, chunks=chunks, dtype=kind, fill_value=fill)
    values = full(shape, fill)
    written = data.draw(hn.basic_indices(shape, allow_ellipsis=False))
    part = values[written]
    values[written] = values_of(kind, np.shape(part)) if isinstance(part, np.ndarray) else fill
    array[written] = values[written]
    key = data.draw(
        hn.basic_indices(shape) | hn.integer_array_indices(shape) | hn.arrays(bool, shape)
    )
    expected = np.empty(np.shape(values[key]), object)
    expected[...] = values[key]
    arrow = array.to_arrow(key)
    arrow.validate(full=True)
    assert arrow.type == KINDS[kind][2]
    assert arrow.to_pylist() == expected.reshape(-1).tolist()
    awkward = array.to_awkward(key)
    assert (awkward.tolist() if expected.ndim else awkward) == expected.tolist()
    assert np.asarray(array[key], object).tolist() == expected.tolist()
