"""What the core encodes is what the codecs would: their values, their options, their format."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numcodecs.blosc
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.codecs import Chain
from omnizarr.codecs.zstd import frame_sizes, is_one_frame
from tests.codecs.support import BIG, LITTLE, make, v3
from tests.native.chunks import decode, encode, encode_bytes, place
from tests.native.installed import needed

needed()

SIZES = (1, 7, 8, 15, 31, 32, 33, 127, 128, 129, 500, 1024, 4093, 9000, 40_000, 130_001)
SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")


def blosc(cname: str, clevel: int, shuffle: str, typesize: int, blocksize: int) -> Any:
    return v3("blosc", cname=cname, clevel=clevel, shuffle=shuffle, typesize=typesize,
              blocksize=blocksize)  # fmt: skip


def values(kind: str, count: int, dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "noise":
        width = np.dtype(dtype).itemsize
        return rng.integers(0, 256, count * width, np.uint8).view(dtype)
    steps = {
        "zeros": 0,
        "runs": rng.integers(0, 50, count) > 48,
        "walk": rng.integers(-3, 4, count),
    }
    return np.cumsum(np.broadcast_to(steps[kind], count)).astype(dtype)


def both_ways(chain: Chain, array: np.ndarray) -> bytes | None:
    """Encode with the core; the codecs in Python and the core give the array back."""
    encoded = encode(array, chain.layout)
    if encoded is None:
        return None
    assert len(encoded) <= chain.output.limit
    for data in (encoded, bytes(chain.encode(array))):
        assert chain.decode(data).tobytes() == array.tobytes()
        out = np.zeros_like(array)
        assert decode(chain, data, out)
        assert out.tobytes() == array.tobytes()
    return encoded


CODECS: dict[str, list[Any]] = {
    "raw": [LITTLE],
    "crc32c": [LITTLE, "crc32c"],
    "crc32c twice": [LITTLE, {"id": "crc32c", "location": "start"}, "crc32c"],
    "zstd": [LITTLE, "zstd"],
    "zstd checked": [BIG, v3("zstd", level=-5, checksum=True), "crc32c"],
    "zstd high": [LITTLE, v3("zstd", level=12, checksum=False)],
    "lz4": [LITTLE, {"id": "lz4", "acceleration": 1}],
    "lz4 fast": [LITTLE, {"id": "lz4", "acceleration": -1}, {"id": "crc32c", "location": "start"}],
    "gzip": [LITTLE, v3("gzip", level=5)],
    "gzip 0": [LITTLE, v3("gzip", level=0)],
    "gzip usual": [LITTLE, {"id": "gzip", "level": -1}],
    "zlib": [BIG, {"id": "zlib", "level": 4}, "crc32c"],
    "shuffle": [LITTLE, {"id": "shuffle", "elementsize": 4}],
    "shuffle zlib": [LITTLE, {"id": "shuffle", "elementsize": 0}, {"id": "zlib", "level": 1}],
    "shuffle between": [LITTLE, "crc32c", {"id": "shuffle", "elementsize": 5}, "crc32c", "zstd"],
    "shuffles": [LITTLE, {"id": "shuffle", "elementsize": 2}, {"id": "shuffle", "elementsize": 16}],
    "delta": [{"id": "delta", "dtype": "<i4"}, LITTLE, "zstd"],
}


@pytest.mark.parametrize("kind", ["zeros", "runs", "walk", "noise"])
@pytest.mark.parametrize("name", CODECS)
def test_both_ways(name: str, kind: str) -> None:
    for count in SIZES:
        array = values(kind, count, "<f4")
        assert both_ways(make(CODECS[name], (count,), "<f4"), array) is not None


@given(
    st.sampled_from(["lz4", "lz4hc", "zlib", "zstd", "blosclz"]),
    st.integers(0, 9),
    st.sampled_from(SHUFFLES),
    st.sampled_from([1, 2, 3, 4, 7, 8, 16, 17, 32, 255, 256, 300]),
    st.sampled_from([0, 0, 1, 128, 1000, 4096, 65536, 2**30]),
    st.sampled_from(["zeros", "runs", "walk", "noise"]),
    st.sampled_from(["u1", "<i2", "<f4", "<f8", "<c16"]),
    st.sampled_from(SIZES) | st.integers(1, 3000),
)
def test_blosc(
    cname: str, clevel: int, shuffle: str, typesize: int, blocksize: int, kind: str, dtype: str,
    count: int,
) -> None:  # fmt: skip
    """The header says what that of c-blosc says."""
    array = values(kind, count, dtype)
    codec = blosc(cname, clevel, shuffle, typesize, blocksize)
    chain = make([LITTLE, codec], (count,), dtype)
    encoded = both_ways(chain, array)
    if encoded is None:
        assert cname == "blosclz"
        assert decoded(chain, array)
        return
    theirs = bytes(chain.encode(array))
    ours = struct.unpack_from("<BBBBII", encoded)
    assert ours[:2] == (2, 1) and ours[3:] == struct.unpack_from("<BBBBII", theirs)[3:]
    if kind != "noise":
        # Noise is on the edge of being stored as it is.
        assert ours[2] == theirs[2]


def decoded(chain: Chain, array: np.ndarray) -> bool:
    out, encoded = np.zeros_like(array), chain.encode(array)
    return decode(chain, encoded, out) and out.tobytes() == chain.decode(encoded).tobytes()


@pytest.mark.parametrize("shuffle", SHUFFLES)
@pytest.mark.parametrize("cname", ["lz4", "lz4hc", "zlib", "zstd"])
def test_blosc_with_many_blocks(cname: str, shuffle: str) -> None:
    for dtype, clevel in (("u1", 3), ("<f4", 2), ("<f8", 1)):
        array = values("walk", 1_000_003 // np.dtype(dtype).itemsize, dtype)
        codec = blosc(cname, clevel, shuffle, np.dtype(dtype).itemsize, 0)
        chain = make([LITTLE, codec], array.shape, dtype)
        encoded = both_ways(chain, array)
        assert encoded is not None
        theirs = len(chain.encode(array))
        assert 0.8 * theirs < len(encoded) < 1.2 * theirs
        assert numcodecs.blosc.decompress(encoded) == array.tobytes()


def test_what_the_core_does_not_write_is_left() -> None:
    for cname in ("blosclz", "snappy", "zstd-0.7"):
        assert encode_bytes(b"a" * 999, (("blosc", cname, 5, 1, 4, 0),)) is None


def test_levels_and_checksums_are_honoured() -> None:
    data = values("walk", 30_000, "<i4").tobytes()

    def encoded(*codec: Any) -> bytes:
        found = encode_bytes(data, (codec,))
        assert found is not None
        return found

    for name, levels in (("gzip", (0, 1, 9)), ("zlib", (0, 1, 9))):
        sizes = [len(encoded(name, level)) for level in levels]
        assert sizes[0] > len(data) > sizes[1] > sizes[2]
        assert encoded(name, -1) == encoded(name, 6)
    assert zlib.decompress(encoded("gzip", 6), 31) == data
    assert zlib.decompress(encoded("zlib", 6)) == data
    frames = {level: encoded("zstd", level, True) for level in (-7, 0, 3, 19)}
    assert len(frames[-7]) > len(frames[3]) > len(frames[19]) and frames[0] == frames[3]
    assert encoded("zstd", 99, True) == encoded("zstd", 22, True)
    for frame in frames.values():
        assert is_one_frame(memoryview(frame)) and frame_sizes(frame) == (len(data), len(data))
        assert frame[4] & 4
    assert not encoded("zstd", 3, False)[4] & 4
    assert len(encoded("lz4", 1)) < len(encoded("lz4", 50))


@given(st.binary(max_size=600), st.integers(1, 40), st.booleans())
def test_shuffle_is_a_transposition(data: bytes, width: int, longer: bool) -> None:
    data = data * (20 if longer else 1) + b"x"
    used = len(data) // width * width
    expected = np.frombuffer(data[:used], "u1").reshape(-1, width).T.tobytes() + data[used:]
    assert encode_bytes(data, (("shuffle", width),)) == expected


@given(st.sampled_from([*"bBhHiIlL", "M8[s]", "m8[ms]"]), st.integers(1, 300), st.integers(0, 99))
def test_delta(dtype: str, count: int, seed: int) -> None:
    array = values("noise", count, dtype, seed)
    both = [{"id": "delta", "dtype": np.dtype(dtype).str}, {"id": "zlib", "level": 1}]
    assert both_ways(make(both, (count,), dtype, None), array) is not None
    chain = make(both[:1], (count,), dtype, None)
    assert both_ways(chain, array) == bytes(chain.encode(array))


@given(st.sampled_from(["<f2", "<f4", "<f8", "<c8", "<c16"]), st.integers(1, 60), st.data())
def test_bitround(dtype: str, keepbits: int, data: st.DataObject) -> None:
    """Every pattern of bits is rounded as in Python; integers are left to it."""
    chain = make([v3("bitround", keepbits=keepbits), LITTLE], (64,), dtype)
    array = values("noise", 64, dtype, data.draw(st.integers(0, 999)))
    array[:32] = values("walk", 32, dtype)
    edges = np.array([0x7FFF, 0xFFFF, 0x7C00, 0xFC00, 0x7F80, 0xFF80, 0, 0x8000], "<u2")
    array.view("<u2")[-8:] = edges
    encoded = encode(array, chain.layout)
    assert encoded == bytes(chain.encode(array))
    assert decoded(chain, array)
    chain = make([v3("bitround", keepbits=keepbits), LITTLE], (64,), "<i4")
    numbers = values("walk", 64, "<i4")
    assert encode(numbers, chain.layout) is None
    rounded = chain.decode(chain.encode(numbers))
    out = np.zeros_like(numbers)
    assert decode(chain, chain.encode(numbers), out)
    assert out.tobytes() == rounded.tobytes()


def gzipped(flags: int, between: bytes, payload: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = packer.compress(payload) + packer.flush()
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + between
    return head + body + struct.pack("<II", zlib.crc32(payload), len(payload))


def test_streams_that_are_left_to_the_codecs() -> None:
    payload = b"abcdefgh" * 20
    sound, packed = gzipped(0, b"", payload), zlib.compress(payload)
    head = struct.pack("<H", zlib.crc32(gzipped(2, b"", b"")[:10]) & 0xFFFF)
    usual = [sound, gzipped(8, b"name\0", payload), gzipped(4, b"\3\0abc", payload)]
    unusual = [
        gzipped(2, head, payload),
        sound + b"\0",
        sound[:90] if len(sound) > 90 else sound[:-1],
        gzipped(0, b"", payload[:80]) + gzipped(0, b"", payload[80:]),
        gzipped(0, b"", payload + b"a"),
        gzipped(0, b"", payload[1:]),
        packed,
        b"",
        b"\x1f\x8b\x08",
    ]
    out = np.zeros(len(payload), "u1")

    def is_taken(stream: bytes, name: str) -> bool:
        return place((out.shape, (0,), 1, ((name, 1),), 1, 999), stream, out)

    for streams, taken in ((usual, True), (unusual, False)):
        for stream in streams:
            assert is_taken(stream, "gzip") == taken
            assert not taken or out.tobytes() == payload
    assert is_taken(packed, "zlib")
    assert not any(is_taken(stream, "zlib") for stream in (packed + b"\0", packed[:-1], sound))
