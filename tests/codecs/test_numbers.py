"""Codecs that change numbers: against numcodecs where it has them, else against their texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from omnizarr.errors import DecodeError, EncodeError, MetadataError
from tests.codecs.support import BIG, LITTLE, make, v3

FLOATS = hnp.arrays("<f8", (3, 5), elements=st.floats(-1e6, 1e6, width=64))


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        {"id": "delta", "dtype": "<f8"},
        {"id": "delta", "dtype": "<f8", "astype": "<f4"},
        {"id": "fixedscaleoffset", "offset": 10, "scale": 4, "dtype": "<f8", "astype": "<i4"},
        {"id": "fixedscaleoffset", "offset": 0.5, "scale": 10, "dtype": "<f8"},
        {"id": "quantize", "digits": 2, "dtype": "<f8"},
        {"id": "quantize", "digits": -1, "dtype": "<f8", "astype": "<f4"},
        {"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"},
        {"id": "bitround", "keepbits": 7},
        {"id": "shuffle", "elementsize": 8},
        {"id": "lz4"},
        {"id": "zlib", "level": 3},
        {"id": "crc32"},
        {"id": "fletcher32"},
        {"id": "jenkins_lookup3"},
        {"id": "adler32"},
        {"id": "base64"},
    ],
    ids=lambda config: "-".join(map(str, config.values())),
)
@given(array=FLOATS)
def test_like_numcodecs(config: dict[str, Any], array: np.ndarray) -> None:
    import numcodecs

    theirs = numcodecs.get_codec(dict(config))
    ours = make([config], array.shape, "<f8")
    expected = np.asarray(bytes(np.ascontiguousarray(theirs.encode(array.copy())).data))
    encoded = bytes(ours.encode(np.asfortranarray(array)))
    assert encoded == expected.tobytes()
    decoded = np.asarray(theirs.decode(np.frombuffer(encoded, "u1")))
    if config["id"] == "bitround":
        decoded = np.frombuffer(encoded, "<f8")
    assert ours.decode(encoded).tobytes() == decoded.tobytes()


def test_fletcher32_of_no_data() -> None:
    made = make([{"id": "fletcher32"}], (0,), "u1")
    encoded = bytes(made.encode(np.empty(0, "u1")))
    assert encoded == bytes(4)
    assert made.decode(encoded).shape == (0,)


def test_numcodecs_packbits() -> None:
    import numcodecs

    array = np.random.default_rng(0).integers(0, 2, (3, 5)).astype(bool)
    made = make([{"id": "packbits"}], (3, 5), bool)
    encoded = bytes(made.encode(np.asfortranarray(array)))
    assert encoded == numcodecs.PackBits().encode(array).tobytes()
    assert np.array_equal(made.decode(encoded), array)
    with pytest.raises(DecodeError):
        made.decode(b"\x07" + encoded[1:])


def test_numcodecs_packbits_never_loses_bits() -> None:
    made = make([{"id": "packbits"}], (4,), "<u4")
    bits = np.array([0, 1, 256, 257], "<u4")
    assert made.decode(made.encode(bits)).tolist() == bits.tolist()
    with pytest.raises(EncodeError, match="use it for booleans"):
        made.encode(np.array([0, 1, 256, 5], "<u4"))


def test_packbits_of_the_registry() -> None:
    array = np.array([1, 0, 0, 1, 1, 0, 0, 0, 1], bool)
    assert bytes(make(["packbits"], (9,), bool).encode(array)) == bytes([0b00011001, 1])
    first = make([v3("packbits", padding_encoding="first_byte")], (9,), bool)
    assert bytes(first.encode(array)) == bytes([7, 0b00011001, 1])
    last = make([v3("packbits", padding_encoding="last_byte")], (9,), bool)
    assert bytes(last.encode(array)) == bytes([0b00011001, 1, 7])
    assert np.array_equal(last.decode(bytes([0b00011001, 1, 7])), array)
    with pytest.raises(DecodeError):
        last.decode(bytes([0b00011001, 1, 3]))


@pytest.mark.parametrize("dtype", ["i1", "<i2", ">i4", "<u2", "<f4", "<c8", ">f8"])
def test_packbits_of_whole_types_is_bytes(dtype: str) -> None:
    array = np.arange(-5, 7).astype(dtype)
    made = make(["packbits"], (12,), dtype)
    assert bytes(made.encode(array)) == array.astype(np.dtype(dtype).newbyteorder("<")).tobytes()
    assert made.decode(made.encode(array)).tobytes() == array.tobytes()


def test_packbits_of_some_bits() -> None:
    array = np.array([-4, 3, -1, 0], "i1")
    made = make([v3("packbits", first_bit=0, last_bit=2)], (4,), "i1")
    assert len(bytes(made.encode(array))) == 2
    assert made.decode(made.encode(array)).tolist() == array.tolist()
    unsigned = make([v3("packbits", first_bit=4, last_bit=7)], (2,), "u1")
    assert unsigned.decode(unsigned.encode(np.array([0xAB, 0x5F], "u1"))).tolist() == [0xA0, 0x50]
    with pytest.raises(MetadataError):
        make([v3("packbits", last_bit=8)], (2,), "u1")


def test_packbits_extends_signs_all_the_way() -> None:
    made = make([v3("packbits", first_bit=1, last_bit=3)], (3,), ">i4")
    assert made.decode(b"\x1e\x01").tolist() == [-4, 6, -8]


def test_packbits_of_zarrs_without_the_last_byte() -> None:
    """A byte of padding that comes first cannot be missing: that would be a chunk that was cut."""
    array = np.arange(6, dtype="<i2")
    last = make([v3("packbits", padding_encoding="last_byte")], (6,), "<i2")
    assert last.decode(array.tobytes()).tolist() == array.tolist()
    assert last.decode(last.encode(array)).tolist() == array.tolist()
    first = make([v3("packbits", padding_encoding="first_byte")], (6,), "<i2")
    with pytest.raises(DecodeError, match="zarrs"):
        first.decode(array.tobytes())


@pytest.mark.parametrize("dtype", ["V3", "S2", "U2", [("a", "i4")]])
def test_packbits_packs_numbers(dtype: Any) -> None:
    with pytest.raises(MetadataError, match="packs numbers"):
        make(["packbits"], (3,), np.dtype(dtype))


def test_packbits_of_small_types() -> None:
    import ml_dtypes

    array = np.array([-8, 7, -1, 0, 3]).astype(ml_dtypes.int4)
    made = make(["packbits"], (5,), array.dtype)
    assert bytes(made.encode(array)) == bytes([0x78, 0x0F, 0x03])
    assert made.decode(bytes([0x78, 0x0F, 0x03])).tolist() == array.tolist()


def test_bitround_of_integers() -> None:
    made = make([v3("bitround", keepbits=3), LITTLE], (6,), "<i2")
    array = np.array([0, 7, 9, 100, -100, 32767], "<i2")
    assert np.frombuffer(made.encode(array), "<i2").tolist() == [0, 7, 8, 96, -96, 28672]
    small = make([v3("bitround", keepbits=1), LITTLE], (3,), "i1")
    assert np.frombuffer(small.encode(np.array([-128, 127, 5], "i1")), "i1").tolist() == [
        -128,
        64,
        4,
    ]


def test_bitround_of_the_largest_integers() -> None:
    """What would round up past the type is cut; nothing wraps."""
    made = make([v3("bitround", keepbits=2), LITTLE], (3,), "<u8")
    array = np.array([2**64 - 1, 7 << 61, 5 << 61], "<u8")
    assert np.frombuffer(made.encode(array), "<u8").tolist() == [3 << 62, 3 << 62, 1 << 63]
    dates = make([v3("bitround", keepbits=4), BIG], (2,), ">M8[s]")
    moments = np.array([1000, "NaT"], ">M8[s]")
    assert np.frombuffer(dates.encode(moments), ">i8").tolist() == [1024, -(2**63)]


def test_bitround_of_complex_and_small_floats() -> None:
    import ml_dtypes

    pair = np.dtype([("real", ml_dtypes.bfloat16), ("imag", ml_dtypes.bfloat16)])
    for dtype in (np.dtype("<c8"), np.dtype(">c16"), pair):
        array = np.zeros(2, dtype)
        parts = array.view(
            dtype["real"] if dtype.names else f"{dtype.str[0]}f{dtype.itemsize // 2}"
        )
        parts[:] = [1.3, -2.7, np.nan, 3.0]
        made = make([v3("bitround", keepbits=1), LITTLE], (2,), dtype)
        found = np.asarray(made.decode(made.encode(array))).view(parts.dtype).astype(float)
        assert found[[0, 1, 3]].tolist() == [1.5, -3.0, 3.0]
        assert np.isnan(found[2])


def test_bitround_keeps_nan_and_all_bits_there_are() -> None:
    made = make([v3("bitround", keepbits=1), LITTLE], (3,), "<f4")
    array = np.frombuffer(b"\xff\xff\xff\x7f" + np.array([1.6, np.inf], "<f4").tobytes(), "<f4")
    found = np.frombuffer(made.encode(array), "<f4")
    assert np.isnan(found[0])
    assert found[1:].tolist() == [1.5, np.inf]
    every = make([v3("bitround", keepbits=24), LITTLE], (3,), "<f4")
    assert bytes(every.encode(array)) == array.tobytes()
    with pytest.raises(MetadataError, match="keepbits"):  # numcodecs alone knows none
        make([v3("bitround", keepbits=0), LITTLE], (3,), "<f4")


def test_scale_offset() -> None:
    made = make([v3("scale_offset", offset=5, scale=2), LITTLE], (3,), "<f8")
    array = np.array([5.0, 6.0, 0.5])
    assert np.frombuffer(made.encode(array), "<f8").tolist() == [0.0, 2.0, -9.0]
    assert made.decode(made.encode(array)).tolist() == array.tolist()
    whole = make([v3("scale_offset", offset=5, scale=2), LITTLE], (2,), "u1")
    assert whole.decode(whole.encode(np.array([5, 100], "u1"))).tolist() == [5, 100]
    with pytest.raises(EncodeError):
        whole.encode(np.array([4, 5], "u1"))
    with pytest.raises(DecodeError):
        whole.decode(b"\x01\x02")
    limits = make([v3("scale_offset", offset=100), LITTLE], (2,), "i1")
    with pytest.raises(DecodeError, match="range"):
        limits.decode(b"\x00\x1c")
    turned = make([v3("scale_offset", scale=-1), LITTLE], (2,), "i1")
    with pytest.raises(EncodeError, match="range"):
        turned.encode(np.array([1, -128], "i1"))
    with pytest.raises(DecodeError, match="range"):
        turned.decode(b"\x01\x80")
    far = make([v3("scale_offset", offset=-(2**63), scale=1), LITTLE], (1,), "<i8")
    assert far.decode(far.encode(np.array([-5], "<i8"))).tolist() == [-5]
    with pytest.raises(MetadataError):
        make([v3("scale_offset", scale=0), LITTLE], (2,), "f4")
    with pytest.raises(MetadataError):
        make([v3("scale_offset", scale=0.5), LITTLE], (2,), "i4")


ROUNDED = {
    "nearest-even": [2, 2, -2, 4],
    "towards-zero": [2, 1, -1, 3],
    "towards-positive": [3, 2, -1, 4],
    "towards-negative": [2, 1, -2, 3],
    "nearest-away": [3, 2, -2, 4],
}


@pytest.mark.parametrize("rounding", ROUNDED)
def test_cast_value_rounds(rounding: str) -> None:
    made = make([v3("cast_value", data_type="int16", rounding=rounding), LITTLE], (4,), "<f8")
    encoded = made.encode(np.array([2.5, 1.5, -1.5, 3.7]))
    assert np.frombuffer(encoded, "<i2").tolist() == ROUNDED[rounding]
    assert made.decode(encoded).tolist() == ROUNDED[rounding]


def test_cast_value_out_of_range() -> None:
    array = np.array([-1.0, 256.0, 300.0, 7.0])
    cast = {"data_type": "uint8"}
    with pytest.raises(EncodeError, match="out_of_range"):
        make([v3("cast_value", **cast), LITTLE], (4,), "<f8").encode(array)
    clamp = make([v3("cast_value", **cast, out_of_range="clamp"), LITTLE], (4,), "<f8")
    assert bytes(clamp.encode(array)) == bytes([0, 255, 255, 7])
    wrap = make([v3("cast_value", **cast, out_of_range="wrap"), LITTLE], (4,), "<f8")
    assert bytes(wrap.encode(array)) == bytes([255, 0, 44, 7])
    for made in (clamp, wrap):
        with pytest.raises(EncodeError, match="NaN"):
            made.encode(np.array([np.nan, 0, 0, 0]))
    half = make([v3("cast_value", data_type="float16"), LITTLE], (1,), "<f8")
    with pytest.raises(EncodeError):
        half.encode(np.array([1e6]))
    wide = make([v3("cast_value", data_type="int64"), LITTLE], (1,), "<f8")
    with pytest.raises(EncodeError):
        wide.encode(np.array([2.0**63]))


def test_cast_value_maps_scalars() -> None:
    scalar_map = {"encode": [["NaN", 255]], "decode": [[255, "NaN"]]}
    made = make([v3("cast_value", data_type="uint8", scalar_map=scalar_map), LITTLE], (2,), "<f8")
    encoded = made.encode(np.array([np.nan, 3.0]))
    assert bytes(encoded) == bytes([255, 3])
    assert np.isnan(made.decode(encoded)[0])


@pytest.mark.parametrize(
    ("shape", "expected"),
    [([[0, 1], [2]], (6, 4)), ([-1], (24,)), ([6, [2]], (6, 4)), ([[0], [1, 2]], (2, 12)),
     ([2, -1], (2, 12))],
)  # fmt: skip
def test_reshape(shape: list[Any], expected: tuple[int, ...]) -> None:
    array = np.arange(24, dtype="<i2").reshape(2, 3, 4)
    made = make([v3("reshape", shape=shape), v3("transpose", order="F"), LITTLE], (2, 3, 4), "<i2")
    assert bytes(made.encode(array)) == array.reshape(expected).T.tobytes()
    assert np.array_equal(made.decode(made.encode(np.asfortranarray(array))), array)


@pytest.mark.parametrize("shape", [[5], [[1], [0], 4], [-1, -1], [[0, 7]], [0, 24], "24", [[2], 6]])
def test_reshape_that_cannot_be(shape: Any) -> None:
    with pytest.raises(MetadataError):
        make([v3("reshape", shape=shape), LITTLE], (2, 3, 4), "<i2")


def test_n5_blocks_are_padded_or_cut() -> None:
    codecs = [v3("n5_default", codecs=[v3("transpose", order=[1, 0]), BIG])]
    made = make(codecs, (2, 3), "<i2", np.int16(9))
    array = np.arange(6, dtype="<i2").reshape(2, 3)
    header = b"\0\0\0\2\0\0\0\2\0\0\0\3"
    assert bytes(made.encode(array)) == header + array.T.astype(">i2").tobytes()
    small = b"\0\0\0\2\0\0\0\1\0\0\0\2" + b"\0\1\0\2"
    assert made.decode(small).tolist() == [[1, 2, 9], [9, 9, 9]]
    large = b"\0\0\0\2\0\0\0\3\0\0\0\3" + np.arange(9, dtype=">i2").reshape(3, 3).T.tobytes()
    assert made.decode(large).tolist() == [[0, 1, 2], [3, 4, 5]]
    for bad in (header, b"\0\1" + small[2:], b"\0\0\0\1" + small[4:], b"\0\0\0\2" + b"\xff" * 8):
        with pytest.raises((DecodeError, MemoryError)):
            made.decode(bad)


def test_conditional() -> None:
    made = make([LITTLE, v3("conditional", codecs=["zstd", "gzip"])], (1000,), "<i4")
    easy = np.zeros(1000, "<i4")
    hard = np.frombuffer(np.random.default_rng(0).bytes(4000), "<i4")
    assert bytes(made.encode(easy))[0] == 1
    assert bytes(made.encode(hard))[0] == 0
    for array in (easy, hard):
        assert np.array_equal(made.decode(made.encode(array)), array)
    checked = make([LITTLE, v3("conditional", codecs=["numcodecs.shuffle", "zstd", "crc32c"])],
                   (1000,), "<i4")  # fmt: skip
    assert bytes(checked.encode(hard))[0] == 0b101
    broken = bytearray(checked.encode(hard))
    broken[50] ^= 1
    with pytest.raises(DecodeError):
        checked.decode(broken)
    import zlib

    by_hand = b"\x02" + zlib.compress(easy, 1, 31)
    assert np.array_equal(made.decode(by_hand), easy)
    with pytest.raises(DecodeError):
        made.decode(b"\x08" + easy.tobytes())


def test_zfpy_and_pcodec_of_both_byte_orders() -> None:
    array = np.linspace(0, 1, 60).reshape(3, 4, 5)
    for order in "<>":
        exact = make([{"id": "zfpy", "mode": 5}], array.shape, order + "f8")
        given = np.asfortranarray(array.astype(order + "f8"))
        assert np.array_equal(exact.decode(exact.encode(given)), array)
        rough = make([{"id": "zfpy", "mode": 4, "tolerance": 1e-3}], array.shape, order + "f4")
        assert np.allclose(rough.decode(rough.encode(given.astype("f4"))), array, atol=1e-3)
        numbers = make([{"id": "pcodec"}], array.shape, order + "f8")
        assert np.array_equal(numbers.decode(numbers.encode(given)), array)
    with pytest.raises(DecodeError):
        exact.decode(bytes(exact.encode(given))[:-16])
