"""Frames of zstd 0.7, alone and in the blosc containers of zarr 1.1.

`data/zstd_legacy.json` holds frames that zstd 0.7.4 wrote, chosen so that together they reach
every way through the decoder, a few put together by hand for what its encoder never does, and
containers that zarr 1.1.0 wrote.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.codecs.loader import blosc
from omnizarr.codecs.zstd_legacy import decompress_legacy, xxh64
from omnizarr.errors import ChecksumError, DecodeError
from tests.acceptance import fixtures
from tests.codecs.support import make

GOLDEN = json.loads((Path(__file__).parent / "data" / "zstd_legacy.json").read_text())
FRAMES = {one["name"]: (base64.b64decode(one["frame"]), one) for one in GOLDEN["frames"]}
CONTAINERS = {name: base64.b64decode(text) for name, text in GOLDEN["containers"].items()}
ARRAYS = {
    "bytes shuffled": (np.arange(1000) * 7919 % 251).astype("<i4"),
    "bits shuffled": np.arange(512) / 8,
    "not shuffled": (np.arange(2000) // 5).astype(">i2"),
    "a block and a part": (np.arange(100000) // 1000).astype("<i4"),
    "too large to split": np.arange(60).astype("S24"),
    "some pieces as they are": np.arange(1, 131, dtype="<u8") * np.uint64(0x9E3779B97F4A7C15)
    >> np.uint64(24),
}
MAGIC = b"\x27\xb5\x2f\xfd"
COMPRESSED, RAW, RUN = range(3)


def decode(frame: bytes | bytearray, size: int) -> bytes:
    return bytes(decompress_legacy(memoryview(frame), size))


def block(kind: int, content: bytes, size: int | None = None) -> bytes:
    return (kind << 22 | (len(content) if size is None else size)).to_bytes(3, "big") + content


def frame(*blocks: bytes) -> bytes:
    """Blocks in a frame that tells nothing about its content."""
    return MAGIC + bytes(2) + b"".join(blocks) + b"\xc0\0\0"


def chain(array: np.ndarray[Any, Any]) -> Any:
    return make([{"id": "blosc", "cname": "zstd"}], array.shape, array.dtype)


@pytest.mark.parametrize("name", FRAMES)
def test_golden_frames(name: str) -> None:
    stored, facts = FRAMES[name]
    content = decode(stored, facts["size"])
    assert hashlib.sha256(content).hexdigest() == facts["sha256"]


@pytest.mark.parametrize("name", ARRAYS)
def test_containers_of_zarr_1(name: str) -> None:
    container, array = CONTAINERS[name], ARRAYS[name]
    assert container.count(MAGIC) > 0
    with pytest.raises(RuntimeError):  # else this is not what is tested here
        blosc().decompress(container)
    made = chain(array)
    assert np.array_equal(made.decode(container), array)
    out = np.empty(array.shape, array.dtype)
    made.decode_into(memoryview(container), out)
    assert np.array_equal(out, array)


@pytest.mark.parametrize("name", ["blosc_zstd_shuffle1.zarr", "blosc_zstd_shuffle2.zarr"])
def test_fixtures_of_zarr_1(name: str) -> None:
    folder = fixtures.unpacked("zarr-1.1.0") / "zarr-1.1.0"
    expected = np.load(folder / f"{name}.expected.npy")
    shape = json.loads((folder / name / "meta").read_text())["chunks"]
    made = make([{"id": "blosc", "cname": "zstd"}], tuple(shape), expected.dtype)
    sizes = list(zip(expected.shape, shape, strict=True))
    seen = np.zeros(expected.shape, bool)
    legacy = 0
    for index in itertools.product(*(range(-(-n // c)) for n, c in sizes)):
        data = (folder / name / ".".join(map(str, index))).read_bytes()
        legacy += MAGIC in data
        part = tuple(slice(i * c, i * c + c) for i, c in zip(index, shape, strict=True))
        inside = tuple(slice(0, n) for n in expected[part].shape)
        assert np.array_equal(made.decode(data)[inside], expected[part])
        seen[part] = True
    assert seen.all()
    assert legacy


@pytest.mark.slow
@given(st.integers(0, 6), st.integers(0, 3), st.randoms(use_true_random=False))
def test_literals(kind: int, form: int, source: random.Random) -> None:
    """Huffman literals in every width of their header, against an encoder of three lines."""
    bits = kind + 1
    longest = {0: 1023, 1: 1023, 2: 5000, 3: 20000}[form]
    text = bytes(source.randrange(1 << bits) for _ in range(source.randrange(12, longest)))
    quarter = (len(text) + 3) // 4
    parts = [text] if form == 1 else [text[i * quarter : (i + 1) * quarter] for i in range(4)]
    streams = []
    for part in parts:
        # All codes are `bits` long. The end mark comes first, because it is read first.
        number = int("1" + "".join(f"{symbol:0{bits}b}" for symbol in part), 2)
        streams.append(number.to_bytes((number.bit_length() + 7) // 8, "little"))
    jumps = b"".join(len(one).to_bytes(2, "little") for one in streams[:-1])
    content = bytes([242 + 2 * kind])  # one, three, seven … weights of 1, and one left out
    content += jumps + b"".join(streams)
    width, field = {0: (3, 10), 1: (3, 10), 2: (4, 14), 3: (5, 18)}[form]
    if len(content) >> field:
        return
    header = form << 8 * width - 4 | len(text) << field | len(content)
    section = header.to_bytes(width, "big") + content
    assert decode(frame(block(COMPRESSED, section + b"\0")), len(text)) == text
    with pytest.raises(DecodeError):
        decode(frame(block(COMPRESSED, section[:-1] + b"\0")), len(text))


def test_checksum() -> None:
    assert [xxh64(text) for text in (b"", b"a", b"abc", bytes(range(101)))] == [
        0xEF46DB3751D8E999,
        0xD24EC4F1A98C6E5B,
        0x44BC2CF5AD770999,
        0xE99038495F85381E,
    ]
    content = b"0123456789"
    good = xxh64(content) >> 11 & 0x3FFFFF
    start = MAGIC + b"\x04\0" + block(RAW, content)
    assert decode(start + (3 << 22 | good).to_bytes(3, "big"), 10) == content
    with pytest.raises(ChecksumError):
        decode(start + (3 << 22 | good ^ 1).to_bytes(3, "big"), 10)


@pytest.mark.parametrize("version", range(2, 7))
def test_older_frames_are_named(version: int) -> None:
    array = ARRAYS["too large to split"]
    container = CONTAINERS["too large to split"].replace(MAGIC, bytes([0x20 + version]) + MAGIC[1:])
    with pytest.raises(
        DecodeError, match=rf"codec 'blosc': block 0: a frame of zstd 0\.{version};"
    ):
        chain(array).decode(container)


FOUR, TEN = block(RAW, b"abcd"), block(RAW, b"0123456789")
END = b"\xc0\0\0"


def compressed(content: bytes) -> bytes:
    return frame(block(COMPRESSED, content))


BAD = [
    ("no zstd frame", b""),
    ("no zstd frame", b"\x28\xb5\x2f\xfd" + bytes(20)),
    ("inside the frame header", MAGIC),
    ("do not end", MAGIC + bytes(2)),
    ("do not end", frame(TEN)[:-3]),
    ("do not end", frame(TEN) + END),
    ("found 9", frame(block(RAW, b"012345678"))),
    ("found more", frame(block(RAW, b"0123456789A"))),
    ("declares 11", MAGIC + b"\x20\x0b" + TEN + END),
    ("needs a dictionary", MAGIC + b"\x01\0\x07" + TEN + END),
    ("an unknown feature", MAGIC + b"\x08\0" + TEN + END),
    ("found more", frame(block(RUN, b"x", 500_000))),
    ("1048575 literals", compressed(b"\xff\xff\xffx\0")),
    ("found more", frame(FOUR, block(COMPRESSED, b"\x80\xff\xff\xff\x54\0\0\x34\x01"))),
    ("found more", frame(FOUR, block(COMPRESSED, b"\x80\xff\xff\xff\x54\0\0\0\x01"))),
    ("found more", compressed(b"\x87abcdefg\x02\x54\x04\0\0\x01")),
    ("bytes that do not exist", compressed(b"\x80\x01\x54\0\0\0\x01")),
    ("bytes that do not exist", compressed(b"\x82ab\x01\x54\x02\x03\0\x08")),
    ("bytes that do not exist", compressed(b"\x82ab\x01\x54\x04\0\0\x01")),
    ("block of nothing", compressed(b"\xa0\0\0")),
    ("block of 0 bytes", compressed(b"")),
    ("literals repeat a table", compressed(b"\x50\x28\x02\x01\x01\0")),
    ("sequences repeat a table", compressed(b"\x8aabcdefghij\x01\xa8\x01\x01\x01")),
    ("bytes follow", compressed(b"\x8a0123456789\0\0")),
    ("sequences should begin", compressed(b"\x8a0123456789")),
    ("sequences should begin", compressed(b"\x8a0123456789\xff\0")),
    ("only code", compressed(b"\x84abcd\x01\x54\0\x1d\0\x01")),
    ("only code", compressed(b"\x84abcd\x01\x54")),
    ("end mark", compressed(b"\x84abcd\x01\x54\x04\0\0")),
    ("end mark", compressed(b"\x84abcd\x01\x54\x04\0\0\0")),
    ("sequences do not end", compressed(b"\x84abcd\x01\x54\x04\0\0\x02")),
    ("sequences end early", compressed(b"\x84abcd\x01\0\x01")),
    ("counts of an FSE table", compressed(b"\x84abcd\x01\xc0\0\0\0\0")),
    ("an FSE table of 2", compressed(b"\x84abcd\x01\xc0\x0f\0\0\0")),
    ("four streams", compressed(b"\x00\x28\x07\xf2\1\1\1\1\1\1\0")),
    ("inside a Huffman table", compressed(b"\x10\x28\x02\x40\x01\0")),
    ("weights of a Huffman table are corrupt", compressed(b"\x10\x28\x03\x80\x20\x01\0")),
    ("literals does not end", compressed(b"\x10\x28\x03\xf2\xff\x01\0")),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "stored"), BAD)
def test_bad_frames(reason: str, stored: bytes) -> None:
    """Each is refused for its own reason, and without much memory."""
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError, match=reason):
            decode(stored, 10)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_blocks_that_share_bytes() -> None:
    """A small container cannot ask for the same work again and again."""
    container = CONTAINERS["too large to split"]
    body = container[20:]
    count = 50
    first = 16 + 4 * count
    length = first + 4 * count + len(body)
    header = container[:4] + b"".join(
        number.to_bytes(4, "little") for number in (1440 * count, 1440, length, *[first] * count)
    )
    array = np.empty(60 * count, "S24")
    with pytest.raises(DecodeError, match="overlaps"):
        chain(array).decode(header + body + bytes(4 * count))


@pytest.mark.parametrize("name", FRAMES)
def test_shortened_frames(name: str) -> None:
    stored, facts = FRAMES[name]
    for length in range(0, len(stored), 1 + len(stored) // 60):
        with pytest.raises(DecodeError):
            decode(stored[:length], facts["size"])


def test_mutated_frames() -> None:
    """Whatever happens to a frame, it decodes to the expected size or raises a DecodeError."""
    source = random.Random(7)
    outcomes = {True: 0, False: 0}
    for stored, facts in FRAMES.values():
        for _ in range(20 if facts["size"] > 10_000 else 400):
            changed = mutated(stored, source)
            try:
                assert len(decode(changed, facts["size"])) == facts["size"]
                outcomes[True] += 1
            except DecodeError:
                outcomes[False] += 1
    assert min(outcomes.values()) > 50


def test_mutated_containers() -> None:
    source = random.Random(11)
    refused = 0
    for name, container in CONTAINERS.items():
        made = chain(ARRAYS[name])
        for _ in range(100):
            try:
                assert made.decode(mutated(container, source)).shape == ARRAYS[name].shape
            except DecodeError:
                refused += 1
    assert refused > 100


def mutated(data: bytes, source: random.Random) -> bytearray:
    changed = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 4))):
        # Headers matter most, and come first.
        at = source.randrange(min(len(changed), source.choice((16, 48, 1 << 20))))
        kind = source.randrange(4)
        if kind == 0:
            changed[at] ^= 1 << source.randrange(8)
        elif kind == 1:
            changed[at] = source.choice((0, 1, 127, 128, 255, source.randrange(256)))
        elif kind == 2 and len(changed) > 8:
            del changed[at : at + source.randrange(1, 4)]
        else:
            changed[at:at] = source.randbytes(source.randrange(1, 4))
    return changed
