"""Decodes mutated buffers; prints how many decoded and how many were refused.

On Linux the buffers end where memory ends, so that reading one byte too far is a crash.
"""

from __future__ import annotations

import ctypes
import mmap
import random
import struct
import sys
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np

import omnizarr
import omnizarr.codecs.zfp as codecs_zfp
from omnizarr.codecs import BytesStage, Chain, codec_spec, get_codec
from omnizarr.config import config
from omnizarr.errors import ZarrError
from tests.codecs.support import BIG, LITTLE, LOSSLESS, make, v3
from tests.model.columns import mode, outcome

SHAPE = (8, 12)
EXTREMES = (0, 1, 15, 16, 17, 255, 256, 2**31 - 1, 2**31, 2**32 - 1)


class Cliff:
    """Memory behind which there is nothing."""

    def __init__(self, size: int) -> None:
        page = mmap.PAGESIZE
        self.size = -(-size // page) * page
        self.memory = np.frombuffer(mmap.mmap(-1, self.size + page), np.uint8)
        if sys.platform == "linux":
            protect = ctypes.CDLL(None).mprotect
            end = ctypes.c_void_p(self.memory.ctypes.data + self.size)
            assert protect(end, page, mmap.PROT_NONE if hasattr(mmap, "PROT_NONE") else 0) == 0

    def place(self, data: bytes | bytearray) -> memoryview:
        end = self.size
        room = self.memory[end - len(data) : end]
        room[:] = np.frombuffer(bytes(data), np.uint8)
        return room.data

    def room(self, size: int) -> np.ndarray:
        return self.memory[self.size - size : self.size]


def mutate(source: bytes, rnd: random.Random, header: int) -> bytearray:
    data = bytearray(source)
    kind = rnd.random()
    if kind < 0.3:
        for _ in range(rnd.randint(1, 3)):
            value = rnd.choice((0, 1, 127, 128, 255, rnd.randrange(256)))
            data[rnd.randrange(min(header, len(data)))] = value
    elif kind < 0.55:
        for _ in range(rnd.randint(1, 4)):
            data[rnd.randrange(min(len(data), header + 48))] = rnd.randrange(256)
    elif kind < 0.75:
        for _ in range(rnd.randint(1, 8)):
            data[rnd.randrange(len(data))] = rnd.randrange(256)
    elif kind < 0.82:
        del data[rnd.randrange(len(data)) :]
    elif kind < 0.87:
        data += rnd.randbytes(rnd.randint(1, 40))
    elif len(data) >= 16:
        place = rnd.randrange(0, min(len(data) - 3, 64), 4)
        struct.pack_into("<I", data, place, rnd.choice((*EXTREMES, rnd.randrange(2**32))))
        if rnd.random() < 0.7:
            struct.pack_into("<I", data, 12, len(data))
    return data


def blosc(count: int, rnd: random.Random) -> tuple[int, int]:
    import numcodecs

    numcodecs.blosc.use_threads = False
    rng = np.random.default_rng(0)
    containers = []
    for cname in (b"blosclz", b"lz4", b"lz4hc", b"zlib", b"zstd"):
        for shuffle in (0, 1, 2):
            for typesize in (1, 2, 3, 4, 8, 16, 17, 200):
                for wanted in (16, 400, 5000, 70000):
                    size = wanted // typesize * typesize
                    if size == 0:
                        continue
                    values = np.cumsum(rng.integers(0, 3, size), dtype="u1").view(f"V{typesize}")
                    for blocksize in (0, 256):
                        packed = numcodecs.blosc.compress(values, cname, 5, shuffle, blocksize)
                        containers.append((size, packed))
    codec = get_codec(codec_spec("blosc"))
    assert codec is not None
    source, target = Cliff(1 << 17), Cliff(1 << 17)
    decoded = refused = 0
    for _ in range(count):
        size, container = rnd.choice(containers)
        data = source.place(mutate(container, rnd, 16))
        try:
            if rnd.random() < 0.5:
                codec.prepare(BytesStage(size, size)).decode_into(data, target.room(size))  # type: ignore[misc]
            else:
                codec.prepare(BytesStage(None, 1 << 20)).decode(data)
            decoded += 1
        except ZarrError:
            refused += 1
    return decoded, refused


def everything(count: int, rnd: random.Random) -> tuple[int, int]:
    pipelines: list[tuple[Chain, bytes]] = []
    numbers = np.cumsum(np.random.default_rng(0).integers(-5, 6, SHAPE), axis=1).astype("<i4")
    for codecs in LOSSLESS.values():
        chain = make(codecs, SHAPE, "<i4")
        pipelines.append((chain, bytes(chain.encode(numbers))))
    text = np.array([["Zürich", "", "日本", "x" * 50]], object)
    objects: list[tuple[Any, Any, Any]] = [
        ({"id": "vlen-utf8"}, object, text),
        ("vlen-utf8", np.dtypes.StringDType(), text.astype(np.dtypes.StringDType())),
        ("vlen-bytes", object, np.array([[b"abc", b""]], object)),
        ({"id": "json2"}, object, np.array([[1, "a"], [None, [1]]], object)),
        ({"id": "msgpack2"}, object, np.array([[1, "a"], [None, [1]]], object)),
        ({"id": "packbits"}, bool, np.ones((3, 5), bool)),
        ({"id": "categorize", "labels": ["a", "b"], "dtype": "|O"}, object,
         np.array(["a", "b"], object)),
        ({"id": "zfpy", "mode": 4, "tolerance": 0.01}, "f4", np.ones((9, 9), "f4")),
        ({"id": "zfpy", "mode": 2, "rate": 8}, "f8", np.ones((9, 9, 3), "f8")),
        ({"id": "zfpy", "mode": 5}, "i4", np.arange(81, dtype="i4").reshape(9, 9)),
        ({"id": "pcodec"}, "f8", np.linspace(0, 1, 300)),
        (v3("packbits", padding_encoding="last_byte"), bool, np.ones((3, 5), bool)),
        (v3("packbits", first_bit=3, last_bit=9), "<i2", np.arange(40, dtype="<i2")),
        (v3("bitround", keepbits=3), "<f4", np.ones(9, "<f4")),
        (v3("cast_value", data_type="int16", out_of_range="wrap"), "<f4", np.ones(9, "<f4")),
        (v3("scale_offset", offset=3, scale=-5), "<i2", np.arange(9, dtype="<i2")),
    ]  # fmt: skip
    inner = np.empty(2, object)
    inner[0], inner[1] = np.arange(3, dtype="<i4"), np.arange(0, dtype="<i4")
    objects.append(({"id": "vlen-array", "dtype": "<i4"}, object, inner))
    for codec, dtype, array in objects:
        chain = make([codec], array.shape, dtype, None)
        pipelines.append((chain, bytes(chain.encode(array))))
    return attack(pipelines, count, rnd)


ZFP_MODES: tuple[dict[str, Any], ...] = (
    {"mode": "reversible"},
    {"mode": "fixed_rate", "rate": 7.3},
    {"mode": "fixed_precision", "precision": 14},
    {"mode": "fixed_accuracy", "tolerance": 0.01},
    {"mode": "expert", "minbits": 90, "maxbits": 700, "maxprec": 30, "minexp": -1080},
    {"mode": "expert", "minbits": 0, "maxbits": 40, "maxprec": 64, "minexp": -5},
)


def zfp(count: int, rnd: random.Random) -> tuple[int, int]:
    """Every mode, dimension and type, through libzfp itself and through zfpy's functions."""
    from omnizarr.codecs import zfp_library
    from omnizarr.errors import CodecError

    pipelines: list[tuple[Chain, bytes]] = []
    direct, plain = zfp_library.zfp_functions(), zfp_library._plain(__import__("zfpy"))
    for functions in (direct, plain):
        codecs_zfp.zfp_functions = lambda functions=functions: functions  # type: ignore[assignment]
        for settings in ZFP_MODES:
            for shape in ((40,), (9, 9), (3, 5, 6), (2, 3, 4, 5)):
                for dtype in ("f4", "f8", "i4", "i8", "u1"):
                    if dtype[0] != "f" and "tolerance" in settings:
                        continue
                    wave = 50 * np.sin(np.arange(np.prod(shape)).reshape(shape) / 5) + 60
                    chain = make([v3("zfp", **settings)], shape, dtype, None)
                    try:
                        pipelines.append((chain, bytes(chain.encode(wave.astype(dtype)))))
                    except CodecError:
                        assert functions is plain and settings["mode"] == "expert"
    return attack(pipelines, count, rnd)


def attack(pipelines: list[tuple[Chain, bytes]], count: int, rnd: random.Random) -> tuple[int, int]:
    cliff = Cliff(1 << 16)
    decoded = refused = 0
    for _ in range(count):
        chain, encoded = rnd.choice(pipelines)
        data = cliff.place(mutate(encoded, rnd, 12))
        try:
            if rnd.random() < 0.5 or chain.nbytes is None:
                chain.decode(data)
            else:
                chain.decode_into(data, np.empty(chain.shape, chain.dtype))
            decoded += 1
        except ZarrError:
            refused += 1
    return decoded, refused


def blocks(count: int, rnd: random.Random) -> tuple[int, int]:
    """Through the native core: what it does not leave is what the codecs give."""
    from tests.native.chunks import decode

    pipelines: list[tuple[Chain, bytes]] = []
    blosc = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
    compressors = [
        [],
        ["zstd"],
        [v3("zstd", level=3, checksum=True)],
        [{"id": "lz4"}],
        [v3("gzip", level=1)],
        [v3("gzip", level=0)],
        [{"id": "zlib", "level": 6}],
        [{"id": "shuffle", "elementsize": 4}],
        [{"id": "shuffle", "elementsize": 4}, "zstd"],
        ["crc32c", {"id": "shuffle", "elementsize": 3}, {"id": "lz4"}],
        [{"id": "shuffle", "elementsize": 4}, {"id": "zlib", "level": 1}],
        *([v3("blosc", cname=cname, clevel=5, shuffle=shuffle, typesize=size, blocksize=block)]
          for cname in blosc for shuffle in ("noshuffle", "shuffle", "bitshuffle")
          for size, block in ((4, 0), (1, 0), (4, 256), (3, 1024))),
    ]  # fmt: skip
    for shape in ((3, 5), (16, 16), (40, 64)):
        noise = np.random.default_rng(0).integers(-5, 6, shape)
        numbers = np.cumsum(noise, axis=1).astype("<i4")
        for compressor in compressors:
            for serial in (LITTLE, BIG):
                for around in ([], ["crc32c"]):
                    chain = make([serial, *compressor, *around], shape, "<i4")
                    pipelines.append((chain, bytes(chain.encode(numbers))))
            chain = make([{"id": "delta", "dtype": "<i4"}, LITTLE, *compressor], shape, "<i4")
            pipelines.append((chain, bytes(chain.encode(numbers))))
    source, target = Cliff(1 << 16), Cliff(1 << 16)
    decoded = refused = 0
    for _ in range(count):
        chain, encoded = rnd.choice(pipelines)
        checked = chain.specs[-1].name == "crc32c"
        changed = bytes(mutate(encoded[:-4] if checked else encoded, rnd, 16))
        if checked:
            good = rnd.random() < 0.9
            changed += google_crc32c.value(changed).to_bytes(4, "little") if good else b"none"
        data = source.place(changed)
        room = target.room(chain.nbytes or 0).view(chain.dtype).reshape(chain.shape)
        out: Any = room if rnd.random() < 0.5 else np.empty(chain.shape, chain.dtype, "F")
        out[...] = -1
        taken = decode(chain, data, out)
        expected = np.empty(chain.shape, chain.dtype)
        try:
            chain.decode_into(data, expected)
            decoded += 1
            assert not taken or (out == expected).all()
        except ZarrError:
            refused += 1
            assert not taken
    return decoded, refused


def files(count: int, rnd: random.Random) -> tuple[int, int]:
    """Large chunks of files, decoded some rows at a time: the same values, or the same errors."""
    from tempfile import TemporaryDirectory

    compressors = [
        [v3("zstd", level=1, checksum=False)],
        [v3("zstd", level=1, checksum=True), "crc32c"],
        [v3("gzip", level=1)],
        *([v3("blosc", cname=cname, clevel=1, shuffle=shuffle, typesize=2, blocksize=block)]
          for cname in ("lz4", "zstd", "blosclz") for shuffle in ("noshuffle", "bitshuffle")
          for block in (1024, 4096)),
        [v3("blosc", cname="lz4", clevel=0, shuffle="noshuffle", typesize=2, blocksize=0)],
    ]  # fmt: skip
    steps = np.random.default_rng(0).random((1024, 1024)) > 0.999
    values = np.cumsum(steps, axis=1).astype("<i2")
    decoded = refused = 0
    with TemporaryDirectory() as folder, config.set({"threads": 1}):
        arrays = []
        for number, compressor in enumerate(compressors):
            path = Path(folder, str(number))
            arrays.append((path / "c" / "0" / "1", omnizarr.create_array(
                path, data=values, chunks=(1024, 512), serializer=LITTLE, compressors=compressor,
            )))  # fmt: skip
        for _ in range(count):
            file, array = rnd.choice(arrays)
            sound = file.read_bytes()
            changed = bytes(mutate(sound, rnd, 16))
            if array.compressors[-1].spec().name == "crc32c":
                changed = changed[:-4] + google_crc32c.value(changed[:-4]).to_bytes(4, "little")
            file.write_bytes(changed)
            found = []
            for way in ("native", "python"):
                with mode(way):
                    found.append(outcome(lambda array=array: array[:, 256:].tobytes()))
            file.write_bytes(sound)
            assert found[0] == found[1], (array, found)
            refused += isinstance(found[0], tuple)
            decoded += not isinstance(found[0], tuple)
    return decoded, refused


if __name__ == "__main__":
    what, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    run = {"blosc": blosc, "zfp": zfp, "all": everything, "blocks": blocks, "files": files}[what]
    print(*run(count, random.Random(seed)))
