"""Blocks of N5, as bytes: the examples of its specification, every mode, every form of lz4."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr.codecs.xxhash as our_xxhash
from omnizarr import limits
from omnizarr.codecs import Chain
from omnizarr.codecs.n5_default import KEPT
from omnizarr.errors import (
    ChecksumError,
    CodecError,
    DecodeError,
    LimitError,
    MetadataError,
    ZarrError,
)
from tests.codecs.support import BIG, LITTLE, make, v3

Shape = tuple[int, ...]


def blocks(shape: Shape, dtype: str, *compressor: Any, fill: Any = 0) -> Chain:
    """The codec as a format 3 array has it: axes as N5 counts them."""
    order = list(range(len(shape)))[::-1]
    inner = [v3("transpose", order=order), BIG, *compressor]
    return make([v3("n5_default", codecs=inner)], shape, dtype, fill)


# -- the examples of the specification --------------------------------------------------------
HEADER = "0000 0003 00000001 00000002 00000003"
EXAMPLES = {
    "raw": ([], "0001 0002 0003 0004 0005 0006"),
    "bzip2": (
        [{"id": "bz2", "level": 9}],
        "425a6839 31415926 5359023e 0dd20000 0040007f 00200031 0c010d31 a8739433 7c5dc914 e1424008"
        "f83748",
    ),
    "gzip": (
        [v3("gzip", level=-1)],
        "1f8b0800 00000000 00006360 64606260 66606160 65600300 aaea6dbf 0c000000",
    ),
    "xz": (
        [{"id": "lzma", "preset": 6}],
        "fd377a58 5a000004 e6d6b446 02002101 16000000 742fe5a3 01000b00 01000200 03000400 05000600"
        "0d0309ca 34ec15a7 0001240c a618d8d8 1fb6f37d 01000000 0004595a",
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_the_specification(name: str) -> None:
    """A block of 1 × 2 × 3 elements that holds 1 to 6, the first axis running fastest."""
    compressor, payload = EXAMPLES[name]
    made = blocks((1, 2, 3), "u2", *compressor)
    stored = bytes.fromhex(HEADER + payload)
    array = np.arange(1, 7, dtype="u2").reshape((1, 2, 3), order="F")
    assert np.array_equal(made.decode(stored), array)
    again = bytes(made.encode(array))
    assert again[:16] == stored[:16]
    if name == "raw":
        assert again == stored
    assert np.array_equal(made.decode(again), array)


# -- headers ----------------------------------------------------------------------------------
def header(*lengths: int, mode: int = 0, count: int | None = None) -> bytes:
    numbers = b"".join(length.to_bytes(4, "big") for length in lengths)
    start = mode.to_bytes(2, "big") + len(lengths).to_bytes(2, "big") + numbers
    return start if count is None else start + count.to_bytes(4, "big")


@pytest.mark.parametrize("into", [False, True])
@pytest.mark.parametrize("block", [(3, 2), (2, 2), (1, 2), (3, 1), (1, 1), (4, 2), (5, 5), (2, 9)])
def test_blocks_are_padded_and_cut(block: Shape, into: bool) -> None:
    made = blocks((3, 2), "i4", fill=7)
    values = np.arange(block[0] * block[1], dtype="i4").reshape(block)
    stored = header(*block) + values.T.astype(">i4").tobytes()
    expected = np.full((3, 2), 7, "i4")
    both = (slice(min(3, block[0])), slice(min(2, block[1])))
    expected[both] = values[both]
    if into:
        out = np.full((2, 3), -1, "i4").T  # neither contiguous nor empty
        made.decode_into(stored, out)
        assert np.array_equal(out, expected)
    else:
        assert np.array_equal(made.decode(stored), expected)


def test_what_is_written_is_padded() -> None:
    made = blocks((3, 2), "i4")
    assert bytes(made.encode(np.zeros((3, 2), "i4"))) == header(3, 2) + bytes(24)


def test_without_dimensions() -> None:
    made = blocks((), "f8")
    assert bytes(made.encode(np.array(1.0))) == b"\0\0\0\0" + np.array(1.0, ">f8").tobytes()
    assert made.decode(b"\0\0\0\0" + np.array(2.0, ">f8").tobytes()) == 2.0


def test_varlength_blocks() -> None:
    made = blocks((3, 2), "i2", v3("gzip", level=1))
    array = np.arange(6, dtype="i2").reshape(3, 2)
    payload = bytes(made.encode(array))[12:]
    assert np.array_equal(made.decode(header(3, 2, mode=1, count=6) + payload), array)
    with pytest.raises(DecodeError, match=r"holds 5 elements; as an array of shape \(3, 2\)"):
        made.decode(header(3, 2, mode=1, count=5) + payload)
    with pytest.raises(DecodeError, match="varlength"):
        made.decode(header(3, 2, mode=1))


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (b"", DecodeError, "0 bytes, fewer than the 12 of the header"),
        (header(3), DecodeError, "8 bytes"),
        (header(3, 2, mode=2) + bytes(12), DecodeError, "serialised object"),
        (header(3, 2, mode=9) + bytes(12), DecodeError, "found mode 9"),
        (header(3, 2, 1) + bytes(12), DecodeError, "found mode 0 with 3"),
        (header(0, 2) + bytes(12), DecodeError, r"a block of shape \(0, 2\) holds nothing"),
        (header(3, 2) + bytes(11), DecodeError, "expected 12 bytes"),
        (header(3, 2) + bytes(13), DecodeError, "expected 12 bytes"),
        (header(2, 2) + bytes(12), DecodeError, "expected 8 bytes"),
        (header(2**32 - 1, 2**32 - 1) + bytes(12), LimitError, "are read"),
    ],
)
def test_broken_blocks(data: bytes, error: type[Exception], message: str) -> None:
    made = blocks((3, 2), "i2")
    out = np.zeros((3, 2), "i2")
    with pytest.raises(error, match=message):
        made.decode(data)
    with pytest.raises(error, match=message):
        made.decode_into(data, out)


def test_a_block_takes_no_more_than_it_may() -> None:
    made = blocks((3, 2), "i2", v3("gzip", level=1))
    with pytest.raises(LimitError, match="takes 12, and no more than 16777216 are read"):
        made.decode(header(4096, 4096) + bytes(made.encode(np.zeros((3, 2), "i2")))[12:])


def test_many_shapes_of_blocks() -> None:
    """Hostile blocks of ever new shapes are read, and do not pile up."""
    made = blocks((1000,), "u1")
    for length in range(1, 2 * KEPT):
        assert made.decode(header(length) + bytes([1]) * length).sum() == length
    assert made.decode(header(1) + b"\1").sum() == 1


@pytest.mark.parametrize(
    "codecs",
    [
        [],
        [BIG],
        [v3("transpose", order=[0, 1]), BIG],
        [v3("transpose", order=[1, 0]), LITTLE],
        [v3("transpose", order=[1, 0]), "gzip"],
        [v3("transpose", order=[1, 0]), BIG, "gzip", "crc32c"],
        5,
    ],
)
def test_configurations_that_are_none(codecs: Any) -> None:
    with pytest.raises(MetadataError, match="n5_default"):
        make([v3("n5_default", codecs=codecs)], (3, 2), "i2")


def test_lengths_that_a_header_cannot_hold() -> None:
    with limits.override(max_chunk_bytes=1 << 40), pytest.raises(MetadataError, match="32 bits"):
        blocks((1 << 32,), "u1")


@given(st.data())
@settings(max_examples=150)
def test_mutated_blocks(data: st.DataObject) -> None:
    """Any bytes give an array of the right shape or an error of ours."""
    compressor = data.draw(st.sampled_from([(), ("zstd",), (v3("n5_lz4", blockSize=64),)]))
    made = blocks((4, 3), "i4", *compressor)
    stored = bytearray(made.encode(np.arange(12, dtype="i4").reshape(4, 3)))
    for _ in range(data.draw(st.integers(1, 3))):
        stored[data.draw(st.integers(0, len(stored) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(stored)) | st.just(len(stored)))
    with suppress(CodecError, LimitError):
        assert made.decode(bytes(stored[:cut])).shape == (4, 3)


# -- lz4 --------------------------------------------------------------------------------------
def lz4(size: int, block_size: int) -> Chain:
    return make([v3("n5_lz4", blockSize=block_size)], (size,), "u1")


@given(st.binary(min_size=1, max_size=3000), st.sampled_from([1, 6, 63, 64, 100, 1024, 65536]))
@settings(max_examples=100)
def test_lz4_round_trip(data: bytes, block_size: int) -> None:
    array = np.frombuffer(data, "u1")
    made = lz4(array.size, block_size)
    stored = bytes(made.encode(array))
    assert stored.startswith(b"LZ4Block") == (block_size >= 64)
    # Either form is read, whatever the configuration says.
    for other in (made, lz4(array.size, 64), lz4(array.size, 6)):
        assert np.array_equal(other.decode(stored), array)
        out = np.empty_like(array)
        other.decode_into(stored, out)
        assert np.array_equal(out, array)


def test_lz4_of_java() -> None:
    """A stream of two blocks, one of them stored as it is, made by hand."""
    made = lz4(70, 64)
    array = np.concatenate([np.zeros(64, "u1"), np.arange(6, dtype="u1")])
    stored = bytes(made.encode(array))
    assert stored[:9] == b"LZ4Block\x20"
    second = stored.index(b"LZ4Block", 8)
    assert stored[second + 8 : second + 17] == b"\x10" + b"\6\0\0\0" * 2
    assert stored[second + 21 : second + 27] == bytes(range(6))
    assert stored[second + 27 :] == b"LZ4Block\x10" + bytes(12)
    without_end = stored[: second + 27]
    assert np.array_equal(made.decode(without_end), array)
    for wrong in (
        stored[: second + 26],
        stored[:second],
        stored + b"\0",
        without_end + stored,
        stored.replace(b"LZ4Block\x20", b"LZ4Block\x30", 1),
        stored.replace(bytes(range(6)), bytes(range(1, 7))),
    ):
        with pytest.raises(DecodeError):
            made.decode(wrong)
    with pytest.raises(ChecksumError, match="does not match its checksum"):
        made.decode(stored.replace(bytes(range(6)), bytes(range(1, 7))))
    for size in (69, 71):
        with pytest.raises(DecodeError):
            lz4(size, 64).decode(stored)


def test_lz4_behind_unknown_sizes() -> None:
    made = make([LITTLE, "zstd", v3("n5_lz4", blockSize=64)], (100,), "u1")
    array = np.arange(100, dtype="u1")
    assert np.array_equal(made.decode(made.encode(array)), array)
    bare = make([LITTLE, "zstd", v3("n5_lz4", blockSize=6)], (100,), "u1")
    with pytest.raises(DecodeError, match="decoded size of a bare LZ4 block"):
        bare.decode(bare.encode(array))


@pytest.mark.parametrize("value", ["x", 1.5, 2**40, True])
def test_lz4_configuration(value: Any) -> None:
    with pytest.raises(MetadataError, match="blockSize"):
        make([v3("n5_lz4", blockSize=value)], (4,), "u1")


@given(st.binary(max_size=80))
@settings(max_examples=300)
def test_lz4_of_any_bytes(data: bytes) -> None:
    for stored in (data, b"LZ4Block" + data):
        with suppress(ZarrError):
            assert lz4(16, 64).decode(stored).size == 16


# -- its checksum -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("data", "seed", "expected"),
    [
        (b"", 0, 0x02CC5D05),
        (b"", 0x9747B28C, 0x8D3B42D8),
        (bytes(range(40)), 0x9747B28C, 0x6D7D5769),
        (b"a", 0, 0x550D7456),
        (b"abc", 0, 0x32D153FF),
        (b"Nobody inspects the spammish repetition", 0, 0xE2293B2F),
    ],
)
def test_xxh32(data: bytes, seed: int, expected: int) -> None:
    assert our_xxhash.in_python(data, seed) == expected


def test_xxh32_of_the_package_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    package: Any = ModuleType("xxhash")
    package.xxh32_intdigest = lambda data, seed: 42
    monkeypatch.setitem(sys.modules, "xxhash", package)
    our_xxhash._chosen.cache_clear()
    try:
        assert our_xxhash.xxh32(b"abc", 0) == 42
    finally:
        our_xxhash._chosen.cache_clear()


MEMORY = """
import json, resource, struct, sys
import numpy as np
import omnizarr

document = {
    "n5": "2.0.0", "dimensions": [100], "blockSize": [10**8], "dataType": "float64",
    "compression": {"type": "raw"},
}
block = struct.pack(">HHI", 0, 1, 100) + np.arange(100, dtype=">f8").tobytes()
store = {"attributes.json": json.dumps(document).encode(), "0": block}
array = omnizarr.open_array(store, mode="r")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert array[:].tolist() == list(range(100)) and array[3:5].tolist() == [3, 4]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted as Linux counts it")
def test_a_huge_block_size_takes_no_memory() -> None:
    """A chunk of 800 MB whose one block, at the edge of the array, holds 100 elements."""
    command = [sys.executable, "-c", MEMORY]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 50_000, "KiB"
