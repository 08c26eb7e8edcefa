"""What stands between our codecs and the libraries below them."""

from __future__ import annotations

import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.codecs import zfp_library, zstd_library
from omnizarr.codecs.blosc_snappy import snappy
from omnizarr.codecs.loader import blosc, library
from omnizarr.errors import DecodeError, UnknownCodecError
from tests.codecs.support import LITTLE, make, v3


def test_zstd_without_kept_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where libzstd is not exported, numcodecs' functions give the same, errors included."""
    plain = zstd_library._plain(library("numcodecs.zstd", "zstd"))
    monkeypatch.setattr("omnizarr.codecs.zstd.zstd_functions", lambda: plain)
    array = np.arange(1000, dtype="<i4")
    made = make([LITTLE, v3("zstd", level=3, checksum=True)], (1000,), "<i4")
    data = bytes(made.encode(array))
    out = np.zeros(1000, "<i4")
    made.decode_into(data, out)
    assert np.array_equal(out, array)
    assert np.array_equal(made.decode(memoryview(data)), array)
    half = bytes(make([LITTLE, "zstd"], (500,), "<i4").encode(array[:500]))
    assert np.array_equal(
        make([LITTLE, "zstd"], (1000,), "<i4").decode(half + half)[:500], out[:500]
    )
    for bad in (half, data + data, data[:-1], data[:-5], b"", b"x" * 50, b"\x22\xb5\x2f\xfd0000"):
        with pytest.raises(DecodeError):
            made.decode(bad)


@given(st.binary(max_size=2000), st.integers(-5, 22), st.booleans())
def test_zstd_functions_agree(data: bytes, level: int, checksum: bool) -> None:
    ours = zstd_library.zstd_functions()
    plain = zstd_library._plain(library("numcodecs.zstd", "zstd"))
    for one, other in ((ours, plain), (plain, ours)):
        out = np.empty(len(data), np.uint8)
        assert other.decompress_into(one.compress(data, level, checksum), out) == len(data)
        assert out.tobytes() == data


def test_blosc_stays_in_its_thread() -> None:
    assert blosc().use_threads is False


def test_a_missing_library_is_named() -> None:
    with pytest.raises(UnknownCodecError, match=r"'example'.*no_such_package"):
        library("no_such_package.part", "example")


OPTIONAL = {
    "zfp": ("zfpy", v3("zfp", mode="reversible"), "<f4"),
    "numcodecs.zfpy": ("zfpy", {"id": "zfpy"}, "<f4"),
    "numcodecs.pcodec": ("pcodec", {"id": "pcodec"}, "<f4"),
    "numcodecs.msgpack2": ("msgpack", {"id": "msgpack2"}, object),
    "numcodecs.msgpack": ("msgpack", {"id": "msgpack"}, object),
}


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_codec_without_its_package(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is named, and how to get it, before any chunk is touched."""
    package, codec, dtype = OPTIONAL[name]
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, package + ".standalone", None)
    library.cache_clear()
    zfp_library.zfp_functions.cache_clear()
    try:
        with pytest.raises(UnknownCodecError, match=rf"'{package}'.*pip install {package}"):
            make([codec], (4,), dtype, None)
    finally:
        library.cache_clear()
        zfp_library.zfp_functions.cache_clear()


def test_snappy() -> None:
    # Literal "abcd", a copy of 8 from 4 back (it overlaps itself), literal "!", a copy of 4.
    block = bytes([17, 3 << 2]) + b"abcd" + bytes([(8 - 4) << 2 | 1, 4, 0]) + b"!"
    block += bytes([(4 - 1) << 2 | 2, 5, 0])
    assert snappy(memoryview(block), 17) == b"abcd" + b"abcdabcd" + b"!" + b"abcd"
    long = b"\x80\x02" + bytes([60 << 2, 255]) + bytes(range(256))
    assert snappy(memoryview(long), 256) == bytes(range(256))
    for bad in (b"", block[:-1], block[:5], bytes([4, 1, 9]), b"\xff" * 6, bytes([17, 0]) + b"a"):
        with pytest.raises(DecodeError):
            snappy(memoryview(bad), 17)


def test_blosc_whose_integers_are_written_as_floats() -> None:
    options = {"typesize": 4.0, "clevel": 5.0, "blocksize": 0.0, "cname": "lz4"}
    made = make(["bytes", {"name": "blosc", "configuration": options}], (3,), "<i4")
    array = np.arange(3, dtype="<i4")
    assert made.decode(made.encode(array)).tolist() == [0, 1, 2]


def test_blosc_of_snappy() -> None:
    """A container by hand: two shuffled blocks, the second shorter."""
    values = np.arange(384, dtype="<i4") // 3
    blocks = [values[:256], values[256:]]
    packed = []
    for block in blocks:
        raw = block.view("u1").reshape(-1, 4).T.tobytes()
        size = len(raw)
        length = bytes([size & 0x7F | 0x80, size >> 7])
        pieces = [raw[i : i + 60] for i in range(0, size, 60)]
        packed.append(length + b"".join(bytes([len(p) - 1 << 2]) + p for p in pieces))
    header = 16 + 8
    starts = [header, header + 4 + len(packed[0])]
    body = b"".join(len(part).to_bytes(4, "little") + part for part in packed)
    flags = 0x01 | 0x10 | 2 << 5
    container = bytes([2, 1, flags, 4]) + b"".join(
        n.to_bytes(4, "little") for n in (values.nbytes, 1024, header + len(body), *starts)
    )
    container += body
    made = make([{"id": "blosc", "cname": "snappy"}], (384,), "<i4")
    assert np.array_equal(made.decode(container), values)
    with pytest.raises(DecodeError):
        made.decode(container[:-1])
    broken = bytearray(container)
    broken[header + 4] ^= 1
    with pytest.raises(DecodeError):
        made.decode(broken)


@pytest.mark.parametrize(("shuffle", "flag"), [(1, 0x01), (2, 0x04)])
@pytest.mark.parametrize("count", [64, 61])
def test_unshuffle_like_c_blosc(shuffle: int, flag: int, count: int) -> None:
    from omnizarr.codecs.blosc import Header
    from omnizarr.codecs.blosc_blocks import unshuffle

    # Elements of 32 bytes are not split, so a block is one zlib stream of what c-blosc shuffled.
    values = np.random.default_rng(0).integers(0, 3, (count, 32), dtype=np.uint8)
    container = blosc().compress(values.view("V32"), b"zlib", 9, shuffle, 0)
    assert container[2] & flag
    start = int.from_bytes(container[16:20], "little")
    shuffled = zlib.decompress(container[start + 4 :])
    header = Header(flag, 32, values.nbytes, values.nbytes)
    assert shuffled != values.tobytes() or (count % 8 and shuffle == 2)
    assert unshuffle(np.frombuffer(shuffled, np.uint8), header).tobytes() == values.tobytes()
