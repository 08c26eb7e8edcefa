"""Chunks that are flipped, cut, too long or made up: detected and named, never wrong data."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr import errors
from tests.acceptance import documents
from tests.acceptance.processes import snapshot
from tests.acceptance.refusals import mentions, refusal

Summary = Callable[[str], None]

DEFAULTS: dict[str, dict[str, Any]] = {
    "v2": {"zarr_format": 2},
    "v3": {"zarr_format": 3},
    "shard": {"zarr_format": 3, "shards": (40, 40)},
}
DATA = np.random.default_rng(3).normal(size=(40, 40)).round(2)


def written(tmp_path: Path, layout: str, **more: Any) -> tuple[Path, Path]:
    """A store with one chunk (or shard) written by default, and that chunk's file."""
    root = tmp_path / "a.zarr"
    options = {"chunks": (20, 20) if layout == "shard" else (40, 40), **DEFAULTS[layout], **more}
    array = zarr.create_array(store=str(root), shape=(40, 40), dtype="f8", **options)
    array[...] = DATA
    known = {".zarray", ".zattrs", "zarr.json"}
    files = [path for path in root.rglob("*") if path.is_file() and path.name not in known]
    assert len(files) == 1, files
    return root, files[0]


def read_all(root: Path) -> Any:
    return zarr.open_array(str(root), mode="r")[...]


