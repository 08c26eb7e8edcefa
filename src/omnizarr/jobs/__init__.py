"""Long work: a list of independent tasks on any executor, with progress and a journal.

    Progress, Reporter   how far a job is, told to a callable or drawn on a terminal
    Journal              what is done already, kept beside the result: a killed job goes on
    run, Shared          the tasks, on threads, processes, a cluster or any Executor
    opened, workers_for  what ``executor=`` means, for a whole job; how many tasks at once
    as_bytes             what ``max_memory=`` means

This package knows tasks, stores and executors. It must not know what a task does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnizarr.runtime.lazy import first_use
from omnizarr.runtime.progress import Progress, Reporter
from omnizarr.runtime.sizes import as_bytes

if TYPE_CHECKING:
    from omnizarr.jobs.executors import ExecutorLike, opened
    from omnizarr.jobs.journal import Journal
    from omnizarr.jobs.memory import MemoryLike
    from omnizarr.jobs.running import Shared, run, workers_for

__all__ = [
    "ExecutorLike",
    "Journal",
    "MemoryLike",
    "Progress",
    "Reporter",
    "Shared",
    "as_bytes",
    "opened",
    "run",
    "workers_for",
]

_LAZY = {
    "executors": ("ExecutorLike", "opened"),
    "journal": ("Journal",),
    "memory": ("MemoryLike",),
    "running": ("Shared", "run", "workers_for"),
}
"""Modules that are imported when one of their names is first used: see `runtime.lazy`."""

if not TYPE_CHECKING:
    __getattr__ = first_use(__name__, _LAZY)
