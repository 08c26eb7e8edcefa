"""Long jobs on a cluster of worker processes, some of which are killed meanwhile.

    python -m tests.campaigns.jobs_cluster --gigabytes 4 --executor dask

Data of so many gigabytes are created, rechunked, converted to another format, made into a pyramid
of four levels, and verified, on a Dask `LocalCluster` of `--workers` processes with one thread
each, or with ``--executor processes`` or ``threads``; ``all`` does it with each. When a task has
ended, a worker process is killed with SIGKILL: at the first one, and then after every `--every`
seconds of work, more or less. The process that runs the job is killed too, once while it rechunks
and once while it computes levels, and started again: it must resume. No kill waits for a clock, so
that each of them happens on the fastest machine and on the slowest. At the end every value is
compared with NumPy's. Printed are the seconds of each step, the workers killed, how much was done
when the job was killed, and the highest memory of a worker beside the budget. The exit status is
not 0 if a value is wrong, no worker was killed, a killed job was not resumed, or a worker took more
than the budget. Everything talks to 127.0.0.1.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import omnizarr
from omnizarr.jobs import as_bytes, journal

EXECUTORS = ("dask", "processes", "threads")
COLUMNS = 4096
"""Of 8 bytes each: a row has 32 KiB."""
ROWS = 128
"""Rows of a source chunk: 4 MiB."""
TALL = 512
"""Rows of a chunk that is written."""
LEVELS = 4
MOST_KILLED = 24
"""Workers: where starting one takes longer than a task, there would be no end of it."""


class Step(NamedTuple):
    """One job."""

    function: str
    """Its name in `omnizarr`, which is imported when it is called: workers start sooner."""
    source: str
    target: str
    how: dict[str, Any]
    journal: str = ""
    """The job is killed when its journal says that something is done. Empty: it is not killed."""


STEPS = {
    "rechunk": Step(
        "rechunk", "source.zarr", "rechunked.zarr", {"chunks": (TALL, 512)},
        ".omnizarr-convert.json",
    ),
    "convert": Step(
        "convert", "rechunked.zarr", "converted.zarr", {"zarr_format": 2},
    ),
    "pyramid": Step(
        "pyramid", "rechunked.zarr", "pyramid.zarr", {"levels": LEVELS},
        ".omnizarr-pyramid.json",
    ),
}  # fmt: skip


@dataclass
class Findings:
    """What happened."""

    bytes: int = 0
    executor: str = ""
    budget: int = 0
    peak: int = 0
    """The highest private memory of a worker, interpreter and packages included."""
    killed: int = 0
    """Workers."""
    resumed: dict[str, float] = field(default_factory=dict)
    """For each job that was killed, how much of it was done already when it went on, from 0 to
    1."""
    wrong: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def rows(start: int, count: int) -> np.ndarray[Any, Any]:
    """The values of some rows: each names its place, and compresses somewhat."""
    index = np.arange(start, start + count, dtype="u8")[:, None]
    column = np.arange(COLUMNS, dtype="u8")
    mixed = (index * np.uint64(0x9E3779B97F4A7C15)) ^ (column * np.uint64(0xC2B2AE3D27D4EB4F))
    return mixed >> np.uint64(20)


def means(values: np.ndarray[Any, Any], factor: int) -> np.ndarray[Any, Any]:
    """The mean of each block, rounded half to even: exact, since a sum has no more than 53 bits."""
    height, width = values.shape
    blocks = values.reshape(height // factor, factor, width // factor, factor)
    return np.rint(blocks.mean(axis=(1, 3), dtype="f8")).astype("u8")


def private(pid: int) -> int:
    """Bytes of memory that a process has, without pages that it shares with files."""
    try:
        fields = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        )
        return int(fields["RssAnon"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return 0


def children(pid: int) -> list[int]:
    """The interpreters below a process. Not every kernel lists children in /proc; each lists
    parents."""
    import psutil

    found = psutil.Process(pid).children(recursive=True)
    return [child.pid for child in found if _is_interpreter(child.pid)]


def _is_interpreter(pid: int) -> bool:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"spawn_main" in line


class Watch:
    """Watches the memory of worker processes, and kills one now and then, when a task has ended:
    workers are at work then, and something gets done however long it takes to start them."""

    def __init__(self, findings: Findings, pids: Callable[[], list[int]], every: float) -> None:
        self._findings, self._pids, self._every = findings, pids, every
        self._stop = threading.Event()
        self._due: float | None = 0.0
        """When the next one is killed; None until a task has ended since the last was: on a busy
        machine workers take longer to start than the time between two kills."""
        self.killing = False
        self.job = 0
        """The process that runs the job, where that is another one: it is no worker."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.05):
            self._measured()

    def _measured(self) -> list[int]:
        """The workers, whose memory was looked at."""
        pids = [pid for pid in self._pids() if pid != self.job]
        self._findings.peak = max([self._findings.peak, *map(private, pids)])
        return pids

    def task_ended(self) -> None:
        """Of a job that this process runs."""
        pids = self._measured()
        now = time.monotonic()
        if self._due is None:
            self._due = now + self._every * random.uniform(0.5, 1.5)
        elif self.killing and pids and now >= self._due and self._findings.killed < MOST_KILLED:
            with suppress(ProcessLookupError):
                os.kill(random.choice(pids), signal.SIGKILL)
                self._findings.killed += 1
                self._due = None


