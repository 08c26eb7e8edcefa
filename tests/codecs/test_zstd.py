"""Chunks of several Zstandard frames, which RFC 8878 allows: they decode to all of them in turn."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

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


def test_another_libzstd_of_the_process_is_not_mixed_with_ours(tmp_path: Path) -> None:
    """netCDF-C loads one for all when it opens NCZarr: contexts of both crash the process."""
    pytest.importorskip("netCDF4")
    code = """
        import os, threading, netCDF4, numpy as np, omnizarr
        place = f"file://{os.getcwd()}/n.zarr#mode=nczarr,file"
        group = omnizarr.open_group("n.zarr", mode="w", zarr_format=2, dialect="nczarr")
        group.netcdf.create_variable("v", "f4", {"x": 3}, compressors=None).write([1, 2, 3])
        with netCDF4.Dataset(place) as found:
            assert found["v"][:].tolist() == [1, 2, 3]
        values = np.arange(100.0)
        def both():
            array = omnizarr.array(values, chunks=7, compressors="zstd")
            assert np.array_equal(array[:], values)
        for _ in range(20):  # a thread frees what it has made
            thread = threading.Thread(target=both)
            thread.start()
            thread.join()
        both()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path,
        env={**os.environ, "OMNIZARR_NATIVE": "0"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
