"""Damaged and hostile text: an error of ours or the right answer, whatever way it is read.

The campaign runs in processes of its own, so that a crash is a failed test; `text_worker` says what
it damages and what it compares. `pytest -m long` runs a larger one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import google_crc32c
import numcodecs
import numpy as np
import pytest

import omnizarr as zarr
from omnizarr import limits
from omnizarr.errors import DecodeError, EncodeError, LimitError
from omnizarr.model.column import Column
from tests.acceptance import processes
from tests.codecs import text_layouts
from tests.model import columns

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
MUTATIONS = 11_000


def campaign(count: int, seed: int) -> dict[str, int]:
    environment = processes.environment()
    environment["PYTHONPATH"] = f"{environment['PYTHONPATH']}:{ROOT}"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.acceptance.text_worker",
         str(count), str(seed)],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"exit {done.returncode}:\n{done.stderr[-3000:]}"
    counts: dict[str, int] = json.loads(done.stdout)
    return counts


@pytest.mark.parametrize("seed", [1, 2])
def test_campaign(seed: int, summary: Callable[[str], None]) -> None:
    counts = campaign(MUTATIONS, seed)
    assert counts["mutations"] == MUTATIONS
    assert counts["silent"] == 0
    assert counts["refused"] > MUTATIONS // 2
    assert counts["as spliced"] > 0  # other values, rightly read as such
    assert counts["modes"] == 1 + columns.HAS_NATIVE
    summary(
        f"hostile text: {counts['mutations']:,} damaged chunks (seed {seed}), read in 3 ways and"
        f" {counts['modes']} modes: 0 crashes, {counts['refused']:,} refused, 0 silent wrong"
        " answers"
    )


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_campaign_at_length(seed: int) -> None:
    assert campaign(50_000, seed)["silent"] == 0


# -- what hostile data may cost -----------------------------------------------------------------


@pytest.fixture(scope="module", params=columns.MODES)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    with columns.mode(request.param):
        yield request.param


@contextmanager
def within(nbytes: int) -> Iterator[None]:
    """Newly allocated memory stays below this."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < nbytes


def readers(array: Any) -> list[Callable[[], Any]]:
    return [array.to_arrow, array.to_awkward, lambda: array[:], lambda: array[0],
            lambda: array.to_arrow(slice(1, 2))]  # fmt: skip


KINDS = {"arrow-string": 4, "arrow-large-binary": 8, "string": 0, "bytes": 0}


def big_chunk(kind: str, size: int) -> bytes:
    items = [b"a" * size, b"b"]
    width = KINDS[kind]
    return text_layouts.write_offsets(items, width) if width else text_layouts.write_frame(items)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sharded", [False, True])
def test_a_small_chunk_that_grows(kind: str, sharded: bool, mode: str) -> None:
    """The default codecs, 24 MiB in a few KiB: stopped at the cap, before the memory is taken."""
    bomb = bytes(numcodecs.Zstd(3, checksum=True).encode(big_chunk(kind, 24 * MIB)))
    assert len(bomb) < 24 * MIB // 100
    if sharded:
        index = np.array([0, len(bomb)], "<u8").tobytes()
        bomb += index + google_crc32c.value(index).to_bytes(4, "little")
    with limits.override(max_expansion=2 * MIB):
        store: dict[str, bytes] = {}
        zarr.create_array(store=store, shape=2, chunks=2, shards=2 if sharded else None, dtype=kind)
        store["c/0"] = bomb
        array = zarr.open_array(store, mode="r")
        for read in readers(array):
            with within(5 * MIB), pytest.raises(LimitError, match="max_expansion"):
                read()
    for read in readers(zarr.open_array(store, mode="r")):
        read()  # below the cap that stands by default it is an honest chunk


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_chunk_that_is_too_large(kind: str, mode: str) -> None:
    """Without a compressor it is the stored chunk that the cap holds for."""
    with limits.override(max_expansion=MIB):
        store: dict[str, bytes] = {}
        zarr.create_array(store=store, shape=2, chunks=2, dtype=kind, compressors=None)
        store["c/0"] = big_chunk(kind, 2 * MIB)
        for read in readers(zarr.open_array(store, mode="r")):
            with pytest.raises((DecodeError, LimitError), match=r"at most|limit"):
                read()


@pytest.mark.parametrize("kind", KINDS)
def test_a_chunk_that_promises_many_elements(kind: str, mode: str) -> None:
    """2²⁸ elements, says the metadata; what the data cannot hold is not allocated."""
    store: dict[str, bytes] = {}
    zarr.create_array(store=store, shape=2**28, chunks=2**28, dtype=kind, compressors=None)
    for chunk in (b"", b"\0" * 64, b"\xff" * 4, (2**28).to_bytes(4, "little"), bytes(1000)):
        store["c/0"] = chunk
        array = zarr.open_array(store, mode="r")
        for read in (lambda: array[5], lambda: array.to_arrow(slice(3, 6))):  # noqa: B023
            with within(MIB), pytest.raises(DecodeError):
                read()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(2**45,), (2**43, 2**43)])
def test_more_than_any_memory(kind: str, shape: tuple[int, ...], mode: str) -> None:
    array = zarr.create_array(store={}, shape=shape, chunks=(1,) * len(shape), dtype=kind)
    for read in (array.to_arrow, array.to_awkward, lambda: array[:]):
        with pytest.raises(LimitError, match="does not fit into memory"):
            read()


@pytest.mark.parametrize("kind", ["arrow-string", "string"])
def test_a_fill_value_that_fills_all_memory(kind: str, mode: str) -> None:
    """A metadata document of 1 MiB, and 4 TiB of text to be made of it."""
    fill = "x" * MIB
    array = zarr.create_array(store={}, shape=2**22, chunks=2**22, dtype=kind, fill_value=fill)
    for read in (array.to_arrow, array.to_awkward):
        with pytest.raises(LimitError, match="fill value of 1048576 bytes"):
            read()
    assert array.to_arrow(slice(7, 9)).to_pylist() == [fill, fill]
    assert array[5] == fill


@pytest.mark.parametrize(
    ("kind", "large"),
    [("arrow-string", "arrow-large-string"), ("arrow-binary", "arrow-large-binary")],
)
def test_2_gib_in_a_chunk(kind: str, large: str, mode: str) -> None:
    """The error names the type that has room. (The data are one byte, seen 2³¹ times.)"""
    store: dict[str, bytes] = {}
    array = zarr.create_array(store=store, shape=2, chunks=2, dtype=kind)
    data = np.broadcast_to(np.uint8(97), (2**31,))
    column = Column(np.array([0, 5, 2**31]), data, (2,), kind == "arrow-string")
    with pytest.raises(EncodeError, match=rf"key 'c/0'.*2147483648 bytes.*dtype='{large}'"):
        array[:] = column
    assert set(store) == {"zarr.json"}