class Manner(NamedTuple):
    """How every job runs."""

    folder: Path
    executor: str
    workers: int | None
    budget: int

    def keywords(self) -> dict[str, Any]:
        return {
            "executor": self.executor, "workers": self.workers, "max_memory": self.budget,
        }  # fmt: skip


def run_step(name: str, manner: Manner, progress: Any = None) -> Any:
    """One job, in whatever process."""
    step = STEPS[name]
    source, target = manner.folder / step.source, manner.folder / step.target
    function = getattr(omnizarr, step.function)
    return function(source, target, progress=progress, **step.how, **manner.keywords())


def killed_first(name: str, manner: Manner, watch: Watch) -> bool:
    """Run a job in a process that is killed when it is under way; whether it was."""
    job = multiprocessing.get_context("spawn").Process(target=_first_run, args=(name, manner))
    job.start()
    watch.job = (job.pid or 0) if watch.killing else 0
    job.join()
    watch.job = 0
    return job.exitcode == -signal.SIGKILL


def _first_run(name: str, manner: Manner) -> None:
    """Kills itself, since nobody else is sure to see when the journal says that something is
    done."""
    journal.SECONDS = journal.SPARING = 0  # usually once a second, when a small job is done already
    written = manner.folder / STEPS[name].target / STEPS[name].journal
    enough = random.uniform(0, 0.5)

    def hear(progress: Any) -> None:
        if progress.fraction > enough and _has_done_something(written):
            os.kill(os.getpid(), signal.SIGKILL)

    run_step(name, manner, hear)


def _has_done_something(written: Path) -> bool:
    try:
        return any(json.loads(written.read_bytes())["done"].values())
    except FileNotFoundError:  # a pyramid copies first, with another journal
        return False


def work(findings: Findings, manner: Manner, watch: Watch) -> None:
    """All jobs, one after the other."""
    for name, step in STEPS.items():
        begin = time.monotonic()
        interrupted = step.journal != "" and killed_first(name, manner, watch)
        heard: list[float] = []

        def hear(progress: Any, heard: list[float] = heard) -> None:
            heard.append(progress.resumed / progress.total)
            watch.task_ended()

        done = run_step(name, manner, hear)
        if interrupted:
            findings.resumed[name] = round(heard[0], 3)
        if interrupted and not (done.resumed and heard[0] > 0):
            findings.wrong.append(f"{name}: the killed job was not resumed")
        if step.journal and not interrupted:
            findings.wrong.append(f"{name}: the job ended before it was killed")
        findings.seconds[name] = round(time.monotonic() - begin, 1)
    begin = time.monotonic()

    def count(_: Any) -> None:
        watch.task_ended()

    report = omnizarr.verify(manner.folder / "converted.zarr", progress=count, **manner.keywords())
    if not report.ok:
        findings.wrong.append(f"verify: {report}")
    findings.seconds["verify"] = round(time.monotonic() - begin, 1)


def campaign(
    gigabytes: float, *, executor: str, workers: int, every: float, budget: int, folder: Path
) -> Findings:
    findings = Findings(executor=executor, budget=budget)
    count = max(8 * workers, round(gigabytes * 1e9 / (8 * COLUMNS) / TALL)) * TALL
    findings.bytes = count * COLUMNS * 8
    array = omnizarr.create_array(
        folder / "source.zarr", shape=(count, COLUMNS), chunks=(ROWS, COLUMNS), dtype="u8"
    )
    for start in range(0, count, ROWS):
        array[start : start + ROWS] = rows(start, ROWS)
    with ExitStack() as stack:
        manner, pids = _begun(stack, executor, workers, budget, folder)
        watch = Watch(findings, pids, every)
        watch.killing = executor != "threads"
        stack.enter_context(watch.watching())
        work(findings, manner, watch)
    if watch.killing and not findings.killed:
        findings.wrong.append("no worker was killed")
    if findings.peak > budget:
        findings.wrong.append(f"a worker took {findings.peak} bytes, the budget is {budget}")
    _judge(folder, count, findings)
    return findings


