"""How much memory the tasks of a job may take in one process.

A *budget* is what the tasks of one process take together, beyond what the process takes by itself:
interpreter, packages, and the plan. It decides how many of them run at once there, and how much
scratch the engine gets for each. Where tasks run on threads of this process, as many threads are
started as fit; in other processes a task waits until there is room.

This module knows bytes. It must not know what a task does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

from omnizarr import limits
from omnizarr.config import config
from omnizarr.runtime import forks
from omnizarr.runtime.sizes import as_bytes

T = TypeVar("T")
R = TypeVar("R")

MemoryLike = int | str | None
"""Bytes, or text such as ``"512 MiB"`` or ``"2 GB"``; None is `limits.worker_bytes`."""

_SHARE = 3
"""A task holds values, their encoded bytes, and what codecs need: the engine's scratch is one of
three parts."""


class Budget(NamedTuple):
    """What the tasks of one process may take."""

    at_once: int
    """So many tasks fit."""
    scratch_bytes: int
    """What the engine may take for one of them."""

    @classmethod
    def of(cls, task_bytes: int, max_memory: MemoryLike = None) -> Budget:
        """For tasks that take so many bytes each, the engine's scratch included."""
        nbytes = limits.current.worker_bytes if max_memory is None else as_bytes(max_memory)
        share = task_bytes // _SHARE if task_bytes > 0 else nbytes // 16
        return cls(max(1, nbytes // max(1, task_bytes)), max(limits.MIB, share))


class _Running:
    """The tasks that run in this process, for whatever job."""

    def __init__(self) -> None:
        self.renew()
        forks.in_child(self.renew)

    def renew(self) -> None:
        self.changed = threading.Condition()
        self.count = 0
        self.before: tuple[int, Any] | None = None

    def enter(self, budget: Budget) -> None:
        with self.changed:
            while self.count >= budget.at_once:
                self.changed.wait()
            if self.count == 0:
                self.before = limits.current.scratch_bytes, config.get("threads")
            self.count += 1
            scratch = min(limits.current.scratch_bytes, budget.scratch_bytes)
            limits.set(scratch_bytes=scratch)
            config.set(threads=1)

    def leave(self) -> None:
        with self.changed:
            self.count -= 1
            if self.count == 0 and self.before is not None:
                limits.set(scratch_bytes=self.before[0])
                config.set(threads=self.before[1])
            self.changed.notify()


_running = _Running()


class Bounded(Generic[T, R]):
    """A task's function for another process, where it keeps to a budget: it waits until there is
    room, and the engine gets one thread and its share of the scratch. The worker's own number of
    threads or processes is what uses the cores."""

    def __init__(self, function: Callable[[T], R], budget: Budget) -> None:
        self._function, self._budget = function, budget

    def __call__(self, task: T) -> R:
        _running.enter(self._budget)
        try:
            return self._function(task)
        finally:
            _running.leave()


@contextmanager
def lowered(budget: Budget | None) -> Iterator[None]:
    """A block in which the engine of this process keeps to a budget; None changes nothing."""
    if budget is None or budget.scratch_bytes >= limits.current.scratch_bytes:
        yield
        return
    with limits.override(scratch_bytes=budget.scratch_bytes):
        yield
