"""Budgets: tasks of one process keep to theirs."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import omnizarr
from omnizarr import limits
from omnizarr.jobs.memory import Bounded, Budget


def test_budget() -> None:
    assert Budget.of(100 << 20, "1 GiB").at_once == 10
    assert Budget.of(10 << 30, "1 GiB").at_once == 1
    with limits.override(worker_bytes=10):
        assert Budget.of(5).at_once == 2


def test_tasks_of_a_process_wait_for_room() -> None:
    running, most = 0, 0
    seen: set[tuple[int, int]] = set()
    guard = threading.Lock()

    def task(_: int) -> None:
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        seen.add((limits.current.scratch_bytes, omnizarr.config["threads"]))
        time.sleep(0.002)
        with guard:
            running -= 1

    before = limits.current, omnizarr.config["threads"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(Bounded(task, Budget.of(30 << 20, "100 MiB")), range(40)))
    assert most == 3
    assert seen == {(10 << 20, 1)}
    assert (limits.current, omnizarr.config["threads"]) == before
