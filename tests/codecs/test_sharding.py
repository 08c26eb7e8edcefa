"""Shards: their index, their parts, what is missing and what is broken."""

from __future__ import annotations

import struct
from typing import Any

import google_crc32c
import numpy as np
import pytest

from omnizarr.codecs import Shard
from omnizarr.errors import ChecksumError, DecodeError, MetadataError
from omnizarr.model.store import ByteRange
from tests.codecs.support import BIG, INDEX, LITTLE, make, sharding, v3

MISSING = 2**64 - 1


def reader(data: bytes) -> Any:
    asked: list[ByteRange] = []

    def read(part: ByteRange) -> memoryview:
        asked.append(part)
        return memoryview(data)[part.start : part.stop]

    read.asked = asked  # type: ignore[attr-defined]
    return read


def shard_of(codec: Any, shape: tuple[int, ...], dtype: str = "<i2", fill: Any = 0) -> Shard:
    shard = make([codec], shape, dtype, fill).shard
    assert shard is not None
    return shard


@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("index", [[LITTLE], [BIG], INDEX, [BIG, "crc32c"], [BIG, {"id": "crc32"}]])
def test_index_and_parts(location: str, index: list[Any]) -> None:
    codec = sharding([2, 3], index_codecs=index, index_location=location)
    shard = shard_of(codec, (4, 9))
    assert shard.grid.shape == (2, 3)
    assert shard.chain.shape == (2, 3)
    chunks = {(0, 1): b"a" * 12, (1, 2): b"b" * 12}
    data = shard.assemble(chunks)
    assert data is not None
    read = reader(data)
    found = shard.read_index(read)
    assert found is not None
    assert len(read.asked) == 1
    assert found.lookup((0, 0)) is None
    for coordinates, expected in chunks.items():
        place = found.lookup(coordinates)
        assert place is not None
        assert data[place[0] : sum(place)] == expected
    assert {key: bytes(part) for key, part in shard.split(data).items()} == chunks
    assert [item[0] for item in found.items()] == sorted(chunks)


def test_layout_is_that_of_the_specification() -> None:
    shard = shard_of(sharding([1]), (2,))
    index = struct.pack("<4Q", 0, 2, MISSING, MISSING)
    checksum = google_crc32c.value(index).to_bytes(4, "little")
    assert shard.assemble({(0,): b"xy"}) == b"xy" + index + checksum
    start = shard_of(sharding([1], index_location="start", index_codecs=[LITTLE]), (2,))
    assert start.assemble({(1,): b"xy"}) == struct.pack("<4Q", MISSING, MISSING, 32, 2) + b"xy"


def test_nothing_stored() -> None:
    shard = shard_of(sharding([1]), (2,), fill=np.int16(9))
    assert shard.assemble({}) is None
    assert shard.read_index(lambda _: None) is None
    made = make([sharding([1])], (2,), "<i2", np.int16(9))
    empty = made.encode(np.full(2, 9, "<i2"))
    assert len(empty) == 36
    assert made.decode(empty).tolist() == [9, 9]


def test_missing_parts_are_fill() -> None:
    made = make([sharding([2])], (6,), "<f4", np.float32("nan"))
    array = np.array([1, 2, np.nan, np.nan, -0.0, 0.0], "<f4")
    data = made.encode(array)
    assert made.shard is not None
    assert sorted(made.shard.split(data)) == [(0,), (2,)]
    assert made.decode(data).tobytes() == array.tobytes()
    zero = make([sharding([2])], (2,), "<f4", np.float32(0))
    assert zero.decode(zero.encode(np.array([-0.0, -0.0], "<f4"))).tobytes() == b"\0\0\0\x80" * 2


def test_text_in_shards() -> None:
    dtype = np.dtypes.StringDType()
    array = np.array(["", "", "ä", "b"], dtype)
    made = make([sharding([2], ["vlen-utf8", "zstd"])], (4,), dtype, "")
    data = made.encode(array)
    assert made.shard is not None
    assert sorted(made.shard.split(data)) == [(1,)]
    assert made.decode(data).tolist() == array.tolist()


def test_where_partial_access_is_possible() -> None:
    assert make([sharding([2])], (4,), "<i2").shard is not None
    assert make([sharding([2]), "crc32c"], (4,), "<i2").shard is None
    assert make([v3("transpose", order=[0]), sharding([2])], (4,), "<i2").shard is None
    nested = shard_of(sharding([4], [sharding([2])]), (8,))
    assert nested.chain.shard is not None


