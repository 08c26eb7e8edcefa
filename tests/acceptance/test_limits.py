"""What reading, opening and hostile data may cost: memory, store operations, time."""

from __future__ import annotations

import bz2
import json
import lzma
import struct
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.runtime import native_core
from tests.acceptance import processes
from tests.acceptance.counting import CountingMapping

pytestmark = pytest.mark.slow

WORKER = "limits_worker.py"
MIB = 1 << 20
GIB = 1 << 30
Summary = Callable[[str], None]

# -- reading a whole array ------------------------------------------------------------------------
LAYOUTS: dict[str, dict[str, Any]] = {
    "16 MiB chunks": {"chunks": (2 * MIB,)},
    "256 KiB chunks": {"chunks": (32 * 1024,)},
    "16 KiB chunks": {"chunks": (2048,)},
    "16 MiB shards of 16 KiB": {"chunks": (2048,), "shards": (2 * MIB,)},
    "format 2, 16 MiB chunks": {"chunks": (2 * MIB,), "zarr_format": 2},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_whole_array(layout: str, tmp_path: Path, summary: Summary) -> None:
    """128 MiB are written and read in processes of their own: at most 64 MiB beyond the array."""
    store = str(tmp_path / "a.zarr")
    count = 16 * MIB
    zarr.create_array(store=store, shape=(count,), dtype="f8", **LAYOUTS[layout])
    written = processes.run(WORKER, "write_whole", store)
    read = processes.run(WORKER, "read_whole", store)
    assert read["nbytes"] == 128 * MIB
    assert read["sum"] == written["sum"]
    summary(
        f"limits: 128 MiB in {layout}: beyond the array, reading took "
        f"{read['extra'] / MIB:.0f} MiB and writing {written['extra'] / MIB:.0f} MiB"
    )
    assert read["extra"] <= 64 * MIB
    assert written["extra"] <= 96 * MIB


def test_chunks_that_cannot_be_decoded_in_pieces(tmp_path: Path) -> None:
    """Two frames in each of 8 chunks of 16 MiB: threads do not take the memory of a chunk each."""
    store = tmp_path / "a.zarr"
    values = np.random.default_rng(0).random((1024, 8 * 2048))
    zstd = [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}]
    array = zarr.create_array(
        store, shape=values.shape, chunks=(1024, 2048), dtype="f8", compressors=zstd
    )
    array[...] = values
    codec = numcodecs.Zstd(1)
    for chunk in range(8):
        data = values[:, chunk * 2048 : (chunk + 1) * 2048].tobytes()
        halves = data[: 8 * MIB], data[8 * MIB :]
        (store / "c" / "0" / str(chunk)).write_bytes(b"".join(map(codec.encode, halves)))
    read = processes.run(WORKER, "read_whole", str(store), "8")
    assert read["sum"] == values.sum(dtype="f8")
    assert read["extra"] <= 96 * MIB


@pytest.mark.parametrize("location", ["start", "end"])
def test_a_large_shard_that_is_changed(location: str, tmp_path: Path) -> None:
    if sys.platform != "linux" or native_core.core() is None:
        pytest.skip("without the native core a shard is encoded in memory")
    store = str(tmp_path / "a.zarr")
    shards = {"shape": (16 * MIB,), "index_location": location}
    array = zarr.create_array(
        store, shape=(16 * MIB,), chunks=(32 * 1024,), shards=shards, dtype="f8"
    )
    array[:1] = array[-1:] = 1
    changed = processes.run(WORKER, "change", store)
    read = processes.run(WORKER, "read_whole", store)
    assert read["sum"] == pytest.approx(changed["sum"] + 2)
    assert changed["extra"] <= 64 * MIB


# -- an array of a billion chunks -----------------------------------------------------------------
def cost(function: Callable[[], Any], store: CountingMapping) -> tuple[int, int]:
    """Store operations and peak of newly allocated memory."""
    function()
    store.reset()
    tracemalloc.start()
    try:
        function()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return store.total, peak