def _begun(
    stack: ExitStack, executor: str, workers: int, budget: int, folder: Path
) -> tuple[Manner, Callable[[], list[int]]]:
    """How jobs run, and a function that gives the worker processes."""
    if executor == "threads":  # the workers are threads of this process, and of one that is killed
        manner = Manner(folder, executor, workers, budget)
        return manner, lambda: [os.getpid(), *children(os.getpid())]
    if executor == "processes":
        return Manner(folder, executor, workers, budget), lambda: children(os.getpid())
    import dask
    from dask.distributed import LocalCluster, Status

    # A cluster would give a worker up that is not back within 15 seconds, as on a busy machine.
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.deploy.lost-worker-timeout": "1 hour",
    }
    stack.enter_context(dask.config.set(settings))
    cluster = stack.enter_context(
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address=None, local_directory=str(folder / "workers"), memory_limit=0,
            silence_logs=50,
        )
    )  # fmt: skip

    def pids() -> list[int]:
        """Of workers that run: Dask does not replace one that is killed while it starts."""
        processes = [getattr(each, "process", None) for each in list(cluster.workers.values())]
        found = [one.pid for one in processes if one and one.status is Status.running]
        return [pid for pid in found if pid is not None]

    return Manner(folder, cluster.scheduler_address, None, budget), pids


def _judge(folder: Path, count: int, findings: Findings) -> None:
    """Read everything in this process, and compare it with NumPy's."""
    begin = time.monotonic()
    pyramid = omnizarr.open_group(folder / "pyramid.zarr", mode="r")
    arrays = {name: omnizarr.open_array(folder / name, mode="r") for name in _WRITTEN}
    arrays |= {f"pyramid.zarr/{level}": pyramid[str(level)] for level in range(LEVELS)}
    for start in range(0, count, TALL):
        values = rows(start, TALL)
        for name, array in arrays.items():
            factor = COLUMNS // array.shape[1]
            part = array[start // factor : (start + TALL) // factor]
            expected = values if factor == 1 else means(values, factor)
            if not np.array_equal(part, expected):
                findings.wrong.append(f"{name}: rows from {start} are not what they should be")
    shapes = [arrays[f"pyramid.zarr/{level}"].shape for level in range(LEVELS)]
    if shapes != [(count >> level, COLUMNS >> level) for level in range(LEVELS)]:
        findings.wrong.append(f"pyramid.zarr: levels of shapes {shapes}")
    findings.wrong += [
        f"{path.relative_to(folder)}: something is left over"
        for path in folder.glob("*.zarr/**/.omnizarr-*")
    ]
    findings.seconds["judge"] = round(time.monotonic() - begin, 1)


_WRITTEN = ("rechunked.zarr", "converted.zarr")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.jobs_cluster")
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--executor", choices=(*EXECUTORS, "all"), default="dask")
    parser.add_argument("--workers", type=int, default=4, help="worker processes, or threads")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two kills")
    parser.add_argument("--budget", default="256 MiB", help="memory of one worker process")
    parser.add_argument("--folder", type=Path, help="where to write; by default a temporary folder")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    if given.executor == "all":  # each in a process of its own, which has the memory of no other
        command = [
            sys.executable,
            "-m",
            "tests.campaigns.jobs_cluster",
            *(arguments or sys.argv[1:]),
        ]
        ends = [subprocess.run([*command, "--executor", name]).returncode for name in EXECUTORS]
        return max(ends)
    with tempfile.TemporaryDirectory(prefix="jobs-cluster-", dir=given.folder) as folder:
        found = campaign(
            given.gigabytes, executor=given.executor, workers=given.workers, every=given.every,
            budget=as_bytes(given.budget), folder=Path(folder),
        )  # fmt: skip
    print(json.dumps(asdict(found)) if given.json else _text(found), flush=True)
    return 1 if found.wrong else 0


def _text(found: Findings) -> str:
    seconds = ", ".join(f"{name} {n} s" for name, n in found.seconds.items())
    resumed = ", ".join(f"{name} at {part:.0%}" for name, part in found.resumed.items())
    memory = f"{found.peak / 2**20:.0f} MiB of {found.budget / 2**20:.0f} MiB"
    line = (
        f"{found.bytes / 1e9:.2f} GB on {found.executor}: {'FAILED' if found.wrong else 'equal'},"
        f" {found.killed} workers killed, resumed: {resumed or 'nothing'},"
        f" most memory of a worker {memory}; {seconds}"
    )
    return "\n".join([line, *found.wrong])


if __name__ == "__main__":
    sys.exit(main())