@pytest.mark.parametrize("layout", DEFAULTS)
def test_flipped_bits(layout: str, tmp_path: Path, summary: Summary) -> None:
    """300 single flipped bits in what is written by default: none gives wrong data."""
    root, chunk = written(tmp_path, layout)
    sound = chunk.read_bytes()
    drawn = random.Random(4).sample(range(len(sound) * 8), 300)
    detected = harmless = 0
    for bit in drawn:
        broken = bytearray(sound)
        broken[bit // 8] ^= 1 << bit % 8
        chunk.write_bytes(broken)
        try:
            values = read_all(root)
        except errors.ZarrError as error:
            detected += 1
            mentions(str(error), re.escape(chunk.relative_to(root).as_posix()))
        else:
            assert values.tobytes() == DATA.tobytes(), f"bit {bit} gives wrong data silently"
            harmless += 1
    chunk.write_bytes(sound)
    assert (read_all(root) == DATA).all()
    summary(f"bad input: {layout}: of 300 flipped bits {detected} detected, {harmless} harmless")
    assert harmless <= 3


@pytest.mark.parametrize("layout", DEFAULTS)
def test_truncated_chunk(layout: str, tmp_path: Path) -> None:
    root, chunk = written(tmp_path, layout)
    sound = chunk.read_bytes()
    drawn = sorted(
        {0, 1, 4, 15, 16, 17, len(sound) - 1, *random.Random(5).sample(range(len(sound)), 40)}
    )
    for length in drawn:
        chunk.write_bytes(sound[:length])
        before = snapshot(tmp_path)
        text = refusal(lambda: read_all(root), errors.DecodeError)
        mentions(text, re.escape(chunk.relative_to(root).as_posix()), "a.zarr")
        assert snapshot(tmp_path) == before


@pytest.mark.parametrize("layout", DEFAULTS)
def test_extended_chunk(layout: str, tmp_path: Path) -> None:
    root, chunk = written(tmp_path, layout)
    sound = chunk.read_bytes()
    for extra in (b"\0", b"x" * 16, sound):
        chunk.write_bytes(sound + extra)
        if layout == "shard" and extra == sound:
            continue  # a whole shard behind another is a sound shard with unused bytes before it
        text = refusal(lambda: read_all(root), errors.DecodeError)
        mentions(text, re.escape(chunk.relative_to(root).as_posix()))


CODECS = {
    "raw": None,
    "zlib": {"id": "zlib", "level": 1},
    "gzip": {"id": "gzip", "level": 1},
    "bz2": {"id": "bz2", "level": 1},
    "lzma": {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None},
    "lz4": {"id": "lz4", "acceleration": 1},
    "zstd": {"id": "zstd", "level": 1},
    "blosc": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CODECS)
def test_mutated_chunk_of_any_codec(name: str, tmp_path: Path) -> None:
    """Without a checksum a flip may go unseen; it must never crash, hang or change the shape."""
    root = tmp_path / "a.zarr"
    document = documents.v2(shape=[40, 40], chunks=[40, 40], dtype="<f8", compressor=CODECS[name])
    root.mkdir()
    (root / ".zarray").write_text(json.dumps(document))
    zarr.open_array(str(root), mode="r+")[...] = DATA
    chunk = root / "0.0"
    sound = chunk.read_bytes()
    rolls = random.Random(6)
    refused = 0
    for number in range(150):
        broken = bytearray(sound)
        kind = number % 5
        if kind == 0:
            broken[rolls.randrange(len(broken))] ^= 1 << rolls.randrange(8)
        elif kind == 1:
            for place in range(min(20, len(broken))):
                if rolls.random() < 0.3:
                    broken[place] = rolls.randrange(256)
        elif kind == 2:
            del broken[rolls.randrange(len(broken)) :]
        elif kind == 3:
            broken += b"\x07" * rolls.randrange(1, 50)
        else:
            broken = bytearray(rolls.randbytes(rolls.randrange(1, 200)))
        chunk.write_bytes(broken)
        started = time.monotonic()
        try:
            values = read_all(root)
        except errors.ZarrError as error:
            refused += 1
            mentions(str(error), r"0\.0")
            if name != "raw":
                mentions(str(error), name)
        else:
            assert values.shape == (40, 40)
            assert values.dtype == np.dtype("f8")
            # z5py wrote blosc chunks with unused bytes behind them: those must read.
            allowed = (0, 1, 3) if name == "blosc" else (0, 1)
            changed = ("flipped", "new header", "truncated", "extended", "random")[kind]
            assert kind in allowed, f"{changed} data was read"
        assert time.monotonic() - started < 2
    assert refused >= (60 if name == "blosc" else 90)


def test_raw_chunk_of_another_size_names_both_sizes(tmp_path: Path) -> None:
    root = tmp_path / "a.zarr"
    root.mkdir()
    (root / ".zarray").write_text(json.dumps(documents.v2()))
    for size in (0, 99, 101, 400):
        (root / "0.0").write_bytes(bytes(size))
        text = refusal(lambda: zarr.open(str(root), mode="r")[:5, :5], errors.DecodeError)
        mentions(text, "100", str(size), r"0\.0", "a.zarr")


@pytest.mark.parametrize("where", ["end", "start"])
def test_shard_index_lies(where: str, tmp_path: Path) -> None:
    """Offsets and lengths that point outside, or overlap the index, or are half missing."""
    root = tmp_path / "a.zarr"
    (root / "c" / "0").mkdir(parents=True)
    codecs = [documents.sharded([5, 5], index_codecs=[documents.LITTLE], index_location=where)]
    document = documents.v3(chunk_grid=documents.grid(10, 10), codecs=codecs)
    (root / "zarr.json").write_text(json.dumps(document))
    body = np.arange(100, dtype="<i4").tobytes()
    base = 64 if where == "start" else 0
    missing = (1 << 64) - 1
    sound = [(base + 100 * number, 100) for number in range(4)]
    for name, first in {
        "far away": (1 << 60, 100),
        "overflow": (missing - 50, 100),
        "too long": (base, 1 << 50),
        "beyond the end": (base + 400, 100),
        "wrong length": (base, 99),
        "empty": (base, 0),
        "half missing": (missing, 100),
        "half missing too": (base, missing),
    }.items():
        index = np.array([first, *sound[1:]], dtype="<u8").tobytes()
        (root / "c/0/0").write_bytes(index + body if where == "start" else body + index)
        text = refusal(lambda: zarr.open(str(root), mode="r")[:5, :5])
        mentions(text, "c/0/0")
        try:
            neighbour = zarr.open(str(root), mode="r")[5:, 5:]
        except errors.DecodeError:
            continue
        assert neighbour.tobytes() == body[300:], f"{name}: its neighbour reads wrong"


def test_partial_write_into_a_broken_chunk_changes_nothing(tmp_path: Path) -> None:
    """A chunk that cannot be read cannot be updated; replacing it whole repairs it."""
    for layout in DEFAULTS:
        folder = tmp_path / layout
        root, chunk = written(folder, layout)
        chunk.write_bytes(chunk.read_bytes()[:-3])
        before = snapshot(folder)
        array = zarr.open_array(str(root), mode="r+")
        with pytest.raises(errors.ZarrError):
            array[1:3, 1:3] = 0
        assert snapshot(folder) == before
        array[...] = DATA
        assert (read_all(root) == DATA).all()


def test_a_store_that_fails_is_not_an_empty_one() -> None:
    """Missing means missing; every other failure raises and never reads as fill values."""

    class Failing(dict[str, bytes]):
        def __getitem__(self, key: str) -> bytes:
            if "0" in key:
                raise OSError(5, "input/output error")
            return super().__getitem__(key)

        def get(self, key: str, default: Any = None) -> Any:
            try:
                return self[key]
            except KeyError:
                return default

    for version in (2, 3):
        store = Failing()
        array = zarr.create_array(
            store=store, shape=(4,), dtype="i4", fill_value=9, zarr_format=version
        )
        with pytest.raises(OSError, match="input/output error"):
            array[...]
