"""The scheduler of jobs at sizes that no machine here has: the real code, simulated workers.

    python benchmarks/scheduler_simulation.py --workers 10000 --tasks 2000000

`omnizarr.jobs.running` hands tasks out and a real `Journal` in memory writes them down, as in every
job. Only the workers are simulated: a task ends at a time drawn from a log-normal distribution
(median `--seconds`, some take ten times as long), and the clock jumps to the next end. Printed are
the time that the calling thread needs for one task, which bounds how many workers one scheduler
can keep busy, and the size of the journal: the largest, and what writing it takes.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import random
import time
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from omnizarr import MemoryStore
from omnizarr.jobs import Journal, run
from omnizarr.jobs.executors import Crew

FIRST = 10**9
"""Tasks have numbers as large as in a job of 10⁹ tasks."""


@dataclass
class Result:
    workers: int
    tasks: int
    """Simulated."""
    in_flight: int
    task_seconds: float
    """Median."""
    simulated_seconds: float
    """What the job would take."""
    scheduler_seconds: float
    """What the calling thread took, journal included."""
    microseconds_per_task: float
    busy: float
    """How many workers one scheduler keeps busy with tasks of that length."""
    journal_bytes: int
    """The largest journal."""
    journal_ranges: int
    journal_milliseconds: float
    """What making and storing it in memory took: the median."""


class SimulatedWorkers(Crew):
    """So many workers, of which each does one task at a time; a queue in front of them."""

    def __init__(self, workers: int, seconds: float, seed: int) -> None:
        self.at_a_time = 2 * workers
        self.now = 0.0
        self._free = [0.0] * workers
        self._ends: list[tuple[float, int, Future[Any], Any]] = []
        self._seconds, self._random, self._count = seconds, random.Random(seed), 0

    def submit(self, function: Any, task: Any) -> Future[Any]:
        begin = max(self.now, heapq.heappop(self._free))
        end = begin + self._seconds * math.exp(self._random.gauss(0, 0.8))
        heapq.heappush(self._free, end)
        future: Future[Any] = Future()
        self._count += 1
        heapq.heappush(self._ends, (end, self._count, future, task))
        if len(self._ends) >= self.at_a_time:
            self.advance()
        return future

    def advance(self) -> None:
        """Jump to the next end of a task."""
        self.now, _, future, task = heapq.heappop(self._ends)
        future.set_result(task)

    def drain(self) -> None:
        while self._ends:
            self.advance()


def simulate(workers: int, tasks: int, seconds: float, seed: int = 0) -> Result:
    crew = SimulatedWorkers(workers, seconds, seed)
    store = MemoryStore()
    journal = Journal(store, "journal.json", "simulation", "")
    journal.begin()
    written: list[tuple[float, int, int]] = []
    flush = journal.flush

    def measured() -> None:
        begin = time.perf_counter()
        flush()
        size = len(store["journal.json"])
        written.append((time.perf_counter() - begin, size, len(journal.done("/a").ranges())))

    journal.flush = measured  # type: ignore[method-assign]

    def numbers() -> Any:
        yield from range(FIRST - tasks, FIRST)
        crew.at_a_time = 0  # no more are coming: whoever is asked for more ends
        crew.drain()

    begin = time.perf_counter()
    run(
        int, numbers(), lambda number, _: journal.mark("/a", number),
        workers=crew.at_a_time, executor=crew,
    )  # fmt: skip
    taken = time.perf_counter() - begin
    each = taken / tasks
    return Result(
        workers, tasks, 2 * workers, seconds, crew.now, taken, each * 1e6, seconds / each,
        max(size for _, size, _ in written), max(count for *_, count in written),
        median(cost for cost, *_ in written) * 1e3,
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/scheduler_simulation.py")
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--tasks", type=int, default=2_000_000)
    parser.add_argument("--seconds", type=float, default=1.0, help="median of one task")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    found = simulate(given.workers, given.tasks, given.seconds)
    if given.json:
        print(json.dumps(asdict(found)))
        return
    print(
        f"{found.workers:,} workers, {found.tasks:,} tasks of about {found.task_seconds} s,"
        f" {found.in_flight:,} in flight\n"
        f"scheduler: {found.microseconds_per_task:.1f} µs per task, so that one keeps"
        f" {found.busy:,.0f} workers busy\n"
        f"journal: {found.journal_bytes:,} bytes and {found.journal_ranges:,} ranges at the most,"
        f" {found.journal_milliseconds:.0f} ms to write"
    )


if __name__ == "__main__":
    main()
