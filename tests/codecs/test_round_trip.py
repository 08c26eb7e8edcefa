"""What is encoded decodes to itself: every codec, every layout of the input and of the output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.codecs.support import BIG, LITTLE, LOSSLESS, layouts, make, sharding, v3

SHAPE = (8, 12)


def values(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    # Below 2³¹, so that also casts to float64 and differences are exact.
    return np.cumsum(rng.integers(-5, 6, SHAPE), axis=1).astype("<i4")


@pytest.mark.parametrize("name", LOSSLESS)
def test_every_layout(name: str) -> None:
    chain = make(LOSSLESS[name], SHAPE, "<i4")
    expected = values(1)
    encoded = bytes(chain.encode(expected))
    for layout, array in layouts(expected).items():
        assert np.array_equal(array, expected), layout
        assert bytes(chain.encode(array)) == encoded, layout
    assert np.array_equal(chain.decode(encoded), expected)
    assert np.array_equal(chain.decode(memoryview(encoded)), expected)
    for layout, out in layouts(np.zeros_like(expected)).items():
        if not out.flags.writeable:
            continue
        chain.decode_into(encoded, out)
        assert np.array_equal(out, expected), layout


@pytest.mark.parametrize("name", LOSSLESS)
def test_broadcast_input(name: str) -> None:
    chain = make(LOSSLESS[name], SHAPE, "<i4")
    array = np.broadcast_to(np.arange(12, dtype="<i4"), SHAPE)
    assert np.array_equal(chain.decode(chain.encode(array)), array)


@pytest.mark.parametrize("name", LOSSLESS)
def test_other_dtype_of_the_target(name: str) -> None:
    chain = make(LOSSLESS[name], SHAPE, "<i4")
    out = np.zeros(SHAPE, "f8")
    chain.decode_into(chain.encode(values(2)), out)
    assert np.array_equal(out, values(2))


COMPRESSORS = [
    [],
    ["zstd"],
    [v3("blosc", cname="lz4", clevel=5)],
    [{"id": "lz4"}],
    [v3("gzip", level=1)],
    ["crc32c"],
]
DTYPES = [
    "b1", "i1", "u1", "<i2", ">i2", "<u8", ">u4", "<f2", "<f4", ">f8", "<c8", ">c16", "S5", "<U3",
    ">U3", "V7", "<M8[ns]", ">m8[25s]",
]  # fmt: skip


@settings(max_examples=300)
@given(st.data())
def test_dtypes(data: st.DataObject) -> None:
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES)))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, max_side=5))
    count = int(np.prod(shape)) * dtype.itemsize
    raw = data.draw(st.binary(min_size=count, max_size=count))
    array = np.frombuffer(bytearray(raw), dtype).reshape(shape)
    if dtype.kind == "b":
        array = np.frombuffer(bytes(b & 1 for b in raw), dtype).reshape(shape)
    if dtype.kind == "U":
        code_points = np.frombuffer(raw, np.uint32) % 0xD800
        array = code_points.astype(dtype.str[0] + "u4").view(dtype).reshape(shape)
    serial = data.draw(st.sampled_from([LITTLE, BIG, "bytes"]))
    compressor = data.draw(st.sampled_from(COMPRESSORS))
    if serial == "bytes" or data.draw(st.booleans()):
        order = data.draw(st.permutations(range(len(shape))))
        codecs: list[Any] = [v3("transpose", order=list(order)), serial, *compressor]
    else:
        codecs = [serial, *compressor]
    chain = make(codecs, shape, dtype)
    layout = data.draw(st.sampled_from(sorted(layouts(array))))
    encoded = chain.encode(layouts(array)[layout])
    decoded = chain.decode(encoded)
    assert decoded.dtype == dtype
    assert decoded.shape == shape
    assert decoded.tobytes() == array.tobytes()
    out = layouts(np.zeros_like(array))[data.draw(st.sampled_from(["C", "F", "strided"]))]
    chain.decode_into(encoded, out)
    assert out.tobytes() == array.tobytes()


STRUCT = np.dtype(
    [("a", "<i2"), ("b", ">f4", (2, 2)), ("c", [("x", "<u8"), ("s", "S3")]), ("t", "<M8[s]")]
)


@pytest.mark.parametrize("serial", [LITTLE, BIG, "bytes"])
@pytest.mark.parametrize("compressor", COMPRESSORS, ids=str)
def test_structured(serial: Any, compressor: list[Any]) -> None:
    rng = np.random.default_rng(0)
    raw = rng.integers(0, 128, 6 * STRUCT.itemsize, dtype="u1").tobytes()
    array = np.frombuffer(raw, STRUCT).reshape(2, 3)
    chain = make([serial, *compressor], (2, 3), STRUCT, None)
    encoded = chain.encode(np.asfortranarray(array))
    assert chain.decode(encoded).tobytes() == raw
    out = np.zeros((2, 3), STRUCT)
    chain.decode_into(encoded, out)
    assert out.tobytes() == raw


def test_structured_is_swapped_field_by_field() -> None:
    array = np.array([(1, 2.0)], [("a", "<i2"), ("b", "<f4")])
    assert bytes(make([BIG], (1,), array.dtype, None).encode(array)) == (
        b"\x00\x01" + np.array(2, ">f4").tobytes()
    )


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "int4", "uint2"])
@pytest.mark.parametrize("serial", [LITTLE, BIG])
def test_types_of_ml_dtypes(name: str, serial: Any) -> None:
    import ml_dtypes

    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(getattr(ml_dtypes, name))
    for codecs in ([serial], [serial, "zstd"], [serial, {"id": "lz4"}]):
        chain = make(codecs, (2, 3), array.dtype)
        encoded = chain.encode(array[::-1])
        assert chain.decode(encoded).tobytes() == array[::-1].tobytes()
        out = np.zeros((2, 3), array.dtype)
        chain.decode_into(encoded, out)
        assert out.tobytes() == array[::-1].tobytes()
    if name == "bfloat16" and serial == BIG:
        assert bytes(make([BIG], (2, 3), array.dtype).encode(array))[2:4] == b"\x3f\x80"


@settings(max_examples=60)
@given(st.data())
def test_shards(data: st.DataObject) -> None:
    inner = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=3))
    factors = data.draw(st.tuples(*[st.integers(1, 3) for _ in inner]))
    shape = tuple(n * f for n, f in zip(inner, factors, strict=True))
    array = data.draw(hnp.arrays("<i2", shape, elements=st.integers(0, 1)))
    location = data.draw(st.sampled_from(["start", "end"]))
    compressor = data.draw(st.sampled_from(COMPRESSORS))
    codecs = [sharding(list(inner), [LITTLE, *compressor], index_location=location)]
    chain = make(codecs, shape, "<i2", np.int16(0))
    encoded = chain.encode(array)
    assert np.array_equal(chain.decode(encoded), array)
    assert chain.shard is not None
    parts = chain.shard.split(encoded)
    for coordinates, part in parts.items():
        block = chain.shard.chain.decode(part)
        place = tuple(slice(c * n, c * n + n) for c, n in zip(coordinates, inner, strict=True))
        assert np.array_equal(block, array[place])
        assert block.any()  # what is only fill is not stored
