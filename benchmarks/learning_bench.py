"""Samples per second for training, beside a plain Dataset and beside reading in order.

    make bench-learning                 the table
    make bench-learning ARGS=--quick    smaller data: for a look, not for figures

One array of images, of 12 KiB each, in chunks of 64, zstd; local files in the page cache. Every row
gives batches of 64 tensors to a loop that does nothing, with no worker and with two. A plain
Dataset reads a chunk for every sample, so rows with a random sampler give a part of an epoch only.

All rows take turns in every round, so that what else the machine does meets all of them, and the
median of the rounds is shown. A first round, not timed, starts the workers and compares every
sample with the data. Processor time, of this process without workers, hardly depends on other work.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
import zarr
from machine import in_memory, machine
from torch.utils.data import DataLoader, Dataset, RandomSampler

import omnizarr
from omnizarr.integrations.torch import ChunkedDataset, MapDataset

BATCH = 64
ROUNDS = 5


class Plain(Dataset[Any]):
    """What most people write."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __len__(self) -> int:
        return int(self.array.shape[0])

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.from_numpy(self.array[index])


class InOrder(torch.utils.data.IterableDataset[Any]):
    """Chunk after chunk, without mixing: what reading alone costs. Workers share the chunks."""

    def __init__(self, array: omnizarr.Array) -> None:
        self.array = array

    def __iter__(self) -> Iterator[torch.Tensor]:
        info = torch.utils.data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for start in range(first * BATCH, self.array.shape[0], step * BATCH):
            yield torch.from_numpy(self.array[start : start + BATCH])


def make(path: Path, count: int) -> np.ndarray[Any, Any]:
    """Images that begin with their number."""
    values = np.random.default_rng(0).integers(0, 40, (count, 3, 64, 64), dtype=np.uint8)
    values[:, 0, 0, :8] = np.arange(count, dtype="<i8")[:, None].view(np.uint8)
    omnizarr.create_array(path, data=values, chunks=(BATCH, 3, 64, 64))
    return values


def started(workers: int) -> dict[str, Any]:
    """How a loader starts its workers; zarr-python's threads do not survive a fork."""
    if not workers:
        return {}
    return {
        "num_workers": workers, "multiprocessing_context": "spawn", "persistent_workers": True
    }  # fmt: skip


def loaders(path: Path, part: int) -> dict[str, Callable[[int], DataLoader[Any]]]:
    """The rows of the table: a loader for a number of workers."""
    ours, theirs = omnizarr.open_array(path, mode="r"), zarr.open_array(path, mode="r")

    def sampled(dataset: Dataset[Any], count: int) -> Callable[[int], DataLoader[Any]]:
        sampler = RandomSampler(dataset, num_samples=count)  # type: ignore[arg-type]
        return lambda workers: DataLoader(dataset, BATCH, sampler=sampler, **started(workers))

    def whole(dataset: Dataset[Any]) -> Callable[[int], DataLoader[Any]]:
        return lambda workers: DataLoader(dataset, batch_size=None, **started(workers))

    return {
        "plain `Dataset` on zarr-python, random": sampled(Plain(theirs), part),
        "plain `Dataset` on omnizarr, random": sampled(Plain(ours), part),
        "`MapDataset`, random": sampled(MapDataset(ours), part),
        "`ChunkedDataset`, shuffled": whole(ChunkedDataset(ours, batch_size=BATCH)),
        "`ChunkedDataset`, `shuffle=False`": whole(
            ChunkedDataset(ours, batch_size=BATCH, shuffle=False)
        ),
        "chunk after chunk, `array[i : i + 64]`": whole(InOrder(ours)),
    }


def check(loader: DataLoader[Any], values: np.ndarray[Any, Any]) -> None:
    for batch in loader:
        found = batch.numpy()
        numbers = np.ascontiguousarray(found[:, 0, 0, :8]).view("<i8")[:, 0]
        assert (found == values[numbers]).all()


def measured(loader: DataLoader[Any]) -> tuple[float, float]:
    """Samples per second, and processor time of this process for one, in ms."""
    start, used = time.perf_counter(), time.process_time()
    count = sum(len(batch) for batch in loader)
    used = time.process_time() - used
    return count / (time.perf_counter() - start), 1e3 * used / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    count, part = (2048, 256) if quick else (16384, 1024)
    folder = Path(tempfile.mkdtemp(dir=in_memory()))
    try:
        values = make(folder / "images.zarr", count)
        rows = loaders(folder / "images.zarr", part)
        made = {(label, n): loader(n) for label, loader in rows.items() for n in (0, 2)}
        for loader in made.values():
            check(loader, values)
        rounds = [{key: measured(loader) for key, loader in made.items()} for _ in range(ROUNDS)]
        print("machine:", machine())
        print(
            f"\n| samples per second, of {count} images | no workers | 2 workers | processor, ms |"
        )
        print("|---|--:|--:|--:|")
        for label in rows:
            rates = [median(found[label, n][0] for found in rounds) for n in (0, 2)]
            used = median(found[label, 0][1] for found in rounds)
            print(f"| {label} | {rates[0]:,.0f} | {rates[1]:,.0f} | {used:.3f} |")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
