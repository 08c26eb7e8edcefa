"""Chunks of several Zstandard frames, which RFC 8878 allows: they decode to all of them in turn."""

from __future__ import annotations

import numcodecs.zstd
import numpy as np
import pytest

import omnizarr
from omnizarr.codecs import zstd_library
from omnizarr.codecs.base import BytesStage
from omnizarr.codecs.zstd import ZstdCodec
from tests.codecs.support import LITTLE, make

VALUES = np.random.default_rng(3).integers(0, 50, 4000).astype("<i4")
SKIPPABLE = b"\x50\x2a\x4d\x18\x04\x00\x00\x00junk"


def undeclared(payload: bytes) -> bytes:
    """A frame that does not tell the size of its content: one raw block."""
    block = (len(payload) << 3 | 1).to_bytes(3, "little") + payload
    return b"\x28\xb5\x2f\xfd\x00\x58" + block


def frames(payload: bytes, count: int = 2) -> bytes:
    step = -(-len(payload) // count)
    parts = [payload[start : start + step] for start in range(0, len(payload), step)]
    return b"".join(bytes(numcodecs.zstd.compress(part, 1, True)) for part in parts)


RAW = VALUES.tobytes()
CHUNKS = {
    "two": frames(RAW),
    "seven": frames(RAW, 7),
    "an empty one between": frames(RAW[:100]) + undeclared(b"") + frames(RAW[100:]),
    "a skippable one between": frames(RAW[:4000]) + SKIPPABLE + frames(RAW[4000:]),
    "of undeclared size": frames(RAW[:9000]) + undeclared(RAW[9000:]),
}


@pytest.mark.parametrize("name", CHUNKS)
def test_the_codec(name: str) -> None:
    chunk = CHUNKS[name]
    chain = make([LITTLE, "zstd"], VALUES.shape, "i4")
    assert np.array_equal(chain.decode(chunk), VALUES)
    out = np.zeros_like(VALUES)
    chain.decode_into(chunk, out)
    assert np.array_equal(out, VALUES)
    unsized = ZstdCodec().prepare(BytesStage(None, 1 << 20))
    assert bytes(unsized.decode(chunk)) == RAW


@pytest.mark.parametrize("name", CHUNKS)
def test_numcodecs_alone(name: str) -> None:
    """What is called where libzstd itself cannot be reached: wrong in numcodecs below 0.16.6."""
    _, decompress_into, decompress_stream = zstd_library._plain(numcodecs.zstd)
    out = np.zeros(len(RAW), np.uint8)
    assert decompress_into(CHUNKS[name], out) == len(RAW)
    assert out.tobytes() == RAW
    assert bytes(decompress_stream(CHUNKS[name])) == RAW


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("name", CHUNKS)
def test_arrays(name: str, zarr_format: int) -> None:
    """Many chunks at once, so that the native core decodes them where there is one."""
    store: dict[str, bytes] = {}
    compressor = {"id": "zstd", "level": 1} if zarr_format == 2 else {"name": "zstd"}
    array = omnizarr.create_array(
        store, shape=(16 * 4000,), chunks=4000, dtype="<i4", zarr_format=zarr_format,
        compressors=[compressor],
    )  # fmt: skip
    array[:] = 1
    for key in store:
        if not key.endswith(("json", ".zarray", ".zattrs")):
            store[key] = CHUNKS[name]
    assert np.array_equal(array[:], np.tile(VALUES, 16))


def test_a_frame_too_many_is_an_error() -> None:
    chain = make([LITTLE, "zstd"], VALUES.shape, "i4")
    for chunk in (frames(RAW + RAW), frames(RAW) + frames(RAW[:4], 1), frames(RAW[:-4])):
        with pytest.raises(omnizarr.errors.DecodeError):
            chain.decode(chunk)
