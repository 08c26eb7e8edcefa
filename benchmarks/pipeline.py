"""zarr-python 3 with four codec pipelines: its own two, that of zarrs, and ours.

    make bench-pipeline                      the whole table (a minute or two)
    make bench-pipeline ARGS=--quick         smaller arrays and fewer rounds

One process, in turns, best of several rounds. Everything that is read is compared with the data.
The files are in memory: this measures the pipelines, not the disk. A pipeline whose package is not
installed is left out. On a machine that is not quiet, `--cpu` gives the processor time of all
threads instead.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from bench import in_memory, machine, table
from zarr.codecs import BloscCodec, ZstdCodec
from zarr.storage import LocalStore

import omnizarr.integrations.zarr_python  # noqa: F401  # also where omnizarr is not installed

PIPELINES = {
    "omnizarr": "omnizarr.integrations.zarr_python.CodecPipeline",
    "batched": "zarr.core.codec_pipeline.BatchedCodecPipeline",
    "fused": "zarr.core.codec_pipeline.FusedCodecPipeline",
    "zarrs": "zarrs.ZarrsCodecPipeline",
}
Array = Any


@dataclass(frozen=True)
class Layout:
    """An array of `float32`, 256 MiB unless scaled down."""

    chunks: tuple[int, int]
    compressor: Any
    shards: tuple[int, int] | None = None
    side: int = 8192


ZSTD = ZstdCodec(level=3)
LARGE = Layout((256, 256), ZSTD)
SMALL = Layout((64, 64), BloscCodec(cname="lz4", clevel=5, shuffle="shuffle"), side=4096)
SHARDED = Layout((64, 64), ZSTD, shards=(1024, 1024), side=4096)


@dataclass(frozen=True)
class Row:
    label: str
    layout: Layout
    run: Callable[[Array, np.ndarray], np.ndarray | None]
    region: tuple[slice, slice] = (slice(None), slice(None))
    times: int = 1


def read(array: Array, data: np.ndarray) -> np.ndarray:
    return array[:]


def write(array: Array, data: np.ndarray) -> None:
    array[:] = data


PLACE = (slice(320, 384), slice(128, 192))


def read_one(array: Array, data: np.ndarray) -> np.ndarray:
    for _ in range(100):
        found = array[PLACE]
    return found


def write_one(array: Array, data: np.ndarray) -> None:
    for _ in range(20):
        array[PLACE] = data[PLACE]


ROWS = (
    Row("read 256 KiB chunks, zstd", LARGE, read),
    Row("write 256 KiB chunks, zstd", LARGE, write),
    Row("read 16 KiB chunks, blosc", SMALL, read),
    Row("write 16 KiB chunks, blosc", SMALL, write),
    Row("read shards of 256 chunks", SHARDED, read),
    Row("write shards of 256 chunks", SHARDED, write),
    Row("read one inner chunk", SHARDED, read_one, PLACE, 100),
    Row("write one inner chunk", SHARDED, write_one, PLACE, 20),
)


def field(side: int) -> np.ndarray:
    """A smooth field with noise in its low digits, so that codecs have work to do."""
    line = np.linspace(0, 20, side, dtype="float32")
    noise = np.random.default_rng(7).standard_normal((side, side), dtype="float32")
    return np.round(280 + 12 * np.sin(line)[:, None] + 7 * np.cos(line) + noise, 1)


def pipelines() -> dict[str, str]:
    found = {}
    for name, path in PIPELINES.items():
        module, _, attribute = path.rpartition(".")
        try:
            if hasattr(importlib.import_module(module), attribute):
                found[name] = path
        except ImportError:
            print(f"{name}: not installed")
    return found


def measure(
    row: Row,
    found: dict[str, str],
    folder: Path,
    side: int,
    rounds: int,
    clock: Callable[[], float],
) -> Any:
    data = field(side)
    expected = data[row.region]
    layout = row.layout
    arrays = {}
    for name, path in found.items():
        with zarr.config.set({"codec_pipeline.path": path}):
            arrays[name] = zarr.create_array(
                LocalStore(folder / name),
                shape=data.shape,
                chunks=layout.chunks,
                shards=layout.shards,
                dtype="float32",
                compressors=layout.compressor,
                fill_value=-1,
            )
            arrays[name][:] = data
    best = dict.fromkeys(found, float("inf"))
    names = list(found)
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            gc.collect()
            with zarr.config.set({"codec_pipeline.path": found[name]}):
                start = clock()
                result = row.run(arrays[name], data)
                seconds = (clock() - start) / row.times
                if result is None:
                    result = arrays[name][row.region]
            if not np.array_equal(result, expected):
                raise AssertionError(f"{row.label}: {name} gives other values")
            del result
            best[name] = min(best[name], seconds)
    shutil.rmtree(folder)
    return {"label": row.label, "best": best}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller arrays, two rounds")
    parser.add_argument("--rounds", type=int, help="rounds per row (default 5)")
    parser.add_argument("--cpu", action="store_true", help="processor time, not elapsed time")
    parser.add_argument("--only", metavar="TEXT", help="only rows whose label contains TEXT")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rounds = arguments.rounds or (2 if arguments.quick else 5)
    clock = time.process_time if arguments.cpu else time.perf_counter
    found = pipelines()
    print(machine(), f"zarr-python {zarr.__version__}")
    results = []
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        for row in ROWS:
            if arguments.only is None or arguments.only in row.label:
                side = 1024 if arguments.quick else row.layout.side
                results.append(measure(row, found, Path(folder) / "rows", side, rounds, clock))
    print(table(results, list(found)))


if __name__ == "__main__":
    main()
