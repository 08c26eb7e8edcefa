"""Chunks and shards by size, `chunks="10 MB"`, and shards of several lengths."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr as zarr
from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.nodes.creation.chunk_shapes import normalize_chunks, normalize_shards, parse_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("10MB", 10_000_000), ("10 MB", 10_000_000), ("256kB", 256_000), ("1 MiB", 1 << 20),
        ("1.5 GiB", 3 << 29), ("2m", 2_000_000), ("512 B", 512), ("10", None), ("big", None),
        ("", None), ("MB", None), ("1e6 B", None), ("-1 MB", None), ("1 iB", None),
    ],
)  # fmt: skip
def test_sizes(text: str, size: int | None) -> None:
    assert parse_bytes(text) == size


@given(
    shape=st.lists(st.integers(0, 5000), max_size=4).map(tuple),
    itemsize=st.sampled_from([1, 2, 8, 16]),
    size=st.integers(1, 10**8),
)
def test_chunks_of_a_size_stay_near_it(shape: tuple[int, ...], itemsize: int, size: int) -> None:
    chunks = normalize_chunks(f"{size} B", shape, itemsize)
    lengths = [edge for edge in chunks if isinstance(edge, int)]
    nbytes = prod(lengths) * itemsize
    assert all(1 <= edge <= max(1, n) for edge, n in zip(lengths, shape, strict=True))
    assert nbytes <= max(size, itemsize)
    whole = prod(max(1, n) for n in shape) * itemsize
    assert nbytes in (whole, itemsize) or 3 * nbytes >= size


@given(
    shape=st.lists(st.integers(1, 5000), min_size=1, max_size=3).map(tuple),
    chunk=st.integers(1, 64),
    size=st.integers(1, 10**8),
)
def test_shards_of_a_size_hold_whole_chunks(shape: tuple[int, ...], chunk: int, size: int) -> None:
    chunks = (chunk,) * len(shape)
    if prod(chunks) * 4 > size:
        with pytest.raises(MetadataError, match="smaller than one chunk"):
            normalize_shards(f"{size} B", shape, chunks, 4)
        return
    shards = normalize_shards(f"{size} B", shape, chunks, 4)
    assert shards is not None
    assert all(shard % chunk == 0 for shard in shards)
    assert prod(shards) * 4 <= size


def test_a_whole_array_by_size() -> None:
    array = zarr.create_array({}, shape=(4000, 3000), dtype="f4", chunks="1MB", shards="20 MB")
    assert array.chunks == (500, 500) or prod(array.chunks) * 4 > 900_000
    assert array.shards is not None and 15_000_000 < prod(array.shards) * 4 <= 20_000_000
    array[10, 10] = 1
    assert array[10, 10] == 1
    with zarr.config.set({"array.target_shard_size_bytes": 5_000_000}):
        auto = zarr.create_array({}, shape=(4000, 3000), dtype="f4", chunks="1MB", shards="auto")
    assert auto.shards is not None and prod(auto.shards) * 4 <= 5_000_000


@pytest.mark.parametrize("value", ["big", "10", "0 MB", b"10MB", ""])
def test_other_text_is_refused(value: str) -> None:
    for name in ("chunks", "shards"):
        with pytest.raises(MetadataError, match=f"{name} must be .* or a size such as '10 MB'"):
            zarr.create_array({}, **{"shape": (10, 10), "chunks": 5, name: value})


def test_an_index_location_is_not_forgotten() -> None:
    shards = {"shape": (10,), "index_location": "end"}
    assert zarr.create_array({}, shape=10, chunks=5, shards=shards).shards == (10,)
    first = {**shards, "index_location": "start"}
    array = zarr.create_array({}, shape=10, chunks=5, shards=first, data=None, dtype="i4")
    array[:] = range(10)
    assert array.metadata.codecs[0]["configuration"]["index_location"] == "start"
    assert zarr.open_array(array.store)[:].tolist() == list(range(10))
    with pytest.raises(MetadataError, match="must be start or end"):
        zarr.create_array({}, shape=10, chunks=5, shards={**shards, "index_location": "middle"})
    with pytest.raises(TypeError, match="index_location"):
        zarr.create_array({}, shape=10, chunks=5, shards={"shape": (10,), "index_locaton": "end"})


def test_shards_of_several_lengths() -> None:
    values = np.arange(125 * 8).reshape(125, 8)
    array = zarr.create_array(
        {}, data=values, chunks=(10, 4), shards=[[60, 40, 30], [4, 4]], dtype="i4"
    )
    assert array.shards == ((60, 40, 30), 4)
    assert array.write_chunk_sizes == ((60, 40, 25), (4, 4))
    assert array.nchunks_initialized == (6 + 4 + 3) * 2
    array[55:103, 3:6] = -1
    values[55:103, 3:6] = -1
    np.testing.assert_array_equal(array[:], values)
    np.testing.assert_array_equal(array[95:120:3, 2], values[95:120:3, 2])
    copied = zarr.from_array({}, data=array)
    assert copied.metadata == array.metadata
    np.testing.assert_array_equal(copied[:], values)


def test_a_resize_adds_a_shard_of_whole_chunks() -> None:
    array = zarr.create_array({}, shape=100, chunks=10, shards=[[60, 40]], dtype="i4")
    array.append(np.ones(5, "i4"))
    assert array.shards == ((60, 40, 10),)
    assert array[:].sum() == 5
    array.resize(70)
    array.resize(104)
    assert array.shards == ((60, 40, 10),)
    assert array[:].sum() == 0


@pytest.mark.parametrize(
    ("shards", "reason"),
    [([[60, 45, 15]], "divisible"), ([[60, 0]], "divisible"), ([[60, 20]], "sum to 80"),
     ([[60, 60], [1]], "as many dimensions"), ([[40, 40]], "sum to 80")],
)  # fmt: skip
def test_lengths_of_shards_that_do_not_fit_are_refused(shards: Any, reason: str) -> None:
    with pytest.raises(MetadataError, match=reason):
        zarr.create_array({}, shape=120, chunks=10, shards=shards, dtype="i4")


def test_shards_of_several_lengths_need_format_3() -> None:
    for name in (2, "3-draft2020-10"):
        with pytest.raises(UnsupportedError):
            zarr.create_array(
                {}, shape=120, chunks=10, shards=[[60, 40, 20]], dtype="i4", zarr_format=name
            )


def test_lengths_may_be_numpy_arrays() -> None:
    edges = np.array([60, 40, 20])
    assert zarr.create_array({}, shape=120, chunks=[edges], dtype="i4").chunks == ((60, 40, 20),)
    sharded = zarr.create_array({}, shape=120, chunks=10, shards=[edges], dtype="i4")
    assert sharded.shards == ((60, 40, 20),)


@pytest.mark.parametrize("chunks", [((50, 40),), ([90],), ((20,) * 4,), (np.array([10, 20]),)])
@pytest.mark.parametrize("name", [2, 3])
def test_a_list_that_ends_before_the_array_is_refused(chunks: Any, name: Any) -> None:
    with pytest.raises(MetadataError, match=r"sum to \d+, the array has 100; list all"):
        zarr.create_array({}, shape=100, chunks=chunks, dtype="i4", zarr_format=name)
    with pytest.raises(MetadataError, match="the array has 100"):
        zarr.rechunk(zarr.zeros(100), {}, chunks=chunks)


def test_a_list_may_end_with_a_short_chunk_or_behind_the_array() -> None:
    for chunks, expected in (((60, 40), 60), ((50, 50), 50), ((60, 60), 60)):
        assert zarr.create_array({}, shape=100, chunks=(chunks,), dtype="i4").chunks == (expected,)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_lengths_that_cannot_be_opened_are_not_stored(zarr_format: int) -> None:
    group = zarr.group(zarr_format=zarr_format)
    with pytest.raises(MetadataError, match=r"above 2\*\*63 - 1"):
        group.create_array("a", shape=(2, 1 << 63), dtype="u1", chunks=4)
    with pytest.raises(MetadataError, match="100 dimensions"):
        group.create_array("a", shape=(1,) * 100, dtype="u1")
    array = group.create_array("b", shape=4, dtype="u1")
    with pytest.raises(MetadataError, match=r"above 2\*\*63 - 1"):
        array.resize(1 << 63)
    assert [name for name, _ in group.arrays()] == ["b"]
    array.resize((1 << 63) - 1)
    assert group["b"].shape == ((1 << 63) - 1,)
