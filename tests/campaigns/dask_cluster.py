"""A Dask cluster of worker processes, of which some are killed while they write and read.

    python -m tests.campaigns.dask_cluster --gigabytes 2

A `LocalCluster` of `--workers` processes creates a sharded array with half of the data, appends
the other half, and reads everything back; in each of the three steps one worker is killed with
SIGKILL once some of its tasks are done. Every value is then compared, by the cluster and by this
process alone, and `verify` decodes every chunk and looks for what a killed worker left behind.
Everything talks to 127.0.0.1.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr

COLUMNS = 1024
"""Of 8 bytes each: a row has 8 KiB."""
SHARD, CHUNK = 512, 64
"""Rows of a shard (4 MiB) and of a chunk (512 KiB)."""


@dataclass
class Findings:
    """What happened."""

    bytes: int = 0
    killed: list[int] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def rows(start: int, count: int) -> np.ndarray[Any, Any]:
    """The values of some rows: each names its place, and compresses somewhat."""
    index = np.arange(start, start + count, dtype="u8")[:, None]
    column = np.arange(COLUMNS, dtype="u8")
    mixed = (index * np.uint64(0x9E3779B97F4A7C15)) ^ (column * np.uint64(0xC2B2AE3D27D4EB4F))
    return mixed >> np.uint64(20)


def block(_: Any, start: int, pause: float = 0.0, block_info: Any = None) -> Any:
    """The task that computes a block of the source."""
    (first, last), _ = block_info[None]["array-location"]
    time.sleep(pause)
    return rows(start + first, last - first)


def difference(found: Any, pause: float = 0.0, block_info: Any = None) -> Any:
    """The task that counts the values of a block that are not what was written."""
    (first, last), _ = block_info[0]["array-location"]
    time.sleep(pause)
    wrong = int((found != rows(first, last - first)).sum())
    return np.full((1, 1), wrong, dtype="i8")


def source(start: int, count: int, pause: float) -> Any:
    """A Dask array of `count` rows, in blocks of one shard from the first whole shard on."""
    import dask.array as da

    shape = da.zeros((count, COLUMNS), chunks=(SHARD, COLUMNS), dtype="u8")
    return shape.map_blocks(block, start, pause, dtype="u8", meta=np.empty((0, 0), "u8"))


class Killer:
    """Kills one worker during a step, once the step is under way."""

    def __init__(self, cluster: _Cluster, findings: Findings) -> None:
        self.cluster, self.findings = cluster, findings
        self._turn = 0

    def during(self, name: str, begun: Callable[[], bool], work: Callable[[], Any]) -> Any:
        pids = self.cluster.pids()
        victim = pids[self._turn % len(pids)]
        self._turn += 1
        stop = threading.Event()

        def kill() -> None:
            while not begun():
                if stop.wait(0.005):
                    return
            os.kill(victim, signal.SIGKILL)
            self.findings.killed.append(victim)

        thread = threading.Thread(target=kill)
        begin = time.monotonic()
        thread.start()
        try:
            return work()
        finally:
            stop.set()
            thread.join()
            self.findings.seconds[name] = round(time.monotonic() - begin, 1)


class _Cluster:
    """A `LocalCluster` and its client."""

    def __init__(self, stack: ExitStack, workers: int, folder: Path) -> None:
        from dask.distributed import Client, LocalCluster

        self.local = stack.enter_context(
            LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
                dashboard_address=None, local_directory=str(folder), memory_limit=0,
                silence_logs=50,
            )
        )  # fmt: skip
        self.client = stack.enter_context(Client(self.local))

    def pids(self) -> list[int]:
        """Of all workers."""
        return sorted(self.client.run(os.getpid).values())


def campaign(gigabytes: float, *, workers: int = 4, folder: Path, pause: float = 0.0) -> Findings:
    """Write, append and read back, with a worker killed in each step."""
    import dask

    findings = Findings()
    half = max(2 * workers, round(gigabytes * 1e9 / (8 * COLUMNS) / 2 / SHARD)) * SHARD
    first = half - SHARD // 2  # the append begins in the middle of a shard
    total = 2 * half
    findings.bytes = total * COLUMNS * 8
    store = folder / "data.zarr"

    def stored() -> int:
        return sum(1 for path in store.glob("c/*/*"))

    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": 10}))
        cluster = _Cluster(stack, workers, folder / "workers")
        killer = Killer(cluster, findings)
        array = killer.during(
            "write",
            lambda: stored() >= workers,
            lambda: omnizarr.from_dask(
                source(0, first, pause), store, chunks=(CHUNK, COLUMNS), shards=(SHARD, COLUMNS)
            ),
        )
        written = stored()
        killer.during(
            "append",
            lambda: stored() >= written + workers,
            lambda: omnizarr.from_dask(
                source(first, total - first, pause), array, append_axis=0, align=True
            ),
        )
        lazy = omnizarr.open_array(store, mode="r").to_dask()
        counts = lazy.map_blocks(
            difference, pause, chunks=(1, 1), dtype="i8", meta=np.empty((0, 0), "i8")
        )
        before = time.monotonic()
        wrong = killer.during(
            "read",
            lambda: time.monotonic() > before + 0.3,
            lambda: int(counts.sum().compute()),
        )
        if wrong:
            findings.wrong.append(f"the cluster found {wrong} values that were not written")
    _judge(store, total, findings)
    return findings


def _judge(store: Path, total: int, findings: Findings) -> None:
    """Read everything in this process; nothing may be torn or left behind."""
    begin = time.monotonic()
    array = omnizarr.open_array(store, mode="r")
    if array.shape != (total, COLUMNS):
        findings.wrong.append(f"the shape is {array.shape}, not {(total, COLUMNS)}")
    for start in range(0, array.shape[0], SHARD):
        stop = min(start + SHARD, array.shape[0])
        if not np.array_equal(array[start:stop], rows(start, stop - start)):
            findings.wrong.append(f"rows {start}:{stop} are not what was written")
    report = omnizarr.verify(store)
    if not report.ok:
        findings.wrong.append(f"verify: {report}")
    if not findings.killed:  # a fast machine may end before the third
        findings.wrong.append("no worker was killed: use more data")
    findings.seconds["judge"] = round(time.monotonic() - begin, 1)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.dask_cluster")
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=4, help="worker processes")
    parser.add_argument("--folder", type=Path, help="where to write; by default a temporary folder")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dask-cluster-", dir=given.folder) as folder:
        found = campaign(given.gigabytes, workers=given.workers, folder=Path(folder))
    if given.json:
        print(json.dumps(asdict(found)))
    else:
        seconds = ", ".join(f"{name} {n} s" for name, n in found.seconds.items())
        print(
            f"{found.bytes / 1e9:.2f} GB, {given.workers} worker processes, {len(found.killed)}"
            f" killed, {len(found.wrong)} findings; {seconds}"
        )
        for text in found.wrong:
            print(text, file=sys.stderr)
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