def actions(chunks: int, version: int, shards: bool) -> dict[str, tuple[int, int]]:
    store = CountingMapping()
    layout: dict[str, Any] = {"chunks": (100,), "shape": (chunks * 100,)}
    if shards:
        layout |= {"shards": (500,)}

    def create() -> Any:
        return zarr.create_array(
            store=store, name="a", dtype="i4", overwrite=True, zarr_format=version, **layout
        )

    found = {"create": cost(create, store)}
    array = create()
    array[:5] = 7
    array[-5:] = 8

    def corners() -> None:
        assert array[:5].tolist() == [7] * 5
        assert array[-5:].tolist() == [8] * 5
        assert array[::-1][-1] == 7 if chunks < 100 else True
        assert array.oindex[[0, array.shape[0] - 1]].tolist() == [7, 8]
        assert array.vindex[[0, array.shape[0] // 2]].tolist() == [7, 0]
        assert array.lazy[5:][::2][-1:].read().size == 1

    def write() -> None:
        array[array.shape[0] // 2 - 2 : array.shape[0] // 2] = 0

    def look() -> None:
        assert array.nchunks == chunks
        repr(array)
        str(array.info)

    found["open"] = cost(lambda: zarr.open_array(store, path="a", mode="r+"), store)
    found["read corners"] = cost(corners, store)
    found["write a little"] = cost(write, store)
    found["describe"] = cost(look, store)
    return found


@pytest.mark.parametrize(
    ("version", "shards"), [(2, False), (3, False), (3, True)], ids=["v2", "v3", "v3-sharded"]
)
def test_a_billion_chunks_cost_no_more_than_ten(version: int, shards: bool) -> None:
    small = actions(10, version, shards)
    large = actions(1_000_000_000, version, shards)
    for action in small:
        operations, memory = small[action]
        many_operations, more_memory = large[action]
        assert many_operations <= operations, f"{action}: {large[action]}, ten: {small[action]}"
        assert more_memory <= memory + 64 * 1024, f"{action}: {large[action]}, ten: {small[action]}"


@pytest.mark.parametrize("version", [2, 3])
def test_sparse_array_of_a_trillion_elements(version: int) -> None:
    store = CountingMapping()
    shape = (10_000, 10_000, 10_000)
    array = zarr.create_array(
        store=store, shape=shape, chunks=(10, 10, 10), dtype="u1", fill_value=9, zarr_format=version
    )
    assert array.size == 10**12
    assert array.nchunks == 10**9
    array[5000, 5000, 5000] = 1
    store.reset()
    assert array[4999:5002, 5000, 5000].tolist() == [9, 1, 9]
    assert store.total <= 6
    assert array[-1, -1, -1] == 9
    assert array[::5000, ::-5000, 0].tolist() == [[9, 9], [9, 9]]
    assert int(array.nchunks_initialized) == 1
    view = array.lazy[:, ::-1]
    assert view.shape == shape
    assert view[5000, 4999, 5000].read() == 1


def test_resize_of_a_huge_array_is_cheap() -> None:
    store = CountingMapping()
    array = zarr.create_array(store=store, shape=(10**11,), chunks=(100,), dtype="i4")
    array[:3] = 1
    store.reset()
    array.resize((10**12,))
    array.resize((50,))
    assert array[:4].tolist() == [1, 1, 1, 0]
    assert store.total <= 40


# -- bombs ----------------------------------------------------------------------------------------
BLOCK = 16 * MIB


def _zeros(total: int, step: int = MIB) -> Iterable[bytes]:
    block = bytes(step)
    for _ in range(total // step):
        yield block


def _zlib(total: int) -> bytes:
    """One stream: the same packed block again and again, then the checksum of all the zeros."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(BLOCK)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = struct.pack(">I", (total % 65521) << 16 | 1)
    return b"\x78\xda" + block * (total // BLOCK) + b"\x03\x00" + checksum


def _gzip(total: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return (packer.compress(bytes(BLOCK)) + packer.flush()) * (total // BLOCK)


def _bz2(total: int) -> bytes:
    return bz2.compress(bytes(BLOCK)) * (total // BLOCK)


def _lzma(total: int) -> bytes:
    return lzma.compress(bytes(BLOCK), preset=0) * (total // BLOCK)


def _zstd(total: int) -> bytes:
    return bytes(numcodecs.Zstd(1).encode(np.zeros(total, "u1")))


def _blosc(total: int) -> bytes:
    return bytes(numcodecs.Blosc("lz4", 5).encode(np.zeros(total, "u1")))


def _lz4(total: int) -> bytes:
    return bytes(numcodecs.LZ4().encode(np.zeros(total, "u1")))


def _lz4_lie(_: int) -> bytes:
    """The header says 1 GiB, the block holds nothing of the kind."""
    return struct.pack("<I", GIB) + bytes(numcodecs.LZ4().encode(np.zeros(1000, "u1")))[4:]


def _blosc_lie(_: int) -> bytes:
    data = bytearray(_blosc(8000))
    data[4:8] = struct.pack("<I", GIB)
    return bytes(data)


def _zstd_lie(_: int) -> bytes:
    """A frame header that declares 1 TiB, in a file of 16 bytes."""
    # Magic, descriptor (8-byte content size, single segment), size, one raw last block of 1 byte.
    return b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 40) + b"\x09\x00\x00"


BOMBS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, Callable[[int], bytes]]] = {
    "gzip": ({"id": "gzip", "level": 1}, {"name": "gzip", "configuration": {"level": 1}}, _gzip),
    "zlib": (
        {"id": "zlib", "level": 1},
        {"name": "numcodecs.zlib", "configuration": {"level": 1}},
        _zlib,
    ),
    "zstd": (
        {"id": "zstd", "level": 1},
        {"name": "zstd", "configuration": {"level": 1, "checksum": False}},
        _zstd,
    ),
    "blosc": (
        {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
        {
            "name": "blosc",
            "configuration": {
                "cname": "lz4",
                "clevel": 5,
                "shuffle": "shuffle",
                "typesize": 8,
                "blocksize": 0,
            },
        },
        _blosc,
    ),
    "lz4": (
        {"id": "lz4", "acceleration": 1},
        {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}},
        _lz4,
    ),
    "bz2": (
        {"id": "bz2", "level": 1},
        {"name": "numcodecs.bz2", "configuration": {"level": 1}},
        _bz2,
    ),
    "lzma": (
        {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None},
        {
            "name": "numcodecs.lzma",
            "configuration": {"format": 1, "check": -1, "preset": None, "filters": None},
        },
        _lzma,
    ),
}
BOMBS["lz4 header lies"] = (*BOMBS["lz4"][:2], _lz4_lie)
BOMBS["blosc header lies"] = (*BOMBS["blosc"][:2], _blosc_lie)
BOMBS["zstd header lies"] = (*BOMBS["zstd"][:2], _zstd_lie)


def v2_document(compressor: Any, **changes: Any) -> dict[str, Any]:
    return {
        "zarr_format": 2,
        "shape": [1000],
        "chunks": [1000],
        "dtype": "<f8",
        "compressor": compressor,
        "fill_value": 0.0,
        "order": "C",
        "filters": None,
        **changes,
    }


def v3_document(compressor: Any, **changes: Any) -> dict[str, Any]:
    tail = [] if compressor is None else [compressor]
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [1000],
        "data_type": "float64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1000]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, *tail],
        "fill_value": 0.0,
        "attributes": {},
        **changes,
    }


@pytest.fixture(scope="module")
def payloads() -> dict[str, bytes]:
    return {}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", BOMBS)
def test_bomb(name: str, version: int, tmp_path: Path, payloads: dict[str, bytes]) -> None:
    """A chunk of 8,000 bytes whose stored form unpacks to 1 GiB."""
    old, new, make = BOMBS[name]
    if name not in payloads:
        payloads[name] = make(GIB)
    for folder, payload in (("bomb", payloads[name]), ("sound", None)):
        root = tmp_path / folder
        root.mkdir()
        if version == 2:
            (root / ".zarray").write_text(json.dumps(v2_document(old)))
            chunk = root / "0"
        else:
            (root / "zarr.json").write_text(json.dumps(v3_document(new)))
            (root / "c").mkdir()
            chunk = root / "c" / "0"
        if payload is None:
            zarr.open_array(str(root), mode="r+")[...] = np.arange(1000)
        else:
            chunk.write_bytes(payload)
    before = processes.snapshot(tmp_path)
    result = processes.run(WORKER, "refused", tmp_path / "bomb", tmp_path / "sound")
    assert result["error"] is not None, "1 GiB was taken for 8,000 bytes"
    assert "ZarrError" in result["error"], result
    assert result["extra"] <= 32 * MIB, result
    assert result["seconds"] < 5
    assert name.split()[0] in result["text"]
    assert processes.snapshot(tmp_path) == before


@pytest.mark.parametrize("version", [2, 3])
def test_huge_chunk_with_a_tiny_file(version: int, tmp_path: Path) -> None:
    """A chunk shape of 2^40 elements, 16 bytes stored: a clean error before any allocation."""
    for folder in ("bomb", "sound"):
        root = tmp_path / folder
        (root / "c").mkdir(parents=True)
        length = 1 << 40 if folder == "bomb" else 2
        if version == 2:
            document = v2_document(None, shape=[length], chunks=[length])
            (root / ".zarray").write_text(json.dumps(document))
            (root / "0").write_bytes(bytes(16))
        else:
            grid = {"name": "regular", "configuration": {"chunk_shape": [length]}}
            document = v3_document(None, shape=[length], chunk_grid=grid)
            (root / "zarr.json").write_text(json.dumps(document))
            (root / "c" / "0").write_bytes(bytes(16))
    result = processes.run(WORKER, "refused", tmp_path / "bomb", tmp_path / "sound")
    assert result["error"] is not None
    assert "ZarrError" in result["error"], result
    assert result["extra"] <= 32 * MIB, result


@pytest.mark.parametrize("version", [2, 3])
def test_shape_of_two_to_the_62(version: int) -> None:
    """Sizes are exact, whatever they are; reading an element works; reading all is refused."""
    shape = [1 << 62, 1 << 62]
    if version == 2:
        document = v2_document(None, shape=shape, chunks=[10, 10])
        store = {".zarray": json.dumps(document).encode()}
    else:
        grid = {"name": "regular", "configuration": {"chunk_shape": [10, 10]}}
        store = {"zarr.json": json.dumps(v3_document(None, shape=shape, chunk_grid=grid)).encode()}
    array = zarr.open_array(store, mode="r+")
    assert array.size == 1 << 124
    assert array.nbytes == 1 << 127
    assert array[-1, -1] == 0.0
    array[-1, -1] = 5.0
    assert array[-1, -2:].tolist() == [0.0, 5.0]
    with pytest.raises((MemoryError, ValueError)):
        array[...]


def test_zip_bomb(tmp_path: Path) -> None:
    """A zip entry that inflates to 1 GiB is not inflated for a chunk of 8,000 bytes."""
    for name, count in (("bomb.zip", GIB), ("sound.zip", 8000)):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("zarr.json", json.dumps(v3_document(None)))
            with archive.open("c/0", "w", force_zip64=True) as entry:
                for block in _zeros(count, min(count, MIB)):
                    entry.write(block)
    result = processes.run(WORKER, "refused", tmp_path / "bomb.zip", tmp_path / "sound.zip")
    assert result["error"] is not None
    assert "ZarrError" in result["error"], result
    assert result["extra"] <= 32 * MIB, result