def test_transposed_shard_divides_the_transposed_shape() -> None:
    codecs = [v3("transpose", order=[1, 0]), sharding([5, 2])]
    made = make(codecs, (4, 10), "<i2")
    array = np.arange(40, dtype="<i2").reshape(4, 10)
    assert np.array_equal(made.decode(made.encode(array)), array)
    with pytest.raises(MetadataError, match="do not divide"):
        make([sharding([5, 2])], (4, 10), "<i2")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"chunk_shape": [3]}, "do not divide"),
        ({"chunk_shape": [2, 2]}, "do not divide"),
        ({"chunk_shape": [0]}, "at least 1"),
        ({"chunk_shape": [2.5]}, "integers"),
        ({"chunk_shape": "2"}, "integers"),
        ({"index_codecs": [LITTLE, "gzip"]}, "fixed size"),
        ({"index_codecs": [LITTLE, "zstd"]}, "fixed size"),
        ({"index_location": "middle"}, "index_location"),
        ({"colour": "red"}, "colour"),
        ({"codecs": "bytes"}, "list"),
        ({"codecs": [{"configuration": {}}]}, "name"),
    ],
)
def test_metadata_that_cannot_be_honoured(options: dict[str, Any], match: str) -> None:
    given = {"chunk_shape": [2], "codecs": [LITTLE], "index_codecs": INDEX, **options}
    with pytest.raises(MetadataError, match=match):
        make([v3("sharding_indexed", **given)], (4,), "<i2")


@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("size", [0, 1, 20, 36, 39])
def test_truncated(location: str, size: int) -> None:
    made = make([sharding([1], index_location=location)], (2,), "<i2", np.int16(7))
    data = bytes(made.encode(np.array([1, 2], "<i2")))
    assert len(data) == 40
    with pytest.raises(DecodeError):
        made.decode(data[:size])
    assert made.shard is not None
    with pytest.raises(DecodeError):
        made.shard.split(data[:size])


@pytest.mark.parametrize(
    "entry",
    [(0, MISSING), (MISSING, 0), (100, 2), (0, 100), (2**63, 2), (2**64 - 2, 4), (2, 2**63)],
)
def test_index_that_points_outside(entry: tuple[int, int]) -> None:
    made = make([sharding([1], index_codecs=[LITTLE])], (2,), "<i2")
    data = b"\1\0\2\0" + struct.pack("<4Q", 0, 2, *entry)
    with pytest.raises(DecodeError):
        made.decode(data)
    assert made.shard is not None
    with pytest.raises(DecodeError):
        made.shard.split(data)


def test_flipped_index() -> None:
    made = make([sharding([1])], (2,), "<i2")
    data = bytearray(made.encode(np.array([1, 2], "<i2")))
    data[8] ^= 1
    with pytest.raises(ChecksumError):
        made.decode(data)


def test_an_error_names_the_inner_chunk() -> None:
    made = make([sharding([1], [LITTLE, "crc32c"])], (3,), "<i2")
    data = bytearray(made.encode(np.array([1, 2, 3], "<i2")))
    data[6] ^= 1
    with pytest.raises(ChecksumError, match=r"inner chunk \(1,\).*crc32c"):
        made.decode(data)


def test_dialect_of_2023() -> None:
    codec = v3("sharding_indexed", chunk_shape=[2], codecs=[v3("gzip", level=5)])
    made = make([codec], (4,), "<i2", np.int16(3))
    array = np.array([1, 2, 3, 3], "<i2")
    with_checksum = bytes(made.encode(array))
    without = with_checksum[:-4]
    assert int.from_bytes(with_checksum[-4:], "little") == google_crc32c.value(without[-32:])
    for data in (with_checksum, without):
        assert np.array_equal(made.decode(data), array)
    bare = struct.pack("<4Q", *[MISSING] * 4)
    assert made.decode(bare).tolist() == [3, 3, 3, 3]


def test_read_by_others() -> None:
    import zarr

    store: Any = zarr.storage.MemoryStore()
    other = zarr.create_array(
        store, shape=(8, 6), shards=(4, 6), chunks=(2, 3), dtype="int16", fill_value=0
    )
    array = np.arange(48, dtype="<i2").reshape(8, 6)
    array[:2] = 0
    other[:] = array
    document = other.metadata.to_dict()["codecs"]
    made = make(list(document), (4, 6), "<i2", np.int16(0))
    from zarr.core.buffer import default_buffer_prototype
    from zarr.core.sync import sync

    for row in range(2):
        data = sync(store.get(f"c/{row}/0", default_buffer_prototype())).to_bytes()
        assert np.array_equal(made.decode(data), array[4 * row : 4 * row + 4])
        buffer = default_buffer_prototype().buffer.from_bytes(made.encode(array[4:]))
        sync(store.set(f"c/{row}/0", buffer))
    assert np.array_equal(zarr.open_array(store, mode="r")[:], np.tile(array[4:], (2, 1)))


def test_fill_behind_other_codecs() -> None:
    array = np.array([7.0, 7.0, 1.0, 2.0])
    codecs = [v3("cast_value", data_type="int16"), sharding([2])]
    made = make(codecs, (4,), "<f8", 7.0)
    data = made.encode(array)
    assert len(data) == 4 + 36  # one inner chunk is left out
    assert made.decode(data).tolist() == array.tolist()
    # A fill value that the codecs before cannot encode stands for nothing.
    unknown = make(codecs, (4,), "<f8", np.nan)
    assert len(unknown.encode(array)) == 8 + 36
    with pytest.raises(DecodeError, match="missing"):
        unknown.decode(data)
