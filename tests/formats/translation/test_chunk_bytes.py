"""When chunks of one array are chunks of another: never wrongly so, and where it is expected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from omnizarr import codecs
from omnizarr.errors import ZarrError
from omnizarr.formats.translation.chunk_bytes import (
    encoding_of,
    same_encoding,
    same_fill,
    same_keys,
)
from omnizarr.formats.translation.codecs import parts_of, portable
from omnizarr.model.array import ArrayModel
from omnizarr.model.axes import inner_chunks
from omnizarr.model.codec import CodecSpec
from omnizarr.model.dtypes import from_numpy
from omnizarr.model.grids import regular_grid
from omnizarr.model.keys import ChunkKeys

SHAPE = (4, 6)


def spec(name: str, **options: Any) -> CodecSpec:
    return CodecSpec(name, options)


def model(dtype: Any, *specs: CodecSpec, fill: Any = None) -> ArrayModel:
    grid = regular_grid(SHAPE, SHAPE)
    return ArrayModel(SHAPE, from_numpy(dtype), grid, ChunkKeys("v2", "."), specs, fill)


def shards(*inner: dict[str, Any], chunk_shape: tuple[int, int] = (2, 3), **more: Any) -> CodecSpec:
    index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    options = {"chunk_shape": list(chunk_shape), "codecs": list(inner), "index_codecs": index}
    return CodecSpec("sharding_indexed", {**options, **more})


LITTLE, BIG, PLAIN = spec("bytes", endian="little"), spec("bytes", endian="big"), spec("bytes")
REVERSED = spec("transpose", order=[1, 0])
DELTAS = [
    spec("numcodecs.delta", dtype=dtype, astype=astype)
    for dtype in ("<i4", ">i4")
    for astype in ("<i4", ">i4", "<i8")
]
COMPRESSORS = [
    spec("gzip", level=1), spec("numcodecs.gzip", level=9), spec("numcodecs.zlib", level=1),
    spec("blosc", typesize=4, cname="lz4", clevel=1, shuffle="shuffle", blocksize=0),
    spec("numcodecs.blosc", cname="zlib", clevel=3, shuffle=0),
    spec("zstd", level=1, checksum=True), spec("numcodecs.zstd", level=3),
    spec("numcodecs.lzma", preset=1), spec("numcodecs.bz2", level=1), spec("numcodecs.lz4"),
    spec("crc32c"), spec("numcodecs.crc32c"), spec("numcodecs.crc32"), spec("numcodecs.adler32"),
    spec("numcodecs.crc32", location="end"), spec("numcodecs.crc32c", location="start"),
    spec("numcodecs.shuffle", elementsize=0), spec("numcodecs.shuffle", elementsize=4),
    spec("numcodecs.shuffle", elementsize=2), spec("numcodecs.fletcher32"),
]  # fmt: skip
JSON_LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
SHARDS = [
    shards(JSON_LITTLE),
    shards(JSON_LITTLE, {"name": "gzip", "configuration": {"level": 1}}),
    shards(JSON_LITTLE, {"name": "gzip", "configuration": {"level": 7}}),
    shards({"name": "bytes", "configuration": {"endian": "big"}}),
    shards(JSON_LITTLE, index_location="start"),
    shards(JSON_LITTLE, index_codecs=[JSON_LITTLE]),
    shards(JSON_LITTLE, chunk_shape=(4, 3)),
]

pipelines = st.one_of(
    st.tuples(
        st.lists(st.sampled_from([REVERSED, spec("transpose", order=[0, 1])]), max_size=1),
        st.lists(st.sampled_from(DELTAS), max_size=1),
        st.lists(st.sampled_from([LITTLE, BIG, PLAIN]), max_size=1),
        st.lists(st.sampled_from(COMPRESSORS), max_size=2),
    ).map(lambda parts: tuple(one for part in parts for one in part)),
    st.sampled_from(SHARDS).map(lambda one: (one,)),
)
arrays = st.builds(
    lambda dtype, specs: model(dtype, *specs), st.sampled_from(["<i4", ">i4"]), pipelines
)


def chain(array: ArrayModel) -> codecs.Chain:
    return codecs.chain(array.codecs, SHAPE, array.data_type, array.fill)


VALUES = (np.arange(24) * 1001 % 7919).reshape(SHAPE).astype("i4")


def encoded(array: ArrayModel) -> bytes:
    return bytes(chain(array).encode(VALUES.astype(array.dtype)))


def all_pipelines() -> Iterator[tuple[CodecSpec, ...]]:
    nothing: tuple[CodecSpec, ...] = ()
    for transposes in (nothing, (REVERSED,), (spec("transpose", order=[0, 1]),)):
        for filters in (nothing, *((one,) for one in DELTAS)):
            for serializer in (nothing, (LITTLE,), (BIG,), (PLAIN,)):
                for compressors in (nothing, *((one,) for one in COMPRESSORS)):
                    yield (*transposes, *filters, *serializer, *compressors)
    yield from ((one,) for one in SHARDS)


@pytest.mark.slow
def test_what_counts_as_the_same_is_the_same() -> None:
    """Copying without decoding relies on it: the same encoding decodes to the same values."""
    groups: dict[Any, list[ArrayModel]] = {}
    for dtype in ("<i4", ">i4"):
        for specs in all_pipelines():
            array = model(dtype, *specs)
            groups.setdefault(encoding_of(array), []).append(array)
    shared = 0
    for first, *others in groups.values():
        data = encoded(first)
        assert np.array_equal(chain(first).decode(data), VALUES)
        for other in others:
            shared += 1
            assert same_encoding(first, other)
            assert np.array_equal(chain(other).decode(data), VALUES), (first.codecs, other.codecs)
            assert np.array_equal(chain(first).decode(encoded(other)), VALUES)
    assert len(groups) > 400
    assert shared > 2000


@pytest.mark.slow
@settings(max_examples=300)
@given(arrays, st.booleans())
def test_a_portable_pipeline_stores_the_same_bytes(array: ArrayModel, native: bool) -> None:
    try:
        data = encoded(array)
        data_type, specs = portable(array, native=native)
    except ZarrError:
        assume(False)
    again = replace(array, data_type=data_type, codecs=specs)
    assert encoding_of(again) == encoding_of(array)
    assert np.array_equal(chain(again).decode(data), VALUES)
    if native:
        assert data_type == array.data_type.native


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (model("<i4", PLAIN), model("<i4", LITTLE)),
        (model(">i4", PLAIN), model("<i4", BIG)),
        (model("u1", PLAIN), model("u1", LITTLE)),
        (model("<i4", PLAIN, spec("numcodecs.gzip", level=1)), model("<i4", LITTLE, spec("gzip"))),
        (
            model("<i4", spec("numcodecs.delta", dtype="<i4")),
            model("<i4", spec("numcodecs.delta", dtype="<i4", astype="<i4"), LITTLE),
        ),
        (
            model(">i4", spec("numcodecs.delta", dtype=">i4")),
            model("<i4", spec("numcodecs.delta", dtype="<i4"), BIG),
        ),
        (
            model("<i4", spec("transpose", order="F"), PLAIN),
            model("<i4", REVERSED, LITTLE),
        ),
        (
            model("<i4", PLAIN, spec("numcodecs.shuffle", elementsize="0")),
            model("<i4", LITTLE, spec("numcodecs.shuffle", elementsize=4)),
        ),
        (model("<f8", PLAIN, spec("numcodecs.pcodec")), model("<f8", spec("numcodecs.pcodec"))),
        (model("<i4", PLAIN, fill=np.int32(0)), model("<i4", PLAIN, fill=None)),
    ],
)
def test_the_same(one: ArrayModel, other: ArrayModel) -> None:
    assert same_encoding(one, other)
    assert same_encoding(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (model("<i4", PLAIN), model(">i4", PLAIN)),
        (model("<i4", PLAIN), model("<u4", PLAIN)),
        (model("<M8[s]", PLAIN), model("<M8[ms]", PLAIN)),
        (model("<i4", PLAIN), model("<i4", REVERSED, PLAIN)),
        (model("<i4", PLAIN, spec("gzip")), model("<i4", PLAIN, spec("numcodecs.zlib"))),
        (model("<i4", PLAIN, fill=np.int32(0)), model("<i4", PLAIN, fill=np.int32(1))),
        (
            model("<i4", PLAIN, spec("numcodecs.lzma", format=3, filters=[{"id": 33}])),
            model("<i4", PLAIN, spec("numcodecs.lzma", format=3, filters=[{"id": 3}])),
        ),
        (
            model("<f8", spec("numcodecs.fixedscaleoffset", offset=0, scale=10, dtype="<f8")),
            model("<f8", spec("numcodecs.fixedscaleoffset", offset=1, scale=10, dtype="<f8")),
        ),
    ],
)
def test_not_the_same(one: ArrayModel, other: ArrayModel) -> None:
    assert not same_encoding(one, other)


def test_other_chunks_are_other_chunks() -> None:
    one = model("<i4", PLAIN)
    assert not same_encoding(one, replace(one, grid=regular_grid(SHAPE, (2, 6))))


def test_fill_values_bit_for_bit() -> None:
    nan = np.frombuffer(b"\x01\0\0\0\0\0\xf8\x7f", "<f8")[0]
    one = model("<f8", PLAIN, fill=np.float64("nan"))
    assert same_fill(one, model(">f8", PLAIN, fill=np.float64("nan")))
    assert not same_fill(one, model("<f8", PLAIN, fill=nan))
    assert not same_fill(
        model("<f8", PLAIN, fill=np.float64(0.0)), model("<f8", PLAIN, fill=np.float64(-0.0))
    )


@pytest.mark.parametrize(
    ("one", "other", "ndim", "same"),
    [
        (ChunkKeys("v2", "."), ChunkKeys("v2", "."), 2, True),
        (ChunkKeys("v2", "."), ChunkKeys("v2", "/"), 2, False),
        (ChunkKeys("v2", "."), ChunkKeys("v2", "/"), 1, True),
        (ChunkKeys("v2", "/"), ChunkKeys("reversed", "/"), 2, False),
        (ChunkKeys("v2", "/"), ChunkKeys("reversed", "/"), 1, True),
        (ChunkKeys("v2", "."), ChunkKeys("default", "."), 0, False),
    ],
)
def test_keys(one: ChunkKeys, other: ChunkKeys, ndim: int, same: bool) -> None:
    assert same_keys(one, other, ndim) is same


def test_shards_taken_apart() -> None:
    sharded = (spec("transpose", order=[1, 0]), shards(JSON_LITTLE, {"name": "crc32c"}))
    assert inner_chunks(sharded, 2) == (3, 2)
    assert inner_chunks((PLAIN,), 2) is None
    parts = parts_of(sharded)
    assert (parts.filters, parts.serializer, parts.compressors) == ([], LITTLE, [spec("crc32c")])
