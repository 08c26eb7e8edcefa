"""Arrays, selections and files for tests that compare the native core with Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.codecs.support import BIG, LITTLE, v3

WAYS = ("native", "python")
CODECS: dict[str, list[Any]] = {
    "raw": [LITTLE],
    "raw crc32c": [LITTLE, "crc32c"],
    "big": [BIG],
    "zstd": [LITTLE, v3("zstd", level=1, checksum=False)],
    "zstd checked": [LITTLE, v3("zstd", level=1, checksum=True), "crc32c"],
    "big zstd": [BIG, v3("zstd", level=1, checksum=False)],
    "blosc": [LITTLE, v3("blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=4)],
    "fast": [LITTLE, v3("blosc", cname="zstd", clevel=1, shuffle="bitshuffle"), "crc32c"],
    "lz4": [LITTLE, v3("numcodecs.lz4", acceleration=1)],
    "transpose": [v3("transpose", order=[1, 0]), LITTLE, v3("zstd", level=1, checksum=False)],
    "transpose big": [v3("transpose", order=[1, 0]), BIG, "crc32c"],
    "gzip": [LITTLE, v3("gzip", level=1)],
    "zlib": [BIG, v3("numcodecs.zlib", level=1), "crc32c"],
    "shuffle": [LITTLE, v3("numcodecs.shuffle", elementsize=4), v3("numcodecs.zlib", level=1)],
    "shuffles": [LITTLE, "crc32c", v3("numcodecs.shuffle", elementsize=3), "crc32c", "zstd"],
    "bz2": [LITTLE, v3("numcodecs.bz2", level=1)],
    "two": [LITTLE, "zstd", v3("gzip", level=1)],
}
TYPES = ("uint8", "bool", "int16", "float32", "float64", "complex64", "datetime64[s]", "U2")
SHAPE = (30, 44)


def values(dtype: str) -> np.ndarray:
    numbers = np.random.default_rng(1).integers(0, 90, SHAPE)
    return numbers.astype("i8").astype(dtype) if dtype != "U2" else numbers.astype("U2")


def slices(length: int) -> st.SearchStrategy[Any]:
    ends = st.integers(-length, length) | st.none()
    whole = st.just(slice(None))
    cut = st.builds(slice, ends, ends, st.sampled_from([None, 1, 1, 2, -1, 7]))
    some = st.lists(st.integers(0, length - 1), min_size=1, max_size=length).map(sorted)
    run = st.integers(0, length // 2).map(lambda n: list(range(n, length)))
    return st.one_of(whole, whole, cut, cut, some, run, st.integers(0, length - 1))


def chunk_files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file() and file.suffix != ".json")


def replaced(kind: str, file: Path) -> None:
    content = file.read_bytes()
    file.unlink()
    if kind == "link outside":
        (file.parents[2] / "outside").write_bytes(content)
        file.symlink_to(file.parents[2] / "outside")
    elif kind == "link inside":
        (file.parent / "other").write_bytes(content)
        file.symlink_to("other")
    elif kind == "directory":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "too long":
        file.write_bytes(content + bytes(200_000))
    elif kind == "too short":
        file.write_bytes(content[:-1])
    elif kind == "empty":
        file.write_bytes(b"")


def obstruct(kind: str, file: Path, outside: Path) -> None:
    """Put something in the way of writing a chunk named "0"."""
    if kind == "lock directory":
        (file.parent / ".~0.lock").mkdir()
    elif kind == "lock of content":
        (file.parent / ".~0.lock").write_bytes(b"what a killed writer left" * 40)
    else:
        file.unlink()
        outside.write_bytes(b"")
        {
            "directory": file.mkdir,
            "pipe": lambda: os.mkfifo(file),
            "link": lambda: file.symlink_to(outside),
        }[kind]()
